"""How columns of a figure's table come onto axes: lines, marks with bars, bands.

A panel shows one column over another and takes both its labels and its numbers from them. What a
logarithmic axis cannot show is left out, never replaced by a small number.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stemtheory.report.figure_table import FigureTable
from stemtheory.runtime import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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
            axis.set_major_formatter(lambda value, _: f"{value:,.6g}")
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
