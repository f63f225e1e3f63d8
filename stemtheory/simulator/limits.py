"""What a run is refused for before anything runs, and from where on it counts as diverged.

Refused are years of work, more memory than there is, and numbers that the dtype cannot hold.
"""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING

import numpy as np

from stemtheory.runtime import UsageError, machine_bytes

if TYPE_CHECKING:
    from stemtheory.simulator.run import Run

MOST_WORK = 10**16  # worker-coordinate-steps T R K dim: more than a year at 4 ns each
DIVERGED = 1e100  # of ||grad f(xbar_t)||^2: beyond it the squares in its standard error overflow
ARRAY_BYTES = 128 * 1024  # an array this size stays in the second-level cache with its fellows
# Numbers that a run holds at its peak for a coordinate of a worker, beside those of the states:
# with arrays the noise of a step, and compiled the arguments. A state holds one for each vector
# sent and gradient of a sample. With arrays fitted to the peaks of FedAvg, SCAFFOLD, SlowMo,
# FedGLOMO and STEM at 1e5 numbers a replicate: within a factor of 1.8 of all of them, where the
# noise is additive above it and else at it.
BESIDE = {"array": 8, "fused": 5}
MOVES = 2.5  # states at a time while a replicate is advanced with arrays: old, new and between
LARGE_BYTES = 10**9  # from here on a run says first what it will hold
REPLICATE_BYTES = 64  # what is measured of a replicate: four numbers, and the copy that joins them
RECORD_BYTES = 32  # a recorded time of a replicate: series and running, and the copies of both
LARGE_RECORD = 5 * 10**8  # bytes from which on a run says first what its record takes


def refuse_the_endless(run: Run) -> None:
    """Refuse a run that would take years, before memory runs out over it.

    Raises
    ------
    UsageError
        With what it would take.
    """
    T, K, dim = run.sizes.T, run.problem.K, run.problem.dim
    work = T * run.replicates * K * dim  # of whole numbers, which have no end
    if work > MOST_WORK:
        raise UsageError(
            f"T = {_short(T)} with {_short(run.replicates)} replicates, K = {_short(K)} and dim ="
            f" {_short(dim)} is {_short(work)} worker-coordinate-steps, but more than"
            f" {MOST_WORK:.0e} would take years: lower one of them."
        )


def predicted_bytes(run: Run, engine: str, recorded: int, threads: int | None = None) -> int:
    """Return what a run holds in memory at its peak, in bytes, within a factor of two.

    ``threads`` share the replicates: one per core unless given.
    """
    at_once, K, dim = threads or os.cpu_count() or 1, run.problem.K, run.problem.dim
    itemsize = np.dtype(run.numerics.dtype).itemsize
    costs = run.method.costs
    state = max(1, costs.gradients * costs.vectors_up)
    if engine == "fused":
        numbers: float = (BESIDE[engine] + min(run.replicates, at_once) * state) * dim
    else:
        drawn, gathered = _minibatch(run, costs.initial_batch)
        alone = BESIDE[engine] * drawn + MOVES * state * max(dim, drawn) + gathered
        together = max(1, min(run.replicates, ARRAY_BYTES // (K * dim * itemsize)))
        numbers = together * alone * min(at_once, math.ceil(run.replicates / together))
    measured = run.replicates * (REPLICATE_BYTES + recorded * RECORD_BYTES)
    return math.ceil(K * numbers) * itemsize + measured


def _minibatch(run: Run, initial_batch: bool) -> tuple[int, float]:
    """Return how many numbers a worker draws for a minibatch, and gathers where it lists rows.

    Drawn are as many as x has, or one for each point of a finite sum.
    """
    problem, dim = run.problem.load(), run.problem.dim
    if not getattr(problem, "whole_batches", False):
        return int(getattr(problem, "size", dim)), 0.0
    longest = max(run.sizes.b, run.sizes.B if initial_batch else 0.0)
    rows = getattr(problem, "rows", None)
    return dim, 0.0 if rows is None else longest * rows.shape[-1]


def refuse_the_huge(run: Run, engine: str, recorded: int = 1, threads: int | None = None) -> None:
    """Refuse a run whose numbers do not fit into the memory of this machine.

    ``recorded`` is at how many iterations something is kept, ``threads`` how many share the run.

    Raises
    ------
    UsageError
        With the bytes that it would take.
    """
    needed, there = predicted_bytes(run, engine, recorded, threads), machine_bytes()
    if needed > there:
        raise UsageError(
            f"the run would hold about {needed:.1e} bytes (K = {run.problem.K}, dim ="
            f" {run.problem.dim}, {run.replicates} replicates, {recorded} recorded iterations), but"
            f" this machine has {there:.1e}: lower one of them."
        )


def large(run: Run, recorded: int) -> str | None:
    """Return a sentence on what a run will hold, None where that is little, or more than can be."""
    asked = run.numerics.engine
    engines = ("fused", "array") if asked == "auto" else (asked,)
    held, there = [predicted_bytes(run, engine, recorded) for engine in engines], machine_bytes()
    if max(held) < LARGE_BYTES or min(held) > there:
        return None
    told = f"{held[0]:.1e} bytes"
    if len(held) > 1 and held[1] > 1.1 * held[0]:
        told += f" where it is compiled, and {held[1]:.1e} with arrays"
    return (
        f"the run holds about {told}, of {there:.1e} that this machine has"
        f" (K = {run.problem.K}, dim = {run.problem.dim}, {run.replicates} replicates, {recorded}"
        " recorded iterations)."
    )


def large_record(run: Run, recorded: int) -> str | None:
    """Return a sentence on what recording so many iterations takes, None where that is little."""
    held = run.replicates * recorded * RECORD_BYTES
    if held < LARGE_RECORD:
        return None
    return (
        f"the record of {recorded} iterations of {run.replicates} replicates takes {held:.1e} bytes"
        f" of memory while it is made, and {held // 2:.1e} in the trace or a .npz of it: a larger"
        " record_every, or record_at, takes less."
    )


def refuse_what_dtype_lacks(run: Run) -> None:
    """Refuse dials and a start that are subnormal in the dtype of a run, or beyond its range.

    Raises
    ------
    UsageError
        With the first of them.
    """
    info = np.finfo(run.numerics.dtype)
    least, most = float(info.tiny), float(info.max)
    numbers: dict[str, object] = {"L": run.problem.L, **dict(run.problem.load().dials)}
    for name, value in (*numbers.items(), *(("x1", float(x)) for x in np.unique(run.start))):
        if isinstance(value, bool) or not isinstance(value, int | float):
            continue
        if value != 0 and not least <= abs(value) <= most:
            raise UsageError(
                f"{name} is {value:.6g}, but {info.dtype} holds numbers from {least:.2g} to"
                f" {most:.2g} (smaller ones are subnormal): change it, or use float64."
            )


def _short(number: int) -> str:
    """Return a whole number of any length, briefly."""
    return str(number) if number < 10**16 else f"about 1e{len(str(number)) - 1}"
