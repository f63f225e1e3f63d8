"""Communication rounds over (b, I): the paper's surface, and what a simulation measures on it.

Paper: Figure (Fig: Trade-off_SAMVR).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure as Canvas

from stemtheory.figures._tradeoff import (
    SEED,
    Factor,
    Grid,
    K,
    common_factor,
    formula,
    measured_grid,
    stored_grid,
)
from stemtheory.report import Figure, Progress, log_bars, plain_log_axes

BATCHES = (1.0, 600.0)
LOCAL = (0.7, 60.0)
LEVELS = (2e3, 4e3, 8e3)
MARKERS = "osD^vP"


@dataclass(frozen=True)
class Surface:
    """The formula's rounds at (K b, I), shape (len(local), len(batches)), and the measured grid."""

    batches: np.ndarray
    local: np.ndarray
    rounds: np.ndarray
    grid: Grid
    factor: Factor

    @property
    def corner(self) -> float:
        """The product K b I = eps^{-1/2} beyond which samples exceed their optimum."""
        return float(self.grid.epsilon**-0.5)


def prepare(mode: str, progress: Progress) -> Surface:
    """Return the surface at the paper's epsilon and the cells measured at the same epsilon."""
    return surface_of(measured_grid(mode, progress))


def stored(mode: str, store: Path) -> Surface:
    """Return the same from a store of sweep ``tradeoff``."""
    return surface_of(stored_grid(mode, store))


def surface_of(grid: Grid) -> Surface:
    """Return the formula's surface beside a measured grid, at the epsilon of that."""
    batches, local = np.geomspace(*BATCHES, 181), np.geomspace(*LOCAL, 121)
    rounds = formula(local[:, None] * batches, grid.epsilon)
    return Surface(batches, local, rounds, grid, common_factor(grid))


def draw(data: Surface, figure: Canvas) -> None:
    """Draw the surface as a map with the measured cells on it, and all of it against K b I."""
    left, right = figure.subplots(1, 2, width_ratios=[1.15, 1])
    _draw_map(data, figure, left)
    _draw_slice(data, right)


def _draw_map(data: Surface, figure: Canvas, ax: Axes) -> None:
    plain_log_axes(ax)
    scale = LogNorm(data.rounds.min() * 0.8, data.rounds.max())
    over = data.batches, data.local
    image = ax.pcolormesh(*over, data.rounds, norm=scale, shading="gouraud", rasterized=True)
    lines = ax.contour(*over, data.rounds, levels=LEVELS, colors="white", linewidths=0.9)
    # labels where the contours cross I = 2.4, between the rows of measured cells
    spots = [(data.corner * 1e3 / level / 2.4, 2.4) for level in LEVELS]
    ax.clabel(lines, fmt=lambda level: f"{level:,.0f}", fontsize=7, manual=spots)
    beyond = ax.contourf(
        *over,
        np.outer(data.local, data.batches),
        levels=[data.corner, np.inf],
        colors="none",
        hatches=["///"],
    )
    beyond.set_edgecolor("0.55")
    beyond.set_linewidth(0)
    ax.plot(data.corner / np.array(LOCAL), LOCAL, color="black")
    cells = data.grid.reached
    ax.scatter(
        [cell.batch for cell in cells],
        [cell.I for cell in cells],
        c=[cell.rounds / data.factor.value for cell in cells],
        norm=scale,
        s=75,
        edgecolors="black",
        linewidths=1.2,
        zorder=3,
    )
    ax.text(
        0.97,
        0.96,
        "rounds at their least, $1/\\epsilon$;\nmore samples than $\\epsilon^{-3/2}$",
        transform=ax.transAxes,
        ha="right",
        va="top",
        fontsize=8,
        bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.85},
    )
    bar = figure.colorbar(image, ax=ax, pad=0.02, format=lambda value, _: f"{value:,.0f}")
    bar.set_label(f"communication rounds (circles: measured / {data.factor.value:.2f})")
    ax.set(xlim=BATCHES, ylim=LOCAL)
    ax.set_xlabel("samples per minibatch over all workers, $K\\,b$")
    ax.set_ylabel("local steps per round, $I$")
    ax.set_title(f"a  Rounds to $\\epsilon$ = {data.grid.epsilon:g}: formula, and measured cells")
    ax.grid(visible=False)


