"""Running a plan on compiled kernels: layout, tables of a segment of iterations, threads, rows.

All replicates of a group advance over one segment of iterations, then over the next: step sizes
are tabulated once a segment, and between two segments the state can be saved. A replicate's
numbers depend on its own address alone, so threads, groups and segments change no bit of them.

Paper: Algorithm (Algo_DR-STORM_batch), Algorithm (Algo_FedAvg), Table: Comparison.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from stemtheory.algorithms.base import Algorithm, declared
from stemtheory.algorithms.scaffold import Scaffold
from stemtheory.algorithms.stem import READINGS, Stem
from stemtheory.array_engine import Meter, Plan, Rows
from stemtheory.fused.checkpoint import Checkpoint, identity
from stemtheory.fused.recipe import Recipe, make_recipe
from stemtheory.fused.source import load_kernel
from stemtheory.philox import GROUP, PURPOSES
from stemtheory.separable import Separable

STATE_BYTES = 4 * 1024**2  # of a group of replicates: what a cache holds between two segments
SEGMENT_WORK = 2**26  # worker-coordinate-steps of a segment: a fraction of a second
REPLICATE_WORK = 2**19  # of one replicate in it, at least: a call is then well paid for
MOST_STEPS = 2**16
SPAN_ELEMENTS = 8192  # of the sums over workers that a stretch of steps collects


@dataclass
class Progress:
    """What has been measured: per replicate the kernel's book and the recorded series."""

    book: Any
    series: Any
    running: Any

    @staticmethod
    def new(replicates: int, times: int) -> Progress:
        """Return an empty record: nothing added, nothing diverged."""
        book = np.tile([0.0, math.nan, math.inf, 0.0, 0.0], (replicates, 1))
        series = np.full((replicates, times), math.nan)
        return Progress(book, series, series.copy())


