"""Both sides of lines as a comparison, and the claim that a line makes of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from stemtheory.claims.base import Claim, Comparison
from stemtheory.claims.language import Evaluation, Line, Relation, Times, checked, latex


def claim_of(
    line: Line, compare: Any, form: Callable[[Line], Line] = lambda line: line, **more: Any
) -> Claim:
    """Return the claim of a line, if it can be one; the page shows its ``form`` where it differs.

    Raises
    ------
    UsageError
        If the line is not homogeneous, or speaks of what no run has.
    """
    checked(line, more.get("id", "this line"))
    made = {
        "formula": partial(latex, line),
        "line": line,
        "excess": partial(_in_form, line, form),
        "compare": compare,
        "identity": all(step.sign == "=" for step in line.steps),
    }
    return Claim(**made | more)


def _in_form(line: Line, form: Callable[[Line], Line]) -> str:
    """Return the form of a line in LaTeX, nothing where it is the line itself."""
    shown = form(line)
    return latex(shown) if shown != line else ""


def together(
    evaluation: Evaluation, steps: Sequence[Relation], times: Times, where: Any
) -> Comparison:
    """Return the sides of several comparisons one after the other, with their places and times."""
    found = [_sides(evaluation, step, times) for step in steps]
    axes = max(2, *(np.ndim(side) for sides in found for side in sides))
    shapes = [np.shape(padded(side, axes)) for sides in found for side in sides]
    shape = np.broadcast_shapes((len(times.at["t"]), *[1] * (axes - 1)), *shapes)
    left, right, floor = (
        np.concatenate([np.broadcast_to(padded(side, axes), shape) for side in column])
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
        return trimmed(_size(left, step.left)), trimmed(_size(error, step.left)), 0.0
    right = trimmed(evaluation.value(step.right, times))
    if step.sign == "<":
        right = np.nextafter(right, -np.inf)
    return trimmed(left), right, trimmed(error)


def _size(value: Any, node: Any) -> Any:
    return np.sqrt((value * value).sum(axis=-1)) if node.is_vector else np.abs(value)


def padded(value: Any, axes: int) -> Any:
    """Return a value with axes of length 1 behind those that it has; a number as it is."""
    value = np.asarray(value)
    return value.reshape(*value.shape, *[1] * (axes - value.ndim)) if value.ndim else value


def trimmed(value: Any) -> Any:
    """Return a value without the axes of workers that it does not need."""
    value = np.asarray(value, dtype=float)
    while value.ndim > 2 and value.shape[-1] == 1:
        value = value[..., 0]
    return value
