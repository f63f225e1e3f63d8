"""docs/theorem-rstar.md: the steps of the proof."""

from __future__ import annotations

import math
from typing import Any

from tests.claims.second_hand.descent import Phi
from tests.claims.second_hand.letters import Pair, sq
from tests.claims.second_hand.repaired import round_of

# Theorem R* (docs/theorem-rstar.md). Its h is h_0 here, eta is h and a alpha in steps 4 to 6, its p
# is p_0, Lambda Lam; what the page calls X in a norm, (E X_t)^{1/2}, is spread[t].

# theta or tau; p; p_A, p_C, p_D; h; c_0; M; kappa; Lambda; A_sigma; A_zeta; C; Lambda and C's
# coefficient of sigma^2 at I = 1.
STARRED: dict[str, dict[str, Any]] = {
    "a": {
        "young": 0.8,
        "p": 0.096,
        "w": (0.148, 0.291, 0.231),
        "h": 1 / 4,
        "c0": 6,
        "M": 8,
        "kappa": 1,
        "lam": 20.86,
        "A_s": 0.181,
        "A_z": 0.0752,
        "C": (8, 2.35, 0.34),
        "one": (19.5, 1.88),
    },
    "b": {
        "young": 0.17,
        "p": 0.099,
        "w": (0.0755, 0.335, 0.2608),
        "h": 1 / 4,
        "c0": 6,
        "M": 8,
        "kappa": 1,
        "lam": 20.81,
        "A_s": 0.0989,
        "A_z": 0.0472,
        "C": (8, 1.99, 0.22),
        "one": (19.5, 1.88),
    },
    "c": {
        "young": 0.05,
        "p": 0.105,
        "w": (0.257, 0.286, 0.128),
        "h": 1 / 4,
        "c0": 6,
        "M": 32,
        "kappa": 1,
        "lam": 20.69,
        "A_s": 0.1240,
        "A_z": 0.1307,
        "C": (8, 2.11, 0.59),
        "one": (19.5, 1.88),
    },
    "d": {
        "young": 0.09,
        "p": 0.148,
        "w": (0.344, 0.446, 0.21),
        "h": 1 / 3,
        "c0": 9 / 2,
        "M": 16,
        "kappa": 0,
        "lam": 14.69,
        "A_s": 0.1521,
        "A_z": 0.1053,
        "C": (6, 1.91, 0.48),
        "one": (13.5, 1.67),
    },
    "e": {
        "young": 0.035,
        "p": 0.0743,
        "w": (0.1985, 0.443, 0.1092),
        "h": 1 / 5,
        "c0": 10,
        "M": 100,
        "kappa": 1,
        "lam": 35.36,
        "A_s": 0.0559,
        "A_z": 0.0743,
        "C": (10, 1.87, 0.60),
        "one": (32, 1.82),
    },
}


def telescoped(r: Any, t: int) -> Any:
    """Return (1/K) sum_k E||(1-a)u + an'||^2, the identity of step 1."""
    a = r.a[t + 1]
    return (1 - a) * r.U[t] + a * (r.v[t + 1] - r.v[t]) + a**2 * r.v[t]


def RS1(r: Any, t: int) -> list[Pair]:
    """lem: ErrorContraction_BatchGradients_App"""
    a, pairs = r.a[t + 1], []
    for k in range(r.K):
        n, n_ = r.gs_old[t + 1][k] - r.g[t][k], r.gs[t + 1][k] - r.g[t + 1][k]
        u = n_ - n
        right = (1 - a) * sq(u) + a * sq(n_) - a * (1 - a) * sq(n)
        pairs.append((sq((1 - a) * u + a * n_), right))
    return pairs


def RS2(r: Any, t: int) -> Pair:
    """lem: ErrorContraction_BatchGradients_App"""
    kept = (1 - r.a[t + 1]) ** 2 * sq(r.ebar[t])
    return sq(r.ebar[t + 1]), kept + 1 / (r.b * r.K**2) * r.K * telescoped(r, t)


def RS2e(r: Any, t: int) -> Pair:
    """lem: ErrorContraction_BatchGradients_App"""
    # E||N_{t+1}||^2, with N_{t+1} of (1).
    N = r.ebar[t + 1] - (1 - r.a[t + 1]) * r.ebar[t]
    return sq(N), 1 / (r.b * r.K**2) * r.K * telescoped(r, t)


def RS3(r: Any, t: int) -> Pair:
    """lem: ErrorContraction_BatchGradients_App"""
    eta2 = r.eta[t] ** 2
    J = (r.X[t] if r.jump else eta2 * r.Dl[t]) + r.K * eta2 * sq(r.dbar[t])
    return r.U[t], r.L**2 * J / r.K


