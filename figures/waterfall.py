"""Where the printed theorem's constants go, estimate by estimate, down to the worst run found.

S times the bound at L = Delta_f = sigma^2 = zeta^2 = 1 and S = (I b K)^2 rounds: each bar takes one
estimate of the proof back, or chooses better constants or steps, and names the claim.

Paper: Thm: PR_Convergence_Main_App, eq. (Eq: Grad_Norm_Sum).
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from stemtheory.certificates import Weights, solvable
from stemtheory.report import Figure, FigureTable, Progress, Quantity, palette
from stemtheory.tightening import waterfall

K, b = 4, 1
READINGS = ("literal", "average-first")
LOCAL_STEPS = {"quick": 2}
USUAL_STEPS = 4
COLUMNS = (
    *(Quantity(name) for name in ("reading", "step", "claim")),
    Quantity("value", "rounds $S$ times the bound"),
    Quantity("factor", "by this step"),
)


def lacks(mode: str) -> str | None:
    """Return what must be installed: the last proof on the way is searched by a solver."""
    if solvable():
        return None
    return "waterfall needs cvxpy and clarabel: pip install 'stemtheory[certify]'."


def table(mode: str, store: Path | None, progress: Progress) -> FigureTable:
    """Return the bounds on the way down, for both readings, with the factor of each step."""
    I = LOCAL_STEPS.get(mode, USUAL_STEPS)
    rows: list[dict[str, Any]] = []
    for reading in READINGS:
        progress(f"{reading}, I = {I}")
        found = waterfall(reading, Weights(), K=K, I=I, b=b)["rows"]
        rows += ({"reading": reading, **row, "factor": row["factor"] or math.nan} for row in found)
    return FigureTable.of(COLUMNS, rows, K=K, b=b, I=I)


def draw(data: FigureTable, figure: Canvas) -> None:
    """Draw one panel for each reading: a bar from each bound to the next."""
    panels = figure.subplots(1, len(READINGS), sharex=True, sharey=True)
    for ax, reading, letter in zip(panels, READINGS, "ab", strict=True):
        _draw_panel(ax, data.where(reading=reading), f"{letter}  {reading}")


def _draw_panel(ax: Axes, data: FigureTable, title: str) -> None:
    values = data["value"]
    for n, (value, before) in enumerate(zip(values, [values[0], *values[:-1]], strict=True)):
        last = n == len(values) - 1
        left, right = (1.0, value) if n == 0 else (value, before)
        color = palette.BLUE if n == 0 else palette.VERMILION if last else palette.PURPLE
        ax.barh(n, right - left, left=left, color=color, height=0.7)
        text = f"{value:.4g}" if n == 0 else f"$\\to$ {value:.4g}"
        ax.annotate(text, (right, n), (3, 0), textcoords="offset points", va="center", fontsize=7)
    ax.set(xscale="log", xlabel=data.label("value"), title=title, xlim=(1, 3e7))
    names = [f"{row['step']} ({row['claim']})" for row in data.records()]
    ax.set_yticks(range(len(names)), names, fontsize=7)
    if not ax.yaxis_inverted():
        ax.invert_yaxis()


def caption(data: FigureTable) -> str:
    """Return what is seen and what is not claimed."""
    told = []
    for (reading,), own in data.groups("reading"):
        value, factor = own["value"], own["factor"]
        told.append(
            f"{reading}: from {value[0]:.6g} to {value[-2]:.4g} proved, and {value[-1]:.4g} met by"
            f" a run at the same steps, a factor of {factor[-1]:.3g}"
        )
    f = data.facts
    return (
        "S times the bound on E||grad f(xbar_a)||^2 at L = Delta_f = sigma^2 = zeta^2 = 1,"
        f" K = {f['K']}, b = {f['b']}, I = {f['I']} and S = (I b K)^2 rounds. The first five bars"
        " take back the last estimates of the printed proof (M7d to M7g, M7c); then the potential's"
        " weight (Theorem R (a)), all other constants at the printed steps, the steps (both by"
        " Theorem R*'s inequalities, for every I up to the sync batch's ratio), and a round"
        f" certificate at its own best steps. {'; '.join(told)}. Not claimed: that no worse run"
        " exists, or that another form of proof could not gain the last bar."
    )


SUMMARY = "where the theorem's constants go: one bar for each step of the proof"
ENTRY = Figure("waterfall", SUMMARY, table, draw, caption, size=(9.4, 4.2), lacks=lacks)
