"""Theorem R*'s proof on recorded runs: the identity of step 1, descent, potential and drift.

They hold for the literal and the average-first reading; the proof is in docs/theorem-rstar.md.

Paper: Lemma (Lem: Potential_Descent_App), Lemma (lem: GradientError_PotentialFn_App).
"""

from __future__ import annotations

from functools import partial

from stemtheory.claims.base import RIGHT_READINGS, SCALED, wrong
from stemtheory.claims.evidence.counterexamples import read_as
from stemtheory.claims.language import Expr, Line, Q, equal, expr
from stemtheory.claims.language.letters import (
    D,
    E,
    I,
    K,
    L,
    Lam,
    Q_s,
    U,
    Y,
    Z,
    a,
    alpha,
    apart,
    at_jump,
    b,
    batch,
    c,
    dbar,
    drift,
    ebar,
    end,
    eta,
    f,
    fresh,
    grad,
    h,
    h_0,
    i,
    k,
    kappa,
    l,
    m,
    mean_noise_k,
    norm2,
    p_0,
    q,
    s,
    sigma,
    spread,
    sqrt,
    stale,
    start,
    sum_t,
    t,
    tau,
    theta,
    v,
    xbar,
    zeta,
)
from stemtheory.claims.repaired.coefficients import DRIFT
from stemtheory.claims.repaired.steps import potential
from stemtheory.claims.rstar.coefficients import (
    EVERY,
    IDENTITY_PARTS,
    RSTAR_PARTS,
    SUMMANDS,
    growth,
)
from stemtheory.claims.rstar.runs import (
    averaged_cases,
    drift_cases,
    of_parts,
    step_cases,
)
from stemtheory.claims.rstar.scenes import PartRounds, scene_of_part
from stemtheory.claims.stating import averaged, per_round, stated
from stemtheory.schedules import RSTAR_STEPS

ERROR, POTENTIAL = "lem: ErrorContraction_BatchGradients_App", "Lem: Potential_Descent_App"
EVERY_PART = "".join(RSTAR_STEPS)

# --- step 1 ---------------------------------------------------------------------------------------

# n and n' are the noise of one minibatch at the older and at the newer point of d_{t+1}.
n, n_new = mean_noise_k(stale[t + 1, k]), mean_noise_k(fresh[t + 1, k])
keep = 1 - a[t + 1]
PER_SAMPLE = equal(
    norm2(keep * (n_new - n) + a[t + 1] * n_new),
    keep * norm2(n_new - n) + a[t + 1] * norm2(n_new) - a[t + 1] * keep * norm2(n),
)


def next_error(noise: Expr) -> Line:
    """Return E||ebar_{t+1}||^2 for the mean over workers of E||(1 - a) u + a n'||^2."""
    return equal(E(norm2(ebar[t + 1])), keep**2 * E(norm2(ebar[t])) + noise / (batch[t] * K))


EXACTLY = keep * U[t] + a[t + 1] * (v[t + 1] - v[t]) + a[t + 1] ** 2 * v[t]
TELESCOPES = next_error(EXACTLY)
# N_{t+1} alone: beside an old and large ebar_t its spread would hide errors.
ON_AVERAGE = equal(E(norm2(ebar[t + 1] - keep * ebar[t])), EXACTLY / (batch[t] * K))
# What Young's inequality makes of it, as if nothing were lost.
YOUNG = next_error(2 * U[t] + 2 * a[t + 1] ** 2 * v[t + 1])
MOVES = U[t] <= L**2 / K * (
    K * eta[t] ** 2 * norm2(dbar[t]) + at_jump(apart(t), eta[t] ** 2 * drift(t))
)

# --- steps 2 and 3 --------------------------------------------------------------------------------

w_0 = (1 + 1 / p_0) / 2
DESCENT = f(xbar[t + 1]) <= (
    f(xbar[t])
    - eta[t] / 2 * norm2(grad(xbar[t]))
    - (eta[t] / 2 - eta[t] ** 2 * L / 2) * norm2(dbar[t])
    + (1 + p_0) / 2 * eta[t] * norm2(ebar[t])
    + w_0 * eta[t] * L**2 / K * apart(t)
)


def one_step(of: Expr, normal: Expr, jump: Expr, noise: tuple[Expr, Expr]) -> Line:
    """Return (5) for the potential ``of``: q, q_J/m, and the noise at the jump and elsewhere."""
    return E(of) <= (
        -eta[t] / 2 * norm2(grad(xbar[t]))
        - (Q("1/2") - h_0 / (2 * I) - normal / Lam) * eta[t] * norm2(dbar[t])
        + w_0 * eta[t] * L**2 / K * apart(t)
        + c**2 * eta[t] ** 3 * sigma**2 / (Lam * L**2) * at_jump(*noise)
        + at_jump(jump / (Lam * K * eta[t]) * apart(t), normal / (Lam * K) * eta[t] * drift(t))
    )


def weighed(at: Expr) -> Expr:
    """Return f(xbar) and the error, weighed by bK/(Lam L^2 eta)."""
    return potential(Lam, at)


RISE = weighed(t + 1) - weighed(t)
WITH_V = RISE - a[t + 1] / (Lam * L**2 * eta[t]) * (v[t + 1] - v[t])
ONE = expr(1)
YOUNGS = 1 + 1 / theta
BY_YOUNG = one_step(RISE, 1 + theta, (1 + theta) / m, (YOUNGS, YOUNGS))
BY_IDENTITY = one_step(WITH_V, ONE, ONE, (ONE, ONE))
WITH_BATCH = one_step(WITH_V, ONE, (1 + tau) / m, (1 + (m - 1) / tau, ONE))

