"""What the bounds advise: the algorithm, b, I, T and steps that reach epsilon at the least cost.

Everything is promised by a proved bound: STEM by the repaired theorem, its log-free corollary and
the paper's inequality before its logarithmic step, which is sound as printed at I = 1; FedAvg and
its case I = 1, minibatch SGD, by the paper's theorem. `advise_measured` also runs every offer on a
problem. Cost is that of one worker, since workers compute side by side:

    cost = sample_cost * (samples per worker) + round_cost * rounds.

Paper: Thm: PR_Convergence_Main, Thm: Flexible_FedAvg, Table: Comparison,
Def: ComputationComplexity, Def: CommunicationComplexity.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from stemtheory.bounds.evaluation import Inversion, invert
from stemtheory.oracles import USUAL, resolve_zeta
from stemtheory.runtime import UsageError, real, whole
from stemtheory.schedules import FedAvgTheorem, Theorem

# For each algorithm the bounds that speak of it; minibatch SGD is FedAvg with I = 1.
BOUNDS = {
    "stem": ("stem-log-free", "stem-repaired", "stem-intermediate"),  # the last also at I = 1
    "minibatch-sgd": ("minibatch-sgd",),  # before FedAvg: simpler where they coincide
    "fedavg": ("fedavg-theorem",),
}
NUS = tuple(n / 10 for n in range(11))
SPEED_UP = {"stem": 2, "fedavg": 3, "minibatch-sgd": 1}  # linear in K from T = K^w


@dataclass(frozen=True)
class Question:
    """What is to be reached, with which constants, and what a sample and a round cost."""

    epsilon: float
    K: int
    L: float
    sigma: float
    zeta: float
    gap: float
    sample_cost: float
    round_cost: float

    @property
    def constants(self) -> dict[str, Any]:
        """The keywords of `bounds.invert`."""
        return {k: getattr(self, k) for k in ("K", "L", "sigma", "zeta", "gap")}


@dataclass(frozen=True)
class Offer:
    """One way to reach epsilon, by one bound. ``samples`` are per worker, ``b`` is whole.

    ``nu`` is where (b, I) come from, None off the curve; ``eta`` and ``a`` are constant until step
    ``constant_until`` (None: to the end); ``a`` is None where there is no momentum.
    """

    algorithm: str
    bound: str
    nu: float | None
    b: int
    I: int
    T: int
    B: int | None
    sync_batch: int
    eta: float
    a: float | None
    constant_until: int | None
    samples: float
    samples_total: float
    rounds: int
    cost: float


def advise(
    epsilon: object,
    K: object = USUAL.K,
    *,
    L: object = USUAL.L,
    sigma: object = USUAL.sigma,
    zeta: object = None,
    gap: object = USUAL.gap,
    sample_cost: object = 1.0,
    round_cost: object = 0.0,
) -> dict[str, Any]:
    """Return the cheapest proved way to E||grad f(xbar_a)||^2 <= epsilon: the JSON document.

    ``choice`` is None where the start is as good already: ||grad f(x1)||^2 <= 2 L gap <= epsilon.

    Parameters
    ----------
    epsilon, K
        What E||grad f(xbar_a)||^2 is to reach, and the workers.
    L, sigma, zeta, gap
        The constants of the assumptions, and f(x_1) - f*; zeta is 1, or 0 with one worker.
    sample_cost, round_cost
        What one sample at a worker and one round cost.

    Returns
    -------
    dict
        ``choice`` and ``alternatives`` (algorithm, b, I, T, steps, samples, rounds, cost),
        ``neighbours``, ``sweet_spot`` and ``guidance`` in words.

    Raises
    ------
    UsageError
        For numbers out of range, or both costs 0.

    Examples
    --------
    >>> from stemtheory import advise
    >>> advise(1e-2)["choice"]["algorithm"]
    'stem'
    """
    q = question(epsilon, K, L, sigma, zeta, gap, sample_cost, round_cost)
    document: dict[str, Any] = {"question": asdict(q)}
    if 2 * q.L * q.gap <= q.epsilon:
        text = (
            f"No guidance: the start itself has ||grad f(x1)||^2 <= 2 L gap = {2 * q.L * q.gap:g},"
            f" which is at most epsilon = {q.epsilon:g}, so every bound there is vacuous."
        )
        empty: dict[str, Any] = {
            "choice": None,
            "alternatives": [],
            "neighbours": [],
            "sweet_spot": None,
        }
        reasons = {"choice": "nothing needs to be run", "sweet_spot": "nothing needs to be run"}
        return document | empty | {"guidance": [text], "reasons": reasons}
    best = {name: cheapest(q, name) for name in BOUNDS}
    ranked = sorted(best.values(), key=rank)
    choice = ranked[0]
    around = neighbours(q, choice)
    return document | {
        "choice": asdict(choice),
        "alternatives": [asdict(offer) for offer in ranked[1:]],
        "neighbours": [{"change": change} | asdict(offer) for change, offer in around],
        "sweet_spot": sweet_spot(q, best["stem"]),
        "guidance": guidance(q, best, choice),
        "reasons": _reasons([*ranked, *(offer for _, offer in around)]),
    }


def question(
    epsilon: object,
    K: object,
    L: object,
    sigma: object,
    zeta: object,
    gap: object,
    sample_cost: object,
    round_cost: object,
) -> Question:
    """Return the question, checked; zeta is 1 by default and 0 with one worker."""
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
        real("L", L, positive=True),
        real("sigma", sigma, minimum=0),
        resolve_zeta(workers, given, "sinusoid")[0],
        real("gap", gap, minimum=0),
        *costs,
    )


def rank(offer: Offer) -> tuple[float, int, float]:
    """Return what offers are compared by: cost, then rounds, then samples."""
    return offer.cost, offer.rounds, offer.samples


@functools.lru_cache(maxsize=64)
def cheapest(q: Question, algorithm: str) -> Offer:
    """Return the cheapest offer of an algorithm: from its curve downhill in (b, I).

    From every point of the curve b and I are halved and doubled while that costs less.
    """
    starts = {(offer.b, offer.I): offer for offer in sorted(along(q, algorithm), key=rank)[::-1]}
    return min((_downhill(q, offer) for offer in starts.values()), key=rank)


def _downhill(q: Question, found: Offer) -> Offer:
    while True:
        better = min((offer for _, offer in neighbours(q, found)), key=rank, default=found)
        if rank(better) >= rank(found):
            return found
        found = better


def along(q: Question, algorithm: str) -> Iterator[Offer]:
    """Yield the offers along the trade-off curve, b rounded either way to whole samples."""
    for bound in BOUNDS[algorithm]:
        for nu in (0.0,) if algorithm == "minibatch-sgd" else NUS:
            point = invert(bound, q.epsilon, nu=nu, **q.constants)
            for b in {max(1, math.floor(point.b)), math.ceil(point.b)}:
                offer = at(q, algorithm, bound, b, point.I, nu)
                if offer is not None:
                    yield offer


def neighbours(q: Question, offer: Offer) -> list[tuple[str, Offer]]:
    """Return the offers with b or I halved or doubled, by the best bound for each."""
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
        if b < 1 or I < 1:
            continue
        if (other := cheapest_at(q, offer.algorithm, b, I)) is not None:
            found.append((name, other))
    return found


def cheapest_at(q: Question, algorithm: str, b: int, I: int) -> Offer | None:
    """Return the offer at fixed (b, I) by the best bound; None where none proves anything."""
    offers = (at(q, algorithm, bound, b, I, None) for bound in BOUNDS[algorithm])
    return min((offer for offer in offers if offer is not None), key=rank, default=None)


@functools.lru_cache(maxsize=4096)
def at(q: Question, algorithm: str, bound: str, b: int, I: int, nu: float | None) -> Offer | None:
    """Return the offer at fixed (b, I); None where no run is proved to reach epsilon there."""
    name = "fedavg-theorem" if bound == "minibatch-sgd" else bound
    try:
        found = invert(name, q.epsilon, b=b, I=I, **q.constants)
    except UsageError:
        return None
    if not found.bound.applies:
        return None
    return _offer(q, algorithm, bound, found, nu)


def _offer(q: Question, algorithm: str, bound: str, found: Inversion, nu: float | None) -> Offer:
    b, I, T = round(found.b), found.I, found.T
    stem = algorithm == "stem"
    end = None
    if stem:
        steps = Theorem(q.L, q.K, b, I)
        eta, a = float(steps.eta(1)), float(steps.momentum(2))
        end = int(steps.constant_phase_end) if steps.constant_phase_end < T else None
    else:
        eta, a = float(FedAvgTheorem(T, q.K, b, I, q.L).eta(1)), None
    cost = q.sample_cost * found.samples_per_worker + q.round_cost * found.rounds
    return Offer(
        algorithm,
        bound,
        nu,
        b,
        I,
        T,
        b * I if stem else None,
        found.bound.setting.sync_batch,
        eta,
        a,
        end,
        found.samples_per_worker,
        found.samples_total,
        found.rounds,
        cost,
    )


def sweet_spot(q: Question, stem: Offer) -> dict[str, float]:
    """Return the product b I of STEM's curve, sqrt(S)/K for S rounds, and that of the offer.

    Below it rounds grow like 1/(b I); above it samples grow like b I, and rounds stay.

    Paper: Rem: Tradeoff.
    """
    S = invert("stem-log-free", q.epsilon, nu=0.5, **q.constants).rounds
    return {"bI": math.sqrt(S) / q.K, "offered": float(stem.b * stem.I)}


def guidance(q: Question, best: dict[str, Offer], choice: Offer) -> list[str]:
    """Return what the reader must know: where theory says little, and where it says nothing."""
    sgd, stem = best["minibatch-sgd"], best["stem"]
    texts = []
    if choice.T < q.K ** SPEED_UP[choice.algorithm]:
        texts.append(
            f"T = {choice.T} is below K^{SPEED_UP[choice.algorithm]}: no linear speed-up is"
            " promised, so fewer workers would do as well."
        )
    if sgd.samples <= stem.samples and sgd.rounds <= stem.rounds:
        texts.append(
            "Minibatch SGD dominates STEM here, in samples and in rounds: at this epsilon theory"
            " gives no reason for momentum or local steps."
        )
    elif sgd.rounds <= stem.rounds:
        texts.append(
            "Minibatch SGD takes fewer rounds than STEM and more samples: with dear rounds theory"
            " prefers it."
        )
    if choice.algorithm == "stem":
        spot = sweet_spot(q, choice)
        texts.append(
            f"STEM's curve has b I = {spot['bI']:.3g}, here b I = {spot['offered']:g}: below the"
            " curve samples are saved until rounds grow, above it only samples grow."
        )
    texts.append(
        "These are worst-case promises: a run often attains epsilon sooner, and a smaller proved"
        " cost does not make an algorithm the faster one in practice."
    )
    return texts


def _reasons(offers: list[Offer]) -> dict[str, str]:
    """Say once why a number may be null."""
    said = {
        "nu": "b or I was moved off the curve, which costs less",
        "a": "FedAvg and minibatch SGD have no momentum",
        "B": "only STEM has a first batch",
        "constant_until": "the steps are constant to the end",
    }
    empty = {name for name in said for offer in offers if getattr(offer, name) is None}
    return {name: text for name, text in said.items() if name in empty}
