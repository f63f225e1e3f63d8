"""Between which numbers an expression lies, by what the vocabulary says of its letters alone."""

from __future__ import annotations

from fractions import Fraction
from functools import cache, reduce
from math import inf
from typing import Any

from stemtheory.claims.language.expression import (
    Call,
    Either,
    Exact,
    Expected,
    Expr,
    Index,
    Inner,
    Over,
    Product,
    Raised,
    Sum,
    Symbol,
    Young,
)
from stemtheory.claims.language.letters import LETTERS

Span = tuple[Any, Any]  # the least and the largest value, which may be infinite
ANY, NONNEGATIVE = (-inf, inf), (0, inf)
RANGES = {"any": ANY, "nonnegative": NONNEGATIVE, "from one": (1, inf), "to one": (0, 1)}


def nonnegative(node: Expr) -> bool:
    """Whether an expression is never below zero."""
    return bool(span(node)[0] >= 0)


def at_most_one(node: Expr) -> bool:
    """Whether an expression lies between zero and one."""
    return bool(span(node)[0] >= 0 and span(node)[1] <= 1)


@cache
def span(node: Expr) -> Span:
    """Return the ends of the interval in which an expression lies; times named by t are >= 1."""
    match node:
        case Exact(value):
            return value, value
        case Index(name, shift):
            return (1 if shift >= 0 else -inf, inf) if name else (shift, shift)
        case Symbol(name):
            return RANGES[LETTERS[name].range]
        case Sum(parts):
            low, high = zip(*map(span, parts), strict=True)
            return sum(low), sum(high)
        case Product(parts):
            return reduce(_times, map(span, parts))
        case Raised(base, Exact(power)):
            return _power(*span(base), power)
        case Expected(body):
            return span(body)
        case Call("max" | "min" as function, parts):
            pick = max if function == "max" else min
            low, high = zip(*map(span, parts), strict=True)
            return pick(low), pick(high)
    return NONNEGATIVE if _never_negative(node) else ANY


def _never_negative(node: Expr) -> bool:
    match node:
        case Inner(left, right):
            return left == right
        case Raised(base):
            return nonnegative(base)
        case Over(kind, _, body):
            return kind != "rise" and nonnegative(body)
        case Young(one, other) | Either(_, one, other):
            return nonnegative(one) and nonnegative(other)
        case Call("log", (inside,)):
            return bool(span(inside)[0] >= 1)
    return isinstance(node, Call) and node.function == "exp"


def _times(one: Span, other: Span) -> Span:
    products = [x * y if x and y else 0 for x in one for y in other]
    return min(products), max(products)


def _power(low: Any, high: Any, power: Fraction) -> Span:
    if low < 0:
        return NONNEGATIVE if power % 2 == 0 else ANY
    raised = [inf if end == 0 and power < 0 else float(end) ** float(power) for end in (low, high)]
    return min(raised), max(raised)
