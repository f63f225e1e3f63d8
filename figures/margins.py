"""How far the bounds stand above the measurement, and from which T on they say anything.

A bound that is not below ||grad f(x1)||^2 is vacuous: standing still is no worse. Bounds are drawn
far beyond the runs, because that is where they start to speak.

Paper: Thm: PR_Convergence_Main_App, eq. (Eq: Grad_Norm_Sum).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.ticker import LogFormatterSciNotation

from stemtheory.bounds import Setting, bound_curve, evaluate, invert
from stemtheory.experiment import SweepResult, sweep_for
from stemtheory.report import Figure, FigureTable, Panel, Progress, Quantity, palette
from stemtheory.runtime import UsageError

NUS = (0.0, 0.5, 1.0)
BOUNDS_SHOWN = {  # label, colour, line
    "stem-theorem": ("printed", palette.BLUE, "-"),
    "stem-repaired-explicit": ("repaired, explicit", palette.PURPLE, "-"),
    "stem-intermediate": ("printed, before the log step", palette.ORANGE, "-"),
    "stem-repaired": ("repaired", palette.VERMILION, "--"),
    "stem-log-free": ("log-free corollary", palette.GREEN, ":"),
}
FIRST, SHARE = 150, 0.6  # where the axis of T begins, and how much of it the runs get
LENGTHS = np.geomspace(200, 1e14, 95)
COLUMNS = (
    *(Quantity(name) for name in ("kind", "series", "nu")),
    Quantity("T", "iterations, $T$"),
    Quantity("M", "$E\\,||\\nabla f(\\bar x_a)||^2$", ("M_low", "M_high")),
    *(Quantity(name) for name in ("M_low", "M_high")),
)


class MarginProblem(NamedTuple):
    """One problem: its constants as bounds take them, and ||grad f(x1)||^2."""

    problem: str
    K: int
    L: float
    sigma: float
    zeta: float
    gap: float
    start: float


def table(mode: str, store: Path | None, progress: Progress) -> FigureTable:
    """Return STEM's points of sweep ``margins`` at nu = 0, 1/2 and 1, and the bounds on them."""
    return table_of(sweep_for("margins", mode, store, progress))


def table_of(found: SweepResult) -> FigureTable:
    """Return the table of a finished sweep.

    Measured points have 95 % intervals. A bound is that at the constants of the problems and the
    largest gap, NaN where a premise is unmet. ``informative first`` and ``last``: the least T at
    which a bound is at most ||grad f(x1)||^2 of the problem where that comes first or last, beside
    that level; infinite where it does not before 1e44. ``start``: that level of every problem.
    """
    frame = found.frame
    frame = frame[(frame["label"] == "stem") & (frame["status"] == "ok") & frame["nu"].isin(NUS)]
    parts: list[dict[str, Any]] = []
    constants = ["K", "L", "sigma", "zeta", "gap", "grad_sq_start"]
    problems: dict[str, MarginProblem] = {}
    for (name, nu), own in frame.sort_values("T").groupby(["problem", "nu"], sort=False):
        K, *rest = own[constants].to_numpy(np.float64)[0]
        problems[str(name)] = MarginProblem(str(name), int(K), *rest)
        T, M, stderr = own[["T", "mean_grad_sq", "stderr"]].to_numpy(np.float64).T
        ends = {"M_low": M - 1.96 * stderr, "M_high": M + 1.96 * stderr}
        who = {"kind": "measured", "series": str(name), "nu": nu}
        parts.append({**who, "T": T, "M": M, **ends})
    every = list(problems.values())
    parts += [{"kind": "start", "series": p.problem, "M": p.start} for p in every]
    parts += (part for name in BOUNDS_SHOWN for nu in NUS for part in bound_rows(name, nu, every))
    gaps = [p.gap for p in every]
    facts = {**every[0]._asdict(), "least_gap": min(gaps) / max(gaps)}
    return FigureTable.of(COLUMNS, parts, replicates=found.points[0].cell.replicates, **facts)


def bound_rows(name: str, nu: float, problems: list[MarginProblem]) -> Iterator[dict[str, Any]]:
    """Yield one bound at one nu over LENGTHS, and where it becomes informative."""
    widest = max(problems, key=lambda problem: problem.gap)
    who = {"series": name, "nu": nu}
    yield {"kind": "bound", **who, "T": LENGTHS, "M": [value(name, nu, widest, T) for T in LENGTHS]}
    reached = sorted((informative(name, nu, p), p.start) for p in problems)
    for place, (T, start) in (("first", reached[0]), ("last", reached[-1])):
        yield {"kind": f"informative {place}", **who, "T": T, "M": start}


def value(name: str, nu: float, at: MarginProblem, T: float) -> float:
    """Return the bound along the curve; NaN where it does not apply."""
    curve = bound_curve(name, T, at.K, nu, at.L)
    whole = curve.I * round(T / curve.I)
    setting = Setting(whole, at.K, curve.b, curve.I, at.L, at.sigma, at.zeta, at.gap)
    bound = evaluate(name, setting)
    return bound.value if bound.applies else math.nan


