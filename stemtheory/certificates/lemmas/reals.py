"""Lines between numbers in the theory of the reals, where z3 decides them.

Letters are real variables, within the range that the vocabulary says; K, b and I are any real
numbers from 1 on, not only integers. A root is a new variable with its power given, so that
everything is a polynomial. A quotient is kept as numerator and denominator; that the latter is
positive, and what stands under a root, is one more thing to be shown. Lines are homogeneous in the
units of x and f, so L and sigma > 0 are 1 without loss.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

from stemtheory.certificates.lemmas.balls import enclosed
from stemtheory.claims.language import (
    Call,
    Exact,
    Expr,
    Index,
    Line,
    Over,
    Product,
    Raised,
    Relation,
    Sum,
    Symbol,
    letters,
    text,
)
from stemtheory.runtime import UsageError

UNITS = ("L", "sigma")  # the letters that choosing units makes 1
HIDDEN = "$"  # begins the names of variables that no line speaks of
DEFINED = ("a",)  # letters of which nothing is taken for granted: premises say what they are


class Ratio(NamedTuple):
    """A quotient of polynomials; ``below`` is positive."""

    above: Any
    below: Any

    def times(self, other: Ratio) -> Ratio:
        """Return the product."""
        return Ratio(_times(self.above, other.above), _times(self.below, other.below))


@dataclass(eq=False)
class Reals:
    """The variables met so far, and what is known of each; ``units`` are 1."""

    units: tuple[str, ...] = UNITS
    known: list[Any] = field(default_factory=list)
    atoms: tuple[Expr, ...] = ()
    since: int = 1  # the least t and T
    # What must be positive and is not by its form, each with what was known before it was used.
    owed: list[tuple[tuple[Any, ...], Any]] = field(default_factory=list)
    _made: dict[Any, Any] = field(default_factory=dict)

    @cached_property
    def z3(self) -> Any:
        """The solver, loaded when a line is first put to it."""
        import z3

        return z3

    # --- lines --------------------------------------------------------------------------------

    def holds(self, step: Relation) -> Any:
        """Return a comparison as a formula, multiplied by its denominators."""
        left, right = self.ratio(step.left), self.ratio(step.right)
        one, other = left.above * right.below, right.above * left.below
        signs = {"<=": one <= other, "<": one < other, "=": one == other}
        return signs[step.sign]

    def all_of(self, line: Line) -> Any:
        """Return a line's comparisons together."""
        return self.z3.And(*map(self.holds, line.steps))

    # --- numbers ------------------------------------------------------------------------------

    def ratio(self, node: Expr) -> Ratio:
        """Return an expression as a quotient of polynomials."""
        if node in self.atoms:
            return Ratio(self._variable(node), self._number(1).below)
        match node:
            case Exact(value):
                return self._number(value)
            case Sum(terms):
                return self._sum(terms)
            case Product(factors):
                found = self._number(1)
                for factor in map(self.ratio, factors):
                    found = Ratio(
                        _times(found.above, factor.above), _times(found.below, factor.below)
                    )
                return found
            case Raised(base, Exact(value)):
                return self._power(base, value)
            case Call("max" | "min" as which, arguments):
                return self._chosen(which, arguments)
            case Index() | Symbol() | Call() | Over():
                return Ratio(self._variable(node), self._number(1).below)
        raise UsageError(f"{text(node)} is no polynomial, root or quotient.")

    def _number(self, value: Fraction | int) -> Ratio:
        exact = Fraction(value)
        real = self.z3.RealVal
        return Ratio(real(exact.numerator), real(exact.denominator))

    def _sum(self, terms: tuple[Expr, ...]) -> Ratio:
        found = self.ratio(terms[0])
        for term in map(self.ratio, terms[1:]):
            if found.below.eq(term.below):
                found = Ratio(found.above + term.above, found.below)
            else:
                above = _times(found.above, term.below) + _times(term.above, found.below)
                found = Ratio(above, _times(found.below, term.below))
        return found

    def _power(self, base: Expr, value: Fraction) -> Ratio:
        inner = self.ratio(base)
        if (value < 0 or value.denominator > 1) and not self._positive(base):
            self.owed.append((tuple(self.known), inner.above > 0))
        if value < 0:
            inner = Ratio(inner.below, inner.above)
        if value.denominator > 1:
            inner = Ratio(self._root(base, inner, value), self._number(1).below)
        found = self._number(1)
        for _ in range(abs(value.numerator)):
            found = found.times(inner)
        return found

    def _root(self, base: Expr, inner: Ratio, value: Fraction) -> Any:
        """Return a new variable whose power is the base, or one over it."""
        key = (base, value.denominator, value < 0)
        if key not in self._made:
            root = self._made[key] = self.z3.Real(f"{HIDDEN}root{len(self._made)}")
            power = root
            for _ in range(value.denominator - 1):
                power = power * root
            self.known += [root > 0, power * inner.below == inner.above]
        return self._made[key]

    def _chosen(self, which: str, arguments: tuple[Expr, ...]) -> Ratio:
        """Return a new variable for the largest or the smallest."""
        key = (which, arguments)
        if key not in self._made:
            best = self._made[key] = self.z3.Real(f"{HIDDEN}{which}{len(self._made)}")
            each = [self.ratio(argument) for argument in arguments]
            sides = [(best * r.below, r.above) for r in each]
            beyond = [a >= b if which == "max" else a <= b for a, b in sides]
            self.known += [*beyond, self.z3.Or(*(a == b for a, b in sides))]
        return Ratio(self._made[key], self._number(1).below)

    def _variable(self, node: Expr) -> Any:
        if isinstance(node, Index):
            return self._index(node)
        if isinstance(node, Symbol) and node.name in self.units:
            return self.z3.RealVal(1)
        if node not in self._made:
            made = self._made[node] = self.z3.Real(text(node))
            self.known += self._range(node, made)
        return self._made[node]

    def _index(self, node: Index) -> Any:
        if not node.name:
            return self.z3.RealVal(node.shift)
        if node.name not in self._made:
            self._made[node.name] = self.z3.Real(node.name)
            self.known.append(self._made[node.name] >= self.since)
        return self._made[node.name] + node.shift

    def _range(self, node: Expr, made: Any) -> list[Any]:
        if isinstance(node, Call) and not _letters(node):
            low, high = map(self._number, enclosed(node))
            return [made * low.below >= low.above, made * high.below <= high.above]
        kind = letters.LETTERS[node.name].range if isinstance(node, Symbol) else "nonnegative"
        kind = "any" if isinstance(node, Symbol) and node.name in DEFINED else kind
        ends = {"from one": [made >= 1], "to one": [made > 0, made <= 1], "any": []}
        return ends.get(kind, [made > 0])

    def _positive(self, node: Expr) -> bool:
        """Whether a part is positive by its form, all letters but the defined ones being so."""
        match node:
            case Exact(value):
                return value > 0
            case Index(name, shift):
                return shift + (self.since if name else 0) > 0
            case Symbol(name):
                return name not in DEFINED and letters.LETTERS[name].range != "any"
            case Product(parts) | Sum(parts) | Call("min", parts):
                return node in self.atoms or all(map(self._positive, parts))
            case Call("max", parts):
                return any(map(self._positive, parts))
            case Raised(base, _):
                return self._positive(base)
        return isinstance(node, Over | Call)  # variables that stand for themselves


def _times(one: Any, other: Any) -> Any:
    """Return a product, without factors 1: z3 keeps what it is given."""
    for first, second in ((one, other), (other, one)):
        if first.num_args() == 0 and str(first) == "1":
            return second
    return one * other


def _letters(node: Expr) -> bool:
    return any(isinstance(part, Index | Symbol) for part in node.walk())
