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

import numpy as np

from stemtheory.algorithms import Algorithm, Stem, mean_over_workers
from stemtheory.claims.base import Case
from stemtheory.claims.evidence.recorded import schedule_of, square, visits
from stemtheory.claims.evidence.states.run import Directed, StateRun, lay_open
from stemtheory.runtime import Floats, UsageError


@dataclass(frozen=True)
class Path(Directed):
    """A recorded run of STEM; see the module for the letters. Arrays are [T + 2, R, K, dim]."""

    algorithm: Algorithm
    eta: Floats
    a: Floats
    fresh: Floats
    stale: Floats
    local_d: Floats

    @property
    def own(self) -> tuple[str, ...]:
        """x and d, the steps, and the points of the estimate d."""
        return ("x", "d", "eta", "a", "fresh", "stale", "batch")

    @cached_property
    def states(self) -> StateRun:
        """The same run by the fields of its state."""
        return lay_open(self.case, self.algorithm)

    @cached_property
    def ebar(self) -> Floats:
        """ebar_t = dbar_t - (1/K) sum_k grad f^(k)(x_t^(k)), shape [T + 2, R, dim]."""
        return np.asarray(self.dbar - self.gbar)

    @cached_property
    def Dl(self) -> Floats:
        """Dl_t = sum_k ||d_t^(k) - dbar_t||^2, shape [T + 2, R]."""
        return np.asarray(square(self.d - self.dbar[..., None, :]).sum(axis=-1))

    @cached_property
    def q2(self) -> Floats:
        """||dbar_t||^2, shape [T + 2, R]."""
        return square(self.dbar)

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
    def v(self) -> Floats:
        """v_t = (1/K) sum_k E||n^(k)(x_t^(k))||^2 of one sample, [T + 2, R]."""
        return np.asarray(self.problem.noise_variance(self.p).mean(axis=-1))

    @cached_property
    def U(self) -> Floats:
        """U_t = (1/K) sum_k E||n^(k)(fresh_{t+1}) - n^(k)(stale_{t+1})||^2, by t: [T + 2, R]."""
        moved = self.problem.noise_change(self.fresh, self.stale, 1.0).mean(axis=-1)
        return np.asarray(np.roll(moved, -1, axis=0))

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
    schedule, times = schedule_of(case), np.arange(case.T + 2, dtype=float)
    shape = (case.T + 2, case.replicates, case.K, case.dim)
    p, fresh, stale, d, local_d = (np.full(shape, np.nan) for _ in range(5))
    for v in visits(case, algorithm):
        t = v.step.t
        if t == 1:
            p[1] = fresh[1] = v.before.x
            d[1] = local_d[1] = v.before.d
        fresh[t + 1], local_d[t + 1], d[t + 1] = v.local.x, v.local.d, v.after.d
        # what x_{t+1} is, and what was subtracted from its gradient, is the reading's to say
        reading = case.reading if v.step.synchronises else ""
        p[t + 1] = v.after.x if reading == "overwrite" else v.local.x
        stale[t + 1] = p[t]
        if reading == "average-both":
            stale[t + 1] = mean_over_workers(p[t])[:, None, :]
    a = np.full(case.T + 2, np.nan)
    a[2:] = schedule.momentum(times[2:])
    eta, problem = np.asarray(schedule.eta(times)), case.run.problem.load()
    return Path(case, problem, p, d, algorithm, eta, a, fresh, stale, local_d)
