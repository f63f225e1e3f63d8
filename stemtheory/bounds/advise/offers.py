"""What the bounds advise: the algorithm, b, I, T and steps that reach epsilon at the least cost.

Everything is promised by a proved bound: STEM by Theorem R*, with its own constant steps, and with
the printed ones by the repaired theorem, its log-free corollary and the paper's inequality before
its logarithmic step, which is sound as printed at I = 1; FedAvg and
its case I = 1, minibatch SGD, by the paper's theorem. `advise_on` also runs every offer on a
problem; `search` says what an offer costs.

Paper: Thm: PR_Convergence_Main, Thm: Flexible_FedAvg, Table: Comparison,
Def: ComputationComplexity, Def: CommunicationComplexity.
"""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

from stemtheory.bounds.advise.robustness import robustness, said
from stemtheory.bounds.advise.search import (
    Offer,
    Question,
    cheapest,
    neighbours,
    question,
    rank,
)
from stemtheory.bounds.evaluation import invert
from stemtheory.oracles import USUAL
from stemtheory.schedules import RSTAR_STEPS

PROMISES = (
    "These are worst-case promises: a run often attains epsilon sooner, and a smaller proved cost"
    " does not make an algorithm the faster one in practice."
)
SPEED_UP = {"stem": 2, "fedavg": 3, "minibatch-sgd": 1}  # linear in K from T = K^w


def advise(
    epsilon: object,
    K: object = USUAL.K,
    *,
    L: object = None,
    sigma: object = None,
    zeta: object = None,
    gap: object = None,
    sample_cost: object = 1.0,
    round_cost: object = 0.0,
    participation: object = 1.0,
) -> dict[str, Any]:
    """Return the cheapest proved way to E||grad f(xbar_a)||^2 <= epsilon: the JSON document.

    ``choice`` is None where the start is as good already: ||grad f(x1)||^2 <= 2 L gap <= epsilon.

    Parameters
    ----------
    epsilon, K
        What E||grad f(xbar_a)||^2 is to reach, and the workers.
    L, sigma, zeta, gap
        The constants of the assumptions, and f(x_1) - f*; those left out are the usual ones (zeta
        is 0 with one worker), ``defaults`` names them and ``robustness`` says what they decide.
    sample_cost, round_cost
        What one sample at a worker costs, and a round in which it sends one vector.
    participation
        Share of the workers, above 0 and at most 1, that a round takes, drawn afresh. Below 1 the
        bounds are those of as many workers as a round has: no theorem covers the draw (``proved``
        is false), and STEM, which takes everybody, makes no offer.

    Returns
    -------
    dict
        ``choice`` and ``alternatives`` (algorithm, b, I, T, steps, samples, rounds, cost),
        ``neighbours``, ``sweet_spot``, ``defaults``, ``robustness`` and ``guidance`` in words.

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
    q = question(epsilon, K, L, sigma, zeta, gap, sample_cost, round_cost, participation)
    given = {"L": L, "sigma": sigma, "zeta": zeta, "gap": gap}
    # with one worker zeta is 0, whoever says so
    defaults = [
        name for name, value in given.items() if value is None and (name, q.K) != ("zeta", 1)
    ]
    document: dict[str, Any] = {"question": asdict(q), "defaults": defaults}
    if q.start_is_enough:
        text = (
            f"No guidance: the start itself has ||grad f(x1)||^2 <= 2 L gap = {2 * q.L * q.gap:g},"
            f" which is at most epsilon = {q.epsilon:g}, so every bound there is vacuous."
        )
        empty: dict[str, Any] = {
            "choice": None,
            "alternatives": [],
            "neighbours": [],
            "sweet_spot": None,
            "robustness": [],
        }
        reasons = {"choice": "nothing needs to be run", "sweet_spot": "nothing needs to be run"}
        return document | empty | {"guidance": [text], "reasons": reasons}
    best = {name: cheapest(q, name) for name in q.bounds}
    ranked = sorted(best.values(), key=rank)
    choice = ranked[0]
    around = neighbours(q, choice)
    changed = robustness(q, best, choice, defaults)
    return document | {
        "choice": asdict(choice),
        "alternatives": [asdict(offer) for offer in ranked[1:]],
        "neighbours": [{"change": change} | asdict(offer) for change, offer in around],
        "sweet_spot": sweet_spot(q, best["stem"]) if "stem" in best else None,
        "robustness": changed,
        "guidance": [*guidance(q, best, choice), *said(defaults, q, changed)],
        "reasons": _reasons([*ranked, *(offer for _, offer in around)])
        | ({} if "stem" in best else {"sweet_spot": "only STEM has one"}),
    }


def sweet_spot(q: Question, stem: Offer) -> dict[str, float]:
    """Return the product b I of STEM's curve, sqrt(S)/K for S rounds, and that of the offer.

    S is what the corollary takes for the steps of the offer. Below it rounds grow like 1/(b I);
    above it samples grow like b I, and rounds stay.

    Paper: Rem: Tradeoff.
    """
    corollary = stem.bound if stem.part is not None else "stem-log-free"
    S = invert(corollary, q.epsilon, nu=0.5, **q.constants).rounds
    return {"bI": math.sqrt(S) / q.K, "offered": float(stem.b * stem.I)}


def guidance(q: Question, best: dict[str, Offer], choice: Offer) -> list[str]:
    """Return what the reader must know: where theory says little, and where it says nothing."""
    sgd, stem = best["minibatch-sgd"], best.get("stem")
    texts = []
    if q.share < 1:
        texts.append(
            f"No theorem covers rounds of {q.active} of {q.K} workers, drawn afresh: T is what the"
            " bound promises as many who are always the same, and STEM, which takes everybody, is"
            " left out."
        )
    if choice.T < q.active ** SPEED_UP[choice.algorithm]:
        texts.append(
            f"T = {choice.T} is below K^{SPEED_UP[choice.algorithm]}: no linear speed-up is"
            " promised, so fewer workers would do as well."
        )
    if stem is None:
        pass
    elif sgd.samples <= stem.samples and sgd.rounds <= stem.rounds:
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
        texts += steps_said(choice)
    texts.append(PROMISES)
    return texts


def steps_said(stem: Offer) -> list[str]:
    """Return what the steps of Theorem R* ask of a run that the printed ones do not."""
    if stem.part is None:
        return []
    run = f"--schedule rstar --set schedule.part={stem.part}"
    run += "" if stem.sync == "literal" else f" --sync {stem.sync}"
    texts = [f"The steps are those of Theorem R*, part ({stem.part}), constant: run with {run}."]
    if stem.sync == "average-first":
        texts.append(
            "It is proved where x is averaged before d: two exchanges a round, one vector each."
        )
    if stem.sync_batch > 1:
        texts.append(
            f"The sync batch takes m = {stem.sync_batch} times b samples once a round,"
            f" {stem.sync_samples / stem.samples:.2g} of all samples."
        )
    elif stem.I > 1:
        texts.append(f"No sync batch is needed up to I = {RSTAR_STEPS[stem.part].M}.")
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
