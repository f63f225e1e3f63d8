"""The figures on images: settings, tuning, captions in numbers, and drawings with runs missing."""

import csv
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from docs.build import replication
from stemtheory.figures import _image_panels as panels
from stemtheory.figures import _images as images
from stemtheory.figures import gradient_floor as floors
from stemtheory.figures._image_table import table
from stemtheory.figures._images import (
    BORROWED,
    FEDAVG,
    NAMES,
    PAPER_ROW,
    ROWS,
    SCAFFOLD,
    STEM,
    TUNED_ROW,
    Comparison,
    Line,
    climb,
    least,
    tune,
)
from stemtheory.images import data_sets as data
from stemtheory.images import problem as image_problem
from stemtheory.images.training import History, PerEpoch, _Run
from stemtheory.oracles.catalogue import names
from stemtheory.oracles.problem import Constants
from stemtheory.report.drawing import draw_figures, figure_entry, render
from stemtheory.runtime.errors import UsageError
from stemtheory.schedules import Constant, Schedule
from tests.helpers.images_toy import toy

FIGURES = (2, 3, 4, 5)


def history(final: list[float], start: float = 0.1, lost: tuple[int, ...] = ()) -> History:
    """Return a run of three seeds that rises evenly to its final accuracies."""
    rounds = np.arange(0, 31, 3)
    rise = np.linspace(0, 1, len(rounds))
    accuracy = start + rise * (np.array(final)[:, None] - start)
    diverged = np.zeros(len(final), dtype=np.int64)
    for seed in lost:
        accuracy[seed, 4:], diverged[seed] = np.nan, 10
    loss = np.where(np.isnan(accuracy), np.nan, 2.3 * (1.1 - accuracy))
    draws = np.asarray(50.0 * rounds, dtype=np.float64)
    return History(rounds, draws, 2 * draws, loss, accuracy, 0 * loss, diverged)


def comparison(figure: int, finals: dict[str, list[float]], **lost: Any) -> Comparison:
    """Return a comparison with these final accuracies in every row, at every I."""
    local = (16, 128) if figure == 5 else (16,)
    dials = {"data": "digits", "classes": 5}
    case = images.Case("tanh_network", dials, 10, 8, local, (30,) * len(local), 3, (0, 1, 2), 0.85)
    lines = tuple(
        Line(row, name, I, PerEpoch(0.1, 1, 9) if name in (STEM, BORROWED) else Constant(0.1),
             history(finals[name], **lost))
        for row in ROWS for I in local for name in NAMES
    )  # fmt: skip
    return Comparison(figure, "quick", case, "toy images", (130, 40), 1210, lines, MET)


MET = Constants(1.0, 2.0, 3.0, 0.0, 4.0)
FINALS = {
    STEM: [0.90, 0.91, 0.92],
    FEDAVG: [0.80, 0.81, 0.83],
    SCAFFOLD: [0.84, 0.84, 0.84],
    BORROWED: [0.90, 0.905, 0.925],
}


@pytest.mark.parametrize("figure", [2, 5])
@pytest.mark.parametrize("lost", [(1,), (0, 1, 2)], ids=["one lost", "all lost"])
def test_figures_are_drawn_with_runs_missing(figure: int, lost: tuple[int, ...]) -> None:
    entry = figure_entry(f"paper_figure{figure}")
    assert render(entry, comparison(figure, FINALS, lost=lost), "png")


def test_the_caption_says_in_numbers_what_reproduces() -> None:
    text = panels.caption(comparison(2, FINALS))
    assert "STEM (kappa 0.1, cbar 1) 91.00 ± 0.58" in text
    assert "with the paper's step sizes: reproduced (+9.67 ± 0.33 points over FedAvg" in text
    assert "+7.00 ± 0.58 points over SCAFFOLD, paired by seed)" in text
    assert "FedAvg on STEM's own schedule +0.00 ± 0.29 points" in text
    assert "Deviations" in text
    assert "estimates from below, no constants: L 1, sigma 2, zeta 3." in text
    assert "Not claimed" in text
    swapped = panels.caption(comparison(2, {**FINALS, STEM: FINALS[FEDAVG]}))
    assert "with the paper's step sizes: not reproduced" in swapped


def test_a_lead_within_its_interval_is_none() -> None:
    close = {**FINALS, FEDAVG: [0.80, 0.90, 0.99]}
    assert ": not reproduced (" in panels.caption(comparison(2, close))


def test_the_caption_reports_divergence() -> None:
    text = panels.caption(comparison(4, FINALS, lost=(1,)))
    assert "(1 of 3 seeds diverged, first in round 10)" in text
    assert "nan" not in text
    text = panels.caption(comparison(4, FINALS, lost=(0, 1, 2)))
    assert "none (3 of 3 seeds diverged" in text
    assert "not reproduced (not comparable over FedAvg" in text
    assert "nan" not in text


