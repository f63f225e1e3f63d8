"""The module of a kernel: written, kept in the user's cache folder, imported, compiled once.

numba keeps compiled code beside the file a function stands in, and looks at that file alone to
see whether it is out of date. Each kernel therefore gets a file of its own whose name is a hash of
everything it is made of: the code of the problem's functions and of this package, and the versions
of the compiler. A changed formula is another file; a stale one is never loaded.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import platform
import re
import sys
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from stemtheory.runtime import MULTIPLIERS, WEYL, UsageError, cache_folder, write_whole
from stemtheory.simulator.fused.fingerprint import text_print
from stemtheory.simulator.fused.recipe import KernelPart, Recipe
from stemtheory.simulator.fused.systems import rows_of, texts_of
from stemtheory.simulator.limits import DIVERGED

CUT = "# ---- everything below this line is copied\n"
TEXTS = ("names", "drawing", "kernel", "sums", "moves")
CAPACITIES = {"float32": 1024, "float64": 512}  # elements of a chunk: its rows fit the cache
HEADER = '''"""The fused kernel of {problem}, {dtype}, {algorithm}: written by stemtheory."""
from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from stemtheory.simulator.fused.elementary import compiled, fma, found
from stemtheory.simulator.fused.normals import BOX_MULLER, philox
from stemtheory.simulator.fused.parts import KERNEL, OPTIONS, PART
from stemtheory.simulator.limits import DIVERGED

SYSTEM, HEIGHT = "{algorithm}", {height}
Scalar, TERMS, ARGUMENTS, CAPACITY = np.{dtype}, {terms}, {arguments}, {capacity}
ROW = np.uint64(CAPACITY + 64)
FIELD = np.uint64(3) * ROW
box_muller = BOX_MULLER["{dtype}"]
compile_part = njit(inline="always", **OPTIONS)
# Nothing is allocated, so that no array need be counted in and out of every call
compile_hot = njit(forceinline=True, _nrt=False, **PART)
compile_once = njit(forceinline=False, _nrt=False, **PART)
compile_kernel = njit(cache={cache}, _nrt=False, **KERNEL)
'''
_lock = threading.Lock()
_known: dict[Any, ModuleType] = {}  # by what was asked for
_loaded: dict[str, ModuleType] = {}  # by content


@dataclass(frozen=True)
class Kernel:
    """A kernel's module, and whether its machine code is on disk already."""

    module: ModuleType
    ready: bool


def load_kernel(recipe: Recipe, algorithm: str, dtype: str) -> Kernel:
    """Return the compiled (or compilable) kernel of a recipe; one per process and content.

    Functions that are not found under a name of their own, such as a lambda, are compiled anew in
    every process; so is everything where no cache folder can be written.
    """
    key = (
        cache_folder(), recipe.problem, recipe.parts, recipe.prints, recipe.terms,
        len(recipe.rows), algorithm, dtype,
    )  # fmt: skip
    with _lock:
        if key in _known:
            return Kernel(_known[key], True)
        module = _known[key] = _load(recipe, algorithm, dtype)
    return Kernel(module, bool(_kept(module, "advance-*.nbi")))


def load_anew(recipe: Recipe, algorithm: str, dtype: str, damaged: ModuleType) -> ModuleType:
    """Return a kernel in the place of one whose machine code on disk cannot be read: it goes."""
    with _lock:
        for known in (_known, _loaded):
            for key in [key for key, module in known.items() if module is damaged]:
                del known[key]
        try:
            for file in _kept(damaged, "*"):
                file.unlink()
        except OSError:
            return _execute(kernel_text(recipe, algorithm, dtype, cache=False), recipe)
    return load_kernel(recipe, algorithm, dtype).module


def _load(recipe: Recipe, algorithm: str, dtype: str) -> ModuleType:
    addressed = all(part.address for part in recipe.parts)
    text = kernel_text(recipe, algorithm, dtype, cache=addressed)
    digest = _digest(text, recipe)
    if addressed and digest in _loaded:
        return _loaded[digest]
    name = f"kernel_{_plain(recipe.problem)}_{algorithm}_{dtype}_{digest}.py"
    path = _write(text, name) if addressed else None
    if path is not None:
        try:
            _loaded[digest] = _import(path)
            return _loaded[digest]
        except RuntimeError:  # numba finds no folder to write to
            pass
    return _execute(kernel_text(recipe, algorithm, dtype, cache=False), recipe)


def kernel_text(recipe: Recipe, algorithm: str, dtype: str, cache: bool) -> str:
    """Return the module's text: a header, the problem's formula, and the copied kernel."""
    header = HEADER.format(
        problem=_plain(recipe.problem),
        dtype=dtype,
        algorithm=algorithm,
        height=rows_of(algorithm, recipe.terms),
        terms=recipe.terms,
        arguments=len(recipe.rows),
        capacity=CAPACITIES[dtype],
        cache=cache,
    )
    parts = "\n".join(_fetch(part, dtype) for part in recipe.parts)
    names = (*TEXTS, *(f"systems/{name}" for name in texts_of(algorithm)))
    texts = (
        Path(__file__).parent.joinpath(f"{name}.py").read_text(encoding="utf-8") for name in names
    )
    return "\n".join(
        [header + parts, *formula(recipe), *(text.partition(CUT)[2] for text in texts)]
    )


