"""STEM's accumulation of errors and its descent lemma, line by line.

Paper: Lemma (lem: ErrorAccumulation_Batch_App), Lemma (lem: Descent_Batch_App).
"""

from __future__ import annotations

from functools import partial

from stemtheory.claims.base import ALL_READINGS, SCALED, Mutant
from stemtheory.claims.evidence.counterexamples import DRIFTED, LeavesOneOut
from stemtheory.claims.language import chain, equal
from stemtheory.claims.language.letters import (
    I,
    K,
    L,
    apart,
    d,
    dbar,
    drift,
    ebar,
    eta,
    f,
    grad,
    grad_k,
    k,
    l,
    mean_k,
    norm2,
    start,
    sum_t,
    t,
    x,
    xbar,
)
from stemtheory.claims.stating import stated
from stemtheory.runtime import Verdict

ACCUMULATION, DESCENT = "lem: ErrorAccumulation_Batch_App", "lem: Descent_Batch_App"

accumulation = apart(t) <= (I - 1) * sum_t(l, start, t, eta[l] ** 2 * drift(l))
# Literal: all points agree at tbar_{s-1} + 1, and t runs from there to tbar_s.
accumulation_literal = apart(t) <= (I - 1) * sum_t(l, start + 1, t - 1, eta[l] ** 2 * drift(l))
moved = -sum_t(l, start, t - 1, eta[l] * (d[l, k] - dbar[l]))
moved_literal = -sum_t(l, start + 1, t - 1, eta[l] * (d[l, k] - dbar[l]))
descended = (
    f(xbar[t])
    - (eta[t] / 2 - eta[t] ** 2 * L / 2) * norm2(dbar[t])
    - eta[t] / 2 * norm2(grad(xbar[t]))
    + eta[t] * norm2(ebar[t])
)
by_drift = eta[t] * L**2 * (I - 1) / K * sum_t(l, start, t, eta[l] ** 2 * drift(l))
delta = grad_k(x[t, k]) - grad_k(xbar[t])


LEFT_OUT = Mutant(
    "a synchronisation that leaves out the last worker",
    algorithm=lambda case: LeavesOneOut(case.reading),
)
pathwise = partial(
    stated, kind="pathwise", readings=ALL_READINGS, counterexamples=(DRIFTED,), place=("start", t)
)
CLAIMS = (
    pathwise(
        accumulation,
        id="M1",
        label=ACCUMULATION,
        statement="Within a round the workers' points drift apart by what their directions differ.",
        expected={("literal", "sync"): Verdict.VIOLATED},
        reason="As listed, the own points are not averaged at tbar_{s-1}: the left side is positive"
        " there and the right side is zero.",
        repair="Start the round one step later (M1-L): all points agree at tbar_{s-1} + 1.",
        mutants=(SCALED, LEFT_OUT),
    ),
    pathwise(
        accumulation_literal,
        given=t - 1,
        id="M1-L",
        label=ACCUMULATION,
        statement="The same for the literal reading, from the last t at which all points agree.",
        readings=("literal",),
        mutants=(SCALED, LEFT_OUT),
    ),
    pathwise(
        equal(x[t, k] - xbar[t], moved),
        literal=equal(x[t, k] - xbar[t], moved_literal),
        id="M1a",
        label=ACCUMULATION,
        statement="A point differs from the mean by the steps its direction differed.",
        reason="Literal: the sum starts at tbar_{s-1} + 1 and t runs to tbar_s.",
        mutants=(SCALED, LEFT_OUT),
    ),
    pathwise(
        f(xbar[t + 1]) <= descended + by_drift,
        id="M2",
        label=DESCENT,
        statement="The loss at the mean point descends, up to the direction's error and drift.",
        expected={("literal", "sync"): Verdict.VIOLATED},
        reason="It uses the accumulation lemma (M1), which the literal reading breaks at tbar_s.",
        repair="Keep the distance instead of the sum (M2b): (eta_t L^2/K) X_t.",
    ),
    pathwise(
        f(xbar[t + 1]) <= descended + eta[t] * L**2 / K * apart(t),
        id="M2b",
        label="eq: DR_Smoothness_2nd_batch",
        statement="The descent lemma with the distance of the points in place of the drift.",
    ),
    pathwise(
        chain(norm2(mean_k(delta)), mean_k(norm2(delta)), L**2 / K * apart(t)),
        id="M2c",
        label="eq: DR_Gradient_Ineq_Batch",
        statement="The mean gradient at own points is near the gradient at the mean point.",
    ),
)
