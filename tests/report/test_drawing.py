"""Figures: declared as data, drawn without a display, written whole, and honest on log axes."""

import itertools
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import _mathtext
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure as Canvas

from stemtheory.oracles import catalogue
from stemtheory.report import drawing
from stemtheory.report.drawing import Figure, draw_figures, picture
from stemtheory.report.figure_table import FigureTable, Quantity
from stemtheory.report.panels import Panel
from stemtheory.runtime.errors import UsageError
from stemtheory.runtime.files import write_whole
from tests.helpers.sources import ROOT

COLUMNS = (
    *(Quantity("x", "$x$"), Quantity("y", "rounds", ("low", "high"))),
    *(Quantity("low"), Quantity("high")),
)
CALLS: list[str] = []


def three_points(y: tuple[float, ...] = (1.0, 10.0, 100.0), mode: str = "quick") -> FigureTable:
    ends = {"low": np.array(y) / 1.5, "high": np.array(y) * 1.5}
    return FigureTable.of(COLUMNS, [{"x": [1.0, 2.0, 3.0], "y": y, **ends}], mode=mode)


def _table(mode: str, store: Path | None, progress: Callable[[str], None]) -> FigureTable:
    CALLS.append(mode)
    progress("computing")
    return three_points(mode=mode)


def _draw(data: FigureTable, figure: Canvas) -> None:
    panel = Panel(figure.subplots(), data, "x", "y")
    panel.band(data)
    panel.marks(data, marker="o")


def _caption(data: FigureTable) -> str:
    return f"Seen in {data.facts['mode']}: a line."


LINE = Figure("line", "three points", _table, _draw, _caption)
NAME = f"{__name__}:LINE"


def test_a_figure_is_drawn_with_its_caption(tmp_path: Path) -> None:
    notes: list[str] = []
    (drawn,) = draw_figures(
        [NAME], mode="quick", out=tmp_path / "new", formats=("png", "svg"), progress=notes.append
    )
    names = ["line.png", "line.svg", "line.csv", "line.txt"]
    assert [Path(file).name for file in drawn["files"]] == names
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == sorted(names)
    assert drawn["name"] == "line"
    assert (tmp_path / "new/line.txt").read_text(encoding="utf-8") == drawn["caption"] + "\n"
    assert drawn["caption"].startswith("Seen in quick: a line.")
    assert "stemtheory figure line --quick; seed 0; stemtheory " in drawn["caption"]
    assert "computing" in notes
    assert (tmp_path / "new/line.csv").read_text(encoding="utf-8") == three_points().csv()


AGAIN = Figure("again", "the same three points", _table, _draw, _caption)


def test_figures_of_one_table_share_it(tmp_path: Path) -> None:
    CALLS.clear()
    found = draw_figures([NAME, f"{__name__}:AGAIN"], mode="quick", out=tmp_path)
    assert [figure["name"] for figure in found] == ["line", "again"]
    assert CALLS == ["quick"]
    assert (tmp_path / "line.png").read_bytes() == (tmp_path / "again.png").read_bytes()


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


def test_a_formula_is_set_once_for_all_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the next canvas too: half of drawing was setting numbers that had been set before."""
    of_both = [picture(LINE, three_points(), kind) for kind in ("png", "svg")]

    def refused(*_: object) -> None:
        raise AssertionError("a formula is set again")

    monkeypatch.setattr(_mathtext.Parser, "parse", refused)
    assert [picture(LINE, three_points(), kind) for kind in ("png", "svg")] == of_both
    with pytest.raises(AssertionError, match="set again"):
        picture(LINE, three_points((1.0, 1e7, 1e14)), "png")


@pytest.mark.parametrize("kind", ["png", "pdf", "svg"])
def test_files_are_the_same_on_every_run(kind: str) -> None:
    first = picture(LINE, three_points(), kind)
    with mpl.rc_context({"lines.linewidth": 9, "font.size": 20, "svg.hashsalt": "other"}):
        assert picture(LINE, three_points(), kind) == first
    assert picture(LINE, three_points((1, 10, 99)), kind) != first
    assert not re.search(rb"CreationDate|<dc:date>|Matplotlib v", first)


def test_settings_of_the_user_come_back() -> None:
    with mpl.rc_context({"lines.linewidth": 9}):
        picture(LINE, three_points(), "png")
        assert mpl.rcParams["lines.linewidth"] == 9


def test_fonts_are_embedded() -> None:
    raw = picture(LINE, three_points(), "pdf")
    assert b"/FontFile2" in raw
    assert b"/Type3" not in raw
    assert b"<text" not in picture(LINE, three_points(), "svg")


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
    assert len(list(tmp_path.iterdir())) == 5


def test_a_hundred_figures_leave_none_open() -> None:
    import matplotlib.pyplot as plt

    for _ in range(100):
        assert drawing.render(lambda figure: figure.subplots().set_axis_off(), (1, 1), "svg")
    assert plt.get_fignums() == []


@pytest.mark.parametrize("name", catalogue.names("figures"))
def test_catalogue_entries_are_declared(name: str) -> None:
    entry = drawing.figure_entry(name)
    assert entry.name == name
    assert entry.summary
    assert entry.seed >= 0
    assert (entry.sweep == "") == (name not in FROM_A_SWEEP)


FROM_A_SWEEP = (
    *("floors", "heterogeneity", "margins", "suboptimal", "systems", "systems_all", "table1"),
    *("tradeoff_curve", "tradeoff_surface"),
)
