"""The fake device refuses what CuPy refuses, and the whole engine runs on it as on NumPy."""

import ast
import dataclasses
import itertools
import math
import runpy
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stemtheory import load_problem, simulate
from stemtheory.algorithms.stem import READINGS
from stemtheory.oracles.catalogue import names
from stemtheory.oracles.heterogeneity import HETEROGENEITIES
from stemtheory.oracles.noise import NOISES
from stemtheory.oracles.problem import Problem
from stemtheory.oracles.separable import Family
from stemtheory.simulator.array_engine import MOST_STEPS
from stemtheory.simulator.trace import Trace
from tests.helpers.fake_device import (
    MISSING,
    MISSING_LINALG,
    Device,
    DeviceArray,
    Generator,
    Namespace,
    OutOfMemoryError,
    fake_backend,
)
from tests.helpers.rows import write_rows
from tests.helpers.sources import ROOT, module_name, package_files, parse

PROBLEMS = names("problems")
VARIANTS: dict[str, dict[str, Any]] = {
    "fedavg": {"algorithm": "fedavg"},
    **{reading: {"sync": reading} for reading in READINGS},
    "sync batch": {"sync_batch": 3},
    "average-first, sync batch": {"sync": "average-first", "sync_batch": 3},
}
STEPS = 12  # at I = 4: three synchronisations
# Everything the engine asks of an array library; a new name here must exist in CuPy as well.
_NAMES = """
    add subtract multiply divide power negative matmul
    sin cos tan exp log log1p sqrt tanh arctan hypot abs absolute square
    sign maximum minimum less greater concatenate
    stack broadcast_to ndarray.sum ndarray.mean ndarray.max ndarray.astype
"""
ENGINE_NAMES = frozenset(_NAMES.split())


def run(problem: Problem, device: Device | None, **options: Any) -> Trace:
    """Run on a fake device, or on NumPy without one, with the same noise."""
    settings: dict[str, Any] = {"T": STEPS, "b": 2, "I": 4, "replicates": 11, "record_every": 1}
    settings |= {"noise_source": "host", "backend": fake_backend(device) if device else "numpy"}
    return simulate(problem, **{**settings, **options})


def same(one: Trace, other: Trace) -> bool:
    """Tell whether two traces agree in every number."""
    arrays = ("grad_sq", "last", "best", "series", "running", "diverged_at")
    return one.counts == other.counts and all(
        np.array_equal(getattr(one, name), getattr(other, name), equal_nan=True) for name in arrays
    )


# The fake itself.


@pytest.fixture
def x() -> DeviceArray:
    return Device().put(np.arange(6.0).reshape(2, 3))


@pytest.mark.parametrize("convert", [np.asarray, np.array, np.ascontiguousarray, np.asanyarray])
def test_conversion_to_the_host_raises(x: DeviceArray, convert: Callable[[Any], Any]) -> None:
    with pytest.raises(TypeError):
        convert(x)


MIXTURES: dict[str, Callable[[DeviceArray, Any], Any]] = {
    "right": lambda x, host: x + host,
    "left": lambda x, host: host * x,
    "in place": lambda x, host: x.__imul__(host),
    "into the host": lambda x, host: host.__iadd__(x),
    "in a list": lambda x, host: np.stack([x, host]),
    "zero-dimensional": lambda x, host: x + np.array(1.0),
    "assigned": lambda x, host: x.__setitem__(0, host[0]),
    "by the namespace": lambda x, host: Namespace(Device()).maximum(x, host),
    "a list": lambda x, host: x + host.tolist(),
}


@pytest.mark.parametrize("mix", MIXTURES.values(), ids=MIXTURES)
def test_mixing_with_a_host_array_raises(x: DeviceArray, mix: Callable[..., Any]) -> None:
    with pytest.raises(TypeError):
        mix(x, np.ones((2, 3)))


def test_what_cupy_lacks_is_missing(x: DeviceArray) -> None:
    xp = Namespace(Device())
    for name in MISSING:
        with pytest.raises(AttributeError):
            getattr(xp, name)
    for name in MISSING_LINALG:
        with pytest.raises(AttributeError):
            getattr(xp.linalg, name)
    with pytest.raises(TypeError):
        np.vecdot(x, x)
    with pytest.raises(TypeError):
        np.linalg.vector_norm(x)
    with pytest.raises(AttributeError):
        xp.random.standard_normal(3)


