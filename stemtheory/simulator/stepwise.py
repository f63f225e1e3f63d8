"""A run taken step by step, with every state in the open: for claims, tests and teaching.

``simulate`` is the fast way to the same numbers; ``walk`` shows the states it throws away.

Paper: Algorithm (Algo_DR-STORM_batch), Algorithm (Algo_FedAvg).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from stemtheory.algorithms import Algorithm, Chances, Step, System
from stemtheory.oracles import Problem
from stemtheory.runtime import Floats, NoiseKey, generator, whole
from stemtheory.schedules import Schedule


@dataclass(frozen=True)
class Visit:
    """Iteration t: the state before it, after the local step, and after the synchronisation.

    Off a synchronisation ``local`` and ``after`` are the same object. Where t starts a round of a
    ``System``, ``before`` is the state after ``start_round``.
    """

    step: Step
    minibatch: Any
    before: Any
    local: Any
    after: Any


Draw = Callable[[int, float], Any]
FLOAT64 = np.dtype(np.float64)


def walk(
    problem: Problem,
    algorithm: Algorithm,
    schedule: Schedule,
    *,
    T: int,
    I: int,
    x1: float | Floats,
    draw: Draw,
    b: float = 1.0,
    B: float | None = None,
    replicates: int = 1,
    seed: int = 0,
    part: slice | None = None,
    dtype: np.dtype[Any] = FLOAT64,
) -> Iterator[Visit]:
    """Yield iterations 1..T; states hold arrays of shape [replicates, K, dim].

    ``draw(t, samples)`` returns the minibatch of iteration t (t = 0: the initial batch of B
    samples, default b I); ``gaussian_draw`` makes one. ``seed`` is that of the random choices of
    a round. Of the replicates only ``part`` is run, with the noise that it has among all of them.
    """
    T, I = whole("T", T), whole("I", I)
    shape = (replicates, problem.K, problem.dim)
    mine = slice(None) if part is None else part
    x = np.broadcast_to(np.asarray(x1, dtype=dtype), shape)[mine].copy()
    system = algorithm if isinstance(algorithm, System) else None
    state = algorithm.init(problem, x, float(schedule.eta(1.0)), draw(0, B or b * I)[mine])
    for t in range(1, T + 1):
        eta, a = float(schedule.eta(float(t))), float(schedule.momentum(float(t + 1)))
        step = Step(t, eta, a, t % I == 0)
        if system is not None and (t - 1) % I == 0:
            drawn = choices(problem, system, seed, t, replicates)
            chance = {name: value[mine].astype(dtype) for name, value in drawn.items()}
            state = system.start_round(problem, state, step, chance)
        minibatch = draw(t, b * int(algorithm.costs.batch_factors(t, 1, I)[0]))[mine]
        local = algorithm.local_step(problem, state, step, minibatch)
        after = algorithm.synchronise(problem, local) if step.synchronises else local
        yield Visit(step, minibatch, state, local, after)
        state = after


def choices(problem: Problem, algorithm: System, seed: int, t: int, replicates: int) -> Chances:
    """Return the random choices of the round that starts at t: a function of (seed, t) alone."""
    key = NoiseKey(seed, problem.dim, problem.K, 0, 0, 0)
    made = {}
    for c in algorithm.chances:
        stream = generator(key.seed_sequence(t, f"walk {c.purpose}"))
        uniforms = stream.random((replicates, *c.shape(problem.K, problem.dim)))
        made[c.purpose] = np.asarray(c.decide(uniforms), dtype=np.float64)
    return made


def gaussian_draw(
    problem: Problem, seed: int = 0, replicates: int = 1, dtype: np.dtype[Any] = FLOAT64
) -> Draw:
    """Return a ``draw`` for ``walk``: minibatch t is a function of (seed, t) alone."""

    def draw(t: int, samples: float) -> Any:
        key = NoiseKey(seed, problem.dim, problem.K, 0, 0, 0)
        stream = generator(key.seed_sequence(t, "walk"))
        return problem.draw(stream, (1, replicates), samples, dtype)[0]

    return draw
