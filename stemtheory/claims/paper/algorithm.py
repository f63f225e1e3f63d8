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
    wrong,
)
from stemtheory.claims.evidence.path import Path
from stemtheory.claims.evidence.recorded import EPS
from stemtheory.schedules import theorem_c_b, theorem_eta
from stemtheory.simulator import simulate


def mean_iterate(path: Path, first: bool = False) -> Comparison:
    """xbar_{t+1} = xbar_t - eta_t dbar_t for all t >= 1; ``first``: the first worker's d_t."""
    t, direction = path.t, path.d[:, :, 0] if first else path.dbar
    step = path.eta[t][:, None, None] * direction[t]
    error = np.abs(path.xbar[t + 1] - (path.xbar[t] - step)).max(axis=-1)
    size = np.abs(path.xbar[t]).max(axis=-1) + np.abs(step).max(axis=-1)
    return Comparison(error, 8 * path.case.K * EPS * size, t=t[:, None])


def momentum_index(path: Path, shift: int = 0) -> Comparison:
    """a_{t+1} = c eta_t^2, with c = L^2 (64/(bK) + 1/(24 (bK)^2 I))."""
    s, t = path.setting, path.t[1:]
    c = s.L**2 * theorem_c_b(s.K, s.b, s.I) / (s.b * s.K)
    eta = theorem_eta(t - shift + path.case.clock, s.L, s.K, s.b, s.I)
    error = np.abs(path.a[t + 1] - c * eta**2)
    return Comparison(error, 16 * EPS * path.a[t + 1], t=t)


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


pathwise = partial(Claim, label="Algo_DR-STORM_batch", kind="pathwise", identity=True)
counted = partial(Claim, kind="arithmetic", cases=_counted, identity=True)
CLAIMS = (
    pathwise(
        id="ALG-1",
        statement="The mean iterate moves along the mean direction at every t, sync or not.",
        formula=r"\bar x_{t+1} = \bar x_t - \eta_t \bar d_t",
        compare=mean_iterate,
        readings=ALL_READINGS,
        mutants=(wrong("the first worker's direction", first=True),),
    ),
    pathwise(
        id="ALG-2",
        statement="The momentum a_{t+1} uses the step eta_t; eta_0 exists.",
        formula=r"a_{t+1} = c\, \eta_t^2",
        compare=momentum_index,
        mutants=(wrong("a_t for a_{t+1}", shift=1),),
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
