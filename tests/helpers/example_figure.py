"""A figure of one's own: the printed bound against T, and where it says something.

Paper: Thm: PR_Convergence_Main_App.
"""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure as Canvas

from stemtheory.bounds import Setting, evaluate
from stemtheory.report import Figure, FigureTable, Panel, Progress, Quantity

K, b, I = 4, 4, 4
COLUMNS = (
    Quantity("series"),
    Quantity("T", "iterations $T$"),
    Quantity("value", "bound on $E\\|\\nabla f(\\bar x_a)\\|^2$"),
)


def table(mode: str, store: Path | None, progress: Progress) -> FigureTable:
    """Return the bound on a grid of T, and what it must beat: nothing here knows of matplotlib."""
    progress("evaluating the bound")
    T = I * np.round(np.geomspace(1e2, 1e9, {"quick": 20}.get(mode, 60)))
    found = [evaluate("stem-theorem", Setting(t, K, b, I, 1.0, 0.5, 1.0, 1.0)) for t in T]
    bound = {"series": "printed theorem", "T": T, "value": [f.value for f in found]}
    level = {"series": "2 L gap", "T": T[[0, -1]], "value": found[-1].reference}
    return FigureTable.of(COLUMNS, [bound, level], informative=found[-1].vacuous_below_T)


def draw(data: FigureTable, figure: Canvas) -> None:
    """Draw the bound, and the level below which it says something."""
    panel = Panel(figure.subplots(), data, "T", "value")
    for (name,), rows in data.groups("series"):
        panel.line(rows, label=name, linestyle="--" if name == "2 L gap" else "-")
    panel.ax.legend()


def caption(data: FigureTable) -> str:
    """Return what is seen and what is not claimed."""
    return (
        f"The printed bound on E||grad f(xbar_a)||^2 (K = {K}, b = {b}, I = {I}, L = 1, sigma ="
        " 0.5, zeta = 1, gap = 1). Below the dashed line it is better than standing still: from T ="
        f" {data.facts['informative']:,}. Not claimed: that STEM is as slow as its bound."
    )


ENTRY = Figure("bound", "the printed bound against T", table, draw, caption, size=(5.2, 4.0))
