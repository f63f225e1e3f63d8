"""Appendix A.2, the consensus error, and Theorem A.10."""

from __future__ import annotations

import math
from typing import Any

from tests.claims.second_hand.descent import Phi
from tests.claims.second_hand.letters import Pair, chain, cubes, mean, mean_gradient, span, sq

# Appendix A.2: the consensus error


def consensus(r: Any, t: int, first: Any, young: Any) -> Any:
    """Return M5's right side, for given coefficients of the first term and of all others."""
    a, eta, K, L2 = r.a[t], r.eta[t - 1], r.K, r.L**2
    drift = sum(r.eta[j] ** 2 * sq(r.d[j] - r.dbar[j]) for j in range(r.start(t), t))
    return (
        first * sq(r.d[t - 1] - r.dbar[t - 1])
        + 4 * K * L2 * young * eta**2 * sq(r.dbar[t - 1])
        + 4 * K * r.sigma**2 / r.b * young * a**2
        + 8 * K * r.zeta**2 * young * a**2
        + 32 * L2 * young * (r.I - 1) * a**2 * drift
    )


def M5(r: Any, t: int) -> Pair:
    """lem: GradientErrorContraction_BatchGradients_App"""
    young = 1 + 1 / r.beta
    first = (1 - r.a[t]) ** 2 * (1 + r.beta) + 4 * r.L**2 * young * r.eta[t - 1] ** 2
    return sq(r.d[t] - r.dbar[t]), consensus(r, t, first, young)


def M5_R(r: Any, t: int) -> Pair:
    """lem: GradientErrorContraction_BatchGradients_App"""
    # The proof's last display before its step (a), where nothing is yet taken for a step.
    a, young = r.a[t], 1 + 1 / r.beta
    right = (
        (1 - a) ** 2 * (1 + r.beta) * sq(r.d[t - 1] - r.dbar[t - 1])
        + 2 * r.L**2 * young * sq(r.x[t] - r.x[t - 1])
        + 4 * r.K * r.sigma**2 / r.b * young * a**2
        + 8 * r.K * r.zeta**2 * young * a**2
        + 32 * r.L**2 * young * a**2 * sq(r.x[t - 1] - r.xbar[t - 1])
    )
    return sq(r.d[t] - r.dbar[t]), right


def M5a(r: Any, t: int) -> list[Pair]:
    """eq: DR_Descent_d_Intermediate1_Batch"""
    a = r.a[t]
    new, old = r.gs[t] - mean(r.gs[t]), r.gs_old[t] - mean(r.gs_old[t])
    own = 2 * a**2 * sq(old)
    return chain(
        sq(new - (1 - a) * old),
        sq(new - old + a * old),
        2 * sq(new - old) + own,
        2 * sq(r.gs[t] - r.gs_old[t]) + own,
        2 * 1 / r.b * r.b * sq(r.gx[t] - r.gx_old[t]) + own,
        2 * r.L**2 * sq(r.x[t] - r.x[t - 1]) + own,
    )


def M5b(r: Any, t: int) -> list[Pair]:
    """eq: DR_Descent_d_Intermediate2_Batch"""
    g, gm, old = r.g[t - 1], r.gm[t - 1], r.gs_old[t]
    noise, own = old - g, g - mean(g)
    far = 16 * r.L**2 * sq(r.x[t - 1] - r.xbar[t - 1])
    return chain(
        sq(old - mean(old)),
        sq(noise - mean(noise) + own),
        2 * sq(noise - mean(noise)) + 2 * sq(own),
        2 * sq(noise) + 2 * sq(own),
        2 / r.b**2 * r.b * sq(r.gx_old[t] - g)
        + 4 * sq(gm - r.G[t - 1])
        + 8 * sq(g - gm)
        + 8 * r.K * sq(r.G[t - 1] - mean(g)),
        2 * r.K * r.sigma**2 / r.b + 4 * sum(sq(v - gm) for v in gm) / r.K + far,
        2 * r.K * r.sigma**2 / r.b + 4 * r.K * r.zeta**2 + far,
    )


def M6(r: Any, t: int) -> Pair:
    """lem: GradientError_PotentialFn_App"""
    # t is the lemma's t-bar.
    times = span(r, t)
    third = sum(r.eta[j] ** 3 for j in times)
    left = sum(r.eta[j] * sq(r.d[j] - r.dbar[j]) for j in times)
    right = (
        sum(r.eta[j] / 64 * sq(r.dbar[j]) for j in times)
        + r.sigma**2 * r.c**2 / (64 * r.b * r.L**2) * third
        + r.zeta**2 * r.c**2 / (32 * r.L**2) * (r.I - 1) / r.I * third
    )
    return 33 / (256 * r.K) * (r.I - 1) / r.I * left, right


