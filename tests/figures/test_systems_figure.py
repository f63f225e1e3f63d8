"""The figure of tuned systems: winners are read off the rows; who never gets there never wins."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stemtheory import load_problem, simulate
from stemtheory.experiment.design.spec import parse_spec
from stemtheory.experiment.sweep import SweepResult, run_sweep
from stemtheory.figures import systems, systems_all
from stemtheory.report.drawing import picture
from stemtheory.report.figure_table import FigureTable
from tests.figures.columns import (
    Held,
    changed,
    drawn,
    look_faults,
    panel_faults,
    places,
    print_faults,
    survivors,
)

NEVER = math.nan


def row(against: str, system: str, x: float, samples: float, rounds: float) -> dict[str, Any]:
    lost = math.isnan(samples)
    at = {"zeta": 4.0, "bI": 4.0, "K": 4.0, "epsilon": 0.05} | {against: x}
    costs = {"rounds": rounds, "samples": samples, "vectors": 2 * rounds}
    who = {"against": against, "problem": "cosine", "system": system}
    tuning = {"at_edge": system == "stem" and not lost, "diverged_steps": 1}
    return {**who, **at, **costs, "eta": NEVER if lost else 0.25, **tuning,
            "samples_of_all_steps": 480.0}  # fmt: skip


PLANTED = {
    "fedavg": ((10.0, 5.0), (NEVER, NEVER)),
    "scaffold": ((10.2, 5.1), (40.0, 9.0)),
    "stem": ((30.0, 4.0), (50.0, 8.0)),
    "slowmo": ((90.0, 9.0), (90.0, 9.0)),
}
X = {"zeta": (1, 16), "bI": (1, 16), "K": (2, 16), "epsilon": (0.1, 0.05)}


@pytest.fixture(scope="module")
def data() -> FigureTable:
    parts = [
        row(against, system, x, samples, rounds)
        for against, places in X.items()
        for system, costs in PLANTED.items()
        for x, (samples, rounds) in zip(places, costs, strict=True)
    ]
    return FigureTable.of(systems.COLUMNS, parts, steps=(2.0, 0.5, 0.001), replicates=8)


def test_the_winners_are_those_of_the_rows(data: FigureTable) -> None:
    assert systems.wins(data, "zeta", "samples") == [
        (1, ["FedAvg", "SCAFFOLD"]),
        (16, ["SCAFFOLD"]),
    ]
    assert systems.wins(data, "zeta", "rounds") == [(1, ["STEM"]), (16, ["STEM"])]


def test_who_never_gets_there_is_rejected_as_a_winner(data: FigureTable) -> None:
    """The mutant takes a missing cost for 0: FedAvg would win where it fails."""
    zeros = changed(data, samples=data.frame["samples"].fillna(0.0))
    for one in (data, zeros):
        rows = systems.rows_of(one, "zeta")
        best = systems.best_rows(rows, "zeta", "samples")
        assert best.frame["system"].tolist() == ["fedavg", "scaffold"]
    naive = zeros.where(against="zeta").frame.sort_values("samples").groupby("zeta").first()
    assert naive["system"].tolist() == ["fedavg", "fedavg"]


def test_the_caption_says_who_wins_who_fails_and_what_tuning_cost(data: FigureTable) -> None:
    text = systems.caption_all(data)
    assert "samples over zeta: FedAvg = SCAFFOLD at 1, SCAFFOLD at 16" in text
    assert "FedAvg at zeta = 16 and I = 16 and K = 16 and epsilon = 0.05" in text
    assert "8 of 28 winners" in text
    assert "12 times the samples" in text  # the median of 480/samples
    assert "Not claimed" in text


def test_the_one_panel_is_rounds_over_zeta_and_says_so(data: FigureTable) -> None:
    text = systems.caption(data)
    assert "within 5 % of it: STEM at 1 to 16" in text
    assert "(FedAvg at zeta = 16)" in text
    assert "Not claimed" in text
    (ax,) = drawn(systems.ENTRY, data)
    assert ax.get_ylabel() == "rounds"
    assert places(ax)[-1].tolist() == [[1.0, 4.0], [16.0, 8.0]]


def test_the_table_has_a_dash_where_nobody_gets_there(data: FigureTable) -> None:
    lines = {(r[0], r[2], r[3]): r for r in systems.view(data).rows}
    assert lines["zeta", "FedAvg", 16][5:10] == (None, None, None, None, "none")
    assert lines["zeta", "STEM", 1][9] == "edge"
    assert lines["zeta", "SCAFFOLD", 16][5:10] == (0.25, 9.0, 40.0, 18.0, "inside")
    assert lines["zeta", "FedAvg", 16][-1] is None


def test_it_draws_the_same_bytes_and_every_known_system(data: FigureTable) -> None:
    image = picture(systems.ENTRY, data, "svg")
    assert image == picture(systems.ENTRY, data, "svg")
    text = image.decode()
    assert "others, in the table" in text
    for name in ("FedAvg", "SCAFFOLD", "STEM"):
        assert name in text


def test_axes_show_the_columns_that_they_name(data: FigureTable) -> None:
    for entry in (systems.ENTRY, systems_all.ENTRY):
        axes = drawn(entry, data)
        assert panel_faults(data, axes) == []
        assert look_faults(axes) == []
        assert print_faults(entry, data) == []
    rings = {tuple(p) for ax in axes[::3] for p in places(ax)[-1].tolist()}
    assert (16.0, 8.0) in rings  # STEM has the fewest rounds there


TEXT = """
    [settings]
    problem = "quadratic"
    K = 2
    dim = 2
    T = 64
    I = 4
    b = 1
    replicates = 2
    record = 64
    schedule = "coupled"
    [algorithms.minibatch-sgd]
    algorithm = "fedavg"
    I = 1
    [algorithms.scaffold]
    [grids.zeta]
    algorithms = ["scaffold"]
    zeta = [1, 2]
    epsilon = 0.2
    schedule_options.eta = [0.5, 0.25]
    [grids.steps_batch]
    algorithms = ["minibatch-sgd"]
    b = 4
    epsilon = 0.2
    schedule_options.eta = [1e6, 0.5, 0.25, 1e-6]
    [grids.law_local]
    algorithms = ["scaffold"]
    epsilon = 0.2
    schedule_options.eta = [0.5]
    """


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> SweepResult:
    folder: Path = tmp_path_factory.mktemp("systems")
    return run_sweep(parse_spec(TEXT, "s"), store=folder / "s.sqlite")


def by_hand(
    algorithm: str, zeta: float, b: float, I: int, eta: float, replicate: int
) -> list[float]:
    """Return samples, rounds and vectors of one worker until 0.2, and samples of the whole run.

    Of two replicates the first chooses the step, and the second is measured.
    """
    problem = load_problem("quadratic", K=2, dim=2, zeta=zeta)
    run = simulate(problem, algorithm, T=64, b=b, I=I, replicates=2, seed=0, schedule="coupled",
                   schedule_options={"eta": eta}, record_every=1)  # fmt: skip
    average = run.running[:, replicate]
    i = np.flatnonzero(~(average <= 0.2))[-1]
    if i + 1 == len(average):
        return [math.inf] * 3 + [run.counts.samples_per_worker]
    share = math.log(average[i] / 0.2) / math.log(average[i] / average[i + 1])
    T = run.times[i] * (run.times[i + 1] / run.times[i]) ** share
    counts = run.counts
    vectors = counts.vectors_up + counts.vectors_down
    until = [T / 64 * of for of in (counts.samples_per_worker, counts.rounds, vectors)]
    return [*until, counts.samples_per_worker]


def system_faults(t: FigureTable) -> list[str]:
    held = Held()
    rows = t.records()
    who = [(r["against"], r["problem"], r["system"]) for r in rows]
    held.true("rows", who == [("zeta", "quadratic", "scaffold")] * 2
              + [("bI", "quadratic", "minibatch-sgd")])  # fmt: skip
    for r, (algorithm, zeta, b, I) in zip(rows, (("scaffold", 1.0, 1, 4), ("scaffold", 2.0, 1, 4),
                                                 ("fedavg", 1.0, 4, 1)), strict=True):  # fmt: skip
        tried = (0.5, 0.25) if algorithm == "scaffold" else (1e6, 0.5, 0.25, 1e-6)
        first, costs = (
            {eta: by_hand(algorithm, zeta, b, I, eta, replicate) for eta in tried}
            for replicate in (0, 1)
        )
        best = min(tried, key=lambda eta: first[eta][0])
        held.same("at", [r["zeta"], r["bI"], r["K"], r["epsilon"]], [zeta, b * I, 2, 0.2])
        held.same("eta", r["eta"], best)
        held.same("costs", [r["samples"], r["rounds"], r["vectors"]], costs[best][:3], 0.02)
        held.true("edge", r["at_edge"] == (best in (min(tried), max(tried))))
        held.same("spent", r["samples_of_all_steps"], sum(c[3] for c in costs.values()))
        held.same("diverged", r["diverged_steps"], sum(eta > 1 for eta in tried))
    return held.found


def test_every_column_is_what_it_says(found: SweepResult) -> None:
    assert system_faults(systems.table_of(found)) == []


def test_a_wrong_column_is_rejected(found: SweepResult) -> None:
    assert survivors(systems.table_of(found), system_faults) == []


def test_facts_come_from_the_sweep(found: SweepResult) -> None:
    data = systems.table_of(found)
    assert (data.facts["steps"], data.facts["replicates"]) == ((1e6, 0.5, 0.25, 1e-6), 2)
    assert systems.least_epsilon(data) == 0.2
