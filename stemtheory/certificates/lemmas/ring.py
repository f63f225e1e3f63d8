"""Lines of the ledger in a ring of formal inner products: vectors are names, no coordinates.

A stack of vectors v^(k), one per worker, is its mean and its deviations from it, which are
orthogonal under the sum over workers:

    (1/K) sum_k <u^(k), v^(k)> = <ubar, vbar> + (1/K) sum_k <u^(k) - ubar, v^(k) - vbar>.

Either part is one commuting symbol, whatever K is; a sum over times splits in the same way, so
that a vector of time l and worker k has four parts. Expectations are given the claim's past and
linear, so the symbols stand for them. A line that expands to 0 here holds for every d, K and I.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from typing import Any

from stemtheory.claims.language import (
    At,
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
    letters,
    put,
    text,
)
from stemtheory.runtime import UsageError

Open = tuple[str, ...]  # the indices of the sums around a node
Key = tuple[str, Any, Open]  # a name, what scales it, and the indices that it deviates over
Stack = dict[Key, Any]  # coefficients
MEANS = {"xbar": "x", "dbar": "d"}
SUMS = {"sampled_k": ("grad_k", "mean_noise_k")}  # a sampled gradient is the gradient plus noise
TIME = letters.l
BETA = "beta"  # Young's, any positive number


@dataclass(frozen=True, eq=False)
class Ring:
    """The ring in which letters are replaced as ``definitions`` say, at the jump or elsewhere.

    ``spans`` gives the number of terms of a sum over times, by its ends.
    """

    definitions: Mapping[Expr, Expr]
    jump: bool = False
    spans: Mapping[tuple[Index, Index], Expr] = field(default_factory=dict)
    grams: dict[Any, tuple[Key, Key]] = field(default_factory=dict)  # what each symbol stands for

    @cached_property
    def sympy(self) -> Any:
        """The computer algebra, loaded when a line is first expanded."""
        import sympy

        return sympy

    def letter(self, name: str) -> Any:
        """Return a positive number without a value."""
        return self.sympy.Symbol(name, positive=True)

    def residual(self, node: Expr) -> Any:
        """Return an expression multiplied out: 0 if it vanishes for all vectors and letters."""
        return self.sympy.expand(self.scalar(node))

    # --- numbers ------------------------------------------------------------------------------

    def scalar(self, node: Expr, around: Open = (), weight: Any = 1) -> Any:
        """Return an expression as a polynomial; ``weight`` goes into the inner products in it."""
        match node:
            case Sum(terms):
                return self.sympy.Add(*(self.scalar(term, around, weight) for term in terms))
            case Product(factors):
                return self._product(factors, around, weight)
            case Inner(left, right):
                return self._inner(left, right, around, weight)
            case Over():
                return self._over(node, around, weight)
            case Expected(body):
                return self.scalar(body, around, weight)
            case Young(one, other):
                beta = self.letter(BETA)
                both = (self.scalar(part, around, weight) for part in (one, other))
                return next(both) * (1 + beta) + next(both) * (1 + 1 / beta)
            case Either(_, there, elsewhere):
                return self.scalar(there if self.jump else elsewhere, around, weight)
        return weight * self._number(node, around)

    def _number(self, node: Expr, around: Open) -> Any:
        if node in self.definitions:
            return self.scalar(self.definitions[node], around)
        match node:
            case Exact(value):
                return self.sympy.Rational(value.numerator, value.denominator)
            case Index(name, shift):
                return (self.letter(name) if name else 0) + shift
            case Raised(base, Exact(value)) if value.denominator == 1:
                return self.scalar(base, around) ** int(value)
            case Symbol() | At("f"):
                return self.letter(text(node))
        raise UsageError(f"{text(node)} has no place in a ring of inner products.")

    def _product(self, factors: tuple[Expr, ...], around: Open, weight: Any) -> Any:
        """Return a product; what varies with an open time goes into its inner product."""
        moving = [f for f in factors if not _speaks(f) and _varies(f, around)]
        for factor in moving:
            weight = weight * self._number(factor, around)
        found = self.sympy.Integer(1)
        for factor in factors:
            if factor not in moving:
                inside = weight if _speaks(factor) else 1
                weight = 1 if _speaks(factor) else weight
                found = found * self.scalar(factor, around, inside)
        return found * weight

    def _inner(self, left: Expr, right: Expr, around: Open, weight: Any) -> Any:
        half = self.sympy.sqrt(weight)
        u, v = (_scaled(self.vector(side, around), half) for side in (left, right))
        terms = [
            x * y * self._gram(one, other)
            for one, x in u.items()
            for other, y in v.items()
            if one[2] == other[2]
        ]
        return self.sympy.Add(*terms)

    def _gram(self, one: Key, other: Key) -> Any:
        sides = (f"{'' if scale == 1 else f'{scale} '}{name}" for name, scale, _ in (one, other))
        first, second = sorted(sides)
        symbol = self.sympy.Symbol(f"<{first}, {second}>_{''.join(one[2])}")
        self.grams[symbol] = (one, other)
        return symbol

    def _over(self, node: Over, around: Open, weight: Any) -> Any:
        if (whole := self._last_apart(node)) is not None:
            return self.scalar(whole, around, weight)
        body, inside = _canonical(node)
        found = self.scalar(body, _with(around, inside), weight)
        return found * self._terms(node)

    def _terms(self, node: Over) -> Any:
        """Return by what a mean is multiplied to be the sum, or 1."""
        if node.kind == "mean":
            return 1
        return self.scalar(self._span(node) if node.first else letters.K)

    def _span(self, node: Over) -> Expr:
        found = self.spans.get((node.first, node.last))  # type: ignore[arg-type]
        if found is None:
            raise UsageError(f"how many terms {text(node)} has is not said.")
        return found

    def _last_apart(self, node: Over) -> Expr | None:
        """Return a sum over times as one over fewer, whose length is known, and its last term."""
        ends = (node.first, node.last)
        if node.first is None or node.last is None or ends in self.spans:
            return None
        shorter = Over(node.kind, node.index, node.body, node.first, node.last - 1)
        return shorter + put(node.body, node.index, node.last)

    # --- vectors ------------------------------------------------------------------------------

    def vector(self, node: Expr, around: Open) -> Stack:
        """Return a vector by its parts in the stacks that it belongs to."""
        if node in self.definitions:
            return self.vector(self.definitions[node], around)
        match node:
            case Sum(terms):
                return _added(*(self.vector(term, around) for term in terms))
            case Product(factors):
                return self._scaled_vector(factors, around)
            case Over():
                body, inside = _canonical(node)
                whole = self.vector(body, _with(around, inside))
                mean = {key: x for key, x in whole.items() if inside not in key[2]}
                return {key: self._terms(node) * x for key, x in mean.items()}
            case Symbol(name, (at,)) if name in MEANS:
                return self._stack(text(Symbol(MEANS[name], (at, letters.k))), (at.name,), around)
            case Symbol(_, at):
                return self._stack(text(node), tuple(index.name for index in at), around)
            case At(function, point) if function in SUMS:
                parts = (At(each, point, node.worker, node.sample) for each in SUMS[function])
                return _added(*(self.vector(part, around) for part in parts))
            case At(function, point):
                return self._gradient(function, point, around)
        raise UsageError(f"{text(node)} has no place in a ring of inner products.")

    def _gradient(self, function: str, point: Expr, around: Open) -> Stack:
        """Return a gradient, that of f as the mean of the workers', at the point it is taken at."""
        renamed = self.definitions.get(point)
        point = renamed if isinstance(renamed, Symbol) else point
        at = point.at if isinstance(point, Symbol) else ()
        indices = {index.name for index in at} | ({"k"} if function != "grad" else set())
        name = "grad_k" if function == "grad" else function
        return self._stack(f"{name}({text(point)})", tuple(sorted(indices)), around)

    def _stack(self, name: str, indices: tuple[str, ...], around: Open) -> Stack:
        """Return mean plus deviations, over every open index that a vector has."""
        own = [index for index in around if index in indices]
        parts = (part for size in range(len(own) + 1) for part in combinations(own, size))
        return {(name, self.sympy.Integer(1), part): self.sympy.Integer(1) for part in parts}

    def _scaled_vector(self, factors: tuple[Expr, ...], around: Open) -> Stack:
        (found,) = (self.vector(f, around) for f in factors if f.is_vector)
        for factor in factors:
            if factor.is_vector:
                continue
            value = self._number(factor, around) if _varies(factor, around) else None
            if value is None:
                value = self.scalar(factor, around)
                found = {key: value * x for key, x in found.items()}
            else:
                found = _scaled(found, value)
        return found


