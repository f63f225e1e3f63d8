"""Interval arithmetic with outward rounding, for inequalities between constants.

Every operation of IEEE arithmetic is correctly rounded, so one step outwards from its result
(``np.nextafter``) encloses the true value. An ``Interval`` may hold arrays, one enclosure per
entry, or a whole range of a variable: ``Interval(0, 1)`` for 1/(bK) with any b, K >= 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from stemtheory.claims.base import Comparison

Pair = tuple[Any, Any]  # left <= right is to be shown


@dataclass(frozen=True)
class Interval:
    """All values between ``lo`` and ``hi``, arrays of one shape (or numbers)."""

    lo: Any
    hi: Any

    def __array_ufunc__(self, function: Any, method: str, *inputs: Any) -> Any:
        """Return an interval of array + interval, of maximum, minimum, sqrt and exp."""
        if method != "__call__" or function not in FUNCTIONS:
            return NotImplemented
        return FUNCTIONS[function](*map(enclose, inputs))

    def __add__(self, other: Any) -> Interval:
        y = enclose(other)
        return Interval(_down(self.lo + y.lo), _up(self.hi + y.hi))

    def __sub__(self, other: Any) -> Interval:
        y = enclose(other)
        return Interval(_down(self.lo - y.hi), _up(self.hi - y.lo))

    def __mul__(self, other: Any) -> Interval:
        y = enclose(other)
        ends = (self.lo * y.lo, self.lo * y.hi, self.hi * y.lo, self.hi * y.hi)
        return Interval(_down(_fold(np.minimum, ends)), _up(_fold(np.maximum, ends)))

    def __truediv__(self, other: Any) -> Interval:
        y = enclose(other)
        if not (np.all(y.lo > 0) or np.all(y.hi < 0)):
            raise ZeroDivisionError("an interval that holds 0 cannot divide")
        return self * Interval(_down(1 / np.asarray(y.hi)), _up(1 / np.asarray(y.lo)))

    def __pow__(self, power: float) -> Interval:
        """Return a power of what is not negative, a whole number of halves."""
        root, halves = FUNCTIONS[np.sqrt](self), abs(round(2 * power))
        if halves != 2 * abs(power):
            raise ValueError(f"an interval has no power {power}: only whole and half ones")
        found = enclose(1)
        for _ in range(halves):
            found = found * root
        return 1 / found if power < 0 else found

    __radd__, __rmul__ = __add__, __mul__

    def __rsub__(self, other: Any) -> Interval:
        return enclose(other).__sub__(self)

    def __rtruediv__(self, other: Any) -> Interval:
        return enclose(other).__truediv__(self)


def enclose(value: Any) -> Interval:
    """Return the tightest interval of floats around an exact number.

    Strings and ``Fraction`` are exact ("0.0087" is 87/10000); integers (also in arrays) must be
    below 2^53; floats stand for themselves.

    Raises
    ------
    ValueError
        If an integer is too large to be a float exactly.
    """
    if isinstance(value, Interval):
        return value
    if isinstance(value, str | Fraction):
        exact = Fraction(value)
        near = float(exact)
        lo = near if Fraction(near) <= exact else float(_down(near))
        hi = near if Fraction(near) >= exact else float(_up(near))
        return Interval(lo, hi)
    array = np.asarray(value)
    if array.dtype.kind in "iu" and np.any(np.abs(array) > 2**53):
        raise ValueError("an integer beyond 2^53 is not a float: give a Fraction")
    floats = array.astype(np.float64)
    return Interval(floats, floats)


def exp_upper(x: Fraction) -> Fraction:
    """Return a rational number above e^x, 0 <= x <= 2, by less than 1e-20.

    The tail of the series after n terms is below twice its first term as soon as n >= 2 x.
    """
    total, term = Fraction(0), Fraction(1)
    for n in range(1, 31):
        total += term
        term *= x / n
    return total + 2 * term


def _exp(x: Interval) -> Interval:
    """Return the enclosure of e to a number between 0 and 2."""
    above, below = exp_upper(Fraction(float(x.hi))), exp_upper(Fraction(float(x.lo)))
    return Interval(enclose(below - Fraction(1, 10**19)).lo, enclose(above).hi)


def _monotone(pick: Any) -> Any:
    return lambda x, y: Interval(pick(x.lo, y.lo), pick(x.hi, y.hi))


FUNCTIONS = {
    np.add: Interval.__add__,
    np.subtract: Interval.__sub__,
    np.multiply: Interval.__mul__,
    np.true_divide: Interval.__truediv__,
    np.maximum: _monotone(np.maximum),
    np.minimum: _monotone(np.minimum),
    np.sqrt: lambda x: Interval(_down(np.sqrt(x.lo)), _up(np.sqrt(x.hi))),
    np.exp: _exp,
}


def compared(pairs: list[Pair]) -> Comparison:
    """Return the comparison of inequalities left <= right between exact constants or intervals.

    The upper end of every left side stands against the lower end of its right side.
    """
    left, right = [], []
    for small, large in pairs:
        above, below = np.broadcast_arrays(enclose(small).hi, enclose(large).lo)
        left.append(above.ravel())
        right.append(below.ravel())
    return Comparison(np.concatenate(left), np.concatenate(right))


def _down(x: Any) -> Any:
    return np.nextafter(x, -np.inf)


def _up(x: Any) -> Any:
    return np.nextafter(x, np.inf)


def _fold(pick: Any, ends: tuple[Any, ...]) -> Any:
    first, second, third, fourth = ends
    return pick(pick(first, second), pick(third, fourth))
