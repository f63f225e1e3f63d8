"""The constants that the repaired theorem and Theorem R* state, each once.

A part of the theorem bounds sum_t (eta_t/2) E||grad f(xbar_t)||^2, for I/m up to ``longest``, by

    Delta_f + b sigma^2/(lam L^2 B eta_0) + (c^2/L^2) [A_s sigma^2 + A_z zeta^2] sum_t eta_t^3

with lam = 240 and A_z a constant and a slope in I/m; ``RStarPart`` says what Theorem R* states. The
claims R4, Ri to Riii and those on Theorem R* derive each number here from the choices of the
proof, so that a wrong one is found.

Paper: Thm: PR_Convergence_Main_App, eq. (Eq: Grad_Norm_Sum).
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple


class RepairedPart(NamedTuple):
    """What a part of the repaired theorem states, in exact fractions."""

    longest: int
    A_s: Fraction
    A_z: tuple[Fraction, Fraction]

    def at(self, I: int, m: int) -> tuple[float, float]:
        """Return (A_s, A_z) for I local steps and a sync batch m."""
        constant, slope = self.A_z
        return float(self.A_s), float(constant) + float(slope) * I / m


def _part(longest: int, A_s: str, constant: str, slope: str) -> RepairedPart:
    return RepairedPart(longest, Fraction(A_s), (Fraction(constant), Fraction(slope)))


REPAIRED_LAM = 240
REPAIRED = {
    "a": _part(20_000, "0.0087", "1.2e-4", "2e-5"),
    "b": _part(40_000, "0.089", "1.2e-4", "1.01e-5"),
    "c": _part(7_500, "0.0465", "1.2e-4", "3.92e-6"),
}


# Consequence (iii): coefficients of I/T and of (bKT)^{-2/3} in the terms of sigma^2 and zeta^2, the
# latter with a slope in I/m.
EXPLICIT_SIGMA = (Fraction(1142), Fraction("71.4"))
EXPLICIT_ZETA = (Fraction(16), Fraction(1))
EXPLICIT_SLOPE = (Fraction("2.63"), Fraction("0.165"))


class RStarPart(NamedTuple):
    """What a part of Theorem R* states of its steps, and its Lambda for I = 1.

    E||grad f(xbar_a)||^2 is at most, with S rounds, m = ceil(I/M) and beta = max(bI/B, a I)
    (bI/B in part (a)),

        (2/h) L gap/S + 2 beta sigma^2/(lam h^2 S)
            + 2 c_0^2 h^2 (A_s sigma^2 + A_z zeta^2)/(I b K)^2
    """

    lam: Fraction
    A_s: Fraction
    A_z: Fraction
    lam_one: Fraction


def _rstar(lam: str, A_s: str, A_z: str, lam_one: str) -> RStarPart:
    return RStarPart(Fraction(lam), Fraction(A_s), Fraction(A_z), Fraction(lam_one))


RSTAR = {
    "a": _rstar("20.86", "0.181", "0.0752", "19.5"),
    "b": _rstar("20.81", "0.0989", "0.0472", "19.5"),
    "c": _rstar("20.69", "0.1240", "0.1307", "19.5"),
    "d": _rstar("14.69", "0.1521", "0.1053", "13.5"),
    "e": _rstar("35.36", "0.0559", "0.0743", "32"),
}
