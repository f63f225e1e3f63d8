"""Options of algorithms in a sweep: part of a cell's identity, checked with key and line, and used.

A crossed zip, a sweep that may diverge, and coupled momentum are here too: the sweep of systems
needs them.
"""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stemtheory import load_problem, simulate
from stemtheory.algorithms import ALGORITHMS
from stemtheory.algorithms.entry import Facts
from stemtheory.cli.app import main
from stemtheory.experiment.design.cells import Cell
from stemtheory.experiment.design.points import Machine, Point, points
from stemtheory.experiment.design.spec import MODES, load_spec, parse_spec
from stemtheory.experiment.execute.work import run_cell
from stemtheory.experiment.fits.targets import targets
from stemtheory.experiment.store import tables
from stemtheory.report import report_sweeps
from stemtheory.runtime.errors import UsageError
from stemtheory.simulator.sizes import resolve_schedule, resolve_sizes
from tests.experiment.sweeps import other

HOST = Machine("numpy")
HEAD = "[settings]\nK = 2\ndim = 2\nT = 24\nb = 1\nI = 4\nreplicates = 2\n"


def expand(text: str) -> list[Point]:
    return list(points(parse_spec(HEAD + text, "test"), HOST))


def one(options: str, name: str = "scaffold") -> Cell:
    given = f"algorithm_options = {{ {options} }}\n" if options else ""
    (point,) = expand(f"[algorithms.{name}]\n{given}[grids.g]\n")
    return point.cell


def test_an_option_makes_another_cell_and_its_default_does_not() -> None:
    plain, default, other = (one(o) for o in ("", 'option = "II"', 'option = "I"'))
    assert default == plain
    assert '{"name":"scaffold","options":{}}' in plain.text
    assert other.id != plain.id
    assert '{"name":"scaffold","options":{"option":"I"}}' in other.text
    assert one("participation = 1").id == plain.id
    assert len({one(f"participation = {x}").id for x in (0.5, 0.75, 1)}) == 3


def test_an_identity_without_options_is_rejected() -> None:
    """The mutant drops them from the text: two runs with other numbers become one cell."""
    cells = [one('option = "I"'), one("")]
    mutants = [other(c, algorithm=replace(c.run.algorithm, options=())) for c in cells]
    assert len({c.id for c in cells}) == 2
    assert len({c.id for c in mutants}) == 1
    numbers = [run_cell(c).facts["samples_per_worker"] for c in cells]
    assert numbers == [48, 24]


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("scaffold", {"option": "I", "server_step": 0.5}),
        ("fedprox", {"mu": 0.7}),
        ("fedpd", {"oracle": "II", "skip": 0.5}),
        ("fedavg", {"participation": 0.5}),
        ("fedglomo", {"compression": "quantise", "levels": 2}),
    ],
)
def test_a_cell_runs_with_its_options(name: str, options: dict[str, Any]) -> None:
    shown = ", ".join(
        f'{k} = "{v}"' if isinstance(v, str) else f"{k} = {v}" for k, v in options.items()
    )
    found = run_cell(one(shown, name))
    trace = simulate(
        load_problem("cosine", K=2, dim=2), name, algorithm_options=options,
        T=24, b=1, I=4, replicates=2, backend="numpy", engine="array",
    )  # fmt: skip
    assert found.status == "ok"
    assert found.grad_sq.tobytes() == trace.grad_sq.tobytes()
    assert found.grad_sq.tobytes() != run_cell(one("", name)).grad_sq.tobytes()


def test_options_are_axes_of_a_grid_and_columns_of_a_table() -> None:
    found = expand("[algorithms.fedprox]\n[grids.g]\nalgorithm_options.mu = [0.1, 0.5]\n")
    records = tables.point_records(found, {})
    assert [r["algorithm_options.mu"] for r in records] == [0.1, 0.5]  # 0.1 is the default
    plain = tables.point_records(expand("[algorithms.fedprox]\n[grids.g]\n"), {})
    assert "algorithm_options.mu" not in plain[0]


def test_minibatch_sgd_with_an_option_is_still_fedavg() -> None:
    text = "[algorithms.{}]\nI = 1\nalgorithm_options = {{ participation = 0.5 }}\n[grids.g]\n"
    entries = ALGORITHMS["minibatch-sgd"].options, ALGORITHMS["fedavg"].options
    assert set(entries[0]) == set(entries[1])
    cells = [expand(text.format(name))[0].cell for name in ("minibatch-sgd", "fedavg")]
    assert cells[0].id == cells[1].id


MISTAKES = {
    "unknown": ("[algorithms.scaffold.algorithm_options]\nmu = 1\n", 9, "unknown for scaffold"),
    "value": ('[algorithms.scaffold]\nalgorithm_options = { option = "III" }\n', 9, "III"),
    "share": ("[algorithms.fedavg.algorithm_options]\nparticipation = 2\n", 9, "share"),
    "grid": ("[algorithms.fedprox]\n[grids.g]\nalgorithm_options.mu = [0.1, -1]\n", 10, "-1"),
    "other label": (
        "[algorithms.fedprox]\n[algorithms.stem]\n[grids.g]\nalgorithm_options.mu = 1\n",
        11,
        "unknown for stem",
    ),
}