def RS4(r: Any, t: int) -> Pair:
    """lem: Descent_Batch_App"""
    eta, w = r.eta[t], 1 / 2 * (1 + 1 / r.p_0)
    right = (
        r.f[t]
        - eta / 2 * sq(r.G[t])
        - (eta / 2 - eta**2 * r.L / 2) * sq(r.dbar[t])
        + (1 + r.p_0) / 2 * eta * sq(r.ebar[t])
        + w * eta * r.L**2 / r.K * r.X[t]
    )
    return r.f[t + 1], right


def starred_step(r: Any, t: int, q: Any, q_J: Any, noise: Any) -> Any:
    """Return the right side of (5); ``noise`` is what stands beside c^2 eta^3 sigma^2/(Lam L^2)."""
    eta, w = r.eta[t], 1 / 2 * (1 + 1 / r.p_0)
    if r.jump:
        last = q_J / (r.Lam * r.m * r.K * eta) * r.X[t]
    else:
        last = q / (r.Lam * r.K) * eta * r.Dl[t]
    return (
        -eta / 2 * sq(r.G[t])
        - (1 / 2 - r.h_0 / (2 * r.I) - q / r.Lam) * eta * sq(r.dbar[t])
        + w * eta * r.L**2 / r.K * r.X[t]
        + noise * r.c**2 * eta**3 * r.sigma**2 / (r.Lam * r.L**2)
        + last
    )


def Psi(r: Any, t: int, eta: Any) -> Any:
    """Return the potential of (B) to (E), a constant: that of t + 1."""
    return Phi(r, t, r.Lam) - eta / (r.Lam * r.L**2) * r.v[t]


def RS5(r: Any, t: int) -> Pair:
    """Lem: Potential_Descent_App"""
    left = Phi(r, t + 1, r.Lam) - Phi(r, t, r.Lam)
    return left, starred_step(r, t, 1 + r.theta, 1 + r.theta, 1 + 1 / r.theta)


def with_variance(r: Any, t: int) -> Any:
    """Return Psi_{t+1} - Psi_t of (B) to (E), in which a/eta does not change."""
    rate = r.a[t + 1] / r.eta[t]
    return Psi(r, t + 1, rate) - Psi(r, t, rate)


def RS6(r: Any, t: int) -> Pair:
    """Lem: Potential_Descent_App"""
    # m = 1, so that nothing is divided by it.
    return with_variance(r, t), starred_step(r, t, 1, r.m, 1)


def RS7(r: Any, t: int) -> Pair:
    """Lem: Potential_Descent_App"""
    # Step 1: at a jump with m >= 2 a^2 v is taken 1 + (m-1)/tau times.
    noise = 1 + (r.m - 1) / r.tau if r.jump else 1
    return with_variance(r, t), starred_step(r, t, 1, 1 + r.tau, noise)


def starred_G(r: Any) -> Any:
    """Return G of step 4."""
    return math.exp((1 + 1 / 4 * r.c_0 * r.h_0**2) * r.h_0)


def RS8(r: Any, t: int) -> Pair:
    """lem: GradientError_PotentialFn_App"""
    i = t - r.start(t)
    forcing = (
        r.L * r.h * math.sqrt(r.K) * sum(r.q[:i])
        + r.kappa * r.L * r.Z[round_of(r, t) - 1]
        + i * r.alpha * math.sqrt(r.K / 2) * r.zeta
        + r.alpha * math.sqrt(i * r.K / r.b) * r.sigma
    )
    return r.Y[i], starred_G(r) * forcing


def RS9(r: Any, t: int) -> Pair:
    """lem: GradientError_PotentialFn_App"""
    s, K, eta, a, I = round_of(r, t), r.K, r.h, r.alpha, r.I
    A = r.L * eta**2 * math.sqrt(K) * I ** (3 / 2) * math.sqrt(r.Q / 3)
    C = 1 / 2 * eta * a * math.sqrt(K / 2) * r.zeta * I**2
    D = 2 / 3 * eta * a * math.sqrt(K / r.b) * r.sigma * I ** (3 / 2)
    return r.Z[s], starred_G(r) * (A + r.kappa * r.h_0 * r.Z[s - 1] + C + D)


def RS10(r: Any, t: int) -> list[Pair]:
    """lem: GradientError_PotentialFn_App"""
    s, K, eta, a, I = round_of(r, t), r.K, r.h, r.alpha, r.I
    E_s = (3 + r.kappa) * starred_G(r) ** 2 * eta * (
        1 / 2 * r.L**2 * eta**2 * K * I**2 * r.Q
        + r.kappa * r.L**2 * I * r.Z[s - 1] ** 2
        + 1 / 6 * a**2 * K * r.zeta**2 * I**3
        + 1 / (2 * r.b) * a**2 * K * r.sigma**2 * I**2
    )  # fmt: skip
    # X over i = 1..I; both sides times K/w.
    first = r.start(t)
    apart = r.L**2 * sum(r.eta[j] * r.spread[j] ** 2 for j in range(first + 1, first + I + 1))
    return [(r.D[s], E_s), (apart, r.h_0**2 / 2 * E_s)]
