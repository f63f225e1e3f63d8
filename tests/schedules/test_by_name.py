"""Schedules by name, their options, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from stemtheory.runtime.errors import UsageError
from stemtheory.schedules import (
    Calibrated,
    Constant,
    FedAvgCalibrated,
    FedAvgTheorem,
    Practical,
    Theorem,
    make_schedule,
)

COMMON: dict[str, Any] = {"T": 1000, "K": 2, "b": 3.0, "I": 4, "L": 1.5, "sigma": 0.5}


@pytest.mark.parametrize(
    ("name", "algorithm", "options", "kind"),
    [
        ("theorem", "stem", {}, Theorem),
        ("calibrated", "stem", {"C2": "512"}, Calibrated),
        ("practical", "stem", {"kappa": 0.3}, Practical),
        ("constant", "stem", {"eta": 0.1, "a": 0.3}, Constant),
        ("theorem", "fedavg", {}, FedAvgTheorem),
        ("calibrated", "fedavg", {"C1": 3}, FedAvgCalibrated),
        ("constant", "fedavg", {"eta": 0.1}, Constant),
    ],
)
def test_make_schedule(name: str, algorithm: str, options: dict[str, Any], kind: type) -> None:
    schedule = make_schedule(name, algorithm=algorithm, **COMMON, **options)
    assert isinstance(schedule, kind)
    assert schedule.name == name
    assert all(isinstance(value, float) for value in schedule.parameters().values())
    assert schedule.eta(np.arange(5)).shape == (5,)
    for key in COMMON.keys() & schedule.parameters().keys():  # none stands in another's place
        assert schedule.parameters()[key] == COMMON[key]
    for key, value in options.items():
        field = {"eta": "eta_value", "a": "a_value"}.get(key, key)
        assert schedule.parameters()[field] == float(value)


@pytest.mark.parametrize(
    ("L", "K", "b", "I", "scale"), [(2.0, 3, 1.5, 4, 1.0), (0.5, 8, 1.0, 1, 2.5)]
)
def test_coupled_is_the_momentum_of_the_theorem(
    L: float, K: int, b: float, I: int, scale: float
) -> None:
    """a = min(1, scale c eta^2), with the printed c = L^2 (64/(bK) + 1/(24 (bK)^2 I))."""
    setting: dict[str, Any] = COMMON | {"L": L, "K": K, "b": b, "I": I}
    c = L**2 * (64 / (b * K) + 1 / (24 * (b * K) ** 2 * I))
    for eta in (0.01, 0.9):
        schedule = make_schedule("coupled", algorithm="stem", **setting, eta=eta, scale=scale)
        assert float(schedule.eta(1)) == eta
        assert float(schedule.momentum(2)) == pytest.approx(min(1.0, scale * c * eta**2))
    own = make_schedule("coupled", algorithm="stem", coupling=7.0, **setting, eta=0.1)
    assert float(own.momentum(2)) == pytest.approx(0.07)


@pytest.mark.parametrize(
    ("name", "algorithm", "options", "message"),
    [
        ("teorem", "stem", {}, "theorem"),
        ("theorem", "stm", {}, "stem"),
        ("theorem", "stem", {"C1": 2}, "C1"),
        ("practical", "fedavg", {}, "constant"),
        ("constant", "stem", {"eta": 0.1}, "needs a"),
        ("constant", "stem", {"eta": 0.1, "a": 1.5}, "1.5"),
        ("constant", "stem", {"eta": "fast", "a": 1}, "fast"),
        ("calibrated", "stem", {"C1": 0}, "C1"),
    ],
)
def test_bad_schedules_are_refused_in_one_sentence(
    name: str, algorithm: str, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        make_schedule(name, algorithm=algorithm, **COMMON, **options)


@pytest.mark.parametrize("scale", [0.0, -1.0])
def test_a_scale_that_is_not_positive_is_refused(scale: float) -> None:
    with pytest.raises(UsageError, match="scale"):
        make_schedule("coupled", algorithm="stem", **COMMON, eta=0.1, scale=scale)
