"""Minibatch against local steps along nu, for STEM and FedAvg, and the rounds they take there.

With every constant 1 both curves are the one line b I = eps^{-1/2}; they differ in where a given nu
sits on it and in the rounds: eps^{-1} for STEM, eps^{-3/2} for FedAvg.

Paper: Figure (Fig: BvsI_SAMVR), Theorem (Thm: PR_Convergence_Main), Theorem (Thm:
Flexible_FedAvg).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from stemtheory.figures._tradeoff import BATCH, CELL, SEED, K, MeasuredGrid, measured
from stemtheory.report import Figure, FigureTable, Panel, Progress, Quantity, palette
from stemtheory.runtime import large
from stemtheory.simulator import interval

NUS = (0.0, 0.25, 0.5, 0.75, 1.0)
CORNER = BATCH._replace(ends=("batch_low", "batch_high"))
COLUMNS = (
    *(Quantity(name) for name in ("kind", "algorithm")),
    Quantity("nu", "$\\nu$ (0: large minibatch, one step; 1: small minibatch, many steps)"),
    *(CORNER if column == BATCH else column for column in CELL),
    *(Quantity(name) for name in ("batch_low", "batch_high")),
)


class Corner(NamedTuple):
    """Where, at one I, the branch C/(K b I) meets the plateau A: K b = C/(A I), with 95 % ends."""

    I: int
    batch: float
    batch_low: float
    batch_high: float


def stem_point(nu: float, epsilon: float) -> tuple[float, float]:
    """Return (I, b) of STEM: eps^{-nu/(3-nu)} and eps^{-3(1-nu)/(2(3-nu))}.

    Paper: Table (Table: Comparison), Figure (Fig: BvsI_SAMVR).
    """
    return epsilon ** (-nu / (3 - nu)), epsilon ** (-3 * (1 - nu) / (2 * (3 - nu)))


def fedavg_point(nu: float, epsilon: float) -> tuple[float, float]:
    """Return (I, b) of FedAvg: eps^{-3nu/(2(4-nu))} and eps^{-2(1-nu)/(4-nu)}.

    Paper: Table (Table: Comparison), Theorem (Thm: Flexible_FedAvg).
    """
    return epsilon ** (-3 * nu / (2 * (4 - nu))), epsilon ** (-2 * (1 - nu) / (4 - nu))


def stem_nu(I: float, epsilon: float) -> float:
    """Return the nu at which STEM's curve has this I: r = nu/(3-nu) gives nu = 3r/(1+r)."""
    r = -math.log(I) / math.log(epsilon)
    return 3 * r / (1 + r)


def fedavg_nu(I: float, epsilon: float) -> float:
    """Return the nu at which FedAvg's curve has this I: r = 3nu/(2(4-nu)) gives nu = 8r/(3+2r)."""
    r = -math.log(I) / math.log(epsilon)
    return 8 * r / (3 + 2 * r)


class CurveStyle(NamedTuple):
    """One algorithm's curve, the power of epsilon in its rounds, and how it is drawn."""

    place: Callable[[float, float], tuple[float, float]]
    nu: Callable[[float, float], float]
    power: float
    formula: str
    colour: str
    marker: str
    aside: float  # its places stand off the line, to either side


CURVES = {
    "STEM": CurveStyle(
        stem_point, stem_nu, 1.0, "\\epsilon^{-1}", *palette.LOOKS["stem"][:2], 1.18
    ),
    "FedAvg": CurveStyle(
        fedavg_point, fedavg_nu, 1.5, "\\epsilon^{-3/2}", *palette.LOOKS["fedavg"][:2], 1 / 1.18
    ),
}


def table(mode: str, store: Path | None, progress: Progress) -> FigureTable:
    """Return the measured corners and the measured rounds along both curves."""
    grids = (
        measured(name, mode, store, progress) for name in ("surface", "curve_stem", "curve_fedavg")
    )
    return table_of(*grids)


