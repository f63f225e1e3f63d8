"""VRL-SGD against its own definition, and mistakes in it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from stemtheory import load_problem, simulate
from stemtheory.algorithms.vrl_sgd import VrlSgd
from tests.algorithms.common import PROBLEM, Halving, I, bar, gap, make, rounds, run


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
def test_vrl_sgd_is_scaffold_option_ii_and_its_drifts_cancel(schedule: Any) -> None:
    more = {} if schedule is None else {"schedule": schedule}
    vrl, scaffold = (run(PROBLEM, make(name), 40, I, **more) for name in ("vrl-sgd", "scaffold"))
    for v, s in zip(vrl, scaffold, strict=True):
        assert gap(v.after.x, s.after.x) < 1e-12
        assert gap(v.after.v, s.after.own - s.after.c) < 1e-12
        assert gap(bar(v.after.v), 0) < 1e-13


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