@pytest.mark.parametrize(("text", "line", "hint"), MISTAKES.values(), ids=MISTAKES)
def test_a_wrong_option_is_named_with_key_and_line(text: str, line: int, hint: str) -> None:
    body = text if "[grids" in text else f"{text}[grids.g]\n"
    with pytest.raises(UsageError) as caught:
        expand(body)
    said = str(caught.value)
    assert f"test.toml, line {line}: " in said
    assert "algorithm_options." in said
    assert hint in said


def test_an_option_for_all_must_be_one_of_all() -> None:
    text = HEAD + "algorithm_options = { mu = 1 }\n[algorithms.fedprox]\n[algorithms.fedavg]\n"
    with pytest.raises(UsageError, match=r"line 8: settings\.algorithm_options\.mu.*fedavg"):
        parse_spec(text + "[grids.g]\n", "test")


def test_a_crossed_zip() -> None:
    text = '[grids.g]\nkind = "zip"\ncross = ["seed"]\nb = [1, 2]\nT = [8, 16]\nseed = [3, 4, 5]\n'
    spec = parse_spec(HEAD + text, "test")
    found = list(points(spec, HOST))
    assert len(found) == len(spec.grids[0]) == 6
    assert [(p.cell.b, p.cell.T, p.cell.run.seed) for p in found] == [
        (b, T, seed) for b, T in ((1, 8), (2, 16)) for seed in (3, 4, 5)
    ]


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ('kind = "zip"\ncross = ["bb"]\nb = [1, 2]\n', "list of axes of this grid: b"),
        ('cross = ["b"]\nb = [1, 2]\n', "is for a zip"),
        ('kind = "zip"\ncross = ["b"]\nb = [1, 2]\nT = [8, 16, 32]\nI = [1, 2]\n', "3 values"),
    ],
)
def test_a_wrong_cross_is_named(text: str, hint: str) -> None:
    with pytest.raises(UsageError, match=r"line \d+: grids\.g\.") as caught:
        expand(f"[grids.g]\n{text}")
    assert hint in str(caught.value)


SEARCH = (
    'may_diverge = {}\n[settings]\nproblem = "quadratic"\nK = 2\ndim = 2\nT = 400\nreplicates = 2\n'
    'schedule = "coupled"\n[grids.g]\nschedule_options.eta = [0.1, 1e3]\n'
)


@pytest.mark.parametrize(("may", "code"), [("true", 0), ("false", 1)])
def test_a_search_may_diverge_where_it_says_so(may: str, code: int, tmp_path: Path) -> None:
    file = tmp_path / "s.toml"
    file.write_text(SEARCH.format(may), encoding="utf-8")
    assert main(["sweep", str(file), "--store", str(tmp_path / "s.sqlite")]) == code
    result = {"name": "s", "cells_failed": 0, "cells_diverged": 1, "may_diverge": may == "true"}
    assert bool(report_sweeps.unexpected([result])) == bool(code)
    assert report_sweeps.unexpected([result | {"cells_failed": 1}])


def test_coupled_momentum_is_the_theory_s() -> None:
    """a = min(1, scale c eta^2): at its own step every theory gives its own momentum again."""
    for name in ("stem", "mimemvr", "fedglomo"):
        sizes = resolve_sizes(name, 4, 2.0, T=10**6, b=2, I=3)
        own = resolve_schedule(name, "theorem", sizes, 2.0, 0.5, {})
        eta, a = float(own.eta(1)), float(own.momentum(2))
        assert a < 1
        found = resolve_schedule(name, "coupled", sizes, 2.0, 0.5, {"eta": eta})
        assert (float(found.eta(7)), float(found.momentum(7))) == pytest.approx((eta, a), rel=1e-12)
        less = resolve_schedule(name, "coupled", sizes, 2.0, 0.5, {"eta": eta, "scale": 0.25})
        assert float(less.momentum(7)) == pytest.approx(a / 4, rel=1e-12)
        most = resolve_schedule(name, "coupled", sizes, 2.0, 0.5, {"eta": 50.0})
        assert float(most.momentum(7)) == 1
    facts = Facts(100, 4, 2, 3, 2.0, 0.5)
    coupling = ALGORITHMS["mimemvr"].coupling
    assert coupling is not None
    assert coupling(facts, {"server_step": 0.5}) == pytest.approx(8 * (2 * 3 * 0.5) ** 2)


