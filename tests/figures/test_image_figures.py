"""The figures on images: settings, tuning, captions in numbers, every column, runs missing."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from docs.build import replication
from stemtheory.figures import _image_panels as panels
from stemtheory.figures import _images as images
from stemtheory.figures import gradient_floor as floors
from stemtheory.figures._image_table import (
    BORROWED,
    FEDAVG,
    NAMES,
    SCAFFOLD,
    STEM,
    ImageCase,
    Trained,
    ends,
    finals,
    samples_to,
    table_of,
    view,
)
from stemtheory.figures._images import PAPER_ROW, ROWS, TUNED_ROW, climb, least, tune
from stemtheory.images import data_sets as data
from stemtheory.images import problem as image_problem
from stemtheory.images.over_seeds import over_seeds
from stemtheory.images.training import History, PerEpoch, _Run
from stemtheory.oracles.catalogue import names
from stemtheory.oracles.problem import Constants
from stemtheory.report.drawing import draw_figures, figure_entry, picture
from stemtheory.report.figure_table import FigureTable
from stemtheory.runtime.errors import UsageError
from stemtheory.schedules import Constant, Schedule
from tests.figures.columns import (
    Held,
    bar_faults,
    drawn,
    look_faults,
    panel_faults,
    print_faults,
    survivors,
)
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


CASE = ImageCase("tanh_network", {"data": "digits", "classes": 5}, 10, 8, (16,), (30,), 3,
                 (0, 1, 2), 0.85)  # fmt: skip
MET = (1.0, 2.0, 3.0)


def comparison(figure: int, finals: dict[str, list[float]], **lost: Any) -> FigureTable:
    """Return a comparison with these final accuracies in every row, at every I."""
    local = (16, 128) if figure == 5 else (16,)
    case = CASE._replace(local=local, rounds=(30,) * len(local))
    curves = [
        Trained(row, name, I, PerEpoch(0.1, 1, 9) if name in (STEM, BORROWED) else Constant(0.1),
                history(finals[name], **lost))
        for row in ROWS for I in local for name in NAMES
    ]  # fmt: skip
    images_of = {"note": "toy images", "train": 130, "test": 40, "dim": 1210}
    return table_of(curves, case, figure=figure, mode="quick", met=MET, **images_of)


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
    assert picture(entry, comparison(figure, FINALS, lost=lost), "png")


# -- every column


def column_faults(t: FigureTable) -> list[str]:
    """Hold every column against the planted histories, seed 1 of each lost in round 10."""
    held, r = Held(), np.arange(0, 31, 3)
    for (row, name, I), rows in t.groups("row", "algorithm", "I"):
        held.true("row, I", row in ROWS and I in (16, 128))
        steps = "kappa 0.1, cbar 1" if name in (STEM, BORROWED) else "step 0.1"
        held.true("steps", set(rows.frame["steps"]) == {steps})
        held.same("rounds", rows["rounds"], r)
        held.same("samples", rows["samples"], 50 * r)
        held.same("gradients", rows["gradients"], 100 * r)
        each = np.array([0.1 + r / 30 * (final - 0.1) for final in FINALS[str(name)]])
        each[1, 4:] = np.nan
        for seed in range(3):
            held.same("seed", rows[f"seed{seed}"], each[seed])
        for of, values in (("accuracy", each), ("loss", 2.3 * (1.1 - each))):
            held.same(of, rows[of], np.nanmean(values, axis=0))
            held.same(f"{of}_low", rows[f"{of}_low"], np.nanmin(values, axis=0))
            held.same(f"{of}_high", rows[f"{of}_high"], np.nanmax(values, axis=0))
            n = np.isfinite(values).sum(axis=0)
            error = np.nanstd(values, axis=0, ddof=1) / np.sqrt(n)  # of the mean, not of a seed
            held.same(f"{of}_error", rows[f"{of}_error"][1:], error[1:], 1e-6)
        held.same("lost", rows["lost"], np.ones(11))
        held.same("first_lost", rows["first_lost"], np.full(11, 10))
        times = [50 * r[np.argmax(a >= 0.85)] if np.nanmax(a) >= 0.85 else math.inf for a in each]
        middle = sorted(times)[1]
        held.same("target", rows["samples_to_target"][0], middle if middle < math.inf else math.nan)
        held.same("target", rows["samples_to_target"][-1], rows["samples_to_target"][0])
    held.true("curves", len(t) == 2 * 2 * 4 * 11)
    return held.found


@pytest.mark.parametrize("figure", [2, 5])
def test_axes_show_the_columns_that_they_name(figure: int) -> None:
    t = comparison(figure, FINALS, lost=(1,))
    entry = figure_entry(f"paper_figure{figure}")
    axes = drawn(entry, t)
    assert panel_faults(t, axes) == []
    assert look_faults(axes) == []
    assert print_faults(entry, t) == []
    first = "samples per worker" if figure == 5 else "communication rounds"
    assert [ax.get_xlabel() for ax in axes[:3]] == [
        first, "samples per worker", "gradients per worker"
    ]  # fmt: skip
    assert [ax.get_ylabel() for ax in axes[:3]] == ["training loss", *["test accuracy"] * 2]


def test_every_column_is_what_it_says() -> None:
    assert column_faults(comparison(5, FINALS, lost=(1,))) == []


def test_a_wrong_column_is_rejected() -> None:
    assert survivors(comparison(5, FINALS, lost=(1,)), column_faults) == []


# -- captions


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
    # 0.1 + 0.81 r, 0.1 + 0.82 r and so on reach 0.85 at r = 0.93, 0.91 and 0.91: after 30 rounds
    stem = history(FINALS[STEM])
    assert samples_to(stem, 0.85) == 50.0 * 30
    assert samples_to(stem, 0.5) == 50.0 * 15
    assert math.isnan(samples_to(stem, 0.99))


def test_the_table_holds_every_curve_and_every_seed(tmp_path: Path) -> None:
    data_of = comparison(5, FINALS, lost=(1,))
    rows = view(data_of).rows
    assert len(rows) == len(ROWS) * 2 * len(NAMES)
    columns = [column.name for column in view(data_of).columns]
    first = dict(zip(columns, rows[0], strict=True))
    assert (first["row"], first["algorithm"], first["I"]) == (PAPER_ROW, STEM, 16)
    assert (first["seed0"], first["seed1"], first["seed2"]) == (0.9, None, 0.92)
    assert first["accuracy"] == pytest.approx(0.91)
    assert first["lost"] == 1
    assert first["samples_to_target"] == 1500.0  # 0.9 and 0.92 reach 0.85 at the end
    assert dict(zip(columns, rows[2], strict=True))["samples_to_target"] is None  # SCAFFOLD
    # and the replication report reads the same leads from the file, the last row of every curve
    (tmp_path / "table.csv").write_text(data_of.csv(), encoding="utf-8")
    found = replication.read(tmp_path / "table.csv")
    stem, rival = (finals(data_of, TUNED_ROW, name, 128) for name in (STEM, SCAFFOLD))
    assert replication.lead(found, TUNED_ROW, SCAFFOLD, 128) == over_seeds(stem - rival)
    assert found[PAPER_ROW, STEM, 16]["lost"] == "1"
    assert ends(data_of, PAPER_ROW, STEM, 16)["rounds"] == 30


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

    case = CASE._replace(b=b)
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
        (drawn,) = draw_figures(["paper_figure3"], mode="quick", out=tmp_path / folder)
        files.append([Path(file).read_bytes() for file in drawn["files"]])
        assert "2 seeds" in drawn["caption"]
    assert files[0] == files[1]


# -- the floor


def measured(mode: str, missing: bool = False) -> FigureTable:
    """Return floors that fall with b and rise with eta, one of them missing if asked for."""
    found = [
        (s, s.eta / s.b * (s.a if s.algorithm == "stem" else 1.0), 0.001 * s.eta)
        for s in dict.fromkeys(floors.settings(mode))
    ]
    if missing:
        found[0] = (found[0][0], math.nan, math.nan)
    facts: dict[str, Any] = {"T": 640, "seeds": 2, "note": "toy images"}
    met = {5: Constants(1.0, 2.0, 3.0, 0.0, 4.0)}
    return floors.table_of(found, mode=mode, met=met, **facts)


@pytest.mark.parametrize(("mode", "missing"), [("quick", True), ("default", False)])
def test_floors_are_drawn_and_told(mode: str, missing: bool) -> None:
    floor = measured(mode, missing)
    assert picture(floors.ENTRY, floor, "svg")
    text = floors.caption(floor)
    assert "nan" not in text
    assert "L 1, sigma 2, zeta 3 with 5 classes per worker" in text
    assert "(over STEM's at a = 0.03: 33.33 and 33.33 times)" in text


def floor_faults(t: FigureTable) -> list[str]:
    held = Held()
    a = np.where(t.frame["algorithm"] == "stem", t["a"], 1.0)
    held.same("floor", t["floor"], t["eta"] / t["b"] * a)
    held.same("error", t["error"], 0.001 * t["eta"])
    held.same("floor_low", t["floor"] - t["floor_low"], 2 * t["error"])
    held.same("floor_high", t["floor_high"] - t["floor"], 2 * t["error"])
    key = ("algorithm", "a", "eta", "b", "I", "classes")
    rows = {tuple(r[name] for name in key) for r in t.records()}
    held.true("settings", rows == {
        ("stem", a, 0.03, *base) for a in (0.03, 0.1, 1.0) for base in ((1, 1, 10), (4, 8, 10),
                                                                      (4, 32, 5))
    } | {(name, 1.0, 0.03, *base) for name in ("fedavg", "scaffold")
         for base in ((1, 1, 10), (4, 8, 10), (4, 32, 5))} | others())  # fmt: skip
    return held.found


def others() -> set[tuple[Any, ...]]:
    """Return the settings of panels b to f in quick mode."""
    places = [(eta, 1, 1, 10) for eta in (0.03, 0.1)] + [(eta, 4, 32, 5) for eta in (0.03, 0.1)]
    places += [(0.03, b, 8, 10) for b in (1, 16)] + [(0.03, 4, I, 10) for I in (8, 32)]
    places += [(0.03, 4, 32, classes) for classes in (5, 10)]
    found = set()
    for eta, b, I, classes in places:
        for name, a in (("stem", 0.03), ("stem", 0.1), ("fedavg", 1.0), ("scaffold", 1.0)):
            found.add((name, a, eta, b, I, classes))
        found.add(("fedavg", 1.0, eta, 2 * b, I, classes))
    return found


def test_every_column_of_the_floors_is_what_it_says() -> None:
    assert floor_faults(measured("quick")) == []


def test_a_wrong_column_of_the_floors_is_rejected() -> None:
    assert survivors(measured("quick"), floor_faults) == []


def test_axes_show_the_columns_of_the_floors() -> None:
    t = measured("quick")
    axes = drawn(floors.ENTRY, t)
    assert panel_faults(t, axes) == []
    assert look_faults(axes) == []
    assert print_faults(floors.ENTRY, t) == []
    assert bar_faults(t, axes) == []
    labels = [ax.get_xlabel() for ax in axes]
    assert labels[:3] == ["momentum $a$", "step $\\eta$", "step $\\eta$"]


def test_momentum_lowers_the_floor_where_steps_are_synchronised() -> None:
    """Digits, b = I = 1: STEM at a = 0.03 lies below half of FedAvg's floor, at every seed."""
    if not data.available("digits"):
        pytest.skip("scikit-learn is not installed")
    problem = floors.problem_of(10)
    stem = floors.FloorSetting("stem", a=0.03, eta=0.1)
    low = floors.floor(problem, stem, 600, 2)
    high = floors.floor(problem, stem._replace(algorithm="fedavg"), 600, 2)
    assert low[0] + 3 * low[1] < 0.5 * (high[0] - 3 * high[1])
    assert math.isnan(floors.floor(problem, stem._replace(eta=1e30), 20, 2)[0])


