"""The oracle and its noise for a CUDA device: compiled to PTX without one, never run on one.

A check, not an engine: large runs on a GPU take the array engine on CuPy. It shows that each loss,
push and noise field, as written, compiles for a device in both precisions together with the
counter-based noise, in the very text of the processor's kernels. On CUDA the ufuncs of NumPy do not
compile, and the CUDA simulator, which runs Python, does not notice: ``np`` stands for another
module in a copy of the same code object, with the polynomials of ``elementary`` for sin, cos and
exp (the library's float32 sine reduces large arguments in float64) and ``math`` for the rest.

Every function is put in place of its calls: device functions that are called ask for a device when
they are compiled.
"""

from __future__ import annotations

import importlib
import math
import types as python_types
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit, types

from stemtheory.errors import UsageError
from stemtheory.fused.elementary import OPTIONS, OWN, compiled, fma
from stemtheory.fused.normals import BOX_MULLER, LOWER, W0, W1, philox_round
from stemtheory.fused.recipe import Recipe
from stemtheory.fused.source import CAPACITIES, formula
from stemtheory.philox import ROUNDS

CAPABILITY = (8, 0)  # the oldest device that the code is compiled for
SYMBOL = "sample_kernel"
COUNTERPARTS = ("expm1", "fabs", "log", "log1p", "tanh")  # found in math, in either precision
TYPES = ("float32", "float64", "int32", "int64", "uint32", "uint64")
BODY = '''
@compile_part
def philox(c0, c1, c2, c3, k0, k1):
    """The four words of one counter; lanes are threads here, so that a loop will do."""
    c0, c1, c2, c3, k0, k1 = Long(c0), Long(c1), Long(c2), Long(c3), Long(k0), Long(k1)
    for _ in range(ROUNDS):
        c0, c1, c2, c3 = philox_round(c0, c1, c2, c3, k0, k1)
        k0, k1 = (k0 + W0) & LOWER, (k1 + W1) & LOWER
    return Word(c0), Word(c1), Word(c2), Word(c3)


@compile_part
def normal(e, m, t, who, purpose, k0, k1, factor):
    """xi_m of element e: the address of stemtheory.philox."""
    group = Word(e // SIXTEEN * TERMS + m)
    lane = Word(group // FOUR * SIXTEEN + e % SIXTEEN)
    w0, w1, w2, w3 = philox(lane, t, who, purpose, k0, k1)
    late = group % FOUR >= TWO
    first, second = w2 if late else w0, w3 if late else w1
    x, y = box_muller(first, second, factor)
    return x if group % TWO == ZERO else y


@compile_part
def drawn(e, x, P, W, t, who, purpose, k0, k1, factor):
    """gradient + sum_m xi_m n_m of element e at x; its arguments lie in W, chunk by chunk."""
    here = evaluate(x, P, W, e // CAPACITY * ARGUMENTS * ROW + e % CAPACITY)
    value = here[0]
{terms}
    return value


def sample_kernel(X, G, P, W, t, who, purpose, k0, k1, factor):
    i = grid(1)
    if i < X.size:
        e = Word(i)
        G[i] = drawn(e, X[i], P, W, t, who, purpose, k0, k1, factor)
'''
TERM = "    value = fma(normal(e, Word({m}), t, who, purpose, k0, k1, factor), here[{n}], value)"


def device_function(function: Callable[..., Any], dtype: str) -> Any:
    """Return the function for a device, with ``np`` standing for what a device has.

    What it calls that is compiled for the processor is copied in the same way.
    """
    rebound = dict(function.__globals__)
    for name in set(function.__code__.co_names) & set(rebound):
        rebound[name] = _counterpart(rebound[name], function, dtype)
    copy = python_types.FunctionType(
        function.__code__, rebound, function.__name__, function.__defaults__, function.__closure__
    )
    return inlined(copy)


def inlined(function: Callable[..., Any]) -> Any:
    """Return a device function that is put in place of its calls."""
    return _cuda().jit(device=True, inline="always")(function)


def _cuda() -> Any:
    """Return the compiler for devices, loaded where it is used."""
    return importlib.import_module("numba.cuda")


def _counterpart(value: Any, user: Callable[..., Any], dtype: str) -> Any:
    """Return what a name of a function's module stands for on a device."""
    if value is np:
        return _namespace(user, dtype)
    return _copied(value, dtype) if hasattr(value, "py_func") else value


