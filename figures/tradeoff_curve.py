"""Minibatch against local steps along nu, for STEM and FedAvg, and the rounds they take there.

With every constant 1 both curves are the one line b I = eps^{-1/2}; they differ in where a given nu
sits on it and in the rounds: eps^{-1} for STEM, eps^{-3/2} for FedAvg.

Paper: Figure (Fig: BvsI_SAMVR), Theorem (Thm: PR_Convergence_Main), Theorem (Thm:
Flexible_FedAvg).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from stemtheory.experiment import stored_sweep
from stemtheory.figures._tradeoff import (
    SEED,
    Cell,
    Grid,
    K,
    grid_of,
    measure,
    measured_grid,
    problem,
)
from stemtheory.report import Figure, Progress, log_bars, plain_log_axes
from stemtheory.simulator import hitting_time, interval, simulate

NUS = (0.0, 0.25, 0.5, 0.75, 1.0)
STEM_COLOUR, FEDAVG_COLOUR, CORNER_COLOUR = "#0072B2", "#D55E00", "black"
# epsilon of the runs along the curves: FedAvg takes 1/(K b eps^2) iterations at each T tried
CURVE_EPSILON = {"quick": 4e-3, "default": 4e-3, "full": 2e-3}
FEDAVG_REPLICATES = 32
FEDAVG_LENGTHS = (0.6, 0.85, 1.2, 1.7)


Place = Callable[[float, float], tuple[float, float]]


class Point(NamedTuple):
    """A (b, I) on the line K b I = eps^{-1/2} with its nu, and the rounds measured there."""

    nu: float
    cell: Cell


class Corner(NamedTuple):
    """Where, at one I, the branch C/(K b I) meets the plateau A: K b = C/(A I), with 95 % ends."""

    I: int
    batch: float
    low: float
    high: float


@dataclass(frozen=True)
class Curves:
    """The corners measured at the paper's epsilon, and the rounds along both curves at another."""

    grid: Grid
    corners: tuple[Corner, ...]
    epsilon: float
    stem: tuple[Point, ...]
    fedavg: tuple[Point, ...]

    @property
    def product(self) -> float:
        """K b I on the paper's line at the paper's epsilon."""
        return float(self.grid.epsilon**-0.5)


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


def prepare(mode: str, progress: Progress) -> Curves:
    """Return the measured corners and the measured rounds along both curves."""
    grid, epsilon = measured_grid(mode, progress), CURVE_EPSILON[mode]
    # K workers: the curves hold with K^2 eps in the place of eps, and then K b I = eps^{-1/2}.
    longest = epsilon**-0.5 / K
    steps = [2**n for n in range(8) if 2**n <= longest * 1.05]
    at = [(max(1.0, longest / I), I) for I in steps]
    progress(f"measuring rounds of STEM along its curve at epsilon = {epsilon:g}")
    stem = [measure(b, I, epsilon, grid.replicates) for b, I in at]
    progress(f"measuring rounds of FedAvg along its curve at epsilon = {epsilon:g}")
    fedavg = [fedavg_cell(b, I, epsilon) for b, I in at]
    return _curves(grid, epsilon, stem, fedavg)


def stored(mode: str, store: Path) -> Curves:
    """Return the same from a store of sweep ``tradeoff``."""
    found = stored_sweep("tradeoff", mode, store, ("surface", "curve_stem", "curve_fedavg"))
    stem, fedavg = (grid_of(found, name) for name in ("curve_stem", "curve_fedavg"))
    return _curves(grid_of(found), stem.epsilon, list(stem.cells), list(fedavg.cells))


def _curves(grid: Grid, epsilon: float, stem: list[Cell], fedavg: list[Cell]) -> Curves:
    scaled = K * K * epsilon
    return Curves(
        grid,
        corners(grid),
        epsilon,
        _points(stem, stem_nu, scaled),
        _points(fedavg, fedavg_nu, scaled),
    )


def corners(grid: Grid) -> tuple[Corner, ...]:
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


