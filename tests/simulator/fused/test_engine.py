"""The fused engine: bits, the rule of ``auto``, refusals, divergence, and life without numba."""

from __future__ import annotations

import dataclasses
import functools
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("numba", reason="the fused engine is compiled by numba")

from stemtheory import Trace, load_problem, simulate
from stemtheory.oracles.separable import ORACLE, Separable
from stemtheory.runtime.errors import UsageError
from stemtheory.simulator import fused, limits
from stemtheory.simulator.fused import engine as module
from stemtheory.simulator.fused import log_grid, source

FIELDS = ("grad_sq", "last", "best", "series", "running", "diverged_at")


def run(problem: Any = None, **more: Any) -> Trace:
    options = {"T": 120, "b": 2, "I": 3, "replicates": 13, "record_every": 7, **more}
    return simulate(problem or load_problem("cosine", K=3, dim=400), engine="fused", **options)


SMALLEST = (  # groups, stretches of sums, and segments
    (module, "STATE_BYTES", 1), (limits, "SPAN_ELEMENTS", 1), (module, "MOST_STEPS", 5),
)  # fmt: skip


def assert_bits(a: Trace, b: Trace) -> None:
    for name in FIELDS:
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))


def test_bits_do_not_depend_on_threads_segments_or_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = run(threads=1)
    assert_bits(plain, run(threads=3))
    for where, name, value in SMALLEST:
        monkeypatch.setattr(where, name, value)
        assert_bits(plain, run(threads=2))


@pytest.mark.parametrize("noise", ["modulated", "phase"])
@pytest.mark.parametrize(("K", "dim"), [(2, 8), (4, 8), (5, 13), (3, 50), (4, 33)])
def test_bits_do_not_depend_on_what_is_drawn_together(
    monkeypatch: pytest.MonkeyPatch, K: int, dim: int, noise: str
) -> None:
    """Blocks of noise are drawn in pairs, of one step or of two; segments part them otherwise."""
    problem = load_problem("cosine", K=K, dim=dim, noise=noise)
    plain = run(problem, threads=1, replicates=3, I=12)
    assert np.all(np.isfinite(plain.series))
    for steps in (1, 3, 8):
        monkeypatch.setattr(module, "MOST_STEPS", steps)
        assert_bits(plain, run(problem, threads=2, replicates=3, I=12))


@pytest.mark.parametrize("option", ["I", "II"])
def test_segments_of_scaffold(monkeypatch: pytest.MonkeyPatch, option: str) -> None:
    """Segments end inside of rounds, whose step sizes are summed."""
    options = {"algorithm": "scaffold", "algorithm_options": {"option": option}, "I": 12}
    problem = load_problem("cosine", K=3, dim=5)
    plain = run(problem, threads=1, **options)
    for where, name, value in SMALLEST:
        monkeypatch.setattr(where, name, value)
        assert_bits(plain, run(problem, threads=2, **options))


def test_a_replicate_does_not_depend_on_how_many_there_are() -> None:
    many, few = run(replicates=13), run(replicates=4)
    np.testing.assert_array_equal(many.grad_sq[:4], few.grad_sq)
    assert len(np.unique(many.grad_sq)) == 13


def test_seed_and_dtype() -> None:
    """Both precisions share their noise; another seed does not."""
    problem = load_problem("cosine", K=2, dim=4)
    double, single, other = (run(problem, **m) for m in ({}, {"dtype": "float32"}, {"seed": 1}))
    np.testing.assert_allclose(single.grad_sq, double.grad_sq, rtol=1e-5)
    assert not np.array_equal(single.grad_sq, double.grad_sq)
    assert np.abs(other.grad_sq / double.grad_sq - 1).max() > 1e-3


def test_golden_bits() -> None:
    """The same on every processor and compiler: sums are in order, and no flag lets them not be."""
    problem = load_problem("cosine", K=3, dim=400)
    options = {"eta": 0.05, "a": 0.1}
    bits = [
        run(problem, dtype=dtype, schedule="constant", schedule_options=options).last[0].hex()
        for dtype in ("float64", "float32")
    ]
    assert bits == GOLDEN


GOLDEN = ["0x1.2b2fa7e39fca5p+0", "0x1.2b2fa40000000p+0"]


