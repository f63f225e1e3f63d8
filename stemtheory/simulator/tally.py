"""What is kept of a group's measurements: sums, minima, the record, and who has diverged.

Paper: Algorithm (Algo_DR-STORM_batch), Algorithm (Algo_FedAvg).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from stemtheory.runtime import Ints
from stemtheory.simulator.limits import DIVERGED
from stemtheory.simulator.plan import Rows


class GroupTally:
    """Sums, minima and the record over time; one addition per iteration, in order."""

    def __init__(self, replicates: int, T: int, record: Ints, links: int) -> None:
        self.replicates, self.T, self.record, self.links = replicates, T, record, links
        self.progress = np.zeros((len(record) if links else 0, replicates), dtype=np.int64)
        self.arrived_at = np.zeros(replicates, dtype=np.int64)
        self.total = np.zeros(replicates)
        self.last = np.full(replicates, np.nan)
        self.best = np.full(replicates, np.inf)
        self.diverged_at = np.zeros(replicates, dtype=np.int64)
        self.series = np.full((len(record), replicates), np.nan)
        self.running = np.full((len(record), replicates), np.nan)

    @property
    def all_diverged(self) -> bool:
        """Whether no replicate is left, so that the run may end."""
        return bool(np.all(self.diverged_at > 0))

    def add(self, measured: Any, t0: int) -> None:
        """Add a block [steps, replicates] that starts at iteration t0."""
        values = measured.astype(np.float64)
        gone = self.diverged_at > 0
        lost = gone | np.logical_or.accumulate(~(values <= DIVERGED), axis=0)  # NaN too
        fresh = lost[-1] & ~gone
        self.diverged_at[fresh] = t0 + lost.argmax(axis=0)[fresh]
        values[lost] = np.nan  # it goes on to where this block of steps ends, which is chance
        sums = np.cumsum(np.concatenate([self.total[None], values]), axis=0)[1:]
        self.total, self.last = sums[-1], values[-1]
        self.best = np.fmin(self.best, np.fmin.reduce(values))
        due = self._due(t0, len(values))
        times = self.record[due]
        self.series[due] = values[times - t0]
        self.running[due] = sums[times - t0] / times[:, None]

    def _due(self, t0: int, n: int) -> slice:
        """Return where the times to be kept lie that are among n iterations from t0 on."""
        first, end = np.searchsorted(self.record, (t0, t0 + n))
        return slice(first, end)

    def follow(self, found: Any, t0: int) -> None:
        """Add what xbar_t has found of a chain, [steps, replicates] from iteration t0 on."""
        there = found >= self.links
        fresh = there.any(axis=0) & (self.arrived_at == 0)
        self.arrived_at[fresh] = t0 + there.argmax(axis=0)[fresh]
        due = self._due(t0, len(found))
        self.progress[due] = found[self.record[due] - t0]

    def finish(self, silent: float) -> Rows:
        """Return the averages; a diverged replicate is NaN, whatever was finite before."""
        lost = self.diverged_at > 0
        average = np.where(lost, np.nan, self.total / self.T)
        return Rows(
            average,
            np.where(lost, np.nan, self.last),
            self.best,
            self.diverged_at,
            self.series,
            self.running,
            self.progress,
            self.arrived_at,
            silent,
        )
