"""Saving a long run between two segments, and going on from there with the same bits.

One npz file without pickle, replaced as a whole: a kill at any moment leaves the file before or
the file after.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from stemtheory.runtime import (
    STREAM_VERSION,
    UsageError,
    read_npz,
    refuse_misfits,
    try_file,
    write_file,
)
from stemtheory.simulator.array_engine import Plan
from stemtheory.simulator.fused.recipe import Recipe

if TYPE_CHECKING:
    from stemtheory.simulator.fused.booked import Booked


def identity(plan: Plan, recipe: Recipe, replicates: int) -> str:
    """Return a hash of everything that can change a number of the run."""
    schedule = (type(plan.schedule).__name__, plan.schedule.parameters())
    parts = (
        STREAM_VERSION, replicates, plan.problem.name, sorted(plan.problem.dials.items(), key=str),
        repr(plan.algorithm), schedule, asdict(plan.sizes), plan.key, plan.dtype.name,
        [float(x) for x in plan.start], plan.record.tolist(), recipe.prints,
    )  # fmt: skip
    hashed = hashlib.blake2b(repr(parts).encode(), digest_size=16).hexdigest()
    return hashed if plan.backend.on_host else hashed + plan.backend.name


TODO = "remove it, or choose another path"


class Saved(NamedTuple):
    """Where a run goes on: a group of replicates, its next iteration, and its state before that.

    The replicates before the group are complete.
    """

    group: range
    first: int
    state: Any


@dataclass
class Checkpoint:
    """A file, the run it belongs to, and how often it is rewritten, in seconds."""

    path: Path
    run: str
    every: float
    last: float = field(default_factory=time.monotonic)

    @property
    def due(self) -> bool:
        """Whether it is time to save."""
        return time.monotonic() - self.last >= self.every

    def save(self, group: range, first: int, state: Callable[[], Any], done: Booked) -> None:
        """Write the state before iteration ``first`` of the group, if it is time."""
        if not self.due:
            return
        at = {"run": self.run, "at": [group.start, first], "size": len(group), "state": state()}
        arrays: dict[str, Any] = {**at, **vars(done)}
        write_file(self.path, lambda file: np.savez(file, **arrays))
        self.last = time.monotonic()

    def restore(self, done: Booked, shape: Callable[[int], tuple[int, ...]]) -> Saved | None:
        """Fill in what was measured, and return where to go on; None where nothing was saved.

        ``shape`` is that of the state of so many replicates.

        Raises
        ------
        UsageError
            If the file is damaged or of another run.
        """
        if not self.path.exists():
            return None
        saved = read_npz(self.path, TODO)
        if str(saved.get("run")) != self.run:
            raise UsageError(f"checkpoint {self.path} belongs to another run: {TODO}.")
        counts = {"run": "", "at": [0, 0], "size": 0, "state": None}
        refuse_misfits(self.path, saved, {**vars(done), **counts}, TODO)
        (start, first), size = saved["at"].tolist(), int(saved["size"])
        if first < 1 or not 0 <= start < start + size <= len(done.book):
            raise UsageError(f"{self.path} cannot be read (there is no such group): {TODO}.")
        state = {"state": np.broadcast_to(0.0, shape(size))}
        refuse_misfits(self.path, {"state": saved["state"]}, state, TODO)
        for name, array in vars(done).items():
            array[:] = saved[name]
        return Saved(range(start, start + size), first, saved["state"])

    def remove(self) -> None:
        """Remove the file: the run is complete."""
        self.path.unlink(missing_ok=True)


def open_checkpoint(
    path: str | Path | None, plan: Plan, recipe: Recipe, replicates: int, every: float
) -> Checkpoint | None:
    """Return the checkpoint of a run; None where no path was given.

    Raises
    ------
    UsageError
        If it cannot be written there: now, and not after a long while.
    """
    if path is None:
        return None
    try_file(Path(path))
    return Checkpoint(Path(path), identity(plan, recipe, replicates), every)


def groups(replicates: int, size: int, saved: Saved | None) -> Iterator[tuple[range, Saved | None]]:
    """Yield groups of at most ``size`` replicates, first the one that was saved, as it was.

    How many fit into a group may be another number now, with other threads.
    """
    begin = 0
    if saved is not None:
        yield saved.group, saved
        begin = saved.group.stop
    for first in range(begin, replicates, size):
        yield range(first, min(first + size, replicates)), None
