"""Cells of a store as a picture: one column over another, a line for each value of a third."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stemtheory.report.drawing import picture_kind, render
from stemtheory.report.palette import BLUE, GREEN, MARKERS, ORANGE, PURPLE, SKY, VERMILION
from stemtheory.runtime import UsageError, choice, write_file

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

SIZE = (6.8, 4.2)
COLOURS = (BLUE, VERMILION, GREEN, SKY, ORANGE, PURPLE)
MOST_LINES = 12  # more cannot be told apart
Measured = tuple[float, float, float]  # x, y, and the standard error of y or nan
Lines = dict[str, list[Measured]]


def draw_cells(rows: Iterable[Mapping[str, Any]], columns: str, path: Path) -> Path:
    """Draw ``X,Y`` or ``X,Y,HUE`` of the rows, gone through twice; return the path.

    Raises
    ------
    UsageError
        For a column that is none or holds no numbers, and for a path that cannot be written.
    """
    names = [name.strip() for name in columns.split(",")]
    if len(names) not in (2, 3):
        raise UsageError(f"--plot is {columns!r}, but it names two columns or three: X,Y,HUE.")
    known = dict.fromkeys(name for row in rows for name in row)
    for name in names:
        choice("column", name, known)
    x, y, hue = (*names, "")[:3]
    found = lines(rows, x, y, hue)
    content = render(lambda canvas: draw(found, x, y, hue, canvas), SIZE, picture_kind(path))
    return write_file(path, lambda file: file.write(content))


def lines(rows: Iterable[Mapping[str, Any]], x: str, y: str, hue: str) -> Lines:
    """Return the points of every line, by x; rows without a finite x or y are left out.

    Raises
    ------
    UsageError
        If no row is left, or more lines than can be told apart.
    """
    found: Lines = {}
    for row in rows:
        at, value = _number(row.get(x)), _number(row.get(y))
        error = _number(row.get("stderr")) if y == "mean_grad_sq" else math.nan
        if math.isfinite(at) and math.isfinite(value):
            found.setdefault(str(row.get(hue, "")), []).append((at, value, error))
    if not found:
        raise UsageError(f"no row has numbers in both {x} and {y}: name other columns.")
    if len(found) > MOST_LINES:
        raise UsageError(
            f"{hue} has {len(found)} values, but only {MOST_LINES} lines can be told apart: narrow"
            " --where."
        )
    return {name: sorted(points) for name, points in sorted(found.items())}


def draw(found: Lines, x: str, y: str, hue: str, figure: Canvas) -> None:
    """Draw every line with bars of 1.96 standard errors; a wide positive axis is logarithmic."""
    ax = figure.subplots()
    for i, (name, points) in enumerate(found.items()):
        at, values, errors = zip(*points, strict=True)
        bars = [0.0 if math.isnan(error) else 1.96 * error for error in errors]
        ax.errorbar(
            at,
            values,
            yerr=bars,
            label=f"{hue} = {name}" if hue else None,
            color=COLOURS[i % len(COLOURS)],
            marker=MARKERS[i % len(MARKERS)],
            linestyle="-" if i < len(COLOURS) else "--",
        )
    every = [point for points in found.values() for point in points]
    _scale(ax, "x", [point[0] for point in every])
    _scale(ax, "y", [point[1] for point in every])
    ax.set(xlabel=x, ylabel=y)
    if hue:
        ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1), frameon=False)


def _scale(ax: Axes, axis: str, values: Sequence[float]) -> None:
    if min(values) > 0 and max(values) > 5 * min(values):
        ax.set(**{f"{axis}scale": "log"})


def _number(value: object) -> float:
    known = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if known else math.nan  # type: ignore[arg-type]
