"""The fused engine: the array engine's recursion as one compiled kernel, noise included.

For separable problems and the algorithms of ``systems``, STEM under every reading, where every
worker takes part and every round communicates; on a processor, or, where it is asked for, STEM,
FedAvg and SCAFFOLD on a CUDA device.
This module decides whether the engine can be used and on what it runs, and imports no compiler
until it does. It alone knows both sides, ``engine`` on a processor and ``cuda`` on a device: these
rest on the modules beside it, and not on each other.
"""

from __future__ import annotations

import functools
import importlib
import sys
from pathlib import Path

import numpy as np

from stemtheory.algorithms import Algorithm, FedAvg, Scaffold, Stem
from stemtheory.oracles import Problem, Separable
from stemtheory.runtime import MOST_ITERATIONS, UsageError, whole
from stemtheory.simulator.array_engine import Plan, Rows
from stemtheory.simulator.fused.systems import unsuited_system

AUTO_WORK = 2 * 10**8
"""``auto`` takes the fused engine for a run from this many worker-coordinate-steps (T R K dim) on.

Measured at that size and the default shape (K dim = 32, 32 replicates), in CPU seconds on a busy
AMD EPYC: the array engine 23 to 25, the fused engine 2.2, and its kernel 2 to 3 to compile, once.
``sharing`` chooses where several runs share a kernel.
"""


def choose(engine: str, plan: Plan, replicates: int, noise_source: str = "device") -> str:
    """Return ``array`` or ``fused`` for a run; ``auto`` depends on the run's size and on numba.

    On a device ``auto`` is the array engine: the compiled kernels were never seen on one.

    Raises
    ------
    UsageError
        If ``fused`` was asked for and cannot run this.
    """
    on_host = plan.backend.on_host
    if engine == "array" or (engine == "auto" and not on_host):
        return "array"
    reason = obstacle(plan, noise_source)
    if engine == "fused":
        reason = reason or (missing() if on_host else missing_for_device())
        if reason:
            raise UsageError(f"engine fused cannot be used, because {reason}: use engine array.")
        return engine
    work = plan.sizes.T * replicates * plan.problem.K * plan.problem.dim
    if reason or work < AUTO_WORK:
        return "array"
    return "array" if say_missing() else "fused"


def obstacle(plan: Plan, noise_source: str = "device") -> str | None:
    """Return why the fused engine cannot run a plan, whatever is installed, or None if it can."""
    if noise_source == "host":
        return "its noise is drawn inside the kernel, not on the host"
    T, I = plan.sizes.T, plan.sizes.I
    reason = unsuited(plan.problem, plan.algorithm, T, I, per_sample=plan.per_sample)
    if reason or plan.backend.on_host:
        return reason
    if type(plan.algorithm) not in (Stem, FedAvg, Scaffold):
        return f"on a device it has STEM, FedAvg and SCAFFOLD, not {type(plan.algorithm).__name__}"
    from stemtheory.simulator.fused.cuda.engine import layout_of

    if layout_of(plan) is None:
        return f"no block of a device's threads holds K = {plan.problem.K} workers"
    return None


def run_fused(
    plan: Plan,
    replicates: int,
    threads: int | None = None,
    checkpoint: str | Path | None = None,
    save_every: float = 30.0,
) -> Rows:
    """Return the rows of all replicates; with ``checkpoint``, saved on the way and resumed from.

    The file is rewritten after ``save_every`` seconds and removed when the run is complete.

    Raises
    ------
    UsageError
        If the problem does not compile, the file is of another run or cannot be written, or a
        device has too little memory.
    """
    if plan.backend.on_host:
        from stemtheory.simulator.fused.engine import run_on_processor

        return run_on_processor(plan, replicates, threads, checkpoint, save_every)
    from stemtheory.simulator.fused.cuda.engine import run_on_device

    return run_on_device(plan, replicates, checkpoint, save_every)


def unsuited(
    problem: Problem, algorithm: Algorithm, T: int, I: int, *, per_sample: bool
) -> str | None:
    """Return why the fused engine cannot run T steps of an algorithm, I a round; None if it can."""
    if per_sample:
        return "it draws the mean of a minibatch at once, not sample by sample"
    if not isinstance(problem, Separable) or not problem.separable:
        return f"{problem.name} is not separable here"
    if (own := problem.overridden) is not None:
        who = type(problem).__name__
        return f"it compiles the formulas of a problem's family, but {who} has its own {own}"
    reason = unsuited_system(algorithm, I)
    if reason is not None:
        return reason
    if T > MOST_ITERATIONS:
        return f"its noise is numbered up to T = {MOST_ITERATIONS}"
    return None


def compiles(problem: Problem, algorithm: Algorithm, T: int, I: int) -> bool:
    """Return whether the fused engine can run T steps, I a round, of an algorithm here."""
    return not (unsuited(problem, algorithm, T, I, per_sample=False) or missing())


@functools.cache
def missing() -> str | None:
    """Return why nothing can be compiled here, or None."""
    try:
        numba = importlib.import_module("numba")
    except ImportError as error:
        if isinstance(error, ModuleNotFoundError) and error.name == "numba":
            return "numba is not installed (pip install 'stemtheory[fast]')"
        return f"numba cannot be imported ({error})"
    if numba.config.DISABLE_JIT:
        return "NUMBA_DISABLE_JIT is set, with which numba compiles nothing"
    return None


@functools.cache
def missing_for_device() -> str | None:
    """Return why nothing can be compiled for a CUDA device here, or None."""
    try:
        importlib.import_module("numba_cuda")
        cuda = importlib.import_module("numba.cuda")
    except ImportError as error:
        if isinstance(error, ModuleNotFoundError) and error.name in ("numba", "numba_cuda"):
            name = str(error.name).replace("_", "-")
            return f"{name} is not installed (pip install 'stemtheory[cuda13]', or cuda12)"
        return f"numba-cuda cannot be imported ({error})"
    if not cuda.is_available():
        return f"numba-cuda finds no CUDA device ({cuda.cuda_error() or 'no driver'})"
    return None


@functools.cache
def say_missing() -> bool:
    """Return whether numba is missing, and say so on stderr: once, thanks to the cache."""
    reason = missing()
    if reason:
        say_slower(reason)
    return reason is not None


def say_slower(reason: object) -> None:
    """Say on stderr why a run that ``auto`` would give to the fused engine does not go there."""
    sys.stderr.write(f"stemtheory: a large run or sweep takes the slower array engine: {reason}\n")


def log_grid(T: int, per_decade: int = 10) -> list[int]:
    """Return whole times from 1 to T, evenly spaced in their logarithm, T included."""
    T, per_decade = whole("T", T), whole("per_decade", per_decade)
    grid = 10.0 ** (np.arange(int(np.log10(T) * per_decade) + 1) / per_decade)
    return sorted({*(int(t) for t in np.rint(grid) if t <= T), T})
