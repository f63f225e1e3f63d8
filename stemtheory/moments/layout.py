"""Where what lies in the state of the moments: upper triangles of matrices, one after the other.

Paper: Algorithm (Algo_DR-STORM_batch), Algorithm (Algo_FedAvg).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from stemtheory.moments.linear_model import Coefficients
from stemtheory.moments.rows import VARIABLES, View
from stemtheory.runtime import Floats


@dataclass(frozen=True)
class StateLayout:
    """Where what lies in the state: upper triangles of E[z z'] and of every D_g, then the sum.

    Groups in ``spread`` have a D_g, of one more variable where they are in ``offset`` too.
    """

    groups: int
    variables: int
    spread: tuple[int, ...]
    offset: tuple[int, ...]

    @property
    def N(self) -> int:
        """Length of z."""
        return 1 + self.groups * self.variables

    @property
    def covariance(self) -> dict[int, slice]:
        """The slice of D_g in the state, for every group of more than one worker."""
        found, start = {}, half(self.N)
        for g in self.spread:
            found[g] = slice(start, start + half(self.variables + (g in self.offset)))
            start = found[g].stop
        return found

    @property
    def size(self) -> int:
        """How many numbers the state has."""
        return int(max([half(self.N), *(own.stop for own in self.covariance.values())])) + 1

    def linear(self, first: int) -> Any:
        """Return the indices of E[z_i z_j], i and j from ``first`` on, and of all D_g but for o."""
        found = [np.flatnonzero(upper(self.N)[0] >= first)]
        for g, own in self.covariance.items():
            known = int(g in self.offset)
            found.append(own.start + np.flatnonzero(upper(self.variables + known)[0] >= known))
        return np.concatenate(found)

    def view(self, g: int, shares: Floats) -> View:
        """Return a worker of group g as its mean is seen in z."""
        unit = np.eye(self.N)
        own = [unit[self.place(h)] for h in range(self.groups)]
        mean = sum(share * rows for share, rows in zip(shares, own, strict=True))
        return View(tuple(own[g]), unit[0], tuple(mean))

    def deviation_view(self, g: int) -> View:
        """Return a worker's deviation from its group: means over workers are 0, and 1 is its o."""
        known = int(g in self.offset)
        unit = np.eye(self.variables + known)
        zero = 0 * unit[0]
        return View(tuple(unit[known:]), unit[0] if known else zero, (zero,) * self.variables)

    def place(self, g: int) -> slice:
        """Return where z_g lies in z."""
        return slice(1 + g * self.variables, 1 + (g + 1) * self.variables)


def layout(model: Coefficients, algorithm: str) -> StateLayout:
    """Return the layout of the state."""
    spread = tuple(g for g, size in enumerate(model.sizes) if size > 1)
    offset = tuple(g for g in spread if model.spread[g].any())
    return StateLayout(len(model.sizes), VARIABLES[algorithm], spread, offset)


@cache
def upper(n: int) -> tuple[Any, Any]:
    """Return rows and columns of the upper triangle of n by n entries."""
    return np.triu_indices(n)


def half(n: int) -> int:
    """Return how many entries it has."""
    return n * (n + 1) // 2
