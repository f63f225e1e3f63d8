"""A formula of the package as an expression tree, found by calling it with letters for numbers.

A tree is a number, a letter, or ``[operation, tree, ...]``: JSON, which the page evaluates. What is
traced runs with `float`, `max` and `math` replaced by what lets letters through, and nothing else
of it is touched: a formula stands in Python alone. A branch that depends on a letter is refused,
since a tree would silently keep one side of it.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable
from types import FunctionType, SimpleNamespace
from typing import Any, NoReturn

Tree = float | str | list[Any]
UFUNCS = {
    "add": "+", "subtract": "-", "multiply": "*", "divide": "/", "power": "**",
    "minimum": "min", "maximum": "max", "floor": "floor", "cbrt": "cbrt", "sqrt": "sqrt",
    "psi": "digamma",
}  # fmt: skip


def tree(value: Any) -> Tree:
    """Return what a number or a symbol is in a tree."""
    return value.tree if isinstance(value, TracedNumber) else builtins.float(value)


def _made(operation: str, *parts: Any) -> TracedNumber:
    return TracedNumber([operation, *map(tree, parts)])


class TracedNumber:
    """A letter, or what arithmetic on letters gives."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any) -> TracedNumber:
        """Take part in NumPy's and SciPy's functions, those that formulas use."""
        return _made(UFUNCS[ufunc.__name__], *inputs)

    def __bool__(self) -> NoReturn:
        raise TypeError(f"a formula branches on {self.tree}, which a tree cannot say")

    def __neg__(self) -> TracedNumber:
        return _made("*", -1, self)


def _binary(operation: str, *, swapped: bool = False) -> Callable[[Any, Any], TracedNumber]:
    if swapped:
        return lambda self, other: _made(operation, other, self)
    return lambda self, other: _made(operation, self, other)


for _name, _sign in {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "pow": "**", "floordiv": "//", "mod": "%",
    "or": "||",
}.items():  # fmt: skip
    setattr(TracedNumber, f"__{_name}__", _binary(_sign))
    setattr(TracedNumber, f"__r{_name}__", _binary(_sign, swapped=True))
for _name, _sign in {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "=="}.items():
    setattr(TracedNumber, f"__{_name}__", _binary(_sign))

INSTEAD: dict[str, Any] = {
    "float": lambda value: value if isinstance(value, TracedNumber) else builtins.float(value),
    "max": lambda first, second: _made("max", first, second),
    "math": SimpleNamespace(
        sqrt=lambda value: _made("sqrt", value),
        log1p=lambda value: _made("log1p", value),
        isclose=lambda left, right, rel_tol: _made("isclose", left, right, rel_tol),
    ),
}


def traced(function: Any) -> Any:
    """Return ``function``, and all of the package that it calls by name, fit for symbols."""
    code, own = function.__code__, dict(function.__globals__)
    for name in code.co_names:
        called = own.get(name)
        if isinstance(called, FunctionType) and called.__module__.startswith("stemtheory."):
            own[name] = traced(called)
    own |= INSTEAD
    return FunctionType(code, own, function.__name__, function.__defaults__, function.__closure__)