def _scaled(vector: Stack, by: Any) -> Stack:
    """Return the stack times numbers that vary with its time."""
    if by == 1:
        return vector
    return {(name, scale * by, part): x for (name, scale, part), x in vector.items()}


def _added(*vectors: Stack) -> Stack:
    found: Stack = {}
    for vector in vectors:
        for key, x in vector.items():
            found[key] = found.get(key, 0) + x
    return found


def _canonical(node: Over) -> tuple[Expr, str]:
    """Return the body of a sum with its index renamed, k for workers and l for times."""
    index = TIME if node.first is not None else letters.k
    return put(_renamed(node.body, node.index, index), node.index, index), index.name


def _renamed(node: Expr, index: Index, to: Index) -> Expr:
    """Return an expression whose gradients are those of worker ``to``."""
    if isinstance(node, At) and node.worker == index.name:
        return At(node.function, put(node.point, index, to), to.name, node.sample)
    return node.rebuilt(lambda part: _renamed(part, index, to))


def _with(around: Open, index: str) -> Open:
    return tuple(sorted({*around, index}))


def _speaks(node: Expr) -> bool:
    return any(isinstance(part, Inner) for part in node.walk())


def _varies(node: Expr, around: Open) -> bool:
    """Whether an expression without vectors depends on an open time."""
    if TIME.name not in around:
        return False
    indices = (at for part in node.walk() if isinstance(part, Symbol) for at in part.at)
    return any(at.name == TIME.name for at in indices)
