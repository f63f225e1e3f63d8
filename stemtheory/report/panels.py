"""How columns of a figure's table come onto axes: lines, marks with bars, bands.

A panel shows one column over another and takes both its labels and its numbers from them. What a
logarithmic axis cannot show is left out, never replaced by a small number.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stemtheory.report.figure_table import FigureTable
from stemtheory.runtime import Floats, large

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas
    from matplotlib.legend import Legend
    from matplotlib.transforms import Bbox


class Panel:
    """Axes that show column ``y`` of a table over column ``x``, and carry the labels of both.

    ``log`` names the axes that are logarithmic, ``plain`` those with numbers such as 10,000 in
    place of powers: where none is above 100,000; further keywords are those of ``Axes.set``.
    """

    def __init__(
        self,
        ax: Axes,
        table: FigureTable,
        x: str,
        y: str,
        *,
        log: str = "xy",
        plain: str = "",
        **more: Any,
    ) -> None:
        self.ax, self.x, self.y = ax, x, y
        for name in log:
            ax.set(**{f"{name}scale": "log"})
        for name in plain:
            axis = ax.xaxis if name == "x" else ax.yaxis
            axis.set_major_formatter(lambda value, _: large(value))
            axis.set_minor_formatter(lambda *_: "")
        ax.set(**{"xlabel": table.label(x), "ylabel": table.label(y), **more})

    def line(self, rows: FigureTable, aside: float = 1.0, **style: Any) -> None:
        """Draw the rows as a line, in their order; it is interrupted where nothing can be shown."""
        x, y = aside * rows[self.x], rows[self.y]
        good = self._shown(x, y)
        self.ax.plot(np.where(good, x, np.nan), np.where(good, y, np.nan), **style)

    def marks(self, rows: FigureTable, aside: float = 1.0, **style: Any) -> int:
        """Return how many rows were drawn, as marks with the bars of their interval, if any.

        ``aside`` multiplies x, where marks would hide each other.
        """
        x, y, ends = aside * rows[self.x], rows[self.y], rows.interval(self.y)
        if not np.isnan(ends).all():
            return log_bars(self.ax, x, y, *ends, **style)
        good = self._shown(x, y)
        self.ax.plot(x[good], y[good], **{"linestyle": "none", **style})
        return int(good.sum())

    def band(self, rows: FigureTable, **style: Any) -> int:
        """Return how many rows the band between the ends of their interval was drawn through."""
        return log_band(self.ax, rows[self.x], *rows.interval(self.y), **style)

    def key(self, label: str, fmt: str = "-", **style: Any) -> None:
        """Add a line to the legend that stands for no single row."""
        self.ax.plot([], [], fmt, label=label, **{"color": "0.3", **style})

    def slope(self, x: ArrayLike, through: tuple[float, float], power: float, **style: Any) -> None:
        """Draw the power law through a point, for the eye to compare with."""
        at = np.asarray(x, dtype=np.float64)
        look = {"linestyle": "--", "linewidth": 1.2, **style}
        self.ax.plot(at, through[1] * (at / through[0]) ** power, **look)

    def note(
        self, text: str, at: tuple[float, float], offset: tuple[float, float], **style: Any
    ) -> None:
        """Write a text, ``offset`` in points from a place."""
        self.ax.annotate(text, at, xytext=offset, textcoords="offset points", **style)

    def _shown(self, x: Floats, y: Floats) -> NDArray[np.bool_]:
        return shown(x, self.ax.get_xscale()) & shown(y, self.ax.get_yscale())


def shown(values: Floats, scale: str) -> NDArray[np.bool_]:
    """Return where values can stand on an axis of that scale."""
    return drawable(values) if scale == "log" else np.isfinite(values)


def drawable(*columns: ArrayLike) -> NDArray[np.bool_]:
    """Return where every column is finite and above 0: the points a log-log axis can show."""
    arrays = [np.asarray(column, dtype=np.float64) for column in columns]
    good = np.ones(np.broadcast_shapes(*(a.shape for a in arrays)), dtype=bool)
    for array in arrays:
        good &= np.isfinite(array) & (array > 0)
    return good


def log_bars(
    ax: Axes, x: ArrayLike, y: ArrayLike, low: ArrayLike, high: ArrayLike, **style: Any
) -> int:
    """Return how many points were drawn, with their bars from ``low`` to ``high``.

    Points that an axis, as it is scaled now, cannot show are left out. On a logarithmic y axis a
    bar that reaches to 0 or below ends at the lowest value drawn, with an arrow; one without an
    upper end is an arrow.
    """
    x, y, low, high = (
        np.asarray(c, dtype=np.float64) for c in np.broadcast_arrays(x, y, low, high)
    )
    good = shown(x, ax.get_xscale()) & shown(y, ax.get_yscale())
    x, y, low, high = x[good], y[good], low[good], high[good]
    if len(x) == 0:
        return 0
    # a missing interval is no bar; an interval always holds its point
    below = np.where(np.isnan(low), y, np.minimum(low, y))
    above = np.where(np.isnan(high), y, np.maximum(high, y))
    cut = np.zeros(len(y), dtype=bool)
    if ax.get_yscale() == "log":
        cut = below <= 0
        below = np.maximum(below, _floor(y, below, above))
    is_open = np.isinf(above)
    bars = np.stack([y - below, np.where(is_open, y / 2, above - y)])
    drawn = ax.errorbar(x, y, yerr=bars, lolims=is_open, **{"linestyle": "none", **style})
    if cut.any():
        colour = drawn.lines[2][0].get_color()
        ax.plot(x[cut], below[cut], "v", color=colour, markersize=3.5, zorder=3)
    return len(x)


def log_band(ax: Axes, x: ArrayLike, low: ArrayLike, high: ArrayLike, **style: Any) -> int:
    """Return how many points the band between ``low`` and ``high`` was drawn through.

    Points whose upper end cannot be shown are left out; on a logarithmic y axis a lower end at 0
    or below (or missing) is clipped to the lowest value drawn, so that nothing reaches beyond the
    data.
    """
    x, low, high = (np.asarray(c, dtype=np.float64) for c in np.broadcast_arrays(x, low, high))
    good = shown(x, ax.get_xscale()) & shown(high, ax.get_yscale())
    x, low, high = x[good], low[good], high[good]
    if len(x) == 0:
        return 0
    if ax.get_yscale() == "log":
        floor = _floor(low, high)
        low = np.where(np.isfinite(low), np.maximum(low, floor), floor)
    ax.fill_between(x, low, high, **{"linewidth": 0, "alpha": 0.25, **style})
    return len(x)


def _floor(*columns: Floats) -> float:
    """The lowest value that is finite and above 0."""
    values = np.concatenate([np.ravel(column) for column in columns])
    return float(values[drawable(values)].min())


# -- where things stand: panels for a width in print, titles that fit, legends off the data

WIDTHS = {"column": 3.3, "page": 7.0}  # inches
SMALLEST = 6.5  # points, of any text at these widths but exponents
LEAST_PANEL = 2.2  # inches: narrower ones are set below each other
TALLEST = 9.0  # inches, of all panels: beyond it they are set narrower after all
PASSES = 4  # a legend that moves makes panels smaller, so that another may stand over data
PRINTED: dict[Any, float] = {
    **dict.fromkeys(("font.size", "axes.labelsize", "xtick.labelsize", "ytick.labelsize"), 7.0),
    "axes.titlesize": 7.5,
    "legend.fontsize": SMALLEST,
    "lines.markersize": 4.0,
    "lines.linewidth": 1.2,
    "axes.titlepad": 5.0,
    "savefig.dpi": 300.0,
}


@cache
def printed_canvas() -> type[Canvas]:
    """Return the kind of figure whose panels are set for its width in inches."""
    from matplotlib.figure import Figure

    class PrintCanvas(Figure):
        moved = (1, 1)  # columns as the drawing asked for, and as they are set, if these differ
        one_scale = False  # of y, on all panels

        def subplots(self, nrows: int = 1, ncols: int = 1, **more: Any) -> Any:
            width = self.get_figwidth()
            columns, rows, height = _grid_in_print(width, nrows * ncols, ncols)
            self.set_figheight(height)
            if columns == ncols:
                return super().subplots(nrows, ncols, **more)
            self.moved, self.one_scale = (ncols, columns), more.get("sharey") is True
            # panels of one column share x no longer where they stand below others
            sharex, sharey = more.get("sharex") is True, bool(more.get("sharey"))
            made = super().subplots(rows, columns, squeeze=False, sharex=sharex, sharey=sharey)
            made = made.ravel()
            for i, ax in enumerate(made):
                first = i % columns == 0 or not self.one_scale
                ax.tick_params(labelbottom=True, labelleft=first)
            for ax in made[nrows * ncols :]:
                ax.remove()
            grid = made[: nrows * ncols].reshape(nrows, ncols)
            return grid.squeeze() if more.get("squeeze", True) else grid

    return PrintCanvas


def _grid_in_print(width: float, panels: int, most: int) -> tuple[int, int, float]:
    """Return columns, rows and the height in inches: as few columns as a page is high enough for.

    What stands above and below the axes takes half an inch of a panel, however narrow it is.
    """
    for columns in range(max(1, min(most, int(width / LEAST_PANEL))), most + 1):
        rows = math.ceil(panels / columns)
        height = rows * (0.5 + 0.6 * width / columns)
        if height <= TALLEST:
            break
    return columns, rows, height


def finish(canvas: Canvas) -> None:
    """Put titles into lines that fit, and legends that stand over data below their panels.

    Panels that were moved take the label that they shared with the first of their row or column.
    """
    panels = [ax for ax in canvas.axes if ax.get_label() != "<colorbar>"]
    moved: tuple[int, int] | None = getattr(canvas, "moved", None)
    if moved is not None:
        if moved[0] > moved[1]:
            _labelled(panels, moved, one_scale=vars(canvas).get("one_scale", False))
        for text in (text for ax in panels for text in ax.texts):
            text.set_fontsize(SMALLEST)
        for legend in list(canvas.legends):
            _narrower(legend, panels[0], canvas)
    canvas.draw_without_rendering()
    # how far left a panel reaches takes long to find, and does not depend on anybody's title
    lefts = [ax.get_tightbbox().x0 for ax in canvas.axes]  # type: ignore[union-attr]
    for ax in panels:
        _wrap_title(ax, canvas, lefts)
        if moved is not None:
            _thin_ticks(ax)
    if moved is not None and canvas.legends:
        _make_room(canvas, canvas.legends)
    for _ in range(PASSES):
        canvas.draw_without_rendering()
        over = [ax for ax in panels if legend_over_data(ax)]
        for ax in over:
            _set_below(ax)
        if moved is not None:
            canvas.draw_without_rendering()
            rows = {round(ax.get_position().y0, 2): ax.get_legend() for ax in over}
            _make_room(canvas, filter(None, rows.values()))
        if not over:
            break


def _make_room(canvas: Canvas, legends: Iterable[Legend]) -> None:
    """Make the figure higher by what its legends take."""
    pixels = sum(legend.get_window_extent().height for legend in legends)
    canvas.set_figheight(canvas.get_figheight() + pixels / canvas.dpi)


def _thin_ticks(ax: Axes) -> None:
    """Leave out numbers below an axis, every other one or more, until no two of them touch."""
    shown = [tick for tick in ax.get_xticklabels() if tick.get_text()]
    ends = [tick.get_window_extent() for tick in shown]
    every = 1
    for every in range(1, len(shown) + 1):
        kept = sorted(ends[::every], key=lambda box: box.x0)
        if all(left.x1 + 3 < right.x0 for left, right in itertools.pairwise(kept)):
            break
    for i, tick in enumerate(shown):
        tick.set_visible(i % every == 0)


def _labelled(panels: list[Axes], moved: tuple[int, int], *, one_scale: bool) -> None:
    """Give a panel without a label the one that it shared: of its row for y, its column for x.

    With one scale for all it is said at the first of a row.
    """
    columns, now = moved
    for i, ax in enumerate(panels):
        if i % columns:
            ax.set_ylabel(ax.get_ylabel() or panels[i - 1].get_ylabel())
    for below, ax in zip(panels[columns:][::-1], panels[:-columns][::-1], strict=True):
        ax.set_xlabel(ax.get_xlabel() or below.get_xlabel())
    for i, ax in enumerate(panels):
        if one_scale and i % now:
            ax.set_ylabel("")


def _narrower(legend: Legend, panel: Axes, canvas: Canvas) -> None:
    """Put the legend of the whole figure below it, in as many columns as there is room for."""
    shown = [(text.get_text(), handle) for text, handle
             in zip(legend.get_texts(), legend.legend_handles, strict=True)]  # fmt: skip
    known = dict(zip(*panel.get_legend_handles_labels()[::-1], strict=True))
    legend.remove()
    columns = max(1, int(canvas.get_figwidth() / 1.6))
    handles: list[Any] = [known.get(label, handle) for label, handle in shown]
    canvas.legend(handles, [label for label, _ in shown], loc="outside lower center", ncols=columns)


def _wrap_title(ax: Axes, canvas: Canvas, lefts: Sequence[float]) -> None:
    """Break the title where it would reach beyond its panel's place on the figure.

    ``lefts`` are the left ends of all panels, in pixels.
    """
    title = ax._left_title  # type: ignore[attr-defined]  # there is no public way to it
    text, room = title.get_text(), _room(ax, canvas, lefts)
    words = re.split(r"(?<!=) (?!=)(?=(?:[^$]*\$[^$]*\$)*[^$]*$)", text)  # no formula
    lines = words[:1]
    for word in words[1:]:
        title.set_text(f"{lines[-1]} {word}")
        if title.get_window_extent().width > room:
            lines.append(word)
        else:
            lines[-1] += f" {word}"
    title.set_text("\n".join(lines))


def _room(ax: Axes, canvas: Canvas, lefts: Sequence[float]) -> float:
    """Return the pixels from the panel's left edge to the next panel's, or to the figure's end.

    Two titles side by side are kept a letter's height apart.
    """
    box = ax.get_window_extent()
    gap = float(ax.title.get_fontsize()) * canvas.dpi / 72
    later = [x - gap for x in lefts if x - gap > box.x0 + box.width / 2]  # its own is not
    return float(min([*later, canvas.bbox.x1]) - box.x0)


def legend_over_data(ax: Axes) -> bool:
    """Whether a line, a mark or a text of the panel passes below its legend."""
    from matplotlib.transforms import Bbox

    legend = ax.get_legend()
    if legend is None:
        return False
    inside = Bbox.intersection(legend.get_window_extent(), ax.get_window_extent())
    return inside is not None and any(_passes(inside, points) for points in _drawn(ax))


def _drawn(ax: Axes) -> Iterator[np.ndarray]:
    """Yield the points in pixels, (n, 2), of every line, mark and bar."""
    for line in ax.lines:
        x, y = np.broadcast_arrays(*(np.asarray(v, dtype=float) for v in line.get_data()))
        if len(x):
            yield line.get_transform().transform(np.column_stack([x, y]))
    for collection in ax.collections:
        offsets = np.asarray(collection.get_offsets(), dtype=float)
        if len(offsets) and offsets.any():
            yield from (point[None] for point in ax.transData.transform(offsets))


def _passes(box: Bbox, points: np.ndarray) -> bool:
    """Whether the broken line through the points enters the box."""
    ends = itertools.pairwise(points)
    steps = np.linspace(0, 1, 33)[:, None]
    dense = [a + steps * (b - a) for a, b in ends] or [points]
    x, y = np.concatenate(dense).T
    inside = (box.x0 < x) & (x < box.x1) & (box.y0 < y) & (y < box.y1)
    return bool(inside.any())


def _set_below(ax: Axes) -> None:
    """Put the legend of a panel under its x label."""
    from matplotlib.transforms import ScaledTranslation

    legend = ax.get_legend()
    assert legend is not None
    handles, labels = ax.get_legend_handles_labels()
    size = legend.get_texts()[0].get_fontsize()
    box, pixels = ax.get_window_extent(), legend.get_window_extent()
    one = pixels.width / max(1, legend._ncols)  # type: ignore[attr-defined]
    figure = ax.get_figure(root=True)
    assert figure is not None
    below = (ax.xaxis.get_tightbbox().y0 - box.y0) / figure.dpi - 0.04  # type: ignore[union-attr]
    shift = ScaledTranslation(0, below, figure.dpi_scale_trans)
    ax.legend(
        handles, labels, fontsize=size,
        ncols=max(1, min(len(labels), int(1.25 * box.width / one))),
        loc="upper center", bbox_to_anchor=(0.5, 0), borderaxespad=0.0,
        bbox_transform=ax.transAxes + shift,
    )  # fmt: skip
