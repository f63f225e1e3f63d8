"""A cell becomes numbers: one run, its outcome, and the reason where there are none."""

from __future__ import annotations

import io
import json
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from stemtheory._version import __version__
from stemtheory.experiment.design.cells import Cell, ladder
from stemtheory.experiment.execute.provenance import provenance
from stemtheory.runtime import (
    Floats,
    UsageError,
    is_out_of_memory,
    one_blas_thread,
    raised,
    read_npz,
    refuse_misfits,
    t_quantile,
    uncounted,
)
from stemtheory.simulator import Run, Trace, simulate

STATUSES = ("ok", "diverged", "failed")


def _none() -> Floats:
    return np.empty(0)


@dataclass(frozen=True)
class CellResult:
    """What a cell left behind.

    ``grad_sq``, ``last`` and ``best`` have one number per replicate (none if it failed);
    ``diverged_at`` is the iteration at which each one left the finite numbers, 0 if it did not.
    ``facts`` are the counts and constants of the run. ``trace`` holds ``times`` (n,) and
    ``running`` (n, R) as npz bytes where the cell records. ``reason`` says why it failed.
    """

    id: str
    status: str
    reason: str = ""
    grad_sq: Floats = field(default_factory=_none)
    last: Floats = field(default_factory=_none)
    best: Floats = field(default_factory=_none)
    diverged_at: Any = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    mean_grad_sq: float | None = None
    stderr: float | None = None
    mean_grad_sq_finite: float | None = None
    facts: dict[str, Any] = field(default_factory=dict)
    trace: bytes | None = None
    wall_seconds: float = 0.0
    cpu_seconds: float = 0.0
    provenance: str = "{}"

    @property
    def replicates(self) -> int:
        """How many replicates were run."""
        return len(self.grad_sq)


def run_cells(cells: Sequence[Cell], version: str = __version__) -> list[CellResult]:
    """Return the outcome of every cell, in order: what a worker is asked to do.

    ``version`` is that of the process that asks; a worker of another one computes nothing.
    """
    if version != __version__:
        reason = f"the worker has stemtheory {__version__}, the sweep {version}: use one version"
        return [failed(cell, reason) for cell in cells]
    return [run_cell(cell) for cell in cells]


def stale(run: Run) -> str | None:
    """Return why this process would compute another run than was asked for, or None.

    A worker that has been running for long may hold an older module of a user's, or older data.
    """
    parts = (run.problem, run.algorithm)
    changed = [p.name for p in parts if p.made_of and p.made_of != p.here().made_of]
    if not changed:
        return None
    return (
        f"the worker has another code or other data of {' and '.join(changed)} than the sweep:"
        " start the workers anew"
    )


def run_cell(cell: Cell, hurried: Callable[[], bool] = lambda: False) -> CellResult:
    """Return the outcome of one cell; whatever it raises makes it ``failed``.

    ``hurried`` says that it was a signal that raised, and not the cell.
    """
    wall, cpu = time.perf_counter(), time.thread_time()
    try:
        if (reason := stale(cell.run)) is not None:
            return failed(cell, reason)
        with one_blas_thread(), uncounted():
            found = _outcome(cell, _climb(cell))
        json.dumps(found.facts, allow_nan=False)  # what cannot be stored is no result
    except BaseException as error:  # such as SystemExit in a user's module
        if hurried():
            raise
        found = failed(cell, _reason(error))
    wall, cpu = time.perf_counter() - wall, time.thread_time() - cpu
    return replace(found, wall_seconds=wall, cpu_seconds=cpu)


def failed(cell: Cell, reason: str) -> CellResult:
    """Return the outcome of a cell without numbers."""
    run = cell.run.numerics
    return CellResult(
        id=cell.id,
        status="failed",
        reason=reason,
        provenance=provenance(engine=run.engine, backend=run.backend, device=None),
    )


def half_width_of_log(mean: float | None, stderr: float | None, replicates: int) -> float:
    """Return the half-width of the 95 % interval of log M (delta method); infinite without one."""
    if mean is None or stderr is None or not mean > 0:
        return math.inf
    return t_quantile(replicates - 1, 0.975) * stderr / mean


def load_trace(result: CellResult) -> tuple[Any, Floats]:
    """Return ``times`` (n,) and ``running`` (n, R) of the trace that a cell's outcome holds.

    Raises
    ------
    UsageError
        If it is no such record: a store may be anybody's.
    """
    name, todo = f"the record of cell {result.id}", "run the sweep again with another store"
    found = read_npz(name, todo, result.trace or b"")
    times = found.get("times", _none())
    points = times.shape[:1]
    like = {"times": np.empty(points, int), "running": np.empty((*points, *result.grad_sq.shape))}
    refuse_misfits(name, found, like, todo)
    if not len(times) or times[0] < 1 or np.any(np.diff(times) < 1):
        raise UsageError(f"{name} cannot be read (its times do not rise from 1 on): {todo}.")
    return times, found["running"]


def _climb(cell: Cell) -> Trace:
    """Run with more and more replicates until the interval is narrow enough.

    Replicates keep their noise when others are added, so the outcome depends on the cell alone. A
    run that diverged, or measured 0 in every replicate, gains nothing from more of them.
    """
    for replicates in ladder(cell.replicates, cell.precision):
        # Cells run side by side; inside one there is nothing to gain from threads.
        trace = simulate(
            replace(cell.run, replicates=replicates), record_at=cell.record_times(), threads=1
        )
        width = half_width_of_log(trace.mean_grad_sq, trace.stderr, replicates)
        if cell.precision is None or width <= cell.precision or not trace.mean_grad_sq:
            break
    return trace


def _outcome(cell: Cell, trace: Trace) -> CellResult:
    met = trace.circumstances
    mean, finite = _finite(trace.mean_grad_sq), _finite(trace.mean_grad_sq_finite)
    return CellResult(
        id=cell.id,
        status="ok" if mean is not None else "diverged",
        grad_sq=trace.grad_sq,
        last=trace.last,
        best=trace.best,
        diverged_at=trace.diverged_at,
        mean_grad_sq=mean,
        stderr=_finite(trace.stderr) if mean is not None else None,
        mean_grad_sq_finite=finite,
        facts={
            **asdict(trace.counts),
            "samples_total": trace.counts.samples_per_worker * cell.run.problem.K,
            "diverged_replicates": trace.diverged_replicates,
            "grad_sq_start": _finite(met.grad_sq_start),
            "constants": trace.settings["constants"],
            "exact": dict(met.constants.exact),
            **({"arrived_at": trace.arrived_at.tolist()} if len(trace.progress) else {}),
        },
        trace=_packed(trace) if cell.record else None,
        provenance=provenance(engine=met.engine, backend=met.backend, device=met.device),
    )


def _finite(value: float | None) -> float | None:
    """A sum of finite numbers may overflow: what is not finite is no number of a table."""
    return value if value is not None and math.isfinite(value) else None


def _packed(trace: Trace) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, times=trace.times, running=trace.running)
    return buffer.getvalue()


def _reason(error: BaseException) -> str:
    if is_out_of_memory(error):
        return "out of memory: lower K, dim or replicates, or run fewer jobs"
    return raised(error)
