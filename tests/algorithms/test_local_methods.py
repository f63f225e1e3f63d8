"""Local momentum, VRL-SGD and SlowMo: each against its own definition, and mistakes in it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from stemtheory import load_problem, simulate
from stemtheory.algorithms.local_momentum import LocalMomentum
from stemtheory.algorithms.slowmo import SlowMo
from stemtheory.algorithms.vrl_sgd import VrlSgd
from tests.algorithms.common import Halving, bar, gap, make, rounds, run

PROBLEM = load_problem("cosine", K=4, dim=3)
I = 4


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


def drift_error(algorithm: Any) -> float:
    """Return how far v_k is from the mean gradient of worker k less that of all, step by step."""
    worst = 0.0
    for part in rounds(run(PROBLEM, algorithm, 16, I, schedule=Halving()), I):
        total = sum(v.step.eta * PROBLEM.stochastic_gradient(v.before.x, v.minibatch) for v in part)
        mean = total / sum(v.step.eta for v in part)
        worst = max(worst, gap(part[-1].after.v, mean - bar(mean)[..., None, :]))
    return worst


class LastStep(VrlSgd):
    """Divides by I times the last step."""

    def local_step(self, problem: Any, state: Any, step: Any, minibatch: Any) -> Any:
        return super().local_step(problem, state, step, minibatch)._replace(travel=I * step.eta)


def test_vrl_sgd_drift() -> None:
    assert drift_error(VrlSgd()) < 1e-12
    assert drift_error(LastStep()) > 1e-3


@pytest.mark.parametrize("schedule", [None, Halving()])
def test_t6_vrl_sgd_is_scaffold_option_ii_and_its_drifts_cancel(schedule: Any) -> None:
    more = {} if schedule is None else {"schedule": schedule}
    vrl, scaffold = (run(PROBLEM, make(name), 40, I, **more) for name in ("vrl-sgd", "scaffold"))
    for v, s in zip(vrl, scaffold, strict=True):
        assert gap(v.after.x, s.after.x) < 1e-12
        assert gap(v.after.v, s.after.own - s.after.c) < 1e-12
        assert gap(bar(v.after.v), 0) < 1e-13


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


def warm_up_error(algorithm: Any) -> float:
    """Return how far x and v at t = 1 are from one synchronised step of gradient descent."""
    problem = load_problem("cosine", K=4, dim=3, sigma=0.0)
    start = np.full((2, 4, 3), 1.1)
    before = run(problem, algorithm, I, I, eta=0.05)[0].before
    own = problem.gradient(start)
    mean = bar(own)[..., None, :]
    return max(gap(before.v, own - mean), gap(before.x, start - 0.05 * mean))


class OnlyAveraged(VrlSgd):
    """A warm-up that averages x and forgets what it is for."""

    def init(self, problem: Any, x: Any, eta: float, minibatch: Any) -> Any:
        return super().init(problem, x, eta, minibatch)._replace(v=0 * x)


def test_the_warm_up_is_a_period_of_one_step() -> None:
    assert warm_up_error(VrlSgd(warm_up=True)) < 1e-14
    assert warm_up_error(OnlyAveraged(warm_up=True)) > 1e-2
    assert warm_up_error(VrlSgd()) > 1e-2


def test_the_warm_up_is_counted() -> None:
    run_of: dict[str, Any] = {"T": 8, "b": 2, "I": I, "replicates": 2, "backend": "numpy"}
    plain = simulate(PROBLEM, "vrl-sgd", **run_of).counts
    warm = simulate(PROBLEM, "vrl-sgd", B=3, algorithm_options={"warm_up": True}, **run_of).counts
    assert warm.samples_per_worker == plain.samples_per_worker + 3 == 8 * 2 + 3
    assert (warm.vectors_up, plain.vectors_up) == (3, 2)
