"""How what holds functions or modules is pickled and copied: by the name under which it is found.

An entry holds functions, lambdas among them, which no pickle takes. It is a constant of a module,
so its name is enough, and whoever reads the name finds the same object.
"""

from __future__ import annotations

import importlib
import pickle  # noqa: TID251 - to see whether a thing can be written, never to read
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from stemtheory.runtime.errors import UsageError


def by_name(thing: object, *functions: Callable[..., Any] | None) -> tuple[Any, ...]:
    """Return what ``__reduce__`` of an entry returns: the module that defines it, and its name.

    It is looked for in the modules that define its ``functions``, then in all that are loaded (an
    entry may be made of a room's functions alone), also within their tuples.

    Raises
    ------
    UsageError
        If it has no name there.
    """
    near = (f.__module__ for f in functions if hasattr(f, "__module__"))
    for module in dict.fromkeys([*near, *sys.modules]):
        for name, value in [*getattr(sys.modules.get(module), "__dict__", {}).items()]:
            if value is thing:
                return found, (module, name)
            if isinstance(value, tuple) and any(item is thing for item in value):
                return found, (module, name, [item is thing for item in value].index(True))
    raise UsageError(
        f"this {type(thing).__name__} cannot be pickled, because no module has it under a name:"
        " write NAME = ... at the top of a module."
    )


def found(module: str, name: str, place: int | None = None) -> Any:
    """Return what a module has under a name, or one item of that."""
    value = getattr(importlib.import_module(module), name)
    return value if place is None else value[place]


def refuse_unpicklable(thing: object) -> None:
    """Refuse a user's own object that no pickle takes.

    Raises
    ------
    UsageError
        With what is in the way.
    """
    try:
        pickle.dumps(thing)
    except UsageError:
        raise
    except Exception as error:
        raise UsageError(
            f"this {type(thing).__name__} cannot be pickled ({error}): give it by its name,"
            " package.module:NAME, or define what it holds at the top of a module."
        ) from error


class Portable:
    """What is pickled and copied by its fields; ``xp``, a module, is written as its name."""

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields; no pickle takes a module."""
        return {
            name: value.__name__ if isinstance(value, ModuleType) else value
            for name, value in vars(self).items()
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take the fields."""
        vars(self).update(state | {"xp": importlib.import_module(state["xp"])})
