"""Expressions of numbers as a program: every part once, in the order in which it is needed.

A search asks for the same lines thousands of times, and walking their trees takes longer than the
sums in them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial, reduce
from operator import add, mul
from typing import Any

from stemtheory.claims.language.evaluation import FUNCTIONS, power_of
from stemtheory.claims.language.expression import Call, Exact, Expr, Product, Raised, Sum, Symbol


class Program:
    """The values of expressions without times or points: those of an `Evaluation`, to the bit."""

    def __init__(self, wanted: Sequence[Expr]) -> None:
        self._place: dict[Expr, int] = {}
        self._steps: list[tuple[Callable[..., Any], tuple[int, ...]]] = []
        self._wanted = [self._placed(node) for node in wanted]

    def values(self, letters: Mapping[str, Any]) -> list[Any]:
        """Return the values, in order, where letters are numbers or arrays of one shape."""
        found: list[Any] = []
        for compute, parts in self._steps:
            found.append(compute(*[found[i] for i in parts]) if parts else compute(letters))
        return [found[i] for i in self._wanted]

    def _placed(self, node: Expr) -> int:
        """Return where the value of a node will stand, after those of its parts."""
        if node not in self._place:
            compute, parts = _step(node)
            self._steps.append((compute, tuple(map(self._placed, parts))))
            self._place[node] = len(self._steps) - 1
        return self._place[node]


def _step(node: Expr) -> tuple[Callable[..., Any], Sequence[Expr]]:
    """Return how a node comes from its parts; one without parts comes from the letters."""
    match node:
        case Exact(value):
            return lambda _letters, found=float(value): found, ()
        case Symbol(name):
            return lambda letters: letters[name], ()
        case Sum(parts):
            return lambda *values: reduce(add, values), parts
        case Product(parts):
            return lambda *values: reduce(mul, values), parts
        case Raised(base, Exact(power)):
            return partial(power_of, power=power), (base,)
        case Raised(base, exponent):
            return pow, (base, exponent)
        case Call(function, parts):
            return FUNCTIONS[function], parts
    raise TypeError(node)
