"""How long cells will take: a cost model of both engines, scaled by short runs of each kind."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from statistics import median
from typing import NamedTuple

from stemtheory.experiment.design.cells import Cell
from stemtheory.experiment.execute.workers import processes
from stemtheory.simulator import ARRAY_BYTES

PROBE_SECONDS, MOST_PROBES = 0.02, 24  # by the model; together a second or two
LONGEST_PROBE = 0.1  # seconds of one round, beyond which a probe's round is a shorter one
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
    """Return what running ``cells`` takes, with ``jobs`` at a time on this machine.

    The model knows sizes; how much slower than it each kind of cell is, is measured: a short run of
    the longest kinds, in a process as the sweep has them.
    """
    found = list(cells)
    kinds: dict[object, list[Cell]] = defaultdict(list)
    for cell in found:
        kinds[kind_of_cell(cell)].append(cell)
    seconds = {kind: sum(map(weight, those)) for kind, those in kinds.items()}
    longest = sorted(kinds, key=lambda kind: -seconds[kind])[:MOST_PROBES]
    ratios = dict(zip(longest, _slowness([kinds[kind][0] for kind in longest]), strict=True))
    usual = median(ratios.values()) if ratios else 1.0
    total = sum(time * ratios.get(kind, usual) for kind, time in seconds.items())
    at_once = max(1, min(jobs, len(found), os.cpu_count() or 1))
    return Forecast(len(found), sum(map(samples, found)), total / at_once)


def kind_of_cell(cell: Cell) -> object:
    """What decides about the speed of a cell, beside its sizes."""
    run, own = cell.run, dict(cell.run.algorithm.options)
    dials = tuple((name, value) for name, value in run.problem.dials if isinstance(value, str))
    return (run.problem.name, dials, run.algorithm.name, own.get("sync"), run.numerics)


def _slowness(cells: Sequence[Cell]) -> list[float]:
    """Return how many times slower than the model each of these is; 1 where that cannot be known.

    Every probe runs twice, and the second time counts: the first one also loads and compiles.
    """
    if not cells:
        return []
    probes = [_short(cell) for cell in cells]
    with processes(1) as pool:
        results = pool.run([probe for probe in probes for _ in range(2)])
    return [
        1.0 if result.status == "failed" else result.wall_seconds / weight(probe)
        for probe, result in zip(probes, results[1::2], strict=True)
    ]


def _short(cell: Cell) -> Cell:
    """Return the start of a cell, of about ``PROBE_SECONDS``: whole rounds, or one shorter one."""
    share = min(1.0, PROBE_SECONDS / weight(cell))
    steps = max(1, round(share * cell.T))
    I = cell.I if weight(_lasting(cell, cell.I)) < LONGEST_PROBE else min(cell.I, steps)
    probe = _lasting(cell, I * max(1, round(steps / I)))
    run = replace(probe.run, sizes=replace(probe.run.sizes, I=I))
    return replace(cell, run=run, precision=None, record=min(cell.record, 1))


def _lasting(cell: Cell, T: int) -> Cell:
    return replace(cell, run=replace(cell.run, sizes=replace(cell.run.sizes, T=T)))
