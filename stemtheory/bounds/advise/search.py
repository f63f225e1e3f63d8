"""The cheapest offer that a bound proves: every one at a fixed (b, I), and the search over them.

Cost is that of one worker, since workers compute side by side, and counts what the algorithm's own
statement counts (``stemtheory.algorithms.costs``). A round of STEM sends two vectors, one of
FedAvg one:

    cost = sample_cost * (samples per worker) + round_cost * (vectors that a worker sends).

Paper: Def: ComputationComplexity, Def: CommunicationComplexity.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from stemtheory.algorithms import ALGORITHMS, active, share
from stemtheory.bounds.evaluation import BOUNDS as FORMULAS
from stemtheory.bounds.evaluation import counts_of, invert, promised
from stemtheory.bounds.formulas import Setting
from stemtheory.oracles import USUAL, resolve_zeta
from stemtheory.runtime import UsageError, real, whole

# For each algorithm the bounds that speak of it; minibatch SGD is FedAvg with I = 1.
BOUNDS = {
    "stem": (
        *("stem-log-free", "stem-repaired", "stem-intermediate"),  # the last also at I = 1
        *(f"stem-rstar-{part}" for part in "bcde"),  # (a) never costs less than (b)
    ),
    "minibatch-sgd": ("minibatch-sgd",),  # before FedAvg: simpler where they coincide
    "fedavg": ("fedavg-theorem",),
}
NUS = tuple(n / 10 for n in range(11))
STRIDES = (1, 1 / 4, 1 / 16, 0)  # of b and I: halved and doubled first, neighbours at the last


@dataclass(frozen=True)
class Question:
    """What is to be reached, with which constants, and what a sample and a round cost.

    ``round_cost`` is what a round costs in which a worker sends one vector; ``participation`` is
    the share of the workers that take part in a round.
    """

    epsilon: float
    K: int
    L: float
    sigma: float
    zeta: float
    gap: float
    sample_cost: float
    round_cost: float
    participation: float = 1.0

    @property
    def active(self) -> int:
        """The workers of a round."""
        return active(self.participation, self.K)

    @property
    def share(self) -> float:
        """The workers of a round over all of them: 1 where a share rounds up to everybody."""
        return self.active / self.K

    @property
    def bounds(self) -> dict[str, tuple[str, ...]]:
        """What speaks of each algorithm that runs with this many workers in a round."""
        takes = {name: ALGORITHMS[name].options for name in BOUNDS}
        return {
            name: bounds
            for name, bounds in BOUNDS.items()
            if self.share == 1 or "participation" in takes[name]
        }

    @property
    def constants(self) -> dict[str, Any]:
        """The keywords of `bounds.invert`, for the workers of a round."""
        own = {k: getattr(self, k) for k in ("L", "sigma", "zeta", "gap")}
        return {"K": self.active, **own}

    @property
    def start_is_enough(self) -> bool:
        """Whether the start is as good already: ||grad f(x1)||^2 <= 2 L gap <= epsilon."""
        return 2 * self.L * self.gap <= self.epsilon


@dataclass(frozen=True)
class Offer:
    """One way to reach epsilon, by one bound.

    ``samples`` and ``vectors`` are means over the workers, whereas ``cost`` is that of one that
    takes part in every round, since the others wait for it: time, where a sample and a vector are
    given in seconds. ``proved`` says whether the bound speaks of the run: not where some workers
    stay away.
    ``nu`` is where (b, I) come from, None off the curve; ``eta`` and ``a`` are constant until step
    ``constant_until`` (None: to the end); ``a`` is None where there is no momentum. ``schedule``,
    its ``part`` and the reading ``sync`` are what the run takes. ``sync_samples`` is how many of
    the samples the sync batch adds to those of Algorithm 1.
    """

    algorithm: str
    bound: str
    nu: float | None
    b: int
    I: int
    T: int
    B: int | None
    sync_batch: int
    sync_samples: float
    schedule: str
    part: str | None
    sync: str
    eta: float
    a: float | None
    constant_until: int | None
    samples: float
    samples_total: float
    rounds: int
    vectors: float
    cost: float
    proved: bool


def question(
    epsilon: object,
    K: object,
    L: object,
    sigma: object,
    zeta: object,
    gap: object,
    sample_cost: object,
    round_cost: object,
    participation: object = 1.0,
) -> Question:
    """Return the question, checked; constants that are None are the usual ones."""
    workers = whole("K", K)
    given = None if zeta is None else real("zeta", zeta, minimum=0)
    costs = (
        real("sample_cost", sample_cost, minimum=0),
        real("round_cost", round_cost, minimum=0),
    )
    if costs == (0, 0):
        raise UsageError(
            "sample_cost and round_cost are both 0, but then everything is free: give one above 0."
        )
    return Question(
        real("epsilon", epsilon, positive=True),
        workers,
        real("L", USUAL.L if L is None else L, positive=True),
        real("sigma", USUAL.sigma if sigma is None else sigma, minimum=0),
        resolve_zeta(workers, given, "sinusoid")[0],
        real("gap", USUAL.gap if gap is None else gap, minimum=0),
        *costs,
        share("participation", participation),
    )


def rank(offer: Offer) -> tuple[float, int, float]:
    """Return what offers are compared by: cost, then rounds, then samples."""
    return offer.cost, offer.rounds, offer.samples


@functools.lru_cache(maxsize=64)
def cheapest(q: Question, algorithm: str, near: Offer | None = None) -> Offer:
    """Return the cheapest offer of an algorithm: downhill in (b, I), by ever shorter strides.

    It starts at every point of the curve, or at the (b, I) of another question's offer ``near``.
    At the last stride b and I change by one, alone and together.
    """
    first = None if near is None else cheapest_at(q, algorithm, near.b, near.I)
    starts = along(q, algorithm) if first is None else iter((first,))
    distinct = {(offer.b, offer.I): offer for offer in sorted(starts, key=rank)[::-1]}
    found = min((_downhill(q, offer, STRIDES[0]) for offer in distinct.values()), key=rank)
    for stride in STRIDES[1:]:
        found = _downhill(q, found, stride)
    return found


def _downhill(q: Question, found: Offer, stride: float) -> Offer:
    while True:
        better = min((found, *_around(q, found, stride)), key=rank)
        if rank(better) >= rank(found):
            return found
        found = better


def _around(q: Question, offer: Offer, stride: float) -> Iterator[Offer]:
    """Yield the offers whose b, I or both are a stride away."""
    one_step = offer.algorithm == "minibatch-sgd"
    for b in _strides(offer.b, stride):
        for I in (1,) if one_step else _strides(offer.I, stride):
            other = cheapest_at(q, offer.algorithm, b, I)
            if other is not None:
                yield other


def _strides(n: int, stride: float) -> tuple[int, ...]:
    """Return n, and the whole numbers a factor 1 + stride (at least one) below and above it.

    From small to large: the first of offers that rank the same is the one that a search takes.
    """
    low, high = math.floor(n / (1 + stride)), math.ceil(n * (1 + stride))
    return tuple(sorted({max(1, min(low, n - 1)), n, max(high, n + 1)}))


def along(q: Question, algorithm: str) -> Iterator[Offer]:
    """Yield the offers along the trade-off curve, b rounded either way to whole samples."""
    for bound in q.bounds[algorithm]:
        for nu in (0.0,) if algorithm == "minibatch-sgd" else NUS:
            point = invert(bound, q.epsilon, nu=nu, **q.constants)
            for b in sorted({max(1, math.floor(point.b)), math.ceil(point.b)}):
                offer = at(q, algorithm, bound, b, point.I, nu)
                if offer is not None:
                    yield offer


def neighbours(q: Question, offer: Offer) -> list[tuple[str, Offer]]:
    """Return the offers with b or I halved or doubled, by the best bound for each.

    A half of one is no minibatch and no number of local steps, of which no bound speaks.
    """
    changes = {
        "b/2": (offer.b // 2, offer.I),
        "2b": (2 * offer.b, offer.I),
        "I/2": (offer.b, offer.I // 2),
        "2I": (offer.b, 2 * offer.I),
    }
    if offer.algorithm == "minibatch-sgd":
        changes = {name: changes[name] for name in ("b/2", "2b")}
    found = []
    for name, (b, I) in changes.items():
        if (other := cheapest_at(q, offer.algorithm, b, I)) is not None:
            found.append((name, other))
    return found


def cheapest_at(q: Question, algorithm: str, b: int, I: int) -> Offer | None:
    """Return the offer at fixed (b, I) by the best bound; None where none proves anything."""
    offers = (at(q, algorithm, bound, b, I, None) for bound in q.bounds[algorithm])
    return min((offer for offer in offers if offer is not None), key=rank, default=None)


@functools.lru_cache(maxsize=16384)
def at(q: Question, algorithm: str, bound: str, b: int, I: int, nu: float | None) -> Offer | None:
    """Return the offer at fixed (b, I); None where no run is proved to reach epsilon there."""
    name = "fedavg-theorem" if bound == "minibatch-sgd" else bound
    try:
        setting = promised(name, q.epsilon, Setting(1, b=b, I=I, **q.constants))
    except UsageError:
        return None
    if not all(premise.ok for premise in FORMULAS[name].premises(setting)):
        return None
    return _offer(q, algorithm, bound, setting, nu)


def _offer(q: Question, algorithm: str, bound: str, s: Setting, nu: float | None) -> Offer:
    b, I, T = round(s.b), s.I, round(s.T)
    formula = FORMULAS["fedavg-theorem" if bound == "minibatch-sgd" else bound]
    stem, sync = algorithm == "stem", formula.readings[0] if I > 1 else "literal"
    steps = formula.steps(s.at(b=b))
    decays = getattr(steps, "constant_phase_end", math.inf)
    counted = counts_of(formula.algorithm, s, sync)
    samples, vectors = counted.samples_per_worker, counted.vectors_up
    plain = samples
    if s.sync_batch > 1:
        plain = counts_of(formula.algorithm, s.at(sync_batch=1), sync).samples_per_worker
    return Offer(
        algorithm,
        bound,
        nu,
        b,
        I,
        T,
        b * I if stem else None,
        s.sync_batch,
        samples - plain,
        formula.schedule,
        formula.part,
        sync,
        float(steps.eta(1)),
        float(steps.momentum(2)) if stem else None,
        int(decays) if decays < T else None,
        samples if q.share == 1 else q.share * samples,  # a whole number stays one
        q.active * samples,
        T // I,
        vectors if q.share == 1 else q.share * vectors,
        q.sample_cost * samples + q.round_cost * vectors,
        q.share == 1,
    )
