"""Runs that share one kernel: the engine for all of them is chosen by their total work.

A kernel is compiled once, and then runs any sizes, dials and seeds. Whether that pays is therefore
asked of everything that will run on it together: a sweep, a figure. The answer is a function of the
runs alone, never of what lies in a cache or of a clock, for the numbers depend on the engine.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache

import numpy as np

from stemtheory.oracles import Separable
from stemtheory.runtime import resolve
from stemtheory.simulator.choices import ProblemChoice
from stemtheory.simulator.fused import say_missing, say_slower, unsuited
from stemtheory.simulator.fused.recipe import KernelPart, Recipe, make_recipe
from stemtheory.simulator.fused.systems import system_of
from stemtheory.simulator.plan import Plan
from stemtheory.simulator.run import Run

STEP_ELEMENTS = 1800
"""A step of the array engine takes as long as so many coordinates more: what its calls take."""
SHARED_WORK = 10**8
"""Runs that share a kernel are compiled if their ``work``, all of it together, is this much.

Measured on quick sweeps, in CPU seconds on an AMD EPYC: the array engine takes 2.5 to 4 for this,
the fused engine 0.5 to 1, and compiling a kernel 2 to 3, once: the first sweep loses little or
nothing. Below, a sweep of few small cells would not win back the start of a compiler.
"""


def work(run: Run) -> int:
    """Return what a run costs the array engine, in worker-coordinate-steps: T (R K dim + a step).

    Most cells of a sweep are so small that a step's calls are what they cost.
    """
    size = run.replicates * run.problem.K * run.problem.dim
    return run.sizes.T * (size + STEP_ELEMENTS)


def kernel_of(run: Run) -> str | None:
    """Return the name of the kernel that may take a run of engine ``auto``, or None without one.

    Runs have one name if their kernel is one module (``source.load_kernel``). It tells which
    functions these are, not what they compute now, so that it is the same with every Python.
    """
    n = run.numerics
    backend = resolve("auto").name if n.backend == "auto" else n.backend
    if (n.engine, backend) != ("auto", "numpy") or n.noise_source == "host":
        return None
    T, I = run.sizes.T, run.sizes.I
    if unsuited(run.problem.load(), run.method, T, I, per_sample=n.per_sample):
        return None
    return f"{_functions(run.problem)} {system_of(run.method).name} {n.dtype}"


@lru_cache(maxsize=1024)
def _functions(problem: ProblemChoice) -> str:
    """Return a problem's functions, each with the kinds of its arguments: numbers or rows."""
    recipe = _recipe(problem)
    kinds = ("".join(kind for kind, _ in part.where) for part in recipe.parts)
    named = (f"{_name(part)}({k})" for part, k in zip(recipe.parts, kinds, strict=True))
    return " ".join([recipe.problem, *named])


def _recipe(problem: ProblemChoice) -> Recipe:
    made = problem.load()
    assert isinstance(made, Separable)
    return make_recipe(made)


def _name(part: KernelPart) -> str:
    function = part.function
    return f"{_module(part)}.{getattr(function, '__qualname__', type(function).__qualname__)}"


def _module(part: KernelPart) -> str:
    return str(getattr(part.function, "__module__", None) or "")


def engines(shared: Iterable[tuple[str, Run]]) -> dict[str, str]:
    """Return ``fused`` or ``array`` for every kernel, given each run that it may take, once.

    Where nothing can be compiled, or a user's functions cannot, it is ``array``, and is said.
    """
    total: Counter[str] = Counter()
    first: dict[str, Run] = {}
    for kernel, run in shared:
        total[kernel] += work(run)
        first.setdefault(kernel, run)
    return {kernel: _engine(first[kernel], total[kernel]) for kernel in first}


def _engine(run: Run, total: int) -> str:
    pays = total >= SHARED_WORK and not say_missing() and _compiles(run)
    return "fused" if pays else "array"


def _compiles(run: Run) -> bool:
    """Return whether a kernel compiles; a user's own functions are tried, and kept compiled."""
    if all(_module(part).startswith("stemtheory.") for part in _recipe(run.problem).parts):
        return True
    from stemtheory.simulator.fused.engine import NotCompiledError, Runner

    try:
        Runner(Plan.of(run, resolve("numpy"), np.array([run.sizes.T])))
    except NotCompiledError as error:
        say_slower(error)
        return False
    return True


def together(runs: Iterable[Run]) -> list[Run]:
    """Return runs that belong together, each on the engine that their kernel's total work asks for.

    Runs whose engine was named keep it.
    """
    given = list(runs)
    kernels = [kernel_of(run) for run in given]
    found = engines((k, run) for k, run in zip(kernels, given, strict=True) if k)
    return [run if k is None else _on(run, found[k]) for k, run in zip(kernels, given, strict=True)]


def _on(run: Run, engine: str) -> Run:
    return replace(run, numerics=replace(run.numerics, engine=engine))
