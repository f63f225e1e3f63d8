"""The bounds on STEM.

They hold for the literal and the average-first reading of Algorithm 1, not for the overwrite
reading (for I = 1 all readings coincide).

Paper: Thm: PR_Convergence_Main_App, eq. (Eq: Grad_Norm_Sum).
"""

from __future__ import annotations

import math

from stemtheory.bounds.constants import (
    EXPLICIT_SIGMA,
    EXPLICIT_SLOPE,
    EXPLICIT_ZETA,
    REPAIRED,
    REPAIRED_LAM,
)
from stemtheory.bounds.formulas import BoundFormula, Premise, Setting, Terms, whole_rounds
from stemtheory.schedules import Curve, theorem_c_b, theorem_eta, theorem_sum_eta_cubed


def _rates(s: Setting) -> tuple[float, float]:
    """I/T and 1/((bK)^{2/3} T^{2/3}), the two rates of every explicit STEM bound."""
    return s.I / s.T, (s.b * s.K * s.T) ** (-2 / 3)


def _stem_theorem(s: Setting) -> Terms:
    """Paper: Thm: PR_Convergence_Main_App."""
    fast, slow = _rates(s)
    b_B, variance, log = s.b / s.initial_batch, s.sigma * s.sigma, math.log1p(s.T)
    noise = (256**2 * fast + 64**2 * slow) * log
    return {
        "gap": (32 * s.L * fast + 2 * s.L * slow) * s.gap,
        "initial_batch": (8 * b_B * s.I * fast + b_B * s.I / 2 * slow) * variance,
        "variance": noise * variance,
        "heterogeneity": noise * s.zeta * s.zeta * (s.I - 1) / s.I,
    }


def _before_the_logarithm(s: Setting, start: float, A_s: float, A_z: float) -> Terms:
    """Divide the proof's last sum by eta_T T/2, with the exact S3 = sum_{t<=T} eta_t^3.

    (2/(eta_T T)) [Delta + b sigma^2/(start L^2 B eta_0) + (c^2/L^2)(A_s sigma^2 + A_z zeta^2) S3]

    Paper: Thm: PR_Convergence_Main_App, eq. (Eq: Grad_Norm_Sum).
    """
    eta_0 = float(theorem_eta(0.0, s.L, s.K, s.b, s.I))
    eta_T = float(theorem_eta(float(s.T), s.L, s.K, s.b, s.I))
    S3 = float(theorem_sum_eta_cubed(float(s.T), s.L, s.K, s.b, s.I))
    c_over_L = s.L * theorem_c_b(s.K, s.b, s.I) / (s.b * s.K)
    outer, cubes = 2 / (eta_T * s.T), c_over_L * c_over_L * S3
    variance = s.sigma * s.sigma
    first = s.b * variance / (start * s.L * s.L * s.initial_batch * eta_0)
    return {
        "gap": outer * s.gap,
        "initial_batch": outer * first,
        "variance": outer * A_s * cubes * variance,
        "heterogeneity": outer * A_z * cubes * s.zeta * s.zeta,
    }


def _stem_intermediate(s: Setting) -> Terms:
    return _before_the_logarithm(s, 64, 3 / 64, (s.I - 1) / (32 * s.I))


def _stem_repaired(s: Setting) -> Terms:
    return _before_the_logarithm(s, REPAIRED_LAM, *REPAIRED["a"].at(s.I, s.sync_batch))


def _stem_repaired_explicit(s: Setting) -> Terms:
    fast, slow = _rates(s)
    b_B, variance, log = s.b / s.initial_batch, s.sigma * s.sigma, math.log1p(s.T)
    ratio = s.I / s.sync_batch
    noise_fast, noise_slow = map(float, EXPLICIT_SIGMA)
    fast_drift, slow_drift = (
        float(constant) + float(slope) * ratio
        for constant, slope in zip(EXPLICIT_ZETA, EXPLICIT_SLOPE, strict=True)
    )
    drift = fast_drift * fast + slow_drift * slow
    return {
        "gap": (32 * s.L * fast + 2 * s.L * slow) * s.gap,
        "initial_batch": b_B * s.I * (32 / 15 * fast + 2 / 15 * slow) * variance,
        "variance": (noise_fast * fast + noise_slow * slow) * variance * log,
        "heterogeneity": drift * s.zeta * s.zeta * log,
    }


