"""What the tests of figures share: a table's columns held one by one, its mutants, what is drawn.

A figure's ``faults(table)`` computes a few cells of every column again by another way and names the
columns that are not so. It must find nothing in the figure's own table, and something in each of
``mutants``: small wrong changes to one column, as a slip in the source would make them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.colors import to_hex
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure as Canvas
from matplotlib.text import Text
from numpy.typing import ArrayLike

from stemtheory.report import palette
from stemtheory.report.drawing import Figure, house_style
from stemtheory.report.drawing import drawn as laid_out
from stemtheory.report.figure_table import FigureTable
from stemtheory.report.panels import SMALLEST, WIDTHS, legend_over_data

PLAIN = "0.3"  # of a line in the legend that stands for several
Faults = Callable[[FigureTable], list[str]]
NARROW = 1.6449 / 1.9600  # 90 % in the place of 95 %
QUIET: Any = lambda _: None  # noqa: E731


class FoundError(ValueError):
    """A column is not what it should be, and no other is looked at."""


class Held:
    """Columns compared with what they should be; ``found`` names those that are not."""

    first_is_enough: ClassVar[bool] = False

    def __init__(self) -> None:
        self.found: list[str] = []

    def note(self, fault: str) -> None:
        if self.first_is_enough:
            raise FoundError(fault)
        self.found.append(fault)

    def same(self, column: str, got: ArrayLike, want: ArrayLike, rtol: float = 1e-9) -> None:
        got, want = np.asarray(got, dtype=np.float64), np.asarray(want, dtype=np.float64)
        if got.shape != want.shape or not np.allclose(got, want, rtol=rtol, atol=0, equal_nan=True):
            self.note(f"{column}: {got} where {want} is right")

    def true(self, column: str, fact: object) -> None:
        if not fact:
            self.note(column)


def changed(table: FigureTable, **columns: Any) -> FigureTable:
    """Return the table with columns replaced."""
    return FigureTable(table.columns, table.frame.assign(**columns), table.facts)


def mutants(table: FigureTable) -> Iterator[tuple[str, FigureTable]]:
    """Yield the table with one column wrong: each in several ways."""
    numbers = [n for n in table.frame if pd.api.types.is_numeric_dtype(table.frame[n].dtype)]
    for name in table.frame:
        column = table.frame[name]
        ways: dict[str, Any] = {"shifted by a row": np.roll(column, 1)}
        if name in numbers:
            other = numbers[(numbers.index(name) + 1) % len(numbers)]
            ways |= {"times 1.05": 1.05 * column, f"taken for {other}": table.frame[other]}
        for way, wrong in ways.items():
            if not pd.Series(wrong, index=column.index).equals(column):
                yield f"{name} {way}", changed(table, **{str(name): wrong})
    for quantity in table.columns:
        if quantity.ends:
            yield from wrong_intervals(table, quantity.name, *quantity.ends)


def wrong_intervals(
    table: FigureTable, name: str, low: str, high: str
) -> Iterator[tuple[str, FigureTable]]:
    """Yield the table with one interval wrong."""
    at, ends = table[name], table.interval(name)
    ways = {
        "ends swapped": ends[::-1],
        "of 90 %": tuple(at + NARROW * (end - at) for end in ends),
        "twice as wide": tuple(at + 2 * (end - at) for end in ends),
        "one-sided": (at, ends[1]),
        "without an upper end": (ends[0], at),
    }
    for way, (below, above) in ways.items():
        yield f"interval of {name} {way}", changed(table, **{low: below, high: above})


def survivors(table: FigureTable, faults: Faults) -> list[str]:
    """Return the mutants in which nothing is found; one finding will do, and an error is one."""
    alive = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Held, "first_is_enough", True)
        for name, mutant in mutants(table):
            try:
                found = faults(mutant)
            except (ArithmeticError, IndexError, KeyError, StopIteration, ValueError):
                continue
            if not found:
                alive.append(name)
    return alive


# -- what is drawn


def look_faults(axes: list[Axes]) -> list[str]:
    """Return the labels that name an algorithm beside another colour or marker than its own."""
    found = []
    for ax in axes:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            name = re.split("[,:]", label)[0].strip().lower().replace(" ", "-")
            look = palette.LOOKS.get({"sgd": "minibatch-sgd"}.get(name, name))
            line: Any = handle.lines[0] if isinstance(handle, ErrorbarContainer) else handle
            if look is None:
                continue
            own = {look.colour, *(look.shade(i, n) for n in range(2, 5) for i in range(n))}
            if to_hex(line.get_color()).upper() not in own and line.get_color() != PLAIN:
                found.append(f"{label}: colour {line.get_color()}")
            if line.get_marker() not in ("None", "", None, look.marker):
                found.append(f"{label}: marker {line.get_marker()}")
    return found


def print_faults(entry: Figure, table: FigureTable) -> list[str]:
    """Return the texts under 6.5 points in a column, and panels with a legend over data.

    A panel without a title is one too.
    """
    found = []
    for width in WIDTHS:
        with laid_out(lambda canvas: entry.draw(table, canvas), entry.size, width) as canvas:
            canvas.canvas.draw()
            assert canvas.get_figwidth() == WIDTHS[width]
            seen = [t for t in canvas.findobj(Text) if t.get_text().strip() and t.get_visible()]
            found += [f"{t.get_text()}: {t.get_fontsize()}" for t in seen
                      if float(t.get_fontsize()) < SMALLEST]  # fmt: skip
            panels = [ax for ax in canvas.axes if ax.get_label() != "<colorbar>"]
            found += [f"{ax.get_title(loc='left')}: legend" for ax in panels
                      if legend_over_data(ax)]  # fmt: skip
            found += ["no title" for ax in panels if len(ax.get_title(loc="left")) < 2]
    return found


def drawn(entry: Figure, table: FigureTable) -> list[Axes]:
    """Return the axes of a figure, drawn, that stand for panels (not for a colour bar)."""
    with house_style():
        canvas = Canvas(figsize=entry.size)
        entry.draw(table, canvas)
        canvas.canvas.draw()
    return [ax for ax in canvas.axes if ax.get_label() != "<colorbar>"]


def places(ax: Axes) -> list[np.ndarray]:
    """Return the points (n, 2) of every line and scatter that stands in the data of the axes."""
    lines = [np.column_stack(line.get_data()) for line in ax.lines
             if line.get_transform() == ax.transData and np.size(line.get_xdata())]  # fmt: skip
    scatters = [c.get_offsets() for c in ax.collections if isinstance(c, PathCollection)]
    return [np.asarray(points, dtype=np.float64) for points in (*lines, *scatters)]


def bars(ax: Axes) -> np.ndarray:
    """Return (x, low, high) of every error bar, shape (n, 3)."""
    kept = [c for c in ax.collections if isinstance(c, LineCollection)]
    segments = [s for c in kept for s in c.get_segments() if len(s) == 2]
    return np.array([(s[0, 0], s[0, 1], s[1, 1]) for s in segments]).reshape(-1, 3)


def columns_of(table: FigureTable, label: str) -> list[str]:
    """Return the columns that carry a label."""
    return [column.name for column in table.columns if label and column.label == label]


def panel_faults(table: FigureTable, axes: list[Axes]) -> list[str]:
    """Return the panels whose labels are no columns', or that draw nothing of those columns.

    The second is so if no series of points is one of rows of the table. A label that is left out
    must be that of the panels beside or below.
    """
    found = []
    for ax in axes:
        row = [a for a in axes if _place(a)[0] == _place(ax)[0]]
        column = [a for a in axes if _place(a)[1] == _place(ax)[1]]
        x = ax.get_xlabel() or next((a.get_xlabel() for a in reversed(column)), "")
        y = ax.get_ylabel() or next((a.get_ylabel() for a in row), "")
        pairs = [(a, b) for a in columns_of(table, x) for b in columns_of(table, y)]
        if not pairs:
            found.append(f"{ax.get_title(loc='left')}: {x!r} and {y!r} are no columns")
        elif not any(_holds(table, pair, points) for pair in pairs for points in places(ax)):
            found.append(f"{ax.get_title(loc='left')}: nothing of {pairs} is drawn")
    return found


def _place(ax: Axes) -> tuple[int, int]:
    """Return row and column of a panel in its figure."""
    place = ax.get_subplotspec()
    assert place is not None
    return place.rowspan.start, place.colspan.start


def _holds(table: FigureTable, pair: tuple[str, str], points: np.ndarray) -> bool:
    """Whether all the points that are seen are rows of the table."""
    seen = points[np.isfinite(points).all(axis=1)]
    rows = {(x, y) for x, y in zip(*(table[name].tolist() for name in pair), strict=True)}
    return len(seen) > 0 and all((x, y) in rows for x, y in seen.tolist())


def bar_faults(table: FigureTable, axes: list[Axes]) -> list[str]:
    """Return the panels with an error bar that is no interval of the table's.

    A lower end at 0 or below, or missing, is cut at what is drawn; x may be set a little aside.
    """
    found, whole = [], [c.name for c in table.columns if c.ends]
    for ax in axes:
        named = [name for name in columns_of(table, ax.get_ylabel()) if name in whole]
        ends = [np.column_stack(table.interval(name)) for name in named or whole]
        for _, low, high in bars(ax):
            near = [e[np.isclose(e[:, 1], high, rtol=1e-9, atol=0)][:, 0] for e in ends]
            lows = np.concatenate(near) if near else np.empty(0)
            cut = (lows <= 0) | np.isnan(lows)
            if not (np.isclose(lows, low, rtol=1e-9, atol=0) | cut).any():
                found.append(f"{ax.get_title(loc='left')}: a bar from {low} to {high}")
    return found
