"""The fused engine on a device that is simulated, against the array engine on identical noise.

What these show: indices, meetings of threads, and the host's side. A device's compiler is held to
account in ``test_ptx.py`` beside this file, a device itself in ``tests/runtime/test_gpu.py``.
"""

from __future__ import annotations

import dataclasses
import inspect
import json
import runpy
import sys
from collections.abc import Callable
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np
import pytest

from stemtheory import Trace, load_problem, simulate
from stemtheory.algorithms.stem import READINGS
from stemtheory.runtime.errors import UsageError
from stemtheory.simulator import fused
from stemtheory.simulator.fused import checkpoint
from stemtheory.simulator.fused.cuda import engine as device_engine
from stemtheory.simulator.fused.cuda import kernel as device_kernel
from stemtheory.simulator.fused.cuda.build import Variant
from tests.helpers.fake_device import Device, OutOfMemoryError, fake_backend
from tests.helpers.sources import ROOT
from tests.simulator.fused.cuda.simulated import RaceError, SimulatedKernels, simulated_kernels

SETTINGS: dict[str, Any] = {"T": 12, "b": 2, "I": 4, "replicates": 2, "record_every": 1}
STEPS = {"stem": {"eta": 0.05, "a": 0.1}}
TOLERANCE = {"float64": 1e-13, "float32": 2e-6}
FIELDS = ("grad_sq", "last", "best", "series", "running", "diverged_at")
NO_FURTHER = {"heterogeneity": "none", "zeta": 0}


def variant(algorithm: str = "stem", reading: int = 0, dtype: str = "float64") -> Variant:
    return Variant(algorithm, reading, dtype)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[SimulatedKernels]:
    """Put simulated kernels in place of a device's; those that were made are listed."""
    made: list[SimulatedKernels] = []

    def load(recipe: Any, variant: Variant, layout: Any, plan: Any) -> SimulatedKernels:
        made.append(simulated_kernels(recipe, variant, layout))
        return made[-1]

    monkeypatch.setattr(device_engine, "_load", load)
    monkeypatch.setattr(fused, "missing_for_device", lambda: None)
    return made


def run(problem: Any, algorithm: str = "stem", device: Device | None = None, **more: Any) -> Trace:
    """Run on a fake device, or without one on the array engine of NumPy."""
    where: dict[str, Any] = {"engine": "array", "backend": "numpy"}
    if device is not None:
        where = {"engine": "fused", "backend": fake_backend(device)}
    constant = {"schedule": "constant", "schedule_options": STEPS.get(algorithm, {"eta": 0.05})}
    options = {**SETTINGS, **constant, **where, "noise_source": "philox", **more}
    return simulate(problem, algorithm, **options)


def assert_same(problem: Any, algorithm: str = "stem", **more: Any) -> None:
    """Every ||grad f(xbar_t)||^2 of every replicate, the averages, and the counts."""
    ours, reference = (run(problem, algorithm, d, **more) for d in (Device(), None))
    rtol = TOLERANCE[more.get("dtype", "float64")]
    for name in FIELDS:
        np.testing.assert_allclose(getattr(ours, name), getattr(reference, name), rtol=rtol)
    assert ours.counts == reference.counts
    assert ours.settings["engine"] == "fused"


def assert_bits(a: Trace, b: Trace) -> None:
    for name in FIELDS:
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))


@pytest.mark.usefixtures("made")
@pytest.mark.parametrize("sync_batch", [1, 3])
@pytest.mark.parametrize("sync", READINGS)
def test_every_reading(sync: str, sync_batch: int) -> None:
    assert_same(load_problem("cosine", K=3, dim=4), sync=sync, sync_batch=sync_batch)


@pytest.mark.usefixtures("made")
@pytest.mark.parametrize("option", ["I", "II"])
def test_scaffold(option: str) -> None:
    own = {"option": option, "server_step": 0.7}
    problem = load_problem("cosine", K=5, dim=3)
    assert_same(problem, "scaffold", algorithm_options=own)
    assert_same(problem, "scaffold", algorithm_options=own, dtype="float32")


@pytest.mark.usefixtures("made")
@pytest.mark.parametrize("sync", ["literal", "average-both"])
@pytest.mark.parametrize(
    ("K", "dim", "noise"),
    [
        (1, 1, "modulated"), (5, 3, "phase"), (9, 4, "modulated"), (3, 16, "phase"),
        (2, 64, "modulated"), (2, 96, "additive"), (70, 2, "multiplicative"),
    ],
)  # fmt: skip
def test_any_shape(K: int, dim: int, noise: str, sync: str) -> None:
    """Units across and down, idle threads, several units and several tiles."""
    dials: dict[str, Any] = NO_FURTHER if K == 1 else {"heterogeneity": "tilt"}
    problem = load_problem("corridor", K=K, dim=dim, noise=noise, spectrum=9.0, **dials)
    assert_same(problem, T=5, I=2, sync=sync)


