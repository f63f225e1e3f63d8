"""The elementary repair: the printed proof's own steps with the missing jump put in.

It reaches I = 86 for the printed theorem and I = 318 with larger constants; the sharper proof is
in ``repaired``. Readings literal and average-first, I >= 2.

Paper: Thm: PR_Convergence_Main_App.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from stemtheory.claims.base import RIGHT_READINGS, SCALED, Claim, Mutant, wrong
from stemtheory.claims.evidence.counterexamples import read_as
from stemtheory.claims.evidence.exact_scenes import Lengths
from stemtheory.claims.evidence.flat_model import flat_cases, no_repair
from stemtheory.claims.intervals import enclose
from stemtheory.claims.language import Expr, Line, Q, column, latex
from stemtheory.claims.language.letters import (
    D,
    E,
    I,
    K,
    L,
    V,
    apart,
    at_jump,
    b,
    c,
    c_b,
    dbar,
    drift,
    end,
    eta,
    exp,
    grad,
    kappa,
    l,
    m,
    maximum,
    minimum,
    norm2,
    phi,
    q,
    s,
    sigma,
    start,
    sum_t,
    t,
    xbar,
    zeta,
)
from stemtheory.claims.repaired.coefficients import DRIFT, MOST, SUM, THEOREM, r
from stemtheory.claims.repaired.runs import bound, exact_or_measured, run_cases, run_premises
from stemtheory.claims.repaired.steps import at_least_two, potential, round_cases, step_cases
from stemtheory.claims.stating import exact, on_constants, per_round, stated, whole_run

ELEMENTARY_LONGEST = 318

# 6.1: the printed potential and the printed weights.
ONE_STEP = E(potential(64, t + 1) - potential(64, t)) <= (
    -(eta[t] / 2 - eta[t] ** 2 * L / 2 - eta[t] / 32) * norm2(dbar[t])
    - eta[t] / 2 * norm2(grad(xbar[t]))
    + eta[t] * L**2 / K * apart(t)
    + sigma**2 * c**2 * eta[t] ** 3 / (32 * L**2)
    + at_jump(apart(t) / (32 * m * K * eta[t]), eta[t] / (32 * K) * drift(t))
)


# 6.2: D_s, the drift summed over a round; the literal reading carries some over.
SUMMED = D[s] <= Q("0.0233") * kappa * D[s - 1] + Q("0.0110") * D[s] + Q("2.8046") * sum_t(
    l,
    start,
    end - 1,
    K / 64 * eta[l] * q[l] ** 2
    + K * sigma**2 * c**2 / (32 * b * L**2) * eta[l] ** 3
    + K * zeta**2 * c**2 / (16 * L**2) * eta[l] ** 3,
)

# 6.4: what the jump and the drift cost, D + I/32, and what follows for A_sigma and A_zeta.
COST = Q("0.004") + I / 32


def A_sigma(cost: Expr) -> Expr:
    """The coefficient of sigma^2."""
    return Q("1/32") + Q("0.0910") * cost / b


def A_zeta(cost: Expr) -> Expr:
    """The coefficient of zeta^2."""
    return Q("0.1820") * cost


# 6.7: overwriting adds more to dbar in a round than is forgotten: a flat direction is unstable.
GROWS = 1 / (4 * b * K * I) <= V / (512 * L**2) * (1 - 1 / I)

# 6.2, 6.3: D summed over the rounds, and ||dbar||^2 absorbed. The second line is for the first step
# of a literal round, the fourth for (K L/4) eta ||dbar||^2, the last but one for all drift terms.
BASE, KEPT, CARRIED = Q("2.8046"), Q("0.0110"), Q("0.0233")
LEFT = 1 - KEPT - CARRIED
SUMS = (
    (1 + 1 / I + (I + 1) / (128 * I**2) <= 1 + 33 / (32 * I))
    & (exp(Q("33/32")) <= BASE)
    & (c_b / (256 * I**2) <= Q("0.0626"))
    & (2 * (I + 1) / (16 * I) <= Q("1/4"))
    & (c_b**2 * 64 * BASE / (16**6 * I**2) <= KEPT)
    & (BASE * (2 + 32 * Q("0.0626") ** 2) / 256 <= CARRIED)
    & (BASE / 64 / LEFT <= Q("0.0455"))
    & (BASE / 32 / LEFT <= Q("0.0910"))
    & (BASE / 16 / LEFT <= Q("0.1820"))
    & ((I - 1) * r / 32 + Q("1/32") + Q("1/512") <= I / 32 + Q("1/256"))
    & (Q("1/256") <= Q("0.004"))
    & (Q("0.0455") * COST <= Q("1/2") - Q("1/32") - Q("1/64"))
)


def printed_theorem(cost: Expr, most: Expr = MOST) -> Line:
    """Return 6.5: the constants for a cost of jump and drift are at most the printed ones."""
    return (A_sigma(cost) <= most) & (A_zeta(cost) <= most * (I - 1) / I)


def printed_longest() -> int:
    """Return the largest I up to which the elementary chain proves the printed theorem."""
    at = between(2, ELEMENTARY_LONGEST)[0]
    found = on_constants(at, printed_theorem(COST))
    proved = (found.left <= found.right).reshape(2, -1).all(axis=0)
    return int(at.I[np.argmin(proved)]) - 1


def between(first: int, last: int) -> tuple[Lengths, ...]:
    """Return one subject: every I from first to last, without a sync batch."""
    every = np.arange(first, last + 1)
    return (Lengths(every, np.ones_like(every)),)


def any_length(batch: int = 85, cap: int = 86) -> Lengths:
    """Return I up to 1e9, m = ceil(I/batch) and phi^2 = max(1, I/cap)."""
    every = np.unique(np.r_[2:2000, np.geomspace(2000, 1e9, 500).astype(int)])
    share: Any = enclose(column(every)) / cap
    return Lengths(every, -(-every // batch), {"phi": np.sqrt(np.maximum(share, 1))})


CLAIMS = (
    stated(
        ONE_STEP,
        id="REP1",
        label="Lem: Potential_Descent_App",
        kind="conditional",
        place=("jump", t),
        statement="One step of the printed potential, every t, with the jump's own term.",
        cases=step_cases,
        premises=at_least_two,
        readings=RIGHT_READINGS,
        mutants=(SCALED, read_as("overwrite"), read_as("average-both")),
    ),
    per_round(
        SUMMED,
        each="round",
        id="REP2",
        label=DRIFT,
        statement="The drift D summed over a round; literal (kappa = 1) carries some over.",
        cases=round_cases,
        premises=at_least_two,
        readings=RIGHT_READINGS,
        mutants=(),
    ),
    exact(
        SUMS,
        id="REP3",
        label=DRIFT,
        statement="The rounds summed, and the term in dbar absorbed for every I <= 318.",
        cases=lambda level: between(2, ELEMENTARY_LONGEST),
        mutants=(Mutant("I = 319", change=lambda at: between(2, 319)[0]),),
    ),
    whole_run(
        bound(64, A_sigma(COST), A_zeta(COST)),
        measured=exact_or_measured,
        id="REP4",
        label=SUM,
        statement="The repaired sum before the logarithm, 2 <= I <= 318, divided by eta_T T/2.",
        cases=run_cases,
        premises=run_premises(ELEMENTARY_LONGEST),
        readings=RIGHT_READINGS,
    ),
    exact(
        printed_theorem(COST, MOST * maximum(1, I / 86)),
        id="REP5",
        label=THEOREM,
        statement="The printed theorem for every 2 <= I <= 86; to 318 with its logs times I/86.",
        cases=lambda level: between(2, ELEMENTARY_LONGEST),
    ),
    exact(
        ((I - 1) * r / (32 * m) + Q("1/32") + Q("1/512") <= minimum(I, 86) / 32 + Q("1/256"))
        & printed_theorem(Q("0.004") + minimum(I, 86) / 32)
        & printed_theorem(COST / phi**2),
        id="REP6",
        label=THEOREM,
        statement="Every I with a sync batch m = ceil(I/85), or with steps smaller by phi,"
        " phi^2 = max(1, I/86).",
        cases=lambda level: (any_length(),),
        mutants=(
            Mutant("m = ceil(I/90)", change=lambda at: any_length(batch=90)),
            Mutant("phi^2 = I/90", change=lambda at: any_length(cap=90)),
        ),
    ),
    Claim(
        id="REP7",
        label="lem: ErrorContraction_BatchGradients_App",
        kind="arithmetic",
        statement="The overwrite reading has no such repair: a flat direction is unstable once"
        " bKI exceeds 128 L^2/(V(1-1/I)), whatever the step size.",
        formula=latex(GROWS),
        line=GROWS,
        by_hand="The left side is a threshold of a model, found by bisection.",
        compare=no_repair,
        cases=flat_cases,
        mutants=(
            wrong("half the threshold", law=64),
            wrong("reading average-first", reading="average-first"),
        ),
        reason="Checked where it is a number: the threshold of the linear two-node model without"
        " noise. That no other constants repair it is an argument, not a computation.",
    ),
)
