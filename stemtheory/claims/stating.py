"""Claims made from a line of the language: formula, sides and place follow from the expression.

    stated     a line about a recorded run, asked of every replicate at every t
    averaged   a line in expectation: means over the replicates of a run
    sized      a line between numbers, over a grid of sizes
    exact      a line between constants, proved for every I at once by intervals
    per_round  a line between second moments, asked of each step or round of a recorded run
    whole_run  a bound on E||grad f(xbar_a)||^2, asked of whole runs

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
from stemtheory.claims.evidence.exact_scenes import ExactScene, Lengths
from stemtheory.claims.evidence.fedavg_path import FedAvgPath, recorded
from stemtheory.claims.evidence.measured import MeasuredRun, measure
from stemtheory.claims.evidence.path import Path, record
from stemtheory.claims.evidence.recorded import setting_of
from stemtheory.claims.evidence.rounds import (
    Each,
    Mean,
    RoundScene,
    jackknife,
    leaving_one_out,
    over_all,
)
from stemtheory.claims.evidence.scenes import RunScene, in_excess, scene_of
from stemtheory.claims.evidence.size_scenes import NumberScene, scene_of_sizes
from stemtheory.claims.intervals import compared as enclosed
from stemtheory.claims.language import (
    Evaluation,
    Expr,
    Index,
    Line,
    Relation,
    Times,
    checked,
    excess,
    known,
    latex,
    letters,
    meant,
    valued,
)
from stemtheory.claims.means import mean_sides
from stemtheory.runtime import UsageError

Recording = Path | FedAvgPath
t = letters.t
Values = Mapping[str, Expr]  # letters without indices, by name
AVERAGE = letters.E(letters.norm2(letters.grad(letters.xbar_a)))


def on_run(
    path: Recording,
    line: Line,
    given: Index = t,
    place: tuple[str, Index] = ("all", t),
    literal: Line | None = None,
    values: tuple[Values, ...] = ({},),
    opened: Callable[[Any], RunScene] = scene_of,
) -> Comparison:
    """Return both sides of a line at every t and replicate of a recorded run.

    ``literal`` is what the literal reading makes of it, where a round's points agree one step
    later; ``values`` gives letters such as theta, and the line is asked with each of them;
    ``opened`` makes the scene.
    """
    if literal and path.case.reading == "literal":
        line, given = literal, t - 1
    scene = opened(path)
    times = scene.times(given)
    steps = [scene.compared(step, given) for own in values for step in valued(line, own).steps]
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
    exactly: bool = False,
    meaning: Mapping[Expr, Expr] | None = None,
    opened: Callable[[Any], NumberScene] = scene_of_sizes,
) -> Comparison:
    """Return both sides of a line between numbers, over a grid, a panel of settings or a scene.

    Only the instances that meet ``provided`` are asked; with ``exactly`` the others are asked for
    the opposite.
    """
    scene = opened(subject)
    steps = [excess(_spelled(step, meaning or {})) for step in line.steps]
    found = _together(scene.evaluation, steps, scene.times, np.array(["all"]))
    flat = {name: found.flat(getattr(found, name)) for name in ("left", "right", "t", "floor")}
    met = np.tile(_met(scene.evaluation, provided, scene.times), len(steps))
    if exactly:
        left, right = flat["left"], flat["right"]
        flat |= {"left": np.where(met, left, right), "right": np.where(met, right, left)}
        met = np.full(len(met), True)
    return replace(found, where="all", **{name: values[met] for name, values in flat.items()})


def _spelled(step: Relation, meaning: Mapping[Expr, Expr]) -> Relation:
    return replace(step, left=meant(step.left, meaning), right=meant(step.right, meaning))


def _met(evaluation: Evaluation, provided: Line | None, times: Times) -> Any:
    """Return which instances meet a condition, to its rounding: [n]."""
    if provided is None:
        return np.full(len(times.at["t"]), True)
    steps = [excess(step) for step in provided.steps]
    c = _together(evaluation, steps, times, np.array(["all"]))
    return (c.left <= c.right + c.floor).reshape(len(steps), -1).all(axis=0)


def _together(
    evaluation: Evaluation, steps: list[Relation], times: Times, where: Any
) -> Comparison:
    """Return the sides of several comparisons one after the other, with their places and times."""
    found = [_sides(evaluation, step, times) for step in steps]
    shapes = [np.shape(side) for sides in found for side in sides]
    axes = max(2, *map(len, shapes))
    shape = np.broadcast_shapes((len(times.at["t"]), *[1] * (axes - 1)), *shapes)
    left, right, floor = (
        np.concatenate([np.broadcast_to(side, shape) for side in column])
        for column in zip(*found, strict=True)
    )

    def tiled(values: Any) -> Any:
        each = np.broadcast_to(values, shape[:1])
        return np.tile(each, len(found)).reshape(-1, *[1] * (len(shape) - 1))

    return Comparison(left, right, tiled(where), tiled(times.at["t"]), floor=floor)


def _sides(evaluation: Evaluation, step: Relation, times: Times) -> tuple[Any, Any, Any]:
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
    line: Line,
    *,
    given: Index = t,
    place: tuple[str, Index] = ("all", t),
    literal: Line | None = None,
    values: tuple[Values, ...] = ({},),
    opened: Callable[[Any], RunScene] = scene_of,
    **more: Any,
) -> Claim:
    """Return the claim that a line about a recorded run is.

    ``opened`` gives the letters of a run; those of a line about any points are ``points_of``.

    Raises
    ------
    UsageError
        If the line is not homogeneous, or speaks of what no run has.
    """
    line = checked(line, more.get("id", "this line"))
    compare = partial(on_run, line=line, given=given, place=place, literal=literal)
    compare = partial(compare, values=values, opened=opened)
    return _claim(line, compare, in_excess(line, given, opened), **more)


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
    shown = Line(tuple(map(excess, line.steps)))
    return replace(_claim(line, compare, shown, kind="expectation", **more), identity=False)


def sized(
    name: str,
    label: str,
    statement: str,
    line: Line,
    *,
    provided: Line | None = None,
    exactly: bool = False,
    meaning: Mapping[Expr, Expr] | None = None,
    opened: Callable[[Any], NumberScene] = scene_of_sizes,
    **more: Any,
) -> Claim:
    """Return the claim that a line between numbers is, where what is ``provided`` holds.

    With ``exactly`` it must fail where that does not hold. ``meaning`` puts for a letter what it is
    short for, so that its terms cancel with others. ``opened`` gives the letters of a subject.

    Raises
    ------
    UsageError
        If the line is not homogeneous.
    """
    compare = partial(on_sizes, line=checked(line, name), meaning=meaning, opened=opened)
    made = {"id": name, "label": label, "statement": statement, "kind": "arithmetic", **more}
    shown = Line(tuple(excess(_spelled(step, meaning or {})) for step in line.steps))
    if provided is None:
        return _claim(line, compare, shown, **made)
    compare = partial(compare, provided=checked(provided, name), exactly=exactly)
    claim, when = _claim(line, compare, shown, **made), "exactly\\ if" if exactly else "if"
    return replace(claim, formula=rf"{claim.formula}\ \mathrm{{{when}}}\ {latex(provided)}")


def on_whole_run(case: Case, line: Line, measured: Callable[[Case], MeasuredRun]) -> Comparison:
    """Return E||grad f(xbar_a)||^2 of a case beside its bound, the right side of a line.

    The bound is vacuous where it is no better than standing still: min(||grad f(x_1)||^2, 2 L gap).
    """
    found, s = measured(case), setting_of(case)
    scene = scene_of_sizes([s])
    right = scene.evaluation.value(line.steps[0].right, scene.times)
    return Comparison(
        np.array([found.mean]),
        np.ravel(right),
        t=case.T,
        spread=found.error,
        dof=found.dof,
        trivial=np.minimum(found.standstill, 2 * s.L * s.gap),
    )


def whole_run(
    line: Line, *, measured: Callable[[Case], MeasuredRun] = measure, **more: Any
) -> Claim:
    """Return the claim that a bound E||grad f(xbar_a)||^2 <= ... on whole runs is.

    ``measured`` tells what stands on the left; left out, the runs are simulated.

    Raises
    ------
    UsageError
        If the line is not homogeneous, or its left side is another.
    """
    name = more.get("id", "this line")
    if [(step.left, step.sign) for step in line.steps] != [(AVERAGE, "<=")]:
        raise UsageError(f"{name}: a bound on a whole run begins with E(norm2(grad(xbar_a))) <=.")
    compare = partial(on_whole_run, line=checked(line, name), measured=measured)
    return _claim(line, compare, line, **{"kind": "expectation", **more})


def on_rounds(case: Case, line: Line, each: Each) -> Comparison:
    """Return both sides of a line between moments of the rounds of a recorded run."""
    path = record(case)
    steps = [excess(step) for step in line.steps]

    def sides(mean: Mean) -> Comparison:
        scene = RoundScene(path, mean)
        return _together(scene.evaluation, steps, scene.times(each), np.array(["all"]))

    found, R = sides(over_all), case.replicates
    if R == 1:
        return replace(found, spread=0.0, dof=0)
    others = sides(leaving_one_out)
    return replace(found, spread=jackknife(others.left - others.right), dof=R - 1)


def per_round(line: Line, *, each: Each, **more: Any) -> Claim:
    """Return the claim that a line between moments is, asked ``each`` step or round of a run.

    Raises
    ------
    UsageError
        If the line is not homogeneous.
    """
    compare = partial(on_rounds, line=checked(line, more.get("id", "this line")), each=each)
    return _claim(line, compare, line, **{"kind": "expectation", **more})


def on_constants(at: Lengths, line: Line) -> Comparison:
    """Return both sides of a line between constants: the largest left, the smallest right."""
    scene = ExactScene(at)

    def value(node: Expr) -> Any:
        return scene.evaluation.value(node, scene.times)

    return enclosed([(value(step.left), value(step.right)) for step in line.steps])


def exact(line: Line, **more: Any) -> Claim:
    """Return the claim that a line between constants is: proved by intervals, not in excess form.

    Raises
    ------
    UsageError
        If the line is not homogeneous.
    """
    compare = partial(on_constants, line=checked(line, more.get("id", "this line")))
    return _claim(line, compare, line, **{"kind": "arithmetic", **more})


def _claim(line: Line, compare: Any, shown: Line, **more: Any) -> Claim:
    """``shown`` is what is compared; the page shows it where that is not the line itself."""
    compared = latex(shown) if shown != line else ""
    made = {"formula": latex(line), "line": line, "excess": compared, "compare": compare}
    return Claim(**made, identity=all(step.sign == "=" for step in line.steps), **more)