def test_no_back_door_leads_to_the_host(x: DeviceArray) -> None:
    assert np.ndarray not in type(x).__mro__
    doors = ("__array_interface__", "__array_struct__", "__array_wrap__", "__buffer__", "__index__")
    assert [name for name in doors if hasattr(x, name)] == []


def test_synchronisations_are_counted_and_metadata_is_free() -> None:
    device = Device()
    x = device.put(np.arange(3.0))
    assert (x.shape, x.ndim, x.size, x.dtype.name) == ((3,), 1, 3, "float64")
    assert (x.nbytes, len(x), x.T.shape) == (24, 3, (3,))
    total = x.sum()
    assert isinstance(total, DeviceArray)
    assert total.shape == ()
    assert device.syncs == 0
    assert float(total) == 3.0
    assert bool(total > 2)
    assert int(total) == 3
    assert total.item() == 3.0
    assert x.tolist() == [0.0, 1.0, 2.0]
    assert fake_backend(device).to_host(x).tolist() == [0.0, 1.0, 2.0]
    assert device.syncs == 6


def test_arithmetic_keeps_float32_and_works_in_place() -> None:
    device = Device()
    x = device.put(np.arange(3, dtype=np.float32))
    x *= 0.5
    x[1:] += 1.0
    y = np.sin(x) + Namespace(device).exp(-x) ** 2
    host = np.array([0.0, 1.5, 2.0], dtype=np.float32)
    np.testing.assert_array_equal(x.get(), host)
    np.testing.assert_array_equal(y.get(), np.sin(host) + np.exp(-host) ** 2)
    assert device.dtypes == {"float32"}


def test_memory_is_limited_for_arrays_and_free_for_views() -> None:
    device = Device(memory=80)
    x = device.put(np.arange(10.0))
    assert np.broadcast_to(x, (50, 10)).shape == (50, 10)
    with pytest.raises(OutOfMemoryError):
        device.put(np.arange(11.0))
    assert device.refusals == 1


def test_a_generator_repeats_itself_and_depends_on_the_size_of_a_call() -> None:
    def draw(*sizes: int) -> list[float]:
        stream = Generator(np.random.SeedSequence(3), Device())
        return [z for n in sizes for z in stream.standard_normal(n).tolist()]

    assert draw(4) == draw(4)
    assert draw(2, 2) != draw(4)
    assert len(set(draw(2, 2))) == 4


# The engine on the fake.


@pytest.mark.parametrize("variant", VARIANTS.values(), ids=VARIANTS)
@pytest.mark.parametrize("name", PROBLEMS)
def test_every_problem_and_reading_runs_as_on_numpy(name: str, variant: dict[str, Any]) -> None:
    """In both precisions, of which neither turns into the other."""
    problem = load_problem(name, K=3, dim=4)
    for dtype in ("float32", "float64"):
        device, options = Device(), {**variant, "dtype": dtype}
        assert same(run(problem, device, **options), run(problem, None, **options)), dtype
        assert device.dtypes == {dtype}
        assert device.names <= ENGINE_NAMES
        assert not device.names & MISSING


@pytest.mark.parametrize("rotate", [False, True])
@pytest.mark.parametrize("noise", NOISES)
def test_every_model_of_noise_and_heterogeneity_runs(noise: str, rotate: bool) -> None:
    for heterogeneity, dtype in itertools.product(HETEROGENEITIES, ("float32", "float64")):
        zeta = 0.0 if heterogeneity == "none" else np.float64(1.0)  # a NumPy scalar widens float32
        dials: dict[str, Any] = {"noise": noise, "heterogeneity": heterogeneity, "rotate": rotate}
        problem = load_problem("cosine", K=4, dim=3, spectrum=3.0, zeta=zeta, **dials)
        device = Device()
        ours, reference = (run(problem, where, dtype=dtype) for where in (device, None))
        assert same(ours, reference), (heterogeneity, dtype)
        assert device.dtypes == {dtype}, heterogeneity


