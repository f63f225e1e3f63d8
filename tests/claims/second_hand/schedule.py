"""Section 2.2: Algorithm 1 and the schedule."""

from __future__ import annotations

import math
from typing import Any

from tests.claims.second_hand.letters import Pair, chain


def ALG_1(r: Any, t: int) -> Pair:
    """Algo_DR-STORM_batch"""
    return r.xbar[t + 1], r.xbar[t] - r.eta[t] * r.dbar[t]


def ALG_2(r: Any, t: int) -> Pair:
    """Algo_DR-STORM_batch"""
    return r.a[t + 1], r.c * r.eta[t] ** 2


def ALG_3(r: Any, t: int) -> Pair:
    """Def: ComputationComplexity"""
    return r.calls, r.B + 2 * r.b * r.T


def printed_w(r: Any, t: int) -> Any:
    """Return the w_t that the theorem defines."""
    cap = 4096 * r.L**3 * r.I**3
    return max(
        2 * r.sigma**2,
        cap * r.kbar**3 - r.sigma**2 * t,
        r.c**3 * r.kbar**3 / cap,
    )


def SCH0(r: Any, t: int) -> Pair:
    """eq: Step-Size"""
    # Without sigma, from kbar^3 = (bK)^2 sigma^2/L^3: each member of the maximum gives one of the
    # minimum.
    cubed = (r.b * r.K) ** 2 / r.L**3
    last = r.c**3 * (r.b * r.K) ** 2 / (4096 * r.L**6 * r.I**3)
    one = min(
        (cubed / (2 + t)) ** (1 / 3),
        1 / (16 * r.L * r.I),
        (cubed / (last + t)) ** (1 / 3),
    )
    return r.kbar / (printed_w(r, t) + r.sigma**2 * t) ** (1 / 3), one


def SCH1(r: Any, t: int) -> Pair:
    """Thm: PR_Convergence_Main_App"""
    first = 64 * r.L**2 / (r.b * r.K) + r.sigma**2 / (24 * r.kbar**3 * r.L * r.I)
    second = r.L**2 * (64 / (r.b * r.K) + 1 / (24 * (r.b * r.K) ** 2 * r.I))
    return first, second


def SCH2(r: Any, t: int) -> list[Pair]:
    """Thm: PR_Convergence_Main_App"""
    # The index is that of w_t <= w_{t-1} in the proof of eq. (13).
    return [(r.eta[t], r.eta[t - 1]), (r.w[t], r.w[t - 1])]


def SCH3(r: Any, t: int) -> Pair:
    """Thm: PR_Convergence_Main_App"""
    return r.eta[t], 1 / (16 * r.L * r.I)


def SCH4(r: Any, t: int) -> Pair:
    """Thm: PR_Convergence_Main_App"""
    return r.c, 128 * r.L**2 / (r.b * r.K)


def SCH5(r: Any, t: int) -> Pair:
    """Thm: PR_Convergence_Main_App"""
    largest = max(2, 4096 * r.I**3 * (r.b * r.K) ** 2 - t, 512 / (r.b * r.K * r.I**3))
    return r.w[t], r.sigma**2 * largest


def SCH6(r: Any, t: int) -> Pair:
    """Eq: GradNorm_1stTerm"""
    # "Its value" is what eqs. (22) to (24) use, w_T <= 4096 L^3 I^3 kbar^3, without - sigma^2 t.
    return r.w[t], 4096 * r.L**3 * r.I**3 * r.kbar**3


def SCH7(r: Any, t: int) -> list[Pair]:
    """Thm: PR_Convergence_Main_App"""
    # Not printed: the paper uses (1 - a_t)^2 <= 1 - a_t <= 1 alone.
    return [(0, r.a[t]), (r.a[t], 0.2502)]


def SCH8(r: Any, t: int) -> list[Pair]:
    """Eq: Step_Difference"""
    s2 = r.sigma**2
    now, held = (r.w[t] + s2 * t) ** (1 / 3), r.w[t] + s2 * (t - 1)
    return chain(
        r.eta[t] ** -1 - r.eta[t - 1] ** -1,
        now / r.kbar - (r.w[t - 1] + s2 * (t - 1)) ** (1 / 3) / r.kbar,
        now / r.kbar - held ** (1 / 3) / r.kbar,
        s2 / (3 * r.kbar * held ** (2 / 3)),
        2 ** (2 / 3) * s2 * r.kbar**2 / (3 * r.kbar**3 * (r.w[t] + s2 * t) ** (2 / 3)),
        2 ** (2 / 3) * s2 / (3 * r.kbar**3) * r.eta[t] ** 2,
        s2 / (24 * r.kbar**3 * r.L * r.I) * r.eta[t],
    )


def SCH9(r: Any, t: int) -> Pair:
    """Eq: Step_Difference"""
    left = r.eta[t] ** -1 - r.eta[t - 1] ** -1 - r.c * r.eta[t]
    return left, -64 * r.L**2 / (r.b * r.K) * r.eta[t]


def constant_until(r: Any) -> Any:
    """Return T_const; its m is not the sync batch but the larger of the other two in w_t."""
    m = max(2, r.c**3 * (r.b * r.K) ** 2 / (4096 * r.L**6 * r.I**3))
    return 4096 * r.I**3 * (r.b * r.K) ** 2 - m


def SCH10(r: Any, t: int) -> list[Pair]:
    """Thm: PR_Convergence_Main_App"""
    # If the first holds, then (as an equality) the second does. Nothing of it is printed.
    return [(t, constant_until(r)), (r.eta[t], 1 / (16 * r.L * r.I))]


def SCH10_curve(r: Any, t: int) -> list[Pair]:
    """eq: I:b_SAMVR"""
    # The curve multiplied out, nu gone; then the last t is still in the phase.
    return [(r.I**3 * (r.b * r.K) ** 2, r.T), (r.T, constant_until(r))]


def SCH11(r: Any, t: int) -> list[Pair]:
    """Thm: Flexible_FedAvg"""
    # The premise and what it says; either holds exactly where the other does.
    premise = (81 * r.L**2 * r.I**2 * r.b * r.K, r.T)
    return [premise, (math.sqrt(r.b * r.K / r.T), 1 / (9 * r.L * r.I))]