@pytest.mark.parametrize(
    ("name", "schedule", "options", "words"),
    [
        ("scaffold", "constant", {"a": 1}, ("'a'", "scaffold")),
        ("scaffold", "practical", {"kappa": 1}, ("'kappa'", "scaffold", "give calibrated")),
        ("mimemvr", "theorem", {"eta": 0.1}, ("'eta'", "mimemvr")),
        ("mimemvr", "constant", {"eta": 0.1}, ("needs a", "mimemvr")),
        ("fedprox", "coupled", {}, ("needs eta", "fedprox")),
        ("fedprox", "coupled", {"eta": 1, "scale": 2}, ("'scale'", "fedprox")),
        ("stem", "coupled", {"eta": "x"}, ("'eta'", "finite")),
    ],
)
def test_a_wrong_schedule_option_is_named_with_its_algorithm(
    name: str, schedule: str, options: dict[str, Any], words: tuple[str, ...]
) -> None:
    sizes = resolve_sizes(name, 4, 1.0, T=64)
    with pytest.raises(UsageError) as caught:
        resolve_schedule(name, schedule, sizes, 1.0, 0.5, options)
    assert [word for word in words if word not in str(caught.value)] == []


def test_a_record_serves_every_T_only_where_steps_do_not_depend_on_it() -> None:
    """MimeMVR's theory looks at T: its record is no M(T). The mutant took it for STEM's."""
    text = '[algorithms.mimemvr]\n[grids.g]\nrecord = 30\nepsilon = 0.1\nschedule = "{}"\n{}\n'
    for schedule, options, serves in (
        ("theorem", "", False),
        ("coupled", "schedule_options.eta = 0.2", True),
    ):
        found = expand(text.format(schedule, options))
        result = run_cell(found[0].cell)
        (target,) = targets(found, {result.id: result})
        assert (target.status == "reached") == serves
    # what a recorded run costs at its end is what was counted
    (last,) = targets([replace(found[0], epsilon=float(np.nextafter(result.grad_sq.mean(), 9)))],
                      {result.id: result})  # fmt: skip
    assert last.costs["samples"] == pytest.approx(result.facts["samples_per_worker"], rel=1e-6)
    sent = result.facts["vectors_up"] + result.facts["vectors_down"]
    assert last.costs["vectors"] == pytest.approx(sent, rel=1e-6)


def test_a_sweep_over_the_parts_of_theorem_rstar() -> None:
    """A part is a word; its sync batch comes with it, and the bounds promise with that one."""
    text = (
        '[algorithms.stem]\n[grids.g]\nI = 12\nepsilon = 0.3\nrecord = 6\nschedule = "rstar"\n'
        'schedule_options.part = ["b", "c"]\n'
    )
    found = expand(text)
    rows = [point.cell.settings() for point in found]
    assert [row["schedule_options.part"] for row in rows] == ["b", "c"]
    assert [row["sync_batch"] for row in rows] == [2, 1]
    results = {point.cell.id: run_cell(point.cell) for point in found}
    reached = targets(found, results)
    assert [set(target.bounds) for target in reached] == [
        {"stem-rstar-a", "stem-rstar-b", "stem-rstar-c"}
    ] * 2
    with pytest.raises(UsageError, match="part' 'z' is unknown"):
        expand(text.replace('"c"', '"z"'))
    given = expand(text.replace("record = 6", "sync_batch = 1"))
    assert {point.cell.settings()["sync_batch"] for point in given} == {1}


@pytest.mark.parametrize("mode", MODES)
def test_the_sweep_of_systems_is_sound_at_every_size(mode: str) -> None:
    """One grid of 12 steps for everybody, and each row of Table 1 with its own law of b and I."""
    spec = load_spec("systems", mode)
    grids = {tuple(dict(g.axes)["schedule_options.eta"]) for g in spec.grids}
    assert len(grids) == 1
    assert len(next(iter(grids))) == 12
    found = list(points(spec, HOST))
    assert {p.cell.record > 0 for p in found} == {True}
    for p in found:
        if p.grid == "law_local":
            assert (p.cell.b, p.cell.I) == (1, round(p.epsilon**-0.5)) if p.epsilon else False
        if p.grid == "law_batch":
            assert (p.cell.b, p.cell.I) == (round((p.epsilon or 0) ** -0.5), 1)
        if p.grid == "law_prox":
            assert p.cell.I == math.floor(1 / (p.epsilon or 1) + 0.5)


def test_no_bound_is_promised_for_a_sample_of_the_workers() -> None:
    def promised(options: str) -> set[str]:
        text = f"{HEAD}T = 512\n".replace("T = 24\n", "") + "[algorithms.fedavg]\n" + options
        found = list(points(parse_spec(text + "[grids.g]\nepsilon = 0.5\n", "t"), HOST))
        results = {p.cell.id: run_cell(p.cell) for p in found}
        return set(targets(found, results)[0].bounds)

    assert promised("") == {"fedavg-theorem"}
    assert promised("algorithm_options = { participation = 0.5 }\n") == set()


def test_floats_sent_are_columns() -> None:
    assert {"floats_up", "floats_down"} <= set(tables.COUNTS)
    (point,) = points(parse_spec(f"{HEAD}[algorithms.fedglomo]\n[grids.g]\n", "t"), HOST)
    (row,) = tables.point_records([point], {point.cell.id: run_cell(point.cell)})
    assert row["floats_up"] == 2 * row["vectors_up"] > 0
