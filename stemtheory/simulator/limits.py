"""What a run is refused for before anything runs, and from where on it counts as diverged.

Refused are years of work, more memory than there is, and numbers that the dtype cannot hold.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stemtheory.runtime import REPLICATE_BLOCK, UsageError, machine_bytes

if TYPE_CHECKING:
    from stemtheory.simulator.run import Run

MOST_WORK = 10**16  # worker-coordinate-steps T R K dim: more than a year at 4 ns each
DIVERGED = 1e100  # of ||grad f(xbar_t)||^2: beyond it the squares in its standard error overflow
# Bytes of a worker's coordinate as float64: state, minibatches and temporaries of the first
# replicate, and of each other one that is advanced beside it. Measured at K = 2e6 with the
# algorithm that takes the fewest; STEM takes 1.8 times as many with arrays, 1.3 compiled.
STATE_BYTES = {"array": (270, 8), "fused": (100, 6)}
LARGE_BYTES = 10**9  # from here on a run says first what it will hold
REPLICATE_BYTES = 64  # what is measured of a replicate: four numbers, and the copy that joins them
RECORD_BYTES = 32  # a recorded time of a replicate: series and running, and the copies of both


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


def predicted_bytes(run: Run, engine: str, recorded: int) -> int:
    """Return what a run holds in memory at least, in bytes; STEM up to twice as much."""
    first, other = STATE_BYTES[engine]
    beside = min(run.replicates, REPLICATE_BLOCK) - 1
    size = run.problem.K * run.problem.dim * (first + beside * other)
    measured = run.replicates * (REPLICATE_BYTES + recorded * RECORD_BYTES)
    return size * np.dtype(run.numerics.dtype).itemsize // 8 + measured


def refuse_the_huge(run: Run, engine: str, recorded: int = 1) -> None:
    """Refuse a run whose numbers do not fit into the memory of this machine.

    ``recorded`` is at how many iterations something is kept.

    Raises
    ------
    UsageError
        With the bytes that it would take.
    """
    needed, there = predicted_bytes(run, engine, recorded), machine_bytes()
    if needed > there:
        raise UsageError(
            f"the run would hold {needed:.2e} bytes (K = {run.problem.K}, dim = {run.problem.dim},"
            f" {run.replicates} replicates, {recorded} recorded iterations), but this machine has"
            f" {there:.2e}: lower one of them."
        )


def large(run: Run, recorded: int) -> str | None:
    """Return a sentence on what a run will hold, None where that is little, or more than can be."""
    held = predicted_bytes(run, "fused", recorded)  # the lighter engine: it is at least so much
    there = machine_bytes()
    if not LARGE_BYTES <= held <= there:
        return None
    return (
        f"the run holds at least {held:.1e} bytes, of {there:.1e} that this machine has"
        f" (K = {run.problem.K}, dim = {run.problem.dim}, {run.replicates} replicates, {recorded}"
        " recorded iterations)."
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
