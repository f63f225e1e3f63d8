"""How far the bounds stand above the measurement, and from which T on they say anything.

A bound that is not below ||grad f(x1)||^2 is vacuous: standing still is no worse. Bounds are drawn
far beyond the runs, because that is where they start to speak.

Paper: Thm: PR_Convergence_Main_App, eq. (Eq: Grad_Norm_Sum).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.ticker import LogFormatterSciNotation

from stemtheory.bounds import Setting, bound_curve, evaluate, invert
from stemtheory.experiment import SweepResult, stored_sweep, swept
from stemtheory.report import Figure, Progress, log_bars
from stemtheory.runtime import Floats, UsageError

if TYPE_CHECKING:
    import pandas as pd

if TYPE_CHECKING:
    import pandas as pd

NUS = (0.0, 0.5, 1.0)
BOUNDS_SHOWN = {  # label, colour, line
    "stem-theorem": ("printed", "#0072B2", "-"),
    "stem-repaired-explicit": ("repaired, explicit", "#CC79A7", "-"),
    "stem-intermediate": ("printed, before the log step", "#E69F00", "-"),
    "stem-repaired": ("repaired", "#D55E00", "--"),
    "stem-log-free": ("log-free corollary", "#009E73", ":"),
}
LENGTHS = np.geomspace(200, 1e14, 95)
MARKERS = "osD^vP"


class Instance(NamedTuple):
    """One problem: its constants as bounds take them, and ||grad f(x1)||^2."""

    problem: str
    K: int
    L: float
    sigma: float
    zeta: float
    gap: float
    start: float


class Measured(NamedTuple):
    """M(T) of one problem at one nu with 95 % half-widths."""

    problem: str
    nu: float
    T: Floats
    M: Floats
    half: Floats


class Line(NamedTuple):
    """One bound at one nu for the largest gap, over ``LENGTHS``; NaN where a premise is unmet.

    ``informative`` are the least T at which it is at most ||grad f(x1)||^2, for the problem where
    that comes first and last; infinite where it does not before 1e44. ``level`` is the
    ||grad f(x1)||^2 of the last one.
    """

    name: str
    nu: float
    values: Floats
    informative: tuple[float, float]
    level: float


@dataclass(frozen=True)
class Margins:
    """Measured points and the bounds at every nu."""

    measured: tuple[Measured, ...]
    lines: tuple[Line, ...]
    instances: tuple[Instance, ...]
    replicates: int


def prepare(mode: str, progress: Progress) -> Margins:
    """Return the data of sweep ``margins``, run on the spot."""
    return margins_of(swept("margins", mode, progress))


def stored(mode: str, store: Path) -> Margins:
    """Return the same from its store."""
    return margins_of(stored_sweep("margins", mode, store))


def margins_of(found: SweepResult) -> Margins:
    """Return STEM's points at nu = 0, 1/2 and 1, and the bounds at the same constants."""
    frame = found.frame
    frame = frame[(frame["label"] == "stem") & (frame["status"] == "ok") & frame["nu"].isin(NUS)]
    measured: list[Measured] = []
    instances: dict[str, Instance] = {}
    for (problem, _), own in frame.sort_values("T").groupby(["problem", "nu"], sort=False):
        instances[str(problem)] = _instance(str(problem), own)
        T, M, stderr = own[["T", "mean_grad_sq", "stderr"]].to_numpy(np.float64).T
        measured.append(Measured(str(problem), float(own["nu"].iloc[0]), T, M, 1.96 * stderr))
    every = tuple(instances.values())
    lines = tuple(_line(name, nu, every) for name in BOUNDS_SHOWN for nu in NUS)
    return Margins(tuple(measured), lines, every, found.points[0].cell.replicates)


def _instance(problem: str, rows: pd.DataFrame) -> Instance:
    """The constants are those of every row."""
    names = ["K", "L", "sigma", "zeta", "gap", "grad_sq_start"]
    K, L, sigma, zeta, gap, start = rows[names].to_numpy(np.float64)[0]
    return Instance(problem, int(K), L, sigma, zeta, gap, start)


def _line(name: str, nu: float, instances: tuple[Instance, ...]) -> Line:
    widest = max(instances, key=lambda instance: instance.gap)
    values = np.array([_value(name, nu, widest, T) for T in LENGTHS])
    first = sorted((_informative(name, nu, i), i.start) for i in instances)
    return Line(name, nu, values, (first[0][0], first[-1][0]), first[-1][1])


