"""VRL-SGD: local SGD whose workers take off their own drift.

X. Liang, S. Shen, J. Liu, Z. Pan, E. Chen, Y. Cheng. Variance reduced local SGD with lower
communication complexity. arXiv 1912.12844, 2019. Worker k keeps a drift v_k, at first 0:

    x_k <- x_k - eta (g_k(x_k) - v_k)
    every I steps:  v_k <- v_k + (xbar - x_k)/(sum of the round's eta),   x_k <- xbar

With warm-up (VRL-SGD-W) the first period has one step, so that v_k = g_k(x_1) - mean g(x_1) from
then on; it is taken before t = 1, on the initial batch. The v_k add up to 0. Without warm-up, with
all workers and eta_g = 1, it is SCAFFOLD's option II, v_k = c_k - c, at one vector each way.

Paper: sec: Intro.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from stemtheory.algorithms.base import Chances, Step, mean_over_workers, spread
from stemtheory.algorithms.costs import Costs
from stemtheory.algorithms.entry import Entry, Facts, Option, Options, capped
from stemtheory.oracles import Problem
from stemtheory.runtime import truth
from stemtheory.schedules import Schedule, fedavg_curve


class VrlState(NamedTuple):
    """x and the drift v, both [..., K, dim]; the sum of the round's steps so far."""

    x: Any
    v: Any
    travel: float


@dataclass(frozen=True)
class VrlSgd:
    """VRL-SGD; ``warm_up`` makes it VRL-SGD-W."""

    letters: ClassVar[Mapping[str, str]] = {"x_k": "x", "v_k": "v"}

    warm_up: bool = False

    chances = ()

    @property
    def costs(self) -> Costs:
        """FedAvg's; the first period of the warm-up takes B samples and averages the x_k."""
        return Costs(initial_batch=self.warm_up, initial_vectors=int(self.warm_up))

    def init(self, problem: Problem, x: Any, eta: float, minibatch: Any) -> VrlState:
        """Return the state at t = 1: without drift, or behind a period of one step."""
        start = VrlState(x, 0 * x, 0.0)
        if not self.warm_up:
            return start
        return self.synchronise(
            problem, self.local_step(problem, start, Step(0, eta, 1.0, True), minibatch)
        )

    def start_round(
        self, problem: Problem, state: VrlState, step: Step, chance: Chances
    ) -> VrlState:
        """Return the state with no step taken."""
        return state._replace(travel=0.0)

    def local_step(self, problem: Problem, state: VrlState, step: Step, minibatch: Any) -> VrlState:
        """Return x - eta (g(x) - v)."""
        g = problem.stochastic_gradient(state.x, minibatch)
        return VrlState(state.x - step.eta * (g - state.v), state.v, state.travel + step.eta)

    def synchronise(self, problem: Problem, state: VrlState) -> VrlState:
        """Return the mean of the x_k, and the drifts renewed."""
        mean = spread(mean_over_workers(state.x), state.x)
        return state._replace(x=mean, v=state.v + (mean - state.x) / state.travel)


def theory(facts: Facts, options: Options) -> Schedule:
    """Return FedAvg's shape, at most 1/(6 sqrt(2) L I)."""
    return capped(facts, 1 / (6 * math.sqrt(2) * facts.L * facts.I))


ENTRIES = (
    Entry(
        "vrl-sgd",
        "vrl-sgd",
        "local SGD without its drift: SCAFFOLD at one vector each way",
        fedavg_curve,
        build=lambda options: VrlSgd(options["warm_up"]),
        options={"warm_up": Option(False, truth, "a first period of one step, on B samples")},
        theory=theory,
        needs="a state per worker; nothing of zeta",
        promises="eps^-2 samples, eps^-1 rounds",
    ),
)
