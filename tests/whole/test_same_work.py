"""Peers of the benchmarks do the product's work; one that leaves some of it out is refused."""

import importlib
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from stemtheory.runtime import generator
from tests.helpers.sources import ROOT

BENCHMARKS = ROOT / "benchmarks"
KINDS = [("default", "phase", "float64"), ("small", "modulated", "float32")]


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], Any]]:
    """Import a module of benchmarks/ by its name, and forget it."""
    monkeypatch.syspath_prepend(BENCHMARKS)
    yield importlib.import_module
    for path in BENCHMARKS.glob("*.py"):
        sys.modules.pop(path.stem, None)


def series(runs: Any, work: Any, noise: Any) -> Any:
    return runs.series_of(runs.plain_run(work, given=noise)(), work.T)


@pytest.mark.parametrize("kind", KINDS, ids=" ".join)
def test_plain_numpy_finds_the_numbers_of_the_array_engine(script: Any, kind: Any) -> None:
    check, runs = script("_same_work"), script("_peer_runs")
    work = check.few(*kind)
    right, noise = check.products_series(work, "array"), check.products_noise(work)
    found = series(runs, work, noise)
    assert right.shape == (work.T, work.R)
    assert check.same_numbers("plain", found, right, work.dtype) <= check.TOLERANCE[work.dtype]
    with pytest.raises(AssertionError, match="records 23 steps of 24"):
        check.same_numbers("plain", found[:-1], right, work.dtype)


def without(name: str, runs: Any, noise: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Make the plain run leave something out; return the noise that it is handed."""
    if name == "averages":
        monkeypatch.setattr(runs, "I", 10**9)
    elif name == "the second gradient":
        monkeypatch.setattr(runs, "A", 1.0)
    elif name == "the noise":
        return 0 * noise
    elif name == "the noise of the first batch":
        return np.concatenate([0 * noise[:1], noise[1:]])
    elif name == "one field":
        return noise * np.reshape([1.0, 0.0], (1, 2, 1, 1, 1))
    elif name == "a draw for every worker":
        return np.broadcast_to(noise[..., :1, :], noise.shape)
    return noise


@pytest.mark.parametrize(
    "left_out",
    [
        "averages", "the second gradient", "the noise", "the noise of the first batch",
        "one field", "a draw for every worker",
    ],
)  # fmt: skip
def test_who_leaves_work_out_has_other_numbers(
    script: Any, left_out: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    check, runs = script("_same_work"), script("_peer_runs")
    work = check.few(*KINDS[0])
    right, noise = check.products_series(work, "array"), check.products_noise(work)
    found = series(runs, work, without(left_out, runs, noise, monkeypatch))
    with pytest.raises(AssertionError, match="plain does other work"):
        check.same_numbers("plain", found, right, work.dtype)


def test_a_timed_run_without_its_noise_spreads_otherwise(script: Any) -> None:
    """The noise of the peer is its own; fixed seeds, so that nothing here is left to chance."""
    check, runs, common = script("_same_work"), script("_peer_runs"), script("_common")
    size, noise, dtype = KINDS[1]
    work = runs.Work(size, noise, dtype, 64, common.SHAPES[size][0])
    right = common.engine(size, noise, dtype, "array", "stem", work.T, record_every=1)().series
    check.same_law("plain", runs.plain_run(work)(), right)
    R, K, dim = work.shape
    alike = generator(9).standard_normal((work.T + 1, 1, R, 1, dim), dtype=np.float32)
    for given in (0 * alike, alike):
        mutant = series(runs, work, np.broadcast_to(given, (work.T + 1, 1, R, K, dim)))
        with pytest.raises(AssertionError, match="plain spreads"):
            check.same_law("plain", mutant, right)
