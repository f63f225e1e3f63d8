"""Figures: declared as data, drawn without a display, written whole, and honest on log axes."""

import itertools
import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure as Canvas

from stemtheory.oracles import catalogue
from stemtheory.report import drawing
from stemtheory.report.drawing import Figure, draw_figures, drawable, log_band, log_bars, render
from stemtheory.runtime.errors import UsageError
from stemtheory.runtime.files import write_whole
from tests.helpers.sources import ROOT


@dataclass(frozen=True)
class Line:
    """Three points."""

    mode: str
    y: tuple[float, ...] = (1.0, 10.0, 100.0)


CALLS: list[str] = []


def _prepare(mode: str, progress: Callable[[str], None]) -> Line:
    CALLS.append(mode)
    progress("preparing")
    return Line(mode)


def _draw(data: Line, figure: Canvas) -> None:
    ax = figure.subplots()
    ax.set(xscale="log", yscale="log", xlabel="$x$", ylabel="rounds")
    x, y = [1.0, 2.0, 3.0], np.array(data.y)
    log_band(ax, x, y / 2, y * 2)
    log_bars(ax, x, y, y / 1.5, y * 1.5, marker="o")


LINE = Figure("line", "three points", _prepare, _draw, lambda data: f"Seen in {data.mode}: a line.")
NAME = f"{__name__}:LINE"


@pytest.fixture
def ax() -> Axes:
    axes = Canvas().subplots()
    axes.set(xscale="log", yscale="log")
    return axes


def test_a_figure_is_drawn_with_its_caption(tmp_path: Path) -> None:
    notes: list[str] = []
    (drawn,) = draw_figures(
        [NAME], mode="quick", out=tmp_path / "new", formats=("png", "svg"), progress=notes.append
    )
    names = ["line.png", "line.svg", "line.txt"]
    assert [Path(file).name for file in drawn["files"]] == names
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == names
    assert drawn["name"] == "line"
    assert (tmp_path / "new/line.txt").read_text(encoding="utf-8") == drawn["caption"] + "\n"
    assert drawn["caption"].startswith("Seen in quick: a line.")
    assert "stemtheory figure line --quick; seed 0; stemtheory " in drawn["caption"]
    assert "preparing" in notes


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"names": ["no_such_figure"]}, "known are"),
        ({"names": [f"{__name__}:CALLS"]}, "must be a Figure"),
        ({"names": ["no.such.module:ENTRY"]}, "cannot be loaded"),
        ({"mode": "slow"}, "quick"),
        ({"formats": ("png", "gif")}, "svg"),
    ],
)
def test_bad_input_is_refused_before_any_work(
    change: dict[str, Any], word: str, tmp_path: Path
) -> None:
    CALLS.clear()
    settings = {"names": [NAME], "out": tmp_path, **change}
    with pytest.raises(UsageError, match=word):
        draw_figures(**settings)
    assert CALLS == []


def test_a_store_for_a_figure_without_a_sweep_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="line is not drawn from a sweep: leave it out"):
        draw_figures([NAME], store=tmp_path / "x.sqlite", out=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_is_refused_before_any_work(tmp_path: Path) -> None:
    CALLS.clear()
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="cannot be written"):
        draw_figures([NAME], out=tmp_path / "file" / "out")
    assert CALLS == []


def test_a_failed_write_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "inside").touch()
    with pytest.raises(UsageError, match="cannot be written"):
        write_whole(tmp_path / "taken", "text")
    assert [path.name for path in tmp_path.iterdir()] == ["taken"]


@pytest.mark.parametrize("kind", ["png", "pdf", "svg"])
def test_files_are_the_same_on_every_run(kind: str) -> None:
    first = render(LINE, Line("quick"), kind)
    with mpl.rc_context({"lines.linewidth": 9, "font.size": 20, "svg.hashsalt": "other"}):
        assert render(LINE, Line("quick"), kind) == first
    assert render(LINE, Line("quick", (1, 10, 99)), kind) != first
    assert not re.search(rb"CreationDate|<dc:date>|Matplotlib v", first)


def test_settings_of_the_user_come_back() -> None:
    with mpl.rc_context({"lines.linewidth": 9}):
        render(LINE, Line("quick"), "png")
        assert mpl.rcParams["lines.linewidth"] == 9


def test_fonts_are_embedded() -> None:
    raw = render(LINE, Line("quick"), "pdf")
    assert b"/FontFile2" in raw
    assert b"/Type3" not in raw
    assert b"<text" not in render(LINE, Line("quick"), "svg")


def test_colours_differ_in_lightness_too() -> None:
    """Neighbours of the cycle differ by 10 of 100 in CIE lightness, so grey prints tell them."""
    with drawing.house_style():
        colours = mpl.rcParams["axes.prop_cycle"].by_key()["color"]
    light = [_lightness(colour) for colour in colours]
    assert min(abs(a - b) for a, b in itertools.pairwise(light)) >= 10
    assert abs(_lightness("red") - _lightness("#009E73")) < 10  # a pair that grey cannot tell


def _lightness(colour: str) -> float:
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour)]
    Y = float(np.dot(linear, [0.2126, 0.7152, 0.0722]))
    return float(116 * np.cbrt(Y) - 16 if Y > 0.008856 else 903.3 * Y)


def test_no_display_is_looked_for(tmp_path: Path) -> None:
    """With a window toolkit asked for and no display, in a process of its own."""
    code = (
        "import sys\nfrom pathlib import Path\nfrom stemtheory.report.drawing import draw_figures\n"
        f"draw_figures([{NAME!r}], out=Path(sys.argv[1]), formats=('png', 'pdf', 'svg'))\n"
        "print([m for m in ('tkinter', 'matplotlib.pyplot') if m in sys.modules])\n"
    )
    env = {k: v for k, v in os.environ.items() if k not in ("DISPLAY", "WAYLAND_DISPLAY")}
    env |= {"MPLBACKEND": "TkAgg", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-W", "error", "-c", code, str(tmp_path)]
    done = subprocess.run(command, env=env, cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stdout.strip()) == (0, "[]"), done.stderr[-2000:]
    assert len(list(tmp_path.iterdir())) == 4


def test_a_hundred_figures_leave_none_open() -> None:
    import matplotlib.pyplot as plt

    def draw(_: Line, figure: Canvas) -> None:
        figure.subplots().set_axis_off()

    entry = Figure("empty", "", _prepare, draw, lambda _: "", size=(1, 1))
    for _ in range(100):
        assert render(entry, Line("quick"), "svg")
    assert plt.get_fignums() == []


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


@pytest.mark.parametrize("name", catalogue.names("figures"))
def test_catalogue_entries_are_declared(name: str) -> None:
    entry = drawing.figure_entry(name)
    assert entry.name == name
    assert entry.summary
    assert entry.seed >= 0
