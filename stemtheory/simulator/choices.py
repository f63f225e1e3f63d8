"""The parts of a run: which problem, which algorithm, which step sizes, how it is computed.

A part names what it chooses, so that it can be hashed, written down and sent to another process.
In Python a live object may stand in place of a name; it is compared by identity, and what is
written of it is its description.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from stemtheory.algorithms import ALGORITHMS, Algorithm, Entry, load_algorithm
from stemtheory.oracles import USUAL, Problem, load_problem, problem_entry, refuse_no_problem
from stemtheory.runtime import (
    UsageError,
    canonical,
    code_of,
    data_of,
    raised,
    refuse_unpicklable,
    stamp_of,
    whole,
)

Value = None | bool | int | float | str | tuple[float, ...]
Pairs = tuple[tuple[str, Value], ...]
# Dials that every problem has: filled in, so that a default and the same value written are one run.
COMMON_DIALS = ("L", "sigma", "zeta", "noise", "heterogeneity")


@dataclass(frozen=True)
class Defaults:
    """What a run is where nothing is said; K and dim of a problem are the catalogue's."""

    T: int = 4096
    nu: float = 0.5
    schedule: str = "theorem"
    x1: float = 1.0
    replicates: int = 32
    seed: int = 0
    dtype: str = "float64"
    engine: str = "auto"
    backend: str = "auto"
    noise_source: str = "device"
    per_sample: bool = False


DEFAULT = Defaults()


class Live:
    """An object given in place of its name; it is equal to itself alone."""

    def __init__(self, thing: Any) -> None:
        self.thing = thing

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Live) and other.thing is self.thing

    def __hash__(self) -> int:
        return id(self.thing)

    def __reduce__(self) -> tuple[Any, ...]:
        refuse_unpicklable(self.thing)
        return Live, (self.thing,)

    def __deepcopy__(self, memo: Any) -> Live:
        return self  # a copy would be another object, and so another run


@dataclass(frozen=True)
class ProblemChoice:
    """What is minimised: a name of the catalogue (or package.module:NAME), its size, its dials.

    ``made_of`` is the fingerprint of a user's own code and of data: empty where there is neither.
    """

    name: str
    K: int
    dim: int
    dials: Pairs
    live: Live | None = None
    made_of: str = ""

    @staticmethod
    def of(
        problem: str | Problem, K: object, dim: object, dials: Mapping[str, Any]
    ) -> ProblemChoice:
        """Return the choice, checked by making the problem; dials that all have are filled in.

        Raises
        ------
        UsageError
            As ``load_problem``, and where a live problem is given K, dim or dials.
        """
        if isinstance(problem, str):
            workers = whole("K", USUAL.K if K is None else K)
            given = pairs(dials)
            # to a cache true is 1: the types tell them apart
            kinds = tuple(type(value) for _, value in given)
            length = None if dim is None else whole("dim", dim)
            return _settled(problem, workers, length, given, kinds, _stamp(dials.get("data")))
        refuse_no_problem(problem, problem)
        asked = {"K": K, "dim": dim, **dials}
        for name, value in asked.items():
            has = {"K": problem.K, "dim": problem.dim}.get(name)
            if value is not None and value != has:
                raise UsageError(
                    f"{name} is {value} together with a problem that is made already: set it where"
                    " the problem is made, or name the problem instead."
                )
        return ProblemChoice(
            problem.name, problem.K, problem.dim, pairs(dict(problem.dials)), Live(problem)
        )

    def here(self) -> ProblemChoice:
        """Return the same choice as this process makes it: of another code or data it differs."""
        return ProblemChoice.of(self.name, self.K, self.dim, dict(self.dials))

    def load(self) -> Problem:
        """Return the problem; the last few are kept."""
        if self.live is not None:
            problem: Problem = self.live.thing
            return problem
        return _load(self)

    @property
    def L(self) -> float:
        """The mean-squared smoothness that step sizes are made for."""
        return self._facts[0]

    @property
    def sigma(self) -> float:
        """The noise level, that of its dial where the noise is unbounded."""
        return self._facts[1]

    @cached_property
    def _facts(self) -> tuple[float, float]:
        problem = self.load()
        found = problem.constants()
        bounded = math.isfinite(found.sigma)
        return found.L, found.sigma if bounded else float(problem.dials["sigma"])

    @cached_property
    def text(self) -> str:
        """The canonical text."""
        return canonical(self.to_json())

    def to_json(self) -> dict[str, Any]:
        """Return it as plain JSON values."""
        plain = {"name": self.name, "K": self.K, "dim": self.dim, "dials": dict(self.dials)}
        return plain | ({"made_of": self.made_of} if self.made_of else {})

    @staticmethod
    def from_json(plain: Mapping[str, Any]) -> ProblemChoice:
        """Return the choice that ``to_json`` wrote."""
        return ProblemChoice(
            str(plain["name"]),
            int(plain["K"]),
            int(plain["dim"]),
            pairs(plain["dials"]),
            made_of=str(plain.get("made_of", "")),
        )