@pytest.mark.parametrize("options", [{"per_sample": True}, {"replicates": 16}, {"replicates": 1}])
def test_other_ways_to_run(options: dict[str, Any]) -> None:
    problem = load_problem("cosine", K=4, dim=3)
    assert same(run(problem, Device(), **options), run(problem, None, **options))


@pytest.mark.parametrize("sampling", ["gaussian", "minibatch"])
def test_both_samplings_of_a_finite_sum_run(sampling: str) -> None:
    problem = load_problem("logistic", K=3, dim=4, sampling=sampling)
    assert same(run(problem, Device()), run(problem, None))


def test_minibatches_are_counted_on_the_device() -> None:
    """CuPy's bincount waits twice; it is called once per draw (initial batch, block of steps)."""
    device = Device()
    problem = load_problem("logistic", K=3, dim=4, sampling="minibatch")
    trace = run(problem, device, replicates=8, noise_source="device")
    assert trace.status == "ok"
    assert device.syncs <= 1 + 2 * 2


@pytest.mark.parametrize("name", PROBLEMS)
def test_noise_drawn_on_the_device_stays_there(name: str) -> None:
    device = Device()
    trace = run(load_problem(name, K=3, dim=4), device, replicates=8, noise_source="device")
    assert trace.status == "ok"
    assert device.syncs == 1
    assert device.dtypes == {"float64"}


@pytest.mark.parametrize("name", ["logistic", "robust_regression"])
def test_rows_of_ones_own_run_on_the_device(name: str, tmp_path: Path) -> None:
    problem = load_problem(name, K=3, data=str(write_rows(tmp_path / "x.csv")))
    assert same(run(problem, Device()), run(problem, None))
    drawn = run(problem, Device(), replicates=8, noise_source="device")
    assert drawn.status == "ok"


def test_a_quiet_oracle_runs_on_the_device() -> None:
    problem = load_problem("cosine", K=4, dim=3, sigma=0.0)
    assert same(run(problem, Device()), run(problem, None))


def test_a_diverged_run_is_the_same_and_warns_nobody() -> None:
    problem = load_problem("quadratic", K=2, dim=2)
    options: dict[str, Any] = {
        "T": 400,
        "schedule": "constant",
        "schedule_options": {"eta": 50.0, "a": 1.0},
    }
    trace = run(problem, Device(), **options)
    assert trace.status == "diverged"
    assert same(trace, run(problem, None, **options))


@pytest.mark.parametrize("variant", VARIANTS.values(), ids=VARIANTS)
def test_the_host_waits_once_per_block_of_steps(
    monkeypatch: pytest.MonkeyPatch, variant: dict[str, Any]
) -> None:
    """Blocks of the usual length, and of one that a short run fills, or fills and begins anew."""
    for most, T in ((MOST_STEPS, 8), (16, 16), (16, 36)):
        monkeypatch.setattr("stemtheory.simulator.array_engine.MOST_STEPS", most)
        device = Device()
        run(load_problem("cosine", K=2, dim=2), device, T=T, replicates=8, **variant)
        assert device.syncs == math.ceil(T / most), T


def test_device_noise_does_not_depend_on_how_replicates_are_grouped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    problem = load_problem("cosine", K=2, dim=2)
    monkeypatch.setattr("stemtheory.simulator.array_engine.MOST_STEPS", 16)  # several blocks

    def device_noise() -> Trace:
        backend = fake_backend(Device())
        return simulate(problem, T=40, b=2, I=4, sync_batch=2, replicates=40, backend=backend)

    together = device_noise()
    monkeypatch.setattr("stemtheory.simulator.array_engine.DEVICE_ARRAY_BYTES", 1)
    apart = device_noise()
    assert same(together, apart)
    assert together.mean_grad_sq != run(problem, None, T=40, replicates=40).mean_grad_sq


# Mutants: a loss that would fail on a GPU is found without one.

ONES = np.ones(3)
MUTANTS: dict[str, Callable[..., Any]] = {
    "converts": lambda x, weight: weight * np.asarray(x),
    "missing name": lambda x, weight: weight * x + np.vecdot(x, x)[..., None],
    "host array": lambda x, weight: weight * x * ONES,
}


