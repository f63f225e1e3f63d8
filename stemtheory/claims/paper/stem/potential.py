"""STEM's potential function descends over a round.

The statement is an expectation. Along a recorded run each step's conditional expectation given
F_t is known in closed form, and the proof's inequalities hold for their sum path by path; the
lemma is the expectation of that. So it is checked without sampling, and sharper than printed.

Paper: Lemma (Lem: Potential_Descent_App), eq. (Eq: Error_Descent_1).
"""

from __future__ import annotations

from functools import partial

from stemtheory.claims.base import ALL_READINGS
from stemtheory.claims.evidence.counterexamples import opposed, tilted
from stemtheory.claims.evidence.measured import theorem_schedule
from stemtheory.claims.language import Expr, Index, Q
from stemtheory.claims.language.letters import (
    E,
    I,
    K,
    L,
    b,
    c,
    dbar,
    drift,
    ebar,
    eta,
    f,
    grad,
    l,
    norm2,
    rise,
    sigma,
    start,
    sum_t,
    t,
    xbar,
)
from stemtheory.claims.paper.stem.contraction import cases
from stemtheory.claims.stating import stated
from stemtheory.runtime import Verdict


def potential(at: Index) -> Expr:
    """Phi_t = f(xbar_t) + (bK/(64 L^2)) ||ebar_t||^2/eta_{t-1}."""
    return f(xbar[at]) + b * K / (64 * L**2) * norm2(ebar[at]) / eta[at - 1]


weighted = E(norm2(ebar[t + 1])) / eta[t] - E(norm2(ebar[t])) / eta[t - 1]
error_descent = b * K / (64 * L**2) * weighted <= (
    -eta[t] * E(norm2(ebar[t]))
    + Q("1/8") / K * (I - 1) / I * eta[t] * E(drift(t))
    + eta[t] / 16 * E(norm2(dbar[t]))
    + sigma**2 * c**2 * eta[t] ** 3 / (32 * L**2)
)


def descent(share: Expr) -> Expr:
    """What the potential loses: a share of eta ||dbar||^2, and half eta ||grad f||^2."""
    kept = share * eta[l] - eta[l] ** 2 * L / 2
    return -sum_t(l, start, t, kept * E(norm2(dbar[l]))) - sum_t(
        l, start, t, eta[l] / 2 * E(norm2(grad(xbar[l])))
    )


potential_descent = rise(potential(l), l, start, t) <= (
    descent(Q("7/16"))
    + sigma**2 * c**2 / (32 * L**2) * sum_t(l, start, t, eta[l] ** 3)
    + Q("33/256") / K * (I - 1) / I * sum_t(l, start, t, eta[l] * E(drift(l)))
)

JUMPS = (
    opposed(8, 64, 16),
    opposed(8, 64, 64),
    tilted("literal", 8),
    tilted("average-first", 16),
    tilted("average-first", 64),
)

conditional = partial(
    stated,
    kind="conditional",
    cases=cases,
    premises=theorem_schedule,
    readings=ALL_READINGS,
    expected={(reading, "sync"): Verdict.VIOLATED for reading in ALL_READINGS},
    counterexamples=JUMPS,
)
CLAIMS = (
    conditional(
        potential_descent,
        place=("round", t),
        id="M4",
        label="Lem: Potential_Descent_App",
        statement="The loss plus the weighted error of the direction descends over a round.",
        reason="It adds up the descent and the contraction, and so fails where they do.",
        repair="The one-step inequality REP1, with the distance at the jump.",
    ),
    conditional(
        error_descent,
        place=("either", t),
        id="M4a",
        label="Eq: Error_Descent_1",
        statement="The weighted error of the direction pays for the error in the descent.",
        reason="It is the contraction (M3) divided by eta_t, and fails where that does.",
        repair="Use M3-R instead of M3.",
    ),
)
