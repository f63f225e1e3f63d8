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
    Relation,
    Rise,
    Sum,
    Symbol,
    Young,
    put,
)
from stemtheory.claims.language.letters import LETTERS

ClosedForm = Callable[
    [Expr], Expr | None
]  # what the expectation of an expression is, if it is known
Factors = tuple[tuple[Expr, Expr], ...]  # bases with their exponents
ONE = Exact(Fraction(1))


def known(node: Expr, rules: tuple[ClosedForm, ...]) -> Expr:
    """Return an expression with every expectation replaced by its closed form, where it has one.

    E is linear, and what is not of the future is its own expectation.
    """
    if isinstance(node, Rise):
        later = put(node.body, node.index, node.index + 1)
        change = known(Expected(later), rules) - node.body
        return Over("sum", node.index, change, node.first, node.last)
    if not isinstance(node, Expected):
        return node.rebuilt(lambda part: known(part, rules))
    body = node.body
    if isinstance(body, Sum):
        return Sum(tuple(known(Expected(term), rules) for term in body.terms))
    if isinstance(body, Product):
        return Product(tuple(known(Expected(factor), rules) for factor in body.factors))
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
                rest = (*node.factors[:i], *node.factors[i + 1 :])
                return [t for part in factor.terms for t in terms(_times(part, rest))]
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
                rest = (*node.factors[:i], *node.factors[i + 1 :])
                return Sum(tuple(meant(_times(part, rest), meaning) for part in whole.terms))
    return meaning.get(node) or node.rebuilt(lambda part: meant(part, meaning))


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


def nonnegative(node: Expr) -> bool:
    """Whether an expression is never negative, by the signs of its letters alone."""
    match node:
        case Exact(value):
            return value >= 0
        case Index():
            return node.shift >= 0
        case Symbol(name):
            return LETTERS[name].range != "any"
        case Sum(parts):
            return all(map(nonnegative, parts)) or _at_least_zero(node)
        case Product(parts) | Call("min", parts):
            return all(map(nonnegative, parts))
        case Call("max", parts):
            return any(map(nonnegative, parts))
        case Raised(base, exponent):
            even = isinstance(exponent, Exact) and exponent.value % 2 == 0
            return even or nonnegative(base)
        case Inner(left, right):
            return left == right
        case Over(_, _, body) | Expected(body):
            return nonnegative(body)
        case Young(one, other) | Either(_, one, other):
            return nonnegative(one) and nonnegative(other)
        case Call("exp"):
            return True
        case Call("log", (inside,)):
            return at_least_one(inside)
    return False


def at_least_one(node: Expr) -> bool:
    """Whether an expression is never below one, by what is known of its letters."""
    match node:
        case Exact(value):
            return value >= 1
        case Symbol(name):
            return LETTERS[name].range == "from one"
        case Index(name, shift):
            return shift >= (0 if name else 1)
        case Sum(parts):
            return any(map(at_least_one, parts)) and all(map(nonnegative, parts))
        case Product(parts):
            return all(map(at_least_one, parts))
        case Raised(base, Exact(value)):
            return value >= 0 and at_least_one(base)
    return False


def at_most_one(node: Expr) -> bool:
    """Whether an expression lies between zero and one."""
    match node:
        case Exact(value):
            return 0 <= value <= 1
        case Symbol(name):
            return LETTERS[name].range == "to one"
        case Sum((Exact(value), Product((Exact(minus), Symbol() as letter)))):
            return value == 1 and minus == -1 and at_most_one(letter)
        case Product(parts):
            return all(map(at_most_one, parts))
        case Raised(base, Exact(value)):
            return at_most_one(base) if value >= 0 else at_least_one(base)
    return False


def _at_least_zero(node: Sum) -> bool:
    """Whether a sum is x - 1 with x >= 1, or 1 - x with x <= 1."""
    match node.terms:
        case (first, Exact(value)):
            return value >= -1 and at_least_one(first)
        case (Exact(value), Product((Exact(minus), other))):
            return value == 1 and minus == -1 and at_most_one(other)
    return False


def _nonnegative_term(factors: Factors) -> bool:
    return all(nonnegative(Raised(base, power)) for base, power in factors)


def _carries_time(node: Expr) -> bool:
    return any(isinstance(part, Symbol) and part.at for part in node.walk())


def _times(part: Expr, rest: tuple[Expr, ...]) -> Expr:
    product = part
    for factor in rest:
        product = product * factor
    return product


def _pulled(node: Over, inner: SignedTerm) -> SignedTerm:
    """Return a sum over times of one term: what does not depend on its index stands before it."""
    own = [pair for pair in inner.factors if _speaks_of(pair[0], node.index)]
    free = [pair for pair in inner.factors if pair not in own]
    body = replace(node, body=SignedTerm(Fraction(1), tuple(own)).expression)
    return SignedTerm(inner.coefficient, (*free, (body, ONE)))


def _speaks_of(node: Expr, index: Index) -> bool:
    return any(at.name == index.name for part in node.walk() for at in _indices(part))


def _indices(part: Expr) -> tuple[Index, ...]:
    """Return the indices that a node itself has: a letter's, itself, or the ends of a sum."""
    match part:
        case Symbol(_, at):
            return at
        case Index():
            return (part,)
        case Over(_, _, _, Index() as first, Index() as last) | Rise(_, _, first, last):
            return (first, last)
    return ()


def _term(node: Expr) -> SignedTerm:
    """Return a product as coefficient and factors, equal bases joined."""
    coefficient, powers = Fraction(1), dict[Expr, Expr]()
    for factor in node.factors if isinstance(node, Product) else (node,):
        base, power = (
            (factor.base, factor.exponent) if isinstance(factor, Raised) else (factor, ONE)
        )
        if isinstance(base, Exact) and isinstance(power, Exact) and power.value.denominator == 1:
            coefficient *= base.value ** int(power.value)
            continue
        have = powers.get(base)
        powers[base] = power if have is None else _added(have, power)
    return SignedTerm(
        coefficient, tuple((b, p) for b, p in powers.items() if p != Exact(Fraction(0)))
    )


def _added(one: Expr, other: Expr) -> Expr:
    if isinstance(one, Exact) and isinstance(other, Exact):
        return Exact(one.value + other.value)
    return one + other


def _total(parts: list[Expr]) -> Expr:
    if not parts:
        return Exact(Fraction(0))
    return parts[0] if len(parts) == 1 else Sum(tuple(parts))