def _copied(compiled_function: Any, dtype: str) -> Any:
    """Return for a device what is compiled for the processor."""
    return device_function(compiled_function.py_func, dtype)


def _namespace(user: Callable[..., Any], dtype: str) -> python_types.ModuleType:
    """Return a module with those names of NumPy used by a function that a device has."""
    module = python_types.ModuleType("device_elementary")

    def missing(name: str) -> Any:
        if name.startswith("_") or not hasattr(np, name):
            raise AttributeError(name)
        raise UsageError(
            f"{user.__qualname__} uses np.{name}, but on a device there are only "
            f"{', '.join(sorted({*OWN[dtype], *COUNTERPARTS}))}: write it with these."
        )

    module.__dict__["__getattr__"] = missing
    for name in user.__code__.co_names:
        if name in OWN[dtype]:
            module.__dict__[name] = _copied(OWN[dtype][name], dtype)
        elif name in COUNTERPARTS or name in TYPES:
            module.__dict__[name] = getattr(math if name in COUNTERPARTS else np, name)
    return module


def ptx(recipe: Recipe, dtype: str) -> str:
    """Return the PTX of a kernel, one thread an element, that draws gradient + sum_m xi_m n_m.

    Its arguments: x and the result, shape (K dim,); the scalars P and the rows W of the recipe, as
    the kernels of the processor have them; t, replicate, purpose, the key's words; and -2/b.

    Raises
    ------
    UsageError
        If a function uses what NumPy has and a device has not.
    numba.core.errors.NumbaError
        If it does not compile for another reason.
    """
    text = _cuda().compile(
        device_kernel(recipe, dtype), _signature(recipe, dtype),
        device=False, abi="numba", cc=CAPABILITY, output="ptx",
    )[0]  # fmt: skip
    return str(text)


def device_kernel(recipe: Recipe, dtype: str) -> Callable[..., None]:
    """Return the kernel as a Python function of compiled parts, as ``cuda.compile`` takes it."""
    names: dict[str, Any] = {
        "grid": _cuda().grid,
        "compile_part": inlined,
        "philox_round": _copied(philox_round, dtype),
        "box_muller": _copied(BOX_MULLER[dtype], dtype),
        **{part.name: device_function(part.function, dtype) for part in recipe.parts},
    }
    made: Callable[..., None] = _written(recipe, dtype, names)[SYMBOL]
    return made


def host_function(recipe: Recipe, dtype: str) -> Callable[..., Any]:
    """Return ``drawn`` of the same text, compiled for the processor: to see what it computes."""
    names: dict[str, Any] = {
        "compile_part": njit(**OPTIONS),
        "philox_round": philox_round,
        "box_muller": BOX_MULLER[dtype],
        **{part.name: compiled(part.function, dtype) for part in recipe.parts},
    }
    made: Callable[..., Any] = _written(recipe, dtype, names)["drawn"]
    return made


def _written(recipe: Recipe, dtype: str, names: dict[str, Any]) -> dict[str, Any]:
    """Return the names of the text, executed: the problem's formula, the noise and the kernel."""
    capacity = CAPACITIES[dtype]
    words = {"ZERO": 0, "TWO": 2, "FOUR": 4, "SIXTEEN": 16}
    words |= {"TERMS": recipe.terms, "ARGUMENTS": len(recipe.rows), "CAPACITY": capacity}
    names |= {name: np.uint32(value) for name, value in words.items()}
    names |= {"np": np, "fma": fma, "Word": np.uint32, "ROW": np.uint64(capacity + 64)}
    names |= {"Long": np.uint64, "ROUNDS": ROUNDS, "W0": W0, "W1": W1, "LOWER": LOWER}
    names["Scalar"] = getattr(np, dtype)
    terms = "\n".join(TERM.format(m=m, n=m + 1) for m in range(recipe.terms))
    exec("\n".join(formula(recipe)) + BODY.format(terms=terms), names)
    return names


def _signature(recipe: Recipe, dtype: str) -> Any:
    kinds: Any = types
    scalar = getattr(kinds, dtype)
    array, word = kinds.Array(scalar, 1, "C"), kinds.uint32
    constants = kinds.UniTuple(scalar, max(1, len(recipe.scalars)))
    return kinds.void(array, array, constants, array, *(word,) * 5, scalar)
