"""SCAFFOLD: local steps corrected by control variates, so that workers do not drift apart.

S. P. Karimireddy, S. Kale, M. Mohri, S. J. Reddi, S. U. Stich, A. T. Suresh. SCAFFOLD: stochastic
controlled averaging for federated learning. ICML 2020. With x the server's point, c its control
variate, c_k and y_k those of worker k, a round of I steps on n of the K workers is

    y_k = x,  I times:  y_k <- y_k - eta (g_k(y_k) - c_k + c)
    option I    c_k' = grad f_k(x), a full local gradient
    option II   c_k' = c_k - c + (x - y_k) / (sum of the round's eta)
    x <- x + eta_g mean_n (y_k - x),   c <- c + (n/K) mean_n (c_k' - c_k),   c_k <- c_k'

Option II's c_k' is the mean of the round's minibatch gradients, weighted by eta: what is divided
by is the sum of the steps taken, not I times the last one. All variates start at 0.

Paper: Table: Comparison.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from stemtheory.algorithms.base import Chance, Chances, Step, spread
from stemtheory.algorithms.costs import Costs, active
from stemtheory.algorithms.entry import (
    PARTICIPATION,
    SERVER_STEP,
    Entry,
    Facts,
    Options,
    capped,
    named,
)
from stemtheory.algorithms.participation import present, sampled, server_mean, weight_of
from stemtheory.oracles import Problem
from stemtheory.schedules import Schedule, fedavg_curve


class ScaffoldState(NamedTuple):
    """y_k as ``x`` and c_k as ``own``, shape [..., K, dim]; the server's x and c, [..., 1, dim].

    ``travel`` is the sum of the round's step sizes so far.
    """

    x: Any
    own: Any
    server: Any
    c: Any
    weight: Any
    travel: float


@dataclass(frozen=True)
class Scaffold:
    """SCAFFOLD with one of its two options."""

    letters: ClassVar[Mapping[str, str]] = {"y_k": "x", "c_k": "own"}

    option: str = "II"
    server_step: float = 1.0
    participation: float = 1.0

    @property
    def costs(self) -> Costs:
        """x and c each way; option I computes a full local gradient a round."""
        passes = 1 if self.option == "I" else 0
        return Costs(vectors_up=2, vectors_down=2, passes=passes, participation=self.participation)

    @property
    def chances(self) -> tuple[Chance, ...]:
        """Who takes part."""
        return sampled(self.participation)

    def init(self, problem: Problem, x: Any, eta: float, minibatch: Any) -> ScaffoldState:
        """Return the state at t = 1, with all control variates 0."""
        server = x[..., :1, :]
        return ScaffoldState(x, 0 * x, server, 0 * server, None, 0.0)

    def start_round(
        self, problem: Problem, state: ScaffoldState, step: Step, chance: Chances
    ) -> ScaffoldState:
        """Return the state with this round's workers, all at the server's point."""
        return state._replace(weight=weight_of(chance), travel=0.0)

    def local_step(
        self, problem: Problem, state: ScaffoldState, step: Step, minibatch: Any
    ) -> ScaffoldState:
        """Return y_k - eta (g_k(y_k) - c_k + c)."""
        g = problem.stochastic_gradient(state.x, minibatch)
        x = state.x - step.eta * (g - state.own + state.c)
        return state._replace(x=x, travel=state.travel + step.eta)

    def synchronise(self, problem: Problem, state: ScaffoldState) -> ScaffoldState:
        """Return the state with c_k', c and x renewed."""
        change = present(self.renewed(problem, state) - state.own, state.weight)
        server = self.moved(state)
        c = state.c + server_mean(change, None)  # (n/K) mean over n = mean over K of the present
        x = spread(server[..., 0, :], state.x)
        return state._replace(x=x, own=state.own + change, server=server, c=c)

    def renewed(self, problem: Problem, state: ScaffoldState) -> Any:
        """Return c_k' for every worker."""
        if self.option == "I":
            return problem.gradient(spread(state.server[..., 0, :], state.x))
        return state.own - state.c + (state.server - state.x) / state.travel

    def moved(self, state: ScaffoldState) -> Any:
        """Return the server's next point."""
        change = server_mean(state.x - state.server, state.weight)
        return state.server + self.server_step * change


def build(options: Options) -> Scaffold:
    """Return SCAFFOLD with the given options."""
    return Scaffold(options["option"], options["server_step"], options["participation"])


def theory(facts: Facts, options: Options) -> Schedule:
    """Return eta <= (n/K)^{2/3} / (24 L I eta_g), and below it FedAvg's shape over eta_g."""
    n = active(options["participation"], facts.K)
    eta_g = options["server_step"]
    cap = (n / facts.K) ** (2 / 3) / (24 * facts.L * facts.I * eta_g)
    return capped(facts, cap, n, 1 / eta_g)


ENTRIES = (
    Entry(
        "scaffold",
        "scaffold",
        "control variates against drift (option=I or II)",
        fedavg_curve,
        build=build,
        options={
            "option": named("II", ("I", "II"), "how c_k is renewed"),
            "server_step": SERVER_STEP,
            "participation": PARTICIPATION,
        },
        theory=theory,
        needs="a state per worker; nothing of zeta",
        promises="eps^-2 samples, eps^-2 rounds at I = b = O(1)",
        row="SCAFFOLD",
        footnote="independent of the heterogeneity",
    ),
)
