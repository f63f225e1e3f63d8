"""STEM beside its special cases: FedAvg as a_t = 1, local momentum, and I = 1 without zeta.

Paper: Sec: Special Case; Rem: Heterogeneity.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from stemtheory.algorithms import FedAvg
from stemtheory.claims.base import SCALED, Case, Claim, Comparison, Mutant, dials, wrong
from stemtheory.claims.evidence.fedavg_path import FedAvgPath, recorded
from stemtheory.claims.evidence.measured import premises
from stemtheory.claims.evidence.momentum_runs import RESTING, momentum_cases, own_step
from stemtheory.claims.evidence.path import Path
from stemtheory.claims.evidence.recorded import visits
from stemtheory.claims.language import EPS, Line, checked, equal, latex
from stemtheory.claims.language.letters import I, a, k, t, x, xbar, y, ybar
from stemtheory.claims.paper.fedavg import THEOREM
from stemtheory.claims.stating import whole_run
from stemtheory.runtime import Floats, Verdict


def momentumless(level: str, sigma: float = 0.0) -> tuple[Case, ...]:
    """Return runs of STEM with a_t = 1 and a constant step, among them I = 1 and K = 1."""
    rounds = {"quick": 3, "default": 6, "full": 12}[level]
    apart, alone = dials(sigma=sigma, zeta=2.0), dials(sigma=sigma)
    made = (
        Case(name, K, 2, 2, I, rounds, apart if K > 1 else alone)
        for name in ("cosine", "geman_mcclure")
        for K, I in ((1, 3), (2, 1), (2, 4), (4, 8))
    )
    constant = (("a", 1.0), ("eta", 0.1))
    return tuple(replace(case, schedule="constant", options=constant) for case in made)


def fedavg_from(path: Path, start: Floats) -> Floats:
    """Return x_t^(k), t = 1..T, of FedAvg on the same problem and minibatches: [T, R, K, dim]."""
    return np.stack([v.before.x for v in visits(path.case, FedAvg(), x1=start)])


def same(ours: Floats, theirs: Floats) -> Comparison:
    """Return the identity of two runs: errors at t = 1..T against 64 ulps a step."""
    error = np.abs(ours - theirs).reshape(len(ours), -1).max(axis=1)
    t = np.arange(1, len(ours) + 1)
    return Comparison(error, 64 * EPS * t * (1 + np.abs(theirs).max()), t=t)


def as_printed(path: Path) -> Comparison:
    """SP1: xbar_t of STEM with a_t = 1 is that of FedAvg, from the same x_1 (sigma = 0)."""
    found = fedavg_from(path, path.p[1])
    return same(path.xbar[path.t], found.mean(axis=-2))


def shifted(path: Path, shift: int = 1) -> Comparison:
    """x_{t+1}^(k) of STEM with a_t = 1 is x_t^(k) of FedAvg started at STEM's x_2, noise and all.

    After t = sI, STEM's next iterate is common and FedAvg's own is: one step apart.
    """
    found = fedavg_from(path, path.p[1 + shift])
    return same(path.p[path.t + shift] if shift else path.p[path.t], found)


def blind(path: Path | FedAvgPath) -> Comparison:
    """RMK4: at I = 1 the run with zeta is the run without, on the same noise."""
    kept = {name: value for name, value in path.case.dials if name != "zeta"}
    other = recorded(replace(path.case, dials=dials(zeta=0.0, **kept)))
    return same(path.xbar[path.t], other.xbar[path.t])


def one_step_cases(algorithm: str, level: str) -> tuple[Case, ...]:
    """Return runs with I = 1 whose constants but zeta stay when zeta is set to 0."""
    steps = {"quick": 12, "default": 48, "full": 192}[level]
    own = {"L": 1.0, "curvature": 0.3, "noise_smoothness": 0.5, "slack": True}
    return tuple(
        Case(name, K, 2, 2, 1, steps, dials(zeta=zeta, **own), algorithm=algorithm)
        for name in ("quadratic", "geman_mcclure")
        for K in (2, 3)
        for zeta in (1.0, 16.0)
    )


def several_steps(case: Case) -> Case:
    """Return the case with I = 2 at the same T."""
    return replace(case, I=2, rounds=case.rounds // 2)


AS_ONE = "The sides are two runs, and a run has the letters of one."


def same_run(line: Line, **more: Any) -> Claim:
    """Return the claim that two runs are one; y is the other run's x."""
    known = {"label": "Sec: Special Case", **more}
    return Claim(
        formula=latex(line), line=line, by_hand=AS_ONE, kind="pathwise", identity=True, **known
    )