def M6a(r: Any, t: int) -> list[Pair]:
    """lem: GradientError_PotentialFn_App"""
    # beta stays a letter up to (b), where the paper puts 1/I for it.
    moved, I = 4 * r.L**2 * (1 + 1 / r.beta) * r.eta[t - 1] ** 2, r.I
    return chain(
        (1 - r.a[t]) ** 2 * (1 + r.beta) + moved,
        1 + r.beta + moved,
        1 + 1 / I + 4 * r.L**2 * (I + 1) * r.eta[t - 1] ** 2,
        1 + 1 / I + (I + 1) / (64 * I**2),
        1 + 33 / (32 * I),
    )


def M6b(r: Any, t: int) -> list[Pair]:
    """Eq: GradientError_t_App"""
    # beta stays a letter up to (a), where the paper puts 1/I for it.
    K, I, L, eta, c2 = r.K, r.I, r.L, r.eta[t - 1], r.c**2
    first = 1 + 33 / (32 * I)
    drift = sum(r.eta[j] ** 2 * sq(r.d[j] - r.dbar[j]) for j in range(r.start(t), t))
    last = first * sq(r.d[t - 1] - r.dbar[t - 1]) + 64 * L**2 * I**2 * c2 * eta**4 * drift
    second = (
        8 * K * L**2 * I * eta**2 * sq(r.dbar[t - 1])
        + 8 * K * I * r.sigma**2 / r.b * c2 * eta**4
        + 16 * K * I * r.zeta**2 * c2 * eta**4
    )
    third = (
        K * L / 2 * eta * sq(r.dbar[t - 1])
        + K * r.sigma**2 * c2 / (2 * r.b * L) * eta**3
        + K * r.zeta**2 * c2 / L * eta**3
    )
    with_beta = consensus(r, t, first, 1 + 1 / r.beta)
    return chain(sq(r.d[t] - r.dbar[t]), with_beta, second + last, third + last)


def M6c(r: Any, t: int) -> list[Pair]:
    """Eq: GradientError_Recursive"""
    # The factor (1 + 3/(2I)) in the zeta term of (18) is a misprint for (1 + 33/(32I)).
    return chain((1 + 33 / (32 * r.I)) ** r.I, math.exp(33 / 32), 3)


def M6d(r: Any, t: int) -> Pair:
    """lem: GradientError_PotentialFn_App"""
    # Printed as [1 - ...] >= 4/5.
    return 4 / 5, 1 - 192 * r.L**2 * r.I**4 * r.c**2 * (1 / (16 * r.L * r.I)) ** 6


def M6e(r: Any, t: int) -> list[Pair]:
    """lem: GradientError_PotentialFn_App"""
    # 33/256, times 5/4 from M6d, times 3/32, 3/32 and 3/16: the numbers alone.
    factor = 33 / 256 * 5 / 4
    return [(factor * 3 / 32, 1 / 64), (factor * 3 / 32, 1 / 64), (factor * 3 / 16, 1 / 32)]


# Theorem A.10


def M7a(r: Any, t: int) -> list[Pair]:
    """Thm: PR_Convergence_Main_App"""
    # t is the proof's t-bar, tbar_s - 1 at the end of a round.
    times, eta, L2 = span(r, t), r.eta, r.L**2
    third = sum(eta[j] ** 3 for j in times)
    slope = -sum(eta[j] / 2 * sq(r.G[j]) for j in times)
    far = r.c**2 * r.zeta**2 / (32 * L2) * (r.I - 1) / r.I * third
    first = (
        -sum((27 * eta[j] / 64 - eta[j] ** 2 * r.L / 2) * sq(r.dbar[j]) for j in times)
        + slope
        + r.c**2 * r.sigma**2 / (32 * L2) * third
        + r.c**2 * r.sigma**2 / (64 * r.b * L2) * third
        + far
    )
    second = slope + 3 * r.c**2 * r.sigma**2 / (64 * L2) * third + far
    return chain(Phi(r, t + 1) - Phi(r, r.start(t)), first, second)


def printed_sum(r: Any) -> Pair:
    """Return the sides of the last line of eq. (19)."""
    left = sum(r.eta[t] / 2 * sq(r.G[t]) for t in range(1, r.T + 1))
    right = (
        r.gap
        + r.sigma**2 / (64 * r.L**2) * r.b / (r.B * r.eta[0])
        + 3 * r.c**2 * r.sigma**2 / (64 * r.L**2) * cubes(r)
        + r.c**2 * r.zeta**2 / (32 * r.L**2) * (r.I - 1) / r.I * cubes(r)
    )
    return left, right


def M7b(r: Any, t: int) -> Pair:
    """Eq: Grad_Norm_Sum"""
    # Divided by eta_T T/2 as the words say, with eta_t >= eta_T on the left.
    return mean_gradient(r), printed_sum(r)[1] / (r.eta[r.T] * r.T / 2)


