"""The trade-off curves are the printed powers, rounded and clipped as they say."""

from __future__ import annotations

import pytest

from stemtheory.runtime.errors import UsageError
from stemtheory.schedules import (
    fedavg_curve,
    round_up,
    stem_curve,
)


@pytest.mark.parametrize("nu", [0.0, 0.3, 0.5, 1.0])
def test_curves_are_the_printed_powers(nu: float) -> None:
    T, K = 3.7e11, 12
    I, b, clipped = stem_curve(T, K, nu)
    assert round((T / K**2) ** (nu / 3)) == I
    assert b == pytest.approx((T / K**2) ** (0.5 - nu / 2))
    assert not clipped
    I, b, clipped = fedavg_curve(T, K, nu)
    assert round((T / K**3) ** (nu / 4)) == I
    assert b == pytest.approx((T / K**3) ** (1 / 3 - nu / 3))
    assert not clipped


def test_unrounded_curve_keeps_its_product() -> None:
    """At T = K^2 I^{3/nu} the curve needs no rounding, and I^3 (bK)^2 = T."""
    for nu, K, I in [(1.0, 4, 7), (0.5, 3, 5), (0.75, 2, 16)]:
        T = K**2 * I ** (3 / nu)
        point = stem_curve(T, K, nu)
        assert point.I == I
        assert I**3 * (point.b * K) ** 2 == pytest.approx(T, rel=1e-12)


def test_a_run_too_short_for_the_workers_is_marked_clipped() -> None:
    assert stem_curve(99, 10, 0.5) == (1, 1.0, True)
    assert stem_curve(100, 10, 0.5) == (1, 1.0, False)
    assert fedavg_curve(999, 10, 1.0) == (1, 1.0, True)
    assert not fedavg_curve(1000, 10, 1.0).clipped


def test_round_up_gives_whole_rounds() -> None:
    assert round_up(4096, 8) == 4096
    assert round_up(4097, 8) == 4104
    assert round_up(10.2, 1) == 11
    assert round_up(1, 7) == 7
    assert round_up(10**18 + 1, 7) % 7 == 0


@pytest.mark.parametrize("nu", [-0.1, 1.1, float("nan")])
def test_nu_outside_its_range_is_refused(nu: float) -> None:
    for curve in (stem_curve, fedavg_curve):
        with pytest.raises(UsageError, match="nu"):
            curve(1000, 2, nu)