def test_samples_to_a_target() -> None:
    data_of = comparison(5, FINALS)
    text = panels.caption(data_of)
    assert "Samples per worker until 85 per cent" in text
    assert "SCAFFOLD not reached against not reached" in text
    line = data_of.line(PAPER_ROW, STEM)
    # 0.1 + 0.81 r, 0.1 + 0.82 r and so on reach 0.85 at r = 0.93, 0.91 and 0.91: after 30 rounds
    assert images.samples_to(line, 0.85) == 50.0 * 30
    assert images.samples_to(line, 0.5) == 50.0 * 15
    assert images.samples_to(line, 0.99) == math.inf


def test_the_table_holds_every_curve_and_every_seed(tmp_path: Path) -> None:
    data_of = comparison(5, FINALS, lost=(1,))
    text = table(data_of).csv()
    rows = list(csv.DictReader(text.splitlines()))
    assert len(rows) == len(ROWS) * 2 * len(NAMES)
    first = rows[0]
    assert (first["row"], first["algorithm"], first["I"]) == (PAPER_ROW, STEM, "16")
    assert (first["seed0"], first["seed1"], first["seed2"]) == ("0.9", "", "0.92")
    assert float(first["accuracy"]) == pytest.approx(0.91)
    assert first["lost"] == "1"
    assert float(first["samples_to_target"]) == 1500.0  # 0.9 and 0.92 reach 0.85 at the end
    assert rows[2]["samples_to_target"] == ""  # SCAFFOLD never does
    # and the replication report reads the same leads from it
    (tmp_path / "table.csv").write_text(text, encoding="utf-8")
    found = replication.lead(replication.read(tmp_path / "table.csv"), TUNED_ROW, SCAFFOLD, 128)
    stem, rival = (data_of.line(TUNED_ROW, name, 128) for name in (STEM, SCAFFOLD))
    assert found == images.difference(stem, rival)


# -- tuning


def test_the_best_step_is_looked_for_beyond_the_first_ones() -> None:
    for best in (0.01, 0.1, 0.3, 1.0, 10.0):
        seen: list[float] = []

        def loss(rate: float, best: float = best, seen: list[float] = seen) -> float:
            seen.append(rate)
            return abs(math.log(rate / best))

        assert climb(loss, (0.1, 0.3, 1.0)) == pytest.approx(best, rel=0.3)
        assert len(set(seen)) == len(seen)


def test_a_diverged_run_never_wins() -> None:
    assert least({0.1: 2.0, 0.3: math.nan, 1.0: math.inf}) == 0.1
    assert climb(lambda rate: math.nan if rate > 0.2 else 1 / rate, (0.1, 0.3, 1.0)) == 0.1


@pytest.mark.parametrize("b", [8, 64])
def test_the_paper_s_row_stays_in_the_paper_s_ranges(b: int) -> None:
    """Larger kappas and smaller cbars look better here; the first row may take only the latter."""

    def attempt(algorithm: str, schedule: Schedule) -> float:
        eta = float(schedule.eta(1.0))
        cbar = schedule.parameters().get("cbar", 1.0)
        return abs(math.log(eta / 1.9)) + 0.01 * abs(cbar - 3)

    case = comparison(2, FINALS).case._replace(b=b)
    found = tune(case, attempt, 16)
    paper, tuned = found[PAPER_ROW], found[TUNED_ROW]
    assert paper.stem == PerEpoch(0.5 if b == 64 else 0.1, 3.0, 16)
    assert paper.fedavg == paper.scaffold == (0.1 if b == 64 else 0.01)
    assert tuned.stem.kappa > paper.stem.kappa
    assert tuned.stem.cbar == 3.0
    assert tuned.fedavg == tuned.scaffold == pytest.approx(1.9, rel=0.8)
    schedules = images.schedules(tuned)
    assert schedules[BORROWED] is schedules[STEM]


# -- settings and data


def test_full_runs_have_the_paper_s_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(images, "available", lambda name: True)
    sizes = {}
    for figure in FIGURES:
        case = images.case_of(figure, "full")
        d = case.dials
        sizes[figure] = (d["data"], d["layers"], case.K, d["train"], d["test"], d["classes"])
        assert (case.b, case.local) == {
            2: (8, (61,)), 3: (64, (7,)), 4: (8, (61,)), 5: (8, (67, 536))
        }[figure]  # fmt: skip
    assert sizes[2] == sizes[3] == ("cifar10", "cifar", 100, 490, 90, 10)
    assert sizes[4] == ("cifar10", "cifar", 100, 490, 90, 5)
    assert sizes[5] == ("mnist", "mnist", 100, 540, 80, 5)
    monkeypatch.setattr(images, "available", lambda name: name == "fashion-mnist")
    assert images.case_of(5, "full").dials["data"] == "fashion-mnist"
    assert images.case_of(2, "full").dials["layers"] == "mnist"


