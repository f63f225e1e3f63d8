"""Sums over a round, and the terms that the lemmas of STEM share, each on a recorded run.

Paper: Lemma (lem: ErrorAccumulation_Batch_App), eq. (eq: Potential_Fn_Batch_App).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from stemtheory.bounds import Premise
from stemtheory.claims.base import Case
from stemtheory.claims.evidence.path import Path
from stemtheory.claims.evidence.recorded import EPS, square
from stemtheory.runtime import Floats


def since(path: Path, terms: Floats) -> Floats:
    """Return sum_{l = tbar_{s-1}}^{t} terms_l, t in 1..T, s the round of t; same shape as terms."""
    total = np.zeros_like(terms)
    for t in range(1, path.T + 1):
        first = (t - 1) % path.case.I == 0
        total[t] = terms[t] if first else total[t - 1] + terms[t]
    return total


def per_t(values: Any) -> Floats:
    """Return a column [n, 1] from values at n times, to stand beside arrays [n, R]."""
    return np.asarray(values)[:, None]


def drift_sum(path: Path) -> Floats:
    """Return sum_{l = tbar_{s-1}}^{t} eta_l^2 Dl_l, shape [T + 2, R]."""
    return since(path, per_t(path.eta**2) * path.Dl)


def growth(path: Path) -> Floats:
    """Return E[||ebar_{t+1}||^2 | F_t] - (1 - a_{t+1})^2 ||ebar_t||^2, by t in 1..T; [T, R]."""
    t = path.t
    keep = per_t(1 - path.a[t + 1])
    crossed = 2 * keep * (path.ebar[t] * path.bias[t]).sum(axis=-1)
    return np.asarray(path.noise_power[t] + square(path.bias[t]) + crossed)


def momentum_constant(path: Path) -> float:
    """Return c of a_{t+1} = c eta_t^2."""
    return float(path.a[2] / path.eta[1] ** 2)


def x_floor(path: Path) -> Floats:
    """Return the resolution of X_t: K (a few ulps of x)^2, shape [T + 2, R]."""
    size = np.abs(path.p).max(axis=(-1, -2))
    return np.asarray(path.case.K * path.case.dim * (4 * EPS * (1 + size)) ** 2)


def theorem_schedule(case: Case) -> tuple[Premise, ...]:
    """The premise of every line that uses eta_t <= 1/(16 L I) and a_{t+1} = c eta_t^2."""
    return (Premise("the schedule is the theorem's", case.schedule == "theorem"),)
