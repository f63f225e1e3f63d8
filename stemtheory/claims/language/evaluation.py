"""Both sides of a line as numbers, and how far rounding may have moved them.

Values are arrays with the axes [instance, replicate, worker k, worker j], 1 where a value does not
depend on one; vectors have their coordinates on a fifth. A scene gives the letters: a recorded
run, a grid of sizes, one setting. An instance is a time t at which the line is asked.

``error`` carries a bound of the rounding through the same tree (running error analysis): what a
letter was computed with is the scene's to say, each operation adds one unit. It is the float
budget of identities, and the resolution below which an inequality says nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import reduce
from operator import add, mul
from typing import Any

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
    Sum,
    Symbol,
    Young,
)

EPS = float(np.finfo(np.float64).eps)
KEPT = (Inner, Over, At)  # what is worth keeping, since lines of one run share it
AXES = {"k": 2, "j": 3}
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "max": lambda *values: reduce(np.maximum, values),
    "min": lambda *values: reduce(np.minimum, values),
    "log": np.log,
    "exp": np.exp,
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
            same = {name: at for name, at in self.at.items() if len(at) == 1}
            self.inner[key] = Times({**same, index.name: np.arange(low, high + 1)})
        return self.inner[key]


class Scene:
    """What gives the letters of a line. One of numbers alone has no points, and no places."""

    def __init__(self) -> None:
        self.evaluation = Evaluation(self)

    def number(self, value: Fraction) -> Any:
        """Return an exact number as the scene computes with it: the nearest float."""
        return float(value)

    def letter(self, symbol: Symbol, times: Times) -> Any:
        """Return the values of a letter at its indices."""
        raise TypeError(symbol)

    def apply(self, node: At, point: Any, times: Times) -> Any:
        """Return a loss or a gradient at points."""
        raise TypeError(node)

    def there(self, place: str, times: Times) -> Any:
        """Return at which instances a place is, [n]."""
        raise TypeError(place)

    def total(self, node: Sum | Over, times: Times) -> Any:
        """Return a sum, or one over times, in closed form; None where the terms are added."""
        return None

    def rounding(self, node: Symbol | At, value: Any) -> Any:
        """Return a bound of the rounding in a letter or an oracle's value: a few units."""
        return 8 * EPS * np.abs(value)

    def slope(self, node: At, point: Any) -> Any:
        """Return by how much a loss or gradient may change where its point moves by one."""
        raise TypeError(node)


class Evaluation:
    """Values of expressions in one scene; those of norms, sums and oracles are kept."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self._values: dict[tuple[Times, Expr], Any] = {}
        self._errors: dict[tuple[Times, Expr], Any] = {}

    def value(self, node: Expr, times: Times) -> Any:
        """Return the value of an expression at every instance."""
        return _kept(self._values, self._value, node, times)

    def error(self, node: Expr, times: Times) -> Any:
        """Return a bound of the rounding in ``value``, of its shape."""
        return _kept(self._errors, self._error, node, times)

    def _value(self, node: Expr, times: Times) -> Any:
        match node:
            case Exact(value):
                return self.scene.number(value)
            case Index():
                return column(times[node])
            case Symbol():
                return self.scene.letter(node, times)
            case Sum():
                closed = self.scene.total(node, times)
                return reduce(add, self._parts(node, times)) if closed is None else closed
            case Product(factors):
                return reduce(mul, _beside(factors, self._parts(node, times)))
            case Raised(base, Exact(power)):
                return power_of(self.value(base, times), power)
            case Raised(base, exponent):
                return self.value(base, times) ** self.value(exponent, times)
            case Call(function):
                return FUNCTIONS[function](*self._parts(node, times))
            case At(_, point):
                return self.scene.apply(node, self.value(point, times), times)
            case Inner():
                return reduce(mul, self._parts(node, times)).sum(axis=-1)
            case Over():
                return self._over(node, times)
            case Expected(body):
                return self.value(body, times)
            case Young():
                return reduce(add, map(np.sqrt, self._parts(node, times))) ** 2
            case Either(place):
                here = column(self.scene.there(place, times))
                return np.where(here, *self._parts(node, times))
        raise TypeError(node)

    def _parts(self, node: Expr, times: Times) -> list[Any]:
        return [self.value(part, times) for part in node.children]

    def _over(self, node: Over, times: Times) -> Any:
        if node.first is None or node.last is None:
            body, axis = self.value(node.body, times), AXES[node.index.name]
            if body.shape[axis] == 1 and node.kind == "sum":
                return body * self.scene.letter(Symbol("K"), times)
            return getattr(np, node.kind)(body, axis=axis, keepdims=True)
        if (closed := self.scene.total(node, times)) is not None:
            return closed
        inside, chosen = _range(node, times)
        return _summed(chosen, self.value(node.body, inside))

    # --- rounding -----------------------------------------------------------------------------

    def _error(self, node: Expr, times: Times) -> Any:
        if isinstance(node, Exact | Index):
            return 0.0
        value = self.value(node, times)
        size = EPS * np.abs(value)
        match node:
            case Symbol():
                return self.scene.rounding(node, value)
            case At(_, point):
                moved = np.abs(self.error(point, times))
                moved = moved if node.is_vector else np.sum(moved, axis=-1)
                slope = self.scene.slope(node, self.value(point, times))
                return slope * moved + self.scene.rounding(node, value)
            case Sum() | Over(first=Index()) if self.scene.total(node, times) is not None:
                return 16 * size
            case Sum(terms):
                return sum(self.error(t, times) + EPS * abs(self.value(t, times)) for t in terms)
            case Product(factors):
                return len(factors) * size + self._product_error(node, times)
            case Raised(base, Exact(power)):
                at = np.abs(self.value(base, times))
                return _power_error(at, self.error(base, times), abs(float(power)), value)
            case Inner():
                (u, v), (du, dv) = (
                    map(np.abs, self._parts(node, times)),
                    self._errors_in(node, times),
                )
                return (u * dv + v * du + du * dv + np.shape(u)[-1] * EPS * u * v).sum(axis=-1)
            case Over():
                return self._over_error(node, times)
            case Expected(body):
                return self.error(body, times)
            case Young() | Either():
                return 4 * sum(self._errors_in(node, times)) + 8 * size
        return sum(self._errors_in(node, times)) + 4 * size

    def _errors_in(self, node: Expr, times: Times) -> list[Any]:
        return [self.error(part, times) for part in node.children]

    def _product_error(self, node: Product, times: Times) -> Any:
        """Return the sum over factors of one's error times the sizes of the others."""
        sizes = _beside(node.factors, map(np.abs, self._parts(node, times)))
        errors = _beside(node.factors, map(np.abs, self._errors_in(node, times)))
        return sum(
            reduce(mul, (error, *sizes[:i], *sizes[i + 1 :])) for i, error in enumerate(errors)
        )

    def _over_error(self, node: Over, times: Times) -> Any:
        if node.first is None or node.last is None:
            axis, body = AXES[node.index.name], np.abs(self.value(node.body, times))
            n = body.shape[axis]
            error = self.error(node.body, times) + EPS * n * body
            total = error.sum(axis=axis, keepdims=True)
            return total / n if node.kind == "mean" else total
        inside, chosen = _range(node, times)
        longest = np.max(times[node.last] - times[node.first] + 1)
        body = np.abs(self.value(node.body, inside))
        return _summed(chosen, self.error(node.body, inside) + EPS * longest * body)


