"""Outcomes of cells that are planted instead of run: known laws, with noise over replicates."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from stemtheory.bounds import Setting, samples_per_worker
from stemtheory.experiment.design.cells import Cell
from stemtheory.experiment.design.points import Machine, Point, points
from stemtheory.experiment.design.spec import Spec, parse_spec
from stemtheory.experiment.execute.work import CellResult
from stemtheory.experiment.fits.exponents import Fit, fits
from stemtheory.experiment.fits.targets import Target, targets

Law = Callable[[Cell], float]
CONSTANTS = {"L": 1.0, "sigma": 1.0, "zeta": 0.0, "f_star": 0.0, "gap": 1.0}


def spec_of(text: str, fits: str = "") -> Spec:
    """Return a sweep of equal workers, K = 2, with these grids and fits."""
    head = "[settings]\nK = 2\ndim = 1\nzeta = 0\nreplicates = 16\n"
    return parse_spec(f"{head}{text}\n{fits}", "planted")


def points_of(spec: Spec) -> tuple[Point, ...]:
    """Return the points of a sweep on the array engine."""
    return tuple(points(spec, Machine("numpy")))


def outcomes(
    found: Sequence[Point], law: Law, noise: float = 0.0, seed: int = 0
) -> dict[str, CellResult]:
    """Return an outcome for every cell: M is ``law(cell)`` with lognormal noise over replicates."""
    rng = np.random.default_rng(seed)
    return {point.cell.id: outcome(point.cell, law(point.cell), noise, rng) for point in found}


def outcome(cell: Cell, M: float, noise: float, rng: np.random.Generator) -> CellResult:
    """Return one planted outcome."""
    drawn = M * np.exp(noise * rng.standard_normal(cell.replicates) - noise**2 / 2)
    setting = Setting(cell.T, cell.run.problem.K, cell.b, cell.I, 1.0, 1.0, 0.0, 1.0, cell.B)
    facts: dict[str, Any] = {
        "samples_per_worker": samples_per_worker(cell.run.algorithm.name, setting),
        "rounds": cell.T / cell.I,
        "vectors_up": 2 * cell.T / cell.I,
        "vectors_down": 2 * cell.T / cell.I,
        "constants": CONSTANTS,
    }
    mean = float(drawn.mean())
    return CellResult(
        cell.id,
        "ok",
        grad_sq=drawn,
        last=drawn,
        best=drawn,
        mean_grad_sq=mean,
        stderr=0.1,
        facts=facts,
    )


def lose(results: dict[str, CellResult], cell: Cell) -> dict[str, CellResult]:
    """Return the outcomes with one cell diverged."""
    broken = replace(
        results[cell.id], status="diverged", mean_grad_sq=None, grad_sq=np.full(16, np.nan)
    )
    return {**results, cell.id: broken}


def judged(
    spec: Spec, results: dict[str, CellResult], found: Sequence[Point] | None = None
) -> tuple[tuple[Fit, ...], tuple[Target, ...]]:
    """Return fits and targets of planted outcomes."""
    every = points_of(spec) if found is None else found
    hits = targets(every, results)
    return fits(spec, every, results, hits), hits
