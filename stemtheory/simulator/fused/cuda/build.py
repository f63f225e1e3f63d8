"""The device's kernels of a recipe, put together: which name means what, on which machine.

The text is that of ``kernel``, ``rounds`` and ``noise`` beside it, and of the
elementwise functions of ``systems`` and ``moves``, which the processor compiles as well. Every
function is copied with one dictionary for its globals, in which the sizes of a layout stand, the
problem's formula, and what a machine calls fma or a thread's index.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from types import FunctionType
from typing import Any

import numpy as np

from stemtheory.algorithms import READINGS
from stemtheory.simulator.fused import kernel, moves
from stemtheory.simulator.fused import names as common
from stemtheory.simulator.fused.cuda import kernel as device_kernel
from stemtheory.simulator.fused.cuda import noise as device_noise
from stemtheory.simulator.fused.cuda import rounds as device_rounds
from stemtheory.simulator.fused.cuda.layout import NORMALS, ThreadLayout, make_layout
from stemtheory.simulator.fused.recipe import Recipe
from stemtheory.simulator.fused.source import formula
from stemtheory.simulator.fused.systems import fedavg, rows_of, scaffold, stem

TEXTS = (device_noise, device_rounds, device_kernel)
SHARED = (  # with the processor
    stem.stem_step, fedavg.fedavg_step, stem.move, moves.refresh,
    scaffold.scaffold_step, scaffold.negate_gradients, scaffold.correct,
)  # fmt: skip
KERNELS = ("advance", "keep_book")


@dataclass(frozen=True)
class Variant:
    """What a kernel is compiled for, beside its recipe; ``reading`` is that of ``tables``."""

    algorithm: str
    reading: int
    dtype: str

    @property
    def scalar(self) -> Any:
        """The type of the state."""
        return getattr(np, self.dtype)

    def rows(self, recipe: Recipe) -> int:
        """Return how many rows a state has."""
        return rows_of(self.algorithm, recipe.terms)

    def layout(self, recipe: Recipe, K: int, dim: int) -> ThreadLayout | None:
        """Return how threads share K workers out, or None where there are too many."""
        rows = self.rows(recipe) + len(recipe.rows)
        return make_layout(K, dim, recipe.terms, rows, np.dtype(self.dtype).itemsize)


@dataclass(frozen=True)
class TargetMachine:
    """What names mean on a machine: ``names`` outright, ``part`` for each function that is called.

    ``oracle`` turns a function of the problem, or ``record`` of the processor's kernel, into one.
    """

    names: dict[str, Any]
    part: Callable[[Callable[..., Any]], Any]
    oracle: Callable[[Callable[..., Any]], Any]


def assemble(
    recipe: Recipe, variant: Variant, layout: ThreadLayout, machine: TargetMachine
) -> dict[str, Any]:
    """Return the names of a kernel; those of KERNELS are functions not yet compiled."""
    names: dict[str, Any] = {}
    for module in (common, kernel, moves, stem, fedavg, scaffold, *TEXTS):
        names |= vars(module)
    names |= _constants(recipe, variant, layout)
    names |= {"compile_part": machine.part, **machine.names}
    names |= {part.name: machine.oracle(part.function) for part in recipe.parts}
    names["record"] = machine.oracle(kernel.record)
    exec("\n".join(formula(recipe)), names)
    own = [f for module in TEXTS for f in vars(module).values() if inspect.isfunction(f)]
    for function in [*SHARED, *own]:
        copy = FunctionType(function.__code__, names, function.__name__)
        names[copy.__name__] = copy if copy.__name__ in KERNELS else machine.part(copy)
    algorithm = variant.algorithm
    names |= {"step_unit": names[f"step_{algorithm}"], "close_round": names[f"close_{algorithm}"]}
    names["draw_run"] = names[("draw_one", "draw_two", "draw_four")[_run(recipe, layout) // 2]]
    return names


def _run(recipe: Recipe, layout: ThreadLayout) -> int:
    """Return how many normals of a unit share the words of one call: 1, 2 or 4."""
    normals = layout.unit * max(1, recipe.terms)
    return next(n for n in (NORMALS, 2, 1) if normals % n == 0)


def _constants(recipe: Recipe, variant: Variant, layout: ThreadLayout) -> dict[str, Any]:
    """Return the constants of the text: sizes as Size, lengths of arrays as int."""
    terms, stride, arguments = max(1, recipe.terms), layout.elements, len(recipe.rows)
    rows, run, parts = variant.rows(recipe), _run(recipe, layout), layout.across * layout.threads
    sizes = {
        "J": layout.J, "L": layout.L, "PER": layout.per, "U": layout.unit, "DOWN": layout.down,
        "ACROSS": layout.across, "SPREAD": layout.spread, "ROWS": rows, "ARGUMENTS": arguments,
        "STRIDE": stride, "ROW": stride, "D": stride, "GRADIENT": 2 * stride, "FIELD": 3 * stride,
        "SHIFT": stride, "SERVER": 2 * stride, "PARTS": parts, "M": terms, "RUN": run,
        "DRAWS": layout.unit * recipe.terms // run,
    }  # fmt: skip
    lengths = {
        "OWN": rows * stride, "ROW_OWN": max(1, arguments) * stride, "NOISE": terms * stride,
        "PART_MEANS": layout.across, "ALL_PARTS": 2 * parts,
        "NORMS": int(device_kernel.STRETCH) * (layout.J + 1),
    }  # fmt: skip
    reading = list(READINGS)[variant.reading] if variant.algorithm == "stem" else ""
    readings = {
        "AVERAGE_FIRST": reading == "average-first", "AVERAGE_BOTH": reading == "average-both",
        "OVERWRITE": reading == "overwrite", "FULL": variant.reading == 1,
    }  # fmt: skip
    scalar = variant.scalar
    return {
        **{name: np.uint64(size) for name, size in sizes.items()},
        **lengths, **readings, "Scalar": scalar, "NOTHING": scalar(0),
    }  # fmt: skip
