"""FedAvg's steps: as printed, and without the units of L."""

from __future__ import annotations

import numpy as np
import pytest

from stemtheory.schedules import (
    FedAvgCalibrated,
    FedAvgTheorem,
)


def test_fedavg_theorem_step_and_premise() -> None:
    """T >= 81 L^2 I^2 bK is the same as eta <= 1/(9LI); at equality both hold."""
    T, K, b, I, L = 41_472, 4, 2.0, 8, 1.0
    schedule = FedAvgTheorem(T, K, b, I, L)
    np.testing.assert_allclose(schedule.eta([0, 5]), np.sqrt(8 / T))
    np.testing.assert_array_equal(schedule.momentum([1, 2]), [1, 1])
    assert schedule.premise_ok
    assert float(schedule.eta(1)) <= 1 / (9 * L * I) * (1 + 1e-15)
    assert not FedAvgTheorem(T - 1, K, b, I, L).premise_ok
    assert FedAvgTheorem(T - 1, K, b, I, L).parameters()["premise_ok"] == 0


@pytest.mark.parametrize(("C1", "C3"), [(2.0, 1.0), (5.0, 0.3)])
def test_fedavg_calibrated_does_not_depend_on_the_units_of_L(C1: float, C3: float) -> None:
    """C3 sqrt(bK/T)/L in a long run and 1/(C1 L I) in a short one; the first are the defaults."""
    given = {} if C1 == 2 else {"C1": C1, "C3": C3}
    long = FedAvgCalibrated(1e6, 4, 2.0, 8, L=3.0, **given)
    assert float(long.eta(1)) == pytest.approx(C3 * np.sqrt(8e-6) / 3)
    short = FedAvgCalibrated(16, 4, 2.0, 8, L=3.0, **given)
    assert float(short.eta(1)) == pytest.approx(1 / (C1 * 24))
    np.testing.assert_array_equal(long.momentum([1, 2]), [1, 1])