def _plain(name: str) -> str:
    """Return a name that can stand in a file's name and in its text."""
    return re.sub(r"\W+", "_", name)


def formula(recipe: Recipe) -> Iterable[str]:
    """Return the few functions that put the problem's own together, as text."""
    fields = range(recipe.terms)
    yield from _function("evaluate(x, P, W, w)", _evaluation(recipe))
    yield from _function(
        "slope_at(x, P, V, j, dim)", [f"return Scalar({_call(recipe.slope, 'V')})"]
    )
    new, old = "here[0]", "S[e + np.uint64(2) * ROW]"
    for m in fields:
        z = f"Z[z + np.uint64({m}) * ROW]"
        new = f"fma({z}, here[{m + 1}], {new})"
        old = f"fma({z}, S[e + FIELD + np.uint64({m}) * ROW], {old})"
    yield from _function("combine(here, Z, z)", [f"return {new}"])
    yield from _function("before(S, e, Z, z)", [f"return {old}"])
    yield from _function(
        "remember(S, e, here)",
        ["S[e + np.uint64(2) * ROW] = here[0]"]
        + [f"S[e + FIELD + np.uint64({m}) * ROW] = here[{m + 1}]" for m in fields],
    )


def _evaluation(recipe: Recipe) -> list[str]:
    lines = [f"force = Scalar({_call(recipe.slope, 'W')})"]
    if recipe.push is not None:
        lines.append(f"force = force + Scalar({_call(recipe.push, 'W')})")
    if recipe.fields is None:
        return [*lines, "return (force,)"]
    given = ", ".join(f"Scalar(n[{m}])" for m in range(recipe.terms))
    return [*lines, f"n = {_call(recipe.fields, 'W')}", f"return force, {given}"]


def _call(part: KernelPart, rows: str) -> str:
    """Return the call of a part at x; rows are W, per element, or V, per coordinate."""
    step = "w + np.uint64({}) * ROW" if rows == "W" else "j + np.uint64({}) * dim"
    given = [f"P[{i}]" if kind == "P" else f"{rows}[{step.format(i)}]" for kind, i in part.where]
    return f"{part.name}({', '.join(['x', *given])})"


def _function(head: str, lines: list[str]) -> Iterable[str]:
    yield "\n@compile_part"
    yield f"def {head}:"
    yield from (f"    {line}" for line in lines)


def _fetch(part: KernelPart, dtype: str) -> str:
    if part.address is None:
        return f'{part.name} = compiled(given["{part.name}"], "{dtype}")'
    module, name = part.address
    return f'{part.name} = found("{module}", "{name}", "{dtype}")'


def _digest(text: str, recipe: Recipe) -> str:
    """Return a hash of the code of the text, of all that it rests on, and of what compiles it.

    Neither paths nor comments are a part of it, so that two environments share a kernel, and so
    do two versions of this package with the same formulas.
    """
    content = (text_print(text), recipe.prints, *_foundations())
    return hashlib.blake2b(repr(content).encode(), digest_size=8).hexdigest()


@functools.cache
def _foundations() -> tuple[Any, ...]:
    """Return what all kernels rest on: versions, constants, and the code of what they import."""
    import llvmlite
    import numba

    short = (*platform.python_version_tuple()[:2], *np.__version__.split(".")[:2])
    constants = (MULTIPLIERS, WEYL, DIVERGED)
    names = ("elementary.py", "normals.py", "parts.py")
    texts = (Path(__file__).with_name(name).read_text(encoding="utf-8") for name in names)
    return short, numba.__version__, llvmlite.__version__, constants, *map(text_print, texts)


def _write(text: str, name: str) -> Path | None:
    """Write the module once, whole or not at all; None where the folder cannot be written.

    What is there already stays, if it is the same but for comments: numba would compile a file
    that was touched anew.
    """
    path = cache_folder() / name
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not path.is_file() or not _same_code(path.read_bytes(), text):
            write_whole(path, text)
    except (OSError, UsageError):
        return None
    return path


def _same_code(kept: bytes, text: str) -> bool:
    if kept == text.encode():
        return True
    try:
        return text_print(kept.decode()) == text_print(text)
    except (SyntaxError, ValueError):  # it was damaged
        return False


def _import(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"stemtheory_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # numba looks a cached function's module up by its name
    spec.loader.exec_module(module)
    return module


def _execute(text: str, recipe: Recipe) -> ModuleType:
    module = ModuleType(f"stemtheory_kernel_{recipe.problem}")
    module.__dict__["given"] = {part.name: part.function for part in recipe.parts}
    exec(compile(text, "<fused kernel>", "exec"), module.__dict__)
    return module


def _kept(module: Any, names: str) -> list[Path]:
    """Return the files that numba keeps beside a kernel, none where it keeps nothing."""
    folder = module.advance.stats.cache_path
    stem = module.__name__.removeprefix("stemtheory_")
    return [] if folder is None else list(Path(folder).glob(f"{stem}.{names}"))
