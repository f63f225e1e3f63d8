"""Running a plan on a CUDA device: whole segments of iterations in one launch, all on the device.

Replicates advance together, as many as a device's memory is asked to hold; a launch takes them
over a segment of iterations, the next one books what it measured. The host sends tables and reads
back one small array a launch. Neither groups nor segments change a bit of the result, so a saved
state goes on with the same bits, on the same kind of card and the same compiler.

Paper: Algorithm (Algo_DR-STORM_batch), Algorithm (Algo_FedAvg), Table: Comparison.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from stemtheory.oracles import Separable
from stemtheory.runtime import Backend, UsageError, is_out_of_memory
from stemtheory.simulator.array_engine import Plan, Rows
from stemtheory.simulator.fused.checkpoint import Checkpoint, Saved, groups, open_checkpoint
from stemtheory.simulator.fused.cuda.build import Variant
from stemtheory.simulator.fused.cuda.layout import Layout
from stemtheory.simulator.fused.progress import Progress
from stemtheory.simulator.fused.recipe import Recipe, make_recipe
from stemtheory.simulator.fused.tables import Tables, initial_tables, kind, reading, tables

if TYPE_CHECKING:
    from stemtheory.simulator.fused.cuda.device import Kernels

STATE_BYTES = 512 * 1024**2  # of a group of replicates
NORM_BYTES = 64 * 1024**2  # of what one launch measures
LAUNCH_WORK = 2**31  # worker-coordinate-steps of a launch: a signal waits for its end
MOST_STEPS = 2**16
_kernels: dict[Any, Any] = {}


class DeviceRunner:
    """A plan, its kernels and what they take, on the device of the plan's backend."""

    def __init__(self, plan: Plan) -> None:
        assert isinstance(plan.problem, Separable)
        self.plan, self.recipe = plan, make_recipe(plan.problem, plan.backend.to_host)
        self.variant = variant_of(plan)
        layout = self.variant.layout(self.recipe, plan.problem.K, plan.problem.dim)
        assert layout is not None, "fused.obstacle refuses what no block holds"
        self.layout, self.rows = layout, self.variant.rows(self.recipe)
        self.kernels = _load(self.recipe, self.variant, layout, plan)
        scalar = self.variant.scalar
        self.constants = tuple(scalar(x) for x in self.recipe.scalars) or (scalar(0),)
        arguments = [row.ravel() for row in self.recipe.rows] or [np.zeros(1)]
        self.arguments = self.put(np.concatenate(arguments).astype(plan.dtype))
        self.key = tuple(np.uint32(word) for word in plan.key.philox_key())
        self.server_step = scalar(getattr(plan.algorithm, "server_step", 1.0))
        self.times = self.put(plan.record.astype(np.uint64))

    def put(self, array: Any) -> Any:
        """Return the array on the device."""
        return self.plan.backend.from_host(array)

    def get(self, array: Any) -> Any:
        """Return the array on the host; the device has then done all that came before."""
        return self.plan.backend.to_host(array)

    def start(self, replicates: int) -> Any:
        """Return the state at t = 0, on the host: (replicates, rows, K dim) in one line."""
        plan = self.plan
        state = np.zeros((replicates, self.rows, plan.start.size * plan.problem.K), plan.dtype)
        state[:, 0] = np.tile(plan.start, plan.problem.K)
        if self.variant.algorithm == "scaffold":
            state[:, 2] = state[:, 0]  # the row of the server's x
        return state.ravel()

    def advance(self, state: Any, rows: Tables, first: int, group: range) -> Any:
        """Advance a group over the iterations of ``rows``; return their norms by tile."""
        plan, blocks = self.plan, len(group) * self.layout.tiles
        squares = plan.backend.xp.empty(blocks * len(rows[0]), plan.dtype)
        sizes = (
            plan.problem.K, plan.problem.dim, self.layout.tiles, plan.sizes.I, first, group.start,
        )  # fmt: skip
        self.kernels.advance(
            blocks, state, self.arguments, self.constants, *(self.put(row) for row in rows),
            squares, self.key, tuple(np.uint64(size) for size in sizes), self.server_step,
        )  # fmt: skip
        return squares

    def book(self, squares: Any, n: int, first: int, done: Progress) -> None:
        """Book the norms of n iterations."""
        sizes = (len(done.book), self.layout.tiles, n, first)
        self.kernels.keep_book(
            sizes[0], squares, tuple(np.uint64(size) for size in sizes), done.book, self.times,
            done.series, done.running,
        )  # fmt: skip


def variant_of(plan: Plan) -> Variant:
    """Return what the kernels of a plan are compiled for."""
    return Variant(kind(plan.algorithm), reading(plan.algorithm), plan.dtype.name)


