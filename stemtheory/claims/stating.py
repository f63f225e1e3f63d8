"""Claims made from a line of the language: formula, sides and place follow from the expression.

    stated     a line about a recorded run, asked of every replicate at every t
    averaged   a line in expectation: means over the replicates of a run
    sized      a line between numbers, over a grid of sizes

``given`` says what the past is: F_t for ``t``, F_{t-1} for ``t - 1``; the round is that of F_u. The
sides are in excess form; of an identity the left side is the error and the right its float budget.

Paper: the labels of the claims.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from stemtheory.claims.base import Case, Claim, Comparison
from stemtheory.claims.evidence.fedavg_path import FedAvgPath, recorded
from stemtheory.claims.evidence.path import Path
from stemtheory.claims.evidence.scenes import compared, scene_of
from stemtheory.claims.evidence.size_scenes import scene_of_sizes
from stemtheory.claims.language import (
    Evaluation,
    Expr,
    Index,
    Line,
    Step,
    Times,
    checked,
    excess,
    known,
    latex,
    letters,
    meant,
)
from stemtheory.claims.means import mean_sides

Recording = Path | FedAvgPath
t = letters.t


def on_run(
    path: Recording,
    line: Line,
    given: Index = t,
    place: tuple[str, Index] = ("all", t),
) -> Comparison:
    """Return both sides of a line at every t and replicate of a recorded run."""
    scene = scene_of(path)
    times = scene.times(given)
    steps = [compared(step, given) for step in line.steps]
    return _together(scene.evaluation, steps, times, scene.where(place[0], times[place[1]]))


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
    steps = [excess(step) for step in line.steps]
    return mean_sides(_together(scene.evaluation, steps, times, where))


def _estimates(evaluation: Evaluation, line: Line, times: Times) -> Comparison:
    """Return one two-sided equality per step: the replicates' mean, and what it must be."""
    rows = []
    for step in line.steps:
        left, right = (
            _trimmed(evaluation.value(known(side, ()), times)) for side in (step.left, step.right)
        )
        each = (left - right).reshape(*np.shape(left - right)[:2], -1).mean(axis=(0, 2))
        target, R = float(np.mean(right)), len(each)
        rows.append((target + each.mean(), target, each.std(ddof=1) / np.sqrt(R), R - 1))
    found, wanted, spread, dof = (np.array(column) for column in zip(*rows, strict=True))
    return Comparison(found, wanted, spread=spread, dof=int(dof[0]), two_sided=True)


def on_sizes(
    subject: Any,
    line: Line,
    provided: Line | None = None,
    meaning: Mapping[Expr, Expr] | None = None,
) -> Comparison:
    """Return both sides of a line between numbers, over a grid, a panel of settings or a scene.

    Only the instances that meet ``provided`` are asked.
    """
    scene = scene_of_sizes(subject)
    steps = [excess(_spelled(step, meaning or {})) for step in line.steps]
    found = _together(scene.evaluation, steps, scene.times, np.array(["all"]))
    met = np.tile(_met(scene.evaluation, provided, scene.times), len(steps))
    flat = {name: found.flat(getattr(found, name))[met] for name in ("left", "right", "t", "floor")}
    return replace(found, where="all", **flat)


def _spelled(step: Step, meaning: Mapping[Expr, Expr]) -> Step:
    return replace(step, left=meant(step.left, meaning), right=meant(step.right, meaning))


def _met(evaluation: Evaluation, provided: Line | None, times: Times) -> Any:
    """Return which instances meet a condition, to its rounding: [n]."""
    if provided is None:
        return np.full(len(times.at["t"]), True)
    steps = [excess(step) for step in provided.steps]
    c = _together(evaluation, steps, times, np.array(["all"]))
    return (c.left <= c.right + c.floor).reshape(len(steps), -1).all(axis=0)


def _together(evaluation: Evaluation, steps: list[Step], times: Times, where: Any) -> Comparison:
    """Return the sides of several comparisons one after the other, with their places and times."""
    found = [_sides(evaluation, step, times) for step in steps]
    every = (np.shape(side) for sides in found for side in sides)
    shape = np.broadcast_shapes((len(times.at["t"]), 1), *every)
    left, right, floor = (
        np.concatenate([np.broadcast_to(side, shape) for side in column])
        for column in zip(*found, strict=True)
    )

    def tiled(values: Any) -> Any:
        each = np.broadcast_to(values, shape[:1])
        return np.tile(each, len(found)).reshape(-1, *[1] * (len(shape) - 1))

    return Comparison(left, right, tiled(where), tiled(times.at["t"]), floor=floor)


def _sides(evaluation: Evaluation, step: Step, times: Times) -> tuple[Any, Any, Any]:
    """Return left, right and floor of a comparison in excess form, [n, R] or [n, R, K]."""
    left, error = evaluation.value(step.left, times), evaluation.error(step.left, times)
    if step.sign == "=":
        return _trimmed(_size(left, step.left)), _trimmed(_size(error, step.left)), 0.0
    right = _trimmed(evaluation.value(step.right, times))
    if step.sign == "<":
        right = np.nextafter(right, -np.inf)
    return _trimmed(left), right, _trimmed(error)


def _size(value: Any, node: Any) -> Any:
    return np.sqrt((value * value).sum(axis=-1)) if node.is_vector else np.abs(value)


def _trimmed(value: Any) -> Any:
    """Return a value without the axes of workers that it does not need."""
    value = np.asarray(value, dtype=float)
    while value.ndim > 2 and value.shape[-1] == 1:
        value = value[..., 0]
    return value


def stated(
    line: Line, *, given: Index = t, place: tuple[str, Index] = ("all", t), **more: Any
) -> Claim:
    """Return the claim that a line about a recorded run is.

    Raises
    ------
    UsageError
        If the line is not homogeneous, or speaks of what no run has.
    """
    line = checked(line, more.get("id", "this line"))
    compare = partial(on_run, line=line, given=given, place=place)
    return _claim(line, compare, **more)


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
    line = checked(line, more.get("id", "this line"))
    compare = partial(on_average, line=line, place=place, at=at)
    return replace(_claim(line, compare, kind="expectation", **more), identity=False)


def sized(
    name: str,
    label: str,
    statement: str,
    line: Line,
    *,
    provided: Line | None = None,
    meaning: Mapping[Expr, Expr] | None = None,
    **more: Any,
) -> Claim:
    """Return the claim that a line between numbers is, where what is ``provided`` holds.

    ``meaning`` puts for a letter what it is short for, so that its terms cancel with others.

    Raises
    ------
    UsageError
        If the line is not homogeneous.
    """
    compare = partial(on_sizes, line=checked(line, name), meaning=meaning)
    made = {"id": name, "label": label, "statement": statement, "kind": "arithmetic", **more}
    if provided is None:
        return _claim(line, compare, **made)
    compare = partial(compare, provided=checked(provided, name))
    claim = _claim(line, compare, **made)
    return replace(claim, formula=rf"{claim.formula}\ \mathrm{{if}}\ {latex(provided)}")


def _claim(line: Line, compare: Any, **more: Any) -> Claim:
    identity = all(step.sign == "=" for step in line.steps)
    return Claim(formula=latex(line), compare=compare, identity=identity, line=line, **more)
