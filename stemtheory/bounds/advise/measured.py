"""What the offers of the bounds take on a problem: each of them is run, and set beside the others.

Paper: Def: StationaryPt, Def: ComputationComplexity, Def: CommunicationComplexity.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from stemtheory.bounds.advise.offers import advise
from stemtheory.bounds.advise.runs import Experiment, measured_ways, way_of
from stemtheory.oracles import Problem, refuse_no_problem
from stemtheory.runtime import UsageError, callback, one_blas_thread, rounded, whole
from stemtheory.simulator import start_of


@one_blas_thread()
def advise_on(
    problem: Problem,
    epsilon: object,
    *,
    sample_cost: object = 1.0,
    round_cost: object = 0.0,
    participation: object = 1.0,
    x1: float | Sequence[float] = 1.0,
    replicates: object = None,
    seed: object = 0,
    progress: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """Return the advice for the problem's constants, and what every offer takes on it, measured.

    Each offer gains ``measured`` (iterations with a 95 % interval, samples per worker, rounds and
    cost until the average stays below epsilon, or the reason why there is none), and
    ``measured_choice`` is the cheapest of them. All runs together take about half a minute: 16
    ``replicates`` of each unless given, 8 or 4 where these would take longer; what is longer still
    is not run, and says so.

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
        epsilon, problem.K, **constants, sample_cost=sample_cost, round_cost=round_cost,
        participation=participation,
    )  # fmt: skip
    document["question"]["problem"] = problem.name
    if document["choice"] is None:
        return document | {"measured_choice": None}
    q = document["question"]
    offers = [document["choice"], *document["alternatives"], *document["neighbours"]]
    ways = [way_of(offer) for offer in offers]
    experiment = Experiment(
        problem, q["epsilon"], q["sample_cost"], q["round_cost"], x1,
        seed=whole("seed", seed, 0), participation=q["participation"],
    )  # fmt: skip
    if replicates is None:
        experiment = experiment.in_time(ways)
    else:
        experiment = replace(experiment, replicates=whole("replicates", replicates, 2))
    for offer, seen in zip(offers, measured_ways(experiment, ways, progress), strict=True):
        offer["measured"] = asdict(seen)
    reached = [offer for offer in offers if offer["measured"]["cost"] is not None]
    best = min(reached, key=lambda offer: float(offer["measured"]["cost"]), default=None)
    document["guidance"].insert(0, _said_of(document["choice"], best))
    return document | {"measured_choice": best, "replicates": experiment.replicates}


def _said_of(choice: dict[str, Any], best: dict[str, Any] | None) -> str:
    """Return in a sentence what the measurement adds to the choice that theory makes."""
    if best is None:
        return "Measured: no offer reached epsilon in a run that could be made here."
    if best is choice:
        factor = choice["T"] / choice["measured"]["T"]
        return f"Measured: theory's choice is the cheapest run too, {rounded(factor)} times sooner."
    saved = ""
    if choice["measured"]["cost"] is not None:
        times = choice["measured"]["cost"] / best["measured"]["cost"]
        saved = f", {rounded(times)} times cheaper than theory's choice"
    where = f"b = {best['b']}, I = {best['I']}"
    return f"Measured: the cheapest run is {best['algorithm']} with {where}{saved}."
