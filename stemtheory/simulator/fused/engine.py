"""Running a plan on compiled kernels: layout, tables of a segment of iterations, threads, rows.

All replicates of a group advance over one segment of iterations, then over the next: step sizes
are tabulated once a segment, and between two segments the state can be saved. A replicate's
numbers depend on its own address alone, so threads, groups and segments change no bit of them.

Paper: Algorithm (Algo_DR-STORM_batch), Algorithm (Algo_FedAvg), Table: Comparison.
"""

from __future__ import annotations

import contextlib
import functools
import os
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from stemtheory.oracles import Separable
from stemtheory.runtime import UsageError
from stemtheory.simulator.array_engine import Plan, Rows
from stemtheory.simulator.fused.checkpoint import Checkpoint, Saved, groups, open_checkpoint
from stemtheory.simulator.fused.cuda.engine import run_on_device
from stemtheory.simulator.fused.progress import Progress
from stemtheory.simulator.fused.recipe import Recipe, make_recipe
from stemtheory.simulator.fused.source import load_anew, load_kernel
from stemtheory.simulator.fused.tables import Tables, initial_tables, kind, reading, tables

STATE_BYTES = 4 * 1024**2  # of a group of replicates: what a cache holds between two segments
SEGMENT_WORK = 2**26  # worker-coordinate-steps of a segment: a fraction of a second
REPLICATE_WORK = 2**21  # of one replicate in it, at least: a call is then well paid for
MOST_STEPS = 2**16
LINE = 64  # bytes
SPAN_ELEMENTS = 8192  # of the sums over workers that a stretch of steps collects


class NotCompiledError(UsageError):
    """A problem's functions do not compile; the array engine may still run them."""

    def __init__(self, problem: str, error: Exception) -> None:
        reason = next((line.strip() for line in str(error).splitlines()[1:] if line.strip()), "")
        super().__init__(
            f"engine fused cannot be used, because numba does not compile {problem}"
            f" ({reason or type(error).__name__}): write it in plain arithmetic and NumPy's"
            " elementary functions, or use engine array."
        )


@contextlib.contextmanager
def _compiling(problem: str) -> Iterator[None]:
    """Say in one sentence that the functions of a problem do not compile."""
    from numba.core.errors import NumbaError

    try:
        yield
    except NumbaError as error:
        raise NotCompiledError(problem, error) from error


