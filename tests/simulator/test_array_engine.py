"""The array engine: bits, memory, types, random choices, costs, and what a diverged run says."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest

import stemtheory.simulator.array_engine as engine
from stemtheory import Trace, load_problem, simulate
from stemtheory.algorithms import ALGORITHMS
from stemtheory.runtime.streams import NoiseKey, generator
from stemtheory.schedules import make_schedule
from stemtheory.simulator.stepwise import walk
from tests.algorithms.common import HALF, OPTIONS, gap
from tests.helpers.fake_device import MISSING, Device, fake_backend


@pytest.mark.parametrize("algorithm", ["stem", "fedavg"])
@pytest.mark.parametrize("rotate", [False, True])
def test_engine_equals_the_walk(algorithm: str, rotate: bool) -> None:
    """The fast loop and the open one give the same numbers on the same noise."""
    problem = load_problem("cosine", K=3, dim=2, rotate=rotate)
    trace = simulate(problem, algorithm, T=12, b=2, I=4, replicates=8, record_every=1)
    key = NoiseKey(0, 2, 3, 12, 2.0, 4)

    def streams(purpose: str) -> list[Any]:
        return [generator(seed) for seed in key.replicate_seeds(range(8), purpose)]

    steps = streams("steps")

    def draw(t: int, samples: float) -> Any:
        sources = steps if t else streams("initial")
        drawn = [problem.draw(s, (1, 1), samples, np.dtype(np.float64)) for s in sources]
        return np.concatenate(drawn, axis=1)[0]

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


def test_divergence_is_said_and_spoils_no_other_replicate() -> None:
    """One diverged replicate leaves the other rows alone, and the mean is null."""
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
    original = engine.GroupStreams.initial

    def poisoned(self: Any) -> Any:
        minibatch = original(self)
        minibatch[3] = np.inf
        return minibatch

    monkeypatch.setattr(engine.GroupStreams, "initial", poisoned)
    trace = simulate(problem, T=60, b=1, I=2, replicates=8)
    assert trace.diverged_replicates == 1
    assert trace.diverged_at[3] == 2
    others = np.arange(8) != 3
    np.testing.assert_array_equal(trace.grad_sq[others], clean.grad_sq[others])
    assert trace.mean_grad_sq is None
    assert trace.mean_grad_sq_finite == pytest.approx(clean.grad_sq[others].mean())


@pytest.mark.parametrize("most", [256, 3])
def test_what_diverged_keeps_nothing_from_there_on(
    monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    """However many steps are taken at once: after 1e100 there are finite numbers for a while."""
    monkeypatch.setattr(engine, "MOST_STEPS", most)
    problem = load_problem("quadratic", K=2, dim=1, noise="multiplicative", L=4.0, zeta=0)
    trace = simulate(
        problem, "fedavg", T=60, b=1, I=1, replicates=4, engine="array", record_every=1,
        schedule="constant", schedule_options={"eta": 50.0},
    )  # fmt: skip
    assert np.all(trace.diverged_at > 1)
    lost = trace.times[:, None] >= trace.diverged_at
    np.testing.assert_array_equal(np.isnan(trace.series), lost)
    np.testing.assert_array_equal(np.isnan(trace.running), lost)
    np.testing.assert_array_equal(trace.best, np.nanmin(trace.series, axis=0))


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
        engine="array",
    )
    assert trace.status == "diverged"
    assert trace.series.shape == (10, 9)
    assert trace.mean_grad_sq_finite is None
    assert trace.counts.samples_per_worker < 10**4


def test_memory_is_a_block_of_steps_times_the_state() -> None:
    """Ten times more steps take no more memory."""
    problem = load_problem("quadratic", K=2, dim=4)
    peaks = []
    for T in (600, 6_000):
        simulate(problem, T=64, b=1, I=1, replicates=8)
        tracemalloc.start()
        simulate(problem, T=T, b=1, I=1, replicates=8)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.2 * peaks[0]


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


def test_a_group_cut_down_to_one_replicate_keeps_its_numbers() -> None:
    """Where memory runs out on the host, each replicate draws its own noise again."""
    problem = load_problem("cosine", K=4, dim=64)
    few: dict[str, Any] = {"T": 12, "b": 2, "I": 4, "replicates": 19, "noise_source": "host"}
    undisturbed = simulate(problem, backend=fake_backend(Device()), **few)
    device = Device(memory=2 * 12 * 4 * 64 * 8)  # the noise of one replicate
    same(undisturbed, simulate(problem, backend=fake_backend(device), **few))
    assert device.refusals > 0
