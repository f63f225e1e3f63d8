"""Figures for print: panels below each other, text that can be read, legends beside the data."""

import itertools

import numpy as np
import pytest
from matplotlib.figure import Figure as Canvas

from stemtheory.algorithms import ALGORITHMS
from stemtheory.report import palette
from stemtheory.report.drawing import Figure, drawn
from stemtheory.report.figure_table import FigureTable, Quantity
from stemtheory.report.panels import TALLEST, WIDTHS, legend_over_data
from tests.figures.columns import look_faults, print_faults

TABLE = FigureTable.of((Quantity("x"),), [{"x": [1, 2]}])


def draw(canvas: Canvas) -> None:
    """Draw three panels with one y label; the legend of the first stands on a line."""
    axes = canvas.subplots(1, 3, sharey=True)
    for ax, letter in zip(axes, "abc", strict=True):
        ax.set_title(f"{letter}  A title that is long, with $a + b$ = 1 in its midst, and more")
        ax.plot([0, 1], [0, 1], "o", color=palette.BLUE, label="STEM, all")
        ax.plot([0, 1], [1, 1], color=palette.VERMILION, label="FedAvg")
        ax.set_xlabel("x")
    axes[0].set_ylabel("y")
    axes[0].legend(loc="upper center")


@pytest.mark.parametrize(("width", "columns"), [("", 3), ("column", 1), ("page", 3)])
def test_panels_are_set_for_the_width(width: str, columns: int) -> None:
    with drawn(draw, (10.0, 3.0), width) as canvas:
        canvas.canvas.draw()
        assert canvas.get_figwidth() == WIDTHS.get(width, 10.0)
        lefts = {round(ax.get_window_extent().x0) for ax in canvas.axes}
        assert len(lefts) == columns
        assert not any(legend_over_data(ax) for ax in canvas.axes)
        labels = [ax.get_ylabel() for ax in canvas.axes]
        assert labels == (["y"] * 3 if width == "column" else ["y", "", ""])
        for ax in canvas.axes:
            title = ax.get_title(loc="left")
            assert "$a + b$" in title
            ends = ax._left_title.get_window_extent()  # type: ignore[attr-defined]
            assert ends.x1 <= canvas.bbox.x1 + 1


@pytest.mark.parametrize("words", range(12, 20))
def test_titles_side_by_side_are_apart(words: int) -> None:
    """A panel without numbers beside its axis begins where the title before it may end."""

    def pair(canvas: Canvas) -> None:
        for ax in canvas.subplots(1, 2, sharey=True):
            ax.set_title("a  " + "i " * words)

    with drawn(pair, (3.3, 2.0)) as canvas:
        left, right = (ax._left_title.get_window_extent() for ax in canvas.axes)  # type: ignore[attr-defined]
        letter = float(canvas.axes[0].title.get_fontsize()) * canvas.dpi / 72
        assert left.x1 + letter < right.x0


def test_a_moved_panel_has_the_label_of_its_own_column() -> None:
    def grid(canvas: Canvas) -> None:
        axes = canvas.subplots(2, 4, sharex="col")
        for i, ax in enumerate(axes[1]):
            ax.set_xlabel(f"x{i}")
        axes[0, 0].set_ylabel("y0")

    with drawn(grid, (10.0, 6.0), "page") as canvas:
        assert [ax.get_xlabel() for ax in canvas.axes] == ["x0", "x1", "x2", "x3"] * 2
        assert [ax.get_ylabel() for ax in canvas.axes] == ["y0"] * 4 + [""] * 4


@pytest.mark.parametrize("width", WIDTHS)
def test_many_panels_fit_on_a_page_with_their_legend_and_numbers_apart(width: str) -> None:
    def grid(canvas: Canvas) -> None:
        axes = canvas.subplots(2, 3, sharey=True)
        for ax in axes.flat:
            ax.plot([1, 2], [1, 2], label="STEM: a long name of a line")
            ax.set_xticks([1, 1.1, 1.2, 2], ["1.00001", "1.10001", "1.20001", "2.00001"])
        axes[0, 0].set_ylabel("y")
        canvas.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center")

    with drawn(grid, (11.0, 6.0), width) as canvas:
        canvas.draw_without_rendering()
        assert canvas.get_figheight() < TALLEST
        (legend,) = canvas.legends
        assert legend.get_window_extent().y1 < min(
            ax.get_tightbbox().y0  # type: ignore[union-attr]
            for ax in canvas.axes
        )
        for ax in canvas.axes:
            assert ax.get_window_extent().height > 0.6 * canvas.dpi
            shown = [t.get_window_extent() for t in ax.get_xticklabels() if t.get_visible()]
            assert len(shown) < 4
            assert all(a.x1 < b.x0 for a, b in itertools.pairwise(shown))
        first = {ax.get_window_extent().x0 for ax in canvas.axes if ax.get_ylabel()}
        assert len(first) == 1


def test_a_legend_over_data_is_seen() -> None:
    canvas = Canvas()
    draw(canvas)
    canvas.draw_without_rendering()
    assert [legend_over_data(ax) for ax in canvas.axes] == [True, False, False]


def test_small_text_and_a_foreign_colour_are_found() -> None:
    def wrong(table: FigureTable, canvas: Canvas) -> None:
        ax = canvas.subplots()
        ax.plot([0, 1], "s", color=palette.GREEN, label="STEM, all")
        ax.set_title("a  Small", fontsize=6)

    entry = Figure("wrong", "", lambda *_: TABLE, wrong, lambda _: "")
    assert len(print_faults(entry, TABLE)) == 2  # at either width
    canvas = Canvas()
    wrong(TABLE, canvas)
    assert look_faults(canvas.axes) == [f"STEM, all: colour {palette.GREEN}", "STEM, all: marker s"]


def test_every_algorithm_has_a_colour_and_a_marker_of_its_own() -> None:
    assert set(palette.LOOKS) == set(ALGORITHMS)
    looks = palette.LOOKS.values()
    assert len({look.marker for look in looks}) == len(looks)
    assert len({look.colour for look in looks}) == len(looks)


def test_shades_go_from_light_to_dark() -> None:
    look = palette.LOOKS["stem"]
    light = [sum(int(look.shade(i, 3)[k : k + 2], 16) for k in (1, 3, 5)) for i in range(3)]
    assert np.all(np.diff(light) < 0)
    assert look.shade(1, 3) == look.shade(0, 1) == look.colour