def quadratic_with(slope: Callable[..., Any]) -> Problem:
    entry: Family = load_problem("quadratic").family  # type: ignore[attr-defined]
    return dataclasses.replace(entry, slope=slope)(K=2, dim=3)


@pytest.mark.parametrize("slope", MUTANTS.values(), ids=MUTANTS)
def test_a_loss_that_would_fail_on_a_gpu_fails_here(slope: Callable[..., Any]) -> None:
    run(quadratic_with(slope), None)  # NumPy sees nothing wrong
    with pytest.raises(TypeError):
        run(quadratic_with(slope), Device())


def test_a_loss_that_waits_for_the_device_breaks_the_budget() -> None:
    def slope(x: Any, weight: Any) -> Any:
        return weight * x if bool((x * x).sum() >= 0) else x

    device = Device()
    run(quadratic_with(slope), device, replicates=8)
    assert device.syncs > STEPS


def test_a_loss_that_widens_float32_is_seen() -> None:
    device = Device()
    run(quadratic_with(lambda x, weight: weight * x * np.float64(1)), device, dtype="float32")
    assert "float64" in device.dtypes


# The names in the source, those of branches that no test takes included.

KERNEL_MODULES = tuple(
    f"stemtheory.{name}"
    for name in (
        "oracles.separable", "oracles.noise", "oracles.heterogeneity", "algorithms.", "problems.",
    )
)  # fmt: skip


def array_names(tree: ast.AST) -> set[str]:
    """Return NAME of every np.NAME, xp.NAME and np.linalg.NAME (as linalg.NAME)."""
    found = set()
    for node in ast.walk(tree):
        if not isinstance(node, ast.Attribute):
            continue
        if isinstance(node.value, ast.Name) and node.value.id in ("np", "xp"):
            found.add(node.attr)
        elif isinstance(node.value, ast.Attribute) and node.value.attr == "linalg":
            found.add(f"linalg.{node.attr}")
    return found


def lacking(tree: ast.AST) -> set[str]:
    """Return the names used that CuPy does not have."""
    return array_names(tree) & (MISSING | {f"linalg.{name}" for name in MISSING_LINALG})


def test_kernels_use_names_that_both_libraries_have() -> None:
    files = [p for p in package_files() if module_name(p).startswith(KERNEL_MODULES)]
    assert all(any(module_name(p).startswith(name) for p in files) for name in KERNEL_MODULES)
    assert {module_name(p): lacking(parse(p)) for p in files if lacking(parse(p))} == {}


def test_a_name_that_cupy_lacks_is_found_in_the_source() -> None:
    tree = ast.parse("y = np.vecdot(x, x) + xp.linalg.vector_norm(x) + np.sin(x)")
    assert lacking(tree) == {"vecdot", "linalg.vector_norm"}


# The script that compares a device with NumPy, where the device is a fake.


def test_the_comparison_script_finds_a_wrong_device_and_no_other() -> None:
    script = runpy.run_path(str(ROOT / "benchmarks" / "gpu_check.py"))
    backend = fake_backend(Device())
    assert script["difference"](backend, "cosine", {"sync_batch": 2}, "float32") == 0
    wrong = dataclasses.replace(backend, to_host=lambda array: array.get() * 1.01)
    assert script["difference"](wrong, "cosine", {}, "float64") > script["LIMITS"]["float64"]
    rows = [{"dtype": kind, "difference": d} for kind in script["LIMITS"] for d in (0, math.nan)]
    assert all(math.isnan(value) for value in script["worst"](rows).values())


def test_the_comparison_script_says_why_it_has_nothing_to_do(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr("stemtheory.runtime.unavailable", lambda: "there is no device")
    monkeypatch.setattr(sys, "argv", ["gpu_check.py", "--folder", str(tmp_path), "--repeats", "2"])
    script = runpy.run_path(str(ROOT / "benchmarks" / "gpu_check.py"))
    assert script["main"]() == 0
    assert "nothing was compared, because there is no device" in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []
