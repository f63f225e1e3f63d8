"""FedGLOMO: global and local momentum, from two trajectories on the same minibatches.

R. Das, A. Acharya, A. Hashemi, S. Sanghavi, I. S. Dhillon, U. Topcu. Faster non-convex federated
learning via global and local momentum. UAI 2022. With w_r the server's point of round r, each of
the round's n workers takes I local steps twice, from w_r and from w_{r-1}, on the same minibatches:

    v <- g_k(y) + beta (v - g_k(y_previous)),   y <- y - eta v        (the first v is g_k(y))
    Delta = w_r - y,   Delta' = w_{r-1} - y'
    u_r = a mean Q(Delta) + (1 - a) (u_{r-1} + mean Q(Delta - Delta')),   u_1 = mean Q(Delta)
    w_{r+1} = w_r - u_r

With I = 1 and without compression u_r = eta d_r, where d_r is STORM's estimate at the server.

Paper: Table: Comparison.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

from stemtheory.algorithms.base import Chance, Chances, Step, spread
from stemtheory.algorithms.compression import KINDS, Compression
from stemtheory.algorithms.costs import Costs, Minibatches
from stemtheory.algorithms.entry import (
    PARTICIPATION,
    Entry,
    Facts,
    Option,
    Options,
    count,
    named,
    recursive,
    round_coupling,
    share,
    unit,
)
from stemtheory.algorithms.participation import sampled, server_mean, weight_of
from stemtheory.oracles import Problem
from stemtheory.schedules import Schedule, stem_curve


class Trail(NamedTuple):
    """A local trajectory: its point, its direction and the oracle at its last point."""

    x: Any
    v: Any
    there: Any


class FedGlomoState(NamedTuple):
    """``x`` is y_k from w_r; all are [..., K, dim], u and the server's points [..., 1, dim]."""

    x: Any
    trail: Trail
    stale: Trail
    server: Any
    before: Any
    u: Any
    a: float
    weight: Any
    chance: Chances


@dataclass(frozen=True)
class FedGlomo:
    """FedGLOMO; a comes from the schedule, as STEM's; ``beta`` is the local momentum's."""

    letters: ClassVar[Mapping[str, str]] = {"y": "x", "w": "server"}

    beta: float = 1.0
    participation: float = 1.0
    compression: Compression = field(default_factory=Compression)

    @property
    def costs(self) -> Costs:
        """w_r and w_{r-1} down, two vectors up; two gradients on each of two trajectories.

        The first local step of a trajectory has no previous point, and round 1 one trajectory.
        """
        return Costs(
            gradients=4,
            vectors_up=2,
            vectors_down=2,
            participation=self.participation,
            unusual=lambda I: (
                Minibatches(1, gradients=1, first=1, every=1, last=1),
                Minibatches(1, gradients=2, first=2, every=1, last=I),
                Minibatches(1, gradients=2, first=I + 1, every=I),
            ),
            floats=self.compression.floats,
        )

    @property
    def chances(self) -> tuple[Chance, ...]:
        """Who takes part, and what compression leaves out."""
        return sampled(self.participation) + self.compression.chances(2)

    def init(self, problem: Problem, x: Any, eta: float, minibatch: Any) -> FedGlomoState:
        """Return the state at t = 1."""
        server, trail = x[..., :1, :], Trail(x, None, None)
        return FedGlomoState(x, trail, trail, server, server, None, 1.0, None, {})

    def start_round(
        self, problem: Problem, state: FedGlomoState, step: Step, chance: Chances
    ) -> FedGlomoState:
        """Return the state with both trajectories at their starts."""
        old = spread(state.before[..., 0, :], state.x)
        return state._replace(
            trail=Trail(state.x, None, None),
            stale=Trail(old, None, None),
            a=step.a,
            weight=weight_of(chance),
            chance=chance,
        )

    def local_step(
        self, problem: Problem, state: FedGlomoState, step: Step, minibatch: Any
    ) -> FedGlomoState:
        """Return both trajectories one step on, on the same minibatch; w_0 = w_1 makes them one."""
        stale = trail = self.advance(problem, state.trail, step.eta, minibatch)
        if state.u is not None:
            stale = self.advance(problem, state.stale, step.eta, minibatch)
        return state._replace(x=trail.x, trail=trail, stale=stale)

    def advance(self, problem: Problem, trail: Trail, eta: float, minibatch: Any) -> Trail:
        """Return a trajectory one step on: v <- g(y) + beta (v - g(y_previous))."""
        here = problem.evaluate(trail.x)
        v = problem.combine(here, minibatch)
        if trail.v is not None:
            v = v + self.beta * (trail.v - problem.combine(trail.there, minibatch))
        return Trail(trail.x - eta * v, v, here)

    def synchronise(self, problem: Problem, state: FedGlomoState) -> FedGlomoState:
        """Return the state with u_r and w_{r+1}."""
        u = self.momentum(state)
        server = state.server - u
        x = spread(server[..., 0, :], state.x)
        return state._replace(x=x, server=server, before=state.server, u=u)

    def momentum(self, state: FedGlomoState) -> Any:
        """Return u_r, shape [..., 1, dim]."""
        moved = state.server - state.trail.x
        change = moved - (state.before - state.stale.x)
        sent = self.compression.apply(moved, state.chance, 0)
        if state.u is None:
            return server_mean(sent, state.weight)
        difference = self.compression.apply(change, state.chance, 1)
        new, shift = server_mean(sent, state.weight), server_mean(difference, state.weight)
        return state.a * new + (1 - state.a) * (state.u + shift)


def build(options: Options) -> FedGlomo:
    """Return FedGLOMO with the given options."""
    names = ("compression", "keep", "levels")
    return FedGlomo(
        options["local_momentum"],
        options["participation"],
        Compression(*(options[name] for name in names)),
    )


def theory(facts: Facts, options: Options) -> Schedule:
    """Return the steps of ``recursive``, with eta I at most 1/(8L)."""
    return recursive(facts, 1 / (8 * facts.L))


ENTRIES = (
    Entry(
        "fedglomo",
        "fedglomo",
        "global and local momentum; compression of what is sent",
        stem_curve,
        build=build,
        options={
            "local_momentum": Option(1.0, unit, "beta: 1 is SPIDER's recursion, 0 plain SGD"),
            "participation": PARTICIPATION,
            "compression": named("none", tuple(KINDS), "of the two vectors sent"),
            "keep": Option(0.25, share, "share of the coordinates kept by sparsify"),
            "levels": Option(4, count, "levels of quantise"),
        },
        family="stem",
        theory=theory,
        coupling=round_coupling,
        needs="bounded variance and zeta",
        promises="eps^-3/2 samples, eps^-3/2 rounds at I = b = O(1)",
        row="MIME/FedGLOMO",
    ),
)
