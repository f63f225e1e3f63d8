"""Which backend is taken and why, what is said about it, and what happens when memory runs out."""

import dataclasses
import gc
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from stemtheory import load_problem, simulate
from stemtheory.oracles.catalogue import names
from stemtheory.oracles.problem import Problem
from stemtheory.oracles.separable import Family
from stemtheory.runtime import backend as backends
from stemtheory.runtime.backend import (
    BACKENDS,
    Backend,
    BackendUnavailableError,
    is_out_of_memory,
    numpy_backend,
    resolve,
    unavailable,
)
from stemtheory.runtime.errors import UsageError
from stemtheory.simulator.trace import Trace
from tests.helpers.fake_device import Device, fake_backend
from tests.helpers.sources import ROOT

# A stand-in for the module cupy: present, with or without a device and working kernels.

Raises = Callable[..., Any]


def raises(error: Exception) -> Raises:
    def call(*args: Any, **words: Any) -> Any:
        raise error

    return call


class CUDARuntimeError(RuntimeError):
    """As CuPy's: no ImportError, raised by the first call that needs the driver."""


NO_DRIVER = CUDARuntimeError("cudaErrorInsufficientDriver: CUDA driver version is insufficient")
NO_COMPILER = RuntimeError("CuPy failed to load libnvrtc.so.13\ncannot open shared object file")


def cupy_module(**changes: Any) -> ModuleType:
    """Return a module that answers as CuPy does on a machine with a GPU, but for ``changes``."""
    runtime = SimpleNamespace(
        getDeviceCount=lambda: 1,
        getDevice=lambda: 0,
        getDeviceProperties=lambda i: {"name": b"NVIDIA Imaginary"},
    )
    random = SimpleNamespace(
        Philox4x3210=lambda seed, size: np.random.Philox(seed), Generator=np.random.Generator
    )
    pool = SimpleNamespace(free_all_blocks=lambda: None)
    module = ModuleType("cupy")
    parts: dict[str, Any] = {
        "cuda": SimpleNamespace(runtime=runtime),
        "random": random,
        "asnumpy": np.asarray,
        "get_default_memory_pool": lambda: pool,
        "get_default_pinned_memory_pool": lambda: pool,
        **{name: getattr(np, name) for name in ("zeros", "arange", "sin", "asarray", "stack")},
    }
    for name, value in parts.items():
        setattr(module, name, value)
    for name, value in changes.items():
        setattr(runtime if name.startswith("getDevice") else module, name, value)
    return module


def forget() -> None:
    backends._probe.cache_clear()
    backends._fall_back.cache_clear()


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[ModuleType | None], None]]:
    """Put a module where ``import cupy`` finds it; None: as if it were not installed."""

    def put(module: ModuleType | None) -> None:
        forget()
        monkeypatch.setitem(sys.modules, "cupy", module)

    yield put
    forget()


BROKEN: dict[str, tuple[ModuleType | None, str, str]] = {
    "not installed": (None, "not installed", "stemtheory[cuda13]"),
    "no driver": (cupy_module(getDeviceCount=raises(NO_DRIVER)), "no device", "machine with a GPU"),
    "no device": (cupy_module(getDeviceCount=lambda: 0), "no device", "machine with a GPU"),
    "first allocation fails": (cupy_module(zeros=raises(NO_DRIVER)), "no device", "GPU"),
    "no compiler": (cupy_module(sin=raises(NO_COMPILER)), "no kernels", "cupy-cuda13x[ctk]"),
    "no random numbers": (
        cupy_module(random=SimpleNamespace(Philox4x3210=raises(ImportError("libcurand.so.10")))),
        "no kernels",
        "cupy-cuda13x[ctk]",
    ),
}


@pytest.mark.parametrize(("module", "cause", "advice"), BROKEN.values(), ids=BROKEN)
def test_cupy_asked_for_that_cannot_run_names_the_cause(
    install: Callable[..., None], module: ModuleType | None, cause: str, advice: str
) -> None:
    install(module)
    with pytest.raises(BackendUnavailableError) as caught:
        resolve("cupy")
    assert caught.value.cause == cause
    assert isinstance(caught.value, UsageError)  # the command line exits with 2
    text = str(caught.value)
    assert text == unavailable()
    assert advice in text
    assert "use backend numpy" in text
    assert "\n" not in text