def fedavg_cell(b: float, I: int, epsilon: float) -> Cell:
    """Return FedAvg's rounds to epsilon at one (b, I): its step size depends on T, so one run each.

    The runs are independent; a resample draws the replicates of each anew.
    """
    expected = 1.06 / (K * b * epsilon**2)
    lengths = [I * math.ceil(share * expected / I) for share in FEDAVG_LENGTHS]
    runs = [
        simulate(
            problem(),
            "fedavg",
            T=T,
            b=b,
            I=I,
            schedule="calibrated",
            replicates=FEDAVG_REPLICATES,
            seed=SEED,
        )
        for T in lengths
    ]
    averages = np.stack([run.grad_sq for run in runs])
    time = hitting_time(lengths, averages, epsilon, seed=SEED, key=(1, round(1000 * b), I))
    return Cell(b, I, time.T / I, time.low / I, time.high / I, time.resampled / I)


def _points(
    cells: list[Cell], nu: Callable[[float, float], float], scaled: float
) -> tuple[Point, ...]:
    """Cells with their nu, at most 1 where the last I is rounded up past the curve's end."""
    return tuple(Point(min(1.0, nu(cell.I, scaled)), cell) for cell in cells)


def draw(data: Curves, figure: Canvas) -> None:
    """Draw b against I with nu along it, and the rounds against nu."""
    left, right = figure.subplots(1, 2, width_ratios=[1.1, 1])
    _draw_line(data, left)
    _draw_rounds(data, right)


def _draw_line(data: Curves, ax: Axes) -> None:
    plain_log_axes(ax)
    ends = np.array([1, data.product])
    ax.plot(ends, data.product / ends, color="0.6", linewidth=3, solid_capstyle="round", zorder=1)
    curves = (
        ("STEM", stem_point, STEM_COLOUR, "o", 1.18, "left", "bottom"),
        ("FedAvg", fedavg_point, FEDAVG_COLOUR, "s", 1 / 1.18, "right", "top"),
    )
    for name, point, colour, marker, aside, ha, va in curves:
        places = [point(nu, data.grid.epsilon) for nu in NUS]
        on = np.array(places)
        off = on * aside
        for (I, b), (I_off, b_off), nu in zip(on, off, NUS, strict=True):
            ax.plot([I, I_off], [b, b_off], color=colour, linewidth=0.8)
            ax.annotate(
                f"{nu:g}",
                (I_off, b_off),
                xytext=(4 if ha == "left" else -4, 3 if va == "bottom" else -3),
                textcoords="offset points",
                ha=ha,
                va=va,
                fontsize=8,
                color=colour,
            )
        label = f"{name}: its place at each $\\nu$"
        ax.plot(*off.T, linestyle="none", marker=marker, color=colour, label=label)
    log_bars(
        ax,
        [corner.I for corner in data.corners],
        [corner.batch for corner in data.corners],
        [corner.low for corner in data.corners],
        [corner.high for corner in data.corners],
        marker="D",
        markersize=5,
        color=CORNER_COLOUR,
        markeredgecolor="white",
        label="STEM: measured corner",
        zorder=4,
    )
    ax.plot([], [], color="0.6", linewidth=3, label="formula: $K\\,b\\,I = \\epsilon^{-1/2}$")
    ax.set(xlim=(0.6, 60), ylim=(0.6, 60))
    ax.set_xlabel("local steps per round, $I$")
    ax.set_ylabel("samples per minibatch over all workers, $K\\,b$")
    ax.set_title(f"a  Minibatch against local steps, $\\epsilon$ = {data.grid.epsilon:g}")
    ax.legend(loc="upper right")


