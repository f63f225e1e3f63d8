"""Tuning by one rule for everybody: for each epsilon, the step that gets there first.

Of the runs that differ in one setting only (the step size eta), those count whose replicates all
stayed finite and whose mean running average of ||grad f(xbar_t)||^2 falls below epsilon for good
within the run. The one with the fewest samples wins; at one (b, I) it has the fewest rounds and
vectors too. A run that diverged never wins, whatever it measured before. What all the runs of the
grid took is the cost of tuning. Choice and measurement use the same replicates, which flatters
every winner a little.

Paper: Def: ComputationComplexity, Def: CommunicationComplexity.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from stemtheory.experiment.design.points import Point
from stemtheory.experiment.fits.targets import Results, Target
from stemtheory.runtime import Verdict

STEP = "schedule_options.eta"


@dataclass(frozen=True)
class Tuned:
    """The best of ``tried`` values of one setting at one epsilon.

    ``target`` is the winner's; it is ``not-reached``, and ``value`` is None, if no run gets to
    epsilon. ``diverged`` runs did not stay finite. ``at_edge`` says that the winner is the least or
    the largest value tried, so that the best one may lie outside. ``spent`` are the samples of one
    worker in all runs of the grid.
    """

    target: Target
    value: float | None
    tried: int
    diverged: int
    spent: float
    at_edge: bool

    @property
    def point(self) -> Point:
        """The point of the winner, or the first of those that were tried."""
        return self.target.point

    @property
    def epsilon(self) -> float:
        """The epsilon it was tuned for."""
        return self.target.epsilon

    @property
    def costs(self) -> Mapping[str, float]:
        """What the winner took, by the names of ``COSTS``; empty without one."""
        return self.target.costs

    @property
    def reached(self) -> bool:
        """Whether a run reached epsilon."""
        return self.value is not None

    @property
    def overhead(self) -> float | None:
        """How many times the winner's samples the search took; None where nobody won."""
        return self.spent / self.costs["samples"] if self.costs else None


def tuned(targets: Iterable[Target], results: Results, name: str = STEP) -> tuple[Tuned, ...]:
    """Return the winner of every group of targets that differ in the setting ``name`` only.

    Targets without that setting are left out. Groups come in the order of their first target.
    """
    groups: dict[Any, list[tuple[float, Target]]] = defaultdict(list)
    for target in targets:
        point, settings = target.point, target.point.cell.settings()
        if name in settings:
            value = float(settings.pop(name))
            key = (point.grid, point.label, target.epsilon, *sorted(settings.items()))
            groups[key].append((value, target))
    return tuple(_winner(group, results, name) for group in groups.values())


def _winner(group: list[tuple[float, Target]], results: Results, name: str) -> Tuned:
    """The least samples win; of equal ones the smaller step."""
    runs = [results.get(target.point.cell.id) for _, target in group]
    diverged = [run is not None and run.status == "diverged" for run in runs]
    reached = [
        (target.costs["samples"], value, target)
        for (value, target), lost in zip(group, diverged, strict=True)
        if target.status == Verdict.REACHED and not lost
    ]
    tried = sorted(value for value, _ in group)
    first = group[0][1]
    reason = f"none of {len(group)} values of {name} gets there"
    nobody = Target(first.point, first.epsilon, Verdict.NOT_REACHED, reason, first.points)
    _, value, best = min(reached, key=lambda run: run[:2], default=(0.0, None, nobody))
    return Tuned(
        target=best,
        value=value,
        tried=len(tried),
        diverged=sum(diverged),
        # of whole runs: that is what was spent, reached or not
        spent=sum(float(r.facts.get("samples_per_worker", 0.0)) if r else 0.0 for r in runs),
        at_edge=value in (tried[0], tried[-1]),
    )
