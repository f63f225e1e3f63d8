"""The worst instance found comes near to a certificate at the printed steps, and never above it."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from stemtheory.certificates import attack, find, shipped, stated
from stemtheory.certificates.attacking import _Moments
from stemtheory.certificates.statement import Statement
from stemtheory.runtime import UsageError
from tests.certificates.instances import mean


def stored(name: str) -> Any:
    return json.loads(shipped()[name].read_bytes())


@pytest.mark.parametrize(
    ("name", "least"),
    [
        ("average-first-I4-K4-b1-printed", 0.95),
        ("literal-I4-K4-b1-printed", 0.95),
        ("literal-I4-K4-b1-tuned", 0.8),
        ("average-first-I4-K4-b1-tuned", 0.7),
    ],
)
def test_the_worst_instance_is_near_and_not_above(name: str, least: float) -> None:
    assert least < attack(stored(name), generations=15).ratio <= 1


def test_of_fedavg_it_is_near_too() -> None:
    found = attack(find(stated("fedavg", "none", I=4, K=4, b=1)).certificate, generations=2)
    assert 0.95 < found.ratio <= 1
    assert sorted(found.H) == [-1, -1, 1, 1]


FEW = [name for name in shipped() if "-K100-" not in name and "-I8-" not in name]


def test_no_certificate_that_ships_is_refuted() -> None:
    ratios = {name: attack(stored(name), generations=1).ratio for name in FEW}
    assert len(ratios) >= 20
    assert {name: ratio for name, ratio in ratios.items() if not 0 < ratio <= 1} == {}


def test_a_constant_that_is_too_small_is_refuted() -> None:
    wrong = stored("literal-I4-K4-b1-printed")
    for name in ("C_sigma", "C_zeta"):
        wrong["statement"][name] = str(0.9 * _number(wrong["statement"][name]))
    assert attack(wrong, generations=15).ratio > 1


def _number(text: str) -> float:
    top, _, bottom = text.partition("/")
    return int(top) / int(bottom or 1)


@pytest.mark.parametrize(
    "kind", [("stem", "literal"), ("stem", "average-first"), ("fedavg", "none")]
)
def test_its_forms_are_the_expectations_of_the_round(kind: tuple[str, str]) -> None:
    """By enumeration of all signs: E V_I - E V_0 + (eta/2) sum |grad f|^2 from one start."""
    s = stated(*kind, I=3, K=2, b=1)
    c = find(s).certificate
    moments = _Moments(s, c["statement"], c["multipliers"])
    rng = np.random.default_rng(3)
    H, l = np.array([0.6, -0.5]), np.array([0.7, 0.4])
    z = rng.normal(size=moments.start.shape[1])
    left, _, _ = moments.forms(H, l)
    assert z @ left @ z == pytest.approx(
        by_enumeration(s, moments, H, l, moments.start @ z), rel=1e-9
    )


def by_enumeration(s: Statement, m: _Moments, H: Any, l: Any, state: Any) -> float:
    x, d, o, tau, r = state.reshape(5, s.K)
    signs = np.array(np.meshgrid(*[[-1.0, 1.0]] * (2 * s.K * s.I))).reshape(2, s.I, s.K, -1)
    signs = np.moveaxis(signs, -1, 2)  # (kind, draw, outcome, worker)

    def noise(x: Any, draw: int) -> Any:
        return signs[0, draw] * (l * x + tau) + signs[1, draw] * r

    def potential(x: Any, d: Any) -> Any:
        xbar = x.mean(axis=1)
        e = (d - H * x - o).mean(axis=1)
        drift = ((x - mean(x)) ** 2).mean(axis=1)
        return H.mean() / 2 * xbar**2 + o.mean() * xbar + m.lam * e**2 * s.stem + m.mu * drift

    def slope(x: Any) -> Any:
        return (H * mean(x) + o).mean(axis=1) ** 2

    count = signs.shape[2]
    x, d = np.tile(x, (count, 1)), np.tile(d, (count, 1))
    total = -potential(x, d)
    for j in range(1, s.I + 1):
        total = total + float(s.eta) / 2 * slope(x)
        step = d if s.stem else H * x + o + noise(x, j - 1)
        new = x - float(s.eta) * step
        new = mean(new) if j == s.averaged else new
        if s.stem:
            old = H * x + o + noise(x, j - 1)
            d = H * new + o + noise(new, j - 1) + (1 - float(s.a)) * (d - old)
        x = new
    return float((total + potential(x, d)).mean())


def test_many_workers_are_refused() -> None:
    with pytest.raises(UsageError, match="K is 100, but an attack follows every worker"):
        attack(stored("literal-I2-K100-b1-printed"))
