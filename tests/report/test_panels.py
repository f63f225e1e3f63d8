"""Panels: labels and numbers are the columns', and logarithmic axes stay honest."""

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure as Canvas

from stemtheory.report.figure_table import FigureTable, Quantity
from stemtheory.report.panels import Panel, drawable, log_band, log_bars

COLUMNS = (
    *(Quantity("kind"), Quantity("x", "steps $T$")),
    Quantity("y", "rounds", ("y_low", "y_high")),
    *(Quantity("y_low"), Quantity("y_high"), Quantity("z", "samples")),
)
TABLE = FigureTable.of(
    COLUMNS,
    [
        {"kind": "run", "x": [1, 2, 4], "y": [4.0, 2, 1], "y_low": [3.0, 1.5, 0.5],
         "y_high": [5.0, 3.0, 2.0], "z": [9.0, 8.0, 7.0]},
        {"kind": "bound", "x": [1, 4], "y": [8.0, 6.0]},
    ],
)  # fmt: skip


@pytest.fixture
def ax() -> Axes:
    axes = Canvas().subplots()
    axes.set(xscale="log", yscale="log")
    return axes


def test_a_panel_shows_the_columns_that_it_names(ax: Axes) -> None:
    panel = Panel(ax, TABLE, "x", "y")
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("steps $T$", "rounds")
    panel.line(TABLE.where(kind="bound"))
    np.testing.assert_array_equal(np.column_stack(ax.lines[0].get_data()), [[1, 8], [4, 6]])
    assert panel.marks(TABLE.where(kind="run"), aside=2.0) == 3
    np.testing.assert_array_equal(np.column_stack(ax.lines[1].get_data()), [[2, 4], [4, 2], [8, 1]])
    np.testing.assert_allclose(_bar_ends(ax), np.array([[3, 5], [1.5, 3], [0.5, 2]]))
    Panel(ax, TABLE, "x", "z")
    assert ax.get_ylabel() == "samples"


def test_marks_without_an_interval_have_no_bars(ax: Axes) -> None:
    assert Panel(ax, TABLE, "x", "z").marks(TABLE.where(kind="run")) == 3
    assert not ax.collections


def test_a_line_is_interrupted_where_nothing_can_be_shown(ax: Axes) -> None:
    broken = FigureTable.of(COLUMNS, [{"x": [1, 2, 4, 8], "y": [1.0, 0.0, np.inf, 2.0]}])
    Panel(ax, broken, "x", "y").line(broken)
    y = np.asarray(ax.lines[0].get_ydata(), dtype=float)
    np.testing.assert_array_equal(y, [1, np.nan, np.nan, 2])


def test_a_band_reaches_from_end_to_end(ax: Axes) -> None:
    assert Panel(ax, TABLE, "x", "y").band(TABLE.where(kind="run")) == 3
    (path,) = ax.collections[0].get_paths()
    corners = {tuple(vertex) for vertex in np.asarray(path.vertices)}
    assert {(1, 3), (1, 5), (4, 0.5), (4, 2)} <= corners


def test_a_slope_goes_through_its_point(ax: Axes) -> None:
    Panel(ax, TABLE, "x", "y").slope([1, 10], (10, 7), -2)
    np.testing.assert_allclose(np.asarray(ax.lines[0].get_ydata(), dtype=float), [700, 7])


def test_linear_axes_show_zeros_and_bars_below_them(ax: Axes) -> None:
    ax.set_yscale("linear")
    assert log_bars(ax, [1, 2], [0.0, 1.0], [-1.0, 0.5], [1.0, 2.0]) == 2
    np.testing.assert_allclose(_bar_ends(ax), np.array([[-1, 1], [0.5, 2]]))
    assert log_band(ax, [1, 2], [-3, -2], [-1, 0]) == 2


NOT_DATA = [0.0, -1.0, np.nan, np.inf]


def test_only_what_a_log_axis_can_show_is_drawable() -> None:
    assert not drawable(NOT_DATA).any()
    np.testing.assert_array_equal(drawable([1.0, 2.0], [1.0, np.nan]), [True, False])


@pytest.mark.parametrize("bad", NOT_DATA)
@pytest.mark.parametrize("position", [0, 1, 2])
def test_zeros_and_diverged_points_are_not_drawn(ax: Axes, bad: float, position: int) -> None:
    y = np.array([4.0, 2.0, 1.0])
    y[position] = bad
    assert log_bars(ax, [1, 2, 3], y, y / 2, y * 2) == 2
    drawn = np.asarray(ax.lines[0].get_ydata(), dtype=float)
    assert sorted(drawn) == sorted(y[np.isfinite(y) & (y > 0)])


def test_nothing_is_drawn_where_there_is_nothing(ax: Axes) -> None:
    assert log_bars(ax, [1, 2], [0, 0], [0, 0], [0, 0]) == 0
    assert log_bars(ax, [], [], [], []) == 0
    assert log_band(ax, [1, 2], [0, 0], [0, np.nan]) == 0
    assert not ax.lines
    assert not ax.collections


def test_a_zero_of_a_linear_axis_is_drawn(ax: Axes) -> None:
    ax.set_xscale("linear")
    assert log_bars(ax, [0.0, 1.0], [1, 2], [0.5, 1], [2, 3]) == 2
    assert log_band(ax, [0.0, np.nan], [1, 2], [2, 3]) == 1


def _bar_ends(ax: Axes) -> np.ndarray:
    (bars,) = ax.collections
    return np.array([segment[:, 1] for segment in bars.get_segments()])  # type: ignore[attr-defined]


def test_bars_stay_above_zero(ax: Axes) -> None:
    log_bars(ax, [1, 2, 3], [4, 2, 5], [-1, 0, 3], [6, 3, np.nan])
    np.testing.assert_allclose(_bar_ends(ax), [[2, 6], [2, 3], [3, 5]])


def test_a_bar_without_an_upper_end_is_an_arrow(ax: Axes) -> None:
    log_bars(ax, [1, 2], [4, 2], [3, 1], [np.inf, 3])
    assert np.isfinite(_bar_ends(ax)).all()
    carets = [line for line in ax.lines if line.get_marker() == mpl.lines.CARETUPBASE]  # type: ignore[attr-defined]
    assert [list(np.asarray(line.get_xdata())) for line in carets] == [[1]]


def band_faults(band: PolyCollection, lowest: float) -> bool:
    """Whether a band reaches to 0, below the lowest value shown, or to where no number is."""
    vertices = np.concatenate([path.vertices for path in band.get_paths()])
    return not bool(np.isfinite(vertices).all() and (vertices[:, 1] >= lowest).all())


@pytest.mark.parametrize("bad", [0.0, -3.0, np.nan])
def test_a_band_is_clipped_to_what_is_shown(ax: Axes, bad: float) -> None:
    assert log_band(ax, [1, 2, 3], [bad, 2, 1.5], [8, 4, 3]) == 3
    (band,) = ax.collections
    assert isinstance(band, PolyCollection)
    assert not band_faults(band, 1.5)
    mutant = ax.fill_between([1, 2, 3], [bad, 2, 1.5], [8, 4, 3])
    drawn_gap = np.isnan(bad)  # matplotlib leaves such points out, which is honest too
    assert band_faults(mutant, 1.5) or drawn_gap
