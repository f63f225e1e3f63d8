"""What the kernels have measured so far, and the rows that a run returns of it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from stemtheory.algorithms import declared
from stemtheory.simulator.array_engine import Meter, Plan, Rows
from stemtheory.simulator.fused.tables import factors


@dataclass
class Progress:
    """What has been measured: per replicate the kernel's book and the recorded series."""

    book: Any
    series: Any
    running: Any

    @staticmethod
    def new(replicates: int, times: int) -> Progress:
        """Return an empty record: nothing added, nothing diverged."""
        book = np.tile([0.0, math.nan, math.inf, 0.0, 0.0], (replicates, 1))
        series = np.full((replicates, times), math.nan)
        return Progress(book, series, series.copy())

    def lost(self, group: range) -> Any:
        """Return which replicates of a group have diverged."""
        return self.book[group.start : group.stop, 3] > 0

    def finish(self, plan: Plan) -> Rows:
        """Return the averages; a diverged replicate is NaN, whatever was finite before."""
        book, lost = self.book, self.book[:, 3] > 0
        ran = plan.sizes.T if not lost.all() else int(book[:, 3].max())
        return Rows(
            total=np.where(lost, math.nan, book[:, 0] / plan.sizes.T),
            last=np.where(lost, math.nan, book[:, 1]),
            best=book[:, 2].copy(),
            diverged_at=book[:, 3].astype(np.int64),
            series=self.series.T.copy(),
            running=self.running.T.copy(),
            meter=_meter(plan, ran),
        )


def _meter(plan: Plan, ran: int) -> Meter:
    """Return the counts of so many iterations."""
    meter, b = Meter(), plan.sizes.b
    if plan.algorithm.initial_batch:
        meter.step(1, plan.sizes.B)
    samples = ran * b
    if getattr(plan.algorithm, "sync_batch", 1) > 1:
        samples = float(factors(plan, 1, ran).sum()) * b
    meter.step(plan.algorithm.gradients_per_step, samples)
    meter.rounds = ran // plan.sizes.I
    passes = declared(plan.algorithm).passes * -(-ran // plan.sizes.I)
    samples = b * plan.sizes.I if plan.pass_samples is None else plan.pass_samples
    meter.step(1, passes * samples)
    return meter
