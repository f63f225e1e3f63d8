"""Advice: the numbers of the bounds themselves, the cheapest of them, and honest silence."""

import functools
import json
import math
from typing import Any

import numpy as np
import pytest

from stemtheory.bounds import evaluate, invert
from stemtheory.bounds.advise.offers import advise, steps_said
from stemtheory.bounds.advise.search import (
    BOUNDS,
    at,
    cheapest,
    cheapest_at,
    neighbours,
    question,
)
from stemtheory.cli.app import main
from stemtheory.report.plots.costs import costs_of
from stemtheory.runtime.errors import UsageError
from stemtheory.schedules.stepsizes import Theorem
from tests.helpers.rstar_page import PAGE

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
        # the mean direction and the mean point of every round, and the first direction
        sent = 2 * offer["rounds"] + 1 if offer["algorithm"] == "stem" else offer["rounds"]
        assert offer["vectors"] == sent
        assert offer["cost"] == offer["samples"] + round_cost * sent
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
        cost = at.samples_per_worker + case.get("round_cost", 0.0) * (2 * at.rounds + 1)
        assert d["choice"]["cost"] <= cost


def exhaustive(q: Any, algorithm: str, batches: range, local: range) -> float:
    """The least proved cost of an algorithm over a grid of (b, I)."""
    tried = (cheapest_at(q, algorithm, b, I) for b in batches for I in local)
    return min(offer.cost for offer in tried if offer is not None)


@pytest.mark.parametrize(
    ("epsilon", "K", "sigma", "round_cost"),
    [(1e-4, 4, 0.5, 50.0), (3e-2, 2, 2.0, 10.0), (0.3, 16, 0.1, 1.0)],
)
def test_no_whole_b_and_I_is_cheaper(
    epsilon: float, K: int, sigma: float, round_cost: float
) -> None:
    """Every cell of a grid that holds the choice; T is whole, which ripples the cost by 1e-4."""
    q = question(epsilon, K, None, sigma, None, None, 1.0, round_cost)
    for algorithm, local in (("stem", range(1, 9)), ("fedavg", range(1, 4))):
        found = cheapest(q, algorithm)
        assert found.I in local
        least = exhaustive(q, algorithm, range(max(1, found.b - 8), found.b + 9), local)
        assert found.cost <= least * (1 + 2e-4)


def test_the_neighbours_by_one_are_dearer() -> None:
    """STEM at 50 samples a vector: b = 20, I = 1, with the steps of Theorem R*, part (d)."""
    q = question(1e-4, 4, None, None, None, None, 1.0, 50.0)
    found = cheapest(q, "stem")
    assert (found.b, found.I, found.bound) == (20, 1, "stem-rstar-d")
    assert found.samples + 100 * found.rounds == 2_912_620 + 7_281_500
    for b, I in ((19, 1), (21, 1), (20, 2)):
        near = cheapest_at(q, "stem", b, I)
        assert near is not None
        assert near.cost > found.cost


def test_two_vectors_a_round_change_the_winner() -> None:
    """Where rounds are dear, STEM's second vector makes minibatch SGD the cheaper one."""
    d = advise(1e-4, 4, L=0.06, round_cost=1e6)
    stem = next(o for o in d["alternatives"] if o["algorithm"] == "stem")
    assert d["choice"]["algorithm"] == "minibatch-sgd"
    assert stem["samples"] + 1e6 * stem["rounds"] < d["choice"]["cost"]
    assert stem["cost"] / d["choice"]["cost"] == pytest.approx(1.21, abs=0.01)