def _value(name: str, nu: float, at: Instance, T: float) -> float:
    """The bound along the curve; NaN where it does not apply."""
    curve = bound_curve(name, T, at.K, nu, at.L)
    whole = curve.I * round(T / curve.I)
    setting = Setting(whole, at.K, curve.b, curve.I, at.L, at.sigma, at.zeta, at.gap)
    bound = evaluate(name, setting)
    return bound.value if bound.applies else math.nan


def _informative(name: str, nu: float, at: Instance) -> float:
    """The least T at which the bound is at most ||grad f(x1)||^2; infinite if it never applies."""
    try:
        found = invert(
            name, at.start, K=at.K, L=at.L, sigma=at.sigma, zeta=at.zeta, gap=at.gap, nu=nu
        )
    except UsageError:
        return math.inf
    return float(found.T) if found.bound.applies else math.inf


def draw(data: Margins, figure: Canvas) -> None:
    """Draw one panel for each nu."""
    panels = figure.subplots(1, len(NUS), sharey=True)
    for ax, nu, letter in zip(panels, NUS, "abc", strict=True):
        _draw_panel(data, ax, nu)
        ax.set_title(f"{letter}  $\\nu$ = {nu:g}")
        ax.set_xlabel("iterations, $T$")
    panels[0].set_ylabel("$E\\,||\\nabla f(\\bar x_a)||^2$")
    figure.legend(
        *panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=6, fontsize=8
    )


def _draw_panel(data: Margins, ax: Axes, nu: float) -> None:
    starts = [instance.start for instance in data.instances]
    ax.set(xscale="log", yscale="log", xlim=(150, LENGTHS[-1]), ylim=(1e-6, 1e5))
    ax.axhspan(max(starts), 1e5, color="0.88", linewidth=0, zorder=0)
    ax.axhspan(min(starts), max(starts), color="0.95", linewidth=0, zorder=0)
    ax.text(0.97, 0.97, "vacuous: no better than standing still", transform=ax.transAxes,
            ha="right", va="top", fontsize=8, color="0.35")  # fmt: skip
    for line in (line for line in data.lines if line.nu == nu):
        label, colour, style = BOUNDS_SHOWN[line.name]
        ax.plot(LENGTHS, line.values, color=colour, linestyle=style, linewidth=1.6, label=label)
        if math.isfinite(line.informative[1]):
            ax.plot([line.informative[1]], [line.level], marker="v", color=colour, zorder=5)
    own = [m for m in data.measured if m.nu == nu]
    for m, marker in zip(own, MARKERS, strict=False):
        low, high = m.M - m.half, m.M + m.half
        log_bars(ax, m.T, m.M, low, high, marker=marker, color="black", markersize=4,
                 label=m.problem.replace("_", "-"))  # fmt: skip
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(LogFormatterSciNotation())


def caption(data: Margins) -> str:
    """Return what is seen and what is not claimed."""
    table = "; ".join(
        f"{label} " + ", ".join(_range(line) for line in data.lines if line.name == name)
        for name, (label, *_) in BOUNDS_SHOWN.items()
    )
    first, gaps = data.instances[0], [instance.gap for instance in data.instances]
    return (
        "Measured average squared gradient of STEM along its trade-off curve with the theorem's"
        f" schedule (points; {len(data.instances)} problems, K = {first.K}, L = {first.L:g}, sigma"
        f" = {first.sigma:g}, zeta = {first.zeta:g}, {data.replicates} replicates, 95 % intervals)"
        " against the bounds at the same constants and the largest gap (the least is"
        f" {min(gaps) / max(gaps):.2f} of it). A line stops where a premise of its bound is unmet."
        " Shaded: vacuous, at least ||grad f(x1)||^2, so that standing still is no worse; darker"
        " for every problem, lighter for some. Triangles: from there on a bound is informative for"
        f" every problem. The least T for the first and the last one, at nu = 0, 1/2, 1: {table}."
        " The printed bound and the one before its log step differ by the logarithm and the"
        " constants 256^2 and 64^2 of that step alone; the latter nearly coincides with the"
        " repaired ones, which need I of at least 2 and are drawn at I = 2 where"
        " nu = 0. Not claimed: that margins are the same on every problem; a comparison of what the"
        " bounds assume (repaired ones hold for the readings literal and average-first);"
        " and measurements beyond the runs shown."
    )


def _range(line: Line) -> str:
    return " to ".join("never" if math.isinf(T) else f"{T:.1e}" for T in line.informative)


ENTRY = Figure(
    name="margins",
    summary="measurement against the printed, repaired and log-free bounds, vacuous regions shaded",
    prepare=prepare,
    draw=draw,
    caption=caption,
    size=(11.4, 4.6),
    stored=stored,
)
