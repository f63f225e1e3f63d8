"""The constant steps of Theorem R*: eta = h/(LI) and a = c_0 h^2/(bK I^2), part by part.

The one estimate of a round that spans the averaging takes m = ceil(I/M) times as many samples; up
to I = M that is Algorithm 1 as printed. See docs/theorem-rstar.md.

Paper: Thm: PR_Convergence_Main, eq. (eq: Step-Size).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from stemtheory.runtime import Floats, choice
from stemtheory.schedules.stepsizes import check_setting, times

BOTH, AVERAGE_FIRST = ("literal", "average-first"), ("average-first",)


class RStarSteps(NamedTuple):
    """What a part chooses: h = eta L I, c_0 = c bK/L^2, the largest I/m, the readings it is for."""

    h: Fraction
    c_0: Fraction
    M: int
    readings: tuple[str, ...] = BOTH

    def eta(self, L: Any, I: Any) -> Any:
        """Return eta = h/(LI)."""
        return float(self.h) / (L * I)

    def momentum(self, K: Any, b: Any, I: Any) -> Any:
        """Return a = c_0 h^2/(bK I^2)."""
        return float(self.c_0 * self.h**2) / (b * K * I**2)

    def sync_batch(self, I: int) -> int:
        """Return m = ceil(I/M)."""
        return -(-I // self.M)

    def same(self, other: RStarSteps) -> bool:
        """Whether these are the same steps, whatever else the parts state of them."""
        return (self.h, self.c_0) == (other.h, other.c_0)


RSTAR_STEPS = {
    "a": RStarSteps(Fraction(1, 4), Fraction(6), 8),
    "b": RStarSteps(Fraction(1, 4), Fraction(6), 8),
    "c": RStarSteps(Fraction(1, 4), Fraction(6), 32),
    "d": RStarSteps(Fraction(1, 3), Fraction(9, 2), 16, AVERAGE_FIRST),
    "e": RStarSteps(Fraction(1, 5), Fraction(10), 100),
}


@dataclass(frozen=True)
class RStar:
    """The schedule of a part of Theorem R*; it needs L, b, K and I only, not T and not sigma."""

    L: float
    K: int
    b: float
    I: int
    part: str = "b"
    name: ClassVar[str] = "rstar"

    def __post_init__(self) -> None:
        check_setting(self.L, self.K, self.b, self.I)
        choice("part", self.part, RSTAR_STEPS)

    @property
    def steps(self) -> RStarSteps:
        """The numbers that the part chooses."""
        return RSTAR_STEPS[self.part]

    @property
    def sync_batch(self) -> int:
        """m = ceil(I/M): the sync batch that the part asks for."""
        return self.steps.sync_batch(self.I)

    def eta(self, t: ArrayLike) -> Floats:
        """Return eta = h/(LI) in the shape of t."""
        return np.full_like(times(t), self.steps.eta(self.L, self.I))

    def momentum(self, t: ArrayLike) -> Floats:
        """Return a = c_0 h^2/(bK I^2) in the shape of t; at most 1/2."""
        return np.full_like(times(t), self.steps.momentum(self.K, self.b, self.I))

    def parameters(self) -> dict[str, float]:
        """Return L, K, b, I, and the h and c_0 of the part."""
        given = {"L": self.L, "K": self.K, "b": self.b, "I": self.I}
        return {key: float(value) for key, value in given.items()} | {
            "h": float(self.steps.h),
            "c_0": float(self.steps.c_0),
        }
