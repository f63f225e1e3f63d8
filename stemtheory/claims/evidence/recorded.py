"""What every recorded run has: its points and directions at every t, and what follows from them.

Arrays are indexed by the paper's t on the first axis (index 0 is not used where the paper has no
t = 0), then replicates R, workers K and coordinates dim.

Paper: Algorithm (Algo_DR-STORM_batch_App), Algorithm (Algo_FedAvg).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from stemtheory import bounds
from stemtheory.algorithms import Algorithm, mean_over_workers
from stemtheory.claims.base import Case
from stemtheory.oracles import Problem
from stemtheory.runtime import Floats
from stemtheory.schedules import Schedule
from stemtheory.simulator import Draw, gaussian_draw, walk


@dataclass(frozen=True)
class Shifted:
    """A schedule whose clock starts at ``clock``: eta_t is the base's eta_{t + clock}."""

    base: Schedule
    clock: float

    @property
    def name(self) -> str:
        """The base's name."""
        return self.base.name

    def eta(self, t: Any) -> Floats:
        """Return eta_{t + clock}."""
        return self.base.eta(np.asarray(t, dtype=np.float64) + self.clock)

    def momentum(self, t: Any) -> Floats:
        """Return a_{t + clock}."""
        return self.base.momentum(np.asarray(t, dtype=np.float64) + self.clock)

    def parameters(self) -> dict[str, float]:
        """Return the base's parameters and the clock."""
        return {**self.base.parameters(), "clock": self.clock}


def setting_of(case: Case) -> bounds.Setting:
    """Return the sizes and constants that the bounds take."""
    run = case.run
    return bounds.setting_of(run, run.problem.load().constants(run.start))


def schedule_of(case: Case) -> Schedule:
    """Return the schedule of a case, with its clock."""
    steps = case.run.steps
    return Shifted(steps, case.clock) if case.clock else steps


def visits(
    case: Case, algorithm: Algorithm, x1: Any = None, draw: Draw | None = None
) -> Iterator[Any]:
    """Walk a case by a given algorithm, from another start or with other minibatches if given."""
    problem = case.run.problem.load()
    return iter(
        walk(
            problem,
            algorithm,
            schedule_of(case),
            T=case.T,
            I=case.I,
            x1=np.asarray(case.x1 if x1 is None else x1, float),
            draw=draw or gaussian_draw(problem, case.seed, case.replicates),
            b=case.b,
            B=case.B,
            replicates=case.replicates,
        )
    )


def square(x: Any) -> Floats:
    """Return ||x||^2 over the last axis."""
    return np.asarray((x * x).sum(axis=-1))


@dataclass(frozen=True)
class Recorded:
    """x_t^(k) (``p``) and d_t^(k) of a run, shape [T + 2, R, K, dim], and their means."""

    case: Case
    problem: Problem
    p: Floats
    d: Floats

    @property
    def T(self) -> int:
        """Iterations; x exists up to T + 1."""
        return self.case.T

    @property
    def t(self) -> Any:
        """1..T as an array."""
        return np.arange(1, self.T + 1)

    @cached_property
    def setting(self) -> bounds.Setting:
        """The sizes and constants."""
        return setting_of(self.case)

    @cached_property
    def xbar(self) -> Floats:
        """xbar_t, shape [T + 2, R, dim]."""
        return np.asarray(mean_over_workers(self.p))

    @cached_property
    def dbar(self) -> Floats:
        """dbar_t, shape [T + 2, R, dim]."""
        return np.asarray(mean_over_workers(self.d))

    @cached_property
    def g(self) -> Floats:
        """grad f^(k)(x_t^(k)), shape [T + 2, R, K, dim]."""
        return np.asarray(self.problem.gradient(self.p))

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
        """X_t = sum_k ||x_t^(k) - xbar_t||^2, shape [T + 2, R]."""
        return np.asarray(square(self.p - self.xbar[..., None, :]).sum(axis=-1))

    def base(self, t: Any) -> Any:
        """Return tbar_{s-1}, the start of the round that contains t: [tbar_{s-1}, tbar_s - 1]."""
        I = self.case.I
        return (np.asarray(t) - 1) // I * I + 1

    def where(self, t: Any, at: str) -> Any:
        """Return 'sync' or 'off-sync' for each t.

        ``at`` says which step touches a synchronisation: ``end`` (t + 1 = tbar_s: x and d are
        averaged in this step) or ``start`` (t = tbar_s, s >= 1: the step after) or ``either``.
        """
        t, I = np.asarray(t), self.case.I
        end = t % I == 0
        start = (t % I == 1 % I) & (t > I)
        hit = {"end": end, "start": start, "either": end | start}[at] & (I > 1)
        return np.where(hit, "sync", "off-sync")
