"""A run: everything that can change a number, made and checked in one place, hashable, JSON.

The flags of the command line, Python's keywords, the keys of a sweep's file and the fields of a
case are four spellings of one thing. All of them end in ``Run.of``, which knows every default and
makes every check, so that two spellings of the same run are the same run.

Paper: Algorithm (Algo_DR-STORM_batch), Algorithm (Algo_FedAvg).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from importlib import import_module
from typing import Any, ClassVar, TypedDict, Unpack

import numpy as np

from stemtheory.algorithms import Algorithm, Counts, Entry, full_pass, load_algorithm
from stemtheory.oracles import Problem, staged
from stemtheory.runtime import (
    BACKENDS,
    Floats,
    UsageError,
    Verdict,
    canonical,
    choice,
    mapping,
    one_blas_thread,
    truth,
    whole,
    within_floats,
)
from stemtheory.schedules import Schedule
from stemtheory.simulator.choices import (
    DEFAULT,
    AlgorithmChoice,
    Numerics,
    ProblemChoice,
    ScheduleChoice,
    pairs,
)
from stemtheory.simulator.limits import refuse_what_dtype_lacks
from stemtheory.simulator.sizes import Sizes, resolve_schedule, resolve_sizes, with_sync_batch

JUDGES = "stemtheory.bounds.verdicts"  # loaded when a run or a trace is asked for its bounds

ENGINES = ("auto", "array", "fused")
NOISE_SOURCES = ("device", "host", "philox")
DTYPES = ("float64", "float32")


class Asked(TypedDict, total=False):
    """The keywords of a run; None stands for the default. ``simulate`` says what each is."""

    K: object
    dim: object
    dials: Mapping[str, Any] | None
    algorithm_options: Mapping[str, Any] | None
    sync: str | None
    sync_batch: object
    T: object
    b: object
    I: object
    nu: object
    B: object
    schedule: str | None
    schedule_options: Mapping[str, Any] | None
    x1: Any
    replicates: object
    seed: object
    dtype: str | None
    engine: str | None
    backend: str | None
    noise_source: str | None
    per_sample: object


@dataclass(frozen=True)
class Margin:
    """One bound at the setting of a run.

    ``value`` is the bound, ``margin`` the bound over the upper end of the 95 % interval of the
    measured E||grad f(xbar_a)||^2 (below 1 the bound is not confirmed). It holds if the whole
    interval lies below the bound, is violated if the whole interval lies above it, and vacuous if
    it holds and is no better than ||grad f(x1)||^2. It is inapplicable if the premise ``unmet`` is
    not met: the bound says nothing about this run.

    A reading of the synchronisation is no premise of the printed bounds: the paper never names one.
    Where a printed bound fails under a reading that nobody proved, it is ``violated``.

    ``reason`` says why ``value`` or ``margin`` is None.
    """

    name: str
    value: float | None
    margin: float | None
    verdict: Verdict
    reason: str = ""
    unmet: str = ""


@dataclass(frozen=True)
class Run:
    """One run: a problem, an algorithm, sizes, step sizes, a start, replicates, seed, numerics.

    ``x1`` is one number for all coordinates, or dim of them. ``Run.of`` makes it.

    Examples
    --------
    >>> from stemtheory import Run, simulate
    >>> run = Run.of("cosine", "stem", K=2, dim=2, T=64, nu=1, replicates=8)
    >>> run == Run.from_json(run.to_json())
    True
    >>> simulate(run).run is run
    True
    """

    problem: ProblemChoice
    algorithm: AlgorithmChoice
    sizes: Sizes
    schedule: ScheduleChoice
    x1: float | tuple[float, ...]
    replicates: int
    seed: int
    numerics: Numerics

    # The bounds live in a room above this one, and say there how a run is judged (``JUDGES``).
    judge: ClassVar[Callable[[Run], tuple[Margin, ...]]]

    @staticmethod
    @one_blas_thread()
    def of(problem: str | Problem, algorithm: str | Entry = "stem", **asked: Unpack[Asked]) -> Run:
        """Return the run that was asked for, every default filled in and every part checked.

        Raises
        ------
        UsageError
            For bad input, in one sentence.
        """
        given: dict[str, Any] = {k: v for k, v in asked.items() if v is not None}
        for name in given:
            choice("setting of a run", name, Asked.__annotations__)
        dials = mapping("dials", given.get("dials"))
        with within_floats(**given, **{f"dials.{k}": v for k, v in dials.items()}):
            return Run._made(problem, algorithm, given, dials)

    @staticmethod
    def _made(
        problem: str | Problem, algorithm: str | Entry, given: dict[str, Any], dials: dict[str, Any]
    ) -> Run:
        """Return the run; a number too extreme for it may raise an ArithmeticError."""
        entry = load_algorithm(algorithm)
        chosen = ProblemChoice.of(
            problem,
            given.get("K", entry.pin("K") if isinstance(problem, str) else None),
            given.get("dim"),
            dials,
        )
        options = spelled(
            entry, given.get("algorithm_options"), given.get("sync"), given.get("sync_batch")
        )
        asked_sizes = {name: given[name] for name in ("T", "b", "I", "nu", "B") if name in given}
        run = Run(
            problem=chosen,
            algorithm=AlgorithmChoice.of(algorithm, options),
            sizes=resolve_sizes(entry, chosen.K, chosen.L, **asked_sizes),
            schedule=ScheduleChoice(
                given.get("schedule", DEFAULT.schedule),
                pairs(mapping("schedule_options", given.get("schedule_options"))),
            ),
            x1=start_of(given.get("x1", own_start(chosen.load())), chosen.dim),
            replicates=whole("replicates", given.get("replicates", DEFAULT.replicates)),
            seed=whole("seed", given.get("seed", DEFAULT.seed), 0),
            numerics=_numerics(given),
        )
        if "B" in given and not run.method.costs.initial_batch:
            name = run.algorithm.name
            raise UsageError(f"B is {given['B']}, but {name} has no initial batch: leave B out.")
        _ = run.steps.parameters()  # whatever is wrong with the steps is said now
        options = with_sync_batch(entry, options, run.steps)
        run = replace(run, algorithm=AlgorithmChoice.of(algorithm, options))
        refuse_what_dtype_lacks(run)
        return run

    @cached_property
    def method(self) -> Algorithm:
        """The algorithm, made with its options."""
        return self.algorithm.make(self.problem.L)

    @cached_property
    def steps(self) -> Schedule:
        """The step sizes and momenta."""
        return resolve_schedule(
            self.algorithm.entry,
            self.schedule.name,
            self.sizes,
            self.problem.L,
            self.problem.sigma,
            dict(self.schedule.options),
            dict(self.algorithm.options),
        )

    @property
    def start(self) -> Floats:
        """x_1, shape [dim]."""
        x1 = np.asarray(self.x1, dtype=np.float64)
        return np.broadcast_to(x1, (self.problem.dim,)).copy()

    def costs(self, t: int | None = None) -> Counts:
        """Return what t iterations cost (T unless given), as a run that stays finite counts it.

        Where a coin decides whether a round communicates, in the mean over the coin.
        """
        s, stated = self.sizes, self.method.costs
        return stated.counts(
            s.T if t is None else t,
            b=s.b,
            I=s.I,
            B=s.B,
            K=s.K,
            dim=self.problem.dim,
            pass_samples=full_pass(self.problem.load()) if stated.passes else None,
        )

    def bounds(self) -> tuple[Margin, ...]:
        """Return every bound on the algorithm at this run: value, premises, verdict.

        Without a measurement a verdict says only what the bound itself does: ``vacuous``,
        ``inapplicable``, or ``undecided``.
        """
        import_module(JUDGES)
        return Run.judge(self)

    @property
    def text(self) -> str:
        """The canonical text: what is hashed. Runs with one text lead to the same numbers."""
        s = self.sizes
        sizes = (s.T, s.b, s.I, s.B, self.replicates, self.seed)
        parts = (self.problem.text, self.algorithm.text, self.schedule.text, self.numerics.text)
        return f"[{','.join(parts)},{canonical(self.x1)},{canonical(sizes)}]"

    def to_json(self) -> dict[str, Any]:
        """Return the run as plain JSON values; ``from_json`` reads them back."""
        return {
            "problem": self.problem.to_json(),
            "algorithm": self.algorithm.to_json(),
            "sizes": asdict(self.sizes),
            "schedule": self.schedule.to_json(),
            "x1": list(self.x1) if isinstance(self.x1, tuple) else self.x1,
            "replicates": self.replicates,
            "seed": self.seed,
            "numerics": asdict(self.numerics),
        }

    @staticmethod
    def from_json(plain: Mapping[str, Any]) -> Run:
        """Return the run that ``to_json`` wrote.

        Raises
        ------
        UsageError
            If a part is missing, unknown or of another form.
        """
        try:
            x1 = plain["x1"]
            return Run(
                ProblemChoice.from_json(plain["problem"]),
                AlgorithmChoice.from_json(plain["algorithm"]),
                Sizes(**plain["sizes"]),
                ScheduleChoice.from_json(plain["schedule"]),
                tuple(map(float, x1)) if isinstance(x1, list) else float(x1),
                whole("replicates", plain["replicates"]),
                whole("seed", plain["seed"], 0),
                Numerics(**plain["numerics"]),
            )
        except (KeyError, IndexError, TypeError, AttributeError) as error:
            raise UsageError(
                f"the run is not readable ({type(error).__name__}: {error}): give what to_json of a"
                " run returned."
            ) from error


def spelled(
    entry: Entry, options: object, sync: str | None = None, sync_batch: object = None
) -> dict[str, Any]:
    """Return an algorithm's options, ``sync`` and ``sync_batch`` among them: both are STEM's.

    Raises
    ------
    UsageError
        If another algorithm is given a reading or a sync batch, or one is given twice.
    """
    given = mapping("algorithm_options", options)
    own = {"sync": sync, "sync_batch": sync_batch}
    for name, value in own.items():
        if value is not None and name in given:
            raise UsageError(f"{name} was given twice, but it has one value: leave one out.")
    if "sync" in entry.options:
        return given | {name: value for name, value in own.items() if value is not None}
    if sync not in (None, "literal") or sync_batch not in (None, 1, "1"):
        raise UsageError(
            f"sync {sync or 'literal'} with sync_batch {sync_batch or 1} was given, but"
            f" {entry.name} has one reading only: leave both out, or choose stem."
        )
    return given


def own_start(problem: Problem) -> float:
    """Return where a run starts if nothing is said: where a problem says so, else at 1."""
    chain = staged(problem)
    return DEFAULT.x1 if chain is None else chain.start()


def start_of(x1: Any, dim: int) -> float | tuple[float, ...]:
    """Return x_1 as one number for all coordinates, or ``dim`` of them.

    Raises
    ------
    UsageError
        For anything else.
    """
    allowed = f"but it must be one finite number or {dim} of them (dim)."
    try:
        start = np.asarray(x1)
        start = start.astype(np.float64) if start.dtype.kind in "biuf" else np.array([[]])
    except (TypeError, ValueError) as error:
        raise UsageError(f"x1 is {x1!r:.60}, {allowed}") from error
    if start.size == 0:
        raise UsageError(f"x1 is {x1!r:.60}, {allowed}")
    if start.shape not in ((), (dim,)) or not np.all(np.isfinite(start)):
        raise UsageError(f"x1 has shape {start.shape}, {allowed}")
    return float(start) if start.shape == () else tuple(start.tolist())


def _numerics(given: Mapping[str, Any]) -> Numerics:
    """Return how the numbers are computed."""
    return Numerics(
        dtype=choice("dtype", given.get("dtype", DEFAULT.dtype), DTYPES),
        engine=choice("engine", given.get("engine", DEFAULT.engine), ENGINES),
        backend=choice("backend", given.get("backend", DEFAULT.backend), BACKENDS),
        noise_source=choice(
            "noise_source", given.get("noise_source", DEFAULT.noise_source), NOISE_SOURCES
        ),
        per_sample=truth("per_sample", given.get("per_sample", DEFAULT.per_sample)),
    )
