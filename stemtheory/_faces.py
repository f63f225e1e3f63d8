"""Faces that load a module when one of its names is first used, so that a command starts fast."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any


def face(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` of a package that says its imports once.

    It writes them under ``if TYPE_CHECKING:``, where type checkers and readers look for them; here
    they are read from its own text. A name must not be that of a module of the package: the module
    would hide it once it is loaded.
    """
    places = _places(package)

    def get(name: str) -> Any:
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, original = places[name]
        own = module == package  # a module of the package itself
        found = import_module(f"{package}.{name}" if own else module)
        value = found if own else getattr(found, original)
        setattr(sys.modules[package], name, value)
        return value

    return get, lambda: sorted({*places, *vars(sys.modules[package])})


def _places(package: str) -> dict[str, tuple[str, str]]:
    """Return the module and the name there of every name under TYPE_CHECKING."""
    text = Path(sys.modules[package].__file__ or "").read_text(encoding="utf-8")
    guarded = (node.body for node in ast.parse(text).body if isinstance(node, ast.If))
    imports = [line for body in guarded for line in body if isinstance(line, ast.ImportFrom)]
    return {
        alias.asname or alias.name: (str(line.module), alias.name)
        for line in imports
        for alias in line.names
    }
