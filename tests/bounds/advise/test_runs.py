"""Runs of ways: what is not reached or has no time says so, and long ones are compiled."""

from dataclasses import replace

import pytest

from stemtheory.bounds.advise.offers import advise
from stemtheory.bounds.advise.runs import (
    MOST_SECONDS,
    REPLICATES,
    Experiment,
    measured_ways,
    way_of,
)
from stemtheory.oracles.catalogue import load_problem


def test_what_was_not_reached_or_is_too_long_has_a_reason_and_no_number() -> None:
    problem = load_problem("geman_mcclure", K=4, dim=8, sigma=0.5, zeta=1.0)
    offer = advise(0.02)["choice"]
    short = Experiment(problem, 0.02, 1, 1).measure(way_of({**offer, "T": 4 * offer["I"]}))
    long = Experiment(problem, 0.02, 1, 1).measure(way_of({**offer, "T": 10**8}))
    for found, text in ((short, "not reached"), (long, "half a minute")):
        assert (found.T, found.samples, found.rounds, found.cost) == (None,) * 4
        assert text in found.reason


def test_a_hundred_workers_are_run_in_time_with_as_many_replicates_as_fit() -> None:
    offer = advise(0.02)["choice"]
    problem = load_problem("geman_mcclure", K=100, dim=8, sigma=0.5, zeta=1.0)
    way = replace(way_of(offer), algorithm="fedavg", T=30_000)
    experiment = Experiment(problem, 1e-3, 1, 1)
    assert experiment.engine(way) == "fused"
    for ways in ([way], [way, replace(way, b=2 * way.b)]):
        fitting = experiment.in_time(ways)
        taken = sum(map(fitting.seconds, ways))
        larger = [n for n in REPLICATES if n > fitting.replicates]
        more = [sum(map(replace(fitting, replicates=n).seconds, ways)) for n in larger]
        assert taken <= MOST_SECONDS < min(more, default=float("inf"))


def test_what_has_no_time_left_is_not_run() -> None:
    problem = load_problem("cosine", K=2, dim=2, sigma=0.5, zeta=1.0)
    way = way_of(advise(0.1, K=2)["choice"])
    ways = [replace(way, T=10**9), way, replace(way, T=10**8)]
    told: list[str] = []
    found = measured_ways(Experiment(problem, 0.1, 1, 1), ways, told.append)
    assert [seen.T is None for seen in found] == [True, False, True]
    assert len(told) == 1


@pytest.mark.parametrize(("T", "engine"), [(64, "array"), (10**7, "fused")])
def test_only_long_runs_are_compiled(T: int, engine: str) -> None:
    problem = load_problem("cosine", K=2, dim=2)
    way = replace(way_of(advise(0.1, K=2)["choice"]), T=T)
    assert Experiment(problem, 0.1, 1, 1).engine(way) == engine
