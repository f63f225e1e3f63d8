"""Wrong versions of a line, made by rule, and which of them the line itself implies.

    constant   times 2, by 2, one unit in the last place printed up and down
    exponent   plus and minus 1 and 1/2
    dropped    one term of a sum
    shifted    one index, or one end of a sum, by one
    exchanged  a letter for its neighbour: sigma for zeta, b for K, I - 1 for I, bar for local

A version is implied where the change can only enlarge the larger side or shrink the smaller one:
found by monotony alone, from the signs of letters and because steps do not increase. Every other
version must be rejected by an instance, or is a survivor that says how much slack there is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

from stemtheory.claims.language import letters
from stemtheory.claims.language.expression import (
    Call,
    Either,
    Exact,
    Expected,
    Expr,
    Index,
    Inner,
    Line,
    Over,
    Product,
    Raised,
    Sum,
    Symbol,
    Young,
    expr,
)
from stemtheory.claims.language.printing import text
from stemtheory.claims.language.ranges import at_most_one, nonnegative, span
from stemtheory.claims.language.units import homogeneous

SHRINKING = ("eta", "w", "a")  # do not increase with t
NEIGHBOURS: dict[str, Expr] = {
    "sigma": letters.zeta,
    "zeta": letters.sigma,
    "b": letters.K,
    "K": letters.b,
    "I": letters.I - 1,
}
LOCAL = {"xbar": letters.x, "dbar": letters.d}
MEAN = {"x": letters.xbar, "d": letters.dbar}
EXPONENTS = (Fraction(1), Fraction(-1), Fraction(1, 2), Fraction(-1, 2))


@dataclass(frozen=True)
class Wrong:
    """One version: its line, in words what was changed, and whether the line implies it."""

    rule: str
    name: str
    line: Line
    implied: bool
    refused: bool


def wrong_versions(line: Line) -> Iterator[Wrong]:
    """Yield every version of a line that the rules make; each once.

    One that is ``refused`` is not homogeneous, and could not be made a claim.
    """
    seen = {line}
    for i, step in enumerate(line.steps):
        for is_left, side in ((True, step.left), (False, step.right)):
            for change in _changes(side, ()):
                ends = (change.node, step.right) if is_left else (step.left, change.node)
                new = replace(step, left=ends[0], right=ends[1])
                made = Line((*line.steps[:i], new, *line.steps[i + 1 :]))
                if made not in seen:
                    seen.add(made)
                    kinder = change.grows == (-1 if is_left else 1)
                    implied = step.sign != "=" and kinder
                    yield Wrong(change.rule, change.name, made, implied, not homogeneous(made))


@dataclass(frozen=True)
class _Change:
    """A changed node; ``grows``: 1 if it can only be larger than before, -1 smaller, 0 unknown."""

    rule: str
    name: str
    node: Expr
    grows: int


def _changes(node: Expr, workers: tuple[str, ...]) -> Iterator[_Change]:
    """Yield the changes at a node, then those below it."""
    if isinstance(node, Inner) and node.left == node.right:
        for change in _changes(node.left, workers):
            yield replace(change, node=Inner(change.node, change.node), grows=0)
        return
    yield from _own(node, workers)
    inside = (
        (*workers, node.index.name) if isinstance(node, Over) and node.first is None else workers
    )
    for name, part in node.parts.items():
        parts = part if isinstance(part, tuple) else (part,)
        for i, child in enumerate(parts):
            if _fixed(node, name, i, child):
                continue
            for change in _changes(child, inside):
                whole = (*parts[:i], change.node, *parts[i + 1 :])
                new = replace(node, **{name: whole if isinstance(part, tuple) else change.node})  # type: ignore[type-var]
                yield replace(change, node=new, grows=change.grows * _direction(node, name, i))


def _fixed(node: Expr, name: str, i: int, child: Expr) -> bool:
    """Whether a part is no constant of the line: a sign, a quotient, an exponent (see ``_own``)."""
    sign = isinstance(node, Product) and child == Exact(Fraction(-1))
    return sign or (isinstance(node, Raised) and name == "exponent" and isinstance(child, Exact))


def _own(node: Expr, workers: tuple[str, ...]) -> Iterator[_Change]:
    match node:
        case Exact():
            yield from _constants(node)
        case Symbol():
            yield from _letters(node, workers)
        case Raised(base, Exact(value)):
            for plus in EXPONENTS:
                raised = Raised(base, Exact(value + plus)) if value + plus else expr(1)
                grows = ((span(base)[0] >= 1) - at_most_one(base)) * (1 if plus > 0 else -1)
                yield _Change(
                    "exponent", f"{text(node)} with exponent {value + plus}", raised, grows
                )
        case Sum(terms):
            for i, term in enumerate(terms):
                rest = (*terms[:i], *terms[i + 1 :])
                new = rest[0] if len(rest) == 1 else Sum(rest)
                yield _Change("dropped", f"without {text(term)}", new, -_sign(term))
        case Over("sum", _, body, Index() as first, Index() as last):
            for shift in (1, -1):
                for later, earlier in ((shift, 0), (0, shift)):
                    ends = (
                        replace(first, shift=first.shift + earlier),
                        replace(last, shift=last.shift + later),
                    )
                    new = replace(node, first=ends[0], last=ends[1])
                    name = f"sum {text(first)}..{text(last)} -> {text(ends[0])}..{text(ends[1])}"
                    grows = (later - earlier) * nonnegative(body)
                    yield _Change("shifted", name, new, grows)


def _constants(node: Exact) -> Iterator[_Change]:
    unit = _last_place(node)
    value = node.value
    for new in dict.fromkeys((value * 2, value / 2, value + unit, value - unit)):
        if new and new != value:
            grows = 1 if new > value else -1
            yield _Change("constant", f"{text(node)} -> {new}", Exact(new), grows)


def _last_place(node: Exact) -> Fraction:
    """Return one unit in the last place printed; of a fraction, in its numerator."""
    if "/" in node.printed or not node.printed:
        return Fraction(1, node.value.denominator)
    return Fraction(1, 10 ** len(node.printed.partition(".")[2]))


def _letters(node: Symbol, workers: tuple[str, ...]) -> Iterator[_Change]:
    for i, index in enumerate(node.at):
        if index.name in ("k", "j"):
            continue
        for plus in (1, -1):
            at = (*node.at[:i], replace(index, shift=index.shift + plus), *node.at[i + 1 :])
            grows = -plus if node.name in SHRINKING else 0
            moved = replace(node, at=at)
            yield _Change("shifted", f"{text(node)} -> {text(moved)}", moved, grows)
    new = NEIGHBOURS.get(node.name)
    if node.name in LOCAL and workers:
        new = LOCAL[node.name][node.at[0], Index(workers[-1])]
    if node.name in MEAN:
        new = MEAN[node.name][node.at[0]]
    if new is not None:
        grows = -1 if node.name == "I" else 0
        yield _Change("exchanged", f"{text(node)} -> {text(new)}", new, grows)


def _direction(node: Expr, name: str, i: int) -> int:
    """Return 1 if a node grows with a part of it, -1 if it shrinks, 0 if that is not known."""
    match node:
        case Sum() | Over("sum" | "mean" | "max") | Expected() | Young() | Either() | Call():
            return 1
        case Product(factors):
            return _sign(Product((expr(1), *factors[:i], *factors[i + 1 :])))
        case Raised(base, Exact(value)) if name == "base" and nonnegative(base):
            return 1 if value > 0 else -1
    return 0


def _sign(node: Expr) -> int:
    """Return 1 for what is never negative, -1 for what is never positive, else 0."""
    low, high = span(node)
    return 1 if low >= 0 else -1 if high <= 0 else 0
