"""The constants of the repaired theorem: its three parts, and what its proof collects.

Every constant is an exact fraction; what depends on the sizes is an interval that covers all b
and K (>= 1) at once. See docs/repaired-theorem.md, steps 3 to 7.

Paper: Thm: PR_Convergence_Main_App, eq. (Eq: Grad_Norm_Sum).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from stemtheory.bounds import REPAIRED, REPAIRED_LAM
from stemtheory.claims.intervals import Interval, Pair, enclose, exp_upper

THEOREM, SUM = "Thm: PR_Convergence_Main_App", "Eq: Grad_Norm_Sum"
DRIFT = "lem: GradientError_PotentialFn_App"


class ProofPart(NamedTuple):
    """A part of the theorem: free choices of the proof, and what the theorem states for them.

    ``weights`` split the square of Z_s over its terms in ||dbar||, zeta and sigma; the last three
    are those of ``RepairedPart``.
    """

    theta: Fraction
    weights: tuple[Fraction, Fraction, Fraction]
    longest: int
    A_s: Fraction
    A_z: tuple[Fraction, Fraction]


def _part(name: str, theta: str, weights: str) -> ProofPart:
    first, second, third = map(Fraction, weights.split())
    return ProofPart(Fraction(theta), (first, second, third), *REPAIRED[name])


PARTS = {
    "a": _part("a", "1", "0.58 0.25 0.10"),
    "b": _part("b", "1/20", "0.62 0.26 0.05"),
    "c": _part("c", "1/10", "0.15 0.70 0.08"),
}
# What the elementary chain states: A_s = 1/32 + A (D + I/32)/b and A_z = 2 A (D + I/32).
ELEMENTARY_A, ELEMENTARY_D = Fraction("0.0910"), Fraction("0.004")
ELEMENTARY_LONGEST = 318


@dataclass(frozen=True)
class ProofChoices:
    """What the proof fixes once: the potential's lam, Young's p, Gronwall's G, R >= r^4 and rho.

    r is the largest quotient of step sizes within a round.
    """

    lam: Fraction = Fraction(REPAIRED_LAM)
    p: Fraction = Fraction(1, 30)
    G: Fraction = Fraction("1.0687")
    R: Fraction = Fraction("1.0001")
    rho: Fraction = Fraction("0.0669")

    @property
    def w(self) -> Fraction:
        """(1 + 1/p)/2 = 15.5, the weight of the consensus error in the descent."""
        return (1 + 1 / self.p) / 2


METHOD = ProofChoices()


@dataclass(frozen=True)
class ProofSizes:
    """I, and by what the jump is divided: ``jump`` = 1/m (sync batch), 1/phi^2 or 1/mu.

    ``mu`` multiplies c and lam (1 but for the variant that changes c alone).
    """

    I: Any
    jump: Interval
    mu: Interval = field(default_factory=lambda: Interval(1.0, 1.0))


def with_sync_batch(I: Any, m: Any) -> ProofSizes:
    """Return the sizes of Algorithm 1 with m b samples at the jump."""
    return ProofSizes(np.asarray(I), enclose(1) / m)


def c_b(I: Any, mu: Any = 1) -> Interval:
    """Return c bK/L^2 = 64 + 1/(24 bKI) over all b, K >= 1 (times mu)."""
    found: Interval = (64 + Interval(0.0, 1.0) / (24 * enclose(I))) * mu
    return found


def stated(part: ProofPart, sizes: ProofSizes) -> tuple[Any, Any]:
    """Return (A_s, A_z) as the theorem states them: mu A_s and mu^2 (A_z0 + A_z1 I/m)."""
    ratio = enclose(sizes.I) * sizes.jump
    constant, slope = part.A_z
    A_z = enclose(constant) + enclose(slope) * ratio
    return enclose(part.A_s) * sizes.mu, A_z * sizes.mu * sizes.mu


def collected(
    part: ProofPart, sizes: ProofSizes, method: ProofChoices = METHOD
) -> tuple[Any, Any, Any]:
    """Return the coefficients of eta ||dbar||^2, (c^2/L^2) zeta^2 eta^3 and ... sigma^2 eta^3.

    Step 7 of the proof; the last two belong on the right side, the first must be absorbed.
    """
    q, G2, lam = 1 + part.theta, method.G**2, method.lam
    p_A, p_C, p_D = part.weights
    E = q / lam + method.w / 512
    e = lam * 4 * G2 * E / (256 * q)
    jump_cost = q * method.R * G2 / (lam * (1 - method.rho))
    drift_cost = E * method.R * 4 * G2
    I, mu2 = enclose(sizes.I), sizes.mu * sizes.mu
    longer = I * sizes.jump + e
    dbar = longer * (jump_cost / (768 * p_A)) + drift_cost / 512
    zeta = mu2 * (longer * (jump_cost / (2048 * p_C)) + drift_cost / 1536)
    moving = (longer * (4 * jump_cost / (2304 * p_D)) + drift_cost / 512) / I
    sigma = sizes.mu * ((1 + 1 / part.theta) / lam) + mu2 * moving
    return dbar, zeta, sigma


def room(part: ProofPart, method: ProofChoices = METHOD) -> Fraction:
    """Return what the descent leaves for ||dbar||^2: 1/2 - 1/64 - (1 + theta)/lam."""
    return Fraction(1, 2) - Fraction(1, 64) - (1 + part.theta) / method.lam


def within(
    found: tuple[Any, Any, Any], part: ProofPart, sizes: ProofSizes, method: ProofChoices = METHOD
) -> list[Pair]:
    """Return the three inequalities of step 7 between what is collected and what is stated."""
    dbar, zeta, sigma = found
    A_s, A_z = stated(part, sizes)
    return [(dbar, room(part, method)), (zeta, A_z), (sigma, A_s)]


def cancellation(I: Any, method: ProofChoices = METHOD, mu: Any = 1, pieces: int = 64) -> Pair:
    """Return that ||ebar_t||^2 cancels: lam (1+p)/2 mu <= (2 - a) c_b - u, all b, K >= 1.

    1/(bK) runs over pieces of [0, 1], because it enters c_b, a and u together; I = 2 needs many.
    """
    edges = np.linspace(0, 1, pieces + 1)[:, None]
    per_bK = Interval(edges[:-1], edges[1:])
    u = per_bK / (24 * enclose(I))
    constant = (64 + u) * mu
    a = constant * per_bK / (256 * enclose(I) * enclose(I))
    return enclose(mu) * (method.lam * (1 + method.p) / 2), (2 - a) * constant - u


def universal(method: ProofChoices = METHOD) -> list[Pair]:
    """Return what steps 4 to 7 use of G, rho, R and the weights; r^3 <= 1 + 1/(4096 I^2)."""
    alpha_I = c_b(2) / 1024  # c h^2 (I - 1) <= c_b (I - 1)/(256 I^2), largest at I = 2
    r = 1 + Fraction(1, 3 * 4096 * 4)
    return [
        (alpha_I, "0.06253"),
        (exp_upper(Fraction("1.06253") / 16), method.G),
        (r * method.G / 16, method.rho),
        (r**4, method.R),
        *((sum(part.weights), 1 - method.rho) for part in PARTS.values()),
    ]
