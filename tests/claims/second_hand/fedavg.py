"""Appendix C, Appendix B (FedAvg), and the assumptions of Section 2.1."""

from __future__ import annotations

import math
from typing import Any

from tests.claims.second_hand.letters import Pair, chain, mean, mean_gradient, sq

# Appendix C


def U1(r: Any, t: int) -> Pair:
    """Lem: Sum_Mean_Kron"""
    return sq(r.x[t] - r.xbar[t]), sq(r.x[t])


def U1_exact(r: Any, t: int) -> Pair:
    """Lem: Sum_Mean_Kron"""
    # Not printed; "what is removed" is the gap of U1.
    return sq(r.x[t]) - sq(r.x[t] - r.xbar[t]), r.K * sq(r.xbar[t])


def U2(r: Any, t: int) -> Pair:
    """Lem: AD_Sum_1overT"""
    # The inner sum over i = t..t is a_t. On the right t is free: it is read as T.
    a, T = r.seq, r.T
    left = sum(a[j] / (a[0] + sum(a[i] for i in range(j, j + 1))) for j in range(1, T + 1))
    return left, math.log(1 + sum(a[i] for i in range(1, T + 1)) / a[0])


def U2_corrected(r: Any, t: int) -> Pair:
    """Lem: AD_Sum_1overT"""
    a, T = r.seq, r.T
    left = sum(a[j] / (a[0] + sum(a[i] for i in range(1, j + 1))) for j in range(1, T + 1))
    return left, math.log(1 + sum(a[i] for i in range(1, T + 1)) / a[0])


def U3(r: Any, t: int) -> Pair:
    """Lem: Norm_Ineq"""
    return sq(sum(r.x[t])), sum(r.K * sq(v) for v in r.x[t])


# Appendix B: FedAvg


def F1(r: Any, t: int) -> Pair:
    """Lem: Grad_Variance_FedAvg"""
    # An equality where the noise attains sigma; printed as <=.
    return sq(r.dbar[t] - mean(r.g[t])), r.sigma**2 / (r.b * r.K)


def F1_C(r: Any, t: int) -> Pair:
    """Lem: Grad_Variance_FedAvg"""
    return sq(r.dbar[t] - mean(r.g[t])), r.sigma**2 / (r.b * r.K)


def drift_bound(r: Any, steps: int) -> Any:
    """Return Lemma B.2's right side, for so many steps t in place of its T."""
    eta2, more = r.step**2, r.I - 1
    return 3 * eta2 * more * r.sigma**2 * steps + 5 * eta2 * more**2 * r.zeta**2 * steps


def F2(r: Any, t: int) -> Pair:
    """lem: ErrorAccumulation_Iterates_FedAvg"""
    left = sum(1 / r.K * sq(r.x[j] - r.xbar[j]) for j in range(1, r.T + 1))
    return left, drift_bound(r, r.T)


def F2_R(r: Any, t: int) -> Pair:
    """lem: ErrorAccumulation_Iterates_FedAvg"""
    first = r.start(t)
    left = sum(1 / r.K * sq(r.x[j] - r.xbar[j]) for j in range(first, first + r.I))
    return left, drift_bound(r, r.I)


def F2a(r: Any, t: int) -> list[Pair]:
    """Eq: GradVar_FedAvg"""
    # For every worker, up to step (c): the words keep the b that step (d) drops.
    return [pair for k in range(r.K) for pair in round_noise(r, t, k)]


def round_noise(r: Any, t: int, k: int) -> list[Pair]:
    """Return the chain of eq. (29) for one worker."""
    past = range(r.start(t), t)
    return chain(
        sq(sum(r.gs[j][k] - r.g[j][k] for j in past)),
        sum(sq(r.gs[j][k] - r.g[j][k]) for j in past),
        sum(1 / r.b**2 * r.b * sq(r.gx[j][k] - r.g[j][k]) for j in past),
        (r.I - 1) / r.b * r.sigma**2,
    )


