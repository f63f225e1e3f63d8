"""Communication rounds over (b, I): the paper's surface, and what a simulation measures on it.

Paper: Figure (Fig: Trade-off_SAMVR).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure as Canvas

from stemtheory.figures._tradeoff import CELL, ROUNDS, SEED, K, MeasuredGrid, formula, measured
from stemtheory.report import Figure, FigureTable, Panel, Progress, Quantity, palette

BATCHES = np.geomspace(1.0, 600.0, 61)  # K b
STEPS = np.geomspace(0.7, 60.0, 41)  # I
PRODUCTS = np.geomspace(1, 1024, 400)
LEVELS = (2e3, 4e3, 8e3)
COLUMNS = (Quantity("kind"), *CELL, ROUNDS._replace(name="rounds_over_factor", ends=None))


class Factor(NamedTuple):
    """The one common factor measured/formula, and the spread of what it leaves.

    ``left`` and ``right`` are the smallest and largest measured/(factor formula) on either side of
    the corner.
    """

    value: float
    left: tuple[float, float]
    right: tuple[float, float]


def common_factor(grid: MeasuredGrid) -> Factor:
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


def table(mode: str, store: Path | None, progress: Progress) -> FigureTable:
    """Return the formula's rounds over (K b, I) and the cells measured at the same epsilon."""
    return table_of(measured("surface", mode, store, progress))


def table_of(grid: MeasuredGrid) -> FigureTable:
    """Return the table of a measured grid: ``map``, ``formula``, ``placed formula`` and ``cell``.

    The placed formula is multiplied by the common factor; of the cells, rounds are also divided by
    it, as the map shows them.
    """
    factor, epsilon, cells = common_factor(grid), grid.epsilon, grid.columns()
    batch, I = (axis.ravel() for axis in np.meshgrid(BATCHES, STEPS))
    over = {"batch": batch, "I": I, "b": batch / K, "product": batch * I}
    line = {"epsilon": epsilon, "product": PRODUCTS}
    rounds = formula(PRODUCTS, epsilon)
    parts: list[dict[str, Any]] = [
        {"kind": "map", "epsilon": epsilon, **over, "rounds": formula(batch * I, epsilon)},
        {"kind": "formula", **line, "rounds": rounds},
        {"kind": "placed formula", **line, "rounds": factor.value * rounds},
        {"kind": "cell", **cells, "rounds_over_factor": cells["rounds"] / factor.value},
    ]
    facts = {"epsilon": epsilon, "corner": epsilon**-0.5, "replicates": grid.replicates}
    return FigureTable.of(COLUMNS, parts, factor=factor, **facts)


def draw(data: FigureTable, figure: Canvas) -> None:
    """Draw the surface as a map with the measured cells on it, and all of it against K b I."""
    left, right = figure.subplots(1, 2, width_ratios=[1.15, 1])
    _draw_map(data, figure, left)
    _draw_slice(data, right)


def _draw_map(data: FigureTable, figure: Canvas, ax: Axes) -> None:
    epsilon, corner, factor = (data.facts[name] for name in ("epsilon", "corner", "factor"))
    title = f"a  Rounds to $\\epsilon$ = {epsilon:g}: formula, and measured cells"
    panel = Panel(ax, data, "batch", "I", plain="xy", title=title)
    surface, cells = data.where(kind="map"), data.where(kind="cell")
    over = [surface.distinct(name) for name in ("batch", "I")]
    product, rounds = (
        surface[name].reshape(len(over[1]), len(over[0])) for name in ("product", "rounds")
    )
    scale = LogNorm(rounds.min() * 0.8, rounds.max())
    image = ax.pcolormesh(*over, rounds, norm=scale, shading="gouraud", rasterized=True)
    lines = ax.contour(*over, rounds, levels=LEVELS, colors="white", linewidths=0.9)
    # labels where the contours cross I = 2.4, between the rows of measured cells
    spots = [(corner / epsilon / level / 2.4, 2.4) for level in LEVELS]
    ax.clabel(lines, fmt=lambda level: f"{level:,.0f}", fontsize=7, manual=spots)
    beyond = ax.contourf(*over, product, levels=[corner, np.inf], colors="none", hatches=["///"])
    beyond.set(edgecolor="0.55", linewidth=0)
    ax.plot(corner / STEPS, STEPS, color="black")
    shade = cells["rounds_over_factor"]
    look: dict[str, Any] = {"edgecolors": "black", "linewidths": 1.2}
    ax.scatter(cells[panel.x], cells[panel.y], c=shade, norm=scale, s=75, zorder=3, **look)
    text = "rounds at their least, $1/\\epsilon$;\nmore samples than $\\epsilon^{-3/2}$"
    ax.text(0.97, 0.96, text, transform=ax.transAxes, ha="right", va="top", fontsize=8,
            bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.85})  # fmt: skip
    bar = figure.colorbar(image, ax=ax, pad=0.02, format=lambda value, _: f"{value:,.0f}")
    bar.set_label(f"{data.label('rounds')}\n(circles: measured / {factor.value:.2f})")
    ax.set(xlim=BATCHES[[0, -1]], ylim=STEPS[[0, -1]])
    ax.grid(visible=False)


