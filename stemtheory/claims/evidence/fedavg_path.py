"""A run of FedAvg laid open: every quantity of its lemmas, at every t, by its letter.

Arrays are indexed by the paper's t on the first axis (row 0 is not used), then replicates R,
workers K and coordinates dim. At a synchronisation x_{t+1}^(k) is overwritten by the mean, as the
listing says, so that x_t^(k) has one meaning.

Paper: Algorithm (Algo_FedAvg).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from stemtheory.algorithms import FedAvg, mean_over_workers, spread
from stemtheory.bounds import Setting
from stemtheory.claims.base import Case
from stemtheory.claims.evidence.path import schedule_of, setting_of, square
from stemtheory.oracles import Problem
from stemtheory.runtime import Floats
from stemtheory.simulator import Draw, gaussian_draw, walk


@dataclass(frozen=True)
class FedAvgPath:
    """A recorded run: x_t^(k) for t = 1..T + 1 and d_t^(k) for t = 1..T; [T + 2, R, K, dim]."""

    case: Case
    problem: Problem
    eta: float
    x: Floats
    d: Floats

    @property
    def T(self) -> int:
        """Iterations."""
        return self.case.T

    @property
    def t(self) -> Any:
        """1..T as an array."""
        return np.arange(1, self.T + 1)

    @cached_property
    def setting(self) -> Setting:
        """The sizes and constants."""
        return setting_of(self.case)

    @cached_property
    def xbar(self) -> Floats:
        """xbar_t, shape [T + 2, R, dim]."""
        return np.asarray(mean_over_workers(self.x))

    @cached_property
    def dbar(self) -> Floats:
        """dbar_t, shape [T + 2, R, dim]."""
        return np.asarray(mean_over_workers(self.d))

    @cached_property
    def g(self) -> Floats:
        """grad f^(k)(x_t^(k)), shape [T + 2, R, K, dim]."""
        return np.asarray(self.problem.gradient(self.x))

    @cached_property
    def gbar(self) -> Floats:
        """(1/K) sum_k grad f^(k)(x_t^(k)), shape [T + 2, R, dim]."""
        return np.asarray(mean_over_workers(self.g))

    @cached_property
    def G(self) -> Floats:
        """grad f(xbar_t), shape [T + 2, R, dim]."""
        return np.asarray(self.problem.full_gradient(self.xbar))

    @cached_property
    def f(self) -> Floats:
        """f(xbar_t), shape [T + 2, R]."""
        return np.asarray(self.problem.value(self.xbar))

    @cached_property
    def X(self) -> Floats:
        """sum_k ||x_t^(k) - xbar_t||^2, shape [T + 2, R]."""
        return np.asarray(square(self.x - self.xbar[..., None, :]).sum(axis=-1))

    def in_rounds(self, values: Any) -> Floats:
        """Return t = 1..T of an array as rounds: shape [T + 2, ...] to [S, I, ...]."""
        return np.asarray(values[1:-1].reshape(self.case.rounds, self.case.I, *values.shape[1:]))


@lru_cache(maxsize=128)
def record_fedavg(case: Case, shared_noise: bool = False) -> FedAvgPath:
    """Return the run of a case with everything kept; cached.

    ``shared_noise`` hands the first worker's minibatch to every worker: a mutant, for the lemmas
    that need independence.
    """
    problem, schedule = case.run.problem.load(), schedule_of(case)
    shape = (case.T + 2, case.replicates, case.K, case.dim)
    x, d = np.full(shape, np.nan), np.full(shape, np.nan)
    draw = gaussian_draw(problem, case.seed, case.replicates)
    for v in walk(
        problem,
        FedAvg(),
        schedule,
        T=case.T,
        I=case.I,
        x1=np.asarray(case.x1, dtype=np.float64),
        draw=_shared(draw) if shared_noise else draw,
        b=case.b,
        replicates=case.replicates,
    ):
        t = v.step.t
        x[t], x[t + 1] = v.before.x, v.after.x
        d[t] = problem.stochastic_gradient(v.before.x, v.minibatch)
    return FedAvgPath(case, problem, float(schedule.eta(1.0)), x, d)


def _shared(draw: Draw) -> Draw:
    """Minibatches are [R, M, K, dim]; every worker gets the first one's."""

    def same(t: int, samples: float) -> Any:
        minibatch = draw(t, samples)
        return spread(minibatch[..., 0, :], minibatch)

    return same
