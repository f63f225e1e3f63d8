"""What simulate gives back: counts, series, one law for both ways to draw, and refusals."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from stemtheory import load_problem, simulate
from stemtheory.runtime.errors import UsageError


@pytest.mark.parametrize("sync", ["literal", "average-first", "overwrite", "average-both"])
@pytest.mark.parametrize(("T", "I"), [(12, 4), (13, 4), (5, 1), (7, 7)])
def test_stem_counts(sync: str, T: int, I: int) -> None:
    """ALG-3, ALG-4: B + 2bT samples, B + bT draws, T/I rounds, and what is sent."""
    trace = simulate(load_problem("quadratic", dim=2), T=T, b=1.5, I=I, B=7, sync=sync)
    steps = -(-T // I) * I
    counts, rounds = trace.counts, steps // I
    assert trace.settings["T"] == steps
    assert counts.samples_per_worker == 7 + 2 * 1.5 * steps
    assert counts.draws_per_worker == 7 + 1.5 * steps
    assert counts.rounds == rounds
    assert counts.exchanges == (2 * rounds if "first" in sync or "both" in sync else rounds) + 1
    assert counts.vectors_up == counts.vectors_down == 2 * rounds + 1


def test_fedavg_counts() -> None:
    counts = simulate(load_problem("quadratic", dim=2), "fedavg", T=12, b=3, I=4).counts
    assert (counts.samples_per_worker, counts.draws_per_worker) == (36, 36)
    assert (counts.rounds, counts.exchanges, counts.vectors_up) == (3, 3, 3)


@pytest.mark.parametrize(("sync", "jumps"), [("literal", 2), ("average-first", 3)])
def test_sync_batch_costs_two_more_batches_a_jump(sync: str, jumps: int) -> None:
    trace = simulate(load_problem("quadratic"), T=12, b=2, I=4, sync=sync, sync_batch=5)
    assert trace.counts.samples_per_worker == 8 + 2 * 2 * 12 + 2 * 4 * 2 * jumps


def test_series_and_running_average() -> None:
    trace = simulate(load_problem("quadratic", dim=3), T=30, b=1, I=3, record_every=1)
    np.testing.assert_array_equal(trace.times, np.arange(1, 31))
    np.testing.assert_allclose(trace.series.mean(axis=0), trace.grad_sq, rtol=1e-13)
    np.testing.assert_allclose(trace.running[-1], trace.grad_sq, rtol=1e-15)
    np.testing.assert_array_equal(trace.series.min(axis=0), trace.best)
    np.testing.assert_array_equal(trace.series[-1], trace.last)
    frame = trace.frame
    assert list(frame.columns) == ["t", "replicate", "grad_sq", "running"]
    assert len(frame) == 30 * 32


@pytest.mark.parametrize("T", [1, 2, 3])
def test_smallest_runs(T: int) -> None:
    for algorithm in ("stem", "fedavg"):
        trace = simulate(
            load_problem("quadratic", K=1, dim=1), algorithm, T=T, b=1, I=1, replicates=1
        )
        assert trace.status == "ok"
        assert trace.series.shape == (1, 1)
        assert trace.stderr is None
        assert trace.ci95 is None


def test_float32_agrees_with_float64_on_a_noiseless_run() -> None:
    problem = load_problem("geman_mcclure", sigma=0)
    a, b = (simulate(problem, T=500, b=1, I=2, dtype=d).grad_sq[0] for d in ("float32", "float64"))
    assert a == pytest.approx(b, rel=1e-5)


@pytest.mark.parametrize("noise", ["additive", "phase", "modulated"])
def test_per_sample_mode_has_the_same_law(noise: str) -> None:
    """b samples drawn for real against one draw of their mean: |z| < 4 (false alarm 6e-5)."""
    problem = load_problem("quadratic", K=2, dim=1, noise=noise)
    runs = [
        simulate(problem, T=60, b=3, I=2, replicates=800, per_sample=mode, x1=0.3)
        for mode in (False, True)
    ]
    assert not np.array_equal(runs[0].grad_sq, runs[1].grad_sq)
    assert runs[0].mean_grad_sq is not None
    assert runs[1].mean_grad_sq is not None
    assert runs[0].stderr is not None
    assert runs[1].stderr is not None
    z = (runs[0].mean_grad_sq - runs[1].mean_grad_sq) / math.hypot(runs[0].stderr, runs[1].stderr)
    assert abs(z) < 4
    ratio = np.log(runs[0].grad_sq.std() / runs[1].grad_sq.std())
    assert abs(ratio) < 0.3


def test_start_may_be_a_vector() -> None:
    problem = load_problem("quadratic", dim=3, zeta=0, h=1.0, noise="additive")
    trace = simulate(problem, T=1, b=1, I=1, x1=[1.0, 2.0, 2.0])
    np.testing.assert_allclose(trace.grad_sq, 9.0)


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ({"T": 0}, "T is 0"),
        ({"T": 1.5}, "T is 1.5"),
        ({"b": 0.5}, "b is 0.5"),
        ({"I": 0}, "I is 0"),
        ({"I": 2.5}, "I is 2.5"),
        ({"replicates": 0}, "replicates is 0"),
        ({"nu": 1.5}, "nu is 1.5"),
        ({"nu": -0.1}, "nu is -0.1"),
        ({"nu": 0.5, "b": 2}, "together"),
        ({"nu": 0.5, "I": 2}, "together"),
        ({"B": 0.0}, "B is 0"),
        ({"seed": -1}, "seed is -1"),
        ({"x1": math.nan}, "x1"),
        ({"x1": [1.0, 2.0]}, "x1"),
        ({"sync": "litteral"}, "literal"),
        ({"algorithm": "stam"}, "stem"),
        ({"dtype": "float16"}, "float16"),
        ({"engine": "warp"}, "warp"),
        ({"schedule": "theory"}, "theorem"),
        ({"per_sample": True, "b": 1.5}, "whole batches"),
    ],
)
def test_bad_input_is_one_sentence(bad: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said) as caught:
        simulate(load_problem("quadratic"), **{"T": 8, **bad})
    assert "\n" not in str(caught.value)