def test_an_installation_that_cannot_be_imported_is_told_from_none(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, install: Callable[..., None]
) -> None:
    install(None)
    monkeypatch.delitem(sys.modules, "cupy")
    (tmp_path / "cupy.py").write_text("raise ImportError('libcudart.so.13: no such file')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(BackendUnavailableError) as caught:
        resolve("cupy")
    assert caught.value.cause == "not installed"
    assert "not installed whole (libcudart.so.13: no such file)" in str(caught.value)


@pytest.mark.parametrize(("module", "cause", "advice"), BROKEN.values(), ids=BROKEN)
def test_auto_falls_back_and_says_why_once(
    install: Callable[..., None],
    capsys: pytest.CaptureFixture[str],
    module: ModuleType | None,
    cause: str,
    advice: str,
) -> None:
    install(module)
    problem = load_problem("quadratic", K=2, dim=2)
    traces = [simulate(problem, T=4, replicates=2, backend="auto") for _ in range(3)]
    assert {trace.settings["backend"] for trace in traces} == {"numpy"}
    assert resolve("auto").reason == unavailable()
    out, err = capsys.readouterr()
    assert out == ""  # standard output belongs to the result
    if cause == "not installed":
        assert err == ""  # nobody expects a GPU here
    else:
        assert err.count("\n") == 1
        assert err.startswith("stemtheory: backend auto runs on NumPy, because backend cupy ")


def test_a_device_that_works_is_taken(
    install: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    install(cupy_module())
    found = resolve("auto")
    assert (found.name, found.device) == ("cupy", "NVIDIA Imaginary")
    assert not found.on_host
    assert resolve("cupy") is found
    assert unavailable() is None
    assert capsys.readouterr() == ("", "")
    a, b = (found.generator(np.random.SeedSequence(5)).standard_normal(4) for _ in range(2))
    np.testing.assert_array_equal(a, b)


def test_the_probe_runs_once(install: Callable[..., None]) -> None:
    counted = iter(range(1, 100))
    install(cupy_module(getDeviceCount=lambda: next(counted)))
    for name in ("auto", "cupy", "auto"):
        resolve(name)
    assert next(counted) == 2


def test_numpy_never_asks_for_cupy(install: Callable[..., None]) -> None:
    install(cupy_module(getDeviceCount=raises(AssertionError("probed"))))
    found = resolve("numpy")
    assert (found.name, found.xp, found.device) == ("numpy", np, "cpu")
    assert found.on_host
    assert backends._probe.cache_info().currsize == 0


def test_unknown_names_are_refused_and_backends_pass_through() -> None:
    with pytest.raises(UsageError, match=r"backend 'cuda' is unknown; known are auto, cupy, numpy"):
        resolve("cuda")
    own = fake_backend(Device())
    assert resolve(own) is own
    assert set(BACKENDS) == {"auto", "numpy", "cupy"}


def test_importing_and_running_on_numpy_leaves_cuda_alone(tmp_path: Path) -> None:
    """A parent that has touched CUDA cannot hand it to its workers."""
    (tmp_path / "cupy.py").write_text("raise SystemExit('cupy was imported')\n")
    code = (
        "import sys, pkgutil, importlib, stemtheory\n"
        "for m in pkgutil.iter_modules(stemtheory.__path__):\n"
        "    if m.name in {'backend', 'simulate', 'array_engine', 'catalogue', 'streams'}:\n"
        "        importlib.import_module('stemtheory.' + m.name)\n"
        "p = stemtheory.load_problem('cosine', K=2, dim=2)\n"
        "stemtheory.simulate(p, T=4, replicates=2, backend='numpy')\n"
        "assert not {'cupy', 'numba.cuda'} & set(sys.modules)\n"
    )
    path = os.pathsep.join([str(tmp_path), str(ROOT)])
    environment = {**os.environ, "PYTHONPATH": path}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


# Memory.

SETTINGS: dict[str, Any] = {"T": 12, "b": 2, "I": 4, "replicates": 43, "record_every": 1}


def same(one: Trace, other: Trace) -> bool:
    arrays = ("grad_sq", "last", "best", "series", "running", "diverged_at")
    return one.counts == other.counts and all(
        np.array_equal(getattr(one, name), getattr(other, name)) for name in arrays
    )


@pytest.mark.parametrize("source", ["host", "device"])
@pytest.mark.parametrize("share", [0.99, 0.5, 0.21])
def test_a_device_without_memory_gives_the_same_numbers(source: str, share: float) -> None:
    problem = load_problem("cosine", K=4, dim=8)
    roomy, tight = Device(), Device()
    undisturbed = simulate(problem, backend=fake_backend(roomy), noise_source=source, **SETTINGS)
    tight.memory = share * roomy.largest
    halved = simulate(problem, backend=fake_backend(tight), noise_source=source, **SETTINGS)
    assert tight.refusals > 0
    assert tight.largest <= tight.memory
    assert same(undisturbed, halved)


@pytest.fixture
def small_heap() -> Iterator[None]:
    """Each refusal collects garbage, 44 times here: what other tests left need not be searched."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.mark.usefixtures("small_heap")
def test_a_block_is_cut_down_to_single_replicates() -> None:
    problem = load_problem("cosine", K=4, dim=64, sigma=0.0, curvature=0.5)
    per_replicate, few = 4 * 64 * 8, {**SETTINGS, "replicates": 19}  # two blocks and a part of one
    undisturbed = simulate(problem, backend=fake_backend(Device()), **few)
    for memory in (8 * per_replicate - 1, 2 * per_replicate, per_replicate):
        device = Device(memory=memory)
        assert same(undisturbed, simulate(problem, backend=fake_backend(device), **few))
        assert device.refusals > 0


def test_what_never_fits_is_one_clear_error() -> None:
    problem = load_problem("cosine", K=4, dim=8)
    with pytest.raises(UsageError, match="K = 4 workers in dim = 8 do not fit into the memory"):
        simulate(problem, backend=fake_backend(Device(memory=64)), **SETTINGS)


CUTS: tuple[dict[str, Any], ...] = (
    {"algorithm": "fedavg"}, {}, {"sync": "average-first"}, {"sync_batch": 2},
)  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", names("problems"))
def test_cuts_for_the_cache_change_no_bit(
    monkeypatch: pytest.MonkeyPatch, name: str, dtype: str
) -> None:
    """A sum depends on the layout of memory; 17 coordinates are enough for NumPy to show it."""
    problem = load_problem(name, K=3, dim=17)
    for variant in CUTS:
        traces = []
        for replicates_at_once in (64, 8, 3, 1):
            size = replicates_at_once * problem.K * problem.dim * np.dtype(dtype).itemsize
            monkeypatch.setattr("stemtheory.simulator.array_engine.ARRAY_BYTES", size)
            traces.append(simulate(problem, backend="numpy", dtype=dtype, **variant, **SETTINGS))
        assert [same(traces[0], other) for other in traces] == [True] * 4, variant


def failing(on: Callable[[int, Any], bool], error: Exception) -> Problem:
    """Return a problem whose gradient raises when ``on(number of the call, x)``."""
    entry: Family = load_problem("quadratic").family  # type: ignore[attr-defined]
    calls = iter(range(10**9))

    def slope(x: Any, weight: Any) -> Any:
        if on(next(calls), x):
            raise error
        return weight * x

    return dataclasses.replace(entry, slope=slope)(K=4, dim=8)


def numpy_run(problem: Problem) -> Trace:
    return simulate(problem, backend="numpy", threads=2, **SETTINGS)


OUT_OF_MEMORY: dict[str, Exception] = {
    "host": MemoryError("Unable to allocate 8 GiB"),
    "driver": CUDARuntimeError("cudaErrorMemoryAllocation: out of memory"),
}


@pytest.mark.parametrize("error", OUT_OF_MEMORY.values(), ids=OUT_OF_MEMORY)
def test_the_host_halves_too_whenever_it_happens(error: Exception) -> None:
    undisturbed = numpy_run(load_problem("quadratic", K=4, dim=8))
    too_large = 3 * 8 * 4 * 8  # three blocks of eight replicates
    assert same(undisturbed, numpy_run(failing(lambda i, x: x.size >= too_large, error)))
    assert same(undisturbed, numpy_run(failing(lambda i, x: i == 17, error)))


def test_other_errors_are_not_swallowed() -> None:
    with pytest.raises(RuntimeError, match="illegal memory access"):
        numpy_run(failing(lambda i, x: i > 3, RuntimeError("an illegal memory access")))
    assert not is_out_of_memory(ValueError("memory"))


def test_memory_is_freed_after_the_failed_attempt_is_forgotten() -> None:
    """While an exception is handled its traceback keeps every array of the attempt alive."""
    handled: list[Any] = []
    own = dataclasses.replace(
        numpy_backend("a test"), free=lambda: handled.append(sys.exc_info()[0])
    )
    problem = failing(lambda i, x: i == 5, MemoryError())
    trace = simulate(problem, backend=own, threads=1, **SETTINGS)
    assert handled == [None]
    assert trace.status == "ok"


def test_backends_are_values() -> None:
    own: Backend = numpy_backend("a test")
    with pytest.raises(dataclasses.FrozenInstanceError):
        own.name = "other"  # type: ignore[misc]
