"""The figure of floors: what runs took, counted again, the floors, and who is not there."""

import math
from functools import cache
from typing import Any

import numpy as np
import pytest

from stemtheory import load_problem, simulate
from stemtheory.bounds import invert
from stemtheory.experiment.design.spec import load_spec, parse_spec
from stemtheory.experiment.sweep import SweepResult, run_sweep
from stemtheory.figures import floors
from stemtheory.report.drawing import picture
from stemtheory.report.figure_table import FigureTable
from tests.figures.columns import (
    Held,
    changed,
    drawn,
    look_faults,
    panel_faults,
    print_faults,
    survivors,
)

TEXT = """
    [settings]
    K = 2
    dim = 3
    L = 1.0
    b = 1
    schedule = "constant"
    replicates = 3
    [algorithms.fedavg]
    [algorithms.stem]
    schedule_options = { a = 0.5 }
    [grids.rounds]
    kind = "zip"
    cross = ["schedule_options.eta"]
    problem = "split_chain"
    replicates = 1
    I = [1, 32]
    T = [300, 640]
    schedule_options = { eta = [2.0, 0.1] }
    [grids.samples]
    kind = "zip"
    cross = ["schedule_options.eta"]
    problem = "hidden_chain"
    K = [1, 3]
    I = 4
    T = [400, 400]
    dials = { p = [0.2, 0.1] }
    schedule_options = { eta = [2.0, 0.5] }
"""


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> SweepResult:
    return run_sweep(parse_spec(TEXT, "f"), store=tmp_path_factory.mktemp("floors") / "f.sqlite")


@pytest.fixture(scope="module")
def data(found: SweepResult) -> FigureTable:
    return floors.table_of(found)


@cache
def arrivals(chain: str, system: str, K: float, I: float, rarity: float, eta: float) -> Any:
    """Return after how many iterations every replicate of a row came to the end."""
    p = {} if math.isnan(rarity) else {"p": 1 / rarity}
    problem = load_problem(chain, int(K), 3, **p)
    momentum = {"a": 0.5} if system == "stem" else {}
    T = 400 if p else {1: 300, 32: 640}[int(I)]
    run = simulate(problem, system, T=T, I=int(I), b=1, replicates=3 if p else 1, seed=0,
                   schedule="constant", schedule_options={"eta": eta, **momentum})  # fmt: skip
    return np.where(run.arrived_at > 0, run.arrived_at - 1, math.inf)


@cache
def promised(chain: str, system: str, K: float, I: float, rarity: float) -> list[float]:
    """Return rounds and samples of all workers that the theorem promises."""
    p = {} if math.isnan(rarity) else {"p": 1 / rarity}
    problem = load_problem(chain, int(K), 3, **p)
    c = problem.constants(np.zeros(3))
    name = {"stem": "stem-repaired", "fedavg": "fedavg-theorem"}[system]
    told = invert(name, problem.dials["floor"], K=int(K), b=1, I=int(I), L=c.L, sigma=c.sigma,
                  zeta=c.zeta, gap=c.gap)  # fmt: skip
    return [told.rounds, told.samples_total]


def floor_faults(t: FigureTable) -> list[str]:
    held = Held()
    kinds = [(r["chain"], r["kind"], r["system"], r["I"], r["K"]) for r in t.records()]
    split, hidden = "split_chain", "hidden_chain"
    both = ("fedavg", "stem")
    want = [(split, "measured", s, I, 2) for s in both for I in (1, 32)]
    want += [(hidden, "measured", s, 4, K) for s in both for K in (1, 3)]
    want += [(split, "floor", "", I, 2) for I in (1, 32)]
    want += [(split, "bound", s, I, 2) for s in both for I in (1, 32) if (s, I) != ("stem", 1)]
    want += [(hidden, "floor", "", 0, 0)] * 2
    want += [(hidden, "bound", s, 4, K) for s in both for K in (1, 3)]
    held.true("rows", kinds == want)
    for r in t.records():
        rarity = math.nan if r["chain"] == split else float(r["rarity"])
        where = (r["chain"], r["system"], float(r["K"]), float(r["I"]), rarity)
        if r["chain"] == hidden and r["K"]:
            held.same("rarity", r["rarity"], {1: 5, 3: 10}[r["K"]])
        if r["kind"] == "measured":
            after = {
                eta: arrivals(*where, eta) for eta in (2.0, 0.1 if r["chain"] == split else 0.5)
            }
            best = min(after, key=lambda eta: np.median(after[eta]))
            ends = [float(f(after[best])) for f in (np.median, np.min, np.max)]
            first = r["I"] if r["system"] == "stem" else 0  # B = b I
            held.same("eta", r["eta"], best)
            held.true("edge", r["at_edge"] == (best == 2.0))
            held.same("rounds", r["rounds"], math.ceil(ends[0] / r["I"]))
            samples = [r["K"] * (end + first) for end in ends]
            held.same("samples", [r[f"samples{x}"] for x in ("", "_low", "_high")], samples)
        elif r["kind"] == "floor":
            costs = [3, math.nan] if r["chain"] == split else [math.nan, 1.5 * r["rarity"]]
            held.same("floor", [r["rounds"], r["samples"]], costs)
            held.true("rarity", r["chain"] == split or r["rarity"] in (5, 10))
        else:
            held.same("bound", [r["rounds"], r["samples"]], promised(*where))
        if r["kind"] != "measured":
            held.true("empty", all(np.isnan(r[n]) for n in ("eta", "samples_low", "samples_high")))
    return held.found


def test_every_column_is_what_runs_took(data: FigureTable) -> None:
    assert floor_faults(data) == []
    assert survivors(data, floor_faults) == []


def test_nothing_is_below_a_floor(data: FigureTable) -> None:
    measured = data.where(kind="measured")
    assert (measured.where(chain="split_chain")["rounds"] >= 3).all()
    hidden = measured.where(chain="hidden_chain")
    assert (hidden["samples_low"] >= 1.5 * hidden["rarity"]).all()


def test_axes_show_the_columns_that_they_name(data: FigureTable) -> None:
    axes = drawn(floors.ENTRY, data)
    unmoved = [ax for ax in axes if ax.get_xlabel()]
    assert len(unmoved) == 2
    assert panel_faults(data, axes) == []
    assert look_faults(axes) == []
    assert print_faults(floors.ENTRY, data) == []


def test_it_draws_the_same_bytes_and_says_who_is_not_there(data: FigureTable) -> None:
    assert picture(floors.ENTRY, data, "svg") == picture(floors.ENTRY, data, "svg")
    text = floors.caption(data)
    for said in ("STEM", "Not claimed", "The floor is 3", "FL1 to FL3"):
        assert said in text
    assert "no step that gets there" not in text
    lost = changed(data, samples=np.where(data["I"] == 32, math.nan, data["samples"]))
    assert "2 points have no step that gets there" in floors.caption(lost)


@pytest.mark.parametrize("mode", ["quick", "default", "full"])
def test_the_sweep_holds_every_step_to_one_over_L(mode: str) -> None:
    spec = load_spec("floors", mode)
    assert spec.settings["L"] == 1
    steps = {eta for grid in spec.grids for eta in dict(grid.axes)["schedule_options.eta"]}
    assert max(steps) == 1
