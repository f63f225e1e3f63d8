"""What a function computes, as text: its code, and whatever the code refers to.

A file's content says it only for functions that stand in a file, and says nothing of a constant
that is imported from another one; and it changes with every comment. Code does not.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Iterator
from enum import Enum
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

PLAIN = (int, float, complex, str, bytes, bool, type(None), np.generic)
VERSIONED = ("math", "numba", "numpy")  # modules that a version says all of


def fingerprint(function: Callable[..., Any]) -> str:
    """Return a hash of a function's code, defaults and closure, and of the globals it names.

    It is the same in every process of one version of Python, wherever the function stands;
    comments, docstrings and the names of local variables are no part of it. What this package's own
    functions compute is asked once in a process: that of a user may change what it names.
    """
    ours = str(getattr(function, "__module__", "")).startswith("stemtheory.")
    return _known(function) if ours else _hashed(_text(function, set()))


@functools.cache
def _known(function: Callable[..., Any]) -> str:
    return _hashed(_text(function, set()))


def text_print(text: str) -> str:
    """Return a hash of the code of a module's text.

    Raises
    ------
    SyntaxError, ValueError
        If it is no text of a module.
    """
    return _hashed(_text(compile(text, "", "exec", dont_inherit=True, optimize=2), set()))


def _hashed(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def _text(value: Any, seen: set[int]) -> str:
    value = getattr(value, "py_func", getattr(value, "_defn", value))  # of what numba has made
    if isinstance(value, PLAIN):
        return repr(value)
    if isinstance(value, Enum):
        return f"{value.name} {_text(value.value, seen)}"
    if isinstance(value, ModuleType):
        return value.__name__
    if isinstance(value, np.ndarray):
        return f"{value.dtype}{value.shape}{value.tobytes().hex()}"
    if isinstance(value, tuple | list):
        return f"({','.join(_text(x, seen) for x in value)})"
    if isinstance(value, frozenset):
        return f"({','.join(sorted(_text(x, seen) for x in value))})"
    if isinstance(value, CodeType):
        return f"{value.co_code.hex()}{value.co_names}{_text(value.co_consts, seen)}"
    if not isinstance(value, FunctionType) or id(value) in seen:
        return f"{type(value).__qualname__} {getattr(value, '__qualname__', '')}"
    seen.add(id(value))
    return _function_text(value, seen)


def _function_text(function: FunctionType, seen: set[int]) -> str:
    code, given = function.__code__, function.__globals__
    if code.co_consts and code.co_consts[0] == function.__doc__:
        code = code.replace(co_consts=(None, *code.co_consts[1:]))
    cells = tuple(cell.cell_contents for cell in function.__closure__ or ())
    used = {name: given[name] for name in _names(code) if name in given}
    for module in [x for x in used.values() if isinstance(x, ModuleType)]:
        if module.__name__.partition(".")[0] not in VERSIONED:
            own = {name: getattr(module, name) for name in _names(code) if hasattr(module, name)}
            used |= {f"{module.__name__}.{name}": value for name, value in own.items()}
    parts = (code, function.__defaults__ or (), cells)
    return f"{_text(parts, seen)}{list(used)}{_text(tuple(used.values()), seen)}"


def _names(code: CodeType) -> Iterator[str]:
    """Yield what code names, and the functions that it makes."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)