@pytest.mark.parametrize(("figure", "dim"), [(2, 62_006), (3, 62_006), (4, 62_006), (5, 21_840)])
def test_full_runs_train_the_paper_s_networks(
    figure: int, dim: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On images of the size that the files have: nothing is shrunk on the way."""

    def whole(name: str, folder: object, *, shrink: int) -> data.Images:
        assert (folder, shrink) == (None, 1)
        return toy({"cifar10": (3, 32, 32), "mnist": (1, 28, 28)}[name], n=100)

    monkeypatch.setattr(images, "available", lambda name: True)
    monkeypatch.setattr(image_problem, "load_images", whole)
    case = images.case_of(figure, "full")
    small = case._replace(K=2, dials={**case.dials, "train": 20, "test": 10})
    assert images.problem_of(small).dim == dim


@pytest.mark.parametrize("mode", ["quick", "default", "full"])
def test_missing_data_are_said_before_any_work(
    mode: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(images, "available", lambda name: False)
    monkeypatch.setattr(images, "missing", lambda name: f"data {name} is not here: install it.")
    notes: list[str] = []
    for figure in FIGURES:
        with pytest.raises(UsageError, match=r"install|STEMTHEORY_DATA"):
            draw_figures([f"paper_figure{figure}"], mode=mode, out=tmp_path, progress=notes.append)
    assert notes == []


def test_all_figures_on_images_are_in_the_catalogue() -> None:
    wanted = {f"paper_figure{figure}" for figure in FIGURES} | {"gradient_floor"}
    assert wanted <= set(names("figures"))


@pytest.mark.slow
def test_a_figure_is_computed_and_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The smallest real one: digits, few rounds; the same bytes on a second run."""
    if not data.available("digits"):
        pytest.skip("scikit-learn is not installed")
    small = images.case_of(3, "quick")._replace(rounds=(6,), seeds=(0, 1))
    monkeypatch.setattr(images, "case_of", lambda figure, mode: small)
    files = []
    for folder in ("one", "two"):
        images.compare.cache_clear()
        (drawn,) = draw_figures(["paper_figure3"], mode="quick", out=tmp_path / folder)
        files.append([Path(file).read_bytes() for file in drawn["files"]])
        assert "2 seeds" in drawn["caption"]
    assert files[0] == files[1]
    images.compare.cache_clear()


# -- the floor


def measured(mode: str, missing: bool = False) -> floors.Floors:
    """Return floors that fall with b and rise with eta, one of them missing if asked for."""
    found = {
        s: (s.eta / s.b * (s.a if s.algorithm == "stem" else 1.0), 0.001 * s.eta)
        for s in floors.settings(mode)
    }
    if missing:
        found[next(iter(found))] = (math.nan, math.nan)
    return floors.Floors(mode, 640, 2, found, "toy images", {5: MET})


@pytest.mark.parametrize(("mode", "missing"), [("quick", True), ("default", False)])
def test_floors_are_drawn_and_told(mode: str, missing: bool) -> None:
    floor = measured(mode, missing)
    assert render(floors.ENTRY, floor, "svg")
    text = floors.caption(floor)
    assert "nan" not in text
    assert "L 1, sigma 2, zeta 3 with 5 classes per worker" in text
    assert "(over STEM's at a = 0.03: 33.33 and 33.33 times)" in text


def test_momentum_lowers_the_floor_where_steps_are_synchronised() -> None:
    """Digits, b = I = 1: STEM at a = 0.03 lies below half of FedAvg's floor, at every seed."""
    if not data.available("digits"):
        pytest.skip("scikit-learn is not installed")
    problem = floors._problem(10)
    stem = floors.Setting("stem", a=0.03, eta=0.1)
    low = floors.floor(problem, stem, 600, 2)
    high = floors.floor(problem, stem._replace(algorithm="fedavg"), 600, 2)
    assert low[0] + 3 * low[1] < 0.5 * (high[0] - 3 * high[1])
    assert math.isnan(floors.floor(problem, stem._replace(eta=1e30), 20, 2)[0])


def test_a_full_run_goes_on_from_its_checkpoints(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The second time every training, tuning too, is read from its file: no step is taken again."""
    if not data.available("digits"):
        pytest.skip("scikit-learn is not installed")
    small = images.case_of(3, "quick")._replace(rounds=(3,), seeds=(0,))
    monkeypatch.setattr(images, "case_of", lambda figure, mode: small)
    monkeypatch.setattr(images, "RESULTS", tmp_path)
    notes: list[str] = []
    images.compare.cache_clear()
    first = images.compare(3, "full", notes.append)
    assert any("round 3 of 3" in note for note in notes)
    kept = [path.name for path in (tmp_path / "paper_figure3").iterdir()]
    assert 4 <= sum(name.startswith("digits") for name in kept) <= 8  # rows may share a schedule
    assert sum(name.startswith("tuning-digits") for name in kept) >= 11

    def refuse(*_: Any) -> None:
        raise AssertionError("a step was taken")

    monkeypatch.setattr(_Run, "round", refuse)
    monkeypatch.setattr(images, "_met", lambda *_: MET)  # takes a few steps of its own
    images.compare.cache_clear()
    second = images.compare(3, "full", notes.append)
    for one, other in zip(first.lines, second.lines, strict=True):
        np.testing.assert_array_equal(one.history.loss, other.history.loss)
    images.compare.cache_clear()
