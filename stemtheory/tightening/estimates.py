"""From the printed theorem to Theorem R*, one estimate of the proof after the other, as formulas.

All at L = 1 and at S = (I b K)^2 rounds, where all steps are constant. Each formula stands here
alone: ``slack`` evaluates it, and the explorer takes it as data by calling it with letters.

Paper: Thm: PR_Convergence_Main_App, eq. (Eq: Grad_Norm_Sum).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from stemtheory.bounds import BOUNDS, Setting
from stemtheory.schedules import theorem_c_b, theorem_eta

PRINTED_C = 128  # c <= 128 L^2/(bK)


class Estimate(NamedTuple):
    """A bound on the way, with one more estimate taken back: the claim that names it, its terms."""

    step: str
    claim: str
    terms: Callable[[Setting], dict[str, float]]
    least_I: int = 1

    def value(self, s: Setting) -> float:
        """Return S times the bound, S being the T/I rounds."""
        return s.T / s.I * sum(self.terms(s).values())


def _last_line(s: Setting, outer: float, c_b: float, cubes: float) -> dict[str, float]:
    """Return the proof's last line: ``outer`` for 1/(eta_T T), ``cubes`` for the sum of eta_t^3."""
    variance, shift = s.sigma * s.sigma, s.zeta * s.zeta * (s.I - 1) / s.I
    eta_0 = float(theorem_eta(0.0, 1.0, s.K, s.b, s.I))
    c = c_b / (s.b * s.K)
    return {
        "gap": 2 * outer * s.gap,
        "initial_batch": 2 * outer * s.b * variance / (64 * s.initial_batch * eta_0),
        "noise": 2 * outer * (3 * variance / 64 + shift / 32) * c**2 * cubes,
    }


def _outer(s: Setting) -> float:
    """M7e: at least 1/(eta_T T)."""
    return 16 * s.I / s.T + float((s.b * s.K * s.T) ** (-2 / 3))


def _logarithm(s: Setting) -> float:
    """M7c: at least the sum of eta_t^3."""
    return (s.b * s.K) ** 2 * math.log1p(s.T)


def _own_coefficients(s: Setting) -> dict[str, float]:
    return _last_line(s, _outer(s), PRINTED_C, _logarithm(s))


def _own_c(s: Setting) -> dict[str, float]:
    return _last_line(s, _outer(s), theorem_c_b(s.K, s.b, s.I), _logarithm(s))


def _own_eta(s: Setting) -> dict[str, float]:
    outer = 1 / (float(theorem_eta(float(s.T), 1.0, s.K, s.b, s.I)) * s.T)
    return _last_line(s, outer, theorem_c_b(s.K, s.b, s.I), _logarithm(s))


PRINTED = (
    Estimate("printed theorem", "M7", BOUNDS["stem-theorem"].terms),
    Estimate("rounding of coefficients", "M7d", _own_coefficients),
    Estimate("c", "M7g", _own_c),
    Estimate("eta_T", "M7e", _own_eta),
    Estimate("logarithm", "M7c", BOUNDS["stem-intermediate"].terms),
    Estimate("the potential's weight", "Ra", BOUNDS["stem-repaired"].terms, least_I=2),
)
CHAIN = (*PRINTED, Estimate("Theorem R*, part (b)", "RSb", BOUNDS["stem-rstar-b"].terms))
