"""SPIDER: STEM with a = 0 between restarts, and a fresh estimate at them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from stemtheory import load_problem, simulate
from stemtheory.algorithms.spider import Spider
from stemtheory.algorithms.stem import Stem
from tests.algorithms.common import bar, gap, run

PROBLEM = load_problem("cosine", K=4, dim=3)


def test_between_restarts_it_is_stem_without_momentum() -> None:
    spider = run(PROBLEM, Spider(period=100), 30, 1, a=0.0)
    stem = run(PROBLEM, Stem(), 30, 1, a=0.0)
    for one, other in zip(spider, stem, strict=True):
        np.testing.assert_array_equal(one.after.x, other.after.x)
        np.testing.assert_allclose(one.after.v, other.after.d, rtol=1e-13, atol=1e-16)


def restart_error(algorithm: Any) -> float:
    """Return how far v is from the minibatch's gradient at a restart."""
    return max(
        gap(bar(v.after.v), bar(PROBLEM.stochastic_gradient(v.local.x, v.minibatch)))
        for v in run(PROBLEM, algorithm, 24, 1)
        if v.step.t % 6 == 0
    )


class NeverRestarts(Spider):
    """The big minibatch corrects the old estimate in place of replacing it."""

    def local_step(self, problem: Any, state: Any, step: Any, minibatch: Any) -> Any:
        return super().local_step(problem, state, step._replace(t=1), minibatch)


def test_restarts() -> None:
    assert restart_error(Spider(period=6, factor=5)) < 1e-13
    assert restart_error(NeverRestarts(period=6, factor=5)) > 1e-3


def test_no_step_is_longer_than_the_reach() -> None:
    lengths = [
        float(np.linalg.norm(v.local.x - v.before.x, axis=-1).max())
        for v in run(PROBLEM, Spider(reach=0.01), 30, 1, eta=0.2)
    ]
    assert max(lengths) == pytest.approx(0.01, rel=1e-12)
    free = run(PROBLEM, Spider(), 30, 1, eta=0.2)
    wide = run(PROBLEM, Spider(reach=1e6), 30, 1, eta=0.2)
    assert gap(free[-1].after.x, wide[-1].after.x) < 1e-13


def test_counts() -> None:
    """B + 2b a step, but factor b at a restart: one gradient on a big minibatch."""
    options: dict[str, Any] = {"period": 4, "factor": 3}
    counts = simulate(PROBLEM, "spider", T=12, b=2, B=7, algorithm_options=options).counts
    assert counts.samples_per_worker == 7 + 9 * 2 * 2 + 3 * 3 * 2
    assert counts.draws_per_worker == 7 + 9 * 2 + 3 * 3 * 2
    assert (counts.rounds, counts.exchanges, counts.vectors_up) == (12, 13, 13)