def theorem(r: Any, in_T: Any = 1, first: Any = 1, sigma: Any = 1, zeta: Any = 1) -> Any:
    """Return the theorem's right side, the coefficients in 1/T and the terms times something."""
    slow, log = (r.b * r.K) ** (2 / 3) * r.T ** (2 / 3), math.log(r.T + 1)
    noise = 256**2 * r.I / r.T * in_T + 64**2 / slow
    start = 8 * r.b * r.I**2 / (r.B * r.T) + r.b * r.I / (2 * slow * r.B)
    return (
        (32 * r.L * r.I / r.T * in_T + 2 * r.L / slow) * r.gap
        + first * start * r.sigma**2
        + sigma * noise * r.sigma**2 * log
        + zeta * noise * r.zeta**2 * (r.I - 1) / r.I * log
    )


def M7(r: Any, t: int) -> Pair:
    """Thm: PR_Convergence_Main_App"""
    return mean_gradient(r), theorem(r)


def M7a_C(r: Any, t: int) -> list[Pair]:
    """Thm: PR_Convergence_Main_App"""
    # An equality; then what step (a) uses of eta_t <= 1/(16LI) and of b >= 1.
    eta = r.eta[t]
    return [
        (7 * eta / 16 - eta / 64, 27 * eta / 64),
        (0, 27 * eta / 64 - eta**2 * r.L / 2),
        (1 / 32 + 1 / (64 * r.b), 3 / 64),
    ]


def M7c(r: Any, t: int) -> list[Pair]:
    """Eq: Sum_OverT_LastTerm"""
    # The last equality is the definition of kbar, as the words have it.
    times, s2, k3 = range(1, r.T + 1), r.sigma**2, r.kbar**3
    return chain(
        cubes(r),
        sum(k3 / (r.w[j] + s2 * j) for j in times),
        sum(k3 / (s2 + s2 * j) for j in times),
        k3 / s2 * sum(1 / (1 + j) for j in times),
        k3 / s2 * math.log(r.T + 1),
        (r.b * r.K) ** 2 / r.L**3 * math.log(r.T + 1),
    )


def M7d(r: Any, t: int) -> list[Pair]:
    """Eq: Grad_Norm_Sum1"""
    over, log, L2 = 1 / (r.eta[r.T] * r.T), math.log(r.T + 1), r.L**2
    noise = r.c**2 * r.kbar**3
    far = r.zeta**2 / r.sigma**2 * (r.I - 1) / r.I * log
    start = 2 * r.gap * over + over * r.sigma**2 / (32 * L2) * r.b / (r.B * r.eta[0])
    return chain(
        mean_gradient(r),
        start + over * 3 * noise / (32 * L2) * log + over * noise / (16 * L2) * far,
        start + over * noise / (4 * L2) * log + over * noise / (4 * L2) * far,
    )


def last_step(r: Any) -> Any:
    """Return eq. (22)'s bound of 1/(eta_T T)."""
    return 16 * r.L * r.I / r.T + r.L / ((r.b * r.K) ** (2 / 3) * r.T ** (2 / 3))


def M7e(r: Any, t: int) -> list[Pair]:
    """Eq: GradNorm_1stTerm"""
    T, w, s2 = r.T, r.w[r.T], r.sigma**2
    return chain(
        1 / (r.eta[T] * T),
        (w + s2 * T) ** (1 / 3) / (r.kbar * T),
        w ** (1 / 3) / (r.kbar * T) + r.sigma ** (2 / 3) / (r.kbar * T ** (2 / 3)),
        last_step(r),
    )


def M7f(r: Any, t: int) -> list[Pair]:
    """Eq: GradNorm_2ndTerm"""
    part, slow = r.sigma**2 / (32 * r.L**2), (r.b * r.K) ** (2 / 3) * r.B * r.T ** (2 / 3)
    last = 8 * r.b * r.I**2 / (r.B * r.T) * r.sigma**2 + r.b * r.I / slow * r.sigma**2 / 2
    return chain(
        1 / (r.eta[r.T] * r.T) * part * r.b / (r.B * r.eta[0]),
        last_step(r) * part * r.b * r.w[0] ** (1 / 3) / (r.B * r.kbar),
        last_step(r) * part * 16 * r.L * r.I * r.b / r.B,
        last,
    )


def M7g(r: Any, t: int) -> list[Pair]:
    """Eq: GradNorm_3rdTerm"""
    bK, L, s2 = r.b * r.K, r.L, r.sigma**2
    last = 256**2 * s2 * r.I / r.T + 64**2 * s2 / (bK ** (2 / 3) * r.T ** (2 / 3))
    return chain(
        1 / (r.eta[r.T] * r.T) * r.c**2 * r.kbar**3 / (4 * L**2),
        last_step(r) * (128 * L**2 / bK) ** 2 * bK**2 * s2 / L**3 / (4 * L**2),
        last,
    )
