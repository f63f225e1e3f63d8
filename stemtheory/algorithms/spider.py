"""SPIDER: the recursive gradient estimate with restarts, at a server that is asked every step.

C. Fang, C. J. Li, Z. Lin, T. Zhang. SPIDER: near-optimal non-convex optimization via stochastic
path-integrated differential estimator. NeurIPS 2018; with a constant step, Z. Wang et al.
SpiderBoost. NeurIPS 2019. Workers compute, the server averages (I = 1):

    x_{t+1} = x_t - eta v_t,   or, with a ``reach``, eta min(1, reach/(eta ||v_t||))
    v_{t+1} = v_t + g(x_{t+1}) - g(x_t),   one minibatch of b samples at both points
    v_{t+1} = g(x_{t+1}) on ``factor`` b samples at every ``period``-th step

Between restarts it is STEM with a = 0 and I = 1. v_1 is the mean over B samples.

Paper: sec: Intro.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from stemtheory.algorithms.base import Chances, Step, mean_over_workers, spread
from stemtheory.algorithms.costs import Costs, Minibatches
from stemtheory.algorithms.entry import Entry, Facts, Option, Options, count, positive
from stemtheory.oracles import Problem
from stemtheory.schedules import Constant, Schedule, stem_curve


class SpiderState(NamedTuple):
    """x to step from, v to step along, both [..., K, dim]; the oracle at the previous point."""

    x: Any
    v: Any
    there: Any


@dataclass(frozen=True)
class Spider:
    """SPIDER with restarts every ``period`` iterations on ``factor`` b samples."""

    period: int = 16
    factor: int = 16
    reach: float | None = None

    chances = ()

    @property
    def costs(self) -> Costs:
        """v up, its mean down; a restart is one gradient at each of ``factor`` b samples."""
        period = self.period
        restart = Minibatches(self.factor, gradients=1, first=period, every=period)
        return Costs(
            gradients=2, initial_batch=True, initial_vectors=1, unusual=lambda I: (restart,)
        )

    def init(self, problem: Problem, x: Any, eta: float, minibatch: Any) -> SpiderState:
        """Return the state at t = 1: v_1 is the mean over workers of a batch of B samples."""
        here = problem.evaluate(x)
        return SpiderState(x, spread(mean_over_workers(problem.combine(here, minibatch)), x), here)

    def start_round(
        self, problem: Problem, state: SpiderState, step: Step, chance: Chances
    ) -> SpiderState:
        """Return the state as it is."""
        return state

    def local_step(
        self, problem: Problem, state: SpiderState, step: Step, minibatch: Any
    ) -> SpiderState:
        """Return x_{t+1} and v_{t+1}."""
        x = state.x - self.length(state.v, step.eta) * state.v
        here = problem.evaluate(x)
        if step.t % self.period == 0:
            return SpiderState(x, problem.combine(here, minibatch), here)
        v = state.v - problem.combine(state.there, minibatch)
        return SpiderState(x, v + problem.combine(here, minibatch), here)

    def length(self, v: Any, eta: float) -> Any:
        """Return the step: eta, or less where eta ||v|| is above ``reach``."""
        if self.reach is None:
            return eta
        norm = np.sqrt((v * v).sum(axis=-1))[..., None]
        return self.reach / np.maximum(norm, self.reach / eta)

    def synchronise(self, problem: Problem, state: SpiderState) -> SpiderState:
        """Return the state with v averaged; x is common already."""
        return state._replace(v=spread(mean_over_workers(state.v), state.v))


def build(options: Options) -> Spider:
    """Return SPIDER; a restart uses ``period`` minibatches unless told otherwise."""
    period = options["period"]
    return Spider(period, options["factor"] or period, options["reach"])


def theory(facts: Facts, options: Options) -> Schedule:
    """Return the constant step min(1, sqrt(bK/period))/(2L); a = 0."""
    stable = min(1.0, math.sqrt(facts.b * facts.K / options["period"]))
    return Constant(stable / (2 * facts.L), 0.0)


ENTRIES = (
    Entry(
        "spider",
        "spider",
        "the recursive estimate with restarts, I = 1 (give B for the first)",
        stem_curve,
        pinned=(("I", 1),),
        batch=lambda T, K, L: T**0.5 / K,
        build=build,
        options={
            "period": Option(16, count, "iterations from one restart to the next"),
            "factor": Option(None, count, "minibatches in a restart; as many as the period if not"),
            "reach": Option(None, positive, "longest step, for SPIDER's normalised steps"),
        },
        theory=theory,
        needs="nothing of zeta (I = 1)",
        promises="eps^-3/2 samples, eps^-1 rounds",
    ),
)
