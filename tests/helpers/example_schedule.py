"""A schedule of one's own: steps that fall as 1/sqrt(t), and a momentum that falls with them.

    eta_t = eta/sqrt(1 + t),   a_{t+1} = min(1, c eta_t^2)

c is what the algorithm's theory puts there; an algorithm without momentum does not look at a_t.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from stemtheory.runtime import Floats, real
from stemtheory.schedules import Conditions, Maker, numbers, theorem_c_b, times


@dataclass(frozen=True)
class InverseRoot:
    """eta_t = first/sqrt(1 + t) with a_t = min(1, c eta_{t-1}^2)."""

    first: float
    c: float
    name: ClassVar[str] = "inverse-root"

    def __post_init__(self) -> None:
        real("eta", self.first, positive=True)

    def eta(self, t: ArrayLike) -> Floats:
        """Return eta_t for t >= 0."""
        return np.asarray(self.first / np.sqrt(1 + times(t)))

    def momentum(self, t: ArrayLike) -> Floats:
        """Return a_t for t >= 1, clipped at 1."""
        return np.asarray(np.minimum(1.0, self.c * self.eta(times(t) - 1) ** 2))

    def parameters(self) -> dict[str, float]:
        """Return the first step and c."""
        return numbers(self)


def make(at: Conditions, own: Mapping[str, float]) -> InverseRoot:
    """Return the schedule for the conditions of a run and the option eta."""
    theory = theorem_c_b(at.K, at.b, at.I) * at.L * at.L / (at.b * at.K)
    return InverseRoot(own["eta"], theory if at.coupling is None else at.coupling)


MAKER = Maker(make, options=("eta",), needed=("eta",))
INVERSE_ROOT = {"stem": MAKER, "fedavg": MAKER}
