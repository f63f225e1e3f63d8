"""Tuning by one rule for everybody: for each epsilon, the step that gets there first.

Of the runs that differ in one setting only (the step size eta), those count whose replicates all
stayed finite and whose mean running average of ||grad f(xbar_t)||^2 falls below epsilon for good
within the run. The one with the fewest samples wins; at one (b, I) it has the fewest rounds and
vectors too. A run that diverged never wins, whatever it measured before. What all the runs of the
grid took is the cost of tuning. Every other replicate chooses, and what the winner takes is
measured on the rest: on the replicates that chose it, it would look better than it is.

Paper: Def: ComputationComplexity, Def: CommunicationComplexity.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from stemtheory.experiment.design.points import Point
from stemtheory.experiment.execute.work import CellResult
from stemtheory.experiment.fits.targets import Results, Target, targets
from stemtheory.runtime import Verdict

STEP = "schedule_options.eta"


@dataclass(frozen=True)
class Tuned:
    """The best of ``tried`` values of one setting at one epsilon.

    ``target`` is the winner's, on replicates that did not choose it; ``value`` is None if no run
    gets to epsilon on those that do. ``diverged`` runs did not stay finite. ``at_edge`` says that
    the winner is the least or the largest value tried, so that the best one may lie outside.
    ``spent`` are the samples of one worker in all runs of the grid.
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
        """Whether the winner reached epsilon."""
        return self.target.status == Verdict.REACHED

    @property
    def overhead(self) -> float | None:
        """How many times the winner's samples the search took; None where nobody won."""
        return self.spent / self.costs["samples"] if self.costs else None


def tuned(points: Sequence[Point], results: Results, name: str = STEP) -> tuple[Tuned, ...]:
    """Return the winner of every group of targets that differ in the setting ``name`` only.

    Points without that setting are left out. Groups come in the order of their first target.
    """
    chosen, measured = (targets(points, results, slice(first, None, 2)) for first in (0, 1))
    return winners(chosen, measured, results, name)


def winners(
    chosen: Iterable[Target], measured: Iterable[Target], results: Results, name: str = STEP
) -> tuple[Tuned, ...]:
    """Return the same of targets, once by the replicates that choose and once by the others."""
    groups: dict[Any, list[_Try]] = defaultdict(list)
    for by, target in zip(chosen, measured, strict=True):
        point, settings = target.point, target.point.cell.settings()
        if name in settings:
            value = float(settings.pop(name))
            key = (point.grid, point.label, target.epsilon, *sorted(settings.items()))
            groups[key].append(_Try(value, by, target, results.get(point.cell.id)))
    return tuple(_winner(group, name) for group in groups.values())


class _Try(NamedTuple):
    """One value of the setting, its targets, and its whole run."""

    value: float
    chosen: Target
    measured: Target
    result: CellResult | None


def _winner(group: list[_Try], name: str) -> Tuned:
    """The least samples win; of equal ones the smaller step."""
    lost = [t.value for t in group if t.result is not None and t.result.status == "diverged"]
    sound = [t for t in group if t.chosen.status == Verdict.REACHED and t.value not in lost]
    best = min(sound, key=lambda t: (t.chosen.costs["samples"], t.value), default=None)
    tried = sorted(t.value for t in group)
    first = group[0].measured
    reason = f"none of {len(group)} values of {name} gets there"
    nobody = Target(first.point, first.epsilon, Verdict.NOT_REACHED, reason, first.points)
    return Tuned(
        target=nobody if best is None else best.measured,
        value=None if best is None else best.value,
        tried=len(tried),
        diverged=len(lost),
        # of whole runs: that is what was spent, reached or not
        spent=sum(float(t.result.facts.get("samples_per_worker", 0.0)) for t in group if t.result),
        at_edge=best is not None and best.value in (tried[0], tried[-1]),
    )
