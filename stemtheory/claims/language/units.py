"""What a line must be before it is a claim: homogeneous, of known letters, at times of the run.

Replacing x by s x and f by r f changes no truth, so both sides of every comparison, and all terms
of every sum, must be scaled by one power of s and of r. A wrong power of L, eta or sigma is refused
here, before anything is computed.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

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
    Rise,
    Sum,
    Symbol,
    Young,
)
from stemtheory.claims.language.letters import LETTERS, NUMBER, Units
from stemtheory.claims.language.printing import text
from stemtheory.runtime import UsageError

ANCHORS = (
    "",
    "t",
    "T",
    "start",
    "end",
    "s",
    "S",
)  # what an index may count from, besides those of sums
WORKERS = ("k", "j")
FIRST = {"x": 1, "xbar": 1, "d": 1, "dbar": 1, "ebar": 1, "eta": 0, "w": 0, "a": 1}


def checked(line: Line, name: str = "this line") -> Line:
    """Return the line, if it can be one.

    Raises
    ------
    UsageError
        If its powers do not fit, a letter is unknown, or an index leaves the run.
    """
    for step in line.steps:
        for side in (step.left, step.right):
            _indices(name, side, set(WORKERS))  # one bound by no sum: the line is said of each
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
    found = {part: _of(name, part) for part in parts}
    known = {part: power for part, power in found.items() if power is not None}
    if len(set(known.values())) > 1:
        said = "; ".join(f"{text(part)} by {_shown(power)}" for part, power in known.items())
        raise UsageError(
            f"{name}: scaling x by s and f by r scales {said}: they cannot be added or compared, so"
            " correct a power."
        )
    return next(iter(known.values()), None)


def _of(name: str, node: Expr) -> Units | None:
    match node:
        case Exact(value):
            return NUMBER if value else None
        case Index():
            return NUMBER
        case Symbol(letter):
            return LETTERS[letter].units
        case Sum(parts) | Call("max" | "min", parts):
            return units(name, *parts)
        case Product(factors):
            return _sum(_of(name, factor) for factor in factors)
        case Raised(base, exponent):
            return _power(name, base, exponent)
        case Call(_, parts):
            return _plain(name, node, parts)
        case At("f"):
            return (Fraction(0), Fraction(1))
        case At():
            return (Fraction(-1), Fraction(1))
        case Inner(left, right):
            return _sum((_of(name, left), _of(name, right)))
        case Over(_, _, body) | Expected(body) | Rise(body):
            return _of(name, body)
        case Young(one, other) | Either(_, one, other):
            return units(name, one, other)
    raise TypeError(node)


def _sum(parts: Iterable[Units | None]) -> Units | None:
    found = list(parts)
    if any(part is None for part in found):
        return None
    s, r = (sum((part[i] for part in found if part), Fraction(0)) for i in (0, 1))
    return (s, r)


def _power(name: str, base: Expr, exponent: Expr) -> Units | None:
    power = _of(name, base)
    _plain(name, exponent, (exponent,))
    if power is None or power == NUMBER:
        return power
    if not isinstance(exponent, Exact):
        raise UsageError(f"{name}: {text(base)} has units, so its exponent must be a number.")
    return (power[0] * exponent.value, power[1] * exponent.value)


def _plain(name: str, node: Expr, parts: tuple[Expr, ...]) -> Units:
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
        case Symbol(letter, at):
            if letter not in LETTERS:
                raise UsageError(
                    f"{name}: letter {letter!r} is unknown: see claims/language/letters.py."
                )
            for index in at:
                _index(name, letter, index, bound)
        case Index(index) if index not in (*ANCHORS, *bound):
            raise UsageError(f"{name}: index {index} is bound by no sum.")
        case At("grad_k", _, worker) if worker not in bound:
            raise UsageError(f"{name}: worker {worker} of a gradient is bound by no sum.")
        case Over(_, index, body, first, last):
            for end in (first, last):
                if end is not None:
                    _index(name, "a sum", end, bound)
            _indices(name, body, bound | {index.name})
            return
        case Rise(body, index, first, last):
            for end in (first, last):
                _index(name, "a sum", end, bound)
            _indices(name, body, bound | {index.name})
            return
    for child in node.children():
        _indices(name, child, bound)


def _index(name: str, letter: str, index: Index, bound: set[str]) -> None:
    if index.name not in (*ANCHORS, *bound):
        allowed = ", ".join(sorted(filter(None, {*ANCHORS, *bound})))
        raise UsageError(
            f"{name}: index {index.name} of {letter} is bound by no sum: use {allowed}."
        )
    outside = index.name == "" and index.shift < FIRST.get(letter, 0)
    beyond = index.name == "T" and index.shift > 1
    if outside or beyond:
        raise UsageError(f"{name}: {letter} has no index {text(index)}: the run has t = 1 to T.")
