"""What a run holds in memory: predicted, said where it is much, refused where it does not fit."""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING

import numpy as np

from stemtheory.oracles import Separable
from stemtheory.runtime import UsageError, machine_bytes
from stemtheory.simulator.fused.systems import SYSTEMS, rows_of, system_of
from stemtheory.simulator.limits import ARRAY_BYTES, stretch

if TYPE_CHECKING:
    from stemtheory.simulator.run import Run

# Numbers that a run holds at its peak for a coordinate of a worker, beside those of the states:
# with arrays the noise of a step, and compiled the arguments. With arrays a state holds one for
# each vector sent and gradient of a sample, fitted to the peaks of FedAvg, SCAFFOLD, SlowMo,
# FedGLOMO and STEM at 1e5 numbers a replicate: within a factor of 1.8 of all of them, where the
# noise is additive above it and else at it. Compiled it holds the rows of its kernel,
# and, where workers are few, what is much is the sums over them.
BESIDE = {"array": 8, "fused": 5}
MOVES = 2.5  # states at a time while a replicate is advanced with arrays: old, new and between
LARGE_BYTES = 10**9  # from here on a run says first what it will hold
REPLICATE_BYTES = 64  # what is measured of a replicate: four numbers, and the copy that joins them
RECORD_BYTES = 32  # a recorded time of a replicate: series and running, and the copies of both
LARGE_RECORD = 5 * 10**8  # bytes from which on a run says first what its record takes


def predicted_bytes(run: Run, engine: str, recorded: int, threads: int | None = None) -> int:
    """Return what a run holds in memory at its peak, in bytes, within a factor of two.

    ``threads`` share the replicates: one per core unless given.
    """
    at_once, K, dim = threads or os.cpu_count() or 1, run.problem.K, run.problem.dim
    itemsize = np.dtype(run.numerics.dtype).itemsize
    costs = run.method.costs
    state = max(1, costs.gradients * costs.vectors_up)
    if engine == "fused":
        each = _rows(run, state) + _means(run) / K
        numbers: float = (BESIDE[engine] + min(run.replicates, at_once) * each) * dim
    else:
        drawn, gathered = _minibatch(run, costs.initial_batch)
        alone = BESIDE[engine] * drawn + MOVES * state * max(dim, drawn) + gathered
        together = max(1, min(run.replicates, ARRAY_BYTES // (K * dim * itemsize)))
        numbers = together * alone * min(at_once, math.ceil(run.replicates / together))
    measured = run.replicates * (REPLICATE_BYTES + recorded * RECORD_BYTES)
    return math.ceil(K * numbers) * itemsize + measured


def lighter(run: Run, recorded: int) -> str:
    """Return the engine that holds less: compiled, mostly, and arrays where workers are few."""
    return min(("fused", "array"), key=lambda engine: predicted_bytes(run, engine, recorded, 1))


def _rows(run: Run, otherwise: int) -> int:
    """Return how many rows the state of a run has in its kernel, if its algorithm has one."""
    problem = run.problem.load()
    if type(run.method) not in SYSTEMS:
        return otherwise
    terms = problem.noise.terms if isinstance(problem, Separable) and problem.noisy else 0
    return rows_of(system_of(run.method).name, terms)


def _means(run: Run) -> int:
    """Return how many vectors of length dim a kernel's thread has: sums over workers, two means."""
    return stretch(run.sizes.I, run.problem.dim) + 2


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
    if max(held) > 1.1 * min(held):
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
