"""The repaired proof's inequalities on recorded runs: one step given F_t, one round in L2 norms.

Paper: Lemma (Lem: Potential_Descent_App), Lemma (lem: GradientError_PotentialFn_App).
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from stemtheory.algorithms import Stem
from stemtheory.bounds import Premise
from stemtheory.claims.base import Case, Comparison, noiseless, quadratic, resting
from stemtheory.claims.evidence.path import Path
from stemtheory.claims.evidence.recorded import EPS, square
from stemtheory.claims.evidence.rounds import Rounds
from stemtheory.claims.evidence.sums import growth, per_t
from stemtheory.claims.panel import path_cases
from stemtheory.claims.repaired.coefficients import METHOD
from stemtheory.runtime import Floats

# --- one step -------------------------------------------------------------------------------------


def one_step(
    path: Path, lam: float, theta: float, w: float, *, m: float | None = None, jump: float = 1.0
) -> Comparison:
    """E[Psi_{t+1} - Psi_t | F_t] plus all that descends, against drift and noise; t = 1..T.

    Psi_t = f(xbar_t) + (bK/(lam L^2)) ||ebar_t||^2/eta_{t-1}; theta is Young's in the contraction
    and w the weight of X_t in the descent. f(xbar_{t+1}) is known at t and E||ebar_{t+1}||^2 is a
    closed form, so both sides are exact. ``m`` and ``jump`` (a factor on the jump's term) serve
    mutants.
    """
    s, t = path.setting, path.t
    eta, before, a = per_t(path.eta[t]), per_t(path.eta[t - 1]), per_t(path.a[t + 1])
    weight = s.b * s.K / (lam * s.L**2)
    error, grown = square(path.ebar[t]), growth(path)
    potential = weight * (grown / eta + ((1 - a) ** 2 / eta - 1 / before) * error)
    descent = eta / 2 * square(path.G[t])
    descent += (eta / 2 - eta**2 * s.L / 2 - (1 + theta) / lam * eta) * path.q2[t]
    left = path.f[t + 1] - path.f[t] + potential + descent
    m = s.sync_batch if m is None else m
    jumped = jump * (1 + theta) / (lam * m * s.K) * path.X[t] / eta
    drifted = (1 + theta) / (lam * s.K) * eta * path.Dl[t]
    place = jumps(path)
    right = (
        w * eta * s.L**2 / s.K * path.X[t]
        + np.where(per_t(place == "sync"), jumped, drifted)
        + (1 + 1 / theta) * a**2 * s.sigma**2 / (lam * s.L**2 * eta)
    )
    size = np.abs(path.f[t]) + np.abs(path.f[t + 1]) + weight * error / before
    floor = 64 * EPS * (size + eta * (square(path.G[t]) + path.q2[t]))
    where = np.broadcast_to(per_t(place), left.shape)
    return Comparison(left, right, where, per_t(t), floor=floor)


def jumps(path: Path) -> Any:
    """Return 'sync' at the step whose estimate spans the averaging, else 'off-sync'; t = 1..T.

    literal: t = tbar_s, s >= 1 (also taken for overwrite); where x is averaged first:
    t = tbar_s - 1.
    """
    first = Stem(path.case.reading).averages_first
    return path.where(path.t, "end" if first else "start")


# --- one round ------------------------------------------------------------------------------------


def forcing(r: Rounds, carry: float | None = None) -> Floats:
    """F_i of (R2), i = 1..I-1: what drives the drift, shape (n, S, I - 1)."""
    s = r.setting
    i = np.arange(1, s.I)
    h, alpha = r.h[:, None], r.alpha[:, None]
    moved = s.L * h * math.sqrt(s.K) * np.cumsum(r.q, axis=-1)[..., :-1]
    carried = (r.carry if carry is None else carry) * s.L * r.Z[:, :-1, None]
    apart = i * alpha * math.sqrt(s.K / 2) * s.zeta
    noise = alpha * np.sqrt(i * s.K / s.b) * s.sigma
    return np.asarray(moved + carried + apart + noise)


def drift(r: Rounds, first: float = 1.0) -> tuple[Floats, Floats]:
    """(R2): Y_i <= G F_i within every round; ``first`` is a factor on its first dbar."""
    q = np.concatenate([first * r.q[..., :1], r.q[..., 1:]], axis=-1)
    return r.Y, float(METHOD.G) * forcing(replace(r, q=q))


def jump_size(r: Rounds, third: float = 3.0, power: float = 1.5) -> tuple[Floats, Floats]:
    """(R3): Z_s <= G [L h^2 sqrt(K Q_s/3) I^{3/2} + (kappa/16) Z_{s-1} + zeta and sigma terms]."""
    s, I = r.setting, float(r.setting.I)
    Q = (r.q**2).sum(axis=-1)
    moved = s.L * r.h**2 * math.sqrt(s.K) * I**power * np.sqrt(Q / third)
    carried = r.carry / 16 * r.Z[:, :-1]
    apart = r.h * r.alpha * math.sqrt(s.K / 2) * s.zeta * I**2 / 2
    noise = 2 / 3 * r.h * r.alpha * math.sqrt(s.K / s.b) * s.sigma * I**1.5
    return r.Z[:, 1:], float(METHOD.G) * (moved + carried + apart + noise)


def accumulated(r: Rounds, base: float = 2.8046) -> tuple[Floats, Floats]:
    """D_s <= 0.0233 D_{s-1} + 0.0110 D_s + base_s, D_s the sum of eta E Dl inside round s."""
    s = r.setting
    D = (r.eta[:, 1:] * r.Y**2).sum(axis=-1)
    previous = np.concatenate([np.zeros_like(D[:, :1]), D[:, :-1]], axis=1)
    cubes = r.c**2 * (r.eta**3).sum(axis=-1) / s.L**2
    sources = s.K / 64 * (r.eta * r.q**2).sum(axis=-1)
    sources = sources + s.K * cubes * (s.sigma**2 / (32 * s.b) + s.zeta**2 / 16)
    return D, 0.0233 * r.carry * previous + 0.0110 * D + base * sources


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
        SHAKEN,
    )


def at_least_two(case: Case) -> tuple[Premise, ...]:
    """The premises of the repaired proof: its schedule and I >= 2 (I = 1 has no jump)."""
    return (
        Premise("I >= 2", case.I >= 2),
        Premise("the schedule is the theorem's", case.schedule == "theorem"),
    )
