"""The repaired proof's inequalities on recorded runs: one step given F_t, one round in L2 norms.

Paper: Lemma (Lem: Potential_Descent_App), Lemma (lem: GradientError_PotentialFn_App).
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from stemtheory.bounds import Premise
from stemtheory.claims.base import Case, noiseless, quadratic, resting
from stemtheory.claims.language import Expr
from stemtheory.claims.language.letters import K, L, b, ebar, eta, f, norm2, xbar
from stemtheory.claims.panel import path_cases

# --- one step -------------------------------------------------------------------------------------


def potential(lam: int | Expr, at: Any) -> Expr:
    """Psi_t = f(xbar_t) + (bK/(lam L^2)) ||ebar_t||^2/eta_{t-1}; at lam = 64 it is Phi_t."""
    return f(xbar[at]) + b * K / (lam * L**2) * norm2(ebar[at]) / eta[at - 1]


# --- what they are put to -------------------------------------------------------------------------

# Curvatures +-0.99 about a mean of 0.01, far from the minimum and without noise: dbar is almost
# constant and all drift comes from it, which makes (R3) nearly sharp as I grows.
SHARP = noiseless(8, 64, 64, 3, x1=10 * math.pi / 0.99, h=0.01, zeta=2.0, L=1.0)
# Noise that is all slope: the jump's variance is what its term allows, within the factor 1 + theta.
TILTED: dict[str, Any] = {"zeta": 2.0, "heterogeneity": "tilt"}
STEEP = quadratic(2, 1, 16, 3, x1=0.0, h=0.25, sigma=0.01, noise_smoothness=0.96, **TILTED)
# One worker at the minimum with one sample: the error of the first direction is all there is.
FIRST_ERROR = resting(1, 1, 2, 4, B=1.0)


# Only the push of heterogeneity moves the workers apart, about a minimum at which dbar is zero.
PUSHED = noiseless(2, 1, 16, 3, x1=0.0, h=1.0, **TILTED)
# The same over long rounds: what the last jump left is most of the next drift.
PUSHED_FAR = replace(PUSHED, K=16, I=256, rounds=2)
# Only noise does, after an almost exact start at the minimum.
SHAKEN = resting(4, 1, 8, 3, dim=8, B=1e12, replicates=64)


def step_cases(level: str) -> tuple[Case, ...]:
    """Return the path panel, the decaying phase, sync batches and the nearly sharp runs."""
    noisy = [c for c in path_cases(level) if c.I > 1 and c.K > 1 and dict(c.dials).get("sigma")]
    batches = [replace(case, sync_batch=3) for case in noisy[:4]]
    decaying = [replace(FIRST_ERROR, clock=1e6), replace(STEEP, I=4, clock=1e9)]
    return (
        *path_cases(level),
        *batches,
        *decaying,
        STEEP,
        replace(STEEP, sync_batch=3),
        FIRST_ERROR,
        SHARP,
    )


def round_cases(level: str) -> tuple[Case, ...]:
    """Return the runs without noise, some with it and 64 replicates, and the nearly sharp ones."""
    panel = [case for case in path_cases(level) if case.I > 1]
    still = [case for case in panel if dict(case.dials).get("sigma") == 0]
    noisy = [replace(case, replicates=64) for case in panel if case not in still]
    return (
        *still,
        *noisy[::3],
        replace(STEEP, replicates=64),
        replace(STEEP, replicates=64, sync_batch=3),
        SHARP,
        PUSHED,
        PUSHED_FAR,
        SHAKEN,
        replace(SHAKEN, K=8, b=64),
    )


def at_least_two(case: Case) -> tuple[Premise, ...]:
    """The premises of the repaired proof: its schedule and I >= 2 (I = 1 has no jump)."""
    return (
        Premise("I >= 2", case.I >= 2),
        Premise("the schedule is the theorem's", case.schedule == "theorem"),
    )
