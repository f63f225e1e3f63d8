"""SlowMo against its own definition, and a mistake in it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from stemtheory.algorithms.slowmo import SlowMo
from tests.algorithms.common import PROBLEM, I, bar, gap, rounds, run


def slow_error(algorithm: Any) -> float:
    """Return how far the server is from x - alpha eta u, u <- beta u + (x - mean y)/eta."""
    x, u, worst = np.full((2, 3), 1.1), np.zeros((2, 3)), 0.0
    for part in rounds(run(PROBLEM, algorithm, 24, I), I):
        u = algorithm.beta * u + (x - bar(part[-1].local.x)) / 0.05
        x = x - algorithm.alpha * 0.05 * u
        worst = max(worst, gap(bar(part[-1].after.x), x))
    return worst


class FromTheMean(SlowMo):
    """The slow step starts at the mean of the workers, not at the old point."""

    def synchronise(self, problem: Any, state: Any) -> Any:
        after = super().synchronise(problem, state)
        mean = bar(state.x)[..., None, :]
        x = np.broadcast_to(mean - self.alpha * state.eta * after.u, state.x.shape)
        return after._replace(x=x, server=x[..., :1, :])


@pytest.mark.parametrize(("alpha", "beta"), [(1.0, 0.0), (1.0, 0.5), (0.7, 0.2)])
def test_slowmo(alpha: float, beta: float) -> None:
    assert slow_error(SlowMo(alpha, beta)) < 1e-12
    assert slow_error(FromTheMean(alpha, beta)) > 1e-3
