"""A run of STEM laid open: every quantity that the lemmas speak of, at every t, by its letter.

All arrays are indexed by the paper's t on the first axis (index 0 is not used where the paper has
no t = 0), then replicates R, workers K and coordinates dim. The reading of the synchronisation
decides what x_t^(k) *is*:

    p[t]      the point x_t^(k) that later lines call by that name (under overwrite: the mean)
    fresh[t]  the point at which d_t^(k) evaluated its new gradient
    stale[t]  the point whose gradient d_t^(k) subtracted

Off a synchronisation p = fresh and stale[t] = p[t-1].

Paper: Algorithm (Algo_DR-STORM_batch_App), Lemma (Lem: e_bar_bound_Batch).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from stemtheory.algorithms import Algorithm, Stem, Step, mean_over_workers
from stemtheory.bounds import Setting
from stemtheory.claims.base import Case
from stemtheory.oracles import Problem
from stemtheory.runtime import Floats, UsageError
from stemtheory.schedules import Schedule
from stemtheory.simulator import gaussian_draw, walk

EPS = float(np.finfo(np.float64).eps)


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


def setting_of(case: Case) -> Setting:
    """Return the sizes and constants that the bounds take."""
    run = case.run
    c = run.problem.load().constants(run.start)
    return Setting(
        T=run.sizes.T,
        K=run.problem.K,
        b=run.sizes.b,
        I=run.sizes.I,
        B=run.sizes.B,
        L=c.L,
        sigma=c.sigma,
        zeta=c.zeta,
        gap=c.gap,
        sync_batch=case.sync_batch,
    )


def schedule_of(case: Case) -> Schedule:
    """Return the schedule of a case, with its clock."""
    steps = case.run.steps
    return Shifted(steps, case.clock) if case.clock else steps


@dataclass(frozen=True)
class Path:
    """A recorded run; see the module for the letters. Arrays are [T + 2, R, K, dim]."""

    case: Case
    problem: Problem
    algorithm: Algorithm
    eta: Floats
    a: Floats
    p: Floats
    fresh: Floats
    stale: Floats
    d: Floats
    local_d: Floats

    @property
    def T(self) -> int:
        """Iterations; d and x exist up to T + 1."""
        return self.case.T

    @cached_property
    def setting(self) -> Setting:
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
    def G(self) -> Floats:
        """grad f(xbar_t), shape [T + 2, R, dim]."""
        return np.asarray(self.problem.full_gradient(self.xbar))

    @cached_property
    def f(self) -> Floats:
        """f(xbar_t), shape [T + 2, R]."""
        return np.asarray(self.problem.value(self.xbar))

    @cached_property
    def ebar(self) -> Floats:
        """ebar_t = dbar_t - (1/K) sum_k grad f^(k)(x_t^(k)), shape [T + 2, R, dim]."""
        return np.asarray(self.dbar - mean_over_workers(self.g))

    @cached_property
    def X(self) -> Floats:
        """X_t = sum_k ||x_t^(k) - xbar_t||^2, shape [T + 2, R]."""
        return np.asarray(square(self.p - self.xbar[..., None, :]).sum(axis=-1))

    @cached_property
    def Dl(self) -> Floats:
        """Dl_t = sum_k ||d_t^(k) - dbar_t||^2, shape [T + 2, R]."""
        return np.asarray(square(self.d - self.dbar[..., None, :]).sum(axis=-1))

    @cached_property
    def q2(self) -> Floats:
        """||dbar_t||^2, shape [T + 2, R]."""
        return square(self.dbar)

    @cached_property
    def J(self) -> Floats:
        """J_t = sum_k ||fresh_{t+1} - stale_{t+1}||^2, indexed by t, shape [T + 2, R]."""
        moved = square(self.fresh - self.stale).sum(axis=-1)
        return np.concatenate([moved[1:], np.full_like(moved[:1], np.nan)])

    @cached_property
    def batch(self) -> Floats:
        """Samples of the minibatch of d_{t+1}, indexed by t: b, or m b at the jump; [T + 2]."""
        factors = self.algorithm.costs.batch_factors(0, self.T + 2, self.case.I)
        return self.case.b * factors.astype(float)

    @cached_property
    def noise_power(self) -> Floats:
        """E[||N_{t+1}||^2 | F_t], the noise's part, indexed by t: a closed form, [T + 2, R].

        N = (1/K) sum_k mean over the batch of n(fresh) - (1 - a) n(stale).
        """
        total = self.noise_change.sum(axis=-1)
        return np.asarray(total / (self.batch[:, None] * self.case.K**2))

    @cached_property
    def noise_change(self) -> Floats:
        """E||n(fresh_{t+1}) - (1 - a_{t+1}) n(stale_{t+1})||^2 per worker, by t: [T + 2, R, K]."""
        found = np.full(self.p.shape[:-1], np.nan)
        for t in range(1, self.T + 1):
            keep = 1 - self.a[t + 1]
            found[t] = self.problem.noise_change(self.fresh[t + 1], self.stale[t + 1], keep)
        return found

    @cached_property
    def bias(self) -> Floats:
        """E[ebar_{t+1} | F_t] - (1 - a_{t+1}) ebar_t, indexed by t, [T + 2, R, dim].

        It is zero unless a point is replaced after its gradient was used (overwrite), or a
        gradient is subtracted at another point than it was added at (average-both).
        """
        found = np.full(self.ebar.shape, np.nan)
        for t in range(1, self.T + 1):
            new = self.problem.gradient(self.fresh[t + 1]) - self.g[t + 1]
            old = self.g[t] - self.problem.gradient(self.stale[t + 1])
            found[t] = mean_over_workers(new + (1 - self.a[t + 1]) * old)
        return found

    @cached_property
    def expected_drift(self) -> Floats:
        """E[Dl_{t+1} | F_t], indexed by t; zero where d is averaged, [T + 2, R]."""
        K, found = self.case.K, np.full(self.q2.shape, np.nan)
        for t in range(1, self.T + 1):
            if t % self.case.I == 0:
                found[t] = 0.0
                continue
            m = self.problem.gradient(self.fresh[t + 1]) + (1 - self.a[t + 1]) * (
                self.d[t] - self.problem.gradient(self.stale[t + 1])
            )
            m = m - mean_over_workers(m)[..., None, :]
            noise = self.noise_change[t].sum(axis=-1) / self.batch[t]
            found[t] = square(m).sum(axis=-1) + (1 - 1 / K) * noise
        return found

    @property
    def t(self) -> Any:
        """1..T as an array."""
        return np.arange(1, self.T + 1)

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


def square(x: Any) -> Floats:
    """Return ||x||^2 over the last axis."""
    return np.asarray((x * x).sum(axis=-1))


@lru_cache(maxsize=512)
def record(case: Case) -> Path:
    """Return the run of a case with everything kept; cached.

    Raises
    ------
    UsageError
        If the case names another algorithm: the letters recorded here are those of STEM.
    """
    if not isinstance(case.run.method, Stem):
        raise UsageError(
            f"the case names {case.algorithm}, but a path claim speaks of the states of STEM: name"
            " stem or one of its settings, or compare whole runs."
        )
    return play(case, case.run.method)


def play(case: Case, algorithm: Algorithm) -> Path:
    """Return the run of a case by a given (for instance a broken) algorithm; not cached."""
    problem, schedule = case.run.problem.load(), schedule_of(case)
    shape = (case.T + 2, case.replicates, case.K, case.dim)
    p, fresh, stale, d, local_d = (np.full(shape, np.nan) for _ in range(5))
    visits = walk(
        problem,
        algorithm,
        schedule,
        T=case.T,
        I=case.I,
        x1=np.asarray(case.x1, float),
        draw=gaussian_draw(problem, case.seed, case.replicates),
        b=case.b,
        B=case.B,
        replicates=case.replicates,
    )
    for v in visits:
        t = v.step.t
        if t == 1:
            p[1] = fresh[1] = v.before.x
            d[1] = local_d[1] = v.before.d
        _keep(case, v.step, v, p, fresh, stale, d, local_d)
    times = np.arange(case.T + 2, dtype=float)
    a = np.full(case.T + 2, np.nan)
    a[2:] = schedule.momentum(times[2:])
    return Path(
        case, problem, algorithm, np.asarray(schedule.eta(times)), a, p, fresh, stale, d, local_d
    )


def _keep(
    case: Case, step: Step, v: Any, p: Any, fresh: Any, stale: Any, d: Any, local_d: Any
) -> None:
    """Store iteration t's x_{t+1} and d_{t+1} as the reading defines them."""
    t = step.t
    fresh[t + 1], local_d[t + 1], d[t + 1] = v.local.x, v.local.d, v.after.d
    overwritten = step.synchronises and case.reading == "overwrite"
    p[t + 1] = v.after.x if overwritten else v.local.x
    stale[t + 1] = p[t]
    if step.synchronises and case.reading == "average-both":
        stale[t + 1] = mean_over_workers(p[t])[:, None, :]