def F2b(r: Any, t: int) -> list[Pair]:
    """Eq: InterNodeVar_FedAvg"""
    # In (b), grad f(x_l^(j)) within the mean over j is a misprint for grad f^(j)(x_l^(j)).
    past, more = range(r.start(t), t), r.I - 1
    parts = sum(
        4 * sq(r.g[j] - r.gm[j]) + 4 * r.K * sq(r.G[j] - mean(r.g[j])) + 2 * sq(r.gm[j] - r.G[j])
        for j in past
    )
    smooth = sum(
        8 * r.L**2 * sq(r.x[j] - r.xbar[j]) + 2 * sq(r.gm[j] - mean(r.gm[j])) for j in past
    )
    drift = sum(sq(r.x[j] - r.xbar[j]) for j in past)
    return chain(
        sq(sum(r.g[j] - mean(r.g[j]) for j in past)),
        more * sum(sq(r.g[j] - mean(r.g[j])) for j in past),
        more * parts,
        more * smooth,
        8 * r.L**2 * more * drift + 2 * r.K * more**2 * r.zeta**2,
    )


def F2c(r: Any, t: int) -> list[Pair]:
    """lem: ErrorAccumulation_Iterates_FedAvg"""
    kept = 1 - 16 * r.L**2 * r.I**2 * r.step**2
    return [(4 / 5, kept), (5 / 4 * 2, 3), (5 / 4 * 4, 5)]


def F3(r: Any, t: int) -> Pair:
    """lem: Fn_Descent_FedAvg"""
    eta = r.step
    right = (
        r.f[t]
        - eta / 2 * sq(r.G[t])
        + eta * r.L**2 / (2 * r.K) * sq(r.x[t] - r.xbar[t])
        + eta**2 * r.L / (r.b * r.K) * r.sigma**2
    )
    return r.f[t + 1], right


def F4(r: Any, t: int) -> Pair:
    """Thm: Flexible_FedAvg"""
    # The theorem of Appendix B. There f(xbar_t) is a misprint for f(xbar_1), and k one for K.
    bK, L2 = r.b * r.K, r.L**2
    right = (
        2 * r.gap / (bK ** (1 / 2) * r.T ** (1 / 2))
        + 2 * r.L / (bK ** (1 / 2) * r.T ** (1 / 2)) * r.sigma**2
        + 3 * L2 * bK * (r.I - 1) / r.T * r.sigma**2
        + 5 * L2 * bK * (r.I - 1) ** 2 / r.T * r.zeta**2
    )
    return mean_gradient(r), right


def SP2(r: Any, t: int) -> Pair:
    """Sec: Special Case"""
    # "The same guarantees", on runs with local momentum: the sides of F4.
    return F4(r, t)


def SP2_S(r: Any, t: int) -> Pair:
    """Sec: Special Case"""
    # As SP2: the runs' step is another, (1 - beta) sqrt(bK/T), and not the bound.
    return F4(r, t)


# Section 2.1: the assumptions


def A1(r: Any, t: int) -> list[Pair]:
    """Ass: Lip_Smoothness"""
    # For every worker.
    apart = r.L**2 * sq(r.x1v - r.x2v)
    return [(sq(r.gsp[k] - r.gsp2[k]), apart) for k in range(r.K)]


def A1p(r: Any, t: int) -> list[Pair]:
    """Ass: Lip_Smoothness"""
    # Not printed: squared, as Jensen's inequality has it from A1. For every worker.
    apart = r.L**2 * sq(r.x1v - r.x2v)
    return [(sq(r.gp[k] - r.gp2[k]), apart) for k in range(r.K)]


def A2ii(r: Any, t: int) -> list[Pair]:
    """Ass: Unbiased_Var_Grad"""
    # For every worker.
    return [(sq(r.gsp[k] - r.gp[k]), r.sigma**2) for k in range(r.K)]


def A2iii(r: Any, t: int) -> Pair:
    """Ass: Unbiased_Var_Grad"""
    # For every two workers, so the largest; squared, as it is printed.
    return max(sq(u - v) for u in r.gm[t] for v in r.gm[t]), r.zeta**2


def A2p(r: Any, t: int) -> Pair:
    """Ass: Unbiased_Var_Grad"""
    # Where all distributions are one.
    return r.zeta, 0


def A2pp(r: Any, t: int) -> Pair:
    """Ass: Unbiased_Var_Grad"""
    # As eq. (16), step (g), and eq. (30), step (d), use it.
    return sq(r.gm[t] - r.G[t]), r.K * r.zeta**2
