"""FedPD: a primal-dual method whose workers agree through multipliers.

X. Zhang, M. Hong, S. Dhople, W. Yin, Y. Liu. FedPD: a federated learning framework with optimal
rates and adaptivity to non-IID data. IEEE Transactions on Signal Processing 2021. Worker k keeps
x_k, a centre x0_k and a multiplier lambda_k, and in a round minimises about

    f_k(x) + <lambda_k, x - x0_k> + ||x - x0_k||^2 / (2 h)        from its own x_k, by I local steps

    oracle I    x <- x - gamma (g_k(x) + lambda_k + (x - x0_k)/h)
    oracle II   x <- argmin: lambda_k + (x - x0_k)/h + v + (x - x_last)/gamma = 0, where
                v <- v + g_k(x) - g_k(x_last) on one minibatch, and v = grad f_k(x) at the start of
                every ``refresh``-th round
    lambda_k <- lambda_k + (x_k - x0_k)/h,   x0_k <- x_k + h lambda_k
    with probability 1 - p:  x0_k <- mean x0_k, else nothing is sent in this round

The theory needs h < (sqrt 5 - 1)/(4L), so that the local problem is strongly convex with modulus
1/h - L; half of that is the default. gamma is the schedule's step. One coin is tossed a round, for
all workers.

Paper: Table: Comparison.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from stemtheory.algorithms.base import Chance, Chances, Step, mean_over_workers, spread
from stemtheory.algorithms.costs import Costs
from stemtheory.algorithms.entry import (
    Entry,
    Facts,
    Option,
    Options,
    below_one,
    count,
    named,
    positive,
)
from stemtheory.oracles import Problem
from stemtheory.runtime import Floats
from stemtheory.schedules import Schedule, fedavg_curve, numbers, times


class FedPdState(NamedTuple):
    """x_k, x0_k, lambda_k and v, all [..., K, dim]; the oracle at x_k; the coin, [...]."""

    x: Any
    centre: Any
    dual: Any
    v: Any
    there: Any
    coin: Any
    rounds: int


@dataclass(frozen=True)
class FedPd:
    """FedPD with one of its two oracles; ``prox`` is h, ``skip`` is p."""

    letters: ClassVar[Mapping[str, str]] = {"x_k": "x", "x0_k": "centre", "lambda_k": "dual"}

    oracle: str
    prox: float
    skip: float = 0.0
    refresh: int = 1

    @property
    def costs(self) -> Costs:
        """One vector each way where the coin allows; oracle II has gradients at both points."""
        if self.oracle == "I":
            return Costs(silent=self.skip)
        return Costs(gradients=2, passes=1, pass_every=self.refresh, silent=self.skip)

    @property
    def chances(self) -> tuple[Chance, ...]:
        """The coin: one a round, for all workers."""
        coin = Chance("coin", lambda K, dim: (), lambda u: u >= self.skip)
        return (coin,) if self.skip else ()

    def init(self, problem: Problem, x: Any, eta: float, minibatch: Any) -> FedPdState:
        """Return the state at t = 1, with multipliers 0."""
        return FedPdState(x, x, 0 * x, None, None, None, 0)

    def start_round(
        self, problem: Problem, state: FedPdState, step: Step, chance: Chances
    ) -> FedPdState:
        """Return the state with the coin, and v at the start of every ``refresh``-th round."""
        state = state._replace(coin=chance.get("coin"), rounds=state.rounds + 1)
        if self.oracle == "II" and (state.rounds - 1) % self.refresh == 0:
            there = problem.evaluate(state.x)
            state = state._replace(v=problem.gradient(state.x), there=there)
        return state

    def local_step(
        self, problem: Problem, state: FedPdState, step: Step, minibatch: Any
    ) -> FedPdState:
        """Return the state after one step on the local problem."""
        gamma, h = step.eta, self.prox
        if self.oracle == "I":
            g = problem.stochastic_gradient(state.x, minibatch)
            pull = state.dual + (state.x - state.centre) / h
            return state._replace(x=state.x - gamma * (g + pull))
        force = state.dual + state.v
        x = (h * state.x + gamma * state.centre - gamma * h * force) / (gamma + h)
        here = problem.evaluate(x)
        v = state.v + problem.combine(here, minibatch) - problem.combine(state.there, minibatch)
        return state._replace(x=x, v=v, there=here)

    def synchronise(self, problem: Problem, state: FedPdState) -> FedPdState:
        """Return the state with the multipliers and centres renewed."""
        dual = state.dual + (state.x - state.centre) / self.prox
        own = state.x + self.prox * dual
        centre = spread(mean_over_workers(own), own)
        if state.coin is not None:
            heads = state.coin[..., None, None]
            centre = heads * centre + (1 - heads) * own
        return state._replace(dual=dual, centre=centre)


def default_prox(L: float) -> float:
    """Return half of the largest h that the theory allows."""
    return (math.sqrt(5) - 1) / (8 * L)


@dataclass(frozen=True)
class LocalSgd:
    """gamma = 1/(2S + m q) at local step q = 0..I-1: SGD on an m-strongly convex, S-smooth f."""

    smoothness: float
    modulus: float
    I: int
    name: ClassVar[str] = "theorem"

    def eta(self, t: ArrayLike) -> Floats:
        """Return the step of iteration t, which starts anew with every round."""
        q = np.mod(times(t) - 1, self.I)
        return np.asarray(1 / (2 * self.smoothness + self.modulus * q))

    def momentum(self, t: ArrayLike) -> Floats:
        """Return 1 in the shape of t."""
        return np.ones_like(times(t))

    def parameters(self) -> dict[str, float]:
        """Return S, m and I."""
        return numbers(self)


def theory(facts: Facts, options: Options) -> Schedule:
    """Return local steps for S = L + 1/h and the modulus 1/h - L (0 if h is above 1/L)."""
    h = options["prox"] or default_prox(facts.L)
    return LocalSgd(facts.L + 1 / h, max(0.0, 1 / h - facts.L), facts.I)


def build(options: Options) -> FedPd:
    """Return FedPD with the given options."""
    prox = options["prox"] or default_prox(options["L"])
    return FedPd(options["oracle"], prox, options["skip"], options["refresh"])


ENTRIES = (
    Entry(
        "fedpd",
        "fedpd",
        "multipliers instead of averages (oracle=I or II)",
        fedavg_curve,
        build=build,
        options={
            "oracle": named("I", ("I", "II"), "SGD, or variance-reduced steps"),
            "prox": Option(None, positive, "h of the augmented Lagrangian; half its limit if not"),
            "skip": Option(0.0, below_one, "p: probability of a round without communication"),
            "refresh": Option(1, count, "rounds from one full gradient of oracle II to the next"),
        },
        theory=theory,
        needs="h < (sqrt 5 - 1)/(4L); a state per worker; local problems solved to eps",
        promises="eps^-2 samples, eps^-1 rounds at I = 1/eps",
        row="FedPD/FedProx",
        footnote="another assumption on the heterogeneity",
        apart="every worker keeps its own x, and only the centres are averaged",
    ),
)
