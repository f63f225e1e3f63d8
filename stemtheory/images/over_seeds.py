"""Statistics over a few seeds, and how they are written: shares in per cent, leads in points."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from stemtheory.runtime import t_quantile


class SeedMean(NamedTuple):
    """A mean over seeds, its standard error, and of how many seeds; NaN where there are too few."""

    mean: float
    error: float
    seeds: int

    @property
    def clear(self) -> bool:
        """Whether it is above 0 beyond chance: 95 per cent of Student's distribution."""
        return self.mean > 0 and self.distinct

    @property
    def distinct(self) -> bool:
        """Whether it differs from 0 beyond chance, on either side, by the same distribution."""
        if self.seeds < 2:
            return False
        return abs(self.mean) > t_quantile(self.seeds - 1, 0.975) * self.error


def over_seeds(values: ArrayLike) -> SeedMean:
    """Return mean and standard error over the finite values: a seed that diverged has none."""
    every = np.asarray(values, dtype=np.float64)
    good = every[np.isfinite(every)]
    n = len(good)
    if n == 0:
        return SeedMean(math.nan, math.nan, 0)
    error = float(good.std(ddof=1) / math.sqrt(n)) if n > 1 else math.nan
    return SeedMean(float(good.mean()), error, n)


def percent(share: SeedMean) -> str:
    """Return a share and its standard error in per cent."""
    if share.seeds == 0:
        return "none"
    mean = f"{100 * share.mean:.2f}"
    return f"{mean} ± {100 * share.error:.2f}" if share.seeds > 1 else mean


def points(lead: SeedMean) -> str:
    """Return a difference of shares in points, with its sign and its standard error."""
    if lead.seeds == 0:
        return "not comparable"
    mean = f"{100 * lead.mean:+.2f}"
    return f"{mean} ± {100 * lead.error:.2f} points" if lead.seeds > 1 else f"{mean} points"