momentum = partial(
    whole_run,
    THEOREM,
    label="Sec: Special Case",
    premises=premises("fedavg-theorem"),
)
WITHOUT_ZETA = checked(equal(I, 1) & equal(xbar[t], ybar[t]))

CLAIMS = (
    same_run(
        checked(equal(a[t], 1) & equal(xbar[t], ybar[t])),
        id="SP1",
        statement="STEM (x) with a_t = 1 is FedAvg (y), as printed.",
        compare=as_printed,
        cases=momentumless,
        expected={("literal", "all"): Verdict.VIOLATED},
        mutants=(),
        reason="STEM's x_{sI+2} is common to all workers, FedAvg's x_{sI+1}. The further condition"
        " dbar_t = 0, read literally, would freeze the server.",
        repair="One step later they are the same run (SP1-S).",
    ),
    same_run(
        checked(equal(a[t], 1) & equal(x[t + 1, k], y[t, k])),
        id="SP1-S",
        statement="STEM (x) with a_t = 1 is FedAvg (y), started one step later.",
        compare=shifted,
        cases=lambda level: momentumless(level, sigma=0.5),
        mutants=(wrong("without the shift", shift=0),),
    ),
    momentum(
        id="SP2",
        statement="With local Nesterov or Polyak momentum (u <- beta u + g) and the step"
        " sqrt(bK/T) the FedAvg theorem holds, with its explicit constants (the paper claims O(.),"
        " which this does not touch).",
        cases=lambda level: tuple(own_step(case) for case in momentum_cases(level)),
        expected={("literal", "all"): Verdict.VIOLATED},
        counterexamples=RESTING,
        mutants=(),
        reason="Asserted without a proof. At the theorem's own step a gradient moves x by"
        " eta/(1-beta): the noise near a minimum is 1/(4(1-beta)) of what the theorem allows,"
        " 2.5 at beta = 0.9: in O(.) notation a constant factor.",
        repair="With the step (1-beta) sqrt(bK/T) the theorem's constants hold in every run"
        " measured (SP2-S).",
    ),
    momentum(
        id="SP2-S",
        statement="With local momentum and the step (1-beta) sqrt(bK/T) the FedAvg theorem holds.",
        cases=momentum_cases,
        mutants=(SCALED, Mutant("the theorem's own step", change=own_step)),
        reason="Measured, not proved: on every run, not for every problem.",
    ),
    same_run(
        WITHOUT_ZETA,
        id="RMK4",
        label="Rem: Heterogeneity",
        statement="At I = 1 STEM does not depend on zeta: the runs with (x) and without (y) are"
        " the same.",
        compare=blind,
        cases=lambda level: one_step_cases("stem", level),
        readings=("literal", "average-first", "overwrite"),
        mutants=(Mutant("I = 2", change=several_steps),),
        reason="The remark calls zeta the intra-node variance; it is the inter-node one.",
    ),
    same_run(
        WITHOUT_ZETA,
        id="F8-Z",
        label="App: FedAvg",
        statement="Minibatch SGD (I = 1) does not depend on zeta: the runs with (x) and without"
        " (y) are the same.",
        compare=blind,
        cases=lambda level: one_step_cases("fedavg", level),
        mutants=(Mutant("I = 2", change=several_steps),),
    ),
)
