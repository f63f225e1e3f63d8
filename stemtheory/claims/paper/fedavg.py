"""FedAvg: gradient variance, accumulated error, descent, and whole runs against the theorem.

Paper: App: FedAvg.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from stemtheory.bounds import Premise
from stemtheory.claims.base import SCALED, Case, Mutant, dials, wrong
from stemtheory.claims.evidence.fedavg_path import Spoiled, kept, record_fedavg, shared
from stemtheory.claims.evidence.measured import premises
from stemtheory.claims.evidence.recorded import setting_of
from stemtheory.claims.language import EPS, Expr, Q, equal
from stemtheory.claims.language.letters import (
    E,
    I,
    K,
    L,
    T,
    b,
    d,
    dbar,
    end,
    f,
    gap,
    grad,
    grad_k,
    j,
    k,
    l,
    mean_j,
    mean_k,
    norm2,
    sigma,
    sqrt,
    start,
    step,
    sum_k,
    sum_t,
    t,
    unit_step,
    x,
    xbar,
    xbar_a,
    zeta,
)
from stemtheory.claims.stating import averaged, sized, stated, whole_run

# --- cases ----------------------------------------------------------------------------------------


def fedavg_case(*fields: Any, replicates: int = 32, **more: Any) -> Case:
    """Return the case of these fields with the largest step the lemmas allow, eta = 1/(9 L I)."""
    case = replace(Case(*fields, **more), algorithm="fedavg", replicates=replicates)
    eta = 1 / (9 * setting_of(case).L * case.I)
    return replace(case, schedule="constant", options=(("eta", eta),))


def lemma_cases(level: str) -> tuple[Case, ...]:
    """Return small runs for the lemmas: the edges, and what makes each term of them large."""
    rounds = {"quick": 3, "default": 6, "full": 12}[level]
    more = () if level == "quick" else ("quadratic", "welsch", "cauchy", "corridor")
    plain = [
        fedavg_case(name, K, 2, b, I, rounds, dials(sigma=sigma, zeta=zeta if K > 1 else 0.0))
        for name in ("cosine", "geman_mcclure", *more)
        for K, b, I in ((1, 1, 3), (2, 1, 1), (2, 1, 2), (4, 2, 4), (4, 2.5, 8))
        for sigma, zeta in ((0.5, 1.0), (0.0, 2.0))
    ]
    # odd K, other noises, and starts where one term of a lemma stands alone
    alone = dials(sigma=1.0, zeta=0.0, noise="additive")
    tilted = dials(sigma=0.0, zeta=2.0, heterogeneity="tilt")
    opposite = dials(h=0.1, sigma=0.0, zeta=2.0, L=1.0, het_phase=0.5)
    still = dials(h=0.01, sigma=0.0, zeta=2.0, het_frequency=0.82, het_phase=3.03)
    return (
        *plain,
        fedavg_case("cosine", 3, 3, 1, 4, rounds, dials(noise="modulated", spectrum=4.0)),
        fedavg_case("quadratic", 2, 8, 1, 8, rounds, alone, x1=0.0),
        fedavg_case("quadratic", 4, 2, 1, 8, rounds, tilted, x1=0.0),
        fedavg_case("quadratic", 2, 1, 1, 16, rounds, opposite, x1=0.0),
        # b above K and K above b, rounds long enough for (I - 1)^2, workers that stand still apart
        fedavg_case("quadratic", 2, 1, 8, 1, rounds, alone, x1=0.0),
        fedavg_case("quadratic", 4, 1, 1, 1, rounds, alone, x1=0.0),
        fedavg_case("quadratic", 2, 1, 1, 128, rounds, tilted, x1=0.0),
        fedavg_case("quadratic", 2, 1, 64, 32, rounds, still, x1=0.286),
    )


def noisy_cases(level: str) -> tuple[Case, ...]:
    """Return runs whose noise has variance sigma^2 at every x, with many replicates."""
    R = {"quick": 1024, "default": 1024, "full": 4096}[level]
    loud = (dials(sigma=0.5, zeta=1.0), dials(sigma=2.0, zeta=0.0, noise="additive"))
    quiet = (dials(sigma=0.01, zeta=4.0),)  # so that the gradients of another t are told apart
    return tuple(
        fedavg_case(name, K, 2, b, I, 3, one, replicates=R)
        for made in (loud, quiet)
        for name in ("cosine", "welsch")
        for K, b, I in ((2, 1, 2), (4, 2.5, 4), (3, 8, 3))
        for one in made
    )


def run_cases(level: str) -> tuple[Case, ...]:
    """Return whole runs that meet T >= 81 L^2 I^2 bK, and one that does not."""
    scale = {"quick": 1, "default": 4, "full": 16}[level]
    R = 16 if level == "quick" else 32
    quiet = dials(L=0.5, sigma=0.01, zeta=0.01)
    apart = dials(L=0.5, h=0.05, sigma=0.0, zeta=4.0, het_phase=0.5)
    silent = dials(L=0.5, h=0.5, sigma=0.0, zeta=0.0)
    resting = dials(L=0.5, sigma=1.0, zeta=0.0, noise="additive")
    half, drift = dials(L=0.5), dials(L=0.5, sigma=0.0, zeta=4.0)
    tilted = dials(L=0.5, sigma=0.5, zeta=4.0, heterogeneity="tilt")
    cases = (
        Case("cosine", 4, 2, 2, 2, 500 * scale, half, x1=3.0),
        Case("cosine", 4, 2, 1, 2, 500 * scale, quiet),
        Case("geman_mcclure", 2, 1, 1, 4, 250 * scale, half),
        Case("welsch", 1, 2, 1, 1, 500 * scale, dials(L=0.5)),
        Case("quadratic", 2, 1, 1, 8, 400 * scale, drift, x1=5.0),
        Case("quadratic", 4, 2, 1, 4, 400 * scale, tilted, x1=3.0),
        # drift alone; noise alone and descent alone, K above b and b above K
        Case("quadratic", 2, 1, 1, 8, 400 * scale, apart, x1=0.0),
        Case("quadratic", 64, 1, 1, 1, 3000 * scale, resting, x1=0.0),
        Case("quadratic", 1, 1, 32, 1, 800 * scale, resting, x1=0.0),
        Case("quadratic", 9, 1, 1, 1, 250, silent),
        Case("quadratic", 1, 1, 9, 1, 250, silent),
        Case("cosine", 4, 2, 2, 8, 25 * scale, dials()),  # too short: the premise is not met
    )
    return tuple(replace(case, algorithm="fedavg", replicates=R) for case in cases)


def small_step(case: Case) -> tuple[Premise, ...]:
    """The lemmas' premise on the step size."""
    s, eta = setting_of(case), dict(case.options)["eta"]
    return (Premise("eta <= 1/(9LI)", eta <= 1 / (9 * s.L * s.I) * (1 + 4 * EPS)),)


