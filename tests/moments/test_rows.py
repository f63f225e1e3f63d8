"""One step of a worker, as rows on what it sees: the recursion itself, number by number."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from stemtheory.algorithms.stem import READINGS
from stemtheory.moments.layout import StateLayout
from stemtheory.moments.rows import VARIABLES, WorkerGradient, fedavg_rows, stem_rows

H, O, ETA, A = 0.7, -0.3, 0.11, 0.2
WORKER = WorkerGradient(np.array(H), np.array(O))
SHARES = np.array([0.25, 0.75])
POINTS = {"x": (1.5, -0.4), "previous": (1.1, 0.2), "d": (0.9, -1.3)}  # of a worker of either group


def seen(base: str) -> tuple[Any, Any]:
    """Return what a worker of the first group sees of z, and z."""
    form = StateLayout(2, VARIABLES[base], (), ())
    points = np.array(list(POINTS.values()))[: form.variables]
    return form.view(0, SHARES), np.concatenate([[1.0], points.T.ravel()])


def moved(rows: Any, z: Any) -> Any:
    """Return rows on z, at eta and a."""
    return np.array([1.0, ETA, A]) @ (rows @ z)


@pytest.mark.parametrize("synchronises", [False, True])
@pytest.mark.parametrize("sync", READINGS)
def test_stem(sync: str, synchronises: bool) -> None:
    view, z = seen("stem")
    (x, x_mean), (previous, _), (d, d_mean) = ((p[0], float(SHARES @ p)) for p in POINTS.values())
    if synchronises and sync.startswith("average"):
        previous = x_mean if sync == "average-both" else previous
        there = x_mean - ETA * d_mean  # averaged first: x and d of the mean are what is stepped by
    else:
        there = x - ETA * d
    rows = stem_rows(view, WORKER, sync, synchronises)
    expected = H * there + O + (1 - A) * (d - H * previous - O)
    np.testing.assert_allclose(
        [moved(r, z) for r in rows.new], [there, there, expected], rtol=1e-14
    )
    # L_n xi at both points: the noise of the difference
    np.testing.assert_allclose(moved(rows.slope, z), there - (1 - A) * previous, rtol=1e-13)
    assert np.dot(rows.level, [1, ETA, A]) == A  # additive noise: xi - (1 - a) xi


def test_fedavg() -> None:
    view, z = seen("fedavg")
    x = POINTS["x"][0]
    rows = fedavg_rows(view, WORKER, "literal", False)
    np.testing.assert_allclose(moved(rows.new[0], z), x - ETA * (H * x + O), rtol=1e-14)
    # its sign is that of -xi, which has the law of xi
    np.testing.assert_allclose(moved(rows.slope, z), ETA * x, rtol=1e-14)
    assert np.dot(rows.level, [1, ETA, A]) == ETA
