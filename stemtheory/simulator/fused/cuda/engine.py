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
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from stemtheory.oracles import Separable
from stemtheory.runtime import Backend, UsageError, is_out_of_memory
from stemtheory.simulator.array_engine import Plan, Rows
from stemtheory.simulator.fused.booked import Booked
from stemtheory.simulator.fused.checkpoint import Saved
from stemtheory.simulator.fused.cuda.build import Variant
from stemtheory.simulator.fused.cuda.layout import ThreadLayout
from stemtheory.simulator.fused.groups import run_groups
from stemtheory.simulator.fused.recipe import Recipe, make_recipe
from stemtheory.simulator.fused.systems import system_of
from stemtheory.simulator.fused.tables import Tables, initial_tables, reading

if TYPE_CHECKING:
    from stemtheory.simulator.fused.cuda.device import Kernels

STATE_BYTES = 512 * 1024**2  # of a group of replicates
NORM_BYTES = 64 * 1024**2  # of what one launch measures
LAUNCH_WORK = 2**31  # worker-coordinate-steps of a launch: a signal waits for its end
MOST_STEPS = 2**16
_kernels: dict[Any, Any] = {}


class DeviceState(NamedTuple):
    """A group of replicates, its state and its part of the record here, and the whole record."""

    group: range
    state: Any
    mine: Booked
    done: Booked


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

    def state_shape(self, replicates: int) -> tuple[int, ...]:
        """Return the shape of the state of so many replicates: (replicates, rows, K dim), flat."""
        return (replicates * self.rows * self.plan.start.size * self.plan.problem.K,)

    def start(self, replicates: int) -> Any:
        """Return the state at t = 0, on the host."""
        plan = self.plan
        state = np.zeros(self.state_shape(replicates), plan.dtype).reshape(
            replicates, self.rows, -1
        )
        state[:, 0] = np.tile(plan.start, plan.problem.K)
        if self.variant.algorithm == "scaffold":
            state[:, 2] = state[:, 0]  # the row of the server's x
        return state.ravel()

    @property
    def together(self) -> int:
        """How many replicates make a group."""
        return max(1, STATE_BYTES // int(self.start(1).nbytes))

    def segment(self, replicates: int) -> int:
        """Return how many iterations a launch has: their number changes no bit of the result."""
        plan, blocks = self.plan, replicates * self.layout.tiles
        work = plan.problem.K * plan.problem.dim * replicates
        fit = NORM_BYTES // (blocks * plan.dtype.itemsize)
        return max(1, min(MOST_STEPS, LAUNCH_WORK // work, fit))

    def place(self, group: range, saved: Saved | None, done: Booked) -> DeviceState:
        """Return a group's state at t = 1, or as it was saved, and its part of the record."""
        state = self.put(self.start(len(group)) if saved is None else saved.state)
        part = slice(group.start, group.stop)
        mine = Booked(*(self.put(x[part]) for x in (done.book, done.series, done.running)))
        if saved is None and self.variant.algorithm == "stem":
            self.advance(state, initial_tables(self.plan), 0, group)
        return DeviceState(group, state, mine, done)

    def step(self, placed: DeviceState, rows: Tables, first: int) -> None:
        """Advance a group over the iterations of ``rows`` and book their norms."""
        group, state, mine, done = placed
        squares = self.advance(state, rows, first, group)
        self.book(squares, len(rows[0]), first, mine)
        done.book[group.start : group.stop] = self.get(mine.book)

    def settle(self, placed: DeviceState) -> None:
        """Bring home all that was measured."""
        part, mine, done = slice(placed.group.start, placed.group.stop), placed.mine, placed.done
        done.book[part], done.series[part], done.running[part] = (
            self.get(x) for x in (mine.book, mine.series, mine.running)
        )

    def fetch(self, placed: DeviceState) -> Any:
        """Return a group's state, on the host."""
        return self.get(placed.state)

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

    def book(self, squares: Any, n: int, first: int, done: Booked) -> None:
        """Book the norms of n iterations."""
        sizes = (len(done.book), self.layout.tiles, n, first)
        self.kernels.keep_book(
            sizes[0], squares, tuple(np.uint64(size) for size in sizes), done.book, self.times,
            done.series, done.running,
        )  # fmt: skip


def variant_of(plan: Plan) -> Variant:
    """Return what the kernels of a plan are compiled for."""
    return Variant(system_of(plan.algorithm).name, reading(plan.algorithm), plan.dtype.name)


def layout_of(plan: Plan) -> ThreadLayout | None:
    """Return how a device's threads share the workers out, or None where there are too many."""
    assert isinstance(plan.problem, Separable)
    recipe = make_recipe(plan.problem, plan.backend.to_host)
    return variant_of(plan).layout(recipe, plan.problem.K, plan.problem.dim)


def run_on_device(plan: Plan, replicates: int, checkpoint: str | Path | None, every: float) -> Rows:
    """Return the rows of all replicates.

    Raises
    ------
    UsageError
        If the device has too little memory.
    """
    runner = DeviceRunner(plan)
    try:
        return run_groups(runner, replicates, checkpoint, every)
    except Exception as error:
        if not is_out_of_memory(error):
            raise
        raise UsageError(
            f"{min(runner.together, replicates)} replicates of K = {plan.problem.K} workers in"
            f" dim = {plan.problem.dim} do not fit into the memory of {plan.backend.device}:"
            " lower K or dim, use float32, or use engine array."
        ) from None


def _load(recipe: Recipe, variant: Variant, layout: ThreadLayout, plan: Plan) -> Kernels:
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