def test_constants_that_nobody_gave_are_marked(capsys: pytest.CaptureFixture[str]) -> None:
    d = advise(1e-4, L=1.0, gap=1.0, round_cost=100)
    assert d["defaults"] == ["sigma", "zeta"]
    assert [(r["constant"], r["factor"]) for r in d["robustness"]] == [
        ("sigma", 0.25), ("sigma", 4.0), ("zeta", 0.25), ("zeta", 4.0),
    ]  # fmt: skip
    assert advise(1e-2, L=1, sigma=0.5, zeta=1, gap=1)["robustness"] == []
    assert advise(1e-2, 1, L=1, sigma=0.5, gap=1)["defaults"] == []
    assert main(["advise", "--epsilon", "1e-4", "--gap", "1", "--round-cost", "100"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "zeta = 1 (default), gap = 1 " in out
    assert "It changes to stem with b = 70, I = 1 for sigma x 4" in out
    assert "The choice stays (at most 10 % from the cheapest) for L / 4, L x 4" in out


def test_whether_a_choice_survives_is_what_the_changed_question_says() -> None:
    d = advise(1e-2, round_cost=10.0)
    choice = d["choice"]
    assert len(d["robustness"]) == 8
    for row in d["robustness"]:
        changed = CONSTANTS | {row["constant"]: row["factor"] * CONSTANTS[row["constant"]]}
        other = advise(1e-2, round_cost=10.0, **changed)
        assert row["algorithm"] == other["choice"]["algorithm"]
        L, sigma, zeta, gap = changed.values()
        q = question(1e-2, 4, L, sigma, zeta, gap, 1.0, 10.0)
        kept = cheapest_at(q, choice["algorithm"], choice["b"], choice["I"])
        ratio = None if kept is None else kept.cost / other["choice"]["cost"]
        assert row["cost_of_keeping"] == (ratio and pytest.approx(ratio, rel=1e-3))
        assert row["stays"] == (ratio is not None and ratio <= 1.1)
    enough = advise(1.5, round_cost=10.0)["robustness"]
    assert [r["algorithm"] for r in enough if (r["constant"], r["factor"]) == ("L", 0.25)] == [None]


def test_steps_are_those_of_the_theorems() -> None:
    d = told(1e-5, 16, round_cost=100)
    stem = d["choice"]
    assert stem["algorithm"] == "stem"
    row = PAGE[stem["part"]]
    assert stem["bound"] == f"stem-rstar-{stem['part']}"
    assert stem["eta"] == pytest.approx(row.h / stem["I"])
    assert stem["a"] == pytest.approx(row.c0 / (16 * stem["b"]) * stem["eta"] ** 2)
    assert stem["constant_until"] is None
    assert stem["B"] == stem["b"] * stem["I"]
    q = question(1e-5, 16, None, None, None, None, 1.0, 100.0)
    printed = at(q, "stem", "stem-repaired", 16, 4, None)
    assert printed is not None
    assert (printed.schedule, printed.part, printed.sync) == ("theorem", None, "literal")
    assert printed.eta == pytest.approx(1 / 64)
    assert printed.a == pytest.approx(Theorem(1.0, 16, 16, 4).c * printed.eta**2)
    for other in d["alternatives"]:
        assert other["eta"] == pytest.approx(math.sqrt(other["b"] * 16 / other["T"]))
        assert other["eta"] <= 1 / (9 * other["I"])  # the theorem's premise
        assert other["a"] is None


def test_the_sweet_spot_is_the_root_of_the_rounds_over_workers() -> None:
    d = told(1e-3)
    found = invert(d["choice"]["bound"], 1e-3, K=4, nu=0.5, **CONSTANTS)
    assert d["sweet_spot"]["bI"] == math.sqrt(found.rounds) / 4


def test_the_steps_of_theorem_rstar_are_offered_with_reading_and_sync_batch() -> None:
    """Every part at I beyond its M: what the run takes, and what the sync batch adds."""
    q = question(1e-3, 4, None, None, None, None, 1.0, 0.0)
    for part in BOUNDS["stem"][3:]:
        row, I = PAGE[part[-1]], 3 * PAGE[part[-1]].M
        offer = at(q, "stem", part, 2, I, None)
        assert offer is not None
        assert (offer.schedule, offer.part, offer.sync_batch) == ("rstar", part[-1], 3)
        assert offer.sync == ("average-first" if part[-1] == "d" else "literal")
        jumps = offer.rounds if part[-1] == "d" else offer.rounds - 1
        assert offer.sync_samples == 2 * 2 * 2 * jumps
        assert offer.samples == 2 * I + 2 * 2 * offer.T + offer.sync_samples
        said, share = " ".join(steps_said(offer)), offer.sync_samples / offer.samples
        assert f"schedule.part={part[-1]}" in said
        assert f"m = 3 times b samples once a round, {share:.2g} of all samples" in said
        assert ("two exchanges" in said) == (part[-1] == "d")
        within = at(q, "stem", part, 2, row.M, None)
        assert within is not None
        assert (within.sync_batch, within.sync_samples) == (1, 0)
        assert f"No sync batch is needed up to I = {row.M}" in " ".join(steps_said(within))
        one = at(q, "stem", part, 4, 1, None)
        assert one is not None
        assert (one.sync, one.sync_batch) == ("literal", 1)  # all readings coincide


def test_where_zeta_rules_the_printed_steps_may_be_cheaper() -> None:
    """The coefficient of zeta^2 is larger in Theorem R*: at one (b, I) the repaired bound wins."""
    q = question(1e-3, 4, 1.0, 0.01, 100.0, 0.01, 1.0, 0.0)
    found = cheapest_at(q, "stem", 40, 8)
    assert found is not None
    assert found.part is None


def test_a_start_that_is_good_enough_needs_no_run() -> None:
    d = told(2.0)
    assert d["choice"] is None
    assert "vacuous" in d["guidance"][0]
    assert d["reasons"]["choice"]
    assert told(1.99)["choice"] is not None


def test_it_says_where_minibatch_sgd_dominates() -> None:
    d = advise(0.024, 100, L=0.1, sigma=1.5)
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
    words = ["advise", "--epsilon", "1e-5", "--workers", "16", "--round-cost", "1e2"]
    assert main([*words, "--json"]) == 0
    d = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    keys = {"algorithm", "nu", "b", "I", "T", "eta", "a", "samples", "rounds", "cost"}
    assert keys <= set(d["choice"])
    assert d["choice"] == told(1e-5, 16, round_cost=100)["choice"]
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


def test_neighbours_are_what_their_names_say_and_none_is_below_one() -> None:
    found = advise(1e-2, K=4, round_cost=1e5)
    b, I = found["choice"]["b"], found["choice"]["I"]
    assert (b > 1, I > 1, b != I) == (True, True, True)
    at = {near["change"]: (near["b"], near["I"]) for near in found["neighbours"]}
    assert at == {"b/2": (b // 2, I), "2b": (2 * b, I), "I/2": (b, I // 2), "2I": (b, 2 * I)}
    stem = next(
        offer for offer in (found["choice"], *found["alternatives"]) if offer["algorithm"] == "stem"
    )
    assert found["sweet_spot"]["offered"] == stem["b"] * stem["I"]
    single = advise(0.5, K=1)
    assert all(near["b"] >= 1 and near["I"] >= 1 for near in single["neighbours"])
    named = {near["change"] for near in single["neighbours"]}
    assert single["choice"]["b"] > 1 or "b/2" not in named
    assert single["choice"]["I"] > 1 or "I/2" not in named


@pytest.mark.parametrize("algorithm", BOUNDS)
def test_one_is_not_halved(algorithm: str) -> None:
    q = question(0.05, 4, **CONSTANTS, sample_cost=1.0, round_cost=0.0)
    offer = cheapest_at(q, algorithm, 1, 1)
    assert offer is not None
    found = [(name, near.b, near.I) for name, near in neighbours(q, offer)]
    expected = [("2b", 2, 1)] + ([] if algorithm == "minibatch-sgd" else [("2I", 1, 2)])
    assert found == expected


def test_a_share_of_the_workers_is_forecast_as_that_many_and_never_called_proved() -> None:
    few = advise(1e-3, 100, participation=0.1, round_cost=7.0)
    ten = advise(1e-3, 10, round_cost=7.0)
    sgd = next(o for o in offers(ten) if o["algorithm"] == "minibatch-sgd")
    choice = few["choice"]
    assert {o["algorithm"] for o in offers(few)} == {"minibatch-sgd", "fedavg"}
    assert not any(o["proved"] for o in offers(few))
    assert all(o["proved"] for o in offers(ten))
    same = ("algorithm", "b", "I", "T", "eta", "rounds", "cost", "samples_total")
    assert [choice[name] for name in same] == [sgd[name] for name in same]
    assert choice["samples"] == pytest.approx(sgd["samples"] / 10)
    assert choice["vectors"] == pytest.approx(sgd["vectors"] / 10)
    assert few["guidance"][0].startswith("No theorem covers rounds of 10 of 100 workers")
    assert few["sweet_spot"] is None
    assert "sweet_spot" in few["reasons"]


def test_a_share_that_is_everybody_is_proved_as_before() -> None:
    asked = advise(1e-2, 4, participation=0.9)
    assert asked["question"].pop("participation") == 0.9
    whole = advise(1e-2, 4)
    whole["question"].pop("participation")
    assert asked == whole
