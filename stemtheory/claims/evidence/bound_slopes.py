"""Slopes of the explicit bounds over many decades, with L = sigma = zeta = gap = 1.

Paper: Thm: PR_Convergence_Main; Thm: Flexible_FedAvg.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any

from stemtheory.bounds import Inversion, Setting, invert
from stemtheory.claims.exponents import Exponent, fitted

Term = Callable[[str, Setting], float]


def units(T: float, K: int, b: float, I: int) -> Setting:
    """Return a setting with L = sigma = zeta = gap = 1."""
    return Setting(T, K, b, I, 1.0, 1.0, 1.0, 1.0)


def at_accuracy(name: str, epsilon: float, K: int, **point: Any) -> Inversion:
    """Return the shortest run whose bound is at most epsilon."""
    return invert(name, epsilon, K=K, L=1.0, sigma=1.0, zeta=1.0, gap=1.0, **point)


def slopes(
    term: Term,
    terms: Iterable[str],
    setting: Callable[[float], Setting],
    x: list[float],
    stated: Fraction,
    letter: str,
) -> list[Exponent]:
    """Return the slopes of a bound's terms over the values x of ``letter``, which make settings."""

    def over(name: str) -> Callable[[float], float]:
        return lambda value: term(name, setting(value))

    return [fitted(f"{name} in {letter}", over(name), x, stated) for name in terms]
