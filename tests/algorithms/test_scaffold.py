"""SCAFFOLD: what its control variates are, and eight published mistakes that are something else."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from stemtheory import load_problem
from stemtheory.algorithms.base import spread
from stemtheory.algorithms.scaffold import Scaffold
from tests.algorithms.common import Halving, bar, gap, make, rounds, run

I = 4
PROBLEM = load_problem("cosine", K=5, dim=3)


def raw_means(visits: list[Any]) -> list[Any]:
    """Return per round the mean of the minibatch gradients at the y_k, weighted by the steps."""
    found = []
    for part in rounds(visits, I):
        total = sum(v.step.eta * PROBLEM.stochastic_gradient(v.before.x, v.minibatch) for v in part)
        found.append(total / sum(v.step.eta for v in part))
    return found


def variate_error(algorithm: Any) -> float:
    """Return how far c_k' is from the mean of the round's minibatch gradients."""
    visits = run(PROBLEM, algorithm, 16, I, schedule=Halving())
    after = [part[-1].after.own for part in rounds(visits, I)]
    return max(gap(c, wanted) for c, wanted in zip(after, raw_means(visits), strict=True))


def mean_error(algorithm: Any) -> float:
    """Return how far c is from the mean of all c_k."""
    return max(gap(bar(v.after.own), v.after.c[..., 0, :]) for v in run(PROBLEM, algorithm, 24, I))


def server_error(algorithm: Any) -> float:
    """Return how far the server's point is from x + eta_g mean (y_k - x)."""
    return max(
        gap(
            bar(v.after.x),
            bar(v.local.server) + algorithm.server_step * (bar(v.local.x) - bar(v.local.server)),
        )
        for v in run(PROBLEM, algorithm, 24, I)
        if v.step.synchronises
    )


def drift_error(algorithm: Any) -> float:
    """Return how far workers still move at the optimum: without noise they must not."""
    problem = load_problem("quadratic", K=4, dim=3, sigma=0, heterogeneity="tilt")
    last = run(problem, algorithm, 4000, I)[-1].local
    return float(np.ptp(last.x, axis=-2).max())


def test_option_ii_is_the_mean_of_the_minibatch_gradients() -> None:
    assert variate_error(Scaffold()) < 1e-12


def test_option_i_is_a_full_local_gradient_at_the_servers_point() -> None:
    for v in run(PROBLEM, Scaffold("I"), 12, I):
        if v.step.synchronises:
            x = spread(v.local.server[..., 0, :], v.local.x)
            np.testing.assert_array_equal(
                v.after.own, v.local.own + (PROBLEM.gradient(x) - v.local.own)
            )


@pytest.mark.parametrize("option", ["I", "II"])
@pytest.mark.parametrize("participation", [0.4, 1.0])
def test_c_is_the_mean_of_all_variates(option: str, participation: float) -> None:
    """Holds with a sample of the workers too: (n/K) mean_n is the mean over all of the change."""
    assert mean_error(Scaffold(option, participation=participation)) < 1e-12


@pytest.mark.parametrize("option", ["I", "II"])
def test_workers_stop_drifting(option: str) -> None:
    assert drift_error(Scaffold(option)) < 1e-9
    problem = load_problem("quadratic", K=4, dim=3, sigma=0, heterogeneity="tilt")
    assert np.ptp(run(problem, make("fedavg"), 400, I)[-1].local.x, axis=-2).max() > 1e-3


def test_workers_that_sit_out_keep_their_variates() -> None:
    for v in run(PROBLEM, Scaffold(participation=0.4), 24, I):
        if v.step.synchronises:
            absent = np.broadcast_to(v.local.weight == 0, v.local.own.shape)
            assert absent.mean() == pytest.approx(0.6)
            np.testing.assert_array_equal(v.after.own[absent], v.local.own[absent])
            assert np.all((v.after.own != v.local.own)[~absent])


