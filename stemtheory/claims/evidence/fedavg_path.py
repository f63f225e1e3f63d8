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

from stemtheory.algorithms import Algorithm, FedAvg, Stem, spread
from stemtheory.claims.base import Case
from stemtheory.claims.evidence.path import Path, play, record
from stemtheory.claims.evidence.recorded import schedule_of, visits
from stemtheory.claims.evidence.states.run import (
    Directed,
    Spoiled,
    StateRun,
    lay_open,
    record_state,
)
from stemtheory.runtime import Floats
from stemtheory.simulator import Draw, gaussian_draw

NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(24)
WEIGHTS = WEIGHTS / WEIGHTS.sum()  # of a standard normal


@dataclass(frozen=True)
class FedAvgPath(Directed):
    """A recorded run: x_t^(k) (``p``) for t = 1..T + 1 and d_t^(k) for t = 1..T."""

    eta: float
    spoiled: Spoiled | None = None

    @cached_property
    def states(self) -> StateRun:
        """The same run by the fields of its state."""
        return lay_open(self.case, FedAvg(), self.spoiled)

    @cached_property
    def direction_noise(self) -> Floats:
        """E||dbar_t - (1/K) sum_k grad f^(k)(x_t^(k))||^2 given F_t, shape [T + 2, R]."""
        s = self.setting
        return np.asarray(self.problem.noise_variance(self.p).sum(axis=-1) / (s.b * s.K**2))

    @cached_property
    def next_value(self) -> Floats:
        """E[f(xbar_t - eta dbar_t) | F_t] in closed form, shape [T + 2, R].

        Given F_t the coordinates of dbar_t are independent Gaussians and f is a sum over
        coordinates, so one Gauss-Hermite rule, with the same node in every coordinate, integrates
        them all (exactly for quadratics).
        """
        s, fields = self.setting, self.problem.evaluate(self.p)[1:]
        power = sum((np.broadcast_to(n * n, self.p.shape) for n in fields), np.zeros(self.p.shape))
        deviation = np.sqrt(power.sum(axis=-2) / s.b) / s.K  # [T + 2, R, dim]
        centre = self.xbar - self.eta * self.gbar
        points = centre - self.eta * deviation * NODES[:, None, None, None]
        return np.asarray(np.einsum("q,qtr->tr", WEIGHTS, self.problem.value(points)))


@lru_cache(maxsize=128)
def record_fedavg(case: Case, spoiled: Spoiled | None = None) -> FedAvgPath:
    """Return the run of a case with everything kept; cached.

    ``spoiled`` changes what is drawn: a mutant, for the lemmas that need independence.
    """
    problem = case.run.problem.load()
    shape = (case.T + 2, case.replicates, case.K, case.dim)
    x, d = np.full(shape, np.nan), np.full(shape, np.nan)
    draw = gaussian_draw(problem, case.seed, case.replicates)
    for v in visits(case, FedAvg(), draw=spoiled(draw, case) if spoiled else draw):
        t = v.step.t
        x[t], x[t + 1] = v.before.x, v.after.x
        d[t] = problem.stochastic_gradient(v.before.x, v.minibatch)
    return FedAvgPath(case, problem, x, d, float(schedule_of(case).eta(1.0)), spoiled)


Recording = Path | FedAvgPath | StateRun


def recorded(case: Case) -> Recording:
    """Return the recorded run of any algorithm; those of STEM and FedAvg know closed forms."""
    method = case.run.method
    if isinstance(method, FedAvg) and _is_constant(case):
        return record_fedavg(case)
    return record(case) if isinstance(method, Stem) else record_state(case)


def _is_constant(case: Case) -> bool:
    """Whether every step is as long as the first: what FedAvg's closed forms are made for."""
    steps = schedule_of(case).eta(np.arange(1.0, case.T + 1))
    return bool((steps == steps[0]).all())


def played(case: Case, algorithm: Algorithm) -> Recording:
    """Return the run of a case by a given (for instance a broken) algorithm; not cached."""
    return play(case, algorithm) if isinstance(algorithm, Stem) else lay_open(case, algorithm)


def shared(draw: Draw, case: Case) -> Draw:
    """Minibatches are [R, M, K, dim]; every worker gets the first one's."""

    def same(t: int, samples: float) -> Any:
        minibatch = draw(t, samples)
        return spread(minibatch[..., 0, :], minibatch)

    return same


def kept(draw: Draw, case: Case) -> Draw:
    """Every step of a round gets its first minibatch."""
    return lambda t, samples: draw((t - 1) // case.I * case.I + 1, samples)
