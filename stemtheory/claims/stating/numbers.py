"""Claims between numbers: over grids of sizes, or between constants by intervals."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from stemtheory.claims.base import Claim, Comparison
from stemtheory.claims.evidence.exact_scenes import ExactScene, Lengths
from stemtheory.claims.evidence.size_scenes import NumberScene, scene_of_sizes
from stemtheory.claims.intervals import compared as enclosed
from stemtheory.claims.language import (
    Evaluation,
    Expr,
    Line,
    Times,
    checked,
    excess,
    latex,
    meant,
)
from stemtheory.claims.stating.sides import claim_of, together


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
    compare = partial(on_sizes, line=line, meaning=meaning, opened=opened)
    made = {"id": name, "label": label, "statement": statement, "kind": "arithmetic", **more}
    if provided is not None:
        compare = partial(compare, provided=checked(provided, name), exactly=exactly)
        made["formula"] = partial(_where, line, provided, exactly)
    return claim_of(line, compare, partial(_compared, meaning=meaning), **made)


def _where(line: Line, provided: Line, exactly: bool) -> str:
    """Return a line in LaTeX, and where it is said."""
    when = "exactly\\ if" if exactly else "if"
    return rf"{latex(line)}\ \mathrm{{{when}}}\ {latex(provided)}"


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
    steps = _compared(line, meaning).steps
    found = together(scene.evaluation, steps, scene.times, np.array(["all"]))
    flat = {name: found.flat(getattr(found, name)) for name in ("left", "right", "t", "floor")}
    met = np.tile(_met(scene.evaluation, provided, scene.times), len(steps))
    if exactly:
        left, right = flat["left"], flat["right"]
        flat |= {"left": np.where(met, left, right), "right": np.where(met, right, left)}
        met = np.full(len(met), True)
    return replace(found, where="all", **{name: values[met] for name, values in flat.items()})


def _compared(line: Line, meaning: Mapping[Expr, Expr] | None = None) -> Line:
    """Return a line in excess form, letters replaced by what they mean."""
    means = meaning or {}
    spelled = (
        replace(step, left=meant(step.left, means), right=meant(step.right, means))
        for step in line.steps
    )
    return Line(tuple(map(excess, spelled)))


def _met(evaluation: Evaluation, provided: Line | None, times: Times) -> Any:
    """Return which instances meet a condition, to its rounding: [n]."""
    if provided is None:
        return np.full(len(times.at["t"]), True)
    steps = _compared(provided).steps
    c = together(evaluation, steps, times, np.array(["all"]))
    return (c.left <= c.right + c.floor).reshape(len(steps), -1).all(axis=0)


def exact(line: Line, **more: Any) -> Claim:
    """Return the claim that a line between constants is, proved by intervals."""
    compare = partial(on_constants, line=line)
    return claim_of(line, compare, **{"kind": "arithmetic", **more})


def on_constants(at: Lengths, line: Line) -> Comparison:
    """Return both sides of a line between constants: the largest left, the smallest right."""
    scene = ExactScene(at)

    def value(node: Expr) -> Any:
        return scene.evaluation.value(node, scene.times)

    return enclosed([(value(step.left), value(step.right)) for step in line.steps])