@pytest.mark.usefixtures("made")
@pytest.mark.parametrize(("T", "I"), [(1, 1), (6, 1), (6, 6), (7, 3), (40, 20), (20, 4)])
def test_rounds_of_any_length(T: int, I: int) -> None:
    """Also longer than the stretch of iterations whose norms wait together, or dividing it."""
    problem = load_problem("cosine", K=2, dim=2)
    for sync in ("average-first", "average-both"):
        assert_same(problem, T=T, I=I, sync=sync)


@pytest.mark.usefixtures("made")
@pytest.mark.parametrize(
    ("family", "algorithm", "dials", "dtype"),
    [
        ("geman_mcclure", "fedavg", {**NO_FURTHER, "noise": "additive"}, "float64"),
        ("welsch", "stem", {"noise": "multiplicative"}, "float32"),
        ("cauchy", "minibatch-sgd", {"heterogeneity": "tilt"}, "float32"),
        ("quadratic", "stem", {"sigma": 0, "spectrum": 10.0, "het_phase": 0.3}, "float64"),
        ("cosine", "fedavg", {"noise": "modulated", "spectrum": 5.0}, "float32"),
        ("corridor", "scaffold", {"sigma": 0, "zeta": 0}, "float64"),
    ],
)
def test_families_algorithms_and_noises(
    family: str, algorithm: str, dials: dict[str, Any], dtype: str
) -> None:
    more = {"I": 1} if algorithm == "minibatch-sgd" else {}
    assert_same(load_problem(family, K=4, dim=3, **dials), algorithm, dtype=dtype, **more)


@pytest.mark.usefixtures("made")
def test_step_sizes_of_the_theorem_and_another_start() -> None:
    problem = load_problem("cosine", K=2, dim=3)
    more: dict[str, Any] = {"schedule": "theorem", "schedule_options": {}, "x1": [1.0, 2.0, 0.5]}
    assert_same(problem, b=2.5, B=8, T=8, seed=7, **more)