def test_auto_is_a_matter_of_size_and_is_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = load_problem("cosine")
    work = 16 * 8 * 4 * 8  # T R K dim

    def taken(limit: int, **more: Any) -> Any:
        monkeypatch.setattr(fused, "AUTO_WORK", limit)
        return simulate(problem, T=16, b=1, I=1, replicates=8, **more).settings

    assert taken(work + 1)["engine"] == "array"
    found = taken(work)
    assert (found["engine"], found["noise_source"]) == ("fused", "philox")
    assert taken(work, engine="array")["engine"] == "array"
    for more in ({"per_sample": True}, {"noise_source": "host"}):
        assert taken(work, **more)["engine"] == "array"


@pytest.mark.parametrize(
    ("problem", "more", "said"),
    [
        (("logistic", {}), {}, "logistic is not separable"),
        (("cosine", {"rotate": True}), {}, "cosine is not separable"),
        (("cosine", {}), {"per_sample": True}, "not sample by sample"),
        (("cosine", {}), {"noise_source": "host"}, "inside the kernel"),
        (("cosine", {}), {"T": 2**32}, "up to T = 4294967295"),
        (
            ("cosine", {}),
            {"algorithm": "scaffold", "algorithm_options": {"participation": 0.5}},
            "participation is 0.5",
        ),
    ],
)
def test_what_it_cannot_do_it_says(problem: Any, more: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said) as caught:
        simulate(
            load_problem(problem[0], **problem[1]),
            engine="fused",
            **{"T": 8, "b": 1, "I": 1, **more},
        )
    assert "use engine array" in str(caught.value)


@pytest.mark.parametrize("name", ORACLE)
def test_a_problem_with_an_oracle_of_its_own_takes_no_kernel_of_its_family(name: str) -> None:
    """The kernel computed what the class it was derived from says."""

    def own(self: Any, *given: Any) -> Any:
        return getattr(Separable, name)(self, *given)

    plain = load_problem("cosine")
    mine = type("Mine", (Separable,), {name: own})(**vars(plain))
    with pytest.raises(UsageError, match=f"but Mine has its own {name}: use engine array"):
        simulate(mine, "mime", T=8, engine="fused")
    alike = type("Mine", (Separable,), {})(**vars(plain))
    options: dict[str, Any] = {"T": 8, "b": 1, "I": 2, "replicates": 2, "engine": "fused"}
    told, expected = (simulate(problem, "mime", **options) for problem in (alike, plain))
    np.testing.assert_array_equal(told.grad_sq, expected.grad_sq)


