"""Offers that are run: each reaches epsilon where it says, or says why not."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stemtheory.bounds.advise.measured import advise_on
from stemtheory.bounds.advise.runs import way_of
from stemtheory.cli.app import main
from stemtheory.oracles.catalogue import load_problem
from stemtheory.simulator.simulation import simulate
from tests.bounds.advise.test_offers import offers


@pytest.fixture(scope="module")
def measured() -> dict[str, Any]:
    problem = load_problem("geman_mcclure", K=4, dim=8, sigma=0.5, zeta=1.0)
    return advise_on(problem, 0.02, round_cost=5.0, seed=3)


def test_every_offer_is_run_and_reaches_epsilon_where_it_says(measured: dict[str, Any]) -> None:
    problem = load_problem("geman_mcclure", K=4, dim=8, sigma=0.5, zeta=1.0)
    for offer in offers(measured):
        seen = offer["measured"]
        T = offer["I"] * round(seen["T"] / offer["I"])
        assert seen["low"] <= seen["T"] <= seen["high"] < offer["T"]
        assert seen["rounds"] == seen["T"] / offer["I"]
        way = way_of(offer)
        stem = way.algorithm == "stem"
        own: dict[str, Any] = {"sync": way.sync, "sync_batch": way.sync_batch} if stem else {}
        own |= {"schedule": way.schedule}
        own |= {"schedule_options": {"part": way.part}} if way.part else {}
        again = simulate(
            problem, way.algorithm, T=T, b=way.b, I=way.I, replicates=64, seed=4, **own
        )
        # 64 new runs; at most 6 offers, false alarms 6 P(|z| > 4) < 4e-4, and the slope in T is -1
        spread = math.hypot(again.stderr or math.nan, 0.02 * (seen["high"] - seen["low"]) / 4 / T)
        assert abs(np.mean(again.grad_sq) - 0.02) < 4 * spread + 0.02 / T
        counted = again.counts.samples_per_worker
        assert seen["samples"] == pytest.approx(counted, rel=offer["I"] / T)
        assert seen["vectors"] == pytest.approx(2 * seen["rounds"] + 1 if stem else seen["rounds"])
        assert seen["cost"] == seen["samples"] + 5 * seen["vectors"]
    best = min(offers(measured), key=lambda offer: float(offer["measured"]["cost"]))
    assert measured["measured_choice"] == best
    assert measured["guidance"][0].startswith("Measured: ")


def test_the_command_measures_and_draws(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["advise", "--epsilon", "0.05", "--problem", "cosine", "--K", "2", "--dim", "2"]
    files = [tmp_path / name for name in ("a.svg", "b.svg")]
    for file in files:
        assert main([*words, "--replicates", "4", "--plot", str(file)]) == 0
    out = capsys.readouterr().out
    assert ", until the average" in out
    assert f"written: {files[1]}" in out
    assert files[0].read_bytes() == files[1].read_bytes()


def test_a_share_of_the_workers_is_run_with_the_steps_of_as_many() -> None:
    problem = load_problem("geman_mcclure", K=10, dim=2, sigma=0.5, zeta=1.0)
    found = advise_on(problem, 0.01, participation=0.2, round_cost=5.0, replicates=64)
    assert {offer["algorithm"] for offer in offers(found)} == {"minibatch-sgd", "fedavg"}
    for offer in (found["choice"], found["neighbours"][0]):
        seen, n = offer["measured"], 2
        T = round(seen["T"])
        eta = math.sqrt(offer["b"] * n / T)
        again = simulate(
            problem, "fedavg", T=T, b=offer["b"], I=1, algorithm_options={"participation": 0.2},
            schedule="constant", schedule_options={"eta": eta}, replicates=64, seed=4,
        )  # fmt: skip
        # 64 new runs; 2 offers, false alarms 2 P(|z| > 4) < 2e-4, and the slope in T is -1
        spread = math.hypot(again.stderr or math.nan, 0.01 * (seen["high"] - seen["low"]) / 4 / T)
        assert abs(np.mean(again.grad_sq) - 0.01) < 4 * spread + 0.01 / T
        # means over the workers; the cost is that of a worker who is always there
        assert again.counts.samples_per_worker == pytest.approx(seen["samples"], rel=1 / T)
        assert seen["samples"] == pytest.approx(offer["b"] * seen["T"] / 5)
        assert seen["vectors"] == pytest.approx(seen["rounds"] / 5)
        assert seen["cost"] == pytest.approx(5 * (seen["samples"] + 5 * seen["vectors"]))
