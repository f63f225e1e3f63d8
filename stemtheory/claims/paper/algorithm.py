"""What the listing of Algorithm 1 says without any proof: identities and counts.

Paper: Algorithm (Algo_DR-STORM_batch), Def: ComputationComplexity, Def: CommunicationComplexity.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from stemtheory.claims.base import ALL_READINGS, Case, Mutant, quadratic
from stemtheory.claims.evidence.size_scenes import SizeScene
from stemtheory.claims.language import equal
from stemtheory.claims.language.letters import (
    B,
    I,
    T,
    a,
    b,
    c,
    calls,
    dbar,
    each_round,
    eta,
    exchanges,
    received,
    sent,
    t,
    xbar,
)
from stemtheory.claims.stating import sized, stated


def counts_of(case: Case) -> SizeScene:
    """Return what the simulator counts of a case, beside its sizes."""
    from stemtheory.simulator import simulate  # slow to load, and the ledger needs none

    counts = simulate(replace(case.run, replicates=1)).counts
    columns = {
        "calls": counts.samples_per_worker,
        "exchanges": counts.exchanges,
        "each_round": 2 if case.reading == "average-first" else 1,
        "sent": counts.vectors_up,
        "received": counts.vectors_down,
        "B": case.B or case.b * case.I,
        "K": case.K,
        "b": case.b,
        "I": case.I,
        "T": case.T,
        "t": case.T,
    }
    return SizeScene({name: np.array([float(value)]) for name, value in columns.items()})


def _counted(level: str) -> tuple[Case, ...]:
    sizes = ((1, 1.0, 1), (2, 1.5, 3), (5, 4.0, 2))
    cases = [quadratic(K, b, I, 3, zeta=0.0) for K, b, I in sizes]
    more = [replace(case, reading="average-first", B=7.0) for case in cases]
    return (*cases, *more)


def _as_fedavg(case: Case) -> Case:
    return replace(case, algorithm="fedavg", reading="literal", B=None)


listed = partial(stated, label="Algo_DR-STORM_batch", kind="pathwise", mutants=())
counted = partial(sized, cases=_counted, opened=counts_of)
CLAIMS = (
    listed(
        equal(xbar[t + 1], xbar[t] - eta[t] * dbar[t]),
        id="ALG-1",
        statement="The mean iterate moves along the mean direction at every t, sync or not.",
        readings=ALL_READINGS,
    ),
    listed(
        equal(a[t + 1], c * eta[t] ** 2),
        id="ALG-2",
        statement="The momentum a_{t+1} uses the step eta_t; eta_0 exists.",
    ),
    counted(
        "ALG-3",
        "Def: ComputationComplexity",
        "A worker makes B + 2bT oracle calls (the paper drops the 2 and B).",
        equal(calls, B + 2 * b * T),
        mutants=(Mutant("one gradient a step", change=_as_fedavg),),
    ),
    counted(
        "ALG-4",
        "Algo_DR-STORM_batch",
        "At a synchronisation x and d are both sent: two vectors each way.",
        # and d_1 before the loop
        equal(exchanges, each_round * T / I + 1)
        & equal(sent, 2 * T / I + 1)
        & equal(received, 2 * T / I + 1),
        mutants=(Mutant("d is not sent", change=_as_fedavg),),
    ),
)
