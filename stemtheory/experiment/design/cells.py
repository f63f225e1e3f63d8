"""A cell is one run, how precisely it is measured and what it records; its id is the hash of that.

The id is BLAKE2b of a canonical text: JSON with sorted names, floats by ``repr``, whole floats as
ints. It depends on no order of keys, hash seed or version of NumPy, and two cells share it only if
they are the same run.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

from stemtheory.runtime import STREAM_VERSION, canonical
from stemtheory.simulator import COMMON_DIALS, Numerics, Run

NUMERICS = tuple(field.name for field in fields(Numerics))
CELL_VERSION = 2  # another way to turn the same run into numbers is another version


@dataclass(frozen=True)
class Cell:
    """A run whose engine, backend and noise source are settled: never ``auto``.

    With ``precision`` the replicates are as many of 8, 16, 32, ... as bring the half-width of the
    95 % interval of log M below it, and at most those of the run. ``record`` is how many points of
    the running average are kept, on a geometric grid of t.
    """

    run: Run
    precision: float | None = None
    record: int = 0

    @property
    def text(self) -> str:
        """The canonical text that is hashed."""
        more = canonical((CELL_VERSION, STREAM_VERSION, self.precision, self.record))
        return f"[{more},{self.run.text}]"

    @cached_property
    def id(self) -> str:
        """32 hexadecimal digits."""
        return hashlib.blake2b(self.text.encode(), digest_size=16).hexdigest()

    @property
    def T(self) -> int:
        """Iterations, a multiple of I."""
        return self.run.sizes.T

    @property
    def b(self) -> float:
        """Samples of a minibatch."""
        return self.run.sizes.b

    @property
    def I(self) -> int:
        """Iterations of a round."""
        return self.run.sizes.I

    @property
    def B(self) -> float:
        """Samples of the first batch."""
        return self.run.sizes.B

    @property
    def replicates(self) -> int:
        """Independent runs; with ``precision`` at most so many."""
        return self.run.replicates

    def settings(self) -> dict[str, Any]:
        """Return every setting by name, flat: the settings columns of a table."""
        run, options = self.run, dict(self.run.algorithm.options)
        flat = {
            "problem": run.problem.name,
            "K": run.problem.K,
            "dim": run.problem.dim,
            "algorithm": run.algorithm.name,
            "sync": options.pop("sync", "literal"),
            "sync_batch": options.pop("sync_batch", 1),
            "schedule": run.schedule.name,
            "x1": run.x1,
            **{name: getattr(run.numerics, name) for name in NUMERICS},
            "T": self.T,
            "b": self.b,
            "I": self.I,
            "B": self.B,
            "replicates": run.replicates,
            "seed": run.seed,
            "precision": self.precision,
            "record": self.record,
        }
        dials = dict(run.problem.dials)
        groups = {"schedule_options": dict(run.schedule.options), "algorithm_options": options}
        flat |= {name: dials.pop(name) for name in COMMON_DIALS if name in dials}
        if made_of := f"{run.problem.made_of}{run.algorithm.made_of}":
            flat["made_of"] = made_of
        for group, values in ({"dials": dials} | groups).items():
            flat |= {f"{group}.{name}": value for name, value in values.items()}
        return flat

    def record_times(self) -> list[int]:
        """Return the iterations t at which the running average is kept; T is the last."""
        if self.record < 2:
            return [self.T] * self.record
        ratio = math.log(self.T) / (self.record - 1)
        times = {round(math.exp(ratio * i)) for i in range(self.record - 1)} | {self.T}
        return sorted(t for t in times if t <= self.T)


def ladder(replicates: int, precision: float | None) -> list[int]:
    """Return the replicate counts to try in turn: 8, 16, 32, ... up to ``replicates``."""
    rungs = [] if precision is None else [8 * 2**i for i in range(40)]
    return [rung for rung in rungs if rung < replicates] + [replicates]
