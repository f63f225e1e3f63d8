"""Sums over a round, and the terms that the lemmas of STEM share, each on a recorded run.

Paper: Lemma (lem: ErrorAccumulation_Batch_App), eq. (eq: Potential_Fn_Batch_App).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from stemtheory.bounds import Premise
from stemtheory.claims.base import Case
from stemtheory.claims.evidence.path import Path
from stemtheory.claims.evidence.recorded import square
from stemtheory.runtime import Floats


def per_t(values: Any) -> Floats:
    """Return a column [n, 1] from values at n times, to stand beside arrays [n, R]."""
    return np.asarray(values)[:, None]


def growth(path: Path) -> Floats:
    """Return E[||ebar_{t+1}||^2 | F_t] - (1 - a_{t+1})^2 ||ebar_t||^2, by t in 1..T; [T, R]."""
    t = path.t
    keep = per_t(1 - path.a[t + 1])
    crossed = 2 * keep * (path.ebar[t] * path.bias[t]).sum(axis=-1)
    return np.asarray(path.noise_power[t] + square(path.bias[t]) + crossed)


def theorem_schedule(case: Case) -> tuple[Premise, ...]:
    """The premise of every line that uses eta_t <= 1/(16 L I) and a_{t+1} = c eta_t^2."""
    return (Premise("the schedule is the theorem's", case.schedule == "theorem"),)
