"""The array engine: counts, bits, memory, and what a diverged run says."""

from __future__ import annotations

import math
import tracemalloc
from typing import Any

import numpy as np
import pytest

import stemtheory.simulator.array_engine as engine
from stemtheory import Trace, load_problem, simulate
from stemtheory.algorithms import ALGORITHMS
from stemtheory.runtime.errors import UsageError
from stemtheory.runtime.streams import NoiseKey
from stemtheory.schedules.by_name import make_schedule
from stemtheory.simulator.stepwise import walk


@pytest.mark.parametrize("sync", ["literal", "average-first", "overwrite", "average-both"])
@pytest.mark.parametrize(("T", "I"), [(12, 4), (13, 4), (5, 1), (7, 7)])
def test_t10_stem_counts(sync: str, T: int, I: int) -> None:
    """T10, ALG-3, ALG-4: B + 2bT samples, B + bT draws, T/I rounds, and what is sent."""
    trace = simulate(load_problem("quadratic", dim=2), T=T, b=1.5, I=I, B=7, sync=sync)
    steps = -(-T // I) * I
    counts, rounds = trace.counts, steps // I
    assert trace.settings["T"] == steps
    assert counts.samples_per_worker == 7 + 2 * 1.5 * steps
    assert counts.draws_per_worker == 7 + 1.5 * steps
    assert counts.rounds == rounds
    assert counts.exchanges == (2 * rounds if "first" in sync or "both" in sync else rounds) + 1
    assert counts.vectors_up == counts.vectors_down == 2 * rounds + 1


def test_t10_fedavg_counts() -> None:
    counts = simulate(load_problem("quadratic", dim=2), "fedavg", T=12, b=3, I=4).counts
    assert (counts.samples_per_worker, counts.draws_per_worker) == (36, 36)
    assert (counts.rounds, counts.exchanges, counts.vectors_up) == (3, 3, 3)


@pytest.mark.parametrize(("sync", "jumps"), [("literal", 2), ("average-first", 3)])
def test_sync_batch_costs_two_more_batches_a_jump(sync: str, jumps: int) -> None:
    trace = simulate(load_problem("quadratic"), T=12, b=2, I=4, sync=sync, sync_batch=5)
    assert trace.counts.samples_per_worker == 8 + 2 * 2 * 12 + 2 * 4 * 2 * jumps


@pytest.mark.parametrize("algorithm", ["stem", "fedavg"])
@pytest.mark.parametrize("rotate", [False, True])
def test_engine_equals_the_walk(algorithm: str, rotate: bool) -> None:
    """The fast loop and the open one give the same numbers on the same noise."""
    problem = load_problem("cosine", K=3, dim=2, rotate=rotate)
    trace = simulate(problem, algorithm, T=12, b=2, I=4, replicates=8, record_every=1)
    seed = NoiseKey(0, 2, 3, 12, 2.0, 4)

    def stream(purpose: str) -> Any:
        return np.random.Generator(np.random.SFC64(seed.seed_sequence(0, purpose)))

    steps = stream("steps")

    def draw(t: int, samples: float) -> Any:
        source = steps if t else stream("initial")
        return problem.draw(source, (1, 8), samples, np.dtype(np.float64))[0]

    schedule = make_schedule("theorem", algorithm=algorithm, T=12, K=3, b=2, I=4, L=1, sigma=0.5)
    visits = walk(
        problem,
        ALGORITHMS[algorithm].make(),
        schedule,
        T=12,
        I=4,
        x1=1.0,
        b=2,
        draw=draw,
        replicates=8,
    )
    for i, v in enumerate(visits):
        gradient = problem.full_gradient(v.before.x.mean(axis=-2))
        np.testing.assert_allclose(trace.series[i], (gradient**2).sum(-1), rtol=1e-11)


def test_bits_do_not_depend_on_chunks_or_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = load_problem("geman_mcclure", K=3, dim=5)

    def measure(**more: Any) -> Trace:
        return simulate(problem, T=50, b=2, I=3, replicates=45, record_every=7, **more)

    plain = measure()
    for array_bytes, noise_bytes, threads in [
        (1, 1, 1),
        (1, 10**7, 2),
        (4000, 5000, 5),
        (10**9, 1, 3),
    ]:
        monkeypatch.setattr(engine, "ARRAY_BYTES", array_bytes)
        monkeypatch.setattr(engine, "NOISE_BYTES", noise_bytes)
        other = measure(threads=threads)
        for name in ("grad_sq", "last", "best", "series", "running"):
            np.testing.assert_array_equal(getattr(plain, name), getattr(other, name))


def test_series_and_running_average() -> None:
    trace = simulate(load_problem("quadratic", dim=3), T=30, b=1, I=3, record_every=1)
    np.testing.assert_array_equal(trace.times, np.arange(1, 31))
    np.testing.assert_allclose(trace.series.mean(axis=0), trace.grad_sq, rtol=1e-13)
    np.testing.assert_allclose(trace.running[-1], trace.grad_sq, rtol=1e-15)
    np.testing.assert_array_equal(trace.series.min(axis=0), trace.best)
    np.testing.assert_array_equal(trace.series[-1], trace.last)
    frame = trace.to_frame()
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


@pytest.mark.parametrize("algorithm", ["stem", "fedavg"])
def test_float32_stays_float32(algorithm: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: set[str] = set()
    original = engine._Unit.advance

    def spy(self: Any, *args: Any) -> Any:
        result = original(self, *args)
        seen.update(getattr(self.state, name).dtype.name for name in ("x",))
        seen.add(result.dtype.name)
        return result

    monkeypatch.setattr(engine._Unit, "advance", spy)
    for noise in ("additive", "phase", "modulated", "multiplicative"):
        simulate(load_problem("cosine", noise=noise), algorithm, T=10, b=2, I=2, dtype="float32")
    assert seen == {"float32"}


def test_float32_agrees_with_float64_on_a_noiseless_run() -> None:
    problem = load_problem("geman_mcclure", sigma=0)
    a, b = (simulate(problem, T=500, b=1, I=2, dtype=d).grad_sq[0] for d in ("float32", "float64"))
    assert a == pytest.approx(b, rel=1e-5)


def test_divergence_is_said_and_spoils_no_other_replicate() -> None:
    """Pitfall 24: one diverged replicate leaves the other rows alone, and the mean is null."""
    problem = load_problem("quadratic", K=2, dim=1, noise="multiplicative", L=4.0, zeta=0)
    options = {"eta": 1.05, "a": 1.0}
    trace = simulate(
        problem, T=2400, b=1, I=2, replicates=32, schedule="constant", schedule_options=options
    )
    assert trace.status == "diverged"
    assert trace.mean_grad_sq is None
    assert trace.stderr is None
    assert np.all(np.isnan(trace.grad_sq) == (trace.diverged_at > 0))
    assert np.all(np.isnan(trace.last) == (trace.diverged_at > 0))
    assert trace.diverged_at.max() > 0


def test_a_diverged_replicate_is_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = load_problem("quadratic", K=2, dim=1)
    clean = simulate(problem, T=60, b=1, I=2, replicates=8)
    original = engine._Streams.initial

    def poisoned(self: Any) -> Any:
        minibatch = original(self)
        minibatch[:, 3] = np.inf
        return minibatch

    monkeypatch.setattr(engine._Streams, "initial", poisoned)
    trace = simulate(problem, T=60, b=1, I=2, replicates=8)
    assert trace.diverged_replicates == 1
    assert trace.diverged_at[3] == 2
    others = np.arange(8) != 3
    np.testing.assert_array_equal(trace.grad_sq[others], clean.grad_sq[others])
    assert trace.mean_grad_sq is None
    assert trace.mean_grad_sq_finite == pytest.approx(clean.grad_sq[others].mean())


def test_all_diverged_stops_early_and_keeps_its_shape() -> None:
    problem = load_problem("quadratic", sigma=0, zeta=0)
    trace = simulate(
        problem,
        "fedavg",
        T=10**6,
        b=1,
        I=1,
        replicates=9,
        record_every=10**5,
        schedule="constant",
        schedule_options={"eta": 50.0},
    )
    assert trace.status == "diverged"
    assert trace.series.shape == (10, 9)
    assert trace.mean_grad_sq_finite is None
    assert trace.counts.samples_per_worker < 10**4


def test_memory_is_a_block_of_steps_times_the_state() -> None:
    """Ten times more steps take no more memory."""
    problem = load_problem("quadratic", K=2, dim=4)
    peaks = []
    for T in (2_000, 20_000):
        simulate(problem, T=64, b=1, I=1, replicates=8)
        tracemalloc.start()
        simulate(problem, T=T, b=1, I=1, replicates=8)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.2 * peaks[0]


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