# --- the lemmas -----------------------------------------------------------------------------------


def tiny_steps(case: Case) -> Case:
    """Return the case with eta = bK/T, the printed root forgotten."""
    return replace(case, schedule="constant", options=(("eta", case.b * case.K / case.T),))


def round_so_far(body: Expr) -> Expr:
    """Return the sum from the start of the round of t to t - 1."""
    return sum_t(l, start, t - 1, body)


def once_a_round(path: Any) -> Any:
    """Return the first t of every round."""
    return path.t[:: path.case.I]


def recorded_with(spoiled: Spoiled, name: str) -> Mutant:
    """Return the mutant whose runs draw other minibatches."""
    return wrong(name, run=partial(record_fedavg, spoiled=spoiled))


ERROR = dbar[t] - mean_k(grad_k(x[t, k]))
APART = grad_k(x[l, k]) - mean_j(grad_k(x[l, j], j))
# The step sqrt(bK/T) has no units: it is read in a unit of the step.
THEOREM = (
    E(norm2(grad(xbar_a)))
    <= 2 * gap / (unit_step * sqrt(b * K * T))
    + 2 * L * unit_step / sqrt(b * K * T) * sigma**2
    + 3 * L**2 * b * K * (I - 1) * unit_step**2 / T * sigma**2
    + 5 * L**2 * b * K * (I - 1) ** 2 * unit_step**2 / T * zeta**2
)