@dataclass(frozen=True)
class AlgorithmChoice:
    """How it is minimised: a name (or package.module:NAME) and the options not at their default."""

    name: str
    options: Pairs = ()
    live: Live | None = None
    made_of: str = ""  # the fingerprint of a user's own code

    @staticmethod
    def of(algorithm: str | Entry, options: Mapping[str, Any]) -> AlgorithmChoice:
        """Return the choice of an algorithm with its options, checked."""
        entry = load_algorithm(algorithm)
        name = algorithm if isinstance(algorithm, str) else entry.name
        named = isinstance(algorithm, str) or name in ALGORITHMS
        return AlgorithmChoice(
            name,
            pairs(entry.chosen(options)),
            None if named else Live(entry),
            _code(name) if named else "",
        )

    def here(self) -> AlgorithmChoice:
        """Return the same choice as this process makes it: of another code it differs."""
        return AlgorithmChoice.of(self.name, dict(self.options))

    @property
    def entry(self) -> Entry:
        """The registry's entry, or the user's own."""
        return load_algorithm(self.name if self.live is None else self.live.thing)

    @property
    def settled(self) -> dict[str, Any]:
        """Every option, defaults included."""
        return self.entry.settle(dict(self.options))

    def make(self, L: float) -> Algorithm:
        """Return the algorithm on a problem of smoothness L.

        Raises
        ------
        UsageError
            For a user's own entry that makes none.
        """
        try:
            return self.entry.make(dict(self.options), L)
        except UsageError:
            raise
        except (Exception, SystemExit) as error:
            if self.name in ALGORITHMS:
                raise
            raise UsageError(
                f"{self.name} makes no algorithm ({raised(error)}): let build"
                " return one from its options and L."
            ) from error

    @cached_property
    def text(self) -> str:
        """The canonical text."""
        return canonical(self.to_json())

    def to_json(self) -> dict[str, Any]:
        """Return it as plain JSON values."""
        plain = {"name": self.name, "options": dict(self.options)}
        return plain | ({"made_of": self.made_of} if self.made_of else {})

    @staticmethod
    def from_json(plain: Mapping[str, Any]) -> AlgorithmChoice:
        """Return the choice that ``to_json`` wrote."""
        made_of = str(plain.get("made_of", ""))
        return AlgorithmChoice(str(plain["name"]), pairs(plain["options"]), made_of=made_of)


@dataclass(frozen=True)
class ScheduleChoice:
    """Which step sizes: a name of ``make_schedule`` and its options."""

    name: str
    options: Pairs = ()

    @cached_property
    def text(self) -> str:
        """The canonical text."""
        return canonical(self.to_json())

    def to_json(self) -> dict[str, Any]:
        """Return it as plain JSON values."""
        return {"name": self.name, "options": dict(self.options)}

    @staticmethod
    def from_json(plain: Mapping[str, Any]) -> ScheduleChoice:
        """Return the choice that ``to_json`` wrote."""
        return ScheduleChoice(str(plain["name"]), pairs(plain["options"]))


@dataclass(frozen=True)
class Numerics:
    """How it is computed: ``auto`` is settled when the run starts, or when its sweep is made."""

    dtype: str
    engine: str
    backend: str
    noise_source: str
    per_sample: bool

    @cached_property
    def text(self) -> str:
        """The canonical text."""
        return canonical(asdict(self))


def pairs(mapping: Mapping[str, Any]) -> Pairs:
    """Return the items sorted by name, lists as tuples: a hashable mapping."""
    return tuple(
        (name, tuple(value) if isinstance(value, list) else value)
        for name, value in sorted(mapping.items())
    )


@lru_cache(maxsize=4096)
def _settled(
    name: str, K: int, dim: int | None, given: Pairs, kinds: tuple[type, ...], stamp: object
) -> ProblemChoice:
    """Return the choice of a named problem; one object for one choice, so that its text is kept."""
    del kinds, stamp
    made = load_problem(name, K, dim, **dict(given))  # a user's own problem keeps its K and dim
    on_data = dict(given).get("data") is not None
    has_data = ":" in name or on_data or getattr(problem_entry(name), "needs_data", False)
    made_of = f"{_code(name)}{data_of(made)}" if has_data else ""
    asked = ProblemChoice(name, made.K, made.dim, given, made_of=made_of)
    found = made.dials
    filled = {dial: found[dial] for dial in COMMON_DIALS if found.get(dial) is not None}
    full = replace(asked, dials=pairs({**dict(given), **filled}))
    try:
        return full if full.load().dials == found else asked
    except UsageError:  # a user's own entry that takes none of these dials
        return asked


def _stamp(data: object) -> object:
    """Return what tells that a file of rows was changed, None for what is no file."""
    return stamp_of(Path(data)) if isinstance(data, str | Path) and str(data) else None


def _code(name: str) -> str:
    """Return the fingerprint of the module of package.module:NAME, nothing for a built-in name."""
    module, own, _ = name.partition(":")
    return code_of(module) if own else ""


@lru_cache(maxsize=16)
def _load(choice: ProblemChoice) -> Problem:
    return load_problem(choice.name, K=choice.K, dim=choice.dim, **dict(choice.dials))
