"""FedProx: local SGD on f_k(y) + (mu/2)||y - x||^2, whose x is the server's point."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from stemtheory import load_problem, simulate
from stemtheory.algorithms.fedprox import FedProx
from tests.algorithms.common import bar, make, run

PROBLEM = load_problem("geman_mcclure", K=4, dim=3)


@pytest.mark.parametrize("problem", ["quadratic", "geman_mcclure", "cosine"])
def test_without_the_term_it_is_fedavg(problem: str) -> None:
    options: dict[str, Any] = {"T": 60, "b": 2, "I": 4, "schedule": "constant"}
    options["schedule_options"] = {"eta": 0.1}
    loaded = load_problem(problem, K=4, dim=3)
    prox = simulate(loaded, "fedprox", algorithm_options={"mu": 0}, **options)
    np.testing.assert_array_equal(prox.grad_sq, simulate(loaded, "fedavg", **options).grad_sq)


def stationary_error(algorithm: Any) -> float:
    """Return the gradient of f_k(y) + (mu/2)||y - x||^2 after many local steps without noise."""
    problem = load_problem("quadratic", K=4, dim=2, sigma=0.0)
    last = run(problem, algorithm, 400, 400, eta=0.1)[-1].local
    gradient = problem.gradient(last.x) + algorithm.mu * (last.x - 1.1)
    return float(np.abs(gradient).max())


def test_many_local_steps_solve_the_proximal_problem() -> None:
    assert stationary_error(FedProx(0.7)) < 1e-12


class PullToZero(FedProx):
    """Weight decay in place of the proximal term."""

    def local_step(self, problem: Any, state: Any, step: Any, minibatch: Any) -> Any:
        return (
            super()
            .local_step(problem, state._replace(server=0 * state.x), step, minibatch)
            ._replace(server=state.server)
        )


class PullToOwn(FedProx):
    """The pull is towards the worker's own point, so there is none."""

    def local_step(self, problem: Any, state: Any, step: Any, minibatch: Any) -> Any:
        after = super().local_step(problem, state._replace(server=state.x), step, minibatch)
        return after._replace(server=state.server)


@pytest.mark.parametrize("mutant", [PullToZero, PullToOwn])
def test_another_anchor_is_rejected(mutant: Any) -> None:
    assert stationary_error(mutant(0.7)) > 1e-2


def test_the_pull_shortens_the_drift() -> None:
    spreads = [
        np.ptp(run(PROBLEM, make("fedprox", mu=mu), 32, 32, eta=0.1)[-1].local.x, axis=-2).mean()
        for mu in (0.0, 1.0, 5.0)
    ]
    assert spreads[0] > spreads[1] > spreads[2]
    visits = run(PROBLEM, make("fedprox", mu=1.0), 8, 4)
    np.testing.assert_array_equal(bar(visits[4].before.server), bar(visits[3].after.x))
