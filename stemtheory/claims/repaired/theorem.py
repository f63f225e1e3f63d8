"""The repaired theorem: its one-step, drift and jump inequalities, and parts (a), (b) and (c).

They hold for the literal and the average-first reading, with or without a sync batch, I >= 2.
The proof is in docs/repaired-theorem.md; step 7 and the consequences are in ``repaired_range``.

Paper: Thm: PR_Convergence_Main_App.
"""

from __future__ import annotations

from functools import partial

from stemtheory.bounds import REPAIRED_LAM
from stemtheory.claims.base import RIGHT_READINGS, SCALED, Claim, wrong
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
from stemtheory.claims.repaired.runs import beside, coefficients, run_cases, run_premises
from stemtheory.claims.repaired.steps import at_least_two, potential, round_cases, step_cases
from stemtheory.claims.stating import per_round, stated

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


def _run_level(name: str, part: str, statement: str) -> Claim:
    A, longest = coefficients(part), PARTS[part].longest
    return Claim(
        id=name,
        label=SUM,
        kind="expectation",
        statement=statement,
        formula=r"\sum_t \tfrac{\eta_t}{2} E\|\nabla f(\bar x_t)\|^2 \leq \Delta_f"
        r" + \frac{b\sigma^2}{240 L^2 B\eta_0}"
        r" + \frac{c^2}{L^2}[A_\sigma\sigma^2 + A_\zeta\zeta^2]\sum_t \eta_t^3",
        compare=beside(REPAIRED_LAM, A),
        cases=run_cases,
        premises=run_premises(longest),
        readings=RIGHT_READINGS,
        mutants=(
            SCALED,
            wrong("initial batch over 280 instead of 240", lam=280),
            wrong("no term in sigma", noise=0.0),
            read_as("overwrite"),
        ),
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
        values=tuple({"theta": expr(part.theta)} for part in PARTS.values()),
        statement="One step of the sharper potential, every t, with the jump's own term.",
        cases=step_cases,
        premises=at_least_two,
        readings=RIGHT_READINGS,
        mutants=(SCALED, read_as("overwrite"), read_as("average-both")),
    ),
    of_a_round(
        DRIFT_IN_ROUND,
        each="step",
        id="R2",
        statement="Within a round the drift of the directions is at most G times its forcing.",
    ),
    of_a_round(
        JUMP,
        each="round",
        id="R3",
        statement="The consensus error at the jump, per round; nearly sharp without noise.",
    ),
    _run_level("Ra", "a", "Part (a), I/m <= 20000: A_s = 0.0087, A_z = 1.2e-4 + 2e-5 I/m."),
    _run_level("Rb", "b", "Part (b), I/m <= 40000: A_s = 0.089, A_z = 1.2e-4 + 1.01e-5 I/m."),
    _run_level("Rc", "c", "Part (c), I/m <= 7500: A_s = 0.0465, A_z = 1.2e-4 + 3.92e-6 I/m."),
)
