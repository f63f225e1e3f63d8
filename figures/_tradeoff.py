"""The measurement behind the trade-off figures: rounds to epsilon on the grids of (b, I).

Sweep ``tradeoff``: a quadratic with phase noise (mean-squared smoothness binds through the noise)
on K = 2 workers, and the calibrated schedule, which does not depend on T: one run per (b, I) gives
M(T) for every T, and so the rounds T(epsilon)/I. All of it is seeded.

Paper: Figure (Fig: FedAvgvsSAMVR), Theorem (Thm: PR_Convergence_Main_App).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from stemtheory.experiment import SweepResult, Target, sweep_for
from stemtheory.report import Progress, Quantity
from stemtheory.runtime import Floats, Verdict

K = 2
SEED = 0

BATCH = Quantity("batch", "samples per minibatch over all workers, $K\\,b$")
LOCAL = Quantity("I", "local steps per round, $I$")
PRODUCT = Quantity("product", "samples per round over all workers, $K\\,b\\,I$")
ROUNDS = Quantity("rounds", "communication rounds", ("rounds_low", "rounds_high"))
CELL = (
    *(Quantity("epsilon"), Quantity("b"), LOCAL, BATCH, PRODUCT),
    *(ROUNDS, Quantity("rounds_low"), Quantity("rounds_high")),
)


class MeasuredCell(NamedTuple):
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
class MeasuredGrid:
    """The measured cells at one epsilon, and over how many replicates."""

    epsilon: float
    replicates: int
    cells: tuple[MeasuredCell, ...]

    @property
    def reached(self) -> tuple[MeasuredCell, ...]:
        """The cells with a hitting time."""
        return tuple(cell for cell in self.cells if np.isfinite(cell.rounds))

    def columns(self) -> dict[str, Any]:
        """Return the cells by the names of ``CELL``, NaN where epsilon was not reached."""
        names = ("b", "I", "batch", "product", "rounds")
        found = {name: np.array([getattr(cell, name) for cell in self.cells]) for name in names}
        ends = {f"rounds_{end}": [getattr(c, end) for c in self.cells] for end in ("low", "high")}
        return {"epsilon": self.epsilon, **found, **ends}


def formula(product: Floats | float, epsilon: float) -> Floats:
    """Return the paper's rounds with all constants 1, at K b I: max{1/eps, 1/(K b I eps^{3/2})}.

    Paper: Remark (Rem: Tradeoff), Figure (Fig: Trade-off_SAMVR).
    """
    left = 1 / (np.asarray(product, dtype=np.float64) * epsilon**1.5)
    return np.asarray(np.maximum(1 / epsilon, left))


def measured(name: str, mode: str, store: Path | None, progress: Progress) -> MeasuredGrid:
    """Return one grid of sweep ``tradeoff``: from its store, or run once per process."""
    if store is not None:
        return grid_of(sweep_for("tradeoff", mode, store, progress, (name,)), name)
    progress(f"rounds to epsilon on grid {name} of (b, I)")
    return _run(name, mode)


@lru_cache
def _run(name: str, mode: str) -> MeasuredGrid:
    return grid_of(sweep_for("tradeoff", mode, None, lambda _: None, (name,)), name)


def grid_of(found: SweepResult, name: str) -> MeasuredGrid:
    """Return the cells of one grid of sweep ``tradeoff``, in its order."""
    targets = [target for target in found.targets if target.point.grid == name]
    first = targets[0]
    cells = tuple(_cell(target) for target in targets)
    return MeasuredGrid(first.epsilon, first.point.cell.replicates, cells)


def _cell(target: Target) -> MeasuredCell:
    b, I = target.point.cell.b, target.point.cell.I
    if target.status != Verdict.REACHED:
        return MeasuredCell(b, I, np.nan, np.nan, np.nan, np.empty(0))
    ends, resampled = target.ends["rounds"], target.resampled["rounds"]
    return MeasuredCell(b, I, target.costs["rounds"], *ends, resampled)
