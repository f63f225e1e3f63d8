"""What a plan says, iteration by iteration: the tables that kernels take, on any machine.

Paper: Algorithm (Algo_DR-STORM_batch), Algorithm (Algo_FedAvg), Table: Comparison.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from stemtheory.algorithms import READINGS, Algorithm, Scaffold, Spider, Stem
from stemtheory.runtime import PURPOSES
from stemtheory.simulator.array_engine import Plan
from stemtheory.simulator.fused.systems import system_of

Tables = tuple[Any, Any, Any, Any, Any]
"""eta_t, 1 - a_{t+1}, the noise's scale, its purpose, and what the end of a round is told."""


def reading(algorithm: Algorithm) -> int:
    """Return the number of STEM's reading, in the order of READINGS; SCAFFOLD's option I is 1."""
    if isinstance(algorithm, Stem):
        return list(READINGS).index(algorithm.sync)
    return int(isinstance(algorithm, Scaffold) and algorithm.option == "I")


def tables(plan: Plan, first: int, n: int) -> Tables:
    """Return the tables of n iterations from ``first`` on."""
    t = np.arange(first, first + n, dtype=np.float64)
    factor = plan.algorithm.costs.batch_factors(first, n, plan.sizes.I)
    # the mean of m b samples is one draw over sqrt(m b); a jump has noise of its own address, so
    # that the other steps of a run share theirs with every reading and every m
    scale = 1 / np.sqrt(factor * plan.sizes.b)
    purpose = np.where(factor == 1, PURPOSES["steps"], PURPOSES["jump"]).astype(np.uint32)
    told = TOLD[system_of(plan.algorithm).told](plan, first, n)
    eta, keep, scale, told = (
        table.astype(plan.dtype) for table in (steps(plan, t), kept(plan, t), scale, told)
    )
    return eta, keep, scale, purpose, told


def initial_tables(plan: Plan) -> Tables:
    """Return the tables of iteration 0, on B samples.

    It is a step of length zero with a = 1, or, of a warm start, a period of one step eta_1.
    """
    step = float(plan.schedule.eta(1.0)) if getattr(plan.algorithm, "warm_up", False) else 0.0
    scale = 1 / math.sqrt(plan.sizes.B)
    eta, keep, scales, told = (np.full(1, x, plan.dtype) for x in (step, 0, scale, step))
    return eta, keep, scales, np.array([PURPOSES["initial"]], np.uint32), told


def steps(plan: Plan, t: Any) -> Any:
    """Return eta_t at the iterations t."""
    return np.broadcast_to(np.asarray(plan.schedule.eta(t)), t.shape)


def kept(plan: Plan, t: Any) -> Any:
    """Return 1 - a_{t+1} at the iterations t: SPIDER's a is 1 at its restarts, else 0."""
    if isinstance(plan.algorithm, Spider):
        return (t % plan.algorithm.period != 0).astype(np.float64)
    return 1 - np.broadcast_to(np.asarray(plan.schedule.momentum(t + 1)), t.shape)


def ones(plan: Plan, first: int, n: int) -> Any:
    """Return ones: nothing is told."""
    return np.ones(n)


def last_steps(plan: Plan, first: int, n: int) -> Any:
    """Return eta_t: at the end of a round, its last."""
    return steps(plan, np.arange(first, first + n, dtype=np.float64))


def kept_first(plan: Plan, first: int, n: int) -> Any:
    """Return 1 - a_{t+1} at the first step t of each iteration's round, and 0 in round 1."""
    t = np.arange(first, first + n, dtype=np.float64)
    begin = t - (t - 1) % plan.sizes.I
    return np.where(begin == 1, 0.0, kept(plan, begin))


def travel(plan: Plan, first: int, n: int) -> Any:
    """Return the sum of the step sizes of a round up to each of n iterations.

    A sum begins where its round does, so that segments change no bit of it.
    """
    I = plan.sizes.I
    begin = first - (first - 1) % I  # where the round began, which may be a segment ago
    rounds = -(-(first + n - begin) // I)
    t = np.arange(begin, begin + rounds * I, dtype=np.float64)
    sums: Any = np.cumsum(steps(plan, t).reshape(rounds, I), axis=1).ravel()
    return sums[first - begin : first - begin + n]


TOLD = {"": ones, "travel": travel, "last": last_steps, "kept": kept_first}
