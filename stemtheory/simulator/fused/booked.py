"""What the kernels have measured so far, and the rows that a run returns of it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from stemtheory.simulator.plan import Plan, Rows


@dataclass
class Booked:
    """What has been measured: per replicate the kernel's book and the recorded series."""

    book: Any
    series: Any
    running: Any

    @staticmethod
    def new(replicates: int, times: int) -> Booked:
        """Return an empty record: nothing added, nothing diverged."""
        book = np.tile([0.0, math.nan, math.inf, 0.0, 0.0], (replicates, 1))
        series = np.full((replicates, times), math.nan)
        return Booked(book, series, series.copy())

    def lost(self, group: range) -> Any:
        """Return which replicates of a group have diverged."""
        return self.book[group.start : group.stop, 3] > 0

    def finish(self, plan: Plan) -> Rows:
        """Return the averages; a diverged replicate is NaN, whatever was finite before."""
        book, lost = self.book, self.book[:, 3] > 0
        return Rows(
            total=np.where(lost, math.nan, book[:, 0] / plan.sizes.T),
            last=np.where(lost, math.nan, book[:, 1]),
            best=book[:, 2].copy(),
            diverged_at=book[:, 3].astype(np.int64),
            series=self.series.T.copy(),
            running=self.running.T.copy(),
            progress=np.empty((0, len(book)), dtype=np.int64),  # no chain is separable
            arrived_at=np.zeros(len(book), dtype=np.int64),
        )
