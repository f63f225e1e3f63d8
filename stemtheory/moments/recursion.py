"""Runs of the moments: rounds as powers of a map, and step by step where steps vary.

Paper: Algorithm (Algo_DR-STORM_batch), Algorithm (Algo_FedAvg).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from stemtheory.algorithms import Algorithm
from stemtheory.moments.linear_model import LinearModel
from stemtheory.moments.maps import (
    StateLayout,
    StepMap,
    compose,
    first_state,
    layout,
    power,
    powers_of_two,
    step_map,
)
from stemtheory.runtime import Floats
from stemtheory.schedules import Schedule

CHUNK = 2048  # varying steps whose maps are made at once


@dataclass(frozen=True)
class Recursion:
    """An algorithm on one coordinate of a linear problem; ``base`` is stem or fedavg."""

    model: LinearModel
    base: str
    algorithm: Algorithm
    sync: str = "literal"
    bounded: bool = False

    @cached_property
    def form(self) -> StateLayout:
        """Where what lies in the state."""
        return layout(self.model, self.base)

    @cached_property
    def local(self) -> StepMap:
        """The map of a local step."""
        return self._map(synchronises=False)

    @cached_property
    def synchronisation(self) -> StepMap:
        """The map of a step that ends a round."""
        return self._map(synchronises=True)

    def _map(self, *, synchronises: bool) -> StepMap:
        return step_map(self.model, self.base, self.sync, synchronises, bounded=self.bounded)

    def first(self, x1: float, B: ArrayLike) -> Floats:
        """Return the state at t = 1."""
        return first_state(self.model, self.base, x1, B)


@dataclass(frozen=True)
class ConstantRun:
    """A recursion with constant eta, a and b; each a number, or an array of as many runs."""

    recursion: Recursion
    eta: ArrayLike
    a: ArrayLike
    b: ArrayLike
    I: int

    def step(self, t: int) -> Floats:
        """Return the increment of iteration t, which may synchronise or draw m b samples."""
        r = self.recursion
        factor = int(r.algorithm.costs.batch_factors(t, 1, self.I)[0])
        kind = r.synchronisation if t % self.I == 0 else r.local
        return kind.increment(self.eta, self.a, factor * np.asarray(self.b, dtype=np.float64))

    def begun(self, r: int, steps: int) -> Floats:
        """Return the increment of the first ``steps`` < I iterations of round r = 0, 1, ..."""
        start = r * self.I
        if steps == 0:
            return np.zeros_like(self.step(start + 1))
        # only the first step of a round can differ from those that follow
        first = self.step(start + 1)
        return compose(power(self.step(start + 2), steps - 1), first) if steps > 1 else first

    def round(self, r: int) -> Floats:
        """Return the increment of round r; all rounds from the second on are alike."""
        return compose(self.step((r + 1) * self.I), self.begun(r, self.I - 1))

    def states(self, first: Floats, times: Sequence[int]) -> Iterator[Floats]:
        """Yield the state after each of ``times`` iterations."""
        most = max(times) // self.I
        # The powers 1, 2, 4, .. of a round are made once; every time asked for is a few products of
        # them with a vector, in the same order for every T.
        doubled = powers_of_two(self.round(1), max(1, most.bit_length())) if most else []
        after_first = apply(self.round(0), first) if most else first
        for t in times:
            r, left = divmod(t, self.I)
            state = after_first if r else first
            for j in range((r - 1).bit_length() if r else 0):
                if (r - 1) >> j & 1:
                    state = apply(doubled[j], state)
            yield apply(self.begun(min(r, 1), left), state) if left else state


def apply(increment: Floats, state: Floats) -> Floats:
    """Return (1 + increment) state, shapes [..., m, m] and [..., m]."""
    return np.asarray(state + (increment @ state[..., None])[..., 0])


def averages(
    recursion: Recursion,
    schedule: Schedule,
    *,
    x1: float,
    b: float,
    I: int,
    B: float,
    times: Sequence[int],
) -> Floats:
    """Return (1/t) sum_{s<=t} E||grad f(xbar_s)||^2 at increasing ``times``; inf on overflow."""
    end = constant_until(schedule, max(times))
    sums = []
    with np.errstate(all="ignore"):
        state = recursion.first(x1, B)
        head = [t for t in times if t <= end]
        if end:
            eta, a = float(schedule.eta(1.0)), float(schedule.momentum(2.0))
            run = ConstantRun(recursion, eta, a, b, I)
            *found, state = run.states(state, [*head, end])
            sums += [float(v[-1]) for v in found]
        t = end
        for stop in times[len(head) :]:
            state = _follow(recursion, schedule, state, t, stop, b, I)
            sums.append(float(state[-1]))
            t = stop
    total = np.array(sums)
    return np.where(np.isfinite(total), total, np.inf) / np.asarray(times, dtype=np.float64)


def constant_until(schedule: Schedule, T: int) -> int:
    """Return the last t <= T up to which eta_t and a_{t+1} keep their first values (0: they don't).

    Both are non-increasing, so bisection finds it.
    """
    # The theorem's steps are 1/(16 L I) at first: one number, to the last bit.
    first = float(schedule.eta(1.0)), float(schedule.momentum(2.0))

    def same(t: int) -> bool:
        return (float(schedule.eta(float(t))), float(schedule.momentum(t + 1.0))) == first

    if same(T):
        return T
    low, high = 1, T
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if same(middle) else (low, middle)
    return low


def _follow(
    r: Recursion, schedule: Schedule, state: Floats, t: int, stop: int, b: float, I: int
) -> Floats:
    """The state after iteration ``stop``, step by step from that after iteration t."""
    while t < stop:
        steps = np.arange(t + 1, min(stop, t + CHUNK) + 1)
        at = steps.astype(np.float64)
        eta, a = schedule.eta(at), schedule.momentum(at + 1)
        samples = b * r.algorithm.costs.batch_factors(t + 1, len(steps), I)
        increments = r.local.increment(eta, a, samples)
        ends = steps % I == 0
        # all maps of a chunk at once, then one product after the other
        increments[ends] = r.synchronisation.increment(eta[ends], a[ends], samples[ends])
        for increment in increments:
            state = state + increment @ state
        t = int(steps[-1])
    return state
