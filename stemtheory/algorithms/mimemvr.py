"""MimeMVR: MIME with the recursive momentum of STORM at the server.

S. P. Karimireddy et al. Mime: mimicking centralized stochastic algorithms in federated learning.
arXiv 2008.03606, 2020. With x_r the server's point of round r, S its n workers and
grad_S = mean_n grad f_k, full local gradients,

    m_r = grad_S(x_r) + (1 - a) (m_{r-1} - grad_S(x_{r-1})),   m_1 = grad_S(x_1)
    y_k = x_r,  I times:  y_k <- y_k - eta (g_k(y_k) + (1 - a) (m_r - g_k(x_r)))
    x_{r+1} = x_r + eta_g mean_n (y_k - x_r)

with one minibatch at both points of a local step. Where all workers take part, grad_S(x_{r-1}) is
known from the round before and m_r = grad f(x_r): the recursion acts on the sampling of workers.

Paper: Table: Comparison.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from stemtheory.algorithms.base import Chance, Chances, Step, spread
from stemtheory.algorithms.costs import Costs
from stemtheory.algorithms.entry import (
    PARTICIPATION,
    SERVER_STEP,
    Entry,
    Facts,
    Options,
    recursive,
    round_coupling,
)
from stemtheory.algorithms.participation import sampled, server_mean, weight_of
from stemtheory.oracles import Problem
from stemtheory.schedules import Schedule, stem_curve


class MimeMvrState(NamedTuple):
    """y_k as ``x``, shape [..., K, dim]; the server's x and m, [..., 1, dim] (m None at first).

    ``past`` is x_{r-1} for every worker, ``there`` the oracle at x_r.
    """

    x: Any
    server: Any
    m: Any
    past: Any
    there: Any
    weight: Any


@dataclass(frozen=True)
class MimeMvr:
    """MimeMVR; a comes from the schedule, as STEM's."""

    letters: ClassVar[Mapping[str, str]] = {"y_k": "x"}

    server_step: float = 1.0
    participation: float = 1.0

    @property
    def costs(self) -> Costs:
        """x_r and m down, and x_{r-1} to workers that may not know it; a pass at each point.

        The workers wait for m before their first step.
        """
        return Costs(
            gradients=2,
            vectors_up=2,
            vectors_down=2,
            exchanges=2,
            passes=1,
            participation=self.participation,
            stale=1,
        )

    @property
    def chances(self) -> tuple[Chance, ...]:
        """Who takes part."""
        return sampled(self.participation)

    def init(self, problem: Problem, x: Any, eta: float, minibatch: Any) -> MimeMvrState:
        """Return the state at t = 1."""
        return MimeMvrState(x, x[..., :1, :], None, x, None, None)

    def start_round(
        self, problem: Problem, state: MimeMvrState, step: Step, chance: Chances
    ) -> MimeMvrState:
        """Return the state with m_r."""
        weight = weight_of(chance)
        m = server_mean(problem.gradient(state.x), weight)
        if state.m is not None:
            m = m + (1 - step.a) * (state.m - server_mean(problem.gradient(state.past), weight))
        there = problem.evaluate(state.x)
        return state._replace(m=m, past=state.x, there=there, weight=weight)

    def local_step(
        self, problem: Problem, state: MimeMvrState, step: Step, minibatch: Any
    ) -> MimeMvrState:
        """Return y_k - eta (g_k(y_k) + (1 - a) (m_r - g_k(x_r)))."""
        known = state.m - problem.combine(state.there, minibatch)
        direction = problem.stochastic_gradient(state.x, minibatch) + (1 - step.a) * known
        return state._replace(x=state.x - step.eta * direction)

    def synchronise(self, problem: Problem, state: MimeMvrState) -> MimeMvrState:
        """Return the state with x_{r+1}."""
        change = server_mean(state.x - state.server, state.weight)
        server = state.server + self.server_step * change
        return state._replace(x=spread(server[..., 0, :], state.x), server=server)


def theory(facts: Facts, options: Options) -> Schedule:
    """Return the steps of ``recursive``, with eta I eta_g at most 1/(8L)."""
    return recursive(facts, 1 / (8 * facts.L), options["server_step"])


ENTRIES = (
    Entry(
        "mimemvr",
        "mimemvr",
        "MIME with STORM's recursion at the server",
        stem_curve,
        build=lambda options: MimeMvr(options["server_step"], options["participation"]),
        options={"server_step": SERVER_STEP, "participation": PARTICIPATION},
        family="stem",
        theory=theory,
        coupling=round_coupling,
        needs="bounded Hessian dissimilarity; full local gradients",
        promises="eps^-3/2 samples, eps^-3/2 rounds at I = b = O(1)",
        row="MIME/FedGLOMO",
        footnote="requires bounded Hessian dissimilarity",
    ),
)
