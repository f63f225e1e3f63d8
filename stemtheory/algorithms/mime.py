"""MIME and MimeLite: a server's statistics, frozen while workers step as if at the server.

S. P. Karimireddy, M. Jaggi, S. Kale, M. Mohri, S. J. Reddi, S. U. Stich, A. T. Suresh. Mime:
mimicking centralized stochastic algorithms in federated learning. arXiv 2008.03606, 2020. With x
the server's point, m its momentum and c = mean_n grad f_k(x) over the round's workers,

    MIME       G = g_k(y_k) - g_k(x) + c,  one minibatch at both points
    MimeLite   G = g_k(y_k)
    y_k = x,  I times:  y_k <- y_k - eta ((1 - beta) G + beta m),  m frozen
    x <- x + eta_g mean_n (y_k - x),   m <- (1 - beta) c + beta m

grad f_k(x) is a full local gradient. On a problem with an infinite sample space it is the exact
expectation, counted as declared: one pass a round, of N samples where the data are N points, else
of b I, the samples of a round's local steps.

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
    Option,
    Options,
    below_one,
    capped,
)
from stemtheory.algorithms.participation import sampled, server_mean, weight_of
from stemtheory.oracles import Problem
from stemtheory.schedules import Schedule, fedavg_curve


class MimeState(NamedTuple):
    """y_k as ``x``, shape [..., K, dim]; the server's x, c and m, [..., 1, dim].

    ``there`` is the oracle at the server's point.
    """

    x: Any
    server: Any
    c: Any
    m: Any
    there: Any
    weight: Any


@dataclass(frozen=True)
class Mime:
    """MIME or, with ``lite``, MimeLite; the base optimiser is SGD with momentum beta."""

    letters: ClassVar[Mapping[str, str]] = {"y_k": "x"}

    lite: bool = False
    beta: float = 0.9
    server_step: float = 1.0
    participation: float = 1.0

    @property
    def anchored(self) -> bool:
        """Whether anything uses c: MimeLite without momentum is FedAvg."""
        return not self.lite or self.beta > 0

    @property
    def costs(self) -> Costs:
        """Up go y_k and grad f_k(x), down x, c where it is used locally, m where there is momentum.

        MIME computes gradients at y_k and at x, and its workers wait for c before their first step.
        """
        return Costs(
            gradients=1 if self.lite else 2,
            vectors_up=1 + self.anchored,
            vectors_down=1 + (not self.lite) + (self.beta > 0),
            exchanges=1 if self.lite else 2,
            passes=int(self.anchored),
            participation=self.participation,
        )

    @property
    def chances(self) -> tuple[Chance, ...]:
        """Who takes part."""
        return sampled(self.participation)

    def init(self, problem: Problem, x: Any, eta: float, minibatch: Any) -> MimeState:
        """Return the state at t = 1, without momentum."""
        server = x[..., :1, :]
        return MimeState(x, server, 0 * server, 0 * server, None, None)

    def start_round(
        self, problem: Problem, state: MimeState, step: Step, chance: Chances
    ) -> MimeState:
        """Return the state with c and the oracle at the server's point."""
        weight = weight_of(chance)
        if not self.anchored:
            return state._replace(weight=weight)
        c = server_mean(problem.gradient(state.x), weight)
        there = None if self.lite else problem.evaluate(state.x)
        return state._replace(c=c, there=there, weight=weight)

    def local_step(
        self, problem: Problem, state: MimeState, step: Step, minibatch: Any
    ) -> MimeState:
        """Return y_k - eta ((1 - beta) G + beta m)."""
        G = problem.stochastic_gradient(state.x, minibatch)
        if not self.lite:
            G = G - problem.combine(state.there, minibatch) + state.c
        direction = (1 - self.beta) * G + self.beta * state.m
        return state._replace(x=state.x - step.eta * direction)

    def synchronise(self, problem: Problem, state: MimeState) -> MimeState:
        """Return the state with x moved and m renewed."""
        change = server_mean(state.x - state.server, state.weight)
        server = state.server + self.server_step * change
        m = (1 - self.beta) * state.c + self.beta * state.m
        return state._replace(x=spread(server[..., 0, :], state.x), server=server, m=m)


def theory(facts: Facts, options: Options) -> Schedule:
    """Return FedAvg's shape over eta_g, at most 1/(4 L I eta_g): the drift's stability."""
    n = active(options["participation"], facts.K)
    eta_g = options["server_step"]
    return capped(facts, 1 / (4 * facts.L * facts.I * eta_g), n, 1 / eta_g)


def _entry(name: str, lite: bool, summary: str, promises: str) -> Entry:
    return Entry(
        name,
        name,
        summary,
        fedavg_curve,
        build=lambda o: Mime(lite, o["beta"], o["server_step"], o["participation"]),
        options={
            "beta": Option(0.9, below_one, "momentum of the base optimiser; 0 is SGD"),
            "server_step": SERVER_STEP,
            "participation": PARTICIPATION,
        },
        theory=theory,
        needs="bounded Hessian dissimilarity; full local gradients",
        promises=promises,
    )


ENTRIES = (
    _entry("mime", False, "steps corrected to the server's, frozen momentum", "eps^-2 rounds"),
    _entry("mimelite", True, "MIME without the correction", "eps^-2 rounds"),
)
