"""The noise of one step, N_{t+1}, as the proofs write it, and minibatches to write it with.

    bracket_k = mean over the minibatch of  (g^(k)(fresh; xi) - grad f^(k)(fresh))
                                 - (1 - a) (g^(k)(stale; xi) - grad f^(k)(stale))

``innovation`` reads the bracket off the algorithm's own d_{t+1}; ``bracket`` writes it down for a
minibatch of one's choice. That both agree says that the algorithm used the minibatch it should.

Paper: Lemma (Lem: InnerProduct_e_t_Grad), eq. (eq_bound_grad_error_norm).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from stemtheory.claims.base import Case
from stemtheory.claims.evidence.path import Path
from stemtheory.runtime import Floats
from stemtheory.simulator import gaussian_draw


def innovation(path: Path) -> Floats:
    """Return local d_{t+1} - grad(fresh) - (1-a) (d_t - grad(stale)), by t: [T + 2, R, K, dim]."""
    found = np.full(path.d.shape, np.nan)
    gradient = path.problem.gradient
    for t in range(1, path.T + 1):
        kept = path.d[t] - gradient(path.stale[t + 1])
        mean = gradient(path.fresh[t + 1]) + (1 - path.a[t + 1]) * kept
        found[t] = path.local_d[t + 1] - mean
    return found


def minibatch(path: Path, t: int) -> Any:
    """Return the minibatch of d_{t+1} that the recorded run drew (t = 0: the initial batch)."""
    case = path.case
    samples = (case.B or case.b * case.I) if t == 0 else float(path.batch[t])
    return gaussian_draw(path.problem, case.seed, case.replicates)(t, samples)


def single(path: Path, t: int, which: int) -> Any:
    """Return a fresh minibatch of one sample for d_{t+1}; ``which`` tells samples apart."""
    case: Case = path.case
    return gaussian_draw(path.problem, case.seed + 1 + which, case.replicates)(t, 1.0)


def bracket(path: Path, t: int, xi: Any) -> Floats:
    """Return the bracket of d_{t+1} for the minibatch xi, shape [R, K, dim]."""
    new, old = path.fresh[t + 1], path.stale[t + 1]
    return np.asarray(
        noise(path, new, xi) - (1 - path.a[t + 1]) * noise(path, old, xi), dtype=float
    )


def noise(path: Path, x: Floats, xi: Any) -> Any:
    """Return the noise of the minibatch xi at points [R, K, dim]."""
    return path.problem.stochastic_gradient(x, xi) - path.problem.gradient(x)


def brackets(path: Path, lag: int = 0) -> Floats:
    """Return the bracket for the run's own minibatches, ``lag`` steps old: [T + 2, R, K, dim]."""
    found = np.full(path.d.shape, np.nan)
    for t in range(1, path.T + 1):
        found[t] = bracket(path, t, minibatch(path, t - lag))
    return found
