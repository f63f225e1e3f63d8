"""What a kernel is made of: the functions of a separable problem and where each argument lies.

An argument is a number, passed as a typed scalar (a literal would widen float32), or an array over
workers and coordinates, laid out element by element beside the state.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from stemtheory.oracles import Separable
from stemtheory.simulator.fused.fingerprint import fingerprint


@dataclass(frozen=True)
class KernelPart:
    """A function of (x, *arguments): ``where`` lists, per argument, ``("P", i)`` or ``("W", r)``.

    P are the scalars of all parts, W the rows of numbers that vary from element to element.
    """

    name: str
    function: Callable[..., Any]
    where: tuple[tuple[str, int], ...]

    @property
    def address(self) -> tuple[str, str] | None:
        """The module and name under which the function is found, or None if it is not."""
        module = getattr(self.function, "__module__", None)
        name = getattr(self.function, "__qualname__", "")
        code = getattr(self.function, "__code__", None)
        if module is None or code is None or not Path(code.co_filename).is_file():
            return None  # typed in: another process finds no such thing
        try:
            there = getattr(importlib.import_module(module), name, None)
        except ImportError:
            return None
        return (module, name) if there is self.function else None


@dataclass(frozen=True)
class Recipe:
    """The slope, the push (or None) and the fields (or None), with their arguments."""

    problem: str
    slope: KernelPart
    push: KernelPart | None
    fields: KernelPart | None
    terms: int
    scalars: tuple[float, ...]
    rows: tuple[Any, ...]

    @property
    def parts(self) -> tuple[KernelPart, ...]:
        """The parts that are there."""
        return tuple(p for p in (self.slope, self.push, self.fields) if p is not None)

    @property
    def prints(self) -> tuple[str, ...]:
        """What the parts compute now: a constant that they name may be another one next time."""
        return tuple(fingerprint(part.function) for part in self.parts)


def make_recipe(problem: Separable, to_host: Callable[[Any], Any] = np.asarray) -> Recipe:
    """Return the recipe of a separable problem; rows have shape (K, dim) in float64.

    ``to_host`` brings the problem's arrays to the host, where they are on a device.
    """
    scalars: list[float] = []
    rows: list[Any] = []

    def part(name: str, function: Callable[..., Any], arguments: tuple[Any, ...]) -> KernelPart:
        where = []
        for value in arguments:
            if np.ndim(value):
                found = np.asarray(to_host(value), np.float64)
                full = np.broadcast_to(found, (problem.K, problem.dim))
                where.append(("W", len(rows)))
                rows.append(full)
            else:
                where.append(("P", len(scalars)))
                scalars.append(float(value))
        return KernelPart(name, function, tuple(where))

    push = problem.push
    return Recipe(
        problem=problem.name,
        slope=part("slope", problem.family.slope, problem.slope_arguments),
        push=None if push is None else part("push", push.function, push.arguments),
        fields=part("fields", problem.noise.fields, problem.field_arguments)
        if problem.noisy
        else None,
        terms=problem.noise.terms if problem.noisy else 0,
        scalars=tuple(scalars),
        rows=tuple(rows),
    )