def informative(name: str, nu: float, at: MarginProblem) -> float:
    """Return the least T at which the bound is at most ||grad f(x1)||^2; infinite if at none."""
    constants: dict[str, Any] = {"L": at.L, "sigma": at.sigma, "zeta": at.zeta, "gap": at.gap}
    try:
        found = invert(name, at.start, K=at.K, nu=nu, **constants)
    except UsageError:
        return math.inf
    return float(found.T) if found.bound.applies else math.inf


def stretched(split: float) -> tuple[Any, Any]:
    """Return the scale of T and its inverse: two logarithmic ones, of which the runs get SHARE."""
    at = np.log10([FIRST, split, LENGTHS[-1]])
    places = np.array([0.0, SHARE, 1.0])
    slope = np.diff(places) / np.diff(at)

    def forward(T: Any) -> Any:
        log = np.log10(np.maximum(T, 1e-9))
        step = np.where(log < at[1], slope[0], slope[1])
        return SHARE + step * (log - at[1])

    def inverse(place: Any) -> Any:
        off = np.asarray(place) - SHARE
        return 10.0 ** (at[1] + off / np.where(off < 0, slope[0], slope[1]))

    return forward, inverse


def draw(data: FigureTable, figure: Canvas) -> None:
    """Draw one panel for each nu."""
    panels = figure.subplots(1, len(NUS), sharey=True)
    for ax, nu, letter in zip(panels, NUS, "abc", strict=True):
        _draw_panel(data, ax, nu, title=f"{letter}  $\\nu$ = {nu:g}")
    for ax in panels[1:]:
        ax.set_ylabel("")  # as in a
    figure.legend(
        *panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=6, fontsize=8
    )


def _draw_panel(data: FigureTable, ax: Axes, nu: float, title: str) -> None:
    limits: dict[str, Any] = {"xlim": (FIRST, LENGTHS[-1]), "ylim": (1e-6, 1e5)}
    panel = Panel(ax, data, "T", "M", log="y", title=title)
    split = 2 * data.where(kind="measured")["T"].max()
    ax.set_xscale("function", functions=stretched(split))
    ax.set(**limits)
    ax.axvline(split, color="0.5", linestyle=":", linewidth=0.8)
    runs = 10.0 ** np.arange(3, math.ceil(math.log10(split)))
    ax.set_xticks([*runs, 1e6, 1e10, 1e14])
    starts = data.where(kind="start")["M"]
    ax.axhspan(max(starts), 1e5, color="0.88", linewidth=0, zorder=0)
    ax.axhspan(min(starts), max(starts), color="0.95", linewidth=0, zorder=0)
    ax.text(0.97, 0.97, "vacuous: no better than standing still", transform=ax.transAxes,
            ha="right", va="top", fontsize=8, color="0.35")  # fmt: skip
    own = data.where(nu=nu)
    for (name,), rows in own.where(kind="bound").groups("series"):
        label, colour, style = BOUNDS_SHOWN[name]
        panel.line(rows, color=colour, linestyle=style, linewidth=1.6, label=label)
        last = own.where(kind="informative last", series=name)
        panel.marks(last, marker="v", color=colour, zorder=5)
    measured = own.where(kind="measured").groups("series")
    for ((name,), rows), marker in zip(measured, palette.MARKERS, strict=False):
        look: dict[str, Any] = {"marker": marker, "color": "black", "markersize": 4}
        panel.marks(rows, **look, label=name.replace("_", "-"))
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(LogFormatterSciNotation())


def caption(data: FigureTable) -> str:
    """Return what is seen and what is not claimed."""
    table = "; ".join(
        f"{label} " + ", ".join(_range(data.where(series=name, nu=nu)) for nu in NUS)
        for name, (label, *_) in BOUNDS_SHOWN.items()
    )
    of, count = data.facts, len(data.where(kind="start"))
    return (
        "Measured average squared gradient of STEM along its trade-off curve with the theorem's"
        f" schedule (points; {count} problems, K = {of['K']}, L = {of['L']:g}, sigma"
        f" = {of['sigma']:g}, zeta = {of['zeta']:g}, {of['replicates']} replicates, 95 % intervals)"
        " against the bounds at the same constants and the largest gap (the least is"
        f" {of['least_gap']:.2f} of it). A line stops where a premise of its bound is unmet."
        " The axis of T is stretched up to the dotted line, which stands at twice the longest run."
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


def _range(rows: FigureTable) -> str:
    ends = [rows.one("T", kind=f"informative {place}") for place in ("first", "last")]
    return " to ".join("never" if math.isinf(T) else f"{T:.1e}" for T in ends)


SUMMARY = "measurement against the printed, repaired and log-free bounds, vacuous regions shaded"
ENTRY = Figure("margins", SUMMARY, table, draw, caption, size=(11.4, 4.6), sweep="margins")
