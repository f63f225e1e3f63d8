"""FedAvg (local SGD): I local steps of minibatch SGD, then the mean of the iterates.

B. McMahan, E. Moore, D. Ramage, S. Hampson, B. Aguera y Arcas. Communication-efficient learning of
deep networks from decentralized data. AISTATS 2017. As Algorithm 2 of the paper states it:

    d_t = g(x_t),  x_{t+1} = x_t - eta d_t,  and the mean of x_{t+1} when t mod I = 0

Paper: Algorithm (Algo_FedAvg).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from stemtheory.algorithms.base import Step, mean_over_workers, spread
from stemtheory.oracle import Problem


class FedAvgState(NamedTuple):
    """x to step from, shape [..., K, dim]."""

    x: Any


@dataclass(frozen=True)
class FedAvg:
    """Algorithm 2."""

    initial_batch = False
    gradients_per_step = 1
    vectors_per_round = 1
    exchanges_per_round = 1
    initial_vectors = 0

    def init(self, problem: Problem, x: Any, eta: float, minibatch: Any) -> FedAvgState:
        """Return the state at t = 1."""
        return FedAvgState(x)

    def local_step(
        self, problem: Problem, state: FedAvgState, step: Step, minibatch: Any
    ) -> FedAvgState:
        """Return x_t - eta g(x_t)."""
        return FedAvgState(state.x - step.eta * problem.stochastic_gradient(state.x, minibatch))

    def synchronise(self, problem: Problem, state: FedAvgState) -> FedAvgState:
        """Return the mean of the iterates, handed to every worker."""
        return FedAvgState(spread(mean_over_workers(state.x), state.x))

    def batch_factor(self, t: int, I: int) -> int:
        """Return 1: every step uses b samples."""
        return 1