def table_of(surface: MeasuredGrid, stem: MeasuredGrid, fedavg: MeasuredGrid) -> FigureTable:
    """Return the table of measured grids.

    ``place``: where a formula puts nu on the ``line`` K b I = eps^{-1/2}, at the epsilon of the
    surface. ``corner``: measured there. ``measured``: rounds along the curve of an algorithm, and
    ``formula``: what it says of them, with every constant 1.
    """
    product = surface.epsilon**-0.5
    line = {"I": [1.0, product], "batch": [product, 1.0], "product": product}
    parts: list[dict[str, Any]] = [{"kind": "line", "epsilon": surface.epsilon, **line}]
    for name, grid in (("STEM", stem), ("FedAvg", fedavg)):
        curve, who = CURVES[name], {"algorithm": name}
        I, batch = np.array([curve.place(nu, surface.epsilon) for nu in NUS]).T
        at = {"epsilon": surface.epsilon, "I": I, "batch": batch, "product": I * batch}
        parts.append({"kind": "place", **who, "nu": NUS, **at})
        # K workers: the curves hold with K^2 eps in the place of eps, and then K b I = eps^{-1/2}.
        # The last I may be rounded up past the curve's end.
        scaled = K * K * grid.epsilon
        nu = [min(1.0, curve.nu(cell.I, scaled)) for cell in grid.cells]
        parts.append({"kind": "measured", **who, "nu": nu, **grid.columns()})
        level = grid.epsilon**-curve.power
        parts.append({"kind": "formula", **who, "epsilon": grid.epsilon, "rounds": level})
    parts += [{"kind": "corner", **corner._asdict()} for corner in corners(surface)]
    return FigureTable.of(COLUMNS, parts, epsilon=surface.epsilon, replicates=surface.replicates)


def corners(grid: MeasuredGrid) -> tuple[Corner, ...]:
    """Return the measured corner of every I that has cells on both branches.

    The paper's shape max{A, C/(K b I)} is fitted at each I: A is the rounds of the largest b (at
    least four times beyond the predicted corner), C the geometric mean of K b I times rounds over
    the cells with at least 2 A. Resamples are paired at random: cells are independent.
    """
    found = []
    for I in sorted({cell.I for cell in grid.reached}):
        row = sorted((cell for cell in grid.reached if cell.I == I), key=lambda cell: cell.b)
        plateau = row[-1]
        branch = [cell for cell in row if cell.rounds >= 2 * plateau.rounds]
        if not branch or plateau.product < 4 * grid.epsilon**-0.5:
            continue
        logs = [math.log(cell.batch * cell.rounds / plateau.rounds) for cell in branch]
        with np.errstate(invalid="ignore"):  # not reached in both: NaN, and so no interval
            resampled = [np.log(c.batch * c.resampled / plateau.resampled) for c in branch]
        low, high = interval(np.exp(np.mean(resampled, axis=0)))
        found.append(Corner(I, math.exp(sum(logs) / len(logs)), low, high))
    return tuple(found)


def draw(data: FigureTable, figure: Canvas) -> None:
    """Draw b against I with nu along it, and the rounds against nu."""
    left, right = figure.subplots(1, 2, width_ratios=[1.1, 1])
    _draw_line(data, left)
    _draw_rounds(data, right)


def _draw_line(data: FigureTable, ax: Axes) -> None:
    title = f"a  Minibatch against local steps, $\\epsilon$ = {data.facts['epsilon']:g}"
    limits: dict[str, Any] = {"xlim": (0.6, 60), "ylim": (0.6, 60)}
    panel = Panel(ax, data, "I", "batch", plain="xy", title=title, **limits)
    look: dict[str, Any] = {"color": "0.6", "linewidth": 3}
    panel.line(data.where(kind="line"), **look, solid_capstyle="round", zorder=1)
    for name, curve in CURVES.items():
        _draw_places(panel, data.where(kind="place", algorithm=name), name, curve)
    panel.marks(
        data.where(kind="corner"),
        **palette.LOOKS["stem"].style(markerfacecolor="white", markersize=7),
        label="STEM: measured corner",
        zorder=4,
    )
    panel.key("formula: $K\\,b\\,I = \\epsilon^{-1/2}$", **look)
    ax.legend(loc="upper right")


def _draw_places(panel: Panel, rows: FigureTable, name: str, curve: CurveStyle) -> None:
    """Mark where an algorithm's formula puts each nu, set off from the line."""
    above, colour = curve.aside > 1, curve.colour
    where = {"ha": "left", "va": "bottom"} if above else {"ha": "right", "va": "top"}
    for nu, I, batch in zip(rows["nu"], rows["I"], rows["batch"], strict=True):
        off = I * curve.aside, batch * curve.aside
        panel.ax.plot([I, off[0]], [batch, off[1]], color=colour, linewidth=0.8)
        offset = (4, 3) if above else (-4, -3)
        panel.note(f"{nu:g}", off, offset, fontsize=8, color=colour, **where)
    off_line = rows["I"] * curve.aside, rows["batch"] * curve.aside
    label = f"{name}: its place at each $\\nu$"
    panel.ax.plot(*off_line, curve.marker, color=colour, label=label)


