"""The kernels on a processor: layout, threads, and the machine code, compiled or loaded.

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
from typing import Any, NamedTuple

import numpy as np

from stemtheory.oracles import Separable
from stemtheory.runtime import UsageError
from stemtheory.simulator.array_engine import Plan, Rows
from stemtheory.simulator.fused.booked import Booked
from stemtheory.simulator.fused.checkpoint import Saved
from stemtheory.simulator.fused.groups import run_groups
from stemtheory.simulator.fused.recipe import make_recipe
from stemtheory.simulator.fused.source import load_anew, load_kernel
from stemtheory.simulator.fused.systems import system_of
from stemtheory.simulator.fused.tables import Tables, initial_tables, reading
from stemtheory.simulator.limits import MOST_STEPS, stretch

STATE_BYTES = 4 * 1024**2  # of a group of replicates: what a cache holds between two segments
SEGMENT_WORK = 2**26  # worker-coordinate-steps of a segment: a fraction of a second
REPLICATE_WORK = 2**21  # of one replicate in it, at least: a call is then well paid for
LINE = 64  # bytes


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


class HostState(NamedTuple):
    """A group of replicates, the rows of its state, and the record of all replicates."""

    group: range
    state: Any
    done: Booked


class Runner:
    """A plan and its kernel, with everything in the kernel's layout and types."""

    def __init__(
        self, plan: Plan, threads: int = 1, pool: ThreadPoolExecutor | None = None
    ) -> None:
        assert isinstance(plan.problem, Separable)
        self.plan, self.recipe = plan, make_recipe(plan.problem)
        self.threads, self.pool = threads, pool if threads > 1 else None
        self.system = system_of(plan.algorithm)
        name, dtype = self.recipe.problem, plan.dtype.name
        with _compiling(name):
            kernel = load_kernel(self.recipe, self.system.name, dtype)
        if not kernel.ready:
            sys.stderr.write(
                f"stemtheory: compiling the fused kernel of {name} in {dtype}, once (some"
                " seconds)\n"
            )
        self.module: Any = kernel.module
        scalar = plan.dtype.type
        self.K, self.dim = K, dim = plan.problem.K, plan.problem.dim
        self.chunks: int = -(-K * dim // self.module.CAPACITY)
        self.stride: int = int(self.module.STRIDE)
        self.state_length: int = int(self.module.ROWS) * self.stride * self.chunks
        self.rows, self.coordinates = self._arguments()
        self.constants = tuple(map(scalar, self.recipe.scalars)) or (scalar(0),)
        self.key = tuple(np.uint32(word) for word in plan.key.philox_key())
        self.shape = (np.uint64(K), np.uint64(dim))
        self.span = stretch(plan.sizes.I, dim)
        self.times = plan.record.astype(np.uint64)
        self.reading = np.uint64(reading(plan.algorithm))
        self.numbers = tuple(map(scalar, self.system.numbers)) or (scalar(0),)
        self.initial = initial_tables(plan)
        self.own = threading.local()
        with _compiling(name):
            self._compile()
        self.own = threading.local()  # the trial's scratch goes, before threads make theirs

    def _compile(self) -> None:
        """Have the kernel compiled or loaded: no iterations of a state of no length do it."""
        from numba.core.errors import NumbaError

        none: Any = tuple(table[:0] for table in self.initial)
        done = Booked.new(1, len(self.times))
        trial = functools.partial(self.advance, 0, aligned(0, self.plan.dtype), none, 1, done)
        try:
            trial()
        except NumbaError:
            raise
        except Exception:  # what is kept on disk is damaged
            name, dtype = self.system.name, self.plan.dtype.name
            self.module = load_anew(self.recipe, name, dtype, self.module)
            trial()

    @property
    def together(self) -> int:
        """How many replicates make a group: what caches hold, as many for every thread."""
        fit = STATE_BYTES // (self.state_length * self.plan.dtype.itemsize)
        return self.threads * max(1, fit // self.threads)

    def state_shape(self, replicates: int) -> tuple[int, ...]:
        """Return the shape of the state of so many replicates."""
        return replicates, self.state_length

    def segment(self, replicates: int) -> int:
        """Return how many iterations a segment has: their number changes no bit of the result."""
        size = self.K * self.dim
        steps = max(SEGMENT_WORK // (size * replicates), REPLICATE_WORK // size, self.span)
        return min(steps, MOST_STEPS)

    def place(self, group: range, saved: Saved | None, done: Booked) -> HostState:
        """Return a group's state at t = 1, or as it was saved."""
        state = aligned(len(group) * self.state_length, self.plan.dtype)
        placed = HostState(group, state.reshape(self.state_shape(len(group))), done)
        if saved is None:
            self.step(placed, self.initial, 0)
        else:
            placed.state[:] = saved.state
        return placed

    def step(self, placed: HostState, rows: Tables, first: int) -> None:
        """Advance a group over the iterations of ``rows``, in threads of neighbours."""
        group, state, done = placed

        def run(part: range) -> None:
            for r in part:
                self.advance(r, state[r - group.start], rows, first, done)

        if self.pool is None:
            return run(group)
        size = max(1, len(group) // (4 * self.threads))
        list(self.pool.map(run, (group[i : i + size] for i in range(0, len(group), size))))
        return None

    def settle(self, placed: HostState) -> None:
        """Do nothing: the kernels write into the record itself."""

    def fetch(self, placed: HostState) -> Any:
        """Return a group's state."""
        return placed.state

    def advance(self, replicate: int, state: Any, tables: Tables, first: int, done: Booked) -> None:
        """Advance one replicate over the iterations of ``tables`` from ``first`` on."""
        if self.plan.stop.is_set() or done.book[replicate, 3] > 0:
            return
        if not hasattr(self.own, "scratch"):  # this thread's: noise, sums over workers, two means
            lengths = (max(1, self.recipe.terms) * self.stride, self.span * self.dim, 2 * self.dim)
            self.own.scratch = tuple(aligned(n, self.plan.dtype) for n in lengths)
        noise, sums, means = self.own.scratch
        means[: self.dim] = self.plan.start
        self.module.advance(
            state, noise, self.rows, self.coordinates, sums, means, self.constants,
            self.numbers, self.key, np.uint32(replicate), self.shape, np.uint64(self.plan.sizes.I),
            np.uint64(self.span), self.reading, np.uint64(first), tables,
            done.book[replicate], self.times, done.series[replicate], done.running[replicate],
        )  # fmt: skip

    def _arguments(self) -> tuple[Any, Any]:
        """Return the rows of arguments chunk by chunk, as the state lies, and per coordinate."""
        n, C = max(1, len(self.recipe.rows)), int(self.module.CAPACITY)
        flat = np.zeros((n, self.chunks * C), self.plan.dtype)
        laid = aligned(self.chunks * n * self.stride, self.plan.dtype)
        laid = laid.reshape(self.chunks, n, self.stride)
        for r, row in enumerate(self.recipe.rows):
            flat[r, : row.size] = row.ravel()
            laid[:, r, :C] = flat[r].reshape(self.chunks, C)
        return laid.ravel(), np.ascontiguousarray(flat[:, : self.dim]).ravel()


def aligned(n: int, dtype: Any) -> Any:
    """Return n zeros that begin where a cache line does: vectors then never lie across two."""
    size = n * np.dtype(dtype).itemsize
    room = np.zeros(size + LINE, np.uint8)
    return room[-room.ctypes.data % LINE :][:size].view(dtype)


def run_on_processor(
    plan: Plan, replicates: int, threads: int | None, checkpoint: str | Path | None, every: float
) -> Rows:
    """Return the rows of all replicates, shared by threads (default: one per core)."""
    n = min(replicates, threads or os.cpu_count() or 1)
    with ThreadPoolExecutor(n) as pool:
        try:
            return run_groups(Runner(plan, n, pool), replicates, checkpoint, every)
        except BaseException:  # a signal: the pool would wait for the rest
            plan.stop.set()
            raise
