"""Off the trade-off curve: what too small and too large a product b I cost, at several epsilons.

Paper: Remark (Rem: Tradeoff), Theorem (Thm: PR_Convergence_Main_App).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from stemtheory.experiment import SweepResult, stored_sweep, swept
from stemtheory.figures._tradeoff import Grid, K, grid_of
from stemtheory.report import Figure, Progress, log_bars, plain_log_axes
from stemtheory.runtime import Floats

GRIDS = ("surface", "right", "middle", "coarse")
COLOURS = ("#0072B2", "#E69F00", "#D55E00")
MARKERS = {1: "o", 2: "s", 4: "D", 8: "^", 16: "v", 32: "P"}


class Shape(NamedTuple):
    """The remark's shape max{A, C/(K b I)} in rounds."""

    A: float
    C: float

    @property
    def corner(self) -> float:
        """The product K b I at which both branches meet."""
        return self.C / self.A

    def rounds(self, product: Floats) -> Floats:
        """Return the rounds at K b I."""
        return np.maximum(self.A, self.C / product)


def shape_of(grid: Grid) -> Shape:
    """Return the fitted shape: A from beyond four corners, C from where rounds are at least 2 A.

    Both are geometric means over the cells with I = 1, so that every epsilon is fitted alike.
    """
    cells = [cell for cell in grid.reached if cell.I == 1]
    beyond = [c.rounds for c in cells if c.product >= 4 * grid.epsilon**-0.5]
    A = float(np.exp(np.mean(np.log(beyond))))
    branch = [c.product * c.rounds for c in cells if c.rounds >= 2 * A]
    return Shape(A, float(np.exp(np.mean(np.log(branch)))))


@dataclass(frozen=True)
class Branches:
    """One grid of cells per epsilon, the smallest first."""

    grids: tuple[Grid, ...]

    @property
    def products(self) -> tuple[float, float]:
        """The least and the largest K b I that is shown."""
        every = [cell.product for grid in self.grids for cell in grid.reached]
        return min(every), max(every)


def prepare(mode: str, progress: Progress) -> Branches:
    """Return the cells of sweep ``tradeoff`` that lie off the curve, run on the spot."""
    return branches_of(swept("tradeoff", mode, progress, GRIDS))


def stored(mode: str, store: Path) -> Branches:
    """Return the same from a store."""
    return branches_of(stored_sweep("tradeoff", mode, store, GRIDS))


def branches_of(found: SweepResult) -> Branches:
    """Return the cells by epsilon; grids of one epsilon are joined, cells in both count once."""
    joined: dict[float, Grid] = {}
    for name in GRIDS:
        grid = grid_of(found, name)
        before = joined.get(grid.epsilon)
        cells = {
            (cell.b, cell.I): cell for cell in (*(before.cells if before else ()), *grid.cells)
        }
        joined[grid.epsilon] = Grid(grid.epsilon, grid.replicates, tuple(cells.values()))
    return Branches(tuple(joined[epsilon] for epsilon in sorted(joined)))


def draw(data: Branches, figure: Canvas) -> None:
    """Draw rounds and samples against the product."""
    left, right = figure.subplots(1, 2)
    _draw_costs(data, left, samples=False)
    _draw_costs(data, right, samples=True)
    left.set_ylabel("communication rounds")
    left.set_title("a  Rounds: fall until the corner, then no more")
    right.set_ylabel("samples over all workers, $K\\,b\\,T$")
    right.set_title("b  Samples: at their least until the corner, then grow")
    left.legend(fontsize=8)


def _draw_costs(data: Branches, ax: Axes, *, samples: bool) -> None:
    plain_log_axes(ax)
    ax.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    low, high = data.products
    line = np.geomspace(low / 1.3, high * 1.3, 300)
    for grid, colour in zip(data.grids, COLOURS, strict=False):
        shape = shape_of(grid)
        # rounds x K b I is the number of samples K b T
        scale = line if samples else np.ones_like(line)
        ax.plot(line, scale * shape.rounds(line), color=colour, linewidth=1)
        ax.axvline(grid.epsilon**-0.5, color=colour, linestyle=":", linewidth=1)
        for I, marker in MARKERS.items():
            cells = [cell for cell in grid.reached if cell.I == I]
            factors = np.array([cell.product if samples else 1.0 for cell in cells])
            columns = ([cell.rounds for cell in cells], [cell.low for cell in cells],
                       [cell.high for cell in cells])  # fmt: skip
            log_bars(
                ax,
                [cell.product for cell in cells],
                *(factors * np.array(column, dtype=np.float64) for column in columns),
                marker=marker,
                color=colour,
                markersize=5,
                markeredgecolor="white",
                markeredgewidth=0.5,
            )
        ax.plot([], [], color=colour, label=_label(grid, shape))
    for I in sorted({cell.I for grid in data.grids for cell in grid.reached}):
        ax.plot([], [], color="0.4", linestyle="none", marker=MARKERS[I], label=f"$I$ = {I}")
    ax.set_xlabel("samples per round over all workers, $K\\,b\\,I$")


def _label(grid: Grid, shape: Shape) -> str:
    predicted = grid.epsilon**-0.5
    return f"$\\epsilon$ = {grid.epsilon:g}: corner {shape.corner:.0f} ({predicted:.0f})"


def caption(data: Branches) -> str:
    """Return what is seen and what is not claimed."""
    shapes = [(grid, shape_of(grid)) for grid in data.grids]
    corners = ", ".join(
        f"{shape.corner:.1f} against {grid.epsilon**-0.5:.1f} at epsilon {grid.epsilon:g}"
        for grid, shape in shapes
    )
    rounds = ", ".join(f"{shape.A * grid.epsilon:.2f}/eps" for grid, shape in shapes)
    samples = ", ".join(f"{shape.C * grid.epsilon**1.5:.2f} eps^(-3/2)" for grid, shape in shapes)
    missing = sum(len(grid.cells) - len(grid.reached) for grid in data.grids)
    return (
        "Communication rounds (a) and samples (b) of STEM to epsilon where b and I are off the"
        f" trade-off curve, over K b I (K = {K}; quadratic with phase noise, c = L_n = sigma = 1,"
        " calibrated schedule; rounds are the last crossing of the running average over I;"
        f" {data.grids[0].replicates} replicates, 95 % bootstrap intervals). Lines: the"
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


ENTRY = Figure(
    name="suboptimal",
    summary="rounds and samples off the trade-off curve, on both sides of the corner",
    prepare=prepare,
    draw=draw,
    caption=caption,
    size=(10.4, 4.4),
    stored=stored,
)
