"""What can only be seen on a device; ``python benchmarks/gpu_check.py`` runs these and reports."""

import dataclasses
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stemtheory import load_problem, simulate
from stemtheory.algorithms.stem import READINGS
from stemtheory.oracles.catalogue import names
from stemtheory.runtime.backend import Backend, resolve, unavailable
from stemtheory.runtime.streams import REPLICATE_BLOCK, NoiseKey
from stemtheory.simulator import fused
from stemtheory.simulator.fused.checkpoint import Checkpoint
from stemtheory.simulator.fused.cuda import engine as device_engine
from stemtheory.simulator.trace import Trace
from tests.helpers.law import apart
from tests.runtime.test_fake_device import ENGINE_NAMES, VARIANTS

pytestmark = pytest.mark.gpu
LIMITS = {"float64": 1e-9, "float32": 1e-3}
KEY = NoiseKey(seed=0, dim=8, K=4, T=64, b=1, I=4)


@pytest.fixture
def gpu() -> Backend:
    reason = unavailable()
    if reason:
        pytest.skip(reason)
    return resolve("cupy")


def same(one: Trace, other: Trace) -> bool:
    arrays = ("grad_sq", "last", "best", "series", "running", "diverged_at")
    return one.counts == other.counts and all(
        np.array_equal(getattr(one, name), getattr(other, name)) for name in arrays
    )


@pytest.mark.parametrize("variant", VARIANTS.values(), ids=VARIANTS)
@pytest.mark.parametrize("name", names("problems"))
def test_the_device_agrees_with_numpy(gpu: Backend, name: str, variant: dict[str, Any]) -> None:
    """Over a short horizon: longer nonconvex runs amplify the last bit."""
    problem = load_problem(name, K=5, dim=12)
    options: dict[str, Any] = {"T": 48, "b": 2, "I": 4, "replicates": 11, "record_every": 1}
    options |= {"noise_source": "host", **variant}
    for dtype, limit in LIMITS.items():
        ours = simulate(problem, backend=gpu, dtype=dtype, **options)
        reference = simulate(problem, backend="numpy", dtype=dtype, **options)
        assert ours.counts == reference.counts, dtype
        scale = reference.series.max(axis=0)
        assert np.all(np.abs(ours.series - reference.series) <= limit * scale), dtype


def test_every_name_the_engine_uses_exists(gpu: Backend) -> None:
    plain = {name for name in ENGINE_NAMES if not name.startswith("ndarray.")}
    assert [name for name in plain if not hasattr(gpu.xp, name)] == []
    methods = {name.removeprefix("ndarray.") for name in ENGINE_NAMES - plain}
    assert [name for name in methods if not hasattr(gpu.xp.ndarray, name)] == []


def draws(gpu: Backend, block: int, purpose: str, n: int, times: int = 1) -> list[Any]:
    stream = gpu.generator(KEY.seed_sequence(block, purpose))
    return [
        gpu.to_host(stream.standard_normal((n,), dtype=np.dtype("float64"))) for _ in range(times)
    ]


def test_draws_repeat_and_never_coincide(gpu: Backend) -> None:
    first, second = draws(gpu, 0, "steps", 1000, times=2)
    again = draws(gpu, 0, "steps", 1000)[0]
    np.testing.assert_array_equal(first, again)
    others = [draws(gpu, 1, "steps", 1000)[0], draws(gpu, 0, "jump", 1000)[0], second]
    assert all(not np.any(np.isin(first, other)) for other in others)
    for _ in range(20):
        np.testing.assert_array_equal(first, draws(gpu, 0, "steps", 1000)[0])


@pytest.mark.parametrize("dtype", LIMITS)
def test_draws_are_standard_normal(gpu: Backend, dtype: str) -> None:
    """Mean and variance of n draws; five standard errors each: a false alarm in 8e5 runs."""
    n = 10**6
    stream = gpu.generator(KEY.seed_sequence(0, "steps"))
    x = stream.standard_normal((n,), dtype=np.dtype(dtype))
    assert x.dtype == dtype
    x = gpu.to_host(x).astype(np.float64)
    assert abs(x.mean()) <= 5 / math.sqrt(n)
    assert abs(x.var() - 1) <= 5 * math.sqrt(2 / n)


