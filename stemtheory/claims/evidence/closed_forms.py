"""Conditional expectations on a recorded run: the error's, and of a minibatch's gradients.

Paper: Lemma (lem: ErrorContraction_BatchGradients_App), and
eq. (eq: DR_Descent_d_Intermediate1_Batch), eq. (eq: DR_Descent_d_Intermediate2_Batch).
"""

from __future__ import annotations

import numpy as np

from stemtheory.algorithms import mean_over_workers
from stemtheory.claims.evidence.path import Path
from stemtheory.claims.evidence.recorded import square
from stemtheory.runtime import Floats


def growth(path: Path) -> Floats:
    """Return E[||ebar_{t+1}||^2 | F_t] - (1 - a_{t+1})^2 ||ebar_t||^2, by t in 1..T; [T, R]."""
    t = path.t
    keep = (1 - path.a[t + 1])[:, None]
    crossed = 2 * keep * (path.ebar[t] * path.bias[t]).sum(axis=-1)
    return np.asarray(path.noise_power[t] + square(path.bias[t]) + crossed)


def apart_gradients(path: Path) -> Floats:
    """E sum_k ||g^(k)(stale; xi) - its mean||^2, xi of d_{t+1}, by t: [T + 2, R]."""
    noise = path.problem.noise_variance(path.stale).sum(axis=-1)
    return _with_noise(path, path.problem.gradient(path.stale), noise)


def moved_gradients(path: Path) -> Floats:
    """E sum_k ||g(fresh) - (1 - a) g(stale) - its mean||^2, one minibatch for both, by t."""
    gradient, keep = path.problem.gradient, (1 - path.a)[:, None, None, None]
    change = gradient(path.fresh) - keep * gradient(path.stale)
    noise = np.roll(path.noise_change.sum(axis=-1), 1, axis=0)  # by t + 1, as points are
    return _with_noise(path, change, noise)


def _with_noise(path: Path, means: Floats, noise: Floats) -> Floats:
    """Return the spread of means [T + 2, R, K, dim] at t + 1, and of the noise in them, by t."""
    apart = square(means - mean_over_workers(means)[..., None, :]).sum(axis=-1)
    apart, noise = (np.roll(values, -1, axis=0) for values in (apart, noise))
    return np.asarray(apart + (1 - 1 / path.case.K) * noise / path.batch[:, None])
