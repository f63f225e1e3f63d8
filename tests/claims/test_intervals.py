"""Outward rounding: an interval holds the exact value, and not much more."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from stemtheory.claims.intervals import Interval, compared, enclose, exp_upper


def exact(value: float) -> Fraction:
    return Fraction(float(value))


@pytest.mark.parametrize("text", ["0.0087", "1.2e-4", "1/3", "7", "-0.1"])
def test_a_decimal_is_enclosed_to_the_last_bit(text: str) -> None:
    found = enclose(text)
    assert exact(found.lo) <= Fraction(text) <= exact(found.hi)
    assert found.hi <= np.nextafter(found.lo, np.inf)


def test_operations_enclose_the_exact_result() -> None:
    rng = np.random.Generator(np.random.SFC64(7))
    for _ in range(300):
        a, b, c = (Fraction(int(n), int(d)) for n, d in rng.integers(1, 10**9, (3, 2)))
        found = (enclose(a) * b - c) / enclose(c) + 2 * enclose(-a)
        value = (a * b - c) / c - 2 * a
        assert exact(found.lo) <= value <= exact(found.hi)
        assert found.hi - found.lo <= 1e-14 * float(a * b / c + 1 + a) + 1e-300


def test_the_reflected_operations_are_the_operations() -> None:
    x = Interval(2.0, 4.0)
    assert (1 - x).lo <= -3 <= -1 <= (1 - x).hi
    assert (1 / x).lo <= 0.25 <= 0.5 <= (1 / x).hi
    array = np.array([1, 2]) * x
    assert isinstance(array, Interval)
    assert np.all(array.hi >= [4, 8])


def test_a_range_times_a_range_takes_the_extreme_corners() -> None:
    found = Interval(-2.0, 3.0) * Interval(-5.0, 1.0)
    assert found.lo <= -15
    assert found.hi >= 10


def test_functions_of_numpy_enclose_their_values() -> None:
    third: Any = enclose("1/3")
    assert exact(np.sqrt(third).lo) ** 2 < Fraction(1, 3) < exact(np.sqrt(third).hi) ** 2
    assert np.exp(third).lo < np.exp(1 / 3) < np.exp(third).hi
    assert np.exp(third).hi - np.exp(third).lo < 1e-15
    larger, smaller = np.maximum(third, np.array([0, 1])), np.minimum(third, np.array([0, 1]))
    assert larger.hi.tolist() == [third.hi, 1]
    assert smaller.lo.tolist() == [0, third.lo]
    half: Any = third**-1.5
    assert exact(half.lo) ** 2 < 27 < exact(half.hi) ** 2
    with pytest.raises(TypeError):
        np.cos(third)
    with pytest.raises(ValueError, match="only whole and half ones"):
        third**0.3


def test_what_cannot_be_enclosed_is_refused() -> None:
    with pytest.raises(ZeroDivisionError):
        enclose(1) / Interval(-1.0, 1.0)
    with pytest.raises(ValueError, match="2\\^53"):
        enclose(np.array([2**53 + 1]))


def test_exp_is_bounded_from_above_closely() -> None:
    for x in (Fraction(33, 32), Fraction("0.06641"), Fraction(2)):
        assert float(exp_upper(x)) == pytest.approx(np.exp(float(x)), rel=1e-15)
    e = Fraction(1)
    for n in range(40, 0, -1):
        e = 1 + e / n  # Horner from below: the series without its tail
    assert e < exp_upper(Fraction(1)) < e + Fraction(1, 10**20)


def test_stack_takes_the_unfavourable_ends() -> None:
    c = compared([(Interval(1.0, 2.0), Interval(3.0, 4.0)), (enclose(np.arange(3)), 5)])
    left, right = c.left, c.right
    assert left.tolist() == [2.0, 0.0, 1.0, 2.0]
    assert right.tolist() == [3.0, 5.0, 5.0, 5.0]
