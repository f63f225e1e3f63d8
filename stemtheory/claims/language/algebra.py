"""What is done to a line before it is put to a run: known expectations, then the excess form.

    known    E||ebar_{t+1}||^2 given F_t and its like become what closed forms they have
    excess   terms common to both sides are cancelled, negative ones change sides

Excess form means that what cancels is cancelled before the sides are compared; otherwise their
quotient is about 1 whatever happens, and the check cannot fail. Nothing is multiplied out but sums
that carry time: (I - 1) stays a factor, (eta_t/2 - eta_t^2 L/2) is split.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from operator import mul

from stemtheory.claims.language.expression import (
    Exact,
    Expected,
    Expr,
    Index,
    Over,
    Product,
    Raised,
    Relation,
    Sum,
    Symbol,
    put,
)
from stemtheory.claims.language.ranges import at_most_one, nonnegative

ClosedForm = Callable[[Expr], Expr | None]  # the expectation of an expression, where it has one
Factors = tuple[tuple[Expr, Expr], ...]  # bases with their exponents
ZERO, ONE = Exact(Fraction(0)), Exact(Fraction(1))


def known(node: Expr, rules: tuple[ClosedForm, ...]) -> Expr:
    """Return an expression with every expectation replaced by its closed form, where it has one.

    E is linear, and what is not of the future is its own expectation.
    """
    if isinstance(node, Over) and node.kind == "rise":
        later = put(node.body, node.index, node.index + 1)
        return replace(node, kind="sum", body=known(Expected(later), rules) - node.body)
    if not isinstance(node, Expected):
        return node.rebuilt(lambda part: known(part, rules))
    body = node.body
    if isinstance(body, Sum | Product):
        return body.rebuilt(lambda part: known(Expected(part), rules))
    for rule in rules:
        if (found := rule(body)) is not None:
            return found
    return body.rebuilt(lambda part: known(part, rules))


@dataclass(frozen=True)
class SignedTerm:
    """A signed term: coefficient times factors with exponents."""

    coefficient: Fraction
    factors: Factors

    @property
    def expression(self) -> Expr:
        """The term as an expression, its coefficient in front."""
        parts = [base if power == ONE else Raised(base, power) for base, power in self.factors]
        if self.coefficient != 1 or not parts:
            parts.insert(0, Exact(self.coefficient))
        return parts[0] if len(parts) == 1 else Product(tuple(parts))


def terms(node: Expr) -> list[SignedTerm]:
    """Return the signed terms of a sum, sums that carry time multiplied out."""
    if isinstance(node, Sum):
        return [term for part in node.terms for term in terms(part)]
    if isinstance(node, Product):
        for i, factor in enumerate(node.factors):
            if isinstance(factor, Sum) and _carries_time(factor):
                return [term for part in _opened(node, i, factor) for term in terms(part)]
    if isinstance(node, Over) and node.kind == "sum" and node.first is not None:
        return [_pulled(node, inner) for inner in terms(node.body)]
    return [_term(node)]


def excess(step: Relation, rules: tuple[ClosedForm, ...] = ()) -> Relation:
    """Return a comparison without what its sides have in common, every term on its own side.

    Terms that may have either sign (f, inner products) stand on the left. An equality keeps all of
    its terms on the left. Numbers alone are left as they are: nothing would remain of them.
    """
    if step.sign != "=" and not any(_speaks(side) for side in (step.left, step.right)):
        return step
    net: dict[Factors, Fraction] = {}
    for sign, side in ((1, step.left), (-1, step.right)):
        for term in terms(known(side, rules)):
            key = tuple(sorted(term.factors, key=repr))
            net[key] = net.get(key, Fraction(0)) + sign * term.coefficient
    differences = _differences(net)
    left, right = [], []
    for key, coefficient in net.items():
        stays = step.sign == "=" or key in differences or not _nonnegative_term(key)
        if coefficient and (coefficient > 0 or stays):
            left.append(SignedTerm(coefficient, key).expression)
        elif coefficient:
            right.append(SignedTerm(-coefficient, key).expression)
    return replace(step, left=_total(left), right=_total(right))


def meant(node: Expr, meaning: Mapping[Expr, Expr]) -> Expr:
    """Return an expression with every letter replaced by what it is short for, products opened."""
    if isinstance(node, Product):
        for i, factor in enumerate(node.factors):
            if isinstance(whole := meaning.get(factor), Sum):
                return Sum(tuple(meant(part, meaning) for part in _opened(node, i, whole)))
    return meaning.get(node) or node.rebuilt(lambda part: meant(part, meaning))


def _opened(node: Product, i: int, factor: Sum) -> list[Expr]:
    """Return the terms of a product, of which factor i is a sum."""
    rest = (*node.factors[:i], *node.factors[i + 1 :])
    return [reduce(mul, (part, *rest)) for part in factor.terms]


def _speaks(node: Expr) -> bool:
    return any(isinstance(part, Symbol | Index) for part in node.walk())


def _differences(net: Mapping[Factors, Fraction]) -> set[Factors]:
    """Return the terms that almost cancel: one shape, at two times, with opposite signs.

    1/eta_t - 1/eta_{t-1} is one small quantity; its halves on two sides would hide everything.
    """
    shapes: dict[Factors, list[Factors]] = {}
    for key, coefficient in net.items():
        if coefficient:
            shapes.setdefault(_timeless(key), []).append(key)
    mixed = [keys for keys in shapes.values() if len({net[key] > 0 for key in keys}) == 2]
    return {key for keys in mixed for key in keys}


def _timeless(key: Factors) -> Factors:
    """Return the shape of a term: its times put at zero, factors like (1 - a_t)^2 left out."""

    def still(part: Expr) -> Expr:
        match part:
            case Symbol(_, at):
                return replace(part, at=tuple(replace(index, shift=0) for index in at))
            case Product(factors):
                return Product(tuple(still(f) for f in factors if not _shrinks(f)))
        return part.rebuilt(still)

    kept = [(still(base), power) for base, power in key if not _shrinks(base)]
    return tuple(sorted(kept, key=repr))


def _shrinks(node: Expr) -> bool:
    """Whether a factor is of the kind (1 - a_t)^2."""
    base = node.base if isinstance(node, Raised) else node
    return isinstance(base, Sum) and at_most_one(base)


def _nonnegative_term(factors: Factors) -> bool:
    return all(nonnegative(Raised(base, power)) for base, power in factors)


def _carries_time(node: Expr) -> bool:
    return any(isinstance(part, Symbol) and part.at for part in node.walk())


def _pulled(node: Over, inner: SignedTerm) -> SignedTerm:
    """Return a sum over times of one term: what does not depend on its index stands before it."""
    later = node.index + 1
    own = [pair for pair in inner.factors if put(pair[0], node.index, later) != pair[0]]
    free = [pair for pair in inner.factors if pair not in own]
    body = replace(node, body=SignedTerm(Fraction(1), tuple(own)).expression)
    return SignedTerm(inner.coefficient, (*free, (body, ONE)))


def _term(node: Expr) -> SignedTerm:
    """Return a product as coefficient and factors, equal bases joined."""
    coefficient, powers = Fraction(1), dict[Expr, Expr]()
    for factor in node.factors if isinstance(node, Product) else (node,):
        match factor if isinstance(factor, Raised) else Raised(factor, ONE):
            case Raised(Exact(value), Exact(power)) if power.denominator == 1:
                coefficient *= value ** int(power)
            case Raised(base, exponent):
                powers[base] = _added(powers[base], exponent) if base in powers else exponent
    return SignedTerm(coefficient, tuple((b, p) for b, p in powers.items() if p != ZERO))


def _added(one: Expr, other: Expr) -> Expr:
    if isinstance(one, Exact) and isinstance(other, Exact):
        return Exact(one.value + other.value)
    return one + other


def _total(parts: list[Expr]) -> Expr:
    return Sum(tuple(parts)) if len(parts) > 1 else parts[0] if parts else ZERO
