"""What is kept of measurements: the same however they are cut, and nothing that is not finite."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from stemtheory.simulator.plan import Rows
from stemtheory.simulator.tally import GroupTally

T, RECORD = 12, np.array([1, 5, 12])
NAMES = ("total", "last", "best", "diverged_at", "series", "running", "progress", "arrived_at")


def kept(measured: Any, cut: int, found: Any = None) -> Rows:
    """Return the rows of measurements [T, replicates], handed over ``cut`` at a time."""
    tally = GroupTally(measured.shape[1], T, RECORD, 0 if found is None else 3)
    for t in range(0, T, cut):
        tally.add(measured[t : t + cut], t + 1)
        if found is not None:
            tally.follow(found[t : t + cut], t + 1)
    return tally.finish(0.0)


@pytest.mark.parametrize("cut", [1, 5])
def test_how_it_is_cut_changes_no_bit(cut: int) -> None:
    source = np.random.Generator(np.random.SFC64(0))
    measured = source.random((T, 3), dtype=np.float32)
    measured[4, 1] = np.inf
    found = np.minimum(np.arange(T)[:, None] // [2, 4, 9], 3)
    whole, other = kept(measured, T, found), kept(measured, cut, found)
    for name in NAMES:
        np.testing.assert_array_equal(getattr(whole, name), getattr(other, name), err_msg=name)
    np.testing.assert_array_equal(whole.arrived_at, [7, 0, 0])
    np.testing.assert_array_equal(whole.progress, [[0, 0, 0], [2, 1, 0], [3, 2, 1]])
    np.testing.assert_allclose(whole.running[-1, [0, 2]], measured.mean(axis=0)[[0, 2]], rtol=1e-6)


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e101])
@pytest.mark.parametrize("t", [1, 6, 12])
def test_what_is_not_finite_never_wins(value: float, t: int) -> None:
    """Nor what is finite behind it, nor does it touch the replicate beside it.

    Mutant: ``values > DIVERGED``, which no NaN is.
    """
    measured = np.full((T, 2), 2.0)
    measured[t - 1, 0] = value
    rows = kept(measured, 4)
    assert rows.diverged_at.tolist() == [t, 0]
    assert np.isnan([rows.total[0], rows.last[0]]).all()
    assert rows.best.tolist() == [np.inf if t == 1 else 2.0, 2.0]
    assert (rows.total[1], rows.last[1]) == (2.0, 2.0)