# --- steps 4 to 6 ---------------------------------------------------------------------------------

G = growth(EVERY)
FORCED = Y[t] <= G * (
    L * h * sqrt(K) * sum_t(l, start, t - 1, q[l])
    + kappa * L * Z[s - 1]
    + i * alpha * sqrt(K / 2) * zeta
    + alpha * sqrt(i * K / b) * sigma
)
JUMP = Z[s] <= G * (
    L * h**2 * sqrt(K) * I ** Q("3/2") * sqrt(Q_s[s] / 3)
    + kappa * h_0 * Z[s - 1]
    + h * alpha * sqrt(K / 2) * zeta * I**2 / 2
    + Q("2/3") * h * alpha * sqrt(K / b) * sigma * I ** Q("3/2")
)
SUM_OF_DRIFT = (
    SUMMANDS
    * G**2
    * h
    * (
        L**2 * h**2 * K * I**2 * Q_s[s] / 2
        + kappa * L**2 * I * Z[s - 1] ** 2
        + alpha**2 * K * zeta**2 * I**3 / 6
        + alpha**2 * K * sigma**2 * I**2 / (2 * b)
    )
)


def other_terms(E_s: Expr) -> Line:
    """Return that E_s bounds the sum of eta E Delta_t, and h^2 E_s/2 that of L^2 eta E X_t."""
    consensus = L**2 * sum_t(l, start + 1, end, eta[l] * spread[l] ** 2)
    return (D[s] <= E_s) & (consensus <= h_0**2 / 2 * E_s)


of_a_step = partial(
    stated,
    kind="conditional",
    place=("jump", t),
    readings=RIGHT_READINGS,
    opened=scene_of_part,
)
of_a_round = partial(
    per_round,
    opened=PartRounds,
    label=DRIFT,
    cases=drift_cases,
    premises=of_parts(EVERY_PART),
    readings=RIGHT_READINGS,
)
OVERWRITTEN = read_as("overwrite", "v at the wrong points: reading overwrite")
CLAIMS = (
    stated(
        PER_SAMPLE,
        id="RS1",
        label=ERROR,
        kind="pathwise",
        statement="The noise of one step, exactly: Young's inequality is not needed.",
        cases=partial(step_cases, parts=EVERY_PART),
        premises=of_parts(EVERY_PART),
        readings=RIGHT_READINGS,
    ),
    of_a_step(
        TELESCOPES,
        id="RS2",
        label=ERROR,
        statement="So the error's growth is an equality whose cross term telescopes: v_t is the"
        " variance of one sample at the points in use, U_t that of its change.",
        cases=partial(step_cases, parts=EVERY_PART),
        premises=of_parts(EVERY_PART),
        mutants=(OVERWRITTEN, wrong("Young in its place, as an equality", line=YOUNG)),
    ),
    averaged(
        ON_AVERAGE,
        id="RS2e",
        label=ERROR,
        statement="The same of what a run adds to the error, in the mean over runs.",
        cases=lambda level: averaged_cases(EVERY_PART),
        premises=of_parts(EVERY_PART),
        readings=RIGHT_READINGS,
        mutants=(OVERWRITTEN,),
    ),
    of_a_step(
        MOVES,
        id="RS3",
        label=ERROR,
        statement="U_t is at most L^2/K times the length between the two points of d_{t+1}.",
        cases=partial(step_cases, parts=EVERY_PART),
        premises=of_parts(EVERY_PART),
    ),
    stated(
        DESCENT,
        id="RS4",
        label="lem: Descent_Batch_App",
        kind="pathwise",
        values=tuple({"p_0": expr(part["p_0"])} for part in RSTAR_PARTS.values()),
        statement="Descent, with p of each part.",
        readings=RIGHT_READINGS,
    ),
    of_a_step(
        BY_YOUNG,
        id="RS5",
        label=POTENTIAL,
        statement="Part (a): one step of the potential, with any sync batch.",
        cases=partial(step_cases, parts="a"),
        premises=of_parts("a"),
        mutants=(SCALED, read_as("overwrite")),
    ),
    of_a_step(
        BY_IDENTITY,
        id="RS6",
        label=POTENTIAL,
        statement="Parts (b) to (e) without a sync batch: with v_t in the potential nothing is"
        " lost to Young's inequality.",
        cases=partial(step_cases, parts=IDENTITY_PARTS, sync_batch=1),
        premises=of_parts(IDENTITY_PARTS, most=1),
        mutants=(SCALED, OVERWRITTEN),
    ),
    of_a_step(
        WITH_BATCH,
        id="RS7",
        label=POTENTIAL,
        statement="Parts (b) to (e) with a sync batch m >= 2: tau pays for the missing share.",
        cases=partial(step_cases, parts=IDENTITY_PARTS, sync_batch=3),
        premises=of_parts(IDENTITY_PARTS, least=2),
        mutants=(SCALED, OVERWRITTEN),
    ),
    of_a_round(
        FORCED,
        each="step",
        id="RS8",
        statement="Within a round the drift of the directions is at most G times its forcing;"
        " letters as in R2, G as h and c_0 make it.",
    ),
    of_a_round(
        JUMP,
        each="round",
        id="RS9",
        statement="The consensus error at the jump that ends a round.",
    ),
    of_a_round(
        other_terms(SUM_OF_DRIFT),
        each="round",
        id="RS10",
        statement="The drift summed over a round is at most E_s, and the consensus error h^2/2 of"
        " it.",
        mutants=(wrong("a sixteenth of E_s", line=other_terms(SUM_OF_DRIFT / 16)),),
    ),
)
