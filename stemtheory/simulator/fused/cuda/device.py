"""The compiler for a CUDA device: what Python and NumPy stand for there, PTX, and launches.

On CUDA the ufuncs of NumPy do not compile, and a simulator, which runs Python, does not notice:
``np`` stands for another module in a copy of the same code object, with the polynomials of
``elementary`` for sin, cos and exp (the library's float32 sine reduces large arguments in float64)
and ``math`` for the rest. Every function that is called is put in place of its calls.

Without a device everything but a launch can be done: PTX is compiled for the oldest kind of device
that is supported.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import math
import types as python_types
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numba import types

from stemtheory.oracles import sines
from stemtheory.runtime import UsageError
from stemtheory.simulator.fused.cuda.build import TargetMachine, Variant, assemble
from stemtheory.simulator.fused.cuda.layout import ThreadLayout
from stemtheory.simulator.fused.elementary import OURS, OWN, fma
from stemtheory.simulator.fused.normals import BOX_MULLER
from stemtheory.simulator.fused.recipe import Recipe

CAPABILITY = (8, 0)  # the oldest device that the code is compiled for
BOOK_THREADS = 64
COUNTERPARTS = ("expm1", "fabs", "isfinite", "log", "log1p", "tanh")  # found in math
TYPES = ("float32", "float64", "int32", "int64", "uint32", "uint64")


class Kernels(Protocol):
    """What a device offers a run: its two kernels, called with the arrays of its backend."""

    def advance(self, blocks: int, *arguments: Any) -> None:
        """Launch the kernel of so many blocks."""

    def keep_book(self, replicates: int, *arguments: Any) -> None:
        """Launch the kernel that books the norms of so many replicates."""


@dataclass(frozen=True)
class CudaKernels:
    """The two kernels on the current CUDA device, on the current stream of CuPy.

    They are compiled for the device that they are first launched on, and serve no other.
    """

    layout: ThreadLayout
    cupy: Any
    advancing: Any
    booking: Any

    def advance(self, blocks: int, *arguments: Any) -> None:
        """Launch the kernel of so many blocks."""
        self._launch(self.advancing, blocks, (self.layout.J, self.layout.L), arguments)

    def keep_book(self, replicates: int, *arguments: Any) -> None:
        """Launch the kernel that books the norms of so many replicates."""
        blocks = -(-replicates // BOOK_THREADS)
        self._launch(self.booking, blocks, BOOK_THREADS, arguments)

    def _launch(self, kernel: Any, blocks: int, threads: Any, arguments: tuple[Any, ...]) -> None:
        """Launch on CuPy's device and stream: what came before, and what comes next, wait."""
        cuda, current = _cuda(), self.cupy.cuda
        with cuda.gpus[int(current.Device().id)], warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a small run does not fill a device, as its user knows
            given = [
                cuda.as_cuda_array(x, sync=False) if hasattr(x, "__cuda_array_interface__") else x
                for x in arguments
            ]
            pointer = current.get_current_stream().ptr
            stream = cuda.external_stream(pointer) if pointer else 0
            kernel[blocks, threads, stream](*given)


def load_kernels(recipe: Recipe, variant: Variant, layout: ThreadLayout, cupy: Any) -> CudaKernels:
    """Return the kernels, which are compiled when they are first launched, for CuPy's device then.

    Raises
    ------
    UsageError
        If a function uses what NumPy has and a device has not.
    """
    names = assemble(recipe, variant, layout, machine(variant.dtype))
    # like ``ptx``, which compiles for CAPABILITY where a launch does for the device's own
    compile_kernel = functools.partial(_cuda().jit, lto=False)
    advancing = compile_kernel(names["advance"], launch_bounds=layout.threads)
    booking = compile_kernel(names["keep_book"], launch_bounds=BOOK_THREADS)
    return CudaKernels(layout, cupy, advancing, booking)


def machine(dtype: str) -> TargetMachine:
    """Return what the kernel's names mean on a CUDA device."""
    box_muller = _copied(BOX_MULLER[dtype], dtype)
    names = {"cuda": _cuda(), "fma": fma, "box_muller": box_muller}
    return TargetMachine(names, inlined, functools.cache(lambda f: device_function(f, dtype)))


def ptx(recipe: Recipe, variant: Variant, layout: ThreadLayout, kernel: str = "advance") -> str:
    """Return the PTX of one of the kernels.

    Raises
    ------
    UsageError
        If a function uses what NumPy has and a device has not.
    numba.core.errors.NumbaError
        If it does not compile for another reason.
    """
    signature = signatures(recipe, variant)[kernel]
    bounds = layout.threads if kernel == "advance" else BOOK_THREADS
    with _no_device():
        function = assemble(recipe, variant, layout, _machine_without_device(variant.dtype))[kernel]
        text = _cuda().compile(
            function, signature, device=False, abi="numba", cc=CAPABILITY, output="ptx",
            launch_bounds=bounds,
        )[0]  # fmt: skip
    return str(text)


def signatures(recipe: Recipe, variant: Variant) -> dict[str, Any]:
    """Return the types of the kernels' arguments."""
    kinds: Any = types
    scalar, double, word, long = (
        getattr(kinds, name) for name in (variant.dtype, "float64", "uint32", "uint64")
    )
    array, words = kinds.Array(scalar, 1, "C"), kinds.Array(word, 1, "C")
    table, times = kinds.Array(double, 2, "C"), kinds.Array(long, 1, "C")
    several = kinds.UniTuple
    constants = several(scalar, max(1, len(recipe.scalars)))
    return {
        "advance": kinds.void(
            array, array, constants, array, array, array, words, array, array,
            several(word, 2), several(long, 6), scalar,
        ),
        "keep_book": kinds.void(array, several(long, 4), table, times, table, table),
    }  # fmt: skip


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
    return _cuda().jit(device=True, forceinline=True)(function)


def _cuda() -> Any:
    """Return the compiler for devices, loaded where it is used."""
    return importlib.import_module("numba.cuda")


@functools.cache
def _machine_without_device(dtype: str) -> TargetMachine:
    """Return a machine of its own for PTX: what it has compiled once serves all problems."""
    return machine(dtype)


@contextlib.contextmanager
def _no_device() -> Iterator[None]:
    """Compile for CAPABILITY, where functions that are called would ask a device for its own."""
    module = importlib.import_module("numba.cuda.dispatcher")
    asked = module.get_current_device
    answer = python_types.SimpleNamespace(compute_capability=CAPABILITY)
    module.__dict__["get_current_device"] = lambda: answer
    try:
        yield
    finally:
        module.__dict__["get_current_device"] = asked


def _counterpart(value: Any, user: Callable[..., Any], dtype: str) -> Any:
    """Return what a name of a function's module stands for on a device."""
    if value is np or value is sines:
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
        if name in OURS[dtype]:
            module.__dict__[name] = _copied(OURS[dtype][name], dtype)
        elif name in COUNTERPARTS or name in TYPES:
            module.__dict__[name] = getattr(math if name in COUNTERPARTS else np, name)
    return module
