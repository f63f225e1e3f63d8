"""What a plan says, iteration by iteration: the tables that kernels take, on any machine.

Paper: Algorithm (Algo_DR-STORM_batch), Algorithm (Algo_FedAvg), Table: Comparison.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from stemtheory.algorithms import READINGS, Algorithm, Scaffold, Stem
from stemtheory.runtime import PURPOSES
from stemtheory.simulator.array_engine import Plan

Tables = tuple[Any, Any, Any, Any, Any]
"""eta_t, 1 - a_{t+1}, the noise's scale, its purpose, and the round's sum of eta, row by row."""


def kind(algorithm: Algorithm) -> str:
    """Return whose kernel an algorithm runs: stem, fedavg or scaffold."""
    return {Stem: "stem", Scaffold: "scaffold"}.get(type(algorithm), "fedavg")


def reading(algorithm: Algorithm) -> int:
    """Return the number of STEM's reading, in the order of READINGS; SCAFFOLD's option I is 1."""
    if isinstance(algorithm, Stem):
        return list(READINGS).index(algorithm.sync)
    return int(isinstance(algorithm, Scaffold) and algorithm.option == "I")


def tables(plan: Plan, first: int, n: int) -> Tables:
    """Return the tables of n iterations from ``first`` on."""
    t = np.arange(first, first + n, dtype=np.float64)
    eta = np.broadcast_to(np.asarray(plan.schedule.eta(t)), n)
    keep = 1 - np.broadcast_to(np.asarray(plan.schedule.momentum(t + 1)), n)
    factor = plan.algorithm.costs.batch_factors(first, n, plan.sizes.I)
    # the mean of m b samples is one draw over sqrt(m b); a jump has noise of its own address, so
    # that the other steps of a run share theirs with every reading and every m
    scale = 1 / np.sqrt(factor * plan.sizes.b)
    purpose = np.where(factor == 1, PURPOSES["steps"], PURPOSES["jump"])
    floats = (table.astype(plan.dtype) for table in (eta, keep, scale, travel(plan, first, n)))
    eta, keep, scale, travelled = floats
    return eta, keep, scale, purpose.astype(np.uint32), travelled


def initial_tables(plan: Plan) -> Tables:
    """Return the tables of iteration 0: a step of length zero with a = 1 and B samples."""
    scale = 1 / math.sqrt(plan.sizes.B)
    eta, keep, scales, travelled = (np.full(1, x, plan.dtype) for x in (0, 0, scale, 1))
    return eta, keep, scales, np.array([PURPOSES["initial"]], np.uint32), travelled


def travel(plan: Plan, first: int, n: int) -> Any:
    """Return the sum of the step sizes of a round up to each of n iterations.

    A sum begins where its round does, so that segments change no bit of it.
    """
    if kind(plan.algorithm) != "scaffold":
        return np.ones(n)
    I = plan.sizes.I
    begin = first - (first - 1) % I  # where the round began, which may be a segment ago
    rounds = -(-(first + n - begin) // I)
    t = np.arange(begin, begin + rounds * I, dtype=np.float64)
    eta = np.broadcast_to(np.asarray(plan.schedule.eta(t)), t.shape)
    sums: Any = np.cumsum(eta.reshape(rounds, I), axis=1).ravel()
    return sums[first - begin : first - begin + n]
