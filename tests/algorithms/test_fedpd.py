"""FedPD: its multipliers, its fixed points, its variance reduction and its coin."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from stemtheory import load_problem, simulate
from stemtheory.algorithms.entry import Facts
from stemtheory.algorithms.fedpd import FedPd, default_prox, theory
from tests.algorithms.common import bar, gap, run

PROBLEM = load_problem("cosine", K=4, dim=3)
H, GAMMA, I = 0.3, 0.05, 4
ORACLES = ("I", "II")


def dual_error(algorithm: Any) -> float:
    """Return how far lambda' is from minus the last local surrogate gradient.

    Oracle II: -(v + (x - x_last)/gamma). Oracle I: -g(x_last) + (x - x_last)(1/h - 1/gamma).
    """
    worst = 0.0
    for v in run(PROBLEM, algorithm, 16, I, eta=GAMMA):
        if not v.step.synchronises:
            continue
        moved = v.local.x - v.before.x
        if algorithm.oracle == "II":
            wanted = -(v.before.v + moved / GAMMA)
        else:
            g = PROBLEM.stochastic_gradient(v.before.x, v.minibatch)
            wanted = -g + moved * (1 / H - 1 / GAMMA)
        worst = max(worst, gap(v.after.dual, wanted))
    return worst


@pytest.mark.parametrize("oracle", ORACLES)
def test_multiplier_is_minus_the_last_surrogate_gradient(oracle: str) -> None:
    assert dual_error(FedPd(oracle, H)) < 1e-12


class WrongDual(FedPd):
    """lambda - (x - x0)/h."""

    def synchronise(self, problem: Any, state: Any) -> Any:
        after = super().synchronise(problem, state)
        return after._replace(dual=2 * state.dual - after.dual)


@pytest.mark.parametrize("oracle", ORACLES)
def test_a_wrong_sign_of_the_multiplier_is_rejected(oracle: str) -> None:
    assert dual_error(WrongDual(oracle, H)) > 1e-3


def moved_from(algorithm: Any, x: float) -> float:
    """Return how far a round moves a state x_k = x0_k = x, lambda_k = -grad f_k(x)."""
    problem = load_problem("quadratic", K=4, dim=2, sigma=0.0, heterogeneity="tilt")

    class Settled(FedPd):
        def init(self, problem: Any, x: Any, eta: float, minibatch: Any) -> Any:
            start = super().init(problem, x, eta, minibatch)
            return start._replace(dual=-problem.gradient(x))

    last = run(problem, Settled(algorithm.oracle, H), 2 * I, I, x1=x)[-1].after
    return max(gap(last.centre, np.full_like(last.centre, x)), gap(last.x, np.full_like(last.x, x)))


@pytest.mark.parametrize("oracle", ORACLES)
def test_a_fixed_point_is_stationary_and_no_other_point_is_fixed(oracle: str) -> None:
    assert moved_from(FedPd(oracle, H), 0.0) < 1e-14
    assert moved_from(FedPd(oracle, H), 1.0) > 1e-2


def reduction_error(algorithm: Any) -> float:
    """Return how far v is from grad f_k(x_k) without noise: the differences telescope."""
    problem = load_problem("cosine", K=4, dim=3, sigma=0.0)
    return max(gap(v.local.v, problem.gradient(v.local.x)) for v in run(problem, algorithm, 24, I))


class NoReduction(FedPd):
    """The difference is computed and thrown away."""

    def local_step(self, problem: Any, state: Any, step: Any, minibatch: Any) -> Any:
        return super().local_step(problem, state, step, minibatch)._replace(v=state.v)


@pytest.mark.parametrize("refresh", [1, 3])
def test_variance_reduction_is_in_place(refresh: int) -> None:
    assert reduction_error(FedPd("II", H, refresh=refresh)) < 1e-13
    assert reduction_error(NoReduction("II", H, refresh=refresh)) > 1e-3


def test_full_gradients_are_taken_every_refresh_rounds() -> None:
    visits = run(PROBLEM, FedPd("II", H, refresh=2), 16, I)
    exact = [gap(v.before.v, PROBLEM.gradient(v.before.x)) < 1e-14 for v in visits[::I]]
    assert exact == [True, False, True, False]


def coin_error(algorithm: Any) -> float:
    """Return how far the centres are from one coin a round for all workers, heads common."""
    worst = 0.0
    for v in run(PROBLEM, algorithm, 40 * I, I):
        if v.step.synchronises:
            heads = np.asarray(v.local.coin)[:, None, None]
            own = v.local.x + H * v.after.dual
            wanted = np.where(heads == 1, bar(own)[..., None, :], own)
            worst = max(worst, gap(v.after.centre, wanted))
    return worst


class CoinPerWorker(FedPd):
    """A coin for every worker: some average while others do not."""

    def synchronise(self, problem: Any, state: Any) -> Any:
        after = super().synchronise(problem, state)
        own = state.x + H * after.dual
        centre = np.where(np.arange(4)[:, None] < 2, after.centre, own)
        return after._replace(centre=centre)


def test_one_coin_a_round() -> None:
    assert coin_error(FedPd("I", H, skip=0.5)) < 1e-13
    assert coin_error(CoinPerWorker("I", H, skip=0.5)) > 1e-6


def test_skip_is_the_probability_of_no_communication() -> None:
    """100 rounds, 64 replicates: the mean is within 5 standard errors (false alarm 6e-7).

    Read as the probability to communicate, it would be 20 instead of 80.
    """
    options: dict[str, Any] = {"T": 400, "b": 1, "I": 4, "replicates": 64}
    problem = load_problem("quadratic", K=4, dim=2)
    counts = simulate(problem, "fedpd", algorithm_options={"skip": 0.2}, **options).counts
    assert abs(counts.rounds - 80) < 5 * np.sqrt(100 * 0.2 * 0.8 / 64)
    assert counts.vectors_up == counts.rounds == counts.exchanges
    assert counts.samples_per_worker == 400


def test_theory() -> None:
    h = default_prox(2.0)
    assert h == pytest.approx((np.sqrt(5) - 1) / 16)
    schedule = theory(Facts(100, 4, 1.0, 5, 2.0, 1.0), {"prox": None})
    steps = schedule.eta(np.arange(1, 11))
    np.testing.assert_allclose(steps[:5], 1 / (2 * (2 + 1 / h) + (1 / h - 2) * np.arange(5)))
    np.testing.assert_array_equal(steps[5:], steps[:5])