lemma = partial(stated, cases=lemma_cases)
CLAIMS = (
    averaged(
        equal(E(norm2(ERROR)), sigma**2 / (b * K)),
        id="F1",
        label="Lem: Grad_Variance_FedAvg",
        statement="The mean direction's variance is sigma^2/(bK) where the noise attains sigma.",
        cases=noisy_cases,
        mutants=(SCALED, recorded_with(shared, "workers share their noise")),
    ),
    lemma(
        E(norm2(ERROR)) <= sigma**2 / (b * K),
        id="F1-C",
        label="Lem: Grad_Variance_FedAvg",
        kind="conditional",
        statement="The mean direction's variance, given the past, is at most sigma^2/(bK).",
    ),
    averaged(
        sum_t(t, 1, T, mean_k(E(norm2(x[t, k] - xbar[t]))))
        <= 3 * step**2 * (I - 1) * sigma**2 * T + 5 * step**2 * (I - 1) ** 2 * zeta**2 * T,
        at=lambda path: path.t[-1:],
        id="F2",
        label="lem: ErrorAccumulation_Iterates_FedAvg",
        statement="Between synchronisations the workers drift apart by this much at most, per run.",
        cases=lemma_cases,
        premises=small_step,
    ),
    averaged(
        sum_t(t, start, end - 1, mean_k(E(norm2(x[t, k] - xbar[t]))))
        <= 3 * step**2 * (I - 1) * sigma**2 * I + 5 * step**2 * (I - 1) ** 2 * zeta**2 * I,
        at=once_a_round,
        id="F2-R",
        label="lem: ErrorAccumulation_Iterates_FedAvg",
        statement="The same for every round by itself.",
        cases=lemma_cases,
        premises=small_step,
    ),
    averaged(
        equal(
            E(norm2(sum_t(l, start, end - 2, d[l, k] - grad_k(x[l, k])))),
            (I - 1) * sigma**2 / b,
        ),
        at=once_a_round,
        id="F2a",
        label="Eq: GradVar_FedAvg",
        statement="A round's noises add up to variance (I-1) sigma^2/b: martingale differences.",
        cases=noisy_cases,
        mutants=(SCALED, recorded_with(kept, "one minibatch for a whole round")),
    ),
    lemma(
        sum_k(norm2(round_so_far(APART)))
        <= 8 * L**2 * (I - 1) * round_so_far(sum_k(norm2(x[l, k] - xbar[l])))
        + 2 * K * (I - 1) ** 2 * zeta**2,
        id="F2b",
        label="Eq: InterNodeVar_FedAvg",
        kind="pathwise",
        statement="The gradients' deviations over a round, by the drift and zeta.",
    ),
    sized(
        "F2c",
        "lem: ErrorAccumulation_Iterates_FedAvg",
        "1 - 16L^2I^2 eta^2 >= 4/5 at the largest step, and 2 and 4 over that are 3 and 5 at most.",
        (1 - 16 * L**2 * I**2 * (1 / (9 * L * I)) ** 2 >= Q("4/5"))
        & (2 / Q("4/5") <= 3)
        & (4 / Q("4/5") <= 5),
    ),
    lemma(
        E(f(xbar[t + 1]))
        <= E(f(xbar[t]))
        - step / 2 * E(norm2(grad(xbar[t])))
        + step * L**2 / (2 * K) * sum_k(E(norm2(x[t, k] - xbar[t])))
        + step**2 * L / (b * K) * sigma**2,
        id="F3",
        label="lem: Fn_Descent_FedAvg",
        kind="conditional",
        statement="f descends in expectation, up to the workers' drift and the noise.",
        premises=small_step,
        reason="The sharp constant of the noise is 1/2.",
    ),
    whole_run(
        THEOREM,
        id="F4",
        label="Thm: Flexible_FedAvg",
        statement="The FedAvg theorem with explicit constants.",
        cases=run_cases,
        premises=premises("fedavg-theorem"),
        mutants=(SCALED, Mutant("step bK/T without the root", change=tiny_steps)),
    ),
)
