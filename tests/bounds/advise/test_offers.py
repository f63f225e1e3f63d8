"""Advice: the numbers of the bounds themselves, the cheapest of them, and honest silence."""

import functools
import json
import math
from typing import Any

import numpy as np
import pytest

from stemtheory.bounds import evaluate, invert
from stemtheory.bounds.advise.offers import BOUNDS, advise
from stemtheory.cli.app import main
from stemtheory.report.advise_plot import costs_of
from stemtheory.runtime.errors import UsageError
from stemtheory.schedules.stepsizes import Theorem

CONSTANTS: dict[str, Any] = {"L": 1.0, "sigma": 0.5, "zeta": 1.0, "gap": 1.0}


CASES: list[dict[str, Any]] = [
    {"epsilon": 1e-1},
    {"epsilon": 1e-2, "round_cost": 10.0},
    {"epsilon": 1e-3, "round_cost": 100.0},
    {"epsilon": 1e-5, "K": 16, "round_cost": 1000.0},
]


@functools.cache
def told(epsilon: float, K: int = 4, round_cost: float = 0.0) -> dict[str, Any]:
    """Return the advice; several tests look at the same one."""
    return advise(epsilon, K, round_cost=round_cost)


def offers(d: dict[str, Any]) -> list[dict[str, Any]]:
    return [d["choice"], *d["alternatives"], *d["neighbours"]]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_every_offer_is_what_its_bound_promises(case: dict[str, Any]) -> None:
    K, round_cost = case.get("K", 4), case.get("round_cost", 0.0)
    for offer in offers(told(**case)):
        name = "fedavg-theorem" if offer["bound"] == "minibatch-sgd" else offer["bound"]
        point: dict[str, Any] = {"b": offer["b"], "I": offer["I"]}
        found = invert(name, case["epsilon"], K=K, **CONSTANTS, **point)
        assert offer["T"] == found.T
        assert offer["rounds"] == found.rounds == offer["T"] // offer["I"]
        assert offer["samples"] == found.samples_per_worker
        assert offer["samples_total"] == K * offer["samples"]
        assert offer["cost"] == offer["samples"] + round_cost * offer["rounds"]
        assert found.bound.applies
        assert evaluate(name, found.bound.setting).value <= case["epsilon"]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_nothing_near_is_cheaper(case: dict[str, Any]) -> None:
    d = told(**case)
    assert all(d["choice"]["cost"] <= other["cost"] for other in offers(d))
    assert {o["algorithm"] for o in (d["choice"], *d["alternatives"])} == set(BOUNDS)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_choice_costs_no_more_than_any_point_of_the_curve(case: dict[str, Any]) -> None:
    d = told(**case)
    sizes = {"K": case.get("K", 4), **CONSTANTS}
    for nu in (0.0, 0.3, 1.0):
        point = invert("stem-repaired", case["epsilon"], nu=nu, **sizes)
        b = math.ceil(point.b)
        at = invert("stem-repaired", case["epsilon"], b=b, I=point.I, **sizes)
        cost = at.samples_per_worker + case.get("round_cost", 0.0) * at.rounds
        assert d["choice"]["cost"] <= cost


def test_steps_are_those_of_the_theorems() -> None:
    d = told(1e-5, 16, round_cost=1000)
    stem = d["choice"]
    assert stem["algorithm"] == "stem"
    steps = Theorem(1.0, 16, stem["b"], stem["I"])
    assert stem["eta"] == pytest.approx(1 / (16 * stem["I"]))
    assert stem["a"] == pytest.approx(steps.c * stem["eta"] ** 2)
    assert stem["B"] == stem["b"] * stem["I"]
    for other in d["alternatives"]:
        assert other["eta"] == pytest.approx(math.sqrt(other["b"] * 16 / other["T"]))
        assert other["eta"] <= 1 / (9 * other["I"])  # the theorem's premise
        assert other["a"] is None


def test_the_sweet_spot_is_the_root_of_the_rounds_over_workers() -> None:
    found = invert("stem-log-free", 1e-3, K=4, nu=0.5, **CONSTANTS)
    assert told(1e-3)["sweet_spot"]["bI"] == math.sqrt(found.rounds) / 4