class Runner:
    """A plan and its kernel, with everything in the kernel's layout and types."""

    def __init__(self, plan: Plan) -> None:
        assert isinstance(plan.problem, Separable)
        self.plan, self.recipe = plan, make_recipe(plan.problem)
        self.kind = _kind(plan.algorithm)
        dtype = plan.dtype.name
        kernel = load_kernel(self.recipe, self.kind, dtype)
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

    @property
    def state_length(self) -> int:
        """Numbers in one replicate's state."""
        rows: int = int(self.module.ROWS)
        return rows * self.stride * self.chunks

    def begin(self, replicate: int, state: Any, done: Progress, row: int) -> None:
        """Set one replicate's state at t = 1."""
        scale = 1 / math.sqrt(self.plan.sizes.B)
        one: Any = [np.full(1, value, self.plan.dtype) for value in (0, 0, scale, 1)]
        tables = (*one[:3], np.array([PURPOSES["initial"]], np.uint32), one[3])
        self.advance(replicate, state, tables, 0, done, row)

    def advance(
        self, replicate: int, state: Any, tables: Any, first: int, done: Progress, row: int
    ) -> None:
        """Advance one replicate over the iterations of ``tables`` from ``first`` on."""
        if self.plan.stop.is_set() or done.book[row, 3] > 0:
            return
        sums = np.empty(self.span * self.dim, self.plan.dtype)
        means = np.zeros(2 * self.dim + GROUP, self.plan.dtype)
        means[: self.dim] = self.plan.start
        server_step = self.scalar(getattr(self.plan.algorithm, "server_step", 1.0))
        self.module.advance(
            state, self._noise(), self.rows, self.coordinates, sums, means, self.constants,
            self.key, np.uint32(replicate), self.shape, np.uint64(self.plan.sizes.I),
            np.uint64(self.span), self.reading, server_step, np.uint64(first), tables,
            done.book[row], self.times, done.series[row], done.running[row],
        )  # fmt: skip

    def tables(self, first: int, n: int) -> tuple[Any, Any, Any, Any, Any]:
        """Return eta_t, 1 - a_{t+1}, the noise's scale and purpose, and the round's sum of eta."""
        plan, dtype = self.plan, self.plan.dtype
        t = np.arange(first, first + n, dtype=np.float64)
        eta = np.broadcast_to(np.asarray(plan.schedule.eta(t)), n)
        keep = 1 - np.broadcast_to(np.asarray(plan.schedule.momentum(t + 1)), n)
        factor = self.factors(first, n)
        scale = 1 / np.sqrt(factor * plan.sizes.b)
        purpose = np.where(factor == 1, PURPOSES["steps"], PURPOSES["jump"])
        floats = (table.astype(dtype) for table in (eta, keep, scale, self.travel(first, n)))
        eta, keep, scale, travel = floats
        return eta, keep, scale, purpose.astype(np.uint32), travel

    def travel(self, first: int, n: int) -> Any:
        """Return the sum of the step sizes of a round up to each of n iterations.

        A sum begins where its round does, so that segments change no bit of it.
        """
        if self.kind != "scaffold":
            return np.ones(n)
        I = self.plan.sizes.I
        begin = first - (first - 1) % I
        rounds = -(-(first + n - begin) // I)
        t = np.arange(begin, begin + rounds * I, dtype=np.float64)
        eta = np.broadcast_to(np.asarray(self.plan.schedule.eta(t)), t.shape)
        sums: Any = np.cumsum(eta.reshape(rounds, I), axis=1).ravel()
        return sums[first - begin : first - begin + n]

    def factors(self, first: int, n: int) -> Any:
        """Return by how much each of n iterations multiplies its minibatch."""
        if getattr(self.plan.algorithm, "sync_batch", 1) == 1:
            return np.ones(n)
        I = self.plan.sizes.I
        factor = self.plan.algorithm.batch_factor
        return np.array([factor(t, I) for t in range(first, first + n)], dtype=np.float64)

    @property
    def reading(self) -> np.uint64:
        """STEM's reading of the synchronisation, SCAFFOLD's option (0 is II), as the kernel's."""
        algorithm = self.plan.algorithm
        if isinstance(algorithm, Scaffold):
            return np.uint64(algorithm.option == "I")
        return np.uint64(list(READINGS).index(getattr(algorithm, "sync", "literal")))

    def _noise(self) -> Any:
        return np.empty(max(1, self.recipe.terms) * self.stride, self.plan.dtype)

    def _arguments(self, recipe: Recipe) -> tuple[Any, Any]:
        """Return the rows of arguments chunk by chunk, as the state lies, and per coordinate."""
        n, C = len(recipe.rows), int(self.module.CAPACITY)
        flat = np.zeros((max(1, n), self.chunks * C), self.plan.dtype)
        laid = np.zeros((self.chunks, max(1, n), self.stride), self.plan.dtype)
        for r, row in enumerate(recipe.rows):
            flat[r, : row.size] = row.ravel()
            laid[:, r, :C] = flat[r].reshape(self.chunks, C)
        return laid.ravel(), np.ascontiguousarray(flat[:, : self.dim]).ravel()


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
    runner = Runner(plan)
    n = min(replicates, threads or os.cpu_count() or 1)
    done = Progress.new(replicates, len(plan.record))
    saved = None
    if checkpoint is not None:
        saved = Checkpoint(Path(checkpoint), identity(plan, replicates), save_every)
    with ThreadPoolExecutor(n) as pool:
        try:
            for group in _groups(runner, replicates, n):
                _run_group(runner, group, done, pool if n > 1 else None, saved)
        except BaseException:  # a signal: the pool would wait for the rest
            plan.stop.set()
            raise
    if saved is not None and not plan.stop.is_set():
        saved.remove()
    return _finish(runner, done)


def _groups(runner: Runner, replicates: int, threads: int) -> Iterator[range]:
    """Yield replicates in groups whose state fits, as many for every thread."""
    fit = STATE_BYTES // (runner.state_length * runner.plan.dtype.itemsize)
    size = threads * max(1, fit // threads)
    for first in range(0, replicates, size):
        yield range(first, min(first + size, replicates))


def _run_group(
    runner: Runner,
    group: range,
    done: Progress,
    pool: ThreadPoolExecutor | None,
    saved: Checkpoint | None,
) -> None:
    """Advance a group over all T iterations, segment by segment."""
    T, span = runner.plan.sizes.T, _segment(runner, len(group))
    state = np.zeros((len(group), runner.state_length), runner.plan.dtype)
    first = saved.restore(group.start, state, done) if saved is not None else None
    if first is None:
        first = 1
        _each(pool, group, lambda r: runner.begin(r, state[r - group.start], done, r))
    while first <= T and not runner.plan.stop.is_set():
        tables, t = runner.tables(first, min(span, T + 1 - first)), first
        _each(
            pool,
            group,
            lambda r, t=t, tables=tables: runner.advance(
                r, state[r - group.start], tables, t, done, r
            ),
        )
        first += span
        if np.all(done.book[group.start : group.stop, 3] > 0):
            break
        if saved is not None and not runner.plan.stop.is_set():
            saved.save(group.start, min(first, T + 1), state, done)


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


def _finish(runner: Runner, done: Progress) -> Rows:
    """Return the averages; a diverged replicate is NaN, whatever was finite before."""
    plan, book = runner.plan, done.book
    lost = book[:, 3] > 0
    ran = plan.sizes.T if not lost.all() else int(book[:, 3].max())
    return Rows(
        total=np.where(lost, math.nan, book[:, 0] / plan.sizes.T),
        last=np.where(lost, math.nan, book[:, 1]),
        best=book[:, 2].copy(),
        diverged_at=book[:, 3].astype(np.int64),
        series=done.series.T.copy(),
        running=done.running.T.copy(),
        meter=_meter(runner, ran),
    )


def _meter(runner: Runner, ran: int) -> Meter:
    """Return the counts of so many iterations."""
    plan = runner.plan
    meter, b = Meter(), plan.sizes.b
    if plan.algorithm.initial_batch:
        meter.step(1, plan.sizes.B)
    samples = ran * b
    if getattr(plan.algorithm, "sync_batch", 1) > 1:
        samples = float(runner.factors(1, ran).sum()) * b
    meter.step(plan.algorithm.gradients_per_step, samples)
    meter.rounds = ran // plan.sizes.I
    passes = declared(plan.algorithm).passes * -(-ran // plan.sizes.I)
    samples = b * plan.sizes.I if plan.pass_samples is None else plan.pass_samples
    meter.step(1, passes * samples)
    return meter


def _kind(algorithm: Algorithm) -> str:
    if isinstance(algorithm, Stem):
        return "stem"
    return "scaffold" if isinstance(algorithm, Scaffold) else "fedavg"


def _announce(problem: str, dtype: str) -> None:
    sys.stderr.write(
        f"stemtheory: compiling the fused kernel of {problem} in {dtype}, once (some seconds)\n"
    )