def _draw_rounds(data: FigureTable, ax: Axes) -> None:
    epsilon = data.where(kind="measured")["epsilon"][0]
    title = f"b  Rounds along the curves, $\\epsilon$ = {epsilon:g}, $K$ = {K}"
    panel = Panel(ax, data, "nu", "rounds", log="y", title=title, xlim=(-0.08, 1.08))
    for name, curve in CURVES.items():
        colour = curve.colour
        level = data.one("rounds", kind="formula", algorithm=name)
        ax.axhline(level, color=colour, linestyle="--", linewidth=1.2)
        look: dict[str, Any] = {"ha": "center", "va": "top", "fontsize": 8, "color": colour}
        panel.note(f"${curve.formula}$ = {level:,.0f}", (0.5, level), (0, -4), **look)
        rows = data.where(kind="measured", algorithm=name)
        panel.marks(rows, marker=curve.marker, color=colour, label=f"{name}, measured")
    panel.key("formula, constants 1", "--", linewidth=1.2)
    ax.yaxis.set_major_formatter(lambda value, _: large(value))
    ax.set(ylim=(0.4 / epsilon, 5 * epsilon**-1.5))
    ax.legend(loc="upper right")


def caption(data: FigureTable) -> str:
    """Return what is seen and what is not claimed."""
    facts, product = data.facts, data.where(kind="line")["product"][0]
    found = data.where(kind="corner")
    listed = ", ".join(
        f"{I:g} x {batch:.2g} = {I * batch:.1f}"
        for I, batch in zip(found["I"], found["batch"], strict=True)
    )
    epsilon = data.where(kind="measured")["epsilon"][0]
    stem, fedavg = (_range(data.where(algorithm=name)) for name in CURVES)
    return (
        f"(a) The trade-off line K b I = eps^(-1/2) = {product:.1f} at epsilon ="
        f" {facts['epsilon']:g} with every constant 1: it is the same for STEM and FedAvg; the"
        " marks, set off to either side, show where each algorithm's formula puts nu = 0, 1/4, 1/2,"
        " 3/4 and 1. Hollow: corners measured for STEM at the same epsilon, from the cells of"
        f" figure tradeoff_surface (quadratic with phase noise, K = {K}, calibrated schedule,"
        f" {facts['replicates']} replicates). At each I, rounds of the shape max{{A, C/(K b I)}}"
        " are fitted, A the rounds at the largest b and C the geometric mean of K b I times rounds"
        " over the cells with at least 2A; the corner is K b = C/(A I). I x K b at the corners:"
        f" {listed}. An I without cells on both branches has none. (b) Rounds measured along both"
        f" curves at epsilon = {epsilon:g}, K = {K}, K b I = eps^(-1/2) ="
        f" {epsilon**-0.5:.1f}, the same problem, calibrated schedules (FedAvg's step depends"
        f" on T: one set of runs per T, interpolated). Measured/formula: STEM {stem}, FedAvg"
        f" {fedavg}. Bars: 95 % bootstrap over replicates. Not claimed: a measured corner for"
        " FedAvg (at I = 1 a larger minibatch keeps lowering its rounds, down to order 1/eps: its"
        " eps^(-3/2) belongs to the curve, not to minibatch SGD); exponents, since each panel shows"
        " one epsilon; a best nu, since the rounds hardly depend on it; and heterogeneous workers"
        " (zeta = 0 here)."
    )


def _range(rows: FigureTable) -> str:
    """Return the range of measured/formula, among those that were reached."""
    ratios = rows.where(kind="measured")["rounds"] / rows.one("rounds", kind="formula")
    seen = ratios[np.isfinite(ratios)]
    return f"{min(seen):.2f} to {max(seen):.2f}" if len(seen) else "not reached"


SUMMARY = "minibatch b against local steps I along nu, STEM and FedAvg (Figure 1b)"
ENTRY = Figure(
    "tradeoff_curve", SUMMARY, table, draw, caption, size=(10.4, 4.4), seed=SEED, sweep="tradeoff"
)
