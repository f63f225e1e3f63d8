"""docs/theorem-rstar.md: the parts of the theorem, and what it is at one local step."""

from __future__ import annotations

import math
from typing import Any

from tests.claims.second_hand.letters import Pair, chain, mean_gradient
from tests.claims.second_hand.rstar import STARRED


def starred(r: Any, part: str) -> Pair:
    """Return (2) of a part."""
    p = STARRED[part]
    h, c0, beta = p["h"], p["c0"], r.b * r.I / r.B
    if part != "a":
        beta = max(beta, c0 * h**2 / (r.b * r.K * r.I**2) * r.I)
    right = (
        2 / h * r.L * r.gap / r.S
        + 2 * beta / (p["lam"] * h**2) * r.sigma**2 / r.S
        + 2 * c0**2 * h**2 * (p["A_s"] * r.sigma**2 + p["A_z"] * r.zeta**2)
        / (r.I * r.b * r.K) ** 2
    )  # fmt: skip
    return mean_gradient(r), right


def RSa(r: Any, t: int) -> Pair:
    """Eq: Grad_Norm_Sum"""
    return starred(r, "a")


def RSb(r: Any, t: int) -> Pair:
    """Eq: Grad_Norm_Sum"""
    return starred(r, "b")


def RSc(r: Any, t: int) -> Pair:
    """Eq: Grad_Norm_Sum"""
    return starred(r, "c")


def RSd(r: Any, t: int) -> Pair:
    """Eq: Grad_Norm_Sum"""
    return starred(r, "d")


def RSe(r: Any, t: int) -> Pair:
    """Eq: Grad_Norm_Sum"""
    return starred(r, "e")


def starred_once(r: Any, part: str) -> Pair:
    """Return (2) of a part as section 5 has it at I = 1, S = T/I of the letters."""
    h, c0, lam = (*(STARRED[part][x] for x in ("h", "c0")), STARRED[part]["one"][0])
    beta = max(r.b / r.B, c0 * h**2 / (r.b * r.K))
    right = (
        2 / h * r.L * r.gap / r.S
        + 2 * beta / (lam * h**2) * r.sigma**2 / r.S
        + 2 * c0**2 * h**2 * (1 / lam) * r.sigma**2 / (r.b * r.K) ** 2
    )
    return mean_gradient(r), right


def RSb_I1(r: Any, t: int) -> Pair:
    """Eq: Grad_Norm_Sum"""
    return starred_once(r, "b")


def RSd_I1(r: Any, t: int) -> Pair:
    """Eq: Grad_Norm_Sum"""
    return starred_once(r, "d")


def RSe_I1(r: Any, t: int) -> Pair:
    """Eq: Grad_Norm_Sum"""
    return starred_once(r, "e")


def on_curve(r: Any, part: str) -> Pair:
    """Return the corollary of a part: C/S."""
    gap, noise, far = STARRED[part]["C"]
    return mean_gradient(r), (gap * r.L * r.gap + noise * r.sigma**2 + far * r.zeta**2) / r.S


def RSa_m1(r: Any, t: int) -> Pair:
    """Thm: PR_Convergence_Main_App"""
    return on_curve(r, "a")


def RSb_m1(r: Any, t: int) -> Pair:
    """Thm: PR_Convergence_Main_App"""
    return on_curve(r, "b")


def RSc_m1(r: Any, t: int) -> Pair:
    """Thm: PR_Convergence_Main_App"""
    return on_curve(r, "c")


