"""A cell is one run with everything that can change a number; its id is the hash of that.

The id is BLAKE2b of a canonical text: typed, sorted by name, floats by ``repr``, whole floats as
ints. It depends on no order of keys, hash seed or version of NumPy.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from functools import cached_property, lru_cache
from typing import Any

from stemtheory.oracles import Problem, load_problem
from stemtheory.runtime import STREAM_VERSION

CELL_VERSION = 1  # another way to turn the same settings into numbers is another version
Value = None | bool | int | float | str | tuple[float, ...]
Pairs = tuple[tuple[str, Value], ...]
_VERSIONS = f"cell={CELL_VERSION};stream={STREAM_VERSION}"


@dataclass(frozen=True)
class Task:
    """What is minimised: a catalogue name, its size and its dials, sorted by name."""

    problem: str
    K: int
    dim: int
    dials: Pairs

    def load(self) -> Problem:
        """Return the problem; the last few are kept."""
        return _load(self)

    @cached_property
    def text(self) -> str:
        """The canonical text."""
        return canonical(_flat(self))


@dataclass(frozen=True)
class Method:
    """How it is minimised and computed; ``algorithm`` is the recursion, such as stem or fedavg.

    ``algorithm_options`` holds those that are not at their default. ``engine``, ``backend`` and
    ``noise_source`` are resolved: never ``auto``.
    """

    algorithm: str
    sync: str
    sync_batch: int
    schedule: str
    schedule_options: Pairs
    x1: float | tuple[float, ...]
    dtype: str
    engine: str
    backend: str
    noise_source: str
    per_sample: bool
    algorithm_options: Pairs = ()

    @cached_property
    def text(self) -> str:
        """The canonical text."""
        return canonical(_flat(self))


@dataclass(frozen=True)
class Cell:
    """One run: T iterations (a multiple of I), b, I and B samples, replicates and the seed.

    With ``precision`` the replicates are as many of 8, 16, 32, ... as bring the half-width of the
    95 % interval of log M below it, and at most ``replicates``. ``record`` is how many points of
    the running average are kept, on a geometric grid of t.
    """

    task: Task
    method: Method
    T: int
    b: float
    I: int
    B: float
    replicates: int
    seed: int
    precision: float | None = None
    record: int = 0

    @property
    def text(self) -> str:
        """The canonical text that is hashed."""
        sizes = _sizes_text(
            self.T, self.b, self.I, self.B, self.replicates, self.precision, self.record
        )
        return f"{_VERSIONS}\n{self.task.text}\n{self.method.text}\n{sizes};seed={self.seed}"

    @cached_property
    def id(self) -> str:
        """32 hexadecimal digits."""
        return hashlib.blake2b(self.text.encode(), digest_size=16).hexdigest()

    def settings(self) -> dict[str, Any]:
        """Return every setting by name, flat: the settings columns of a table."""
        run = {f.name: getattr(self, f.name) for f in fields(self)[2:]}
        return {**_flat(self.task), **_flat(self.method), **run}

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


def canonical(fields: Mapping[str, Any]) -> str:
    """Return one text for one mapping, whatever the order of its keys."""
    return ";".join(f"{name}={shown(value)}" for name, value in sorted(fields.items()))


def shown(value: Any) -> str:
    """Return the canonical text of a value: 1 and 1.0 are the same number, 1 and true are not.

    Raises
    ------
    ValueError
        For a number that is not finite, which would equal nothing, not even itself.
    TypeError
        For a value that is no number, text, truth value, None or sequence of them.
    """
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, str):
        return json.dumps(value)
    if isinstance(value, list | tuple):
        return f"[{','.join(shown(item) for item in value)}]"
    if hasattr(value, "item"):
        return shown(value.item())
    if isinstance(value, int):
        return repr(value)
    if not isinstance(value, float):
        raise TypeError(f"{value!r} cannot be part of a cell.")
    if not math.isfinite(value):
        raise ValueError(f"{value} is not finite and cannot be part of a cell.")
    return repr(int(value)) if value.is_integer() else repr(value)


def pairs(mapping: Mapping[str, Any]) -> Pairs:
    """Return the items sorted by name, lists as tuples: a hashable mapping."""
    return tuple(
        (name, tuple(value) if isinstance(value, list) else value)
        for name, value in sorted(mapping.items())
    )


def _flat(part: Task | Method) -> dict[str, Any]:
    """Return the fields, with dials and options under dotted names; an empty group is nothing."""
    flat = asdict(part)
    for group in ("dials", "schedule_options", "algorithm_options"):
        for name, value in flat.pop(group, ()):
            flat[name if name in OWN_COLUMN else f"{group}.{name}"] = value
    return flat


# Dials that every problem has stand under their own name, beside T, K and b.
OWN_COLUMN = ("L", "sigma", "zeta", "noise", "heterogeneity")


@lru_cache(maxsize=4096)
def _sizes_text(
    T: int, b: float, I: int, B: float, replicates: int, precision: float | None, record: int
) -> str:
    return canonical(
        {
            "T": T,
            "b": b,
            "I": I,
            "B": B,
            "replicates": replicates,
            "precision": precision,
            "record": record,
        }
    )


@lru_cache(maxsize=16)
def _load(task: Task) -> Problem:
    return load_problem(task.problem, K=task.K, dim=task.dim, **dict(task.dials))