def _draw_rounds(data: Curves, ax: Axes) -> None:
    rows = (
        ("STEM", data.stem, STEM_COLOUR, "o", 1.0, "\\epsilon^{-1}"),
        ("FedAvg", data.fedavg, FEDAVG_COLOUR, "s", 1.5, "\\epsilon^{-3/2}"),
    )
    ax.set_yscale("log")
    for name, points, colour, marker, power, text in rows:
        level = data.epsilon**-power
        ax.axhline(level, color=colour, linestyle="--", linewidth=1.2)
        ax.annotate(
            f"${text}$ = {level:,.0f}",
            (0.5, level),
            xytext=(0, -4),
            textcoords="offset points",
            ha="center",
            va="top",
            fontsize=8,
            color=colour,
        )
        log_bars(
            ax,
            [point.nu for point in points],
            [point.cell.rounds for point in points],
            [point.cell.low for point in points],
            [point.cell.high for point in points],
            marker=marker,
            color=colour,
            label=f"{name}, measured",
        )
    ax.plot([], [], color="0.3", linestyle="--", linewidth=1.2, label="formula, constants 1")
    ax.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    ax.set(xlim=(-0.08, 1.08), ylim=(0.4 / data.epsilon, 5 * data.epsilon**-1.5))
    ax.set_xlabel("$\\nu$ (0: large minibatch, one step; 1: small minibatch, many steps)")
    ax.set_ylabel("communication rounds")
    ax.set_title(f"b  Rounds along the curves, $\\epsilon$ = {data.epsilon:g}, $K$ = {K}")
    ax.legend(loc="upper right")


def caption(data: Curves) -> str:
    """Return what is seen and what is not claimed."""
    grid = data.grid
    listed = ", ".join(
        f"{corner.I} x {corner.batch:.2g} = {corner.I * corner.batch:.1f}"
        for corner in data.corners
    )
    stem = _range(data.stem, data.epsilon**-1)
    fedavg = _range(data.fedavg, data.epsilon**-1.5)
    return (
        f"(a) The trade-off line K b I = eps^(-1/2) = {data.product:.1f} at epsilon ="
        f" {grid.epsilon:g} with every constant 1: it is the same for STEM and FedAvg; the marks,"
        " set off to either side, show where each algorithm's formula puts nu = 0, 1/4, 1/2, 3/4"
        " and 1. Diamonds: corners measured for STEM at the same epsilon, from the cells of figure"
        f" tradeoff_surface (quadratic with phase noise, K = {K}, calibrated schedule,"
        f" {grid.replicates} replicates). At each I, rounds of the shape max{{A, C/(K b I)}} are"
        " fitted, A the rounds at the largest b and C the geometric mean of K b I times rounds over"
        " the cells with at least 2A; the corner is K b = C/(A I). I x K b at the corners:"
        f" {listed}. An I without cells on both branches has none. (b) Rounds measured along both"
        f" curves at epsilon = {data.epsilon:g}, K = {K}, K b I = eps^(-1/2) ="
        f" {data.epsilon**-0.5:.1f}, the same problem, calibrated schedules (FedAvg's step depends"
        f" on T: one set of runs per T, interpolated). Measured/formula: STEM {stem}, FedAvg"
        f" {fedavg}. Bars: 95 % bootstrap over replicates. Not claimed: a measured corner for"
        " FedAvg (at I = 1 a larger minibatch keeps lowering its rounds, down to order 1/eps: its"
        " eps^(-3/2) belongs to the curve, not to minibatch SGD); exponents, since each panel shows"
        " one epsilon; a best nu, since the rounds hardly depend on it; and heterogeneous workers"
        " (zeta = 0 here)."
    )


def _range(points: tuple[Point, ...], level: float) -> str:
    ratios = [point.cell.rounds / level for point in points if np.isfinite(point.cell.rounds)]
    return f"{min(ratios):.2f} to {max(ratios):.2f}" if ratios else "not reached"


ENTRY = Figure(
    name="tradeoff_curve",
    summary="minibatch b against local steps I along nu, STEM and FedAvg (Figure 1b)",
    prepare=prepare,
    draw=draw,
    caption=caption,
    size=(10.4, 4.4),
    seed=SEED,
    stored=stored,
)
