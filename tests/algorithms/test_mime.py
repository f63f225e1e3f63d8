"""MIME, MimeLite and MimeMVR: one local step, frozen statistics, and the recursion."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from stemtheory import load_problem
from stemtheory.algorithms.costs import Costs
from stemtheory.algorithms.mime import Mime
from stemtheory.algorithms.mimemvr import MimeMvr
from stemtheory.simulator.stepwise import gaussian_draw
from tests.algorithms.common import bar, gap, make, run

PROBLEM = load_problem("cosine", K=4, dim=3)


def descent_error(algorithm: Any, beta: float) -> float:
    """Return how far one local step a round is from SGD with momentum on full gradients."""
    x, m, worst = np.full((2, 3), 1.1), np.zeros((2, 3)), 0.0
    for v in run(PROBLEM, algorithm, 8, 1):
        c = PROBLEM.full_gradient(x)
        x = x - 0.05 * ((1 - beta) * c + beta * m)
        m = (1 - beta) * c + beta * m
        worst = max(worst, gap(bar(v.after.x), x))
    return worst


@pytest.mark.parametrize("beta", [0.0, 0.9])
def test_one_local_step_is_a_full_gradient_step(beta: float) -> None:
    assert descent_error(Mime(beta=beta), beta) < 1e-13


def frozen_error(algorithm: Any) -> float:
    """Return how far m moves within a round."""
    visits = run(PROBLEM, algorithm, 16, 4)
    return max(gap(v.local.m, v.before.m) for v in visits)


def test_statistics_are_frozen_during_local_steps() -> None:
    assert frozen_error(Mime()) == 0.0
    assert frozen_error(Mime(lite=True)) == 0.0


def test_lite_without_momentum_is_fedavg() -> None:
    for one, other in zip(
        run(PROBLEM, make("mimelite", beta=0), 12, 4),
        run(PROBLEM, make("fedavg"), 12, 4),
        strict=True,
    ):
        np.testing.assert_allclose(bar(one.after.x), bar(other.after.x), rtol=1e-13)


class TwoMinibatches(Mime):
    """Another minibatch at the server's point than at the worker's."""

    def local_step(self, problem: Any, state: Any, step: Any, minibatch: Any) -> Any:
        other = gaussian_draw(problem, seed=9, replicates=2)(step.t, 1.0)
        G = problem.stochastic_gradient(state.x, minibatch) - problem.combine(state.there, other)
        return state._replace(x=state.x - step.eta * (G + state.c))


class ForgetsC(Mime):
    """The correction without the mean full gradient."""

    def local_step(self, problem: Any, state: Any, step: Any, minibatch: Any) -> Any:
        return super().local_step(problem, state._replace(c=0 * state.c), step, minibatch)


class Thaws(Mime):
    """The momentum follows the local gradients."""

    def local_step(self, problem: Any, state: Any, step: Any, minibatch: Any) -> Any:
        after = super().local_step(problem, state, step, minibatch)
        return after._replace(m=state.m + 0.1 * bar(state.x)[..., None, :])


def test_mistakes_are_rejected() -> None:
    assert descent_error(TwoMinibatches(beta=0.0), 0.0) > 1e-3
    assert descent_error(ForgetsC(beta=0.0), 0.0) > 1e-3
    assert frozen_error(Thaws()) > 1e-3


def test_mvr_with_all_workers_knows_the_gradient() -> None:
    """m_r = grad f(x_r) exactly, whatever a: the recursion acts on the sampling of workers."""
    for v in run(PROBLEM, MimeMvr(), 16, 4):
        m = np.broadcast_to(v.before.m[..., 0, :], (2, 3))
        assert gap(m, PROBLEM.full_gradient(bar(v.before.past))) < 1e-13


def recursion_error(algorithm: Any) -> float:
    """Return how far m_r is from g_S(x_r) + (1 - a)(m_{r-1} - g_S(x_{r-1})), S of this round."""
    starts = run(PROBLEM, algorithm, 32, 4)[::4]
    worst = 0.0
    for last, now in pairwise(starts):
        weight, old = now.before.weight, last.before.past
        known = bar(last.before.m) - bar(PROBLEM.gradient(old) * weight)
        wanted = bar(PROBLEM.gradient(now.before.past) * weight) + 0.8 * known
        worst = max(worst, gap(bar(now.before.m), wanted))
    return worst


class OldSample(MimeMvr):
    """Two samples of workers, one at each point: the difference is not of one function."""

    def start_round(self, problem: Any, state: Any, step: Any, chance: Any) -> Any:
        after = super().start_round(problem, state, step, chance)
        if state.m is None:
            return after
        stale = bar(problem.gradient(state.past) * state.weight)[..., None, :]
        right = bar(problem.gradient(state.past) * after.weight)[..., None, :]
        return after._replace(m=after.m + (1 - step.a) * (right - stale))


def test_mvr_recursion_uses_one_sample_of_workers() -> None:
    assert recursion_error(MimeMvr(participation=0.5)) < 1e-13
    assert recursion_error(OldSample(participation=0.5)) > 1e-3


class Counting:
    """The problem, and at which points full local gradients were asked for."""

    def __init__(self) -> None:
        self.passes = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(PROBLEM, name)

    def gradient(self, x: Any) -> Any:
        self.passes += 1
        return PROBLEM.gradient(x)


@pytest.mark.parametrize("share", [0.5, 0.25])
def test_mvr_declares_the_passes_that_a_sample_of_workers_makes(share: float) -> None:
    """Two a round, at x_r and x_{r-1}, and one in the first; two in each (mutant) is one more."""
    algorithm, counting = MimeMvr(participation=share), Counting()
    run(counting, algorithm, 12, 4)
    assert counting.passes == 5
    assert algorithm.costs.passes_until(12, 4, 4) == 5
    mutant = Costs(passes=2, participation=share)
    assert mutant.passes_until(12, 4, 4) == 6


@pytest.mark.parametrize(("share", "K", "passes"), [(1, 4, 1), (0.9, 4, 1), (0.9, 10, 2)])
def test_mvr_counts_the_workers_and_not_the_share(share: float, K: int, passes: int) -> None:
    """Where round(share K) = K everybody knows grad_S(x_{r-1}), whatever the share says."""
    costs = MimeMvr(participation=share).costs
    assert [costs.passes_until(t, 1, K) for t in (0, 1, 2, 3)] == [0, 1, 1 + passes, 1 + 2 * passes]
    counts = [costs.counts(t, b=1, I=1, B=1, K=K, dim=1) for t in (1, 2, 3)]
    taking_part = round(share * K) / K
    received = [c.vectors_down / taking_part for c in counts]
    assert received == pytest.approx([2, 4 + (passes - 1), 6 + 2 * (passes - 1)])


def test_mvr_local_direction() -> None:
    """At y = x the direction is a g_k(x) + (1 - a) m."""
    for v in run(PROBLEM, MimeMvr(), 12, 4)[::4]:
        g = PROBLEM.stochastic_gradient(v.before.x, v.minibatch)
        direction = (v.before.x - v.local.x) / 0.05
        assert gap(direction, 0.2 * g + 0.8 * v.before.m) < 1e-13