def test_server_step() -> None:
    assert server_error(Scaffold(server_step=1.5)) < 1e-12


class NeverStored(Scaffold):
    """The worker's variate is read and never written: c_k stays 0."""

    def synchronise(self, problem: Any, state: Any) -> Any:
        return super().synchronise(problem, state)._replace(own=state.own)


class SumForMean(Scaffold):
    """The server adds the sum of the changes."""

    def moved(self, state: Any) -> Any:
        return state.server + state.x.shape[-2] * (super().moved(state) - state.server)


class OneOverEpochs(Scaffold):
    """1/epochs (here 1) where 1/(sum of the steps) belongs."""

    def renewed(self, problem: Any, state: Any) -> Any:
        return super().renewed(problem, state._replace(travel=1.0))


class FullVariateSent(Scaffold):
    """c_k' itself is sent where its change belongs."""

    def synchronise(self, problem: Any, state: Any) -> Any:
        sent = self.renewed(problem, state)
        c = state.c + bar(sent)[..., None, :]
        return super().synchronise(problem, state)._replace(c=c)


class RandomStart(Scaffold):
    """Variates start at random and not at their mean."""

    def init(self, problem: Any, x: Any, eta: float, minibatch: Any) -> Any:
        noise = np.random.default_rng(1).standard_normal(x.shape)
        return super().init(problem, x, eta, minibatch)._replace(own=noise)


class SelectedForAll(Scaffold):
    """c moves by the mean over the workers that took part, not by n/K of it."""

    def synchronise(self, problem: Any, state: Any) -> Any:
        after = super().synchronise(problem, state)
        n = (state.weight > 0).sum(axis=-2)[..., None, :]
        return after._replace(c=state.c + (after.c - state.c) * state.x.shape[-2] / n)


class LastStep(Scaffold):
    """Divides by I times the last step, whatever the others were."""

    def local_step(self, problem: Any, state: Any, step: Any, minibatch: Any) -> Any:
        after = super().local_step(problem, state, step, minibatch)
        return after._replace(travel=I * step.eta)


class StepsMissing(Scaffold):
    """Divides by one step, without their number."""

    def local_step(self, problem: Any, state: Any, step: Any, minibatch: Any) -> Any:
        return super().local_step(problem, state, step, minibatch)._replace(travel=step.eta)


class SamplesForSteps(Scaffold):
    """Counts the samples of a round as its steps."""

    def renewed(self, problem: Any, state: Any) -> Any:
        return super().renewed(problem, state._replace(travel=32 * state.travel))


class WrongSign(Scaffold):
    """y - eta (g + c_k - c)."""

    def local_step(self, problem: Any, state: Any, step: Any, minibatch: Any) -> Any:
        flipped = state._replace(own=-state.own, c=-state.c)
        after = super().local_step(problem, flipped, step, minibatch)
        return after._replace(own=state.own, c=state.c)


class MomentumInside(Scaffold):
    """A momentum buffer in the local steps: the formula is no mean gradient any more."""

    def local_step(self, problem: Any, state: Any, step: Any, minibatch: Any) -> Any:
        after = super().local_step(problem, state, step, minibatch)
        return after._replace(x=after.x + 0.9 * (after.x - state.x))


@pytest.mark.parametrize(
    ("mutant", "error"),
    [
        (NeverStored(), mean_error),
        (SumForMean(), server_error),
        (OneOverEpochs(), variate_error),
        (FullVariateSent(), mean_error),
        (RandomStart(), mean_error),
        (SelectedForAll(participation=0.4), mean_error),
        (LastStep(), variate_error),
        (StepsMissing(), variate_error),
        (SamplesForSteps(), variate_error),
        (WrongSign(), variate_error),
        (MomentumInside(), variate_error),
    ],
    ids=lambda value: type(value).__name__,
)
def test_published_mistakes_are_rejected(mutant: Any, error: Any) -> None:
    assert not error(mutant) < 1e-6