def test_a_floor_is_the_mean_of_the_second_half_and_its_standard_error() -> None:
    """By hand from a training of the same settings: 20 of 40 looks, two seeds."""
    if not data.available("digits"):
        pytest.skip("scikit-learn is not installed")
    problem, setting = floors.problem_of(10), floors.FloorSetting("fedavg", b=4, I=2)
    run = floors.Training("fedavg", Constant(0.03, 1.0), 80, 2, 4, (0, 1), every=2, gradient=True)
    looks = floors.train(problem, run, threads=1)
    late = looks.grad_sq[:, looks.rounds > 40].mean(axis=1)
    assert (looks.rounds > 40).sum() == 20
    mean, error = floors.floor(problem, setting, 160, 2)
    assert mean == pytest.approx(late.sum() / 2)
    assert error == pytest.approx(abs(late[0] - late[1]) / 2)  # std(ddof=1)/sqrt(2)


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
    first = images.compare(3, "full", notes.append)
    assert any("round 3 of 3" in note for note in notes)
    kept = [path.name for path in (tmp_path / "paper_figure3").iterdir()]
    assert 4 <= sum(name.startswith("digits") for name in kept) <= 8  # rows may share a schedule
    assert sum(name.startswith("tuning-digits") for name in kept) >= 11

    def refuse(*_: Any) -> None:
        raise AssertionError("a step was taken")

    monkeypatch.setattr(_Run, "round", refuse)
    monkeypatch.setattr(images, "constants_met", lambda *_: MET)  # takes a few steps of its own
    second = images.compare(3, "full", notes.append)
    np.testing.assert_array_equal(first["loss"], second["loss"])
