"""Local SGD with Polyak's or Nesterov's momentum, both x and the momentum averaged every round.

H. Yu, R. Jin, S. Yang. On the linear speedup analysis of communication efficient momentum SGD for
distributed non-convex optimization. ICML 2019.

    u <- beta u + g_k(x),   x <- x - eta u                  (Polyak)
                            x <- x - eta (g_k(x) + beta u)  (Nesterov)
    every I steps:  x <- mean x,  u <- mean u

eta stands outside of u; a gradient moves x by eta/(1 - beta) in all.

Paper: Sec: Special Case, Table: Comparison.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from stemtheory.algorithms.base import Chances, Step, mean_over_workers, spread
from stemtheory.algorithms.costs import Costs
from stemtheory.algorithms.entry import Entry, Facts, Option, Options, below_one, capped
from stemtheory.oracles import Problem
from stemtheory.schedules import Schedule, fedavg_curve


class MomentumState(NamedTuple):
    """x and the momentum u, both [..., K, dim]."""

    x: Any
    u: Any


@dataclass(frozen=True)
class LocalMomentum:
    """Local momentum SGD of one kind."""

    nesterov: bool
    beta: float = 0.9

    costs = Costs(vectors_up=2, vectors_down=2)  # x and u
    chances = ()

    def init(self, problem: Problem, x: Any, eta: float, minibatch: Any) -> MomentumState:
        """Return the state at t = 1, without momentum."""
        return MomentumState(x, 0 * x)

    def start_round(
        self, problem: Problem, state: MomentumState, step: Step, chance: Chances
    ) -> MomentumState:
        """Return the state as it is."""
        return state

    def local_step(
        self, problem: Problem, state: MomentumState, step: Step, minibatch: Any
    ) -> MomentumState:
        """Return x and u one step on."""
        g = problem.stochastic_gradient(state.x, minibatch)
        u = self.beta * state.u + g
        direction = g + self.beta * u if self.nesterov else u
        return MomentumState(state.x - step.eta * direction, u)

    def synchronise(self, problem: Problem, state: MomentumState) -> MomentumState:
        """Return the means of x and u, handed to every worker."""
        x, u = (spread(mean_over_workers(part), part) for part in state)
        return MomentumState(x, u)


def theory(facts: Facts, options: Options) -> Schedule:
    """Return (1 - beta) times FedAvg's shape, at most (1 - beta)^2/((1 + beta) 9 L I)."""
    beta = options["beta"]
    cap = (1 - beta) ** 2 / ((1 + beta) * 9 * facts.L * facts.I)
    return capped(facts, cap, scale=1 - beta)


def _entry(name: str, nesterov: bool, summary: str) -> Entry:
    return Entry(
        name,
        name,
        summary,
        fedavg_curve,
        build=lambda options: LocalMomentum(nesterov, options["beta"]),
        options={"beta": Option(0.9, below_one, "momentum; 0 is FedAvg")},
        theory=theory,
        needs="zeta bounded",
        promises="eps^-2 samples, eps^-3/2 rounds at I = eps^-1/2",
        row="FedAvg (Yu et al.)",
    )


ENTRIES = (
    _entry("local-polyak", False, "local SGD with heavy-ball momentum"),
    _entry("local-nesterov", True, "local SGD with Nesterov's momentum"),
)
