"""Step sizes of FedAvg: constant over a run, with no momentum (a_t = 1).

Paper: Thm: Flexible_FedAvg.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from stemtheory.runtime import Floats, real
from stemtheory.schedules.stepsizes import check_setting, numbers, times

SHARE = 9  # the theorem takes steps of at most 1/(9LI)


def shortest_run(L: float, K: int, b: float, I: int) -> float:
    """Return 81 L^2 I^2 bK, the T from which sqrt(bK/T) is at most 1/(9LI)."""
    return SHARE**2 * (L * I) ** 2 * b * K


def largest_minibatch(T: float, K: int, L: float) -> float:
    """Return T/(81 L^2 K), the b at which a run of T steps with I = 1 is the shortest allowed."""
    return T / (SHARE**2 * L**2 * K)


def fedavg_eta(T: Any, K: Any, b: Any) -> Any:
    """Return the paper's step size sqrt(bK/T), the same at every t.

    Paper: Thm: Flexible_FedAvg.
    """
    return np.sqrt(b * K / T)


@dataclass(frozen=True)
class FedAvgTheorem:
    """eta = sqrt(bK/T) for every t, as printed (no 1/L in it); a_t = 1, no momentum.

    Paper: Thm: Flexible_FedAvg.
    """

    T: float
    K: int
    b: float
    I: int
    L: float
    name: ClassVar[str] = "theorem"

    def __post_init__(self) -> None:
        check_setting(self.L, self.K, self.b, self.I)
        real("T", self.T, minimum=1)

    @property
    def premise_ok(self) -> bool:
        """Whether T >= 81 L^2 I^2 bK, which is eta <= 1/(9LI)."""
        return self.T >= shortest_run(self.L, self.K, self.b, self.I)

    def eta(self, t: ArrayLike) -> Floats:
        """Return sqrt(bK/T) in the shape of t."""
        return np.full_like(times(t), fedavg_eta(self.T, self.K, self.b))

    def momentum(self, t: ArrayLike) -> Floats:
        """Return 1 in the shape of t."""
        return np.ones_like(times(t))

    def parameters(self) -> dict[str, float]:
        """Return T, K, b, I, L and whether the premise holds (1 or 0)."""
        return numbers(self) | {"premise_ok": float(self.premise_ok)}


@dataclass(frozen=True)
class FedAvgCalibrated:
    """eta = min(1/(C1 L I), C3 sqrt(bK/T)/L) for every t; a_t = 1.

    The printed shape, made invariant to the units of L by its 1/L, and held to a stable step by
    the cap of `Calibrated` where T is too short for the theorem's premise.
    """

    T: float
    K: int
    b: float
    I: int
    L: float
    C1: float = 2.0
    C3: float = 1.0
    name: ClassVar[str] = "calibrated"

    def __post_init__(self) -> None:
        check_setting(self.L, self.K, self.b, self.I)
        real("T", self.T, minimum=1)
        real("C1", self.C1, positive=True)
        real("C3", self.C3, positive=True)

    def eta(self, t: ArrayLike) -> Floats:
        """Return the one step size in the shape of t."""
        printed = self.C3 * np.sqrt(self.b * self.K / self.T) / self.L
        return np.full_like(times(t), min(1 / (self.C1 * self.L * self.I), printed))

    def momentum(self, t: ArrayLike) -> Floats:
        """Return 1 in the shape of t."""
        return np.ones_like(times(t))

    def parameters(self) -> dict[str, float]:
        """Return T, K, b, I, L and the constants."""
        return numbers(self)
