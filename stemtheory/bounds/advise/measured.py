"""What the offers of the bounds take on a problem: run each of them, and see when it is there.

STEM's steps do not depend on T, so that one run tells when its average falls below epsilon for
good. FedAvg's do: it is run at the proved T, at half of it, and so on while epsilon is reached.

Paper: Def: StationaryPt, Def: ComputationComplexity, Def: CommunicationComplexity.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from stemtheory.algorithms import ALGORITHMS
from stemtheory.bounds.advise.offers import advise
from stemtheory.oracles import Problem, refuse_no_problem
from stemtheory.runtime import Floats, UsageError, Verdict, callback, one_blas_thread, part, whole
from stemtheory.simulator import Trace, hitting_time, simulate, start_of

MOST_WORK = 2 * 10**9
"""Longest run tried, T (R K dim + OVERHEAD) in worker-coordinate-steps: about half a minute."""
OVERHEAD = 2000  # what a step costs whatever its size
POINTS = 400  # of a record


@one_blas_thread()
def advise_on(
    problem: Problem,
    epsilon: object,
    *,
    sample_cost: object = 1.0,
    round_cost: object = 0.0,
    x1: float | Sequence[float] = 1.0,
    replicates: object = 16,
    seed: object = 0,
    progress: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """Return the advice for the problem's constants, and what every offer takes on it, measured.

    Each offer gains ``measured`` (iterations with a 95 % interval, samples per worker, rounds and
    cost until the average stays below epsilon, or the reason why there is none), and
    ``measured_choice`` is the cheapest of them.

    Raises
    ------
    UsageError
        As ``advise``; also where the noise of the problem has no bound.
    """
    refuse_no_problem(problem, problem)
    callback("progress", progress)
    if getattr(problem, "estimated", False):
        raise UsageError(
            f"L, sigma and zeta of {problem.name} are estimates from below, so that no bound"
            " promises anything: choose a problem whose constants are known."
        )
    at = np.broadcast_to(start_of(x1, problem.dim), (problem.dim,))
    found = problem.constants(at)
    if not math.isfinite(found.sigma):
        raise UsageError(
            f"the noise of {problem.name} has no bound, so that no theorem speaks of it: choose"
            " another noise."
        )
    names = ("L", "sigma", "zeta", "gap")
    constants: dict[str, object] = {name: getattr(found, name) for name in names}
    document = advise(
        epsilon, problem.K, **constants, sample_cost=sample_cost, round_cost=round_cost
    )
    document["question"]["problem"] = problem.name
    if document["choice"] is None:
        return document | {"measured_choice": None}
    q = document["question"]
    experiment = Experiment(
        problem, q["epsilon"], q["sample_cost"], q["round_cost"], x1,
        whole("replicates", replicates, 2), whole("seed", seed, 0),
    )  # fmt: skip
    offers = [document["choice"], *document["alternatives"], *document["neighbours"]]
    for offer, seen in zip(offers, measured_ways(experiment, offers, progress), strict=True):
        offer["measured"] = asdict(seen)
    reached = [offer for offer in offers if offer["measured"]["cost"] is not None]
    best = min(reached, key=lambda offer: float(offer["measured"]["cost"]), default=None)
    document["guidance"].insert(0, _said_of(document["choice"], best))
    return document | {"measured_choice": best}


def _said_of(choice: dict[str, Any], best: dict[str, Any] | None) -> str:
    """Return in a sentence what the measurement adds to the choice that theory makes."""
    if best is None:
        return "Measured: no offer reached epsilon in a run that could be made here."
    if best is choice:
        factor = choice["T"] / choice["measured"]["T"]
        return f"Measured: theory's choice is the cheapest run too, {factor:.3g} times sooner."
    saved = ""
    if choice["measured"]["cost"] is not None:
        times = choice["measured"]["cost"] / best["measured"]["cost"]
        saved = f", {times:.3g} times cheaper than theory's choice"
    where = f"b = {best['b']}, I = {best['I']}"
    return f"Measured: the cheapest run is {best['algorithm']} with {where}{saved}."


@dataclass(frozen=True)
class Way:
    """A way to reach epsilon: algorithm, b, I, the proved T, first and synchronisation batch."""

    algorithm: str
    b: int
    I: int
    T: int
    B: int | None
    sync_batch: int
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
    replicates: int = 16
    seed: int = 0

    def measure(self, way: Way) -> MeasuredCost:
        """Return what ``way`` takes until M(T) stays at or below epsilon, up to the proved T."""
        if self.too_long(way):
            return MeasuredCost(
                reason=f"a run of T = {way.T} takes longer than half a minute: take a larger"
                " epsilon, fewer replicates or a smaller dim"
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

    def too_long(self, way: Way) -> bool:
        """Whether the run up to the proved T is not tried."""
        return self.work(way) > MOST_WORK

    def work(self, way: Way) -> float:
        """Return the worker-coordinate-steps of the longest run of a way."""
        elements = self.replicates * self.problem.K * self.problem.dim
        return float(way.T) * (elements + OVERHEAD)

    def _cost(self, way: Way, T: float, low: float | None, high: float | None) -> MeasuredCost:
        first = way.B or 0
        samples = first + (way.samples - first) * T / way.T
        before = ALGORITHMS[way.algorithm].make({}).costs.initial_vectors
        vectors = before + (way.vectors - before) * T / way.T
        cost = self.sample_cost * samples + self.round_cost * vectors
        return MeasuredCost(T, low, high, samples, T / way.I, vectors, cost)

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
            sync_batch=way.sync_batch, replicates=self.replicates, x1=self.x1,
            seed=self.seed, record_at=record,
        )  # fmt: skip


def measured_ways(
    experiment: Experiment,
    offers: Sequence[dict[str, Any]],
    progress: Callable[[str], None] = lambda _: None,
) -> list[MeasuredCost]:
    """Return what each offer takes, in their order; offers that are the same run are run once."""
    kept: dict[Way, MeasuredCost] = {}
    ways = list(dict.fromkeys(map(way_of, offers)))
    works = [0.0 if experiment.too_long(way) else experiment.work(way) for way in ways]
    total, done = sum(works) or 1.0, 0.0
    for way, work in zip(ways, works, strict=True):
        if work:
            progress(f"running {way.algorithm} with b = {way.b}, I = {way.I} up to T = {way.T}")
        with part(done / total, (done + work) / total):
            kept[way] = experiment.measure(way)
        done += work
    return [kept[way_of(offer)] for offer in offers]


def way_of(offer: dict[str, Any]) -> Way:
    """Return how an offer is run; minibatch SGD is FedAvg, and is run as it."""
    names = ("b", "I", "T", "B", "sync_batch", "samples", "vectors")
    algorithm = "stem" if offer["algorithm"] == "stem" else "fedavg"
    return Way(algorithm, *(offer[name] for name in names))


def _grid(I: int, T: int) -> list[int]:
    """Return about POINTS ends of rounds from I to T, evenly spaced in their logarithm."""
    rounds = np.unique(np.rint(np.geomspace(1, T // I, POINTS)))
    return [I * int(r) for r in rounds]


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
