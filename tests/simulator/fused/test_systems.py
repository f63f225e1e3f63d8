"""Every system that has a kernel, beside the array engine on identical noise."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

pytest.importorskip("numba", reason="the fused engine is compiled by numba")

from stemtheory import Trace, UsageError, load_problem, simulate
from stemtheory.algorithms import ALGORITHMS, FedProx, Spider
from stemtheory.runtime import resolve
from stemtheory.schedules import Practical
from stemtheory.simulator import Run
from stemtheory.simulator.array_engine import Plan, run_plan
from stemtheory.simulator.fused import run_fused
from stemtheory.simulator.fused.systems import SYSTEMS, texts_of, unsuited_system

FIELDS = ("series", "running", "grad_sq", "last", "best")
MOMENTUM = ("mimemvr", "fedglomo")  # whose schedule has an a
# Each with its options, and one of them told wrongly: the mutant.
CASES: tuple[tuple[str, dict[str, Any], dict[str, Any]], ...] = (
    ("local-polyak", {"beta": 0.8}, {"beta": 0.79}),
    ("local-nesterov", {"beta": 0.5}, {"beta": 0.49}),
    ("slowmo", {"alpha": 0.7, "beta": 0.3}, {"alpha": 0.7, "beta": 0.31}),
    ("vrl-sgd", {}, {"warm_up": True}),
    ("vrl-sgd", {"warm_up": True}, {}),
    ("fedprox", {"mu": 0.3}, {"mu": 0.31}),
    ("mime", {"server_step": 0.7}, {"server_step": 0.71}),
    ("mimelite", {"beta": 0.5, "server_step": 0.7}, {"beta": 0.49, "server_step": 0.7}),
    ("mimemvr", {"server_step": 0.7}, {"server_step": 0.71}),
    ("fedpd", {"oracle": "I"}, {"oracle": "I", "prox": 0.15}),
    ("fedpd", {"oracle": "II", "refresh": 2}, {"oracle": "II", "refresh": 3}),
    ("fedglomo", {"local_momentum": 0.6}, {"local_momentum": 0.61}),
    ("spider", {"period": 5}, {"period": 6}),
)
# Chunks begin inside of workers; one worker; rounds of one step and of many.
SHAPES: tuple[tuple[dict[str, Any], dict[str, Any]], ...] = (
    ({}, {}),
    ({"K": 3, "dim": 700}, {"T": 24, "replicates": 2}),
    ({"K": 5, "dim": 3}, {"T": 60, "I": 1}),
    ({}, {"T": 60, "I": 60}),
    ({"K": 129, "dim": 4}, {"T": 21, "I": 7, "replicates": 2}),
)


def run(engine: str, problem: Any, name: str, options: dict[str, Any], **more: Any) -> Trace:
    sizes = {"T": 300, "b": 2, "I": 4, "replicates": 5, "record_every": 1, **more}
    if name == "spider":
        sizes["I"] = 1
    steps = {"eta": 0.05} | ({"a": 0.3} if name in MOMENTUM else {})
    return simulate(
        problem, name, engine=engine, noise_source="philox", schedule="constant",
        schedule_options=steps, algorithm_options=options, threads=2, **sizes,
    )  # fmt: skip


def assert_same(problem: Any, name: str, options: dict[str, Any], rtol: float, **more: Any) -> None:
    array, fused = (run(engine, problem, name, options, **more) for engine in ("array", "fused"))
    for field in FIELDS:
        np.testing.assert_allclose(getattr(fused, field), getattr(array, field), rtol=rtol)
    assert fused.counts == array.counts


def test_every_system_is_among_the_cases() -> None:
    """But for those that test_same_noise has."""
    known = {*(name for name, _, _ in CASES), "stem", "fedavg", "scaffold"}
    assert {type(ALGORITHMS[name].make({})) for name in known} == set(SYSTEMS)


@pytest.mark.parametrize(("shape", "more"), SHAPES)
@pytest.mark.parametrize(("name", "options"), [case[:2] for case in CASES])
def test_the_engines_agree(
    name: str, options: dict[str, Any], shape: dict[str, Any], more: dict[str, Any]
) -> None:
    """VRL-SGD and MIME divide and add up what is rounded: 1e-12 was seen."""
    assert_same(load_problem("cosine", **shape), name, options, 1e-11, **more)


@pytest.mark.parametrize("name", ["vrl-sgd", "fedglomo"])
def test_single_precision(name: str) -> None:
    assert_same(load_problem("cosine"), name, {}, 2e-4, T=60, dtype="float32")


@pytest.mark.parametrize(("name", "options", "mutant"), CASES)
def test_another_option_is_told_apart(
    name: str, options: dict[str, Any], mutant: dict[str, Any]
) -> None:
    """The mutants of the comparison: one number of each system."""
    problem = load_problem("cosine")
    array, fused = run("array", problem, name, options), run("fused", problem, name, mutant)
    assert np.abs(fused.grad_sq / array.grad_sq - 1).min() > 1e-6


@pytest.mark.parametrize("name", ["slowmo", "vrl-sgd", "mimemvr", "fedpd", "fedglomo"])
def test_varying_steps(name: str) -> None:
    """What a round's end is told is of this round: its last step, their sum, its first a."""
    options: dict[str, Any] = {"T": 64, "b": 1, "I": 4, "replicates": 3}
    made = Run.of(load_problem("cosine"), name, noise_source="philox", **options)
    plan = Plan.of(made, resolve("numpy"), np.arange(1, 65))
    plan = dataclasses.replace(plan, schedule=Practical(sigma=1.0))
    array, fused = run_plan(plan, 3), run_fused(plan, 3)
    np.testing.assert_allclose(fused.series, array.series, rtol=1e-11)


def test_fedprox_without_a_pull_is_fedavg_to_the_last_bit() -> None:
    problem = load_problem("cosine")
    prox, plain = run("fused", problem, "fedprox", {"mu": 0}), run("fused", problem, "fedavg", {})
    np.testing.assert_array_equal(prox.series, plain.series)


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("fedavg", {"participation": 0.5}, "participation is 0.5"),
        ("mime", {"participation": 0.5}, "participation is 0.5"),
        ("fedpd", {"skip": 0.25}, "skip is 0.25"),
        ("fedglomo", {"compression": "quantise"}, "compression is quantise"),
        ("spider", {"reach": 0.5}, "reach is 0.5"),
    ],
)
def test_what_has_no_kernel(name: str, options: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        run("fused", load_problem("cosine"), name, options, T=8)


def test_an_algorithm_of_ones_own_takes_no_kernel_of_its_parent() -> None:
    class Mine(FedProx):
        pass

    said = str(unsuited_system(Mine(), 4))
    assert said.startswith("it has Stem, ")
    assert said.endswith(" and FedGlomo, not Mine")


def test_spider_has_rounds_of_one_step() -> None:
    assert unsuited_system(Spider(), 1) is None
    assert "I is 2" in str(unsuited_system(Spider(), 2))


def test_a_kernel_is_made_of_texts_that_are_there() -> None:
    assert texts_of("slowmo") == ("fedavg", "slowmo")
    assert texts_of("mimemvr") == ("mimemvr",)