def test_bits_depend_on_no_segment_and_no_group(
    made: list[SimulatedKernels], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Segments of 3 end inside of rounds, whose step sizes are summed."""
    problem, own = load_problem("cosine", K=3, dim=4), {"option": "II"}
    cases: list[tuple[str, dict[str, Any]]] = [
        ("stem", {"sync": "average-both", "sync_batch": 2}),
        ("scaffold", {"algorithm_options": own}),
    ]
    for algorithm, more in cases:
        plain = run(problem, algorithm, Device(), **more)
        launches = made[-1].launches
        with monkeypatch.context() as patch:
            for name, value in (("MOST_STEPS", 3), ("STATE_BYTES", 1)):
                patch.setattr(device_engine, name, value)
                assert_bits(run(problem, algorithm, Device(), **more), plain)
                assert made[-1].launches > launches


@pytest.mark.usefixtures("made")
def test_a_replicate_does_not_depend_on_how_many_there_are() -> None:
    problem = load_problem("cosine", K=2, dim=2)
    many, few = (run(problem, device=Device(), replicates=n) for n in (4, 2))
    np.testing.assert_array_equal(many.grad_sq[:2], few.grad_sq)
    assert len(np.unique(many.grad_sq)) == 4


def test_the_host_waits_once_a_launch(
    made: list[SimulatedKernels], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once for each of six segments, and three times for the record at the end."""
    monkeypatch.setattr(device_engine, "MOST_STEPS", 2)
    device, rows = Device(), 2  # the problem's own array: for the layout and for the recipe
    run(load_problem("cosine", K=2, dim=2), device=device)
    assert made[-1].launches == 1 + 2 * 6
    assert device.syncs - rows == 6 + 3


# -- killed, stopped, diverged, refused


class KilledError(Exception):
    """What ends a run in these tests."""


@pytest.mark.usefixtures("made")
def test_killed_and_resumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same bits, from inside of a round and of the second group; not on another machine."""
    problem, path, saves = load_problem("cosine", K=3, dim=3), tmp_path / "run.npz", [0]
    whole = run(problem, device=Device())
    monkeypatch.setattr(device_engine, "MOST_STEPS", 3)
    monkeypatch.setattr(device_engine, "STATE_BYTES", 1)
    original = checkpoint.Checkpoint.save

    def save(self: checkpoint.Checkpoint, *args: Any) -> None:
        original(self, *args)
        saves[0] += 1
        if saves[0] == 6:
            raise KilledError

    with monkeypatch.context() as patch:
        patch.setattr(checkpoint.Checkpoint, "due", True)
        patch.setattr(checkpoint.Checkpoint, "save", save)
        with pytest.raises(KilledError):
            run(problem, device=Device(), checkpoint=path)
    with np.load(path) as data:
        saved = dict(data)
    assert saved["at"].tolist() == [1, 7]
    assert_bits(run(problem, device=Device(), checkpoint=path), whole)
    assert not path.exists()
    spoilt = {**saved, "state": 0 * saved["state"]}  # the mutant
    np.savez(path, **spoilt)
    assert not np.array_equal(run(problem, device=Device(), checkpoint=path).grad_sq, whole.grad_sq)


@pytest.mark.usefixtures("made")
def test_divergence_spoils_no_other_replicate_and_ends_a_lost_run() -> None:
    problem = load_problem("quadratic", K=2, dim=1, noise="multiplicative", L=4.0, zeta=0)
    options: dict[str, Any] = {"T": 160, "I": 2, "b": 1, "replicates": 6, "dtype": "float32"}
    options["schedule_options"] = {"eta": 0.7, "a": 1.0}
    ours, reference = (run(problem, device=d, **options) for d in (Device(), None))
    lost = ours.diverged_at > 0
    assert lost.tolist() == [True, False, False, True, False, True]
    np.testing.assert_array_equal(ours.diverged_at, reference.diverged_at)
    assert (np.isnan(ours.grad_sq) == lost).all()
    assert (np.isnan(ours.last) == lost).all()
    options |= {"T": 10**6, "schedule_options": {"eta": 50.0, "a": 1.0}, "record_every": 10**6}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(device_engine, "MOST_STEPS", 100)
        trace = run(problem, device=Device(), **options)
    assert trace.status == "diverged"
    assert trace.counts.samples_per_worker < 10**3


@pytest.mark.usefixtures("made")
def test_memory_that_runs_out_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: Any, *args: Any) -> Any:
        raise OutOfMemoryError("Out of memory")

    monkeypatch.setattr(device_engine.DeviceRunner, "advance", full)
    with pytest.raises(UsageError, match=r"2 replicates of K = 2 .* memory of fake device: lower"):
        run(load_problem("cosine", K=2, dim=2), device=Device())


@pytest.mark.usefixtures("made")
def test_auto_stays_with_arrays_on_a_device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fused, "AUTO_WORK", 1)
    trace = run(load_problem("cosine", K=2, dim=2), device=Device(), engine="auto")
    assert trace.settings["engine"] == "array"


def test_to_insist_needs_the_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fused, "missing_for_device", lambda: "numba-cuda is not installed")
    with pytest.raises(UsageError, match="numba-cuda is not installed: use engine array"):
        run(load_problem("cosine", K=2, dim=2), device=Device())


def test_what_is_missing_for_a_device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "numba_cuda", None)
    fused.missing_for_device.cache_clear()
    try:
        said = fused.missing_for_device()
    finally:
        fused.missing_for_device.cache_clear()
    assert said is not None
    assert "numba" in said


@pytest.mark.usefixtures("made")
def test_too_many_workers_are_refused() -> None:
    with pytest.raises(UsageError, match="no block of a device's threads holds K = 20000 workers"):
        run(load_problem("cosine", K=20_000, dim=1), device=Device())


@pytest.mark.usefixtures("made")
def test_the_comparison_script_finds_a_wrong_device_and_no_other() -> None:
    script = runpy.run_path(str(ROOT / "benchmarks" / "gpu_check.py"))
    script["SETTINGS"].update(T=8, replicates=2)
    for dtype, limit in script["LIMITS"].items():
        for variant in ("average-both", "scaffold II"):
            case = ("cosine", script["EVERY_VARIANT"][variant], dtype, (3, 3))
            right = script["difference"](fake_backend(Device()), *case, engine="fused")
            assert right < limit
        own = fake_backend(Device())
        wrong = dataclasses.replace(own, to_host=lambda array: array.get() * 1.01)
        assert script["difference"](wrong, *case, engine="fused") > limit


@pytest.mark.usefixtures("made")
def test_the_comparison_script_times_the_book() -> None:
    script = runpy.run_path(str(ROOT / "benchmarks" / "gpu_check.py"))
    backend, original = fake_backend(Device()), device_engine.DeviceRunner.book
    problem = load_problem("cosine", K=2, dim=2)
    own: dict[str, Any] = {"engine": "fused", "backend": backend}
    share = script["book_share"](backend, lambda: run(problem, **own))
    assert 0 < share < 1
    assert device_engine.DeviceRunner.book is original


@pytest.mark.parametrize("fails", ["compare_fused", "rates", None])
def test_the_comparison_script_keeps_the_rest_when_kernels_fail(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, fails: str | None
) -> None:
    row, card = {"dtype": "float64", "difference": 0.0}, fake_backend(Device())
    monkeypatch.setattr("stemtheory.runtime.unavailable", lambda: None)
    monkeypatch.setattr("stemtheory.runtime.resolve", lambda name: card)
    monkeypatch.setattr(fused, "missing_for_device", lambda: None)
    monkeypatch.setattr(fused, "missing", lambda: None)
    monkeypatch.setattr(sys, "argv", ["gpu_check.py", "--folder", str(tmp_path), "--no-tests"])
    script = runpy.run_path(str(ROOT / "benchmarks" / "gpu_check.py"))

    def fail(backend: Any) -> Any:
        raise RuntimeError("an illegal address")

    names = script["main"].__globals__
    rows = [{**row, "dtype": dtype} for dtype in script["LIMITS"]]
    names.update(compare=lambda backend: rows, compare_fused=lambda backend: rows)
    names.update(rates=lambda backend: [], seconds=lambda *sizes: 0.0, versions=lambda cupy: {})
    if fails is not None:
        names[fails] = fail
    assert script["main"]() == (0 if fails is None else 1)
    report = json.loads(next(tmp_path.iterdir()).read_text())
    assert report["rows"] == rows
    said = None if fails is None else "RuntimeError: an illegal address"
    assert report["fused"].get("failed") == said
    assert ("rows" in report["fused"]) == (fails != "compare_fused")


# -- mutants of the kernel

MEETINGS = [
    number
    for number, line in enumerate(inspect.getsource(device_kernel).splitlines(), 1)
    if line.strip() == "cuda.syncthreads()"
]


def without_meeting(names: dict[str, Any]) -> None:
    class Deaf(type(names["cuda"])):  # type: ignore[misc]
        def syncthreads(self) -> None:
            return

    names["cuda"] = Deaf()


def one_buffer(names: dict[str, Any]) -> None:
    names["PARTS"] = np.uint64(0)


def forgets_a_lane(names: dict[str, Any]) -> None:
    collect: Any = names["collect"]
    others = {**names, "L": names["L"] - np.uint64(1)}
    names["collect"] = FunctionType(collect.__code__, others)


def another_replicate(names: dict[str, Any]) -> None:
    philox: Any = names["philox"]
    names["philox"] = lambda c0, c1, c2, c3, k0, k1: philox(c0, c1, c2 + 1, c3, k0, k1)


def neighbours_row(names: dict[str, Any]) -> None:
    names["close_round"] = names["close_fedavg"]  # d is not averaged


@pytest.mark.parametrize("mutate", [without_meeting, one_buffer])
def test_a_race_is_found(made: list[SimulatedKernels], mutate: Callable[..., None]) -> None:
    with pytest.raises(RaceError):
        _mutated(made, mutate)


@pytest.mark.parametrize("meeting", MEETINGS)
def test_every_meeting_is_needed(made: list[SimulatedKernels], meeting: int) -> None:
    """Stretches that end inside of rounds, and stretches that end with one."""

    def mutate(names: dict[str, Any]) -> None:
        class Deaf(type(names["cuda"])):  # type: ignore[misc]
            def syncthreads(self) -> None:
                if sys._getframe(1).f_lineno != meeting:
                    super().syncthreads()

        names["cuda"] = Deaf()

    def both_rounds() -> None:
        for I in (3, 4):
            _mutated(made, mutate, T=20, I=I)

    with pytest.raises(RaceError):
        both_rounds()


@pytest.mark.parametrize("mutate", [forgets_a_lane, another_replicate, neighbours_row])
def test_a_wrong_kernel_is_told_apart(
    made: list[SimulatedKernels], mutate: Callable[..., None]
) -> None:
    problem = load_problem("cosine", K=3, dim=3)
    right, wrong = run(problem, device=Device()), _mutated(made, mutate)
    assert np.abs(wrong.grad_sq / right.grad_sq - 1).min() > 1e-6


def _mutated(made: list[SimulatedKernels], mutate: Callable[..., None], **more: Any) -> Trace:
    load = device_engine._load

    def spoilt(*args: Any) -> Any:
        kernels = load(*args)
        mutate(kernels.names)  # type: ignore[attr-defined]
        return kernels

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(device_engine, "_load", spoilt)
        return run(load_problem("cosine", K=3, dim=3), device=Device(), **more)
