"""One step of a worker on a linear problem, as rows on what it sees of the state.

A step is linear in z = (1, z_1, ..., z_G) and in (1, eta, a): rows are [3, ..., N]. The same rows
move a worker's own variables and its deviation from its group, given what it sees (a ``View``).

Paper: Algorithm (Algo_DR-STORM_batch), Algorithm (Algo_FedAvg).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from stemtheory.runtime import Floats

VARIABLES = {"stem": 3, "fedavg": 1}  # (x, x_prev, d) or (x)


class StepRows(NamedTuple):
    """A step of one worker: its new variables, each rows on z by (1, eta, a), [3, ..., N].

    Noise enters the last variable: ``slope`` is what its factor L_n xi_1 multiplies, ``level`` what
    s xi_2 does.
    """

    new: tuple[Floats, ...]
    slope: Floats
    level: tuple[float, float, float]


class View(NamedTuple):
    """A worker as seen in z: rows of its variables, of 1, and of their means over all workers."""

    own: tuple[Floats, ...]
    one: Floats
    mean: tuple[Floats, ...]


class WorkerGradient(NamedTuple):
    """A worker's gradient H x + o; ``unlike`` and ``pull`` are set where A2 bounds the drift.

    Then ``unlike`` = H - mean H and ``pull`` = 1 take what differs at xbar out of a g(x; xi).
    """

    H: Floats
    o: Floats
    unlike: Floats | float = 0.0
    pull: float = 0.0


def stem_rows(view: View, worker: WorkerGradient, sync: str, synchronises: bool) -> StepRows:
    """Return STEM's step before x and d are averaged.

    d_{t+1} = g(x_{t+1}) + (1 - a)(d_t - g(x_prev)),  x_{t+1} = x_t - eta d_t

    Paper: Algorithm (Algo_DR-STORM_batch).
    """
    H, o, unlike = (np.asarray(value)[..., None] for value in worker[:3])
    x, previous, d = view.own
    zero = 0 * x
    x_from, d_from = x, d
    # Where x is averaged first the step starts at the mean, in x and in d: x_{t+1} is then common.
    if synchronises and sync in ("average-first", "average-both"):
        x_from, d_from = view.mean[0], view.mean[2]
        previous = view.mean[0] if sync == "average-both" else previous
    here = _rows(H, x_from, -d_from, zero)
    # d' = g(x') + (1 - a)(d - g(previous)): what is kept of d, and what a takes off it again. The
    # noise of both gradients is one draw, so its slopes subtract: this is the two-sided momentum.
    kept = d - H * previous - o * view.one
    forgotten = kept + unlike * view.mean[0]
    direction = _rows(H, kept + H * x_from + o * view.one, -H * d_from, -forgotten)
    slope = _rows(H, x_from - previous, -d_from, previous - worker.pull * view.mean[0])
    return StepRows((here, here, direction), slope, (0.0, 0.0, 1.0))


def fedavg_rows(view: View, worker: WorkerGradient, sync: str, synchronises: bool) -> StepRows:
    """Return FedAvg's step before x is averaged: x_{t+1} = x_t - eta g(x_t).

    Paper: Algorithm (Algo_FedAvg).
    """
    (x,), (H, o) = view.own, (np.asarray(value)[..., None] for value in worker[:2])
    zero = 0 * x
    moved = _rows(H, x, -H * x - o * view.one, zero)
    return StepRows((moved,), _rows(H, zero, x, zero), (0, 1, 0))


def _rows(H: Floats, *rows: Floats) -> Floats:
    """Rows on z by (1, eta, a), one for every H[..., None] where they do not depend on it."""
    return np.stack([np.broadcast_to(row, (*H.shape[:-1], row.shape[-1])) for row in rows])


ROWS: dict[str, Callable[[View, WorkerGradient, str, bool], StepRows]] = {
    "stem": stem_rows,
    "fedavg": fedavg_rows,
}