def test_without_numba(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Everything works, slower, and stderr says so once; to insist is an error."""
    monkeypatch.setitem(sys.modules, "numba", None)
    monkeypatch.setattr(fused, "AUTO_WORK", 1)
    fused.missing.cache_clear()
    fused.say_missing.cache_clear()
    problem = load_problem("cosine", dim=2)
    try:
        for _ in range(2):
            assert simulate(problem, T=4, b=1, I=1).settings["engine"] == "array"
        said = capsys.readouterr()
        assert said.err.count("numba") == 1
        assert said.out == ""
        with pytest.raises(UsageError, match="numba"):
            simulate(problem, T=4, b=1, I=1, engine="fused")
    finally:
        fused.missing.cache_clear()
        fused.say_missing.cache_clear()


def test_divergence_spoils_no_other_replicate() -> None:
    problem = load_problem("quadratic", K=2, dim=1, noise="multiplicative", L=4.0, zeta=0)
    options = {"eta": 1.05, "a": 1.0}
    trace = run(
        problem, T=170, b=1, I=2, replicates=32, schedule="constant", schedule_options=options
    )
    lost = trace.diverged_at > 0
    assert trace.status == "diverged"
    assert trace.mean_grad_sq is None
    assert 0 < lost.sum() < 32
    assert np.all(np.isnan(trace.grad_sq) == lost)
    assert np.all(np.isnan(trace.last) == lost)
    assert np.all(np.isfinite(trace.series[:, ~lost]))


def test_all_diverged_stops_early() -> None:
    trace = run(
        load_problem("quadratic", K=2, dim=1, noise="multiplicative", L=4.0, zeta=0),
        T=10**7, I=1, record_every=10**6, schedule="constant",
        schedule_options={"eta": 50.0, "a": 1.0},
    )  # fmt: skip
    assert trace.status == "diverged"
    assert trace.series.shape == (10, 13)
    assert trace.counts.samples_per_worker < 10**5


def test_start_and_record() -> None:
    problem = load_problem("cosine", K=3, dim=3)
    trace = run(problem, x1=[1.0, 2.0, 0.5], record_every=1)
    gradient = problem.full_gradient(np.array([1.0, 2.0, 0.5]))
    np.testing.assert_allclose(trace.series[0], (gradient**2).sum(), rtol=1e-14)
    np.testing.assert_allclose(trace.series.mean(axis=0), trace.grad_sq, rtol=1e-13)
    np.testing.assert_array_equal(trace.series.min(axis=0), trace.best)
    np.testing.assert_array_equal(trace.series[-1], trace.last)


def test_log_grid() -> None:
    assert log_grid(1) == [1]
    assert log_grid(1000, 1) == [1, 10, 100, 1000]
    grid = log_grid(5 * 10**7)
    assert grid[-1] == 5 * 10**7
    assert grid == sorted(set(grid))
    trace = run(load_problem("cosine", K=3, dim=3), T=999, record_every=0, record_at=log_grid(999))
    assert trace.times.tolist() == log_grid(999)
    assert np.all(np.isfinite(trace.series))


def _quartic(x: Any, weight: Any) -> Any:
    return weight * x * x * x


def test_a_family_of_ones_own_needs_no_file(capsys: pytest.CaptureFixture[str]) -> None:
    """Also one whose slope is a lambda, which no other process could find; it is not kept."""
    base = load_problem("quadratic", K=2, dim=3)
    named = dataclasses.replace(base.family, name="quartic", slope=_quartic)  # type: ignore[attr-defined]
    nameless = dataclasses.replace(named, slope=lambda x, weight: weight * x * x * x)
    traces = [
        run(dataclasses.replace(base, family=family), algorithm="fedavg")  # type: ignore[type-var]
        for family in (named, nameless)
    ]
    assert_bits(*traces)
    capsys.readouterr()


def _chosen(x: Any, weight: Any) -> Any:
    return np.where(x > 0, weight * x, 2 * weight * x)


def _own(slope: Any) -> Any:
    base = load_problem("quadratic", K=2, dim=3)
    family = dataclasses.replace(base.family, name='my """ loss', slope=slope)  # type: ignore[attr-defined]
    return dataclasses.replace(base, family=family)  # type: ignore[type-var]


@pytest.mark.parametrize("slope", [_chosen, functools.partial(_quartic)])
def test_what_does_not_compile_is_one_sentence(slope: Any) -> None:
    with pytest.raises(UsageError, match=r"numba does not compile .*\(.+\): .*use engine array"):
        run(_own(slope), algorithm="fedavg")


def test_auto_falls_back_where_nothing_compiles(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(fused, "AUTO_WORK", 1)
    trace = simulate(_own(_chosen), "fedavg", T=24, b=1, I=2, replicates=2, engine="auto")
    assert (trace.settings["engine"], trace.status) == ("array", "ok")
    assert "takes the slower array engine: engine fused cannot be used" in capsys.readouterr().err


@pytest.mark.parametrize("threads", [0, -1, 1.5, "two"])
def test_threads_are_counted(threads: Any) -> None:
    with pytest.raises(UsageError, match="threads is"):
        run(threads=threads)


def forget_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Begin as another process would."""
    for name in ("_loaded", "_known"):
        monkeypatch.setattr(source, name, {})


@pytest.mark.parametrize(
    ("ending", "rubbish"), [("nbi", b""), ("nbc", b"rubbish"), ("py", b"\xff\xfe")]
)
def test_a_damaged_kernel_is_compiled_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str, rubbish: bytes
) -> None:
    monkeypatch.setenv("STEMTHEORY_CACHE", str(tmp_path))
    forget_kernels(monkeypatch)
    problem = load_problem("quadratic", sigma=0, zeta=0)
    first = run(problem, algorithm="fedavg")
    files = [file for file in tmp_path.rglob(f"*.{ending}") if file.is_file()]
    assert files
    for file in files:
        file.write_bytes(rubbish)
    forget_kernels(monkeypatch)
    assert_bits(first, run(problem, algorithm="fedavg"))
    assert all(file.read_bytes() != rubbish for file in files if file.exists())


def test_no_folder_to_keep_kernels_in(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("STEMTHEORY_CACHE", str(tmp_path / "file" / "kernels"))
    forget_kernels(monkeypatch)
    assert run(load_problem("quadratic", sigma=0, zeta=0), algorithm="fedavg").status == "ok"
    assert "compiling the fused kernel of quadratic" in capsys.readouterr().err


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [1, 16, 1000])
def test_arrays_begin_where_a_cache_line_does(n: int, dtype: Any) -> None:
    arrays = [module.aligned(n, dtype) for _ in range(8)]
    assert all(a.ctypes.data % 64 == 0 and a.shape == (n,) and a.dtype == dtype for a in arrays)
    assert not any(a.any() for a in arrays)
