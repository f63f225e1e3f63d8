"""The fused and the array engine on identical noise, and in law on their own."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

pytest.importorskip("numba", reason="the fused engine is compiled by numba")

from stemtheory import Trace, load_problem, simulate
from stemtheory.algorithms.stem import READINGS
from tests.helpers.law import apart

STEPS = {
    "stem": {"eta": 0.05, "a": 0.1},
    "fedavg": {"eta": 0.05},
    "minibatch-sgd": {"eta": 0.05},
    "scaffold": {"eta": 0.05},
}
TOLERANCE = {"float64": 1e-12, "float32": 1e-5}


def _three(x: Any, size: Any) -> Any:
    return size + (x - x), size * x, size - size * x


def _four(x: Any, size: Any) -> Any:
    return size + (x - x), size * x, size - size * x, size * x * x


def run(engine: str, problem: Any, algorithm: str = "stem", **more: Any) -> Trace:
    options = {"T": 300, "b": 2, "I": 4, "replicates": 10, "record_every": 1, **more}
    if algorithm == "minibatch-sgd":
        options["I"] = 1
    return simulate(
        problem, algorithm, engine=engine, noise_source="philox", schedule="constant",
        schedule_options=STEPS[algorithm], threads=2, **options,
    )  # fmt: skip


def assert_same(problem: Any, algorithm: str = "stem", **more: Any) -> None:
    """Every ||grad f(xbar_t)||^2 of every replicate, the averages, and the counts."""
    array, fused = (run(engine, problem, algorithm, **more) for engine in ("array", "fused"))
    rtol = TOLERANCE[more.get("dtype", "float64")]
    for name in ("series", "running", "grad_sq", "last", "best"):
        np.testing.assert_allclose(getattr(fused, name), getattr(array, name), rtol=rtol)
    assert fused.counts == array.counts
    assert fused.settings == {**array.settings, "engine": "fused"}


@pytest.mark.parametrize("sync_batch", [1, 3])
@pytest.mark.parametrize("sync", READINGS)
def test_every_reading(sync: str, sync_batch: int) -> None:
    assert_same(load_problem("cosine"), sync=sync, sync_batch=sync_batch)


@pytest.mark.parametrize(("T", "I"), [(60, 1), (60, 60), (61, 7), (1, 1), (600, 300)])
def test_rounds_of_any_length(T: int, I: int) -> None:
    assert_same(load_problem("cosine"), T=T, I=I)


@pytest.mark.parametrize("sync", READINGS)
@pytest.mark.parametrize(
    ("K", "dim"), [(3, 700), (30, 7), (1, 1), (2, 512), (3, 171), (5, 1100), (129, 4)]
)
def test_any_shape_over_several_chunks(K: int, dim: int, sync: str) -> None:
    """Chunks begin and end inside of workers, and hold rows of arguments and of signs."""
    dials = {"heterogeneity": "none", "zeta": 0} if K == 1 else {"heterogeneity": "tilt"}
    problem = load_problem("corridor", K=K, dim=dim, noise="modulated", spectrum=9.0, **dials)
    assert_same(problem, T=24, sync=sync, replicates=3)


def test_step_sizes_of_the_theorem() -> None:
    problem = load_problem("cosine")
    array, fused = (
        simulate(problem, T=512, nu=0.5, engine=engine, noise_source="philox", record_every=1)
        for engine in ("array", "fused")
    )
    np.testing.assert_allclose(fused.series, array.series, rtol=1e-12)


@pytest.mark.parametrize(
    ("family", "algorithm", "dials", "dtype"),
    [
        ("geman_mcclure", "fedavg", {"heterogeneity": "none", "zeta": 0, "noise": "additive"}, 64),
        ("welsch", "stem", {"noise": "multiplicative"}, 32),
        ("cauchy", "minibatch-sgd", {"heterogeneity": "tilt"}, 32),
        ("quadratic", "stem", {"sigma": 0, "spectrum": 10.0, "het_phase": 0.3}, 64),
        ("cosine", "stem", {"noise": "modulated", "spectrum": 5.0, "K": 20, "dim": 150}, 32),
    ],
)
def test_families_algorithms_and_noises(
    family: str, algorithm: str, dials: dict[str, Any], dtype: int
) -> None:
    assert_same(load_problem(family, **dials), algorithm, dtype=f"float{dtype}")


@pytest.mark.parametrize(("terms", "fields"), [(3, _three), (4, _four)])
@pytest.mark.parametrize(("K", "dim"), [(1, 1), (4, 8), (3, 11), (3, 30), (2, 300)])
def test_any_number_of_fields(terms: int, fields: Any, K: int, dim: int) -> None:
    """Whole blocks of 64 normals hold 16, 32 or 64 elements of all fields."""
    base: Any = load_problem("cosine", K=K, dim=dim, noise="additive", zeta=0)
    noise = dataclasses.replace(base.noise, terms=terms, fields=fields)
    assert_same(dataclasses.replace(base, noise=noise), T=24, replicates=3, I=10)


@pytest.mark.parametrize("option", ["I", "II"])
@pytest.mark.parametrize(
    ("shape", "more"),
    [
        ({}, {"T": 300}),
        ({}, {"T": 61, "I": 7}),
        ({"K": 3, "dim": 700}, {"T": 24, "replicates": 3}),
        ({"K": 129, "dim": 4}, {"T": 24, "replicates": 3}),
    ],
)
def test_scaffold(option: str, shape: dict[str, Any], more: dict[str, Any]) -> None:
    """Both options, server steps other than 1, and chunks that begin inside of workers."""
    for server_step in (1.0, 0.7):
        own = {"option": option, "server_step": server_step}
        assert_same(load_problem("cosine", **shape), "scaffold", algorithm_options=own, **more)


def test_the_mean_of_the_control_variates_does_not_wander() -> None:
    """float32 beside float64 over 750 rounds; with a mean left to rounding the error is 3e-4."""
    double, single = (
        run("fused", load_problem("cosine"), "scaffold", T=3000, dtype=dtype)
        for dtype in ("float64", "float32")
    )
    np.testing.assert_allclose(single.series, double.series, rtol=1e-5)


def test_another_option_is_told_apart() -> None:
    """The mutant of the comparison."""
    problem = load_problem("cosine")
    array = run("array", problem, "scaffold", algorithm_options={"option": "II"})
    fused = run("fused", problem, "scaffold", algorithm_options={"option": "I"})
    assert np.abs(fused.grad_sq / array.grad_sq - 1).min() > 1e-6


def test_another_reading_is_told_apart() -> None:
    """The mutant: what must differ, differs by far more than the tolerance."""
    problem = load_problem("cosine")
    array, fused = run("array", problem), run("fused", problem, sync="overwrite")
    assert np.abs(fused.grad_sq / array.grad_sq - 1).min() > 1e-6


def test_the_engines_agree_in_law() -> None:
    """Each with its own noise, the means over replicates: |z| < 4 (false alarm 6e-5)."""
    problem = load_problem("cosine")
    traces = [
        simulate(problem, T=256, b=1, I=4, replicates=400, engine=engine, seed=3)
        for engine in ("array", "fused")
    ]
    assert 0 < apart(*traces) < 4
