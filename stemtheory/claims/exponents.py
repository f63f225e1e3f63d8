"""Arithmetic of exponents, exactly: products of powers of T, K, b, I and eps, with Fractions.

    I = (T / K**2) ** (nu / 3)
    solve(I / T, "T")        T as a product of powers of eps, from I/T = eps
    in_terms(b * T, T=...)   the same product with T replaced

Paper: Thm: PR_Convergence_Main, eq. (Eq: Total_Iterations_App).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from stemtheory.claims.base import Comparison
from stemtheory.runtime import UsageError

EXACT = 1e-12  # an exact exponent is compared as a float
FITTED = 0.01  # tolerance of slopes of a bound over many decades: rounded I, lower-order terms


@dataclass(frozen=True)
class Monomial:
    """A product of powers of letters, constants left out."""

    powers: dict[str, Fraction] = field(default_factory=dict)

    def __mul__(self, other: Monomial) -> Monomial:
        """Return the product."""
        names = self.powers | other.powers
        return Monomial({n: self[n] + other[n] for n in names if self[n] + other[n]})

    def __pow__(self, power: Fraction | int) -> Monomial:
        """Return the power."""
        return Monomial({n: p * power for n, p in self.powers.items() if power})

    def __truediv__(self, other: Monomial) -> Monomial:
        """Return the quotient."""
        return self * other**-1

    def __getitem__(self, name: str) -> Fraction:
        """Return the exponent of a letter."""
        return self.powers.get(name, Fraction(0))


def letter(name: str) -> Monomial:
    """Return a letter to the power 1."""
    return Monomial({name: Fraction(1)})


T, K, b, I, eps = (letter(name) for name in ("T", "K", "b", "I", "eps"))


def in_terms(product: Monomial, **values: Monomial) -> Monomial:
    """Return the product with letters replaced by products."""
    rest = Monomial({n: p for n, p in product.powers.items() if n not in values})
    for name, value in values.items():
        rest = rest * value ** product[name]
    return rest


def solve(rate: Monomial, name: str = "T") -> Monomial:
    """Return what the letter ``name`` must be for the rate to be eps.

    Raises
    ------
    UsageError
        If the rate does not depend on the letter.
    """
    power = rate[name]
    if not power:
        raise UsageError(f"the rate has no {name} in it, so it cannot be solved for: choose T.")
    rest = Monomial({n: p for n, p in rate.powers.items() if n != name})
    return (letter("eps") / rest) ** (1 / power)


class Exponent(NamedTuple):
    """One exponent: what it is of, found, stated, and how far apart they may be."""

    name: str
    found: float
    stated: float
    tolerance: float


def exact(name: str, found: Monomial, stated: Monomial) -> list[Exponent]:
    """Return one exponent per letter that either side has."""
    letters = sorted(found.powers | stated.powers)
    return [Exponent(f"{name} in {n}", float(found[n]), float(stated[n]), EXACT) for n in letters]


def fitted(
    name: str, f: Callable[[float], float], x: Sequence[float], stated: Fraction | float
) -> Exponent:
    """Return the slope of log f over log x, by least squares over the points x."""
    slope = np.polyfit(np.log(x), np.log([float(f(value)) for value in x]), 1)[0]
    return Exponent(name, float(slope), float(stated), FITTED)


def comparison(*exponents: Exponent) -> Comparison:
    """Return exponents as the sides of a ``rate`` claim; ``t`` names them."""
    names, found, stated, tolerance = zip(*exponents, strict=True)
    return Comparison(
        np.array(found), np.array(stated), t=np.array(names), spread=np.array(tolerance)
    )


def measurable(nu: Fraction) -> bool:
    """Whether slopes are fitted at nu: below 1/4 a whole I takes too few values on the curve."""
    return nu.denominator <= 4


# Why the sides of a rate do not follow from its formula.
BY_HAND = "A rate: exponents follow from powers, and are fitted to the bound as it is evaluated."


def nus(level: str) -> tuple[Fraction, ...]:
    """Return a grid of nu with both ends."""
    n = {"quick": 4, "default": 8, "full": 24}[level]
    return tuple(Fraction(i, n) for i in range(n + 1))
