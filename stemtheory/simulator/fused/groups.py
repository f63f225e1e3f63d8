"""A plan on compiled kernels, wherever they run: group by group, segment by segment.

All replicates of a group advance over one segment of iterations, then over the next: step sizes
are tabulated once a segment, and between two segments the state can be saved. A replicate's
numbers depend on its own address alone, so threads, groups and segments change no bit of them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

from stemtheory.simulator.array_engine import Plan, Rows
from stemtheory.simulator.fused.booked import Booked
from stemtheory.simulator.fused.checkpoint import Checkpoint, Saved, groups, open_checkpoint
from stemtheory.simulator.fused.recipe import Recipe
from stemtheory.simulator.fused.tables import Tables, tables


class GroupRunner(Protocol):
    """Kernels with a plan bound to them, and where the state of a group of replicates lies."""

    plan: Plan
    recipe: Recipe

    @property
    def together(self) -> int:
        """How many replicates make a group."""

    def state_shape(self, replicates: int) -> tuple[int, ...]:
        """Return the shape of the state of so many replicates."""

    def segment(self, replicates: int) -> int:
        """Return how many iterations a segment has: their number changes no bit of the result."""

    def place(self, group: range, saved: Saved | None, done: Booked) -> Any:
        """Return a group's state at t = 1, or as it was saved."""

    def step(self, placed: Any, rows: Tables, first: int) -> None:
        """Advance a group over the iterations of ``rows``; what diverged is known then."""

    def settle(self, placed: Any) -> None:
        """Make known everything that was measured of a group."""

    def fetch(self, placed: Any) -> Any:
        """Return a group's state, on the host."""


def run_groups(
    runner: GroupRunner, replicates: int, checkpoint: str | Path | None, save_every: float
) -> Rows:
    """Return the rows of all replicates; the file is removed when the run is complete."""
    plan, done = runner.plan, Booked.new(replicates, len(runner.plan.record))
    file = open_checkpoint(checkpoint, plan, runner.recipe, replicates, save_every)
    saved_before = file.restore(done, runner.state_shape) if file else None
    for group, saved in groups(replicates, runner.together, saved_before):
        run_group(runner, group, saved, done, file)
    if file is not None and not plan.stop.is_set():
        file.remove()
    return done.finish(plan)


def run_group(
    runner: GroupRunner, group: range, saved: Saved | None, done: Booked, file: Checkpoint | None
) -> None:
    """Advance a group over all T iterations, segment by segment."""
    plan, T, span = runner.plan, runner.plan.sizes.T, runner.segment(len(group))
    placed, first = runner.place(group, saved, done), 1 if saved is None else saved.first

    def state() -> Any:  # asked for when it is time to save, which on a device costs a copy
        runner.settle(placed)
        return runner.fetch(placed)

    while first <= T and not plan.stop.is_set():
        runner.step(placed, tables(plan, first, min(span, T + 1 - first)), first)
        first += span
        plan.advanced(span * len(group))
        if done.lost(group).all():
            break
        if file is not None and not plan.stop.is_set():
            file.save(group, min(first, T + 1), state, done)
    runner.settle(placed)