class Runner:
    """A plan and its kernel, with everything in the kernel's layout and types."""

    def __init__(self, plan: Plan) -> None:
        assert isinstance(plan.problem, Separable)
        self.plan, self.recipe = plan, make_recipe(plan.problem)
        dtype = plan.dtype.name
        with _compiling(self.recipe.problem):
            kernel = load_kernel(self.recipe, kind(plan.algorithm), dtype)
        if not kernel.ready:
            _announce(self.recipe.problem, dtype)
        self.module: Any = kernel.module
        self.scalar = plan.dtype.type
        K, dim = plan.problem.K, plan.problem.dim
        self.K, self.dim = K, dim
        self.chunks: int = -(-K * dim // self.module.CAPACITY)
        self.stride: int = int(self.module.STRIDE)
        self.rows, self.coordinates = self._arguments(self.recipe)
        self.constants = tuple(self.scalar(value) for value in self.recipe.scalars) or (
            self.scalar(0),
        )
        self.key = tuple(np.uint32(word) for word in plan.key.philox_key())
        self.shape = (np.uint64(K), np.uint64(dim))
        self.span = min(plan.sizes.I, MOST_STEPS, max(8, SPAN_ELEMENTS // dim))
        self.times = plan.record.astype(np.uint64)
        self.reading = np.uint64(reading(plan.algorithm))
        self.server_step = self.scalar(getattr(plan.algorithm, "server_step", 1.0))
        self.initial = initial_tables(plan)
        self.own = threading.local()
        with _compiling(self.recipe.problem):
            self._compile()

    def _compile(self) -> None:
        """Have the kernel compiled or loaded: no iterations of a state of no length do it."""
        from numba.core.errors import NumbaError

        eta, keep, scale, purpose, travel = (table[:0] for table in self.initial)
        none, done = (eta, keep, scale, purpose, travel), Progress.new(1, len(self.times))
        trial = functools.partial(self.advance, 0, aligned(0, self.plan.dtype), none, 1, done, 0)
        try:
            trial()
        except NumbaError:
            raise
        except Exception:  # what is kept on disk is damaged
            algorithm, dtype = kind(self.plan.algorithm), self.plan.dtype.name
            self.module = load_anew(self.recipe, algorithm, dtype, self.module)
            trial()

    @property
    def state_length(self) -> int:
        """Numbers in one replicate's state."""
        rows: int = int(self.module.ROWS)
        return rows * self.stride * self.chunks

    def begin(self, replicate: int, state: Any, done: Progress, row: int) -> None:
        """Set one replicate's state at t = 1."""
        self.advance(replicate, state, self.initial, 0, done, row)

    def advance(
        self, replicate: int, state: Any, tables: Tables, first: int, done: Progress, row: int
    ) -> None:
        """Advance one replicate over the iterations of ``tables`` from ``first`` on."""
        if self.plan.stop.is_set() or done.book[row, 3] > 0:
            return
        noise, sums, means = self.scratch()
        means[: self.dim] = self.plan.start
        self.module.advance(
            state, noise, self.rows, self.coordinates, sums, means, self.constants, self.key,
            np.uint32(replicate), self.shape, np.uint64(self.plan.sizes.I), np.uint64(self.span),
            self.reading, self.server_step, np.uint64(first), tables,
            done.book[row], self.times, done.series[row], done.running[row],
        )  # fmt: skip

    def scratch(self) -> tuple[Any, Any, Any]:
        """Return this thread's room for noise, for sums over workers and for two means."""
        if not hasattr(self.own, "scratch"):
            lengths = (max(1, self.recipe.terms) * self.stride, self.span * self.dim, 2 * self.dim)
            self.own.scratch = tuple(aligned(n, self.plan.dtype) for n in lengths)
        scratch: tuple[Any, Any, Any] = self.own.scratch
        return scratch

    def _arguments(self, recipe: Recipe) -> tuple[Any, Any]:
        """Return the rows of arguments chunk by chunk, as the state lies, and per coordinate."""
        n, C = len(recipe.rows), int(self.module.CAPACITY)
        flat = np.zeros((max(1, n), self.chunks * C), self.plan.dtype)
        laid = aligned(self.chunks * max(1, n) * self.stride, self.plan.dtype)
        laid = laid.reshape(self.chunks, max(1, n), self.stride)
        for r, row in enumerate(recipe.rows):
            flat[r, : row.size] = row.ravel()
            laid[:, r, :C] = flat[r].reshape(self.chunks, C)
        return laid.ravel(), np.ascontiguousarray(flat[:, : self.dim]).ravel()


def aligned(n: int, dtype: Any) -> Any:
    """Return n zeros that begin where a cache line does: vectors then never lie across two."""
    size = n * np.dtype(dtype).itemsize
    room = np.zeros(size + LINE, np.uint8)
    return room[-room.ctypes.data % LINE :][:size].view(dtype)


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
        If the file is of another run, or cannot be written.
    """
    if not plan.backend.on_host:
        return run_on_device(plan, replicates, checkpoint, save_every)
    runner = Runner(plan)
    n = min(replicates, threads or os.cpu_count() or 1)
    done = Progress.new(replicates, len(plan.record))
    file = open_checkpoint(checkpoint, plan, runner.recipe, replicates, save_every)
    fit = STATE_BYTES // (runner.state_length * plan.dtype.itemsize)
    size = n * max(1, fit // n)  # as many for every thread
    with ThreadPoolExecutor(n) as pool:
        try:
            for group, saved in groups(replicates, size, file.restore(done) if file else None):
                _run_group(runner, group, saved, done, pool if n > 1 else None, file)
        except BaseException:  # a signal: the pool would wait for the rest
            plan.stop.set()
            raise
    if file is not None and not plan.stop.is_set():
        file.remove()
    return done.finish(plan)


def _run_group(
    runner: Runner,
    group: range,
    saved: Saved | None,
    done: Progress,
    pool: ThreadPoolExecutor | None,
    file: Checkpoint | None,
) -> None:
    """Advance a group over all T iterations, segment by segment."""
    plan, T, span = runner.plan, runner.plan.sizes.T, _segment(runner, len(group))
    state = aligned(len(group) * runner.state_length, runner.plan.dtype)
    state = state.reshape(len(group), runner.state_length)
    if saved is None:
        first = 1
        _each(pool, group, lambda r: runner.begin(r, state[r - group.start], done, r))
    else:
        first, state[:] = saved.first, saved.state
    while first <= T and not plan.stop.is_set():
        rows, t = tables(plan, first, min(span, T + 1 - first)), first
        _each(
            pool,
            group,
            lambda r, t=t, rows=rows: runner.advance(r, state[r - group.start], rows, t, done, r),
        )
        first += span
        if done.lost(group).all():
            break
        if file is not None and not plan.stop.is_set():
            file.save(group, min(first, T + 1), state, done)


def _each(pool: ThreadPoolExecutor | None, group: range, work: Any) -> None:
    """Do the work of every replicate, shared by threads in runs of neighbours."""
    if pool is None:
        for r in group:
            work(r)
        return
    size = max(1, len(group) // (4 * pool._max_workers))
    parts = [group[i : i + size] for i in range(0, len(group), size)]

    def run(part: range) -> None:
        for r in part:
            work(r)

    list(pool.map(run, parts))


def _segment(runner: Runner, replicates: int) -> int:
    """Return how many iterations a segment has: its length changes no bit of the result."""
    size = runner.K * runner.dim
    steps = max(SEGMENT_WORK // (size * replicates), REPLICATE_WORK // size, runner.span)
    return min(steps, MOST_STEPS)


def _announce(problem: str, dtype: str) -> None:
    sys.stderr.write(
        f"stemtheory: compiling the fused kernel of {problem} in {dtype}, once (some seconds)\n"
    )