def _kept(memory: dict[Any, Any], compute: Any, node: Expr, times: Times) -> Any:
    """Return what is computed of a node, from memory where it is kept there."""
    if not isinstance(node, KEPT):
        return compute(node, times)
    if (times, node) not in memory:
        memory[times, node] = compute(node, times)
    return memory[times, node]


def _beside(factors: tuple[Expr, ...], values: Iterable[Any]) -> list[Any]:
    """Return the values of factors, numbers with a last axis for the coordinates of a vector."""
    if not any(factor.is_vector for factor in factors):
        return list(values)
    return [
        value if factor.is_vector or not np.ndim(value) else np.asarray(value)[..., None]
        for factor, value in zip(factors, values, strict=True)
    ]


def _range(node: Over, times: Times) -> tuple[Times, Any]:
    """Return the times of a sum's body, and which of them each instance takes, [n, N]."""
    assert node.first is not None
    assert node.last is not None
    first, last = times[node.first], times[node.last]
    inside = times.within(node.index, first, last)
    run = inside.at[node.index.name]
    return inside, (first[:, None] <= run) & (run <= last[:, None])


def _summed(chosen: Any, body: Any) -> Any:
    """Return the sums of body [N, ...] over the times chosen [n, N] for each instance."""
    body = np.broadcast_to(body, (chosen.shape[1], *np.shape(body)[1:]))
    if np.isfinite(body).all():
        return np.tensordot(chosen.astype(float), body, axes=(1, 0))
    return np.stack([body[row].sum(axis=0) for row in chosen])  # NaN where it is, and only there


def power_of(value: Any, power: Fraction) -> Any:
    """Return a power; a whole one by products alone, since intervals have no other."""
    if power.denominator == 3:
        return np.cbrt(value) ** int(power.numerator)
    if power == Fraction(1, 2):
        return np.sqrt(value)
    if power.denominator != 1:
        return value ** float(power)
    found = reduce(mul, [value] * abs(int(power))) if power else value * 0 + 1
    return 1 / found if power < 0 else found


def _power_error(base: Any, error: Any, power: float, value: Any) -> Any:
    size = np.abs(value)
    with np.errstate(divide="ignore", invalid="ignore"):
        slope = np.where(base > 0, power * size / np.where(base > 0, base, 1), 0.0)
    return slope * error + error**2 * (power > 1) + 2 * EPS * size


def column(values: Any) -> Any:
    """Return one value for each instance, [n] or a number, on the axes of values: [n, 1, 1, 1]."""
    return np.atleast_1d(np.asarray(values))[:, None, None, None]
