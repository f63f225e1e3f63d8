"""An algorithm of one's own: FedAvg whose server goes further along the mean change.

    x_k <- x_k - eta g_k(x_k);   every I steps:  x <- x + eta_g (mean x_k - x)

With eta_g = 1 it is FedAvg, which is how it is tested.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

from stemtheory.algorithms import Costs, Entry, Option, Step, mean_over_workers, positive, spread
from stemtheory.oracles import Problem
from stemtheory.schedules import fedavg_curve


class State(NamedTuple):
    """x to step from, and x at the start of the round, both [..., K, dim]."""

    x: Any
    start: Any


@dataclass(frozen=True)
class ServerStep:
    """FedAvg with a server step eta_g."""

    eta_g: float = 1.0

    costs = Costs()  # FedAvg's: a gradient a sample, and a vector each way and round

    def init(self, problem: Problem, x: Any, eta: float, minibatch: Any) -> State:
        """Return the state at t = 1."""
        return State(x, x)

    def local_step(self, problem: Problem, state: State, step: Step, minibatch: Any) -> State:
        """Return x - eta g(x)."""
        g = problem.stochastic_gradient(state.x, minibatch)
        return State(state.x - step.eta * g, state.start)

    def synchronise(self, problem: Problem, state: State) -> State:
        """Return the server's point, handed to every worker."""
        change = spread(mean_over_workers(state.x), state.x) - state.start
        x = state.start + self.eta_g * change
        return State(x, x)


ENTRY = Entry(
    "server-step",
    base="fedavg",
    summary="FedAvg with a server step",
    curve=fedavg_curve,
    build=lambda options: ServerStep(options["eta_g"]),
    options={"eta_g": Option(1.0, positive, "how far the server goes along the mean change")},
)
