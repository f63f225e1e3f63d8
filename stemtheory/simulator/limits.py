"""What a run is refused for before anything runs, and from where on it counts as diverged.

Refused are years of work, and numbers that the dtype cannot hold.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stemtheory.runtime import UsageError

if TYPE_CHECKING:
    from stemtheory.simulator.run import Run

MOST_WORK = 10**16  # worker-coordinate-steps T R K dim: more than a year at 4 ns each
DIVERGED = 1e100  # of ||grad f(xbar_t)||^2: beyond it the squares in its standard error overflow
MOST_STEPS = 2**16  # of a segment of compiled steps
SPAN_ELEMENTS = 8192  # of the sums over workers that a stretch of them collects
ARRAY_BYTES = 128 * 1024  # an array this size stays in the second-level cache with its fellows


def stretch(I: int, dim: int) -> int:
    """Return how many steps, at most, a compiled run collects the sums over workers of."""
    return min(I, MOST_STEPS, max(8, SPAN_ELEMENTS // dim))


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