def layout_of(plan: Plan) -> Layout | None:
    """Return how a device's threads share the workers out, or None where there are too many."""
    assert isinstance(plan.problem, Separable)
    recipe = make_recipe(plan.problem, plan.backend.to_host)
    return variant_of(plan).layout(recipe, plan.problem.K, plan.problem.dim)


def run_on_device(
    plan: Plan,
    replicates: int,
    checkpoint: str | Path | None = None,
    save_every: float = 30.0,
) -> Rows:
    """Return the rows of all replicates; with ``checkpoint``, saved on the way and resumed from.

    The file is rewritten after ``save_every`` seconds and removed when the run is complete.

    Raises
    ------
    UsageError
        If the file is of another run or cannot be written, or the device has too little memory.
    """
    runner, done = DeviceRunner(plan), Progress.new(replicates, len(plan.record))
    file = open_checkpoint(checkpoint, plan, runner.recipe, replicates, save_every)
    size = max(1, STATE_BYTES // runner.start(1).nbytes)
    for group, saved in groups(replicates, size, file.restore(done) if file else None):
        try:
            _run_group(runner, group, saved, done, file)
        except Exception as error:
            if not is_out_of_memory(error):
                raise
            raise UsageError(
                f"{len(group)} replicates of K = {plan.problem.K} workers in dim ="
                f" {plan.problem.dim} do not fit into the memory of {plan.backend.device}:"
                " lower K or dim, use float32, or use engine array."
            ) from None
    if file is not None and not plan.stop.is_set():
        file.remove()
    return done.finish(plan)


def _run_group(
    runner: DeviceRunner,
    group: range,
    saved: Saved | None,
    done: Progress,
    file: Checkpoint | None,
) -> None:
    """Advance a group over all T iterations, segment by segment."""
    plan, T, span = runner.plan, runner.plan.sizes.T, _segment(runner, len(group))
    first, host = (1, runner.start(len(group))) if saved is None else (saved.first, saved.state)
    state, mine = runner.put(host), _sent(runner, done, group)
    if saved is None and runner.variant.algorithm == "stem":
        runner.advance(state, initial_tables(plan), 0, group)
    while first <= T and not plan.stop.is_set():
        rows = tables(plan, first, min(span, T + 1 - first))
        squares = runner.advance(state, rows, first, group)
        runner.book(squares, len(rows[0]), first, mine)
        first += span
        done.book[group.start : group.stop] = runner.get(mine.book)
        if done.lost(group).all():
            break
        if file is not None and file.due and not plan.stop.is_set():
            _fetch(runner, mine, done, group)
            file.save(group, min(first, T + 1), runner.get(state), done)
    _fetch(runner, mine, done, group)


def _sent(runner: DeviceRunner, done: Progress, group: range) -> Progress:
    """Return a group's part of the record, on the device."""
    part = slice(group.start, group.stop)
    return Progress(*(runner.put(x[part]) for x in (done.book, done.series, done.running)))


def _fetch(runner: DeviceRunner, mine: Progress, done: Progress, group: range) -> None:
    """Fill in a group's part of the record from the device."""
    part = slice(group.start, group.stop)
    done.book[part], done.series[part], done.running[part] = (
        runner.get(x) for x in (mine.book, mine.series, mine.running)
    )


def _segment(runner: DeviceRunner, replicates: int) -> int:
    """Return how many iterations a launch has: their number changes no bit of the result."""
    plan, blocks = runner.plan, replicates * runner.layout.tiles
    work = plan.problem.K * plan.problem.dim * replicates
    fit = NORM_BYTES // (blocks * plan.dtype.itemsize)
    return max(1, min(MOST_STEPS, LAUNCH_WORK // work, fit))


def _load(recipe: Recipe, variant: Variant, layout: Layout, plan: Plan) -> Kernels:
    """Return the kernels, compiled once in a process and device for all dials of a problem."""
    from stemtheory.simulator.fused.cuda import device

    key = (
        recipe.parts, recipe.prints, recipe.terms, len(recipe.scalars), len(recipe.rows), variant,
        layout, plan.backend.device, _number(plan.backend),
    )  # fmt: skip
    if key not in _kernels:
        sys.stderr.write(
            f"stemtheory: compiling the fused kernel of {recipe.problem} in {variant.dtype} for"
            f" {plan.backend.device} (some seconds)\n"
        )
        _kernels[key] = device.load_kernels(recipe, variant, layout, plan.backend.xp)
    found: Kernels = _kernels[key]
    return found


def _number(backend: Backend) -> int:
    """Return the number of the current device: two cards of one model share a name."""
    cuda = getattr(backend.xp, "cuda", None)
    return int(cuda.Device().id) if cuda is not None else 0
