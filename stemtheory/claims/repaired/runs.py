"""Whole runs beside the repaired bounds: simulated, or exact where second moments are.

Paper: Thm: PR_Convergence_Main_App, eq. (Eq: Grad_Norm_Sum).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from stemtheory.bounds import Premise, whole_rounds
from stemtheory.claims.base import Case, dials, noiseless, quadratic, resting
from stemtheory.claims.evidence.measured import MeasuredRun, measure
from stemtheory.claims.evidence.recorded import setting_of
from stemtheory.claims.language import Expr, Line
from stemtheory.claims.language.letters import (
    B,
    E,
    L,
    T,
    b,
    c,
    eta,
    gap,
    grad,
    norm2,
    sigma,
    sum_t,
    t,
    xbar_a,
    zeta,
)
from stemtheory.runtime import Floats
from stemtheory.schedules import Theorem

# All workers equal, one first sample, a start at the minimum: the run is the slow forgetting of
# the first error, and the bound's constant 240 is sharp within 6.7 % as b K I grows.
FIRST_SAMPLE = resting(1, 1000, 2, 80_000, B=1.0)
# The same with an almost exact start: the run is its noise, and the term in sigma must carry it.
NOISE_ALONE = replace(FIRST_SAMPLE, b=1, I=4, rounds=10_000, B=1e12)
# Workers whose curvature and gradient are correlated: overwriting the own point biases dbar.
TURNED: dict[str, Any] = {"h": 0.3, "L": 1.0, "zeta": 2.0, "het_phase": 0.8}
CORRELATED = noiseless(4, 4, 4, 1000, x1=0.0, replicates=2, **TURNED)


# Rounds and replicates of simulated runs, so many that bounds say something.
LENGTHS = {"quick": (400, 32), "default": (1000, 32), "full": (4000, 64)}


def run_cases(level: str) -> tuple[Case, ...]:
    """Return runs long enough for the bounds to say something, and the three sharp ones."""
    rounds, R = LENGTHS[level]
    quiet, plain = dials(sigma=0.05, zeta=0.2), dials(sigma=0.2, zeta=1.0)
    return (
        Case("cosine", 2, 2, 1, 2, rounds, quiet, replicates=R),
        Case("geman_mcclure", 4, 2, 2, 4, rounds, plain, replicates=R),
        Case("quadratic", 2, 2, 1, 4, rounds, plain, replicates=R, sync_batch=3),
        Case("quadratic", 3, 2, 2.5, 8, rounds // 2, plain, replicates=R),
        quadratic(1, 1, 2, rounds, dim=2, replicates=R, sigma=0.2, zeta=0.0),
        CORRELATED,
        FIRST_SAMPLE,
        replace(FIRST_SAMPLE, b=10, I=2000, rounds=200_000),
        NOISE_ALONE,
    )


def is_exact(case: Case) -> bool:
    """Whether second moments are exact: equal quadratics, additive noise, the constant phase.

    With f = h x^2/2 in every coordinate and noise that does not depend on x, the means over workers
    close upon themselves, under every reading and with any I:

        x_{t+1} = x_t - eta (h x_t + e_t),        e_{t+1} = (1 - a) e_t + a n,

    so E||grad f(xbar_a)||^2 is a power of a 5 x 5 matrix: no random number, any T.
    """
    dials = dict(case.dials)
    linear = case.problem == "quadratic" and dials.get("noise") == "additive"
    equal = dials.get("zeta") == 0 and "spectrum" not in dials
    if not (linear and equal and case.sync_batch == 1):
        return False
    s = setting_of(case)
    return case.T <= Theorem(s.L, s.K, s.b, s.I).constant_phase_end


def average_grad_sq(case: Case) -> float:
    """Return (1/T) sum_t E||grad f(xbar_t)||^2 of a covered case, x_1 common to all workers."""
    s = setting_of(case)
    schedule = Theorem(s.L, s.K, s.b, s.I)
    h = float(dict(case.dials).get("h", s.L))
    step = transition(h, float(schedule.eta(1)), float(schedule.momentum(2)), s.sigma, s.b * s.K)
    x1 = float(np.sum(np.broadcast_to(np.asarray(case.x1, dtype=float), (case.dim,)) ** 2))
    first = np.array([x1, 0.0, s.sigma**2 / (s.initial_batch * s.K), 1.0, 0.0])
    last = np.linalg.matrix_power(step, case.T) @ first
    return float(last[4]) / case.T


def transition(h: float, eta: float, a: float, sigma: float, samples: float) -> Floats:
    """Return the map of (E||x||^2, E<x, e>, E||e||^2, 1, sum E||h x||^2) from t to t + 1.

    ``samples`` = bK is how many samples are averaged in a step.
    """
    q, keep = 1 - eta * h, 1 - a
    return np.array(
        [
            [q * q, -2 * q * eta, eta * eta, 0, 0],
            [0, q * keep, -eta * keep, 0, 0],
            [0, 0, keep * keep, a * a * sigma * sigma / samples, 0],
            [0, 0, 0, 1, 0],
            [h * h, 0, 0, 0, 1],
        ]
    )


def exact_or_measured(case: Case) -> MeasuredRun:
    """Return exact moments where there are some, else what simulated runs measure.

    Exact moments are compared without regard to a standstill: some start at the minimum.
    """
    if not is_exact(case):
        return measure(case)
    return MeasuredRun(average_grad_sq(case), error=0.0, dof=0, standstill=np.nan)


def bound(lam: int, A_s: Expr, A_z: Expr) -> Line:
    """Return (3), divided by eta_T T/2, so that E||grad f(xbar_a)||^2 stands on the left."""
    return E(norm2(grad(xbar_a))) <= 2 / (eta[T] * T) * (
        gap
        + b * sigma**2 / (lam * L**2 * B * eta[0])
        + c**2 / L**2 * (A_s * sigma**2 + A_z * zeta**2) * sum_t(t, 1, T, eta[t] ** 3)
    )


def run_premises(longest: int) -> Callable[[Any], tuple[Premise, ...]]:
    """Return the premises I >= 2, T = S I and I/m <= longest."""

    def premises(case: Case) -> tuple[Premise, ...]:
        s = setting_of(case)
        fits = Premise(f"I/m <= {longest}", s.I <= longest * s.sync_batch)
        return whole_rounds(s), Premise("I >= 2", s.I >= 2), fits

    return premises