def _draw_slice(data: FigureTable, ax: Axes) -> None:
    corner, factor = data.facts["corner"], data.facts["factor"]
    limits: dict[str, Any] = {"xlim": PRODUCTS[[0, -1]], "ylim": (600, None)}
    title = "b  The same cells against the product"
    panel = Panel(ax, data, "product", "rounds", plain="xy", title=title)
    ax.axvspan(corner, PRODUCTS[-1], facecolor="none", edgecolor="0.8", hatch="///", zorder=0)
    dashed: dict[str, Any] = {"color": "0.45", "linestyle": "--", "label": "formula, constants 1"}
    panel.line(data.where(kind="formula"), **dashed)
    placed = data.where(kind="placed formula")
    panel.line(placed, color="black", label=f"formula × {factor.value:.2f}")
    rows = sorted(data.where(kind="cell").groups("I"), key=lambda row: row[0])
    for i, ((I,), cells) in enumerate(rows):
        panel.marks(
            cells,
            aside=1.04 ** (i - (len(rows) - 1) / 2),  # equal products would hide each other
            marker=palette.MARKERS[i],
            color=palette.LOOKS["stem"].shade(i, len(rows)),
            label=f"measured, $I$ = {I:g}",
            markeredgecolor="white",
            markeredgewidth=0.5,
        )
    ax.set(**limits)
    ax.legend()


def caption(data: FigureTable) -> str:
    """Return what is seen and what is not claimed."""
    epsilon, corner, factor = (data.facts[name] for name in ("epsilon", "corner", "factor"))
    reached = np.isfinite(data.where(kind="cell")["rounds"])
    missing = int((~reached).sum())
    return (
        f"Communication rounds of STEM to an average squared gradient of epsilon ="
        f" {epsilon:g}, over minibatch size b and local steps I. Surface, contours and dashed"
        " line: the paper's max{1/eps, 1/(K b I eps^(3/2))} with every constant 1. Hatched: beyond"
        f" K b I = eps^(-1/2) = {corner:.1f}, where rounds no longer fall and the samples"
        " max{K b I/eps, eps^(-3/2)} exceed their optimum. Points:"
        f" {reached.sum()} cells measured by simulation at the same epsilon (quadratic with"
        f" phase noise, c = L_n = sigma = 1, L = sqrt 2, zeta = 0, K = {K}, x1 = 1; calibrated"
        " schedule C1 = 2, C2 = 256, C3 = 1/16; rounds are the last crossing of the running average"
        f" over I; {data.facts['replicates']} replicates, 95 % bootstrap intervals; in b, points of"
        " equal product are set slightly apart). In a, a circle that melts into the map agrees with"
        " it. The points are placed by one common factor, the median of measured/formula:"
        f" {factor.value:.2f}. What it leaves is"
        f" {factor.left[0]:.2f} to {factor.left[1]:.2f} left of the corner (a spread of"
        f" {factor.left[1] / factor.left[0]:.2f}) and {factor.right[0]:.2f} to"
        f" {factor.right[1]:.2f} right"
        " of it; at the corner the maximum is in truth a smooth bend, and cells lie above it."
        + (
            f" {missing} cells were not reached within their run and are not drawn."
            if missing
            else ""
        )
        + " Not claimed: the factor's value, which belongs to this problem and schedule; the rate"
        " in epsilon, since one epsilon is shown; the theorem's own schedule, whose constants put"
        " this epsilon out of a simulation's reach; and heterogeneous workers."
    )


SUMMARY = "communication rounds over (b, I), formula and measurement (Figure 1a)"
ENTRY = Figure(
    "tradeoff_surface", SUMMARY, table, draw, caption, size=(10.4, 4.2), seed=SEED, sweep="tradeoff"
)
