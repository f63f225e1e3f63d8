"""How long cells will take: a cost model of both engines, scaled by one short measurement."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from typing import NamedTuple

from stemtheory.experiment.design.cells import Cell
from stemtheory.oracles import load_problem
from stemtheory.simulator import ARRAY_BYTES, simulate

# Seconds on the machine it was fitted on; only their proportions matter after the measurement.
PER_CELL, PER_STEP, PER_ELEMENT = 2e-3, 45e-6, 25e-9
PER_CALL_FUSED, PER_ELEMENT_FUSED = 0.25e-6, 4e-9  # a step of one replicate, and its elements


class Forecast(NamedTuple):
    """``cells`` to run, their ``samples`` over all workers and replicates, and ``seconds``."""

    cells: int
    samples: float
    seconds: float


def weight(cell: Cell) -> float:
    """Return the predicted seconds of one cell on a machine of speed 1."""
    elements = cell.replicates * cell.run.problem.K * cell.run.problem.dim
    if cell.run.numerics.engine == "fused":
        return PER_CELL + cell.T * (cell.replicates * PER_CALL_FUSED + elements * PER_ELEMENT_FUSED)
    groups = -(-elements * 8 // ARRAY_BYTES)
    return PER_CELL + cell.T * (PER_STEP * groups + PER_ELEMENT * elements)


def samples(cell: Cell) -> float:
    """Return the oracle calls of a cell over all workers and replicates, as running it counts them.

    A cell with a ``precision`` may do with fewer replicates, one that diverges with fewer steps.
    """
    return cell.run.costs().samples_per_worker * cell.run.problem.K * cell.replicates


def forecast(cells: Iterable[Cell], jobs: int = 1) -> Forecast:
    """Return what running ``cells`` takes, with ``jobs`` at a time on this machine."""
    found = list(cells)
    at_once = max(1, min(jobs, len(found), os.cpu_count() or 1))
    seconds = sum(weight(cell) for cell in found)
    speed = slowness() if found else 1.0
    return Forecast(len(found), sum(samples(cell) for cell in found), seconds * speed / at_once)


def slowness() -> float:
    """Return how many times slower than the cost model this machine is, from a run of 10 ms."""
    problem = load_problem("quadratic", K=4, dim=8)
    T, R = 200, 8
    simulate(problem, T=8, replicates=R, backend="numpy", threads=1)
    start = time.perf_counter()
    simulate(problem, T=T, b=1, I=1, replicates=R, backend="numpy", threads=1)
    model = PER_CELL + T * (PER_STEP + PER_ELEMENT * R * 32)
    return (time.perf_counter() - start) / model