def sevenths(r: Any, part: str, q_J: Any, noise: Any, m: Any, exponent: Any) -> list[Pair]:
    """Return (4), (6) and (7) of a part, with the true I/m, 1/m, 1/I and 1/b in (7).

    ``exponent`` is the bound of (I - 1)/I^2; rho of (6) has that of every I.
    """
    s, I = STARRED[part], r.I
    h, c0, lam, kappa, p, (p_A, p_C, p_D) = (s[x] for x in ("h", "c0", "lam", "kappa", "p", "w"))
    q = 1 + s["young"] if part == "a" else 1

    def G(most: Any) -> Any:
        return math.exp((1 + c0 * h**2 * most) * h)

    rho = [kappa * G(most) * h for most in (1 / 4, exponent)]
    G2, n, w = G(exponent) ** 2, 3 + kappa, 1 / 2 * (1 + 1 / p)
    cost = q / lam + w * h**2 / 2
    e = kappa * n * G2 * h**2 * lam * cost
    J = G2 * h**2 / (lam * (1 - rho[1]))
    jump = q_J * I / m + e
    return [
        (lam / 2 * (1 + p), (2 - 1 / 4 * c0 * h**2) * c0),
        (p_A + p_C + p_D, 1 - rho[0]),
        (jump * J / (3 * p_A) + n * cost * G2 * h**2 / 2, 1 / 2 - h / (2 * I) - q / lam),
        (jump * J / (8 * p_C) + n * cost * G2 * h**2 / 6, s["A_z"]),
        (
            noise / lam
            + 1 / r.b * ((q_J / m + e / I) * 4 * J / (9 * p_D) + n * cost * G2 * h**2 / (2 * I)),
            s["A_s"],
        ),
    ]


def RS11(r: Any, t: int, part: str = "b") -> list[Pair]:
    """Eq: Grad_Norm_Sum"""
    # Step 1 with m >= 2: before q_t^2 in (5), before a^2 v, and the terms in a^2 of a round.
    tau, M = STARRED[part]["young"], STARRED[part]["M"]
    return [
        ((1 + tau) / r.m, 1),
        (1 / r.m + (r.m - 1) ** 2 / (r.m * tau), 1 + (r.m - 1) / tau),
        (r.I + (r.m - 1) / tau, r.I * (1 + 1 / (M * tau))),
    ]


def RS12(r: Any, t: int) -> list[Pair]:
    """Eq: Grad_Norm_Sum"""
    theta = STARRED["a"]["young"]
    return sevenths(r, "a", 1 + theta, 1 + 1 / theta, r.m, 1 / 4)


def RS13(r: Any, t: int, part: str = "b") -> list[Pair]:
    """Eq: Grad_Norm_Sum"""
    return sevenths(r, part, 1, 1, 1, 1 / 4)


def RS14(r: Any, t: int, part: str = "b") -> list[Pair]:
    """Eq: Grad_Norm_Sum"""
    tau, M = STARRED[part]["young"], STARRED[part]["M"]
    return sevenths(r, part, 1 + tau, 1 + 1 / (M * tau), r.m, M / (M + 1) ** 2)


def RS15(r: Any, t: int, part: str = "b") -> list[Pair]:
    """Eq: Grad_Norm_Sum"""
    # Section 5, I = 1, a at most c_0 h^2; A_sigma is 1/Lambda, since no drift is left.
    h, c0, C = (STARRED[part][x] for x in ("h", "c0", "C"))
    lam, noise = STARRED[part]["one"]
    return [
        (lam / 2, (2 - c0 * h**2) * c0),
        (h / 2 + 1 / lam, 1 / 2),
        (c0 * h**2 / (r.b * r.K), 1),
        (2 / h, C[0]),
        (2 / (lam * h**2) + 2 * c0**2 * h**2 / lam, noise),
    ]


def RS16(r: Any, t: int, part: str = "b") -> list[Pair]:
    """Eq: Grad_Norm_Sum"""
    # beta = 1, since aI <= 1; then the sums of the table's numbers.
    h, c0, lam, C, A_s, A_z = (STARRED[part][x] for x in ("h", "c0", "lam", "C", "A_s", "A_z"))
    return [
        (c0 * h**2 / (r.b * r.K * r.I**2) * r.I, 1),
        (2 / h, C[0]),
        (2 / (lam * h**2) + 2 * c0**2 * h**2 * A_s, C[1]),
        (2 * c0**2 * h**2 * A_z, C[2]),
    ]


def RS17(r: Any, t: int) -> list[Pair]:
    """Thm: PR_Convergence_Main_App"""
    b, I, S, share = r.b, r.I, r.S, 1 + 1 / r.M
    return chain(
        b * I + 2 * b * (I - 1 + r.m) * S,
        b * I * (1 + 2 * share * S),
        (2 * math.sqrt(S) + 4 * share * S ** (3 / 2)) / r.K,
    )
