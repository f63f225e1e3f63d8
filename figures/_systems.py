"""The tuned systems of sweep ``systems`` as rows: what each took, over zeta, I, K and epsilon.

Paper: Table: Comparison.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from stemtheory.experiment import SweepResult, Tuned, tuned
from stemtheory.report import Column, Table

COSTS = ("rounds", "samples", "vectors")
AXES = ("zeta", "I", "K", "epsilon")
PANELS = {"zeta": "zeta", "steps": "I", "workers": "K", "epsilon": "epsilon"}  # by grid
NAMES = {
    "minibatch-sgd": "minibatch SGD",
    "fedavg": "FedAvg",
    "scaffold": "SCAFFOLD",
    "vrl-sgd": "VRL-SGD",
    "fedprox": "FedProx",
    "mime": "MIME",
    "mimelite": "MimeLite",
    "mimemvr": "MimeMVR",
    "fedglomo": "FedGLOMO",
    "fedpd": "FedPD",
    "slowmo": "SlowMo",
    "local-polyak": "local Polyak",
    "local-nesterov": "local Nesterov",
    "spider": "SPIDER",
    "stem": "STEM",
}


class Row(NamedTuple):
    """One system at one setting and epsilon, with its best step; costs are NaN if none gets there.

    ``against`` is the setting that varies and ``x`` its value: of I, the samples of one worker in
    a round (b I). ``overhead`` is how many times the winner's samples the whole grid of steps took.
    """

    against: str
    problem: str
    label: str
    x: float
    epsilon: float
    eta: float | None
    at_edge: bool
    diverged: int
    rounds: float
    samples: float
    vectors: float
    spent: float
    overhead: float | None


@dataclass(frozen=True)
class Systems:
    """Every row, the steps that were tried, and how many replicates each run had."""

    rows: tuple[Row, ...]
    steps: tuple[float, ...]
    replicates: int

    def series(self, against: str, problem: str, label: str, epsilon: float | None) -> list[Row]:
        """Return the rows of one line, by x; with epsilon on the axis it is not fixed."""
        kept = (
            r
            for r in self.rows
            if (r.against, r.problem, r.label) == (against, problem, label)
            and (epsilon is None or r.epsilon == epsilon)
        )
        return sorted(kept, key=lambda row: row.x)

    def labels(self) -> list[str]:
        """Return the systems that are there, in the order of ``NAMES``."""
        there = {row.label for row in self.rows}
        return [label for label in NAMES if label in there]

    def problems(self) -> list[str]:
        """Return the problems that are there."""
        return list(dict.fromkeys(row.problem for row in self.rows))

    def epsilon(self) -> float:
        """Return the epsilon of the panels over zeta, I and K: the smallest that is there."""
        return min((r.epsilon for r in self.rows if r.against != "epsilon"), default=math.nan)


def systems_of(found: SweepResult) -> Systems:
    """Return the rows of a finished sweep."""
    winners = [t for t in tuned(found.targets, found.results) if _axis(t) is not None]
    options = [dict(p.cell.run.schedule.options) for p in found.points]
    steps = sorted({float(str(o["eta"])) for o in options if "eta" in o}, reverse=True)
    replicates = max(point.cell.replicates for point in found.points)
    return Systems(tuple(_rows(winners)), tuple(steps), replicates)


def _axis(winner: Tuned) -> str | None:
    return PANELS.get(winner.point.grid.removesuffix("_batch"))


def _rows(winners: Iterable[Tuned]) -> Iterable[Row]:
    for w in winners:
        cell, against = w.point.cell, _axis(w)
        assert against is not None
        at = {
            "zeta": float(str(dict(cell.run.problem.dials)["zeta"])),
            "I": cell.b * cell.I,
            "K": cell.run.problem.K,
            "epsilon": w.epsilon,
        }
        costs = {name: w.costs.get(name, math.nan) for name in COSTS}
        yield Row(
            against=against,
            problem=cell.run.problem.name,
            label=w.point.label,
            x=at[against],
            epsilon=w.epsilon,
            eta=w.value,
            at_edge=w.at_edge,
            diverged=w.diverged,
            spent=w.spent,
            overhead=w.overhead,
            **costs,
        )


COLUMNS = (
    *(Column(name, False) for name in ("against", "problem", "system")),
    *(Column(name) for name in ("value", "epsilon", "best step", *COSTS)),
    Column("step", False),
    *(Column(name) for name in ("diverged steps", "samples of all steps", "times the best")),
)


def table(data: Systems) -> Table:
    """Return every tuned run: what it took, with which step, and what the search took."""
    note = (
        "Per worker; vectors are those sent and received. Against I, the value is b I, the samples"
        f" of a round. A dash: no step of the {len(data.steps)} gets there within its run. Edge:"
        " the best step is the first or last of the grid. The samples of all steps are the cost of"
        " tuning, and times the best is what it multiplies the samples by."
    )
    rows = [
        (
            *(r.against, r.problem, NAMES.get(r.label, r.label)),
            *(r.x, r.epsilon, r.eta),
            *(None if math.isnan(cost) else cost for cost in (r.rounds, r.samples, r.vectors)),
            "none" if r.eta is None else "edge" if r.at_edge else "inside",
            *(r.diverged, r.spent, r.overhead),
        )
        for r in data.rows
    ]
    return Table("Systems with their best of one grid of steps", note, COLUMNS, tuple(rows))
