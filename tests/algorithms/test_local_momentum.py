"""Local momentum, both kinds, against its own definition, and mistakes in it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from stemtheory import load_problem
from stemtheory.algorithms.local_momentum import LocalMomentum
from tests.algorithms.common import PROBLEM, I, bar, gap, run


def heavy_ball_error(algorithm: Any) -> float:
    """Return how far xbar is from momentum SGD on the mean gradient: equal, linear workers."""
    problem = load_problem("quadratic", K=4, dim=2, sigma=0.0, zeta=2.0, heterogeneity="tilt")
    x, u, worst = np.full((2, 2), 1.1), np.zeros((2, 2)), 0.0
    for v in run(problem, algorithm, 24, I):
        g = problem.full_gradient(x)
        u = algorithm.beta * u + g
        x = x - 0.05 * (g + algorithm.beta * u if algorithm.nesterov else u)
        worst = max(worst, gap(bar(v.after.x), x), gap(bar(v.after.u), u))
    return worst


def common_error(algorithm: Any) -> float:
    """Return how far workers are apart in x and u after a synchronisation."""
    return max(
        float(np.ptp(part, axis=-2).max())
        for v in run(PROBLEM, algorithm, 24, I)
        if v.step.synchronises
        for part in v.after[:2]
    )


@pytest.mark.parametrize("nesterov", [False, True])
def test_local_momentum(nesterov: bool) -> None:
    assert heavy_ball_error(LocalMomentum(nesterov)) < 1e-13
    assert common_error(LocalMomentum(nesterov)) == 0.0


class NotWaitedFor(LocalMomentum):
    """The buffers are divided and sent, and used before their sum is there: u/K."""

    def synchronise(self, problem: Any, state: Any) -> Any:
        after = super().synchronise(problem, state)
        return after._replace(u=state.u / 4)


@pytest.mark.parametrize("nesterov", [False, True])
def test_lost_buffers_are_rejected(nesterov: bool) -> None:
    assert heavy_ball_error(NotWaitedFor(nesterov)) > 1e-3
    assert common_error(NotWaitedFor(nesterov)) > 1e-3


def test_the_two_kinds_are_not_one() -> None:
    assert heavy_ball_error(type("Swapped", (LocalMomentum,), {"nesterov": True})(False)) < 1e-13
    one, other = (run(PROBLEM, LocalMomentum(n), 8, I)[-1].after.x for n in (False, True))
    assert gap(one, other) > 1e-3
