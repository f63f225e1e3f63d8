"""Both sides of a line as numbers, and how far rounding may have moved them.

Values are arrays with the axes [instance, replicate, worker k, worker j], 1 where a value does not
depend on one; vectors have their coordinates on a fifth. A scene gives the letters: a recorded
run, a grid of sizes, one setting. An instance is a time t at which the line is asked.

``error`` carries a bound of the rounding through the same tree (running error analysis): what a
letter was computed with is the scene's to say, each operation adds one unit. It is the float
budget of identities, and the resolution below which an inequality says nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Protocol

import numpy as np

from stemtheory.claims.language.expression import (
    At,
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
    Rise,
    Sum,
    Symbol,
    Young,
    put,
)

EPS = float(np.finfo(np.float64).eps)
KEPT = (Inner, Over, At)  # what is worth keeping, since lines of one run share it
AXES = {"k": 2, "j": 3}
FOLDS: dict[str, Callable[[Any, Any], Any]] = {"max": np.maximum, "min": np.minimum}
FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "log": np.log,
    "exp": np.exp,
    "floor": np.floor,
    "ceil": np.ceil,
}


@dataclass(frozen=True, eq=False)
class Times:
    """Where every index stands: arrays [n] of one length, told apart by identity."""

    at: Mapping[str, Any]
    inner: dict[Any, Times] = field(default_factory=dict)

    def __getitem__(self, index: Index) -> Any:
        """Return the times of an index."""
        if index.name == "":
            return np.array([index.shift])
        return self.at[index.name] + index.shift

    def within(self, index: Index, first: Any, last: Any) -> Times:
        """Return the times of a sum's body: its own index over all that any instance needs."""
        low, high = int(np.min(first)), int(np.max(last))
        key = (index.name, low, high)
        if key not in self.inner:
            run = np.arange(low, high + 1)
            self.inner[key] = Times(
                {**{n: v for n, v in self.at.items() if len(v) == 1}, index.name: run}
            )
        return self.inner[key]


class Scene(Protocol):
    """What gives the letters of a line."""

    def number(self, value: Fraction) -> Any:
        """Return an exact number as the scene computes with it."""

    def letter(self, symbol: Symbol, times: Times) -> Any:
        """Return the values of a letter at its indices."""

    def apply(self, node: At, point: Any, times: Times) -> Any:
        """Return a loss or a gradient at points."""

    def there(self, place: str, times: Times) -> Any:
        """Return at which instances a place is, [n]."""

    def total(self, node: Sum | Over, times: Times) -> Any:
        """Return a sum, or one over times, in closed form; None where the terms are added."""

    def rounding(self, node: Symbol | At, value: Any) -> Any:
        """Return a bound of the rounding in a letter or an oracle's value."""

    def slope(self, node: At, point: Any) -> Any:
        """Return by how much a loss or gradient may change where its point moves by one."""


