"""What a line must be before it is a claim: homogeneous, of known letters, at times of the run.

Replacing x by s x and f by r f changes no truth, so both sides of every comparison, and all terms
of every sum, must be scaled by one power of s and of r. A wrong power of L, eta or sigma is refused
here, before anything is computed.
"""

from __future__ import annotations

from collections.abc import Iterable

from stemtheory.claims.language.expression import (
    At,
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
)
from stemtheory.claims.language.letters import LETTERS, NUMBER, Units
from stemtheory.claims.language.printing import text
from stemtheory.runtime import UsageError

# What an index may count from, besides those of sums, and the first index of a letter.
ANCHORS = ("", "t", "T", "start", "end", "s", "S")
FIRST = dict.fromkeys(("x", "xbar", "d", "dbar", "ebar", "a"), 1)


def checked(line: Line, name: str = "this line") -> Line:
    """Return the line, if it can be one; an index bound by no sum says it of each worker.

    Raises
    ------
    UsageError
        If its powers do not fit, a letter is unknown, or an index leaves the run.
    """
    for step in line.steps:
        for side in (step.left, step.right):
            _indices(name, side, {"k", "j"})
        units(name, step.left, step.right)
    return line


def homogeneous(line: Line) -> bool:
    """Whether the powers of a line fit."""
    try:
        for step in line.steps:
            units("", step.left, step.right)
    except UsageError:
        return False
    return True


def units(name: str, *parts: Expr) -> Units | None:
    """Return the powers of s and r that all parts have in common; None if they are all zero."""
    known = [(part, power) for part in parts if (power := _of(name, part)) is not None]
    if any(power != known[0][1] for _, power in known):
        said = "; ".join(f"{text(part)} by {_shown(power)}" for part, power in dict(known).items())
        raise UsageError(
            f"{name}: scaling x by s and f by r scales {said}: they cannot be added or compared, so"
            " correct a power."
        )
    return known[0][1] if known else None


def _of(name: str, node: Expr) -> Units | None:
    match node:
        case Symbol():
            return LETTERS[node.name].units
        case Exact():
            return NUMBER if node.value else None
        case Index():
            return NUMBER
        case Sum() | Call("max" | "min") | Over() | Expected() | Young() | Either():
            return units(name, *node.children)
        case Product() | Inner():
            return _sum([_of(name, factor) for factor in node.children])
        case Raised():
            return _power(name, node.base, node.exponent)
        case Call():
            return _plain(name, node, node.children)
        case At(function):
            return (0 if function == "f" else -1, 1)
    raise TypeError(node)


def _sum(parts: list[Units | None]) -> Units | None:
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    with_units = [part for part in known if part != NUMBER]
    return (sum(s for s, _ in with_units), sum(r for _, r in with_units))


def _power(name: str, base: Expr, exponent: Expr) -> Units | None:
    power = _of(name, base)
    _plain(name, exponent, (exponent,))
    if power is None or power == NUMBER:
        return power
    if not isinstance(exponent, Exact):
        raise UsageError(f"{name}: {text(base)} has units, so its exponent must be a number.")
    value = exponent.value
    by = int(value) if value.denominator == 1 else value
    return (power[0] * by, power[1] * by)


def _plain(name: str, node: Expr, parts: Iterable[Expr]) -> Units:
    for part in parts:
        if (power := _of(name, part)) not in (None, NUMBER):
            raise UsageError(
                f"{name}: {text(part)} in {text(node)} is scaled by {_shown(power)}, but it must be"
                " a pure number: divide by what has its units."
            )
    return NUMBER


def _shown(power: Units | None) -> str:
    s, r = power or NUMBER
    return f"s^{s} r^{r}" if (s or r) else "nothing"


def _indices(name: str, node: Expr, bound: set[str]) -> None:
    """Look at every letter and index below a node; ``bound`` are the indices of sums around it."""
    match node:
        case Symbol():
            if node.name not in LETTERS:
                raise UsageError(
                    f"{name}: letter {node.name!r} is unknown: see claims/language/letters.py."
                )
            for index in node.at:
                _index(name, node.name, index, bound)
        case Exact() | Sum() | Product() | Raised():  # the most of a tree
            pass
        case Index():
            _index(name, "this line", node, bound)
        case At("grad_k", _, worker):
            _index(name, "a gradient", Index(worker), bound)
        case Over(_, index, _, first, last):
            for end in filter(None, (first, last)):
                _index(name, "a sum", end, bound)
            bound = bound | {index.name}
    for child in node.children:
        _indices(name, child, bound)


def _index(name: str, letter: str, index: Index, bound: set[str]) -> None:
    if index.name not in ANCHORS and index.name not in bound:
        allowed = ", ".join(sorted(filter(None, {*ANCHORS, *bound})))
        raise UsageError(
            f"{name}: index {index.name} of {letter} is bound by no sum: use {allowed}."
        )
    before = index.name == "" and index.shift < FIRST.get(letter, 0)
    if before or (index.name == "T" and index.shift > 1):
        raise UsageError(f"{name}: {letter} has no index {text(index)}: the run has t = 1 to T.")
