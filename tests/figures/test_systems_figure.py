"""The figure of tuned systems: winners are read off the rows; who never gets there never wins."""

import math
from dataclasses import replace
from pathlib import Path

import pytest
from stemtheory.figures._systems import Row, Systems, systems_of, table

from stemtheory.experiment.design.spec import parse_spec
from stemtheory.experiment.sweep import run_sweep
from stemtheory.figures import systems
from stemtheory.report.drawing import figure_entry, render

NEVER = math.nan


def row(against: str, label: str, x: float, samples: float, rounds: float) -> Row:
    lost = math.isnan(samples)
    eta = None if lost else 0.25
    over = None if lost else 480 / samples
    return Row(
        against, "cosine", label, x, x if against == "epsilon" else 0.05, eta, label == "stem", 1,
        rounds, samples, 2 * rounds, 480.0, over,
    )  # fmt: skip


PLANTED = {
    "fedavg": ((10.0, 5.0), (NEVER, NEVER)),
    "scaffold": ((10.2, 5.1), (40.0, 9.0)),
    "stem": ((30.0, 4.0), (50.0, 8.0)),
    "slowmo": ((90.0, 9.0), (90.0, 9.0)),
}
X = {"zeta": (1, 16), "I": (1, 16), "K": (2, 16), "epsilon": (0.1, 0.05)}


@pytest.fixture(scope="module")
def data() -> Systems:
    rows = tuple(
        row(against, label, x, samples, rounds)
        for against, places in X.items()
        for label, costs in PLANTED.items()
        for x, (samples, rounds) in zip(places, costs, strict=True)
    )
    return Systems(rows, (2.0, 0.5, 0.001), 8)


def test_the_winners_are_those_of_the_rows(data: Systems) -> None:
    assert systems.wins(data, "zeta", "samples") == [
        (1, ["FedAvg", "SCAFFOLD"]),
        (16, ["SCAFFOLD"]),
    ]
    assert systems.wins(data, "zeta", "rounds") == [(1, ["STEM"]), (16, ["STEM"])]


def test_who_never_gets_there_is_rejected_as_a_winner(data: Systems) -> None:
    """The mutant takes a missing cost for 0: FedAvg would win where it fails."""
    rows = tuple(r._replace(samples=0.0) if math.isnan(r.samples) else r for r in data.rows)
    lines = [data.series("zeta", "cosine", x, 0.05) for x in data.labels()]
    assert [r.label for r in systems.best_rows(lines, "samples")] == ["fedavg", "scaffold"]
    zeros = replace(data, rows=rows)
    lines = [zeros.series("zeta", "cosine", x, 0.05) for x in zeros.labels()]
    assert [r.label for r in systems.best_rows(lines, "samples")] == ["fedavg", "scaffold"]
    naive = [min((r for r in rows if (r.against, r.x) == ("zeta", x)), key=lambda r: r.samples)
             for x in (1, 16)]  # fmt: skip
    assert [r.label for r in naive] == ["fedavg", "fedavg"]


def test_the_caption_says_who_wins_who_fails_and_what_tuning_cost(data: Systems) -> None:
    text = systems.caption(data)
    assert "samples over zeta: FedAvg = SCAFFOLD at 1, SCAFFOLD at 16" in text
    assert "FedAvg at zeta = 16 and I = 16 and K = 16 and epsilon = 0.05" in text
    assert "8 of 28 winners" in text
    assert "12 times the samples" in text  # the median of 480/samples
    assert "Not claimed" in text


def test_the_table_has_a_dash_where_nobody_gets_there(data: Systems) -> None:
    lines = {(r[0], r[2], r[3]): r for r in table(data).rows}
    assert lines["zeta", "FedAvg", 16][5:10] == (None, None, None, None, "none")
    assert lines["zeta", "STEM", 1][9] == "edge"
    assert lines["zeta", "SCAFFOLD", 16][5:10] == (0.25, 9.0, 40.0, 18.0, "inside")
    assert lines["zeta", "FedAvg", 16][-1] is None


def test_it_draws_the_same_bytes_and_every_known_system(data: Systems) -> None:
    entry = figure_entry("systems")
    image = render(entry, data, "svg")
    assert image == render(entry, data, "svg")
    text = image.decode()
    assert "others, in the table" in text
    for name in ("FedAvg", "SCAFFOLD", "STEM"):
        assert name in text


def test_rows_come_from_a_sweep(tmp_path: Path) -> None:
    text = """
    [settings]
    problem = "quadratic"
    K = 2
    dim = 2
    T = 64
    I = 4
    b = 1
    replicates = 2
    record = 20
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
    schedule_options.eta = [0.5, 0.25]
    [grids.law_local]
    algorithms = ["scaffold"]
    epsilon = 0.2
    schedule_options.eta = [0.5]
    """
    found = run_sweep(parse_spec(text, "s"), store=tmp_path / "s.sqlite")
    data = systems_of(found)
    assert [(r.against, r.label, r.x) for r in data.rows] == [
        ("zeta", "scaffold", 1),
        ("zeta", "scaffold", 2),
        ("I", "minibatch-sgd", 4),
    ]
    assert (data.steps, data.replicates, data.epsilon()) == ((0.5, 0.25), 2, 0.2)
    best = data.rows[0]
    assert best.vectors == pytest.approx(4 * best.rounds)  # two each way
    assert best.spent == 2 * 64
