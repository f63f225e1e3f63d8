"""The trade-off curves of (b, I): one knob nu in [0, 1] moves work from minibatch to local steps.

Paper: Thm: PR_Convergence_Main, eq. (eq: I:b_SAMVR); Thm: Flexible_FedAvg, eq. (eq:I:b_FedAvg).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from stemtheory.runtime import UsageError, real, whole


class Curve(NamedTuple):
    """A point of a trade-off curve.

    ``clipped`` marks T < K^2 (FedAvg: K^3), where b and I would fall below 1: there the paper's
    linear speed-up cannot be claimed.
    """

    I: int
    b: float
    clipped: bool


@dataclass(frozen=True)
class TradeOff:
    """The family I = (T/K^w)^{nu/p}, b = (T/K^w)^{(1-nu)/q}."""

    w: int
    p: int
    q: int

    def point(self, T: float, K: int, nu: float) -> Curve:
        """Return I to the nearest whole number and b as a real number, both at least 1."""
        scale = T / float(K) ** self.w
        I = max(1, round(scale ** (nu / self.p)))
        return Curve(I, max(1.0, scale ** ((1 - nu) / self.q)), scale < 1)

    def longest(self, I: int, K: int, nu: float) -> float:
        """Return the T at which the curve passes from I to I + 1 (infinite if it never does)."""
        if nu == 0:
            return math.inf
        log_T = self.w * math.log(K) + self.p / nu * math.log(I + 0.5)
        return math.exp(log_T) if log_T < 700 else math.inf


STEM_TRADE_OFF = TradeOff(w=2, p=3, q=2)
FEDAVG_TRADE_OFF = TradeOff(w=3, p=4, q=3)


def stem_curve(T: float, K: int, nu: float) -> Curve:
    """Return I = (T/K^2)^{nu/3}, to the nearest whole number, and b = (T/K^2)^{(1-nu)/2}.

    Unrounded, I^3 (bK)^2 = T for every nu, so the theorem's step never leaves its constant phase.

    Paper: Thm: PR_Convergence_Main, eq. (eq: I:b_SAMVR).
    """
    return STEM_TRADE_OFF.point(real("T", T, minimum=1), whole("K", K), check_nu(nu))


def fedavg_curve(T: float, K: int, nu: float) -> Curve:
    """Return I = (T/K^3)^{nu/4}, to the nearest whole number, and b = (T/K^3)^{(1-nu)/3}.

    Paper: Thm: Flexible_FedAvg, eq. (eq:I:b_FedAvg).
    """
    return FEDAVG_TRADE_OFF.point(real("T", T, minimum=1), whole("K", K), check_nu(nu))


def round_up(T: float, I: int) -> int:
    """Return the smallest multiple of I that is at least T: a run has whole rounds, T = S I."""
    steps = int(T) if int(T) == T else int(T) + 1
    return -(-steps // I) * I


def check_nu(nu: float) -> float:
    """Return nu if it is a number in [0, 1]; refuse it otherwise."""
    number = real("nu", nu, minimum=0)
    if number > 1:
        msg = f"nu is {number:g}, but it must be in [0, 1]: give nu=1 or less."
        raise UsageError(msg)
    return number
