"""Saving a long run between two segments, and going on from there with the same bits.

One npz file without pickle, replaced as a whole: a kill at any moment leaves the file before or
the file after.
"""

from __future__ import annotations

import hashlib
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile

import numpy as np

from stemtheory.array_engine import Plan
from stemtheory.errors import UsageError
from stemtheory.fused.fingerprint import fingerprint
from stemtheory.separable import Separable
from stemtheory.streams import STREAM_VERSION

if TYPE_CHECKING:
    from stemtheory.fused.progress import Progress


def identity(plan: Plan, replicates: int) -> str:
    """Return a hash of everything that can change a number of the run."""
    schedule = (type(plan.schedule).__name__, plan.schedule.parameters())
    parts = (
        STREAM_VERSION, replicates, plan.problem.name, sorted(plan.problem.dials.items(), key=str),
        repr(plan.algorithm), schedule, asdict(plan.sizes), plan.key, plan.dtype.name,
        [float(x) for x in plan.start], plan.record.tolist(), _formula(plan),
    )  # fmt: skip
    return hashlib.blake2b(repr(parts).encode(), digest_size=16).hexdigest()


def _formula(plan: Plan) -> list[str]:
    """Return what the functions of a separable problem compute: dials do not tell."""
    problem = plan.problem
    if not isinstance(problem, Separable):
        return []
    push = [] if problem.push is None else [problem.push.function]
    return [fingerprint(f) for f in (problem.family.slope, problem.noise.fields, *push)]


@dataclass
class Checkpoint:
    """A file, the run it belongs to, and how often it is rewritten, in seconds."""

    path: Path
    run: str
    every: float
    last: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        """Find out now, not after a long while, whether the file can be written."""
        try:
            self._part.open("wb").close()
            self._part.unlink()
        except OSError as error:
            raise self._refusal(error) from error

    @property
    def _part(self) -> Path:
        return self.path.with_name(f".{self.path.name}.part")

    def _refusal(self, error: OSError) -> UsageError:
        return UsageError(
            f"checkpoint {self.path} cannot be written ({error.strerror or error}):"
            " choose another path."
        )

    @property
    def due(self) -> bool:
        """Whether it is time to save."""
        return time.monotonic() - self.last >= self.every

    def save(self, group: int, first: int, state: Any, done: Progress) -> None:
        """Write the state before iteration ``first`` of the group, if it is time."""
        if not self.due:
            return
        part = self._part
        try:
            with part.open("wb") as file:
                np.savez(
                    file, run=np.array(self.run), at=np.array([group, first]), state=state,
                    book=done.book, series=done.series, running=done.running,
                )  # fmt: skip
            part.replace(self.path)
        except OSError as error:
            raise self._refusal(error) from error
        self.last = time.monotonic()

    def group(self) -> range | None:
        """Return the replicates whose state was saved, None where nothing was.

        How many there are depends on the number of threads, which may be another one now.
        """
        saved = self._read()
        if saved is None:
            return None
        start = int(saved["at"][0])
        return range(start, start + len(saved["state"]))

    def restore(self, group: int, state: Any, done: Progress) -> int | None:
        """Fill in what was saved; return the next iteration of this group, None to begin it.

        Raises
        ------
        UsageError
            If the file is damaged or of another run.
        """
        saved = self._read()
        if saved is None or group > saved["at"][0]:
            return None
        done.book[:], done.series[:] = saved["book"], saved["series"]
        done.running[:] = saved["running"]
        if group < saved["at"][0]:
            return int(np.iinfo(np.int64).max)  # complete: nothing left to do
        state[:] = saved["state"]
        return int(saved["at"][1])

    def remove(self) -> None:
        """Remove the file: the run is complete."""
        self.path.unlink(missing_ok=True)

    def _read(self) -> dict[str, Any] | None:
        if not self.path.exists():
            return None
        try:
            with self.path.open("rb") as file, np.load(file, allow_pickle=False) as data:
                saved = {name: data[name] for name in data.files}
            same = str(saved["run"]) == self.run
        except (OSError, ValueError, KeyError, EOFError, BadZipFile) as error:
            raise UsageError(
                f"checkpoint {self.path} cannot be read ({error}): remove it, or choose another."
            ) from error
        if not same:
            raise UsageError(
                f"checkpoint {self.path} belongs to another run: remove it, or choose another path."
            )
        return saved
