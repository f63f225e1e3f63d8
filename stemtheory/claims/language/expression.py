"""What a line of a proof is made of: numbers, letters, sums, powers, norms, expectations.

An expression is a tree of frozen values, built by Python's own operators so that it reads like the
paper's line. It computes nothing: evaluation, printing, algebra, units and mutants each walk it.
Numbers are exact; ``1/(8*K)`` is one, and a printed decimal or fraction is written as text,
``Q("0.0455")`` or ``Q("33/256")``, because its last printed place matters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from functools import cached_property
from itertools import chain as chain_of
from itertools import pairwise
from typing import Any, ClassVar, Literal, TypeVar, dataclass_transform

Sign = Literal["<=", "<", "="]
Kind = TypeVar("Kind")
PLACES = ("at", "index", "first", "last")


class Expr:
    """A node of a tree; a vector where ``is_vector`` says so.

    ``names`` are the fields that may hold expressions.
    """

    names: ClassVar[tuple[str, ...]] = ()

    def __add__(self, other: Any) -> Expr:
        return Sum(_flat(Sum, self, expr(other)))

    def __radd__(self, other: Any) -> Expr:
        return expr(other) + self

    def __sub__(self, other: Any) -> Expr:
        return self + -expr(other)

    def __rsub__(self, other: Any) -> Expr:
        return expr(other) + -self

    def __neg__(self) -> Expr:
        if isinstance(self, Exact):
            return Exact(-self.value, self.printed and f"-{self.printed}")
        return Product(_flat(Product, Exact(Fraction(-1)), self))

    def __mul__(self, other: Any) -> Expr:
        return Product(_flat(Product, self, expr(other)))

    def __rmul__(self, other: Any) -> Expr:
        return expr(other) * self

    def __truediv__(self, other: Any) -> Expr:
        return Product(_flat(Product, self, Raised(expr(other), Exact(Fraction(-1)))))

    def __rtruediv__(self, other: Any) -> Expr:
        return expr(other) / self

    def __pow__(self, exponent: Any) -> Expr:
        return Raised(self, expr(exponent))

    def __rpow__(self, other: Any) -> Expr:
        return expr(other) ** self

    def __le__(self, other: Any) -> Line:
        return Line((Relation(self, "<=", expr(other)),))

    def __ge__(self, other: Any) -> Line:
        return Line((Relation(expr(other), "<=", self, turned=True),))

    def __lt__(self, other: Any) -> Line:
        return Line((Relation(self, "<", expr(other)),))

    def __gt__(self, other: Any) -> Line:
        return Line((Relation(expr(other), "<", self, turned=True),))

    @cached_property
    def parts(self) -> dict[str, Any]:
        """The fields that hold expressions; where a letter or a sum stands is no part of it."""
        found = {name: getattr(self, name) for name in self.names}
        return {name: part for name, part in found.items() if isinstance(part, Expr | tuple)}

    @property
    def children(self) -> tuple[Expr, ...]:
        """The parts one by one, found once: a cached property would take a lock for each node."""
        found: tuple[Expr, ...] | None = vars(self).get("_children")
        if found is None:
            found = ()
            for name in self.names:
                part = getattr(self, name)
                if isinstance(part, Expr | tuple):
                    found += part if isinstance(part, tuple) else (part,)
            vars(self)["_children"] = found
        return found

    def rebuilt(self, change: Callable[[Expr], Expr]) -> Expr:
        """Return the node with every part changed."""
        new = {
            name: tuple(map(change, part)) if isinstance(part, tuple) else change(part)
            for name, part in self.parts.items()
        }
        return replace(self, **new) if new else self  # type: ignore[type-var]

    @cached_property
    def is_vector(self) -> bool:
        """Whether its value has coordinates."""
        match self:
            case Symbol():
                return self.vector
            case At() | Inner():  # gradients are vectors; losses and norms are not
                return isinstance(self, At) and self.function != "f"
        return any(child.is_vector for child in self.children)

    def walk(self) -> Iterator[Expr]:
        """Yield the node and everything below it."""
        yield self
        for child in self.children:
            yield from child.walk()


@dataclass_transform(frozen_default=True)
def node(kind: type[Kind]) -> type[Kind]:
    """Make a class a frozen value whose hash is computed once: trees are looked up all the time."""
    made = dataclass(frozen=True)(kind)
    computed = made.__hash__

    def kept(self: Any) -> int:
        found = vars(self).get("_hash")
        if found is None:
            found = vars(self)["_hash"] = computed(self)
        return int(found)

    made.__hash__ = kept  # type: ignore[method-assign]
    made.names = tuple(f.name for f in fields(made) if f.name not in PLACES)  # type: ignore[attr-defined, arg-type]
    return made


@node
class Exact(Expr):
    """An exact number; ``printed`` is what the paper prints, if that is not the plain fraction."""

    value: Fraction
    printed: str = ""


@node
class Index(Expr):
    """A time or a worker: ``t + 1`` is Index("t", 1); Index("", 1) is the number 1."""

    name: str
    shift: int = 0

    def __add__(self, other: Any) -> Any:  # an Index if other is an integer
        plain = type(other) is int
        return Index(self.name, self.shift + other) if plain else super().__add__(other)

    def __sub__(self, other: Any) -> Any:
        return self + -other


@node
class Symbol(Expr):
    """A letter of the vocabulary at its indices."""

    name: str
    at: tuple[Index, ...] = ()
    vector: bool = False


@node
class Sum(Expr):
    """terms[0] + terms[1] + ..."""

    terms: tuple[Expr, ...]


@node
class Product(Expr):
    """factors[0] factors[1] ..., of which at most one is a vector."""

    factors: tuple[Expr, ...]


@node
class Raised(Expr):
    """base^exponent; a quotient is a power -1."""

    base: Expr
    exponent: Expr


@node
class Call(Expr):
    """A function of numbers: max, min, log, exp, floor, ceil."""

    function: str
    arguments: tuple[Expr, ...]


@node
class At(Expr):
    """The loss or a gradient at a point: ``f``, ``grad`` (of f), ``grad_k`` (of worker k).

    Of worker k also ``sample_k``, the gradient for one sample, and ``noise_k``, its error.
    """

    function: str
    point: Expr
    worker: str = ""
    sample: str = "xi"


@node
class Inner(Expr):
    """<left, right>; a squared norm where both are the same."""

    left: Expr
    right: Expr


@node
class Over(Expr):
    """``sum``, ``mean`` or ``max`` of the body over an index from ``first`` to ``last``.

    A worker's index has no ends: it runs over all of them. The ``rise`` from ``first`` to ``last``
    is E[body at last + 1 minus body at first]: the steps' conditional expectations, added up.
    """

    kind: str
    index: Index
    body: Expr
    first: Index | None = None
    last: Index | None = None


@node
class Expected(Expr):
    """E[body], given the past that the claim names."""

    body: Expr


@node
class Young(Expr):
    """(1 + beta) one + (1 + 1/beta) other for some beta > 0: at the best it is the tested bound."""

    one: Expr
    other: Expr


@node
class Either(Expr):
    """``there`` at the steps that ``place`` names (such as the jump), ``elsewhere`` at others."""

    place: str
    there: Expr
    elsewhere: Expr


@dataclass(frozen=True)
class Relation:
    """One comparison; ``turned`` if the paper writes the larger side first."""

    left: Expr
    sign: Sign
    right: Expr
    turned: bool = False


@dataclass(frozen=True)
class Line:
    """A line of the paper: one comparison, a chain of them, or several side by side.

    It is said of two different workers, or samples, where they are ``distinct``.
    """

    steps: tuple[Relation, ...]
    distinct: tuple[Index, ...] = ()

    def __and__(self, other: Line) -> Line:
        return Line(self.steps + other.steps, self.distinct or other.distinct)

    def of(self, *distinct: Index) -> Line:
        """Return the line, said of two different workers or samples."""
        return replace(self, distinct=distinct)


def expr(value: Any) -> Expr:
    """Return an integer or a fraction as a number, an expression as it is; floats are refused."""
    if isinstance(value, Expr):
        return value
    if isinstance(value, int | Fraction) and not isinstance(value, bool):
        return Exact(Fraction(value))
    raise ValueError(f"{value!r} is no number of a line: write an integer, or Q('{value}').")


def Q(printed: str) -> Exact:
    """Return the number that the paper prints so, a decimal or a fraction."""
    return Exact(Fraction(printed), printed)


def equal(left: Any, right: Any) -> Line:
    """Return left = right."""
    return Line((Relation(expr(left), "=", expr(right)),))


def chain(*sides: Any) -> Line:
    """Return sides[0] <= sides[1] <= ..."""
    parts = [expr(side) for side in sides]
    return Line(tuple(Relation(a, "<=", b) for a, b in pairwise(parts)))


def put(node: Expr, index: Index, to: Index) -> Expr:
    """Return an expression with an index put at another."""

    def moved(at: Index) -> Index:
        return Index(to.name, to.shift + at.shift) if at.name == index.name else at

    def changed(part: Expr) -> Expr:
        match part:
            case Symbol(_, at):
                return replace(part, at=tuple(map(moved, at)))
            case Index():
                return moved(part)
            case Over(_, _, _, Index() as first, Index() as last):
                part = replace(part, first=moved(first), last=moved(last))
        return part.rebuilt(changed)

    return changed(node)


def valued(line: Line, values: Mapping[str, Expr]) -> Line:
    """Return a line with letters that stand at no index replaced, by name."""
    if not values:
        return line  # itself: what is known of its parts would be lost with a copy

    def new(part: Expr) -> Expr:
        if isinstance(part, Symbol) and not part.at:
            return values.get(part.name, part)
        return part.rebuilt(new)

    steps = (replace(step, left=new(step.left), right=new(step.right)) for step in line.steps)
    return Line(tuple(steps))


def _flat(kind: type[Sum | Product], *parts: Expr) -> tuple[Expr, ...]:
    """Return the parts with sums in a sum, or products in a product, opened."""
    opened = (part.children if type(part) is kind else (part,) for part in parts)
    return tuple(chain_of.from_iterable(opened))
