"""A problem with some of its parts replaced: how tests make mutants and transformed problems."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from stemtheory.oracles.problem import Constants, Problem
from stemtheory.runtime import Floats
from stemtheory.runtime.backend import Backend


class Altered:
    """Hands everything on to ``inner``, but for the parts given by name.

    A part is called with the inner problem first, so that it keeps working on a placed copy;
    attributes that are no methods are given as they are.
    """

    def __init__(self, inner: Problem, **parts: Any) -> None:
        self.inner, self.parts = inner, parts

    def __getattr__(self, name: str) -> Any:
        if name in ("inner", "parts"):
            raise AttributeError(name)
        if name not in self.parts:
            return getattr(self.inner, name)
        part = self.parts[name]
        if not callable(part):
            return part
        return lambda *args, **kwargs: part(self.inner, *args, **kwargs)

    def place(self, backend: Backend, dtype: Any) -> Any:
        """Return the same alteration of the placed problem."""
        return Altered(self.inner.place(backend, dtype), **self.parts)


def declared(**values: Any) -> dict[str, Callable[..., Any]]:
    """Return the part ``constants`` with some values (or, by ``exact_NAME``, labels) replaced.

    A value may be a function of the true constants.
    """

    def constants(inner: Problem, start: Floats | None = None) -> Constants:
        true = inner.constants(start)
        exact = dict(true.exact)
        numbers = {}
        for name, value in values.items():
            if name.startswith("exact_"):
                exact[name.removeprefix("exact_")] = value
            else:
                numbers[name] = value(true) if callable(value) else value
        return replace(true, exact=exact, **numbers)

    return {"constants": constants}