def test_a_start_that_is_good_enough_needs_no_run() -> None:
    d = told(2.0)
    assert d["choice"] is None
    assert "vacuous" in d["guidance"][0]
    assert d["reasons"]["choice"]
    assert told(1.99)["choice"] is not None


def test_it_says_where_minibatch_sgd_dominates() -> None:
    d = told(0.1)
    assert d["choice"]["algorithm"] == "minibatch-sgd"
    assert any("dominates" in text for text in d["guidance"])
    assert not any("dominates" in text for text in told(1e-5)["guidance"])


def test_it_says_where_more_workers_do_not_help() -> None:
    assert any("K^2" in text for text in told(0.3, 64)["guidance"])
    assert not any("K^2" in text for text in told(1e-4, 4)["guidance"])


@pytest.mark.parametrize("constants", [{"sigma": 0}, {"zeta": 0}, {"sigma": 0, "zeta": 0}])
def test_constants_may_be_zero(constants: dict[str, float]) -> None:
    for K in (1, 4):
        choice = advise(1e-3, K, **constants)["choice"]
        assert all(math.isfinite(v) for v in choice.values() if isinstance(v, float))


@pytest.mark.parametrize(
    ("bad", "text"),
    [
        ({"epsilon": 0}, "epsilon"),
        ({"epsilon": "x"}, "epsilon"),
        ({"epsilon": 1e-3, "K": 1.5}, "K is"),
        ({"epsilon": 1e-3, "sigma": -1}, "sigma"),
        ({"epsilon": 1e-3, "L": 0}, "L is"),
        ({"epsilon": 1e-3, "round_cost": -1}, "round_cost"),
        ({"epsilon": 1e-3, "sample_cost": 0, "round_cost": 0}, "everything is free"),
        ({"epsilon": 1e-3, "K": 1, "zeta": 1}, "zeta"),
        ({"epsilon": float("nan")}, "epsilon"),
    ],
)
def test_bad_input_is_one_sentence(bad: dict[str, Any], text: str) -> None:
    with pytest.raises(UsageError, match=text):
        advise(**bad)


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["advise", "--epsilon", "1e-5", "--workers", "16", "--round-cost", "1e3"]
    assert main([*words, "--json"]) == 0
    d = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    keys = {"algorithm", "nu", "b", "I", "T", "eta", "a", "samples", "rounds", "cost"}
    assert keys <= set(d["choice"])
    assert d["choice"] == told(1e-5, 16, round_cost=1000)["choice"]
    assert main(words) == 0
    assert "choice: stem" in capsys.readouterr().out
    assert main(["advise", "--epsilon", "3"]) == 0
    assert "No guidance" in capsys.readouterr().out
    assert main(["advise", "--epsilon", "-1"]) == 2
    assert main(["advise"]) == 2


def test_no_power_of_two_of_b_and_I_is_one_per_cent_cheaper() -> None:
    """The search goes downhill from the curve alone; the picture tries every cell."""
    for case in CASES[2:]:
        d = told(**case)
        stem = next(o for o in (d["choice"], *d["alternatives"]) if o["algorithm"] == "stem")
        assert stem["cost"] <= 1.01 * costs_of(d).least


def test_at_one_local_step_the_printed_inequality_is_offered() -> None:
    found = costs_of(advise(1e-3))
    assert found.local[0] == 1
    assert np.isfinite(found.relative).all()


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--set", "spectrum=10"], "give --problem"),
        (["--noise", "additive"], "give --problem"),
        (["--replicates", "4"], "give --problem"),
        (["--problem", "cosine", "--gap", "1"], "leave --gap out"),
        (["--problem", "quadratic", "--noise", "multiplicative"], "another noise"),
        (["--problem", "nothing"], "nothing"),
        (["--problem", "cosine", "--replicates", "1"], "replicates"),
        (["--plot", "x.gif"], "must end in"),
    ],
)
def test_bad_options(words: list[str], text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["advise", "--epsilon", "0.05", *words]) == 2
    assert text in capsys.readouterr().err
