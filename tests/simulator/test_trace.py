"""What a trace says of its replicates (mean, error, interval), and the file that keeps it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from stemtheory import Trace, load_problem, simulate
from stemtheory.report import trace_files
from stemtheory.runtime import Floats
from stemtheory.runtime.errors import UsageError

FINITE = simulate(load_problem("quadratic", dim=1), T=2, b=1, I=1, replicates=8)


def of(values: Any) -> Trace:
    """Return a trace that measured these values, one per replicate."""
    measured: Floats = np.asarray(values, dtype=np.float64)
    return replace(FINITE, grad_sq=measured, diverged_at=np.zeros(len(measured), dtype=np.int64))


@pytest.mark.parametrize("R", [2, 5, 40])
def test_mean_error_and_interval_are_those_of_scipy(R: int) -> None:
    values = np.random.default_rng(R).lognormal(size=R)
    trace = of(values)
    assert trace.mean_grad_sq == pytest.approx(values.mean(), rel=1e-14)
    assert trace.stderr == pytest.approx(stats.sem(values), rel=1e-13)
    expected = stats.t.interval(0.95, R - 1, loc=values.mean(), scale=stats.sem(values))
    assert trace.ci95 == pytest.approx(expected, rel=1e-12)


def hits(share: float) -> int:
    """Return how many of 2000 intervals of eight normal values around 3 hold 3.

    The interval of another ``share`` than 95 % is that of the trace with its width scaled.
    """
    width = stats.t.ppf((1 + share) / 2, 7) / stats.t.ppf(0.975, 7)
    found = 0
    for values in np.random.default_rng(7).normal(3.0, 2.0, size=(2000, 8)):
        trace = of(values)
        low, high = trace.ci95 or (np.nan, np.nan)
        found += abs(3.0 - (low + high) / 2) <= width * (high - low) / 2
    return found


def test_the_interval_holds_the_mean_95_times_of_100() -> None:
    """Hits are binomial, 1900 with standard deviation 9.7: outside of 40 at a rate of 4e-5.

    An interval of 90 % hits 1800 times, with standard deviation 13.4.
    """
    assert abs(hits(0.95) - 1900) < 40
    assert abs(hits(0.90) - 1900) > 40


def test_quantiles_are_over_replicates() -> None:
    assert of(np.arange(101.0)).quantiles() == pytest.approx([5.0, 50.0, 95.0])


def test_a_diverged_replicate_takes_away_mean_error_and_interval() -> None:
    values = np.arange(8.0)
    trace = replace(of(values), diverged_at=np.array([0, 0, 0, 5, 0, 0, 0, 0]))
    assert (trace.mean_grad_sq, trace.stderr, trace.ci95, trace.quantiles()) == (None,) * 4
    assert trace.mean_grad_sq_finite == pytest.approx(25 / 7)
    assert (trace.status, trace.diverged_replicates) == ("diverged", 1)


def test_save_and_load(tmp_path: Any) -> None:
    trace = simulate(load_problem("cosine"), T=30, b=1, I=3, record_every=10)
    again = Trace.load(trace.save(tmp_path / "run.npz"))
    assert again.settings == trace.settings
    assert again.counts == trace.counts
    np.testing.assert_array_equal(again.grad_sq, trace.grad_sq)
    assert list(tmp_path.iterdir()) == [tmp_path / "run.npz"]
    torn = tmp_path / "torn.npz"
    torn.write_bytes((tmp_path / "run.npz").read_bytes()[:200])
    for bad in (torn, tmp_path / "absent.npz"):
        with pytest.raises(UsageError, match="not a saved trace"):
            Trace.load(bad)
    with pytest.raises(UsageError, match="cannot be written"):
        trace.save(tmp_path / "no" / "folder.npz")


@pytest.mark.parametrize("name", ["grad_sq", "series", "times", "text"])
def test_a_trace_that_does_not_fit_is_one_sentence(name: str, tmp_path: Path) -> None:
    """Missing, misshapen, and one array too many: nothing is broadcast."""
    path = simulate(load_problem("cosine"), T=30, b=1, I=3, replicates=3).save(tmp_path / "a.npz")
    with np.load(path) as data:
        saved = dict(data)
    rest = {other: array for other, array in saved.items() if other != name}
    longer = np.concatenate([saved[name].ravel()] * 2)
    for wrong in (rest, {**rest, name: longer}, {**saved, "more": saved[name]}):
        np.savez(path, **wrong)
        with pytest.raises(UsageError, match=r"not a saved trace|another version"):
            Trace.load(path)
    np.savez(path, **saved)
    assert Trace.load(path).replicates == 3


@pytest.mark.parametrize("ending", ["npz", "csv", "png"])
def test_what_stops_the_writing_leaves_the_old_file(
    ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The interrupt arrives between the last byte and the new name."""
    trace = simulate(load_problem("cosine"), T=30, b=1, I=3, record_every=10)
    path = trace_files.write(trace, (), tmp_path / f"run.{ending}")
    before = path.read_bytes()

    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        trace_files.write(trace, (), path)
    assert list(tmp_path.iterdir()) == [path]
    assert path.read_bytes() == before
