"""Floors: what is counted, by how much controls go below, and how often chance may."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom

from stemtheory.algorithms import ALGORITHMS
from stemtheory.claims.base import Case, Comparison, dials
from stemtheory.claims.floors.communication import LINKS, cases, stepped
from stemtheory.claims.floors.counted import (
    FLOORS,
    SHARE,
    by_arrivals,
    by_coins,
    by_exchanges,
    chance,
    few_samples,
    floor_exponent,
    most_arrivals,
)
from stemtheory.claims.floors.samples import LONG, end_cases, leaking, no_full_gradients

SPLIT = stepped(
    Case("split_chain", 2, LINKS, 1, 24, 9, algorithm="fedavg", x1=0.0, replicates=1), 100.0
)
HIDDEN = stepped(
    Case(
        "hidden_chain", 2, LINKS, 2, 8, 25, dials(p=0.05), algorithm="fedavg", x1=0.0, replicates=8
    ),
    40.0,
)


def above(found: Comparison) -> bool:
    """Whether the floor is kept everywhere."""
    return bool((found.left <= found.right).all())


def test_every_algorithm_with_workers_is_put_to_the_floor_of_communication() -> None:
    asked = {case.algorithm for case in cases("quick")}
    assert asked == {name for name, entry in ALGORITHMS.items() if not entry.pin("K")}
    assert {c.reading for c in cases("quick") if c.algorithm == "stem"} == {
        "literal",
        "average-first",
    }


def test_fedavg_finds_one_link_a_round_and_no_more() -> None:
    found = by_exchanges(SPLIT)
    assert above(found)
    ends = found.left[SPLIT.I - 1 :: SPLIT.I]
    assert ends.tolist() == [1, 2, 3, 4, 5, 6, 7, 8, 8]


def test_controls_go_below_the_floor_of_communication() -> None:
    assert not above(by_exchanges(SPLIT, told=True))
    leak = by_exchanges(replace(SPLIT, problem="zero_chain"))
    assert leak.left[0] == 1
    assert leak.left[SPLIT.I - 1] == LINKS > leak.right[SPLIT.I - 1]


def test_a_run_that_diverges_finds_nothing() -> None:
    """FedPD's multipliers leave the finite numbers at this step; they are no links."""
    found = by_exchanges(stepped(replace(SPLIT, algorithm="fedpd"), 1e6))
    assert above(found)


@pytest.mark.parametrize("name", ["fedavg", "stem", "scaffold", "spider", "fedprox"])
def test_no_link_is_found_without_a_coin(name: str) -> None:
    case = stepped(replace(HIDDEN, algorithm=name, I=1 if name == "spider" else 8), 40.0)
    found = by_coins(case)
    assert above(found)
    assert found.left.max() > 1
    assert not above(by_coins(case, told=True))


def test_an_oracle_that_leaks_goes_below_the_coins() -> None:
    assert not above(by_coins(leaking(HIDDEN)))


def test_full_gradients_are_no_samples() -> None:
    case = stepped(replace(HIDDEN, algorithm="mime"), 40.0)
    assert [p.ok for p in no_full_gradients(case)] == [False]
    assert not above(by_coins(case))


def test_the_chance_is_a_binomial_tail_below_its_bound() -> None:
    for p in (0.1, 0.01, 0.003, 0.001):
        n = math.floor(LONG / (2 * p))
        q = chance(n, p, LONG)
        assert q == pytest.approx(float(binom.sf(LONG - 1, n, p)), rel=1e-9)
        assert q < min(0.004, (math.e / 4) ** (LONG / 2))


def test_so_many_arrivals_are_exceeded_with_the_stated_rate() -> None:
    for runs, q in ((64, 0.003), (200, 0.0035), (1000, 0.0035)):
        most = most_arrivals(runs, q)
        assert binom.sf(most, runs, q) <= SHARE < binom.sf(most - 1, runs, q)


def test_few_samples_do_not_come_to_the_end_and_many_do() -> None:
    """Chance alone fails it with probability 5e-8 each."""
    for case in end_cases("quick"):
        assert all(premise.ok for premise in few_samples(case))
        assert above(by_arrivals(case))
    longer = replace(case, rounds=6 * case.rounds)
    assert not few_samples(longer)[0].ok
    assert by_arrivals(longer).left > 0.9 * longer.replicates
    assert not above(by_arrivals(leaking(case)))


@pytest.mark.parametrize(("floor", "other"), [("exchanges", -1.5), ("samples", -1.0)])
def test_floors_have_the_exponents_of_the_theorem(floor: str, other: float) -> None:
    found = floor_exponent(floor)
    assert found.left == pytest.approx(FLOORS[floor][1], abs=0.01)
    assert abs(floor_exponent(floor, other).left - other) > np.asarray(found.spread)
