"""The measurement behind both trade-off figures: rounds to epsilon on a grid of (b, I).

A quadratic with phase noise (mean-squared smoothness binds through the noise) on K = 2 workers, and
the calibrated schedule, which does not depend on T: one run per (b, I) gives M(T) for every T, and
so the rounds T(epsilon)/I for every epsilon. All of it is seeded.

Paper: Figure (Fig: FedAvgvsSAMVR), Theorem (Thm: PR_Convergence_Main_App).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from stemtheory.experiment import SweepResult, Target, stored_sweep
from stemtheory.oracles import Problem, load_problem
from stemtheory.report import Progress
from stemtheory.runtime import Floats, Verdict
from stemtheory.simulator import HittingTime, hitting_time, simulate

EPSILON = 1e-3  # the paper's; also the one that is measured
K = 2
SEED = 0
RECORDS = 160


class Cell(NamedTuple):
    """Rounds to epsilon measured at one (b, I); NaN where not reached. ``resampled`` in rounds."""

    b: float
    I: int
    rounds: float
    low: float
    high: float
    resampled: Floats

    @property
    def batch(self) -> float:
        """Samples of one minibatch over all workers, K b."""
        return K * self.b

    @property
    def product(self) -> float:
        """K b I, on which alone the paper's formula depends."""
        return K * self.b * self.I


@dataclass(frozen=True)
class Grid:
    """The measured cells at one epsilon, and over how many replicates."""

    epsilon: float
    replicates: int
    cells: tuple[Cell, ...]

    @property
    def reached(self) -> tuple[Cell, ...]:
        """The cells with a hitting time."""
        return tuple(cell for cell in self.cells if np.isfinite(cell.rounds))


class Factor(NamedTuple):
    """The one common factor measured/formula, and the spread of what it leaves.

    ``left`` and ``right`` are the smallest and largest measured/(factor formula) on either side of
    the corner; ``left_spread`` is the ratio of the two on the left.
    """

    value: float
    left: tuple[float, float]
    right: tuple[float, float]

    @property
    def left_spread(self) -> float:
        """Largest over smallest residual left of the corner."""
        return self.left[1] / self.left[0]


# (products b I, local steps I): what a mode measures; b = product / I must be at least 1.
_PRODUCTS: dict[str, dict[int, tuple[int, ...]]] = {
    "quick": {1: (1, 2, 4, 8, 16, 128), 4: (4, 8, 16, 128), 8: (8, 128), 16: (16, 64)},
    "default": dict.fromkeys((1, 2, 4, 8, 16), (1, 2, 4, 8, 16, 32, 128)),
    "full": dict.fromkeys((1, 2, 4, 8, 16, 32), (1, 2, 4, 8, 16, 32, 64, 128, 256)),
}
_REPLICATES = {"quick": 64, "default": 64, "full": 256}


def formula(product: Floats | float, epsilon: float) -> Floats:
    """Return the paper's rounds with all constants 1, at K b I: max{1/eps, 1/(K b I eps^{3/2})}.

    Paper: Remark (Rem: Tradeoff), Figure (Fig: Trade-off_SAMVR).
    """
    left = 1 / (np.asarray(product, dtype=np.float64) * epsilon**1.5)
    return np.asarray(np.maximum(1 / epsilon, left))


def problem() -> Problem:
    """Return the quadratic with c = 1, L_n = 1 (so L = sqrt 2), sigma = 1 and equal workers."""
    return load_problem(
        "quadratic", K=K, dim=1, curvature=1.0, noise_smoothness=1.0, sigma=1.0, zeta=0.0
    )


def run_length(b: float, I: int, epsilon: float) -> int:
    """Return a T that is long enough: the sum of both branches, with constants seen in runs.

    They only decide how long a run is; too small a T shows as "not reached". The constant of the
    left branch falls towards its limit like 1 + 29 sqrt(eps): the gap is paid for early.
    """
    left = (1 + 29 * np.sqrt(epsilon)) / (K * b * I * epsilon**1.5)
    return I * int(np.ceil(1.15 * (2 / epsilon + left)))


def hit(b: float, I: int, epsilon: float, replicates: int) -> HittingTime:
    """Return STEM's T(epsilon) at one (b, I) with the calibrated schedule."""
    T = run_length(b, I, epsilon)
    trace = simulate(
        problem(),
        "stem",
        T=T,
        b=b,
        I=I,
        schedule="calibrated",
        replicates=replicates,
        record_at=np.unique(np.geomspace(max(1, T // 64), T, RECORDS).astype(int)).tolist(),
        seed=SEED,
    )
    key = (round(1000 * b), I, round(1e9 * epsilon))
    return hitting_time(trace.times, trace.running, epsilon, seed=SEED, key=key)


def measure(b: float, I: int, epsilon: float, replicates: int) -> Cell:
    """Return one cell of the grid, in rounds."""
    time = hit(b, I, epsilon, replicates)
    rounds = time.T / I
    return Cell(b, I, rounds, time.low / I, time.high / I, time.resampled / I)


def measured_grid(mode: str, progress: Progress) -> Grid:
    """Return the grid of a mode, measured once per process: both figures show it."""
    progress(f"measuring rounds to epsilon = {EPSILON:g} on a grid of (b, I)")
    return _grid(mode)


@lru_cache
def _grid(mode: str) -> Grid:
    replicates = _REPLICATES[mode]
    cells = (
        measure(product / I, I, EPSILON, replicates)
        for I, products in _PRODUCTS[mode].items()
        for product in products
        if product >= I
    )
    return Grid(EPSILON, replicates, tuple(cells))


# The sweep `tradeoff` measures the same cells into a store: each grid of it has one epsilon.


def stored_grid(mode: str, store: Path) -> Grid:
    """Return the grid of a mode from a store of sweep ``tradeoff``."""
    return grid_of(stored_sweep("tradeoff", mode, store, ("surface",)))


def grid_of(found: SweepResult, name: str = "surface") -> Grid:
    """Return the cells of one grid of sweep ``tradeoff``, in its order."""
    targets = [target for target in found.targets if target.point.grid == name]
    first = targets[0]
    cells = tuple(_cell(target) for target in targets)
    return Grid(first.epsilon, first.point.cell.replicates, cells)


def _cell(target: Target) -> Cell:
    b, I = target.point.cell.b, target.point.cell.I
    if target.status != Verdict.REACHED:
        return Cell(b, I, np.nan, np.nan, np.nan, np.empty(0))
    low, high = target.ends["rounds"]
    return Cell(b, I, target.costs["rounds"], low, high, target.resampled["rounds"])


def common_factor(grid: Grid) -> Factor:
    """Return the median over the grid of measured/formula (of its logarithm) and what is left.

    Cells at the corner itself, K b I = eps^{-1/2} within a quarter, belong to neither side.
    """
    products = np.array([cell.product for cell in grid.reached])
    ratio = np.array([cell.rounds for cell in grid.reached]) / formula(products, grid.epsilon)
    value = float(np.exp(np.median(np.log(ratio))))
    corner = grid.epsilon**-0.5
    sides = ratio[products < 0.8 * corner] / value, ratio[products > 1.25 * corner] / value
    left, right = ((float(side.min()), float(side.max())) for side in sides)
    return Factor(value, left, right)