def device_run(gpu: Backend, **options: Any) -> Trace:
    problem = load_problem("cosine", K=4, dim=32)
    settings: dict[str, Any] = {"T": 600, "b": 2, "I": 4, "sync_batch": 2, "record_every": 100}
    return simulate(problem, backend=gpu, **{**settings, "replicates": 43, **options})


def test_the_same_seed_gives_the_same_run_and_seed_0_is_a_seed(gpu: Backend) -> None:
    assert same(device_run(gpu, seed=0), device_run(gpu, seed=0))
    assert device_run(gpu, seed=0).mean_grad_sq != device_run(gpu, seed=1).mean_grad_sq


def test_groups_change_no_bit(gpu: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    together = device_run(gpu)
    monkeypatch.setattr("stemtheory.simulator.array_engine.DEVICE_ARRAY_BYTES", 1)
    assert same(together, device_run(gpu))


def test_the_first_replicates_do_not_depend_on_how_many_follow(gpu: Backend) -> None:
    many, few = device_run(gpu), device_run(gpu, replicates=REPLICATE_BLOCK)
    np.testing.assert_array_equal(many.grad_sq[:REPLICATE_BLOCK], few.grad_sq)


def test_a_device_that_is_out_of_memory_gives_the_same_numbers(gpu: Backend) -> None:
    undisturbed = device_run(gpu, replicates=128)
    pool = gpu.xp.get_default_memory_pool()
    freed: list[int] = []

    def free() -> None:
        freed.append(1)
        gpu.free()

    gpu.free()
    before = pool.get_limit()
    # 256 steps of noise take 4 MiB per block, twice while blocks are stacked: 128 MiB for all 16
    pool.set_limit(size=pool.used_bytes() + 48 * 1024**2)
    try:
        halved = device_run(dataclasses.replace(gpu, free=free), replicates=128)
    finally:
        pool.set_limit(size=before)
    assert freed
    assert same(undisturbed, halved)


def test_float32_stays_float32(gpu: Backend) -> None:
    x = gpu.from_host(np.ones((2, 3, 4, 8), dtype=np.float32))
    kind = np.dtype("float32")
    for name in names("problems"):
        problem = load_problem(name, K=4, dim=8).place(gpu, kind)
        stream = gpu.generator(KEY.seed_sequence(0, "steps"))
        noise = problem.draw(stream, (2, 3), 2.5, kind)
        assert noise.dtype == kind
        assert problem.stochastic_gradient(x, noise).dtype == kind
        assert problem.full_gradient(x).dtype == kind


# -- the compiled kernels


@pytest.fixture
def compiler(gpu: Backend) -> Backend:
    reason = fused.missing_for_device()
    if reason:
        pytest.skip(reason)
    return gpu


def both_engines(gpu: Backend, problem: Any, algorithm: str = "stem", **more: Any) -> list[Trace]:
    """The fused engine on the device and the array engine of NumPy, on identical noise."""
    options: dict[str, Any] = {"T": 48, "b": 2, "I": 4, "replicates": 11, "record_every": 1}
    options |= {"noise_source": "philox", **more}
    return [
        simulate(problem, algorithm, backend=gpu, engine="fused", **options),
        simulate(problem, algorithm, backend="numpy", engine="array", **options),
    ]


def assert_close(traces: list[Trace], dtype: str) -> None:
    ours, reference = traces
    assert ours.counts == reference.counts
    assert ours.settings["engine"] == "fused"
    scale = reference.series.max(axis=0)
    assert np.all(np.abs(ours.series - reference.series) <= LIMITS[dtype] * scale)
    np.testing.assert_allclose(ours.grad_sq, ours.series.mean(axis=0), rtol=1e-12)


@pytest.mark.parametrize("dtype", LIMITS)
@pytest.mark.parametrize("sync", READINGS)
def test_compiled_readings_agree_with_numpy(compiler: Backend, sync: str, dtype: str) -> None:
    problem = load_problem("cosine", K=5, dim=12)
    traces = both_engines(compiler, problem, sync=sync, sync_batch=3, dtype=dtype)
    assert_close(traces, dtype)


@pytest.mark.parametrize("dtype", LIMITS)
@pytest.mark.parametrize("option", ["I", "II"])
def test_compiled_scaffold_agrees_with_numpy(compiler: Backend, option: str, dtype: str) -> None:
    own = {"option": option, "server_step": 0.7}
    problem = load_problem("cosine", K=9, dim=8)
    traces = both_engines(compiler, problem, "scaffold", algorithm_options=own, dtype=dtype)
    assert_close(traces, dtype)


@pytest.mark.parametrize("dtype", LIMITS)
@pytest.mark.parametrize("noise", ["modulated", "phase"])
@pytest.mark.parametrize(("K", "dim"), [(1, 1), (70, 3), (9, 8), (16, 64), (3, 160), (300, 64)])
def test_compiled_shapes_agree_with_numpy(
    compiler: Backend, K: int, dim: int, noise: str, dtype: str
) -> None:
    """Units of every shape, idle threads, several units a thread, several tiles, 300 threads."""
    own = {"heterogeneity": "none", "zeta": 0} if K == 1 else {"heterogeneity": "tilt"}
    problem = load_problem("corridor", K=K, dim=dim, noise=noise, spectrum=9.0, **own)
    for algorithm in ("stem", "fedavg"):
        traces = both_engines(compiler, problem, algorithm, dtype=dtype, replicates=3)
        assert_close(traces, dtype)


def compiled_run(gpu: Backend, **options: Any) -> Trace:
    return device_run(gpu, engine="fused", **options)


def test_compiled_runs_repeat_to_the_last_bit(compiler: Backend) -> None:
    """A race would show here sooner or later: 43 replicates, 600 steps, ten times."""
    first = compiled_run(compiler)
    assert all(same(first, compiled_run(compiler)) for _ in range(9))
    assert first.mean_grad_sq != compiled_run(compiler, seed=1).mean_grad_sq


def test_segments_and_groups_of_compiled_runs_change_no_bit(
    compiler: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = compiled_run(compiler)
    monkeypatch.setattr(device_engine, "MOST_STEPS", 37)
    monkeypatch.setattr(device_engine, "STATE_BYTES", 1)
    assert same(whole, compiled_run(compiler))


def test_compiled_runs_follow_the_stream_of_cupy(compiler: Backend) -> None:
    whole = compiled_run(compiler)
    with compiler.xp.cuda.Stream(non_blocking=True):
        assert same(whole, compiled_run(compiler))


def test_a_compiled_run_is_resumed(
    compiler: Backend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, path, saves = compiled_run(compiler), tmp_path / "run.npz", [0]
    original = Checkpoint.save

    def save(self: Checkpoint, *args: Any) -> None:
        original(self, *args)
        saves[0] += 1
        if saves[0] == 5:
            raise KeyboardInterrupt

    monkeypatch.setattr(device_engine, "MOST_STEPS", 37)
    with monkeypatch.context() as patch:
        patch.setattr(Checkpoint, "due", True)
        patch.setattr(Checkpoint, "save", save)
        with pytest.raises(KeyboardInterrupt):
            compiled_run(compiler, checkpoint=path)
    assert same(whole, compiled_run(compiler, checkpoint=path))


def test_a_compiled_run_that_diverges(compiler: Backend) -> None:
    problem = load_problem("quadratic", K=2, dim=1, noise="multiplicative", L=4.0, zeta=0)
    options: dict[str, Any] = {"T": 160, "I": 2, "b": 1, "replicates": 6, "dtype": "float32"}
    options |= {"schedule": "constant", "schedule_options": {"eta": 0.7, "a": 1.0}}
    ours, reference = both_engines(compiler, problem, **options)
    lost = reference.diverged_at > 0
    assert 0 < lost.sum() < 6
    np.testing.assert_array_equal(ours.diverged_at > 0, lost)
    np.testing.assert_array_equal(np.isnan(ours.grad_sq), lost)
    assert np.abs(ours.diverged_at - reference.diverged_at).max() <= 2


def test_many_compiled_replicates_have_the_law_of_the_array_engine(compiler: Backend) -> None:
    """Means over 4096 replicates, each with its own noise: |z| < 4 (false alarm 6e-5)."""
    problem = load_problem("cosine", K=4, dim=32)
    options: dict[str, Any] = {"T": 256, "b": 1, "I": 4, "replicates": 4096, "dtype": "float32"}
    traces = [
        simulate(problem, backend=compiler, engine=engine, **options)
        for engine in ("array", "fused")
    ]
    assert apart(*traces) < 4
