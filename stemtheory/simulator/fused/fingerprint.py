"""What a function computes, as text: its code, and whatever the code refers to.

A file's content says it only for functions that stand in a file, and says nothing of a constant
that is imported from another one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from types import CodeType, ModuleType
from typing import Any

import numpy as np

PLAIN = (int, float, complex, str, bytes, bool, type(None), np.generic)


def fingerprint(function: Callable[..., Any]) -> str:
    """Return a hash of a function's code, defaults and closure, and of the globals it names.

    It is the same in every process of one version of Python.
    """
    return hashlib.blake2b(_text(function, set()).encode(), digest_size=16).hexdigest()


def _text(value: Any, seen: set[int]) -> str:
    value = getattr(value, "py_func", value)
    if isinstance(value, PLAIN):
        return repr(value)
    if isinstance(value, ModuleType):
        return value.__name__
    if isinstance(value, np.ndarray):
        return f"{value.dtype}{value.shape}{value.tobytes().hex()}"
    if isinstance(value, tuple | list | frozenset):
        return f"({','.join(_text(x, seen) for x in value)})"
    if isinstance(value, CodeType):
        return f"{value.co_code.hex()}{value.co_names}{_text(value.co_consts, seen)}"
    if not hasattr(value, "__code__") or id(value) in seen:
        return f"{type(value).__qualname__} {getattr(value, '__qualname__', '')}"
    seen.add(id(value))
    names = [name for name in value.__code__.co_names if name in value.__globals__]
    cells = tuple(cell.cell_contents for cell in value.__closure__ or ())
    parts = (value.__code__, value.__defaults__ or (), cells)
    used = tuple(value.__globals__[name] for name in names)
    return f"{_text(parts, seen)}{names}{_text(used, seen)}"
