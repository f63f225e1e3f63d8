"""FedProx: local steps pulled back to the server's point by a proximal term.

T. Li, A. K. Sahu, M. Zaheer, M. Sanjabi, A. Talwalkar, V. Smith. Federated optimization in
heterogeneous networks. MLSys 2020. With x the server's point,

    y_k = x,  I times:  y_k <- y_k - eta (g_k(y_k) + mu (y_k - x)),   x <- mean y_k

The theory asks of a worker that it minimises f_k(y) + (mu/2)||y - x||^2 to a relative gradient
gamma, and states no step; I local steps are that inexact solution.

Paper: Table: Comparison.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from stemtheory.algorithms.base import Chances, Step, mean_over_workers, spread
from stemtheory.algorithms.costs import Costs
from stemtheory.algorithms.entry import Entry, Facts, Option, Options, capped, not_negative
from stemtheory.oracles import Problem
from stemtheory.schedules import Schedule, fedavg_curve


class FedProxState(NamedTuple):
    """y_k as ``x``, and the server's point, both [..., K, dim]."""

    x: Any
    server: Any


@dataclass(frozen=True)
class FedProx:
    """FedProx; mu = 0 is FedAvg, bit for bit."""

    letters: ClassVar[Mapping[str, str]] = {"y_k": "x"}

    mu: float = 0.1

    costs = Costs()
    chances = ()

    def init(self, problem: Problem, x: Any, eta: float, minibatch: Any) -> FedProxState:
        """Return the state at t = 1."""
        return FedProxState(x, x)

    def start_round(
        self, problem: Problem, state: FedProxState, step: Step, chance: Chances
    ) -> FedProxState:
        """Return the state with the server's point remembered."""
        return FedProxState(state.x, state.x)

    def local_step(
        self, problem: Problem, state: FedProxState, step: Step, minibatch: Any
    ) -> FedProxState:
        """Return y_k - eta (g_k(y_k) + mu (y_k - x))."""
        g = problem.stochastic_gradient(state.x, minibatch)
        pull = self.mu * (state.x - state.server)
        return FedProxState(state.x - step.eta * (g + pull), state.server)

    def synchronise(self, problem: Problem, state: FedProxState) -> FedProxState:
        """Return the mean of the y_k, handed to every worker."""
        return state._replace(x=spread(mean_over_workers(state.x), state.x))


def theory(facts: Facts, options: Options) -> Schedule:
    """Return FedAvg's shape, at most 1/(9 (L + mu) I): the theory itself states no step."""
    return capped(facts, 1 / (9 * (facts.L + options["mu"]) * facts.I))


ENTRIES = (
    Entry(
        "fedprox",
        "fedprox",
        "FedAvg with a pull mu towards the server's point",
        fedavg_curve,
        build=lambda options: FedProx(options["mu"]),
        options={"mu": Option(0.1, not_negative, "strength of the proximal term")},
        theory=theory,
        needs="similar gradients (B-dissimilarity); local problems solved to gamma",
        promises="eps^-2 samples, eps^-1 rounds at I = 1/eps",
        row="FedPD/FedProx",
        footnote="another assumption on the heterogeneity: gradient similarity",
    ),
)
