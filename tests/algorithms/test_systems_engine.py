"""The engine on every system: counts by hand, backends, random choices, and the registry."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import stemtheory.simulator.array_engine as engine
from stemtheory import load_problem, simulate
from stemtheory.algorithms import ALGORITHMS
from stemtheory.algorithms.participation import weights
from stemtheory.bounds.table1 import table1_exponents
from stemtheory.runtime.errors import UsageError
from stemtheory.simulator.trace import Trace
from tests.algorithms.common import HALF, OPTIONS, SYSTEMS, gap
from tests.helpers.fake_device import MISSING, Device, fake_backend


def measure(variant: str, problem: Any, **more: Any) -> Trace:
    name, options = OPTIONS[variant]
    entry = ALGORITHMS[name]
    eta = {"eta": 0.05} | ({"a": 0.2} if entry.family == "stem" else {})
    settings: dict[str, Any] = {"T": 12, "b": 2, "replicates": 11, "record_every": 1}
    settings |= {"I": 1 if entry.pin("I") else 4, "schedule": "constant", "schedule_options": eta}
    return simulate(problem, name, algorithm_options=options, **(settings | more))


def same(one: Trace, other: Trace) -> None:
    assert one.counts == other.counts
    for name in ("grad_sq", "last", "best", "series", "running", "diverged_at"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", ["cosine", "logistic"])
@pytest.mark.parametrize("variant", OPTIONS)
def test_a_device_gives_the_numbers_of_the_host(variant: str, name: str, dtype: str) -> None:
    problem, device = load_problem(name, K=4, dim=4), Device()
    options: dict[str, Any] = {"dtype": dtype, "noise_source": "host"}
    there = measure(variant, problem, backend=fake_backend(device), **options)
    same(there, measure(variant, problem, backend="numpy", **options))
    assert device.dtypes == {dtype}
    assert not device.names & MISSING


@pytest.mark.parametrize("variant", OPTIONS)
def test_grouping_changes_no_bit(variant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = load_problem("geman_mcclure", K=4, dim=4)
    plain = measure(variant, problem, replicates=27, backend="numpy", engine="array")
    monkeypatch.setattr(engine, "ARRAY_BYTES", 1)
    monkeypatch.setattr(engine, "NOISE_BYTES", 1)
    same(plain, measure(variant, problem, replicates=27, backend="numpy", engine="array"))
    few = measure(variant, problem, replicates=5, backend="numpy", engine="array")
    np.testing.assert_array_equal(few.grad_sq, plain.grad_sq[:5])


# Per worker, at T = 12, I = 4 (three rounds), b = 2: samples, draws, vectors up and down. A full
# local gradient counts b I = 8.
COSTS: dict[str, tuple[float, float, float, float]] = {
    "scaffold": (24, 24, 6, 6),
    "scaffold I": (24 + 24, 24 + 24, 6, 6),
    "scaffold half": (12, 12, 3, 3),
    "fedavg half": (12, 12, 1.5, 1.5),
    "fedprox": (24, 24, 3, 3),
    "mime": (48 + 24, 24 + 24, 6, 9),
    "mime half": (36, 24, 3, 4.5),
    "mimelite": (24 + 24, 24 + 24, 6, 6),
    "mimemvr": (48 + 24, 24 + 24, 6, 6),
    "mimemvr half": (24 + 20, 12 + 20, 3, 4),  # the first round has no point before it
    "mimemvr nearly all": (48 + 24, 24 + 24, 6, 6),  # 0.9 of 4 workers are 4
    "fedglomo": (4 * 24 - 3 * 4 - 14, 24, 6, 6),  # round 1 is one trajectory: 7 b for 14 b
    "fedpd": (24, 24, 3, 3),
    "fedpd II": (48 + 16, 24 + 16, 3, 3),
    "local-polyak": (24, 24, 6, 6),
    "local-nesterov": (24, 24, 6, 6),
    "vrl-sgd": (24, 24, 3, 3),
    "slowmo": (24, 24, 3, 3),
}


@pytest.mark.parametrize("variant", COSTS)
def test_costs(variant: str) -> None:
    counts = measure(variant, load_problem("quadratic", K=4, dim=3)).counts
    found = (counts.samples_per_worker, counts.draws_per_worker)
    assert (*found, counts.vectors_up, counts.vectors_down) == COSTS[variant]
    assert counts.floats_up == 3 * counts.vectors_up
    assert counts.floats_down == 3 * counts.vectors_down
    assert counts.rounds == 3


def test_a_full_local_gradient_of_a_finite_sum_counts_its_points() -> None:
    problem = load_problem("logistic", K=4, dim=3, points=32)
    assert measure("mimelite", problem).counts.samples_per_worker == 24 + 3 * 32


# Random choices.


def test_every_set_of_workers_is_equally_likely() -> None:
    """6 pairs of 4 workers in 60,000 draws: every frequency within 5 standard errors (2e-6)."""
    drawn = weights(np.random.default_rng(2).random((60_000, 4)), 0.5)[..., 0]
    assert set(np.unique(drawn)) == {0.0, 2.0}
    assert np.all(drawn.sum(axis=-1) == 4)
    codes = (drawn > 0) @ np.array([1, 2, 4, 8])
    counts = np.unique(codes, return_counts=True)[1]
    assert len(counts) == 6
    assert np.abs(counts - 10_000).max() < 5 * np.sqrt(60_000 * 5 / 36)


@pytest.mark.parametrize("name", ["fedavg", "scaffold", "mime", "mimemvr", "fedglomo"])
def test_sampling_workers_shifts_no_gradient_noise(name: str) -> None:
    """A share that rounds to all workers draws its choices and gives the run without them."""
    problem = load_problem("cosine", K=4, dim=3)
    entry = ALGORITHMS[name]
    eta = {"eta": 0.05} | ({"a": 0.2} if entry.family == "stem" else {})
    options: dict[str, Any] = {"T": 40, "b": 2, "I": 4, "replicates": 11}
    options |= {"schedule": "constant", "schedule_options": eta}
    plain = simulate(problem, name, **options)
    drawn = simulate(problem, name, algorithm_options={"participation": 0.9}, **options)
    assert gap(drawn.grad_sq, plain.grad_sq) < 1e-12


@pytest.mark.parametrize("name", ["fedavg", "mime", "mimemvr"])
def test_the_measured_point_is_the_mean_of_those_who_take_part(name: str) -> None:
    """Without noise and heterogeneity every sample gives the run with all workers.

    SCAFFOLD's does not: the variates of workers that sat out are old.
    """
    problem = load_problem("cosine", K=4, dim=3, sigma=0, zeta=0)
    eta = {"eta": 0.05} | ({"a": 0.2} if ALGORITHMS[name].family == "stem" else {})
    options: dict[str, Any] = {"T": 24, "b": 1, "I": 4, "replicates": 8, "record_every": 1}
    options |= {"schedule": "constant", "schedule_options": eta}
    half = simulate(problem, name, algorithm_options=HALF, **options)
    assert gap(half.series, simulate(problem, name, **options).series) < 1e-13


def test_choices_depend_on_seed_and_replicate() -> None:
    problem = load_problem("cosine", K=4, dim=3, sigma=0)
    one, other = (measure("fedavg half", problem, seed=seed).grad_sq for seed in (0, 1))
    assert len(np.unique(one)) > 5
    assert not np.array_equal(one, other)


# The registry.


@pytest.mark.parametrize("name", ALGORITHMS)
def test_an_entry_says_what_it_needs_and_promises(name: str) -> None:
    entry = ALGORITHMS[name]
    assert entry.summary
    assert entry.needs
    assert entry.promises
    assert entry.row in {"", *(row.algorithm for row in table1_exponents(1))}
    assert all(option.text for option in entry.options.values())


def test_every_row_of_table_1_has_an_algorithm() -> None:
    quoted = {row.algorithm for row in table1_exponents(1)}
    assert quoted - {e.row for e in ALGORITHMS.values()} == {"FedAvg (Karimireddy, Yang et al.)"}


@pytest.mark.parametrize("name", SYSTEMS)
def test_theory_gives_a_step_that_ends_well(name: str) -> None:
    for problem in ("quadratic", "geman_mcclure"):
        trace = simulate(load_problem(problem, K=4, dim=2), name, T=200, b=1, replicates=4)
        assert trace.status == "ok"


BAD: list[tuple[str, dict[str, Any], str]] = [
    ("scaffold", {"option": "III"}, "I, II"),
    ("scaffold", {"participation": 0}, "participation is 0"),
    ("scaffold", {"participation": 1.1}, "share"),
    ("scaffold", {"server_step": -1}, "server_step is -1"),
    ("scaffold", {"opton": "I"}, "known are option, participation, server_step"),
    ("fedprox", {"mu": -1}, "mu is -1"),
    ("mime", {"beta": 1}, "beta is 1"),
    ("fedpd", {"skip": 1.0}, "skip is 1"),
    ("fedpd", {"refresh": 0}, "refresh is 0"),
    ("fedglomo", {"compression": "zip"}, "none, quantise, sparsify"),
    ("fedglomo", {"local_momentum": 2}, "local_momentum is 2"),
    ("spider", {"period": 1.5}, "period is 1.5"),
    ("stem", {"participation": 0.5}, "unknown for stem; known are sync, sync_batch"),
]


@pytest.mark.parametrize(("name", "options", "said"), BAD)
def test_bad_options_are_one_sentence(name: str, options: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said) as caught:
        simulate(load_problem("quadratic"), name, T=8, algorithm_options=options)
    assert "\n" not in str(caught.value)


def test_systems_have_one_reading() -> None:
    with pytest.raises(UsageError, match="one reading"):
        simulate(load_problem("quadratic"), "scaffold", T=8, sync="overwrite")
