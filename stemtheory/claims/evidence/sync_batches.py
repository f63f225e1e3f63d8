"""What a sync batch costs: oracle calls of runs with m = ceil(I/M), as the simulator counts them.

Paper: Def: ComputationComplexity; docs/repaired-theorem.md, section 5.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from stemtheory.algorithms import Stem
from stemtheory.bounds import REPAIRED
from stemtheory.claims.base import Comparison
from stemtheory.oracles import load_problem


@dataclass(frozen=True)
class SyncRun:
    """A run of S rounds with m = ceil(I/M): its samples are counted, its iterates do not matter."""

    I: int
    M: int
    b: int = 2
    rounds: int = 3
    reading: str = "literal"
    least: int = 0

    @property
    def m(self) -> int:
        """How many times b samples the jump estimate uses."""
        return max(-(-self.I // self.M), self.least)


def sync_runs(level: str) -> tuple[tuple[SyncRun, ...], ...]:
    """Return one subject: short rounds that are simulated, and long ones counted by the rule."""
    short = [SyncRun(I, M, b) for I in (2, 3, 8, 16) for M in (1, 3, 8) for b in (1, 4)]
    longest = REPAIRED["b"].longest
    long = [SyncRun(I, longest, rounds=2) for I in (longest, longest + 1, 2 * longest + 1)]
    runs = [*short, *long]
    return ((*runs, *(replace(run, reading="average-first") for run in runs)),)


@cache
def counted(run: SyncRun) -> float:
    """Return a worker's oracle calls after the initial batch, as the simulator counts them.

    Rounds too long to be simulated here are counted by the minibatches that would be drawn.
    """
    if run.I > 100:
        costs = Stem(run.reading, run.m).costs
        factors = costs.batch_factors(1, run.rounds * run.I, run.I)
        return float(costs.gradients * run.b * factors.sum())
    from stemtheory.simulator import simulate  # slow to load, and the ledger needs none

    trace = simulate(
        load_problem("quadratic", 2, 1),
        T=run.rounds * run.I,
        b=run.b,
        I=run.I,
        B=1,
        sync=run.reading,
        sync_batch=run.m,
        replicates=1,
        backend="numpy",
    )
    return trace.counts.samples_per_worker - 1


def price(runs: Iterable[SyncRun], least: int = 0) -> Comparison:
    """Samples - 2bIS <= 2bIS/M, and at least 2b(m-1)(S-1): the jump is really paid for.

    And I/m <= M, which is what the repaired theorem asks for. A mutant has another least m.
    """
    rows = []
    for run in (replace(run, least=least) for run in runs):
        extra = counted(run) - 2 * run.b * run.I * run.rounds
        allowed = 2 * run.b * run.I * run.rounds / run.M
        needed = 2 * run.b * (run.m - 1) * (run.rounds - 1)
        rows += [(extra, allowed), (needed, extra), (run.I / run.m, run.M)]
    left, right = np.array(rows, dtype=float).T
    return Comparison(left, right)
