"""FedAvg (local SGD): I local steps of minibatch SGD, then the mean of the iterates.

B. McMahan, E. Moore, D. Ramage, S. Hampson, B. Aguera y Arcas. Communication-efficient learning of
deep networks from decentralized data. AISTATS 2017. As Algorithm 2 of the paper states it:

    d_t = g(x_t),  x_{t+1} = x_t - eta d_t,  and the mean of x_{t+1} when t mod I = 0

``SampledFedAvg`` averages over a fresh sample of the workers in every round, as in S. P.
Karimireddy et al., ICML 2020, and H. Yang, M. Fang, J. Liu, ICLR 2021.

Paper: Algorithm (Algo_FedAvg).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from stemtheory.algorithms.base import (
    Chance,
    Chances,
    Step,
    average,
    mean_over_workers,
    spread,
)
from stemtheory.algorithms.costs import Costs
from stemtheory.algorithms.entry import PARTICIPATION, Entry, Options
from stemtheory.algorithms.participation import sampled, weight_of
from stemtheory.oracles import Problem
from stemtheory.schedules import fedavg_curve, largest_minibatch


class FedAvgState(NamedTuple):
    """x to step from, shape [..., K, dim]."""

    x: Any


@dataclass(frozen=True)
class FedAvg:
    """Algorithm 2."""

    costs = Costs()

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


class SampledState(NamedTuple):
    """x to step from, shape [..., K, dim]; the weights of the round's workers, [..., K, 1]."""

    x: Any
    weight: Any


@dataclass(frozen=True)
class SampledFedAvg:
    """Algorithm 2 on a sample of the workers; what the others compute is never looked at."""

    participation: float

    @property
    def costs(self) -> Costs:
        """FedAvg's, for those who take part."""
        return Costs(participation=self.participation)

    @property
    def chances(self) -> tuple[Chance, ...]:
        """Who takes part."""
        return sampled(self.participation)

    def init(self, problem: Problem, x: Any, eta: float, minibatch: Any) -> SampledState:
        """Return the state at t = 1."""
        return SampledState(x, None)

    def start_round(
        self, problem: Problem, state: SampledState, step: Step, chance: Chances
    ) -> SampledState:
        """Return the state with this round's workers."""
        return SampledState(state.x, weight_of(chance))

    def local_step(
        self, problem: Problem, state: SampledState, step: Step, minibatch: Any
    ) -> SampledState:
        """Return x_t - eta g(x_t)."""
        x = state.x - step.eta * problem.stochastic_gradient(state.x, minibatch)
        return SampledState(x, state.weight)

    def synchronise(self, problem: Problem, state: SampledState) -> SampledState:
        """Return the mean over the sample, handed to every worker."""
        return SampledState(spread(average(state.x, state.weight), state.x), state.weight)


def build(options: Options) -> FedAvg | SampledFedAvg:
    """Return FedAvg, on a sample of the workers where ``participation`` is below 1."""
    share = options["participation"]
    return FedAvg() if share == 1 else SampledFedAvg(share)


COMMON: dict[str, Any] = {
    "base": "fedavg",
    "curve": fedavg_curve,
    "build": build,
    "options": {"participation": PARTICIPATION},
    "needs": "zeta bounded (I = 1: not needed); T >= 81 L^2 I^2 bK",
    "promises": "eps^-2 samples, eps^-3/2 rounds",
    "bounds": ("fedavg-theorem", "minibatch-sgd"),
    "row": "FedAvg",
}
ENTRIES = (
    Entry("fedavg", summary="local SGD (Algorithm 2)", **COMMON),
    Entry(
        "minibatch-sgd",
        summary="FedAvg with I = 1, b = T/(81 L^2 K)",
        pinned=(("I", 1),),
        batch=largest_minibatch,
        **(
            COMMON
            | {
                "needs": "nothing of zeta; T >= 81 L^2 bK",
                "promises": "eps^-2 samples, eps^-1 rounds",
            }
        ),
    ),
)
