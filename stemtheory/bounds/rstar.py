"""The bounds of Theorem R*: constant steps, small constants, no logarithm, part by part.

They speak of the schedule ``rstar`` with the steps of their part, and hold for the literal and the
average-first reading of Algorithm 1, part (d) for average-first alone. Proof:
docs/theorem-rstar.md.

Paper: Thm: PR_Convergence_Main_App.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from stemtheory.bounds.constants import RSTAR
from stemtheory.bounds.formulas import (
    BoundFormula,
    Premise,
    Setting,
    Terms,
    at_most_a_jump,
    on_the_curve,
    whole_rounds,
)
from stemtheory.schedules import RSTAR_STEPS, Curve


def rstar_coefficients(part: str, I: int = 2) -> tuple[Fraction, Fraction, Fraction]:
    """Return C of the corollary, C/S after S rounds: what L gap, sigma^2 and zeta^2 are taken by.

    They are those of I >= 2 and, where there is no drift, of I = 1.
    """
    steps = RSTAR_STEPS[part]
    lam, A_s, A_z = _stated(part, I)
    noise = 2 * steps.c_0**2 * steps.h**2
    return 2 / steps.h, 2 / (lam * steps.h**2) + noise * A_s, noise * A_z


def _stated(part: str, I: int) -> tuple[Fraction, Fraction, Fraction]:
    """Return Lambda, A_s and A_z; at I = 1 nothing drifts, and noise is all that is left."""
    stated = RSTAR[part]
    if I == 1:
        return stated.lam_one, 1 / stated.lam_one, Fraction(0)
    return stated.lam, stated.A_s, stated.A_z


@lru_cache
def _numbers(part: str) -> tuple[float, ...]:
    """Return h and c_0, then Lambda, A_s and A_z at I >= 2 and at I = 1, as floats.

    A search asks for them a thousand times.
    """
    steps = RSTAR_STEPS[part]
    return tuple(map(float, (steps.h, steps.c_0, *_stated(part, 2), *_stated(part, 1))))


def _terms(part: str, s: Setting) -> Terms:
    """Return the four terms of (2) after S = T/I rounds.

    I = 1 is told apart by arithmetic, not by a branch, so that the explorer can take the formula.
    """
    h, c_0, *stated = _numbers(part)
    one, more = s.I == 1, s.I > 1
    lam, A_s, A_z = (x * more + y * one for x, y in zip(stated[:3], stated[3:], strict=True))
    rate, variance, work = s.I / s.T, s.sigma * s.sigma, s.I * s.b * s.K
    # the variance in the potential, less what its last value costs; part (a) has it at I = 1 alone
    within = (one if part == "a" else 1) * c_0 * h * h / work
    first = max(s.b * s.I / s.initial_batch, within)
    noise = 2 * (c_0 * h / work) ** 2
    return {
        "gap": 2 / h * s.L * s.gap * rate,
        "initial_batch": 2 * first / (lam * h * h) * variance * rate,
        "variance": noise * A_s * variance,
        "heterogeneity": noise * A_z * s.zeta * s.zeta,
    }


def _premises(part: str, s: Setting) -> tuple[Premise, ...]:
    """Return what is asked of T and m; part (a) allows any larger m, and so does I = 1.

    Up to I = M the other parts are proved of Algorithm 1 itself, m = 1: the potential holds the
    whole variance at the points in use, and a sync batch takes a share of it away.
    """
    M = RSTAR_STEPS[part].M
    met = (whole_rounds(s), at_most_a_jump(s, M))
    if part == "a":
        return met
    fine = (s.sync_batch == 1) | (s.I == 1) | (s.I > M)
    return *met, Premise(f"m = 1 for I <= {M}", fine)


def _point(point: Curve, T: float, K: int, _L: float) -> Curve:
    return on_the_curve(point, T, K)


def _settle(part: str, s: Setting) -> Setting:
    """The theorem chooses m = ceil(I/M), where no larger one is given."""
    return s.at(sync_batch=max(s.sync_batch, RSTAR_STEPS[part].sync_batch(s.I)))


def _formula(part: str) -> BoundFormula:
    steps = RSTAR_STEPS[part]
    readings = "" if len(steps.readings) > 1 else ", average-first"
    return BoundFormula(
        f"stem-rstar-{part}",
        "stem",
        f"Theorem R*, part ({part}): eta = 1/({1 / steps.h}LI), m = ceil(I/{steps.M}){readings}",
        f"Theorem R*, part ({part})",
        lambda s: _terms(part, s),
        lambda s: _premises(part, s),
        adjust=_point,
        settle=lambda s: _settle(part, s),
        schedule="rstar",
        part=part,
        readings=steps.readings,
    )


RSTAR_BOUNDS = tuple(map(_formula, RSTAR))
