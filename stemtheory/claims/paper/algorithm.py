"""What the listing of Algorithm 1 says without any proof: identities and counts.

Paper: Algorithm (Algo_DR-STORM_batch), Def: ComputationComplexity, Def: CommunicationComplexity.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from stemtheory.claims.base import (
    ALL_READINGS,
    Case,
    Claim,
    Comparison,
    Mutant,
    quadratic,
)
from stemtheory.claims.evidence.recorded import EPS
from stemtheory.claims.language import equal
from stemtheory.claims.language.letters import a, c, dbar, eta, t, xbar
from stemtheory.claims.stating import stated
from stemtheory.simulator import simulate


def count_samples(case: Case) -> Comparison:
    """Oracle calls per worker are B + 2bT; averaging events S + 1 with that of d_1."""
    counts = simulate(replace(case.run, replicates=1)).counts
    B, doubled = case.B or case.b * case.I, case.reading == "average-first"
    stated = [B + 2 * case.b * case.T, (1 + doubled) * case.rounds + 1]
    found = [counts.samples_per_worker, counts.exchanges]
    error = np.abs(np.subtract(found, stated))
    return Comparison(error, 8 * EPS * np.array(stated))


def count_vectors(case: Case) -> Comparison:
    """At a synchronisation x and d are sent, each way; d_1 before the loop."""
    counts = simulate(replace(case.run, replicates=1)).counts
    found = np.array([counts.vectors_up, counts.vectors_down], dtype=float)
    return Comparison(np.abs(found - (2 * case.rounds + 1)), np.full(2, 0.0))


def _counted(level: str) -> tuple[Case, ...]:
    sizes = ((1, 1.0, 1), (2, 1.5, 3), (5, 4.0, 2))
    cases = [quadratic(K, b, I, 3, zeta=0.0) for K, b, I in sizes]
    more = [replace(case, reading="average-first", B=7.0) for case in cases]
    return (*cases, *more)


def _as_fedavg(case: Case) -> Case:
    return replace(case, algorithm="fedavg", reading="literal", B=None)


listed = partial(stated, label="Algo_DR-STORM_batch", kind="pathwise", mutants=())
counted = partial(Claim, kind="arithmetic", cases=_counted, identity=True)
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
        id="ALG-3",
        label="Def: ComputationComplexity",
        statement="A worker makes B + 2bT oracle calls (the paper drops the 2 and B).",
        formula=r"B + 2bT",
        compare=count_samples,
        mutants=(Mutant("one gradient a step", change=_as_fedavg),),
    ),
    counted(
        id="ALG-4",
        label="Algo_DR-STORM_batch",
        statement="At a synchronisation x and d are both sent: two vectors each way.",
        formula=r"2d \ \mathrm{floats\ each\ way}",
        compare=count_vectors,
        mutants=(Mutant("d is not sent", change=_as_fedavg),),
    ),
)
