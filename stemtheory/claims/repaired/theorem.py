"""The repaired theorem: its one-step, drift and jump inequalities, and parts (a), (b) and (c).

They hold for the literal and the average-first reading, with or without a sync batch, I >= 2.
The proof is in docs/repaired-theorem.md; step 7 and the consequences are in ``range``.

Paper: Thm: PR_Convergence_Main_App.
"""

from __future__ import annotations

from functools import partial

from stemtheory.bounds import REPAIRED
from stemtheory.claims.base import RIGHT_READINGS, SCALED, Claim
from stemtheory.claims.evidence.counterexamples import read_as
from stemtheory.claims.language import Q, expr
from stemtheory.claims.language.letters import (
    E,
    I,
    K,
    L,
    Q_s,
    Y,
    Z,
    alpha,
    apart,
    at_jump,
    b,
    c,
    dbar,
    drift,
    eta,
    grad,
    h,
    i,
    kappa,
    l,
    m,
    norm2,
    q,
    s,
    sigma,
    sqrt,
    start,
    sum_t,
    t,
    theta,
    xbar,
    zeta,
)
from stemtheory.claims.repaired.coefficients import DRIFT, PARTS, SUM
from stemtheory.claims.repaired.runs import bound, exact_or_measured, run_cases, run_premises
from stemtheory.claims.repaired.steps import at_least_two, potential, round_cases, step_cases
from stemtheory.claims.stating import per_round, stated, whole_run

# (R1); the step that spans an averaging pays for the consensus error, every other for the drift.
ONE_STEP = E(potential(240, t + 1) - potential(240, t)) <= (
    -eta[t] / 2 * norm2(grad(xbar[t]))
    - (eta[t] / 2 - eta[t] ** 2 * L / 2 - (1 + theta) / 240 * eta[t]) * norm2(dbar[t])
    + Q("15.5") * eta[t] * L**2 / K * apart(t)
    + (1 + 1 / theta) * c**2 * sigma**2 * eta[t] ** 3 / (240 * L**2)
    + at_jump(
        (1 + theta) / (240 * m * K) * apart(t) / eta[t],
        (1 + theta) / (240 * K) * eta[t] * drift(t),
    )
)


# (R2) and (R3), with G = 1.0687.
DRIFT_IN_ROUND = Y[t] <= Q("1.0687") * (
    L * h * sqrt(K) * sum_t(l, start, t - 1, q[l])
    + kappa * L * Z[s - 1]
    + i * alpha * sqrt(K / 2) * zeta
    + alpha * sqrt(i * K / b) * sigma
)
JUMP = Z[s] <= Q("1.0687") * (
    L * h**2 * sqrt(K) * I ** Q("3/2") * sqrt(Q_s[s] / 3)
    + kappa / 16 * Z[s - 1]
    + h * alpha * sqrt(K / 2) * zeta * I**2 / 2
    + Q("2/3") * h * alpha * sqrt(K / b) * sigma * I ** Q("3/2")
)


def of_a_run(name: str, A_s: str, constant: str, slope: str) -> Claim:
    """Return a part of the theorem: (3) with A_z = constant + slope I/m."""
    part = name[-1]
    longest = REPAIRED[part].longest
    return whole_run(
        bound(240, Q(A_s), Q(constant) + Q(slope) * I / m),
        measured=exact_or_measured,
        id=name,
        label=SUM,
        statement=f"Part ({part}), I/m <= {longest}, divided by eta_T T/2.",
        cases=run_cases,
        premises=run_premises(longest),
        readings=RIGHT_READINGS,
        mutants=(SCALED, read_as("overwrite")),
    )


of_a_round = partial(
    per_round,
    label=DRIFT,
    cases=round_cases,
    premises=at_least_two,
    readings=RIGHT_READINGS,
)
CLAIMS = (
    stated(
        ONE_STEP,
        id="R1",
        label="Lem: Potential_Descent_App",
        kind="conditional",
        place=("jump", t),
        values=tuple({"theta": expr(part["theta"])} for part in PARTS.values()),
        statement="One step of the sharper potential, every t, with the jump's own term; theta is"
        " 1, 1/20 and 1/10.",
        cases=step_cases,
        premises=at_least_two,
        readings=RIGHT_READINGS,
        mutants=(SCALED, read_as("overwrite"), read_as("average-both")),
    ),
    of_a_round(
        DRIFT_IN_ROUND,
        each="step",
        id="R2",
        statement="Within a round the drift of the directions is at most G = 1.0687 times its"
        " forcing. Y and q are roots of means of Delta_t and ||dbar_t||^2, Z that of X at the jump;"
        " h is the round's first eta, alpha = c h^2, i counts its steps; kappa is 1 if literal, or"
        " 0.",
    ),
    of_a_round(
        JUMP,
        each="round",
        id="R3",
        statement="The consensus error at the jump, per round; nearly sharp without noise. Q is the"
        " round's sum of q^2, and the letters are those of R2.",
    ),
    of_a_run("Ra", "0.0087", "1.2e-4", "2e-5"),
    of_a_run("Rb", "0.089", "1.2e-4", "1.01e-5"),
    of_a_run("Rc", "0.0465", "1.2e-4", "3.92e-6"),
)
