"""Numbers without letters, such as exp(33/32), enclosed by ball arithmetic.

Arb carries a proved radius through every operation; its ends are read back as fractions.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from stemtheory.claims.language import Call, Exact, Expr, Product, Raised, Sum, text
from stemtheory.runtime import UsageError


def enclosed(node: Expr) -> tuple[Fraction, Fraction]:
    """Return fractions below and above the value of an expression without letters.

    Raises
    ------
    UsageError
        If it has letters, or another function than exp and log.
    """
    ball = _ball(node)
    middle, radius = _fraction(ball.mid()), _fraction(ball.rad())
    return middle - radius, middle + radius


def _fraction(exact: Any) -> Fraction:
    """Return a ball of radius 0 as the fraction that it is."""
    mantissa, exponent = exact.man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def _ball(node: Expr) -> Any:
    from flint import arb, fmpq

    match node:
        case Exact(value):
            return arb(fmpq(value.numerator, value.denominator))
        case Sum(terms):
            return sum(map(_ball, terms), arb(0))
        case Product(factors):
            found = arb(1)
            for factor in factors:
                found = found * _ball(factor)
            return found
        case Raised(base, exponent):
            return _ball(base) ** _ball(exponent)
        case Call("exp" | "log" as function, (inside,)):
            return getattr(_ball(inside), function)()
    raise UsageError(f"{text(node)} is no number, or another function than exp and log.")
