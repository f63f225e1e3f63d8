"""The trade-off curves of (b, I): one knob nu in [0, 1] moves work from minibatch to local steps.

Paper: Thm: PR_Convergence_Main, eq. (eq: I:b_SAMVR); Thm: Flexible_FedAvg, eq. (eq:I:b_FedAvg).
"""

from __future__ import annotations

from typing import NamedTuple

from stemtheory.errors import UsageError, real, whole


class Curve(NamedTuple):
    """A point of a trade-off curve.

    ``clipped`` marks T < K^2 (FedAvg: K^3), where b and I would fall below 1: there the paper's
    linear speed-up cannot be claimed.
    """

    I: int
    b: float
    clipped: bool


def stem_curve(T: float, K: int, nu: float) -> Curve:
    """Return I = (T/K^2)^{nu/3}, to the nearest whole number, and b = (T/K^2)^{(1-nu)/2}.

    Unrounded, I^3 (bK)^2 = T for every nu, so the theorem's step never leaves its constant phase.

    Paper: Thm: PR_Convergence_Main, eq. (eq: I:b_SAMVR).
    """
    _check(T, K, nu)
    return _point(T / float(K) ** 2, nu / 3, (1 - nu) / 2)


def fedavg_curve(T: float, K: int, nu: float) -> Curve:
    """Return I = (T/K^3)^{nu/4}, to the nearest whole number, and b = (T/K^3)^{(1-nu)/3}.

    Paper: Thm: Flexible_FedAvg, eq. (eq:I:b_FedAvg).
    """
    _check(T, K, nu)
    return _point(T / float(K) ** 3, nu / 4, (1 - nu) / 3)


def round_up(T: float, I: int) -> int:
    """Return the smallest multiple of I that is at least T: a run has whole rounds, T = S I."""
    steps = int(T) if int(T) == T else int(T) + 1
    return -(-steps // I) * I


def _point(scale: float, power_I: float, power_b: float) -> Curve:
    I = max(1, round(scale**power_I))
    return Curve(I, max(1.0, scale**power_b), scale < 1)


def _check(T: float, K: int, nu: float) -> None:
    real("T", T, minimum=1)
    whole("K", K)
    if real("nu", nu, minimum=0) > 1:
        raise UsageError(f"nu is {nu:g}, but it must be in [0, 1]: give nu=1 or less.")
