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
    groups: dict[Any, list[Target]] = defaultdict(list)
    for target in targets:
        if name in target.point.cell.settings():
            groups[_group(target, name)].append(target)
    return tuple(_winner(group, results, name) for group in groups.values())


def _group(target: Target, name: str) -> Any:
    """Everything but the setting that is tuned."""
    point = target.point
    rest = {key: value for key, value in point.cell.settings().items() if key != name}
    return (point.grid, point.label, target.epsilon, *sorted(rest.items()))


def _winner(group: list[Target], results: Results, name: str) -> Tuned:
    """The least samples win; of equal ones the smaller step."""
    values = {id(t): float(t.point.cell.settings()[name]) for t in group}
    reached = [t for t in group if t.status == Verdict.REACHED and not _diverged(t, results)]
    best = min(reached, key=lambda t: (t.costs["samples"], values[id(t)]), default=None)
    tried = sorted(values.values())
    value = None if best is None else values[id(best)]
    return Tuned(
        target=best or _nobody(group[0], len(group), name),
        value=value,
        tried=len(tried),
        diverged=sum(_diverged(t, results) for t in group),
        spent=sum(_samples(t, results) for t in group),
        at_edge=value in (tried[0], tried[-1]),
    )


def _nobody(first: Target, tried: int, name: str) -> Target:
    """The target of a group in which no run gets to epsilon."""
    reason = f"none of {tried} values of {name} gets there"
    return Target(first.point, first.epsilon, Verdict.NOT_REACHED, reason, first.points)


def _diverged(target: Target, results: Results) -> bool:
    result = results.get(target.point.cell.id)
    return result is not None and result.status == "diverged"


def _samples(target: Target, results: Results) -> float:
    """Samples of one worker in the whole run: that is what was spent, reached or not."""
    result = results.get(target.point.cell.id)
    return 0.0 if result is None else float(result.facts.get("samples_per_worker", 0.0))
