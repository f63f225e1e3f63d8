"""SlowMo: local SGD whose server takes slow steps with momentum.

J. Wang, V. Tantia, N. Ballas, M. Rabbat. SlowMo: improving communication-efficient distributed SGD
with slow momentum. ICLR 2020. With x the server's point and eta the last local step of the round,

    y_k = x,  I times:  y_k <- y_k - eta g_k(y_k)
    u <- beta u + (x - mean y_k)/eta,   x <- x - alpha eta u

The server keeps u; the workers' optimiser is SGD, without buffers of its own.

Paper: sec: Intro.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from stemtheory.algorithms.base import Chances, Step, spread
from stemtheory.algorithms.costs import Costs
from stemtheory.algorithms.entry import Entry, Facts, Option, Options, below_one, capped, positive
from stemtheory.algorithms.participation import server_mean
from stemtheory.oracles import Problem
from stemtheory.schedules import Schedule, fedavg_curve


class SlowMoState(NamedTuple):
    """y_k as ``x``, shape [..., K, dim]; the server's x and u, [..., 1, dim]; the last step."""

    x: Any
    server: Any
    u: Any
    eta: float


@dataclass(frozen=True)
class SlowMo:
    """SlowMo; alpha = 1 and beta = 0 is FedAvg."""

    letters: ClassVar[Mapping[str, str]] = {"y_k": "x"}

    alpha: float
    beta: float

    costs = Costs()
    chances = ()

    def init(self, problem: Problem, x: Any, eta: float, minibatch: Any) -> SlowMoState:
        """Return the state at t = 1, without momentum."""
        server = x[..., :1, :]
        return SlowMoState(x, server, 0 * server, eta)

    def start_round(
        self, problem: Problem, state: SlowMoState, step: Step, chance: Chances
    ) -> SlowMoState:
        """Return the state as it is."""
        return state

    def local_step(
        self, problem: Problem, state: SlowMoState, step: Step, minibatch: Any
    ) -> SlowMoState:
        """Return y_k - eta g_k(y_k)."""
        g = problem.stochastic_gradient(state.x, minibatch)
        return state._replace(x=state.x - step.eta * g, eta=step.eta)

    def synchronise(self, problem: Problem, state: SlowMoState) -> SlowMoState:
        """Return the state with u and the server's point renewed."""
        u = self.beta * state.u + server_mean(state.server - state.x, None) / state.eta
        server = state.server - self.alpha * state.eta * u
        return SlowMoState(spread(server[..., 0, :], state.x), server, u, state.eta)


def theory(facts: Facts, options: Options) -> Schedule:
    """Return (1 - beta)/alpha times FedAvg's shape, at most that part of 1/(9 L I)."""
    part = (1 - options["beta"]) / options["alpha"]
    return capped(facts, part / (9 * facts.L * facts.I), scale=part)


ENTRIES = (
    Entry(
        "slowmo",
        "slowmo",
        "local SGD with momentum at the server",
        fedavg_curve,
        build=lambda options: SlowMo(options["alpha"], options["beta"]),
        options={
            "alpha": Option(1.0, positive, "the server's slow step"),
            "beta": Option(0.5, below_one, "the server's momentum"),
        },
        theory=theory,
        needs="zeta bounded",
        promises="eps^-2 samples",
    ),
)
