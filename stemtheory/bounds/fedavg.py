"""The bounds on FedAvg and on its case I = 1, minibatch SGD.

Paper: Thm: Flexible_FedAvg; App: FedAvg.
"""

from __future__ import annotations

import math

from stemtheory.bounds.formulas import BoundFormula, Premise, Setting, Terms, whole_rounds
from stemtheory.schedules import FEDAVG_TRADE_OFF, Curve, largest_minibatch, shortest_run


def _fedavg(s: Setting) -> Terms:
    """Paper: Thm: Flexible_FedAvg."""
    bK, variance = s.b * s.K, s.sigma * s.sigma
    root, drift = math.sqrt(bK * s.T), s.L * s.L * bK * (s.I - 1) / s.T
    return {
        "gap": 2 * s.gap / root,
        "variance": 2 * s.L * variance / root,
        "drift_variance": 3 * drift * variance,
        "drift_heterogeneity": 5 * drift * (s.I - 1) * s.zeta * s.zeta,
    }


def _fedavg_shortest(s: Setting) -> float:
    return shortest_run(s.L, s.K, s.b, s.I)


def _fedavg_premises(s: Setting) -> tuple[Premise, ...]:
    return whole_rounds(s), Premise("T >= 81 L^2 I^2 b K", s.T >= _fedavg_shortest(s))


def _minibatch_point(_: Curve, T: float, K: int, L: float) -> Curve:
    b = largest_minibatch(T, K, L)
    return Curve(1, max(1.0, b), b < 1)


def _minibatch_settle(s: Setting) -> Setting:
    return s.at(I=1, b=_minibatch_point(Curve(1, 1, False), s.T, s.K, s.L).b)


def _minibatch_premises(s: Setting) -> tuple[Premise, ...]:
    return (
        Premise("I = 1", s.I == 1),
        Premise("b = T/(81 K L^2)", math.isclose(s.b, _minibatch_settle(s).b, rel_tol=1e-9)),
        Premise("T >= 81 K L^2", s.T >= shortest_run(s.L, s.K, 1, 1)),
    )


FEDAVG_BOUNDS = (
    BoundFormula(
        "fedavg-theorem",
        "fedavg",
        "the FedAvg theorem with explicit constants",
        "Paper: Thm: Flexible_FedAvg",
        _fedavg,
        _fedavg_premises,
        FEDAVG_TRADE_OFF,
        shortest=_fedavg_shortest,
    ),
    BoundFormula(
        "minibatch-sgd",
        "fedavg",
        "the FedAvg theorem at I = 1 and the largest minibatch it allows, b = T/(81 K L^2)",
        "Paper: Thm: Flexible_FedAvg; App: FedAvg",
        _fedavg,
        _minibatch_premises,
        FEDAVG_TRADE_OFF,
        one_step=True,
        adjust=_minibatch_point,
        settle=_minibatch_settle,
        shortest=lambda s: shortest_run(s.L, s.K, 1, 1),
    ),
)