def _draw_slice(data: Surface, ax: Axes) -> None:
    plain_log_axes(ax)
    product = np.geomspace(1, 1024, 400)
    rounds = formula(product, data.grid.epsilon)
    ax.axvspan(data.corner, product[-1], facecolor="none", edgecolor="0.8", hatch="///", zorder=0)
    ax.plot(product, rounds, color="0.45", linestyle="--", label="formula, constants 1")
    ax.plot(product, data.factor.value * rounds, color="black", label=_factor_label(data))
    rows = sorted({cell.I for cell in data.grid.cells})
    for i, I in enumerate(rows):
        cells = [cell for cell in data.grid.reached if cell.I == I]
        aside = 1.04 ** (i - (len(rows) - 1) / 2)  # equal products would hide each other
        log_bars(
            ax,
            [cell.product * aside for cell in cells],
            [cell.rounds for cell in cells],
            [cell.low for cell in cells],
            [cell.high for cell in cells],
            marker=MARKERS[i],
            label=f"measured, $I$ = {I}",
            markeredgecolor="white",
            markeredgewidth=0.5,
        )
    ax.set(xlim=(1, 1024), ylim=(600, None))
    ax.set_xlabel("samples per round over all workers, $K\\,b\\,I$")
    ax.set_ylabel("communication rounds")
    ax.set_title("b  The same cells against the product")
    ax.legend()


def _factor_label(data: Surface) -> str:
    return f"formula × {data.factor.value:.2f}"


def caption(data: Surface) -> str:
    """Return what is seen and what is not claimed."""
    grid, factor = data.grid, data.factor
    missing = len(grid.cells) - len(grid.reached)
    return (
        f"Communication rounds of STEM to an average squared gradient of epsilon ="
        f" {grid.epsilon:g}, over minibatch size b and local steps I. Surface, contours and dashed"
        " line: the paper's max{1/eps, 1/(K b I eps^(3/2))} with every constant 1. Hatched: beyond"
        f" K b I = eps^(-1/2) = {data.corner:.1f}, where rounds no longer fall and the samples"
        " max{K b I/eps, eps^(-3/2)} exceed their optimum. Points:"
        f" {len(grid.reached)} cells measured by simulation at the same epsilon (quadratic with"
        f" phase noise, c = L_n = sigma = 1, L = sqrt 2, zeta = 0, K = {K}, x1 = 1; calibrated"
        " schedule C1 = 2, C2 = 256, C3 = 1/16; rounds are the last crossing of the running average"
        f" over I; {grid.replicates} replicates, 95 % bootstrap intervals; in b, points of equal"
        " product are set slightly apart). In a, a circle that melts into the map agrees with it."
        " The points are placed by one common factor, the median of measured/formula:"
        f" {factor.value:.2f}. What it leaves is"
        f" {factor.left[0]:.2f} to {factor.left[1]:.2f} left of the corner (a spread of"
        f" {factor.left_spread:.2f}) and {factor.right[0]:.2f} to {factor.right[1]:.2f} right of"
        " it; at the corner the maximum is in truth a smooth bend, and cells lie above it."
        + (
            f" {missing} cells were not reached within their run and are not drawn."
            if missing
            else ""
        )
        + " Not claimed: the factor's value, which belongs to this problem and schedule; the rate"
        " in epsilon, since one epsilon is shown; the theorem's own schedule, whose constants put"
        " this epsilon out of a simulation's reach; and heterogeneous workers."
    )


ENTRY = Figure(
    name="tradeoff_surface",
    summary="communication rounds over (b, I), formula and measurement (Figure 1a)",
    prepare=prepare,
    draw=draw,
    caption=caption,
    size=(10.4, 4.2),
    seed=SEED,
    stored=stored,
)
