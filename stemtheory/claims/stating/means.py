"""Claims in expectation: means over the replicates of a recorded run."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from stemtheory.claims.base import Case, Claim, Comparison
from stemtheory.claims.evidence.fedavg_path import Recording, recorded
from stemtheory.claims.evidence.scenes import scene_of
from stemtheory.claims.language import Evaluation, Index, Line, Times, excess, known
from stemtheory.claims.language.letters import t
from stemtheory.claims.means import mean_sides
from stemtheory.claims.stating.sides import claim_of, together, trimmed


def averaged(
    line: Line,
    *,
    place: tuple[str, Index] = ("all", t),
    at: Callable[[Recording], Any] = lambda path: path.t,
    **more: Any,
) -> Claim:
    """Return the claim in expectation that a line about a run is, asked at the times ``at``.

    Raises
    ------
    UsageError
        If the line is not homogeneous, or speaks of what no run has.
    """
    compare = partial(on_average, line=line, place=place, at=at)
    made = {"kind": "expectation", "identity": False, **more}
    return claim_of(line, compare, in_excess, **made)


def on_average(
    case: Case,
    line: Line,
    place: tuple[str, Index] = ("all", t),
    at: Callable[[Recording], Any] = lambda path: path.t,
    run: Callable[[Case], Recording] = recorded,
) -> Comparison:
    """Return the means over replicates of both sides at the times ``at``, and their spread.

    Nothing is conditioned on: E is the mean of what happened. An equality is averaged over those
    times as well. Mutants record the case by another ``run``.
    """
    path = run(case)
    scene = scene_of(path)
    times = scene.instances(at(path))
    if all(step.sign == "=" for step in line.steps):
        return _estimates(scene.evaluation, line, times)
    where = scene.where(place[0], times[place[1]])
    return mean_sides(together(scene.evaluation, in_excess(line).steps, times, where))


def in_excess(line: Line) -> Line:
    """Return what is compared of a line where nothing is conditioned on."""
    return Line(tuple(map(excess, line.steps)))


def _estimates(evaluation: Evaluation, line: Line, times: Times) -> Comparison:
    """Return one two-sided equality per step: the replicates' mean, and what it must be."""
    rows = []
    for step in line.steps:
        left, right = (
            trimmed(evaluation.value(known(side, ()), times)) for side in (step.left, step.right)
        )
        each = (left - right).reshape(*np.shape(left - right)[:2], -1).mean(axis=(0, 2))
        target, R = float(np.mean(right)), len(each)
        rows.append((target + each.mean(), target, each.std(ddof=1) / np.sqrt(R), R - 1))
    found, wanted, spread, dof = (np.array(column) for column in zip(*rows, strict=True))
    return Comparison(found, wanted, spread=spread, dof=int(dof[0]), two_sided=True)