class Evaluation:
    """Values of expressions in one scene; those of norms, sums and oracles are kept."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self._values: dict[tuple[Times, Expr], Any] = {}
        self._errors: dict[tuple[Times, Expr], Any] = {}

    def value(self, node: Expr, times: Times) -> Any:
        """Return the value of an expression at every instance."""
        if not isinstance(node, KEPT):
            return self._value(node, times)
        if (times, node) not in self._values:
            self._values[times, node] = self._value(node, times)
        return self._values[times, node]

    def _value(self, node: Expr, times: Times) -> Any:
        match node:
            case Exact(value):
                return self.scene.number(value)
            case Index():
                return _column(times[node])
            case Symbol():
                return self.scene.letter(node, times)
            case Sum(terms):
                if (closed := self.scene.total(node, times)) is not None:
                    return closed
                return sum(
                    (self.value(term, times) for term in terms[1:]), self.value(terms[0], times)
                )
            case Product(factors):
                return self._product(factors, times)
            case Raised(base, exponent):
                return self._power(base, exponent, times)
            case Call(function, arguments):
                return self._call(function, arguments, times)
            case At(_, point):
                return self.scene.apply(node, self.value(point, times), times)
            case Inner(left, right):
                return (self.value(left, times) * self.value(right, times)).sum(axis=-1)
            case Over():
                return self._over(node, times)
            case Expected(body):
                return self.value(body, times)
            case Rise(body, index, first, last):
                later, sooner = put(body, index, last + 1), put(body, index, first)
                return self.value(later, times) - self.value(sooner, times)
            case Young(one, other):
                return (np.sqrt(self.value(one, times)) + np.sqrt(self.value(other, times))) ** 2
            case Either(place, there, elsewhere):
                here = _column(self.scene.there(place, times))
                return np.where(here, self.value(there, times), self.value(elsewhere, times))
        raise TypeError(node)

    def _product(self, factors: tuple[Expr, ...], times: Times) -> Any:
        vectors = [f.is_vector for f in factors]
        found = None
        for factor, is_vector in zip(factors, vectors, strict=True):
            value = self.value(factor, times)
            if any(vectors) and not is_vector and np.ndim(value):
                value = np.asarray(value)[..., None]
            found = value if found is None else found * value
        return found

    def _power(self, base: Expr, exponent: Expr, times: Times) -> Any:
        value = self.value(base, times)
        if not isinstance(exponent, Exact):
            return value ** self.value(exponent, times)
        p = exponent.value
        if p.denominator == 3:
            return np.cbrt(value) ** int(p.numerator)
        if p == Fraction(1, 2):
            return np.sqrt(value)
        if p.denominator == 1:
            return _whole_power(value, int(p))
        return value ** float(p)

    def _call(self, function: str, arguments: tuple[Expr, ...], times: Times) -> Any:
        values = [self.value(argument, times) for argument in arguments]
        if function not in FOLDS:
            return FUNCTIONS[function](values[0])
        found = values[0]
        for value in values[1:]:
            found = FOLDS[function](found, value)
        return found

    def _over(self, node: Over, times: Times) -> Any:
        if node.first is None or node.last is None:
            body, axis = self.value(node.body, times), AXES[node.index.name]
            if body.shape[axis] == 1 and node.kind == "sum":
                return body * self.scene.letter(Symbol("K"), times)
            return getattr(np, node.kind)(body, axis=axis, keepdims=True)
        if (closed := self.scene.total(node, times)) is not None:
            return closed
        first, last = times[node.first], times[node.last]
        inside = times.within(node.index, first, last)
        body, run = self.value(node.body, inside), inside.at[node.index.name]
        return _summed((first[:, None] <= run) & (run <= last[:, None]), body)

    # --- rounding -----------------------------------------------------------------------------

    def error(self, node: Expr, times: Times) -> Any:
        """Return a bound of the rounding in ``value``, of its shape."""
        if not isinstance(node, KEPT):
            return self._error(node, times)
        if (times, node) not in self._errors:
            self._errors[times, node] = self._error(node, times)
        return self._errors[times, node]

    def _error(self, node: Expr, times: Times) -> Any:
        value = self.value(node, times)
        match node:
            case Exact() | Index():
                return 0.0
            case Symbol():
                return self.scene.rounding(node, value)
            case At(_, point):
                moved = np.abs(self.error(point, times))
                moved = moved if node.is_vector else np.sum(moved, axis=-1)
                slope = self.scene.slope(node, self.value(point, times))
                return slope * moved + self.scene.rounding(node, value)
            case Sum(terms):
                if self.scene.total(node, times) is not None:
                    return 16 * EPS * np.abs(value)
                return sum(self.error(t, times) + EPS * abs(self.value(t, times)) for t in terms)
            case Product(factors):
                return self._product_error(factors, value, times)
            case Raised(base, Exact(p)):
                size, error = np.abs(self.value(base, times)), self.error(base, times)
                power = abs(float(p))
                with np.errstate(divide="ignore", invalid="ignore"):
                    slope = np.where(
                        size > 0, power * np.abs(value) / np.where(size > 0, size, 1), 0.0
                    )
                return slope * error + error**2 * (power > 1) + 2 * EPS * np.abs(value)
            case Inner(left, right):
                return self._inner_error(left, right, times)
            case Over():
                return self._over_error(node, value, times)
            case Expected(body):
                return self.error(body, times)
            case Young(one, other) | Either(_, one, other):
                return 4 * (self.error(one, times) + self.error(other, times)) + 8 * EPS * np.abs(
                    value
                )
        parts = sum(np.asarray(self.error(part, times)) for part in node.children())
        return parts + 4 * EPS * np.abs(value)

    def _product_error(self, factors: tuple[Expr, ...], value: Any, times: Times) -> Any:
        total = len(factors) * EPS * np.abs(value)
        vectors = [f.is_vector for f in factors]

        def shaped(found: Any, is_vector: bool) -> Any:
            widened = any(vectors) and not is_vector and np.ndim(found)
            return np.abs(np.asarray(found)[..., None] if widened else found)

        sizes = [shaped(self.value(f, times), v) for f, v in zip(factors, vectors, strict=True)]
        for i, factor in enumerate(factors):
            part = shaped(self.error(factor, times), vectors[i])
            for other in (*sizes[:i], *sizes[i + 1 :]):
                part = part * other
            total = total + part
        return total

    def _inner_error(self, left: Expr, right: Expr, times: Times) -> Any:
        u, v = np.abs(self.value(left, times)), np.abs(self.value(right, times))
        du, dv = self.error(left, times), self.error(right, times)
        dim = np.shape(u)[-1]
        return (u * dv + v * du + du * dv + dim * EPS * u * v).sum(axis=-1)

    def _over_error(self, node: Over, value: Any, times: Times) -> Any:
        if node.first is None or node.last is None:
            axis = AXES[node.index.name]
            body, error = self.value(node.body, times), self.error(node.body, times)
            error = np.broadcast_to(error, np.shape(body)) + EPS * np.shape(body)[axis] * np.abs(
                body
            )
            total = error.sum(axis=axis, keepdims=True)
            return total / np.shape(body)[axis] if node.kind == "mean" else total
        if self.scene.total(node, times) is not None:
            return 16 * EPS * np.abs(value)
        first, last = times[node.first], times[node.last]
        inside = times.within(node.index, first, last)
        run = inside.at[node.index.name]
        body = np.abs(self.value(node.body, inside))
        error = self.error(node.body, inside) + EPS * np.max(last - first + 1) * body
        return _summed((first[:, None] <= run) & (run <= last[:, None]), error)


def _summed(chosen: Any, body: Any) -> Any:
    """Return the sums of body [N, ...] over the times chosen [n, N] for each instance."""
    body = np.broadcast_to(body, (chosen.shape[1], *np.shape(body)[1:]))
    if np.isfinite(body).all():
        return np.tensordot(chosen.astype(float), body, axes=(1, 0))
    return np.stack([body[row].sum(axis=0) for row in chosen])  # NaN where it is, and only there


def _whole_power(value: Any, power: int) -> Any:
    """Return an integer power by multiplication alone: exact scenes and intervals have no other."""
    found = value
    for _ in range(abs(power) - 1):
        found = found * value
    return 1 / found if power < 0 else found if power else value * 0 + 1


def _column(times: Any) -> Any:
    """Return times as values: [n] to [n, 1, 1, 1]."""
    return np.asarray(times)[:, None, None, None]
