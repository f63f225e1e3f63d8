"""Off the trade-off curve: what too small and too large a product b I cost, at several epsilons.

Paper: Remark (Rem: Tradeoff), Theorem (Thm: PR_Convergence_Main_App).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from stemtheory.figures._tradeoff import CELL, K, MeasuredGrid, measured
from stemtheory.report import Figure, FigureTable, Panel, Progress, Quantity, palette

GRIDS = ("surface", "right", "middle", "coarse")
MARKERS = {1: "o", 2: "s", 4: "D", 8: "^", 16: "v", 32: "P"}
SAMPLES = Quantity(
    "samples", "samples over all workers, $K\\,b\\,T$", ("samples_low", "samples_high")
)
COLUMNS = (
    *(Quantity("kind"), *CELL, SAMPLES, Quantity("samples_low"), Quantity("samples_high")),
    *(Quantity(name) for name in ("A", "C")),
)


class Shape(NamedTuple):
    """The remark's shape max{A, C/(K b I)} in rounds; both branches meet at K b I = C/A."""

    A: float
    C: float


def shape_of(grid: MeasuredGrid) -> Shape:
    """Return the fitted shape: A from beyond four corners, C from where rounds are at least 2 A.

    Both are geometric means over the cells with I = 1, so that every epsilon is fitted alike.
    """
    cells = [cell for cell in grid.reached if cell.I == 1]
    beyond = [c.rounds for c in cells if c.product >= 4 * grid.epsilon**-0.5]
    A = float(np.exp(np.mean(np.log(beyond))))
    branch = [c.product * c.rounds for c in cells if c.rounds >= 2 * A]
    return Shape(A, float(np.exp(np.mean(np.log(branch)))))


def table(mode: str, store: Path | None, progress: Progress) -> FigureTable:
    """Return the cells of sweep ``tradeoff`` that lie off the curve, and the shapes fitted."""
    return table_of([measured(name, mode, store, progress) for name in GRIDS])


def table_of(grids: list[MeasuredGrid]) -> FigureTable:
    """Return the table of measured grids; those of one epsilon are joined, common cells count once.

    ``measured`` rows are cells, ``shape`` rows the remark's max{A, C/(K b I)} fitted at each
    epsilon, and ``corner`` rows where its branches meet. Samples are K b I times the rounds.
    """
    joined: dict[float, dict[tuple[float, int], Any]] = {}
    for grid in grids:
        joined.setdefault(grid.epsilon, {}).update({(c.b, c.I): c for c in grid.cells})
    replicates = grids[0].replicates
    whole = [MeasuredGrid(e, replicates, tuple(joined[e].values())) for e in sorted(joined)]
    seen = [cell.product for grid in whole for cell in grid.reached]
    line = np.geomspace(min(seen) / 1.3, max(seen) * 1.3, 300)
    parts = []
    for grid in whole:
        shape = shape_of(grid)
        fitted = {"epsilon": grid.epsilon, **shape._asdict()}
        rounds = np.maximum(shape.A, shape.C / line)
        parts += [
            with_samples({"kind": "measured", **grid.columns()}),
            with_samples({"kind": "shape", **fitted, "product": line, "rounds": rounds}),
            {"kind": "corner", **fitted, "product": shape.C / shape.A},
        ]
    return FigureTable.of(COLUMNS, parts, replicates=replicates)


def with_samples(part: dict[str, Any]) -> dict[str, Any]:
    """Return rows with the samples over all workers, K b T = K b I times the rounds."""
    names = [name for name in part if name.startswith("rounds")]
    product = part["product"]
    return part | {n.replace("rounds", "samples"): product * np.array(part[n]) for n in names}


def draw(data: FigureTable, figure: Canvas) -> None:
    """Draw rounds and samples against the product."""
    left, right = figure.subplots(1, 2)
    _draw_costs(data, left, "rounds", "a  Rounds: fall until the corner, then no more")
    _draw_costs(data, right, "samples", "b  Samples: at their least until the corner, then grow")
    left.legend(fontsize=8)


def _draw_costs(data: FigureTable, ax: Axes, of: str, title: str) -> None:
    panel = Panel(ax, data, "product", of, plain="xy" if of == "rounds" else "x", title=title)
    groups = list(data.groups("epsilon"))
    for i, ((epsilon,), rows) in enumerate(groups):
        colour, dash = palette.LOOKS["stem"].shade(i, len(groups)), palette.DASHES[i % 3]
        panel.line(rows.where(kind="shape"), color=colour, linestyle=dash, linewidth=1)
        ax.axvline(epsilon**-0.5, color=colour, linestyle=":", linewidth=1)
        for I, marker in MARKERS.items():
            edge: dict[str, Any] = {"markeredgecolor": "white", "markeredgewidth": 0.5}
            own = rows.where(kind="measured", I=I)
            panel.marks(own, marker=marker, color=colour, markersize=5, **edge)
        corner = rows.one("product", kind="corner")
        text = f"$\\epsilon$ = {epsilon:g}: corner {corner:.0f} ({epsilon**-0.5:.0f})"
        ax.plot([], [], label=text, color=colour, linestyle=dash)
    reached = data.kept(np.isfinite(data["rounds"])).where(kind="measured")
    for I in sorted(reached.distinct("I")):
        panel.key(f"$I$ = {I:g}", MARKERS[I], color="0.4")


def caption(data: FigureTable) -> str:
    """Return what is seen and what is not claimed."""
    shapes = data.where(kind="corner").records()
    corners = ", ".join(
        f"{s['product']:.1f} against {s['epsilon'] ** -0.5:.1f} at epsilon {s['epsilon']:g}"
        for s in shapes
    )
    rounds = ", ".join(f"{s['A'] * s['epsilon']:.2f}/eps" for s in shapes)
    samples = ", ".join(f"{s['C'] * s['epsilon'] ** 1.5:.2f} eps^(-3/2)" for s in shapes)
    missing = int((~np.isfinite(data.where(kind="measured")["rounds"])).sum())
    return (
        "Communication rounds (a) and samples (b) of STEM to epsilon where b and I are off the"
        f" trade-off curve, over K b I (K = {K}; quadratic with phase noise, c = L_n = sigma = 1,"
        " calibrated schedule; rounds are the last crossing of the running average over I;"
        f" {data.facts['replicates']} replicates, 95 % bootstrap intervals). Lines: the"
        " remark's shape, max{A, C/(K b I)} rounds and max{K b I A, C} samples, A and C fitted for"
        " each epsilon at I = 1. Dotted and in brackets: the remark's corner K b I = eps^(-1/2);"
        f" the fitted one C/A is {corners}. A is {rounds} and C is {samples}. At the corner the"
        " maximum is in truth a smooth bend. Points of one epsilon and different I fall together:"
        " only the product counts."
        + (f" {missing} cells were not reached and are not drawn." if missing else "")
        + " Not claimed: the exponent in epsilon of the left branch, since C eps^(3/2) is still"
        " moving (the gap is paid for early); and the theorem's own constants, with which the left"
        " branch is out of a simulation's reach."
    )


SUMMARY = "rounds and samples off the trade-off curve, on both sides of the corner"
ENTRY = Figure("suboptimal", SUMMARY, table, draw, caption, size=(10.4, 4.4), sweep="tradeoff")