def _stem_log_free(s: Setting) -> Terms:
    rate = s.I / s.T
    return {
        "gap": 32 * s.L * s.gap * rate,
        "variance": 2.42 * s.sigma * s.sigma * rate,
        "heterogeneity": (0.004 + 6.5e-4 * s.I / s.sync_batch) * s.zeta * s.zeta * rate,
    }


def _jump(s: Setting, most: int) -> Premise:
    """I = 1 needs no sync batch and meets every one of these."""
    return Premise(f"I/m <= {most}", s.I <= most * s.sync_batch)


def _repaired_premises(s: Setting) -> tuple[Premise, ...]:
    return whole_rounds(s), Premise("I >= 2", s.I >= 2), _jump(s, REPAIRED["a"].longest)


def _log_free_premises(s: Setting) -> tuple[Premise, ...]:
    # The curve computes b as sqrt(S)/(IK), so the comparison allows for its last digits.
    least = math.sqrt(s.T / s.I) / (s.I * s.K) * (1 - 1e-12)
    return (
        *_repaired_premises(s),
        Premise("b >= sqrt(S)/(I K)", s.b >= least),
        Premise("B >= b I", s.initial_batch >= s.b * s.I),
    )


def _at_least_two(point: Curve, _T: float, _K: int, _L: float) -> Curve:
    return point._replace(I=max(2, point.I))


def _log_free_point(point: Curve, T: float, K: int, _L: float) -> Curve:
    """Rounding may leave I^3 (bK)^2 below T; the corollary needs it, so b is raised to meet it."""
    I = max(2, point.I)
    S = -(-T // I)  # a run has whole rounds, so T is rounded up to them
    return point._replace(I=I, b=max(point.b, math.sqrt(S) / (I * K)))


def _log_free_settle(s: Setting) -> Setting:
    """The corollary chooses m = ceil(I/20000); a larger sync batch is allowed."""
    return s.at(sync_batch=max(s.sync_batch, -(-s.I // REPAIRED["a"].longest)))


STEM_BOUNDS = (
    BoundFormula(
        "stem-theorem",
        "stem",
        "the theorem with explicit constants",
        "Paper: Thm: PR_Convergence_Main_App",
        _stem_theorem,
        lambda s: (whole_rounds(s), _jump(s, REPAIRED["b"].longest)),
    ),
    BoundFormula(
        "stem-intermediate",
        "stem",
        "the theorem's proof before its logarithmic step",
        "Paper: Thm: PR_Convergence_Main_App, eq. (Eq: Grad_Norm_Sum)",
        _stem_intermediate,
        lambda s: (whole_rounds(s), _jump(s, REPAIRED["c"].longest)),
    ),
    BoundFormula(
        "stem-repaired",
        "stem",
        "the repaired theorem, with its sum of eta_t^3",
        "Repaired theorem, part (a)",
        _stem_repaired,
        _repaired_premises,
        adjust=_at_least_two,
    ),
    BoundFormula(
        "stem-repaired-explicit",
        "stem",
        "the repaired theorem with explicit constants",
        "Repaired theorem, consequence (iii)",
        _stem_repaired_explicit,
        _repaired_premises,
        adjust=_at_least_two,
    ),
    BoundFormula(
        "stem-log-free",
        "stem",
        "C/S for S rounds on or above the trade-off curve, without a logarithm",
        "Repaired theorem, corollary",
        _stem_log_free,
        _log_free_premises,
        adjust=_log_free_point,
        settle=_log_free_settle,
    ),
)
