"""Runs of the moments: rounds as powers of a map, and step by step where steps vary.

Paper: Algorithm (Algo_DR-STORM_batch), Algorithm (Algo_FedAvg).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from stemtheory.algorithms import Algorithm
from stemtheory.moments.layout import StateLayout, layout
from stemtheory.moments.linear_model import Coefficients, LinearModel, coefficients
from stemtheory.moments.maps import StepMap, compose, first_state, power, powers_of_two, step_map
from stemtheory.runtime import Floats
from stemtheory.schedules import Schedule
from stemtheory.simulator import missing_compiler

CHUNK = 2**15  # numbers of maps that are made at once, for steps that vary: they fit a cache
STEPS = 2**12  # that compiled steps take at once
MANY = 2 * 10**8
"""From so many entries of maps on steps that vary are compiled where there is numba.

A step counts as a thousand beside its own, so that is 2e5 steps of one model. By matrix products
they take about as long (0.4 s) as importing numba. Which of both is taken depends on no cache.
"""

Walk = Callable[[Floats, Floats, Floats, Floats, Any], Floats]
"""A state after steps of given eta, a and samples, of which some end a round."""


@dataclass(frozen=True)
class Recursion:
    """An algorithm on one coordinate of a linear problem; ``base`` is stem or fedavg.

    Several models whose groups have the same sizes stand side by side: maps and states then have
    an axis for them in front. ``watched`` keeps those moments alone from which
    E||grad f(xbar)||^2 follows: without noise that depends on x, those of the workers' mean.
    """

    model: LinearModel | tuple[LinearModel, ...]
    base: str
    algorithm: Algorithm
    sync: str = "literal"
    bounded: bool = False
    watched: bool = False

    @cached_property
    def numbers(self) -> Coefficients:
        """The numbers of the model, or of all of them."""
        return coefficients(self.model)

    @cached_property
    def form(self) -> StateLayout:
        """Where what lies in the whole state."""
        return layout(self.numbers, self.base)

    @cached_property
    def local(self) -> StepMap:
        """The map of a local step."""
        return self._whole[0].part(self._kept) if self.watched else self._whole[0]

    @cached_property
    def synchronisation(self) -> StepMap:
        """The map of a step that ends a round."""
        return self._whole[1].part(self._kept) if self.watched else self._whole[1]

    def first(self, x1: Floats | float, B: ArrayLike) -> Floats:
        """Return the state at t = 1; ``x1`` is a number, or one for each of several models."""
        state = first_state(self.numbers, self.base, x1, B)
        return state[..., self._kept] if self.watched else state

    @cached_property
    def _whole(self) -> tuple[StepMap, ...]:
        return tuple(
            step_map(self.numbers, self.base, self.sync, synchronises, bounded=self.bounded)
            for synchronises in (False, True)
        )

    @cached_property
    def _kept(self) -> Any:
        """The indices of the moments that enter the last one, through whichever others."""
        links = self._whole[0].links | self._whole[1].links
        entering = np.arange(len(links)) == len(links) - 1
        while (more := entering | links[entering].any(axis=0)).sum() > entering.sum():
            entering = more
        return np.flatnonzero(entering)


@dataclass(frozen=True)
class ConstantRun:
    """A recursion with constant eta, a and b; each a number, or an array of as many runs.

    Those axes stand in front of the one of several models.
    """

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
    x1: Floats | float,
    b: float,
    I: int,
    B: float,
    times: Sequence[int],
) -> Floats:
    """Return (1/t) sum_{s<=t} E||grad f(xbar_s)||^2 at increasing ``times``; inf on overflow.

    Shape (n,), or (n, models) where there are several.
    """
    recursion = replace(recursion, watched=True)
    end = constant_until(schedule, max(times))
    sums = []
    with np.errstate(all="ignore"):
        state = recursion.first(x1, B)
        head = [t for t in times if t <= end]
        if end:
            eta, a = float(schedule.eta(1.0)), float(schedule.momentum(2.0))
            run = ConstantRun(recursion, eta, a, b, I)
            *found, state = run.states(state, [*head, end])
            sums += [v[..., -1] for v in found]
        t, (walk, n) = end, _walk(recursion, max(times) - end)
        for stop in times[len(head) :]:
            state = _follow(recursion, walk, n, schedule, state, t, stop, b, I)
            sums.append(state[..., -1])
            t = stop
    total = np.array(sums)
    past = np.asarray(times, dtype=np.float64).reshape(-1, *[1] * (total.ndim - 1))
    return np.where(np.isfinite(total), total, np.inf) / past


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
    r: Recursion, walk: Walk, n: int, schedule: Schedule, state: Floats, t: int, stop: int,
    b: float, I: int,
) -> Floats:  # fmt: skip
    """The state after iteration ``stop``, n steps at a time from that after iteration t."""
    while t < stop:
        steps = np.arange(t + 1, min(stop, t + n) + 1)
        at = steps.astype(np.float64)
        samples = b * r.algorithm.costs.batch_factors(t + 1, len(steps), I).astype(np.float64)
        state = walk(state, schedule.eta(at), schedule.momentum(at + 1), samples, steps % I == 0)
        t = int(steps[-1])
    return state


def _walk(r: Recursion, steps: int) -> tuple[Walk, int]:
    """What takes a state through steps that vary, compiled where they are many, and how many."""
    if steps * (1000 + r.local.still[0].size) >= MANY and missing_compiler() is None:
        from stemtheory.moments.compiled import walk

        return walk(r.local, r.synchronisation), STEPS

    def multiplied(state: Floats, eta: Floats, a: Floats, samples: Floats, ends: Any) -> Floats:
        increments = r.local.increment(eta, a, samples)
        # all maps of a chunk at once, then one product after the other
        increments[ends] = r.synchronisation.increment(eta[ends], a[ends], samples[ends])
        if state.size == state.shape[-1]:  # of one model a product has less to look at
            one = state.reshape(-1)
            for increment in increments.reshape(len(eta), one.size, one.size):
                one = one + increment @ one
            return one.reshape(state.shape)
        for increment in increments:
            state = apply(increment, state)
        return state

    return multiplied, max(16, CHUNK // r.local.still[0].size)
