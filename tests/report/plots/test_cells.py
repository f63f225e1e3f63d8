"""What `results --plot` and `--csv` show is what the rows hold."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import pytest
from matplotlib.figure import Figure

from stemtheory.cli.app import main
from stemtheory.experiment import Store, cell_records
from stemtheory.report.plots.cells import draw, lines

TEXT = """
[settings]
problem = "cosine"
T = 8
K = 2
dim = 2
replicates = 3
[algorithms.stem]
[algorithms.fedavg]
[grids.g]
algorithms = ["stem", "fedavg"]
b = [1, 2, 64]
"""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cells")
    (folder / "s.toml").write_text(TEXT)
    assert main(["sweep", str(folder / "s.toml"), "--store", str(folder / "s.sqlite")]) == 0
    return folder / "s.sqlite"


def rows_of(store: Path) -> list[dict[str, Any]]:
    with Store.reading(store) as opened:
        return cell_records(opened.rows())


def test_a_line_holds_the_points_of_its_rows(store: Path) -> None:
    rows = rows_of(store)
    found = lines(rows, "b", "mean_grad_sq", "algorithm")
    assert set(found) == {"fedavg", "stem"}
    for name, points in found.items():
        mine = {row["b"]: row for row in rows if row["algorithm"] == name}
        assert [at for at, _, _ in points] == [1, 2, 64]
        for at, value, error in points:
            assert (value, error) == (mine[at]["mean_grad_sq"], mine[at]["stderr"])


def test_what_is_drawn_is_the_lines_with_their_bars(store: Path) -> None:
    found = lines(rows_of(store), "b", "mean_grad_sq", "algorithm")
    figure = Figure()
    draw(found, "b", "mean_grad_sq", "algorithm", figure)
    (ax,) = figure.axes
    assert (ax.get_xlabel(), ax.get_ylabel(), ax.get_xscale()) == ("b", "mean_grad_sq", "log")
    for container, (name, points) in zip(ax.containers, found.items(), strict=True):
        assert container.get_label() == f"algorithm = {name}"
        line, _, (bars,) = container
        assert line.get_xydata().tolist() == [[at, value] for at, value, _ in points]
        for (low, high), (_, value, error) in zip(
            (segment[:, 1] for segment in bars.get_segments()), points, strict=True
        ):
            assert (low, high) == pytest.approx((value - 1.96 * error, value + 1.96 * error))


def test_a_missing_number_is_left_out_and_never_zero() -> None:
    rows: list[dict[str, Any]] = [
        {"x": 1, "y": None},
        {"x": 2, "y": 3.0},
        {"x": True, "y": 1.0},
        {"x": 4, "y": "a"},
    ]
    (points,) = lines(rows, "x", "y", "").values()
    assert [point[:2] for point in points] == [(2.0, 3.0)]


@pytest.mark.parametrize(
    ("argv", "sentence"),
    [
        (["--plot", "b"], "two columns or three"),
        (["--plot", "b,nope"], "column 'nope' is unknown"),
        (["--plot", "b,problem"], "no row has numbers"),
        (["--plot", "b,mean_grad_sq", "--out", "x.txt"], ".png, .pdf or .svg"),
        (["--csv", "--json"], "exclude each other"),
        (["--out", "x.png"], "--plot"),
    ],
)
def test_bad_input_is_one_sentence(
    argv: list[str], sentence: str, store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["results", str(store), *argv]) == 2
    err = capsys.readouterr().err
    assert sentence in err
    assert err.count("\n") == 1


def test_csv_has_every_column(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["results", str(store), "--csv"]) == 0
    read = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    rows = rows_of(store)
    assert len(read) == len(rows) == 6
    assert set(read[0]) == {name for row in rows for name in row}
    assert [float(row["mean_grad_sq"]) for row in read] == [row["mean_grad_sq"] for row in rows]
    assert main(["list", "sweeps", "--csv"]) == 0
    named = [row["name"] for row in csv.DictReader(io.StringIO(capsys.readouterr().out))]
    assert "tradeoff" in named
