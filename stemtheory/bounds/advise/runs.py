"""A way to reach epsilon is run: how long it takes until it is there, and how long that may last.

STEM's steps do not depend on T, so that one run tells when its average falls below epsilon for
good. FedAvg's do: it is run at the proved T, at half of it, and so on while epsilon is reached.

Paper: Def: StationaryPt, Def: ComputationComplexity, Def: CommunicationComplexity.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple

import numpy as np

from stemtheory.algorithms import ALGORITHMS, active
from stemtheory.oracles import Problem
from stemtheory.runtime import Floats, Verdict, part
from stemtheory.schedules import FedAvgTheorem
from stemtheory.simulator import Trace, compiles, hitting_time, simulate

MOST_SECONDS = 20.0  # of all runs together, as forecast; compiling comes on top, once
REPLICATES = (16, 8, 4)  # the first with which every way is run in that time
# Forecast of a step, and of a coordinate of a worker in it: where numba compiles it and where not.
FUSED, ARRAY = (4e-6, 1.2e-8), (1e-4, 1.5e-7)
COMPILES_FROM = 8.0  # forecast seconds of the array engine: about what compiling takes
POINTS = 400  # of a record


@dataclass(frozen=True)
class Way:
    """A way to reach epsilon: algorithm, b, I, the proved T, batches, steps and reading."""

    algorithm: str
    b: int
    I: int
    T: int
    B: int | None
    sync_batch: int
    schedule: str
    part: str | None  # of Theorem R*
    sync: str
    samples: float  # per worker, of all T iterations
    vectors: float  # that a worker sends in them


@dataclass(frozen=True)
class MeasuredCost:
    """Iterations, samples per worker, rounds, vectors sent and cost to epsilon as measured.

    All are None where ``reason`` says why; ``low`` and ``high`` are a 95 % interval for T.
    """

    T: float | None = None
    low: float | None = None
    high: float | None = None
    samples: float | None = None
    rounds: float | None = None
    vectors: float | None = None
    cost: float | None = None
    reason: str = ""


@dataclass(frozen=True)
class Experiment:
    """Where and how it is measured, and what a sample costs and a round of one vector."""

    problem: Problem
    epsilon: float
    sample_cost: float
    round_cost: float
    x1: float | Sequence[float] = 1.0
    replicates: int = REPLICATES[0]
    seed: int = 0
    participation: float = 1.0

    def in_time(self, ways: Sequence[Way]) -> Experiment:
        """Return it with the most replicates that let all ways be run, or else with the fewest."""
        tried = [replace(self, replicates=n) for n in REPLICATES]
        fitting = (e for e in tried if sum(map(e.seconds, set(ways))) <= MOST_SECONDS)
        return next(fitting, tried[-1])

    def measure(self, way: Way, room: float = MOST_SECONDS) -> MeasuredCost:
        """Return what ``way`` takes until M(T) stays at or below epsilon, up to the proved T.

        ``room`` are the seconds that it may take, as forecast.
        """
        if self.seconds(way) > room:
            return MeasuredCost(
                reason=f"with a run of T = {way.T} all takes longer than half a minute: take a"
                " larger epsilon, fewer replicates or a smaller dim"
            )
        times, running = (self._record if way.algorithm == "stem" else self._lengths)(way)
        if not np.isfinite(running).all():
            return MeasuredCost(reason="a replicate diverged")
        found = hitting_time(times, running, self.epsilon, seed=self.seed)
        if found.status == Verdict.NOT_REACHED:
            return MeasuredCost(reason=f"epsilon was not reached within the proved T = {way.T}")
        if not found.reached:
            return MeasuredCost(reason=f"epsilon is reached before T = {int(times[0])}")
        return self._cost(way, found.T, _finite(found.low), _finite(found.high))

    def seconds(self, way: Way, rates: tuple[float, float] | None = None) -> float:
        """Return the forecast for a way, by the engine that takes it unless ``rates`` are given.

        FedAvg's runs, each half as long as the one before, take as long as one of 2 T.
        """
        step, element = rates or (FUSED if self.engine(way) == "fused" else ARRAY)
        elements = self.replicates * self.problem.K * self.problem.dim
        runs = 1 if way.algorithm == "stem" else 2
        return runs * float(way.T) * (step + element * elements)

    def engine(self, way: Way) -> str:
        """Return the engine of all runs of a way: the compiled one where it can and it pays."""
        long = self.seconds(way, ARRAY) > COMPILES_FROM
        made = ALGORITHMS[way.algorithm].make(self._options(way), self.L)
        return "fused" if long and compiles(self.problem, made, way.T, way.I) else "array"

    @property
    def L(self) -> float:
        """The smoothness that the steps of a theorem are made of."""
        return self.problem.constants(np.zeros(self.problem.dim)).L

    def _cost(self, way: Way, T: float, low: float | None, high: float | None) -> MeasuredCost:
        first = way.B or 0
        samples = first + (way.samples - first) * T / way.T
        before = ALGORITHMS[way.algorithm].make({}).costs.initial_vectors
        vectors = before + (way.vectors - before) * T / way.T
        # samples and vectors are means over the workers, the cost that of one who is always there
        cost = (self.sample_cost * samples + self.round_cost * vectors) / self.share
        return MeasuredCost(T, low, high, samples, T / way.I, vectors, cost)

    @property
    def share(self) -> float:
        """The workers of a round over all of them."""
        return active(self.participation, self.problem.K) / self.problem.K

    def _record(self, way: Way) -> tuple[Floats, Floats]:
        """Return the running average of one run: times (n,), values (n, R)."""
        trace = self._run(way, way.T, _grid(way.I, way.T))
        return trace.times.astype(float), trace.running

    def _lengths(self, way: Way) -> tuple[Floats, Floats]:
        """Return the averages of runs of T, T/2, ..., down to the first one above epsilon."""
        found: dict[int, Floats] = {}
        T = way.T
        while T >= way.I and T not in found:
            with part(1 - T / way.T, 1 - T / way.T / 2):
                found[T] = self._run(way, T).grad_sq
            if not found[T].mean() <= self.epsilon:
                break
            T = way.I * (T // (2 * way.I))
        times = sorted(found)
        return np.array(times, float), np.array([found[t] for t in times])

    def _run(self, way: Way, T: int, record: Sequence[int] = ()) -> Trace:
        return simulate(
            self.problem, way.algorithm, T=T, b=way.b, I=way.I, B=way.B,
            replicates=self.replicates, x1=self.x1, seed=self.seed, record_at=record,
            engine=self.engine(way), algorithm_options=self._options(way), **self._steps(way, T),
        )  # fmt: skip

    def _options(self, way: Way) -> dict[str, Any]:
        if way.algorithm == "stem":
            return {"sync": way.sync, "sync_batch": way.sync_batch}
        return {} if self.share == 1 else {"participation": self.participation}

    def _steps(self, way: Way, T: int) -> dict[str, Any]:
        """Return the schedule; without everybody, the steps of as many workers as a round has."""
        if self.share == 1:
            own = {} if way.part is None else {"part": way.part}
            return {"schedule": way.schedule, "schedule_options": own}
        n = active(self.participation, self.problem.K)
        eta = float(FedAvgTheorem(T, n, way.b, way.I, self.L).eta(1))
        return {"schedule": "constant", "schedule_options": {"eta": eta}}


def measured_ways(
    experiment: Experiment,
    ways: Sequence[Way],
    progress: Callable[[str], None] = lambda _: None,
) -> list[MeasuredCost]:
    """Return what each way takes, in their order; ways that are the same run are run once.

    The first ones are run first, and one for which no time is left is not run.
    """
    kept: dict[Way, MeasuredCost] = {}
    rooms, done = _rooms(experiment, ways), 0.0
    total = sum(room.takes for room in rooms.values() if room.fits) or 1.0
    for way, room in rooms.items():
        if not room.fits:
            kept[way] = experiment.measure(way, room.left)
            continue
        progress(f"running {way.algorithm} with b = {way.b}, I = {way.I} up to T = {way.T}")
        with part(done / total, (done + room.takes) / total):
            kept[way] = experiment.measure(way, room.left)
        done += room.takes
    return [kept[way] for way in ways]


class _Room(NamedTuple):
    """The seconds that the runs of a way take, and those that are left for them."""

    takes: float
    left: float

    @property
    def fits(self) -> bool:
        """Whether the runs are made."""
        return self.takes <= self.left


def _rooms(experiment: Experiment, ways: Sequence[Way]) -> dict[Way, _Room]:
    rooms, left = {}, MOST_SECONDS
    for way in dict.fromkeys(ways):
        rooms[way] = room = _Room(experiment.seconds(way), left)
        left -= room.takes if room.fits else 0.0
    return rooms


def way_of(offer: dict[str, Any]) -> Way:
    """Return how an offer is run; minibatch SGD is FedAvg, and is run as it."""
    names = [field.name for field in fields(Way) if field.name != "algorithm"]
    algorithm = "stem" if offer["algorithm"] == "stem" else "fedavg"
    return Way(algorithm, **{name: offer[name] for name in names})


def _grid(I: int, T: int) -> list[int]:
    """Return about POINTS ends of rounds from I to T, evenly spaced in their logarithm."""
    rounds = np.unique(np.rint(np.geomspace(1, T // I, POINTS)))
    return [I * int(r) for r in rounds]


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
