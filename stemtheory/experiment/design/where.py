"""A small language of conditions on the columns of a table: nothing in it can run code.

For example ``K == 4 and zeta > 0.5 and problem in ("cosine", "welsch")``, or
``not (status == "ok") or dials.spectrum >= 10``.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Any

from stemtheory.runtime import UsageError, kept

Condition = Callable[[Mapping[str, Any]], bool]
_Term = Callable[[Mapping[str, Any]], Any]
_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
}
_ALLOWED = "names of columns, numbers, quoted text, == != < <= > >= in, and or not, ( )"


def condition(text: str, columns: set[str]) -> Condition:
    """Return the condition that ``text`` states on a row with these columns.

    A comparison with an empty cell is false, except == and != with None.

    Raises
    ------
    UsageError
        For anything but comparisons of columns and constants, and for unknown columns.
    """
    try:
        tree = ast.parse(text := text.strip(), mode="eval").body
        _refuse_lost(tree, text)
        test = _compile(tree, columns)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        if isinstance(error, UsageError):
            raise
        raise _refused(text, "it cannot be read (equality is written ==)") from error
    return lambda row: bool(test(row))


def _refuse_lost(tree: ast.expr, text: str) -> None:
    """Refuse numbers that became 0 or infinite where Python read them."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, float):
            try:
                kept(ast.get_source_segment(text, node) or "")
            except UsageError as error:
                raise UsageError(f"where: {error}") from error


def _compile(node: ast.expr, columns: set[str]) -> _Term:
    if isinstance(node, ast.BoolOp):
        parts = [_compile(value, columns) for value in node.values]
        every = all if isinstance(node.op, ast.And) else any
        return lambda row: every(part(row) for part in parts)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
        inner = _compile(node.operand, columns)
        if isinstance(node.op, ast.Not):
            return lambda row: not inner(row)
        return lambda row: _negative(inner(row))
    if isinstance(node, ast.Compare):
        return _comparison(node, columns)
    if isinstance(node, ast.Tuple | ast.List):
        items = [_compile(item, columns) for item in node.elts]
        return lambda row: [item(row) for item in items]
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float | str | None):
        value = node.value
        return lambda row: value
    if isinstance(node, ast.Name | ast.Attribute):
        return _column(ast.unparse(node), columns)
    raise _refused(ast.unparse(node), "it is more than a comparison")


def _comparison(node: ast.Compare, columns: set[str]) -> _Term:
    terms = [_compile(term, columns) for term in (node.left, *node.comparators)]
    if any(type(op) not in _COMPARE for op in node.ops):
        raise _refused(ast.unparse(node), "'is' compares no values")
    tests = [_COMPARE[type(op)] for op in node.ops]
    equality = [isinstance(op, ast.Eq | ast.NotEq) for op in node.ops]

    def holds(row: Mapping[str, Any]) -> bool:
        values = [term(row) for term in terms]
        for i, test in enumerate(tests):
            a, b = values[i], values[i + 1]
            if not equality[i] and (a is None or b is None):
                return False
            try:
                if not test(a, b):
                    return False
            except TypeError as error:
                raise _refused(ast.unparse(node), f"{a!r} and {b!r} have no order") from error
        return True

    return holds


def _column(name: str, columns: set[str]) -> _Term:
    if name not in columns:
        known = ", ".join(sorted(columns))
        raise UsageError(f"where: there is no column {name}; known are {known}: use one of them.")
    return lambda row: row.get(name)


def _negative(value: Any) -> Any:
    return -value if isinstance(value, int | float) else None


def _refused(text: str, reason: str) -> UsageError:
    return UsageError(f"where: '{text}' is refused: {reason}; allowed are {_ALLOWED}.")
