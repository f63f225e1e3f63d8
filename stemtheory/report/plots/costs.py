"""The proved cost of STEM over (b, I) as a picture, with its best cell and the trade-off's corner.

Paper: Rem: Tradeoff.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from stemtheory.bounds import Question, cheapest_at
from stemtheory.report.drawing import render
from stemtheory.runtime import Floats, rounded, write_file

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

SIZE = (6.8, 4.4)
MARGIN = 2  # powers of two shown beyond STEM's offer and the corner
MOST_POWERS = 12
DARK = 0.6  # share of the colour scale from which numbers are white


@dataclass(frozen=True)
class CostMap:
    """Cost at every (I, b), relative to the least, NaN where nothing is proved."""

    question: Question
    batches: tuple[int, ...]
    local: tuple[int, ...]
    relative: Floats
    least: float
    corner: float  # the b I beyond which only samples grow

    @property
    def best(self) -> tuple[int, int]:
        """Row and column of the least cost."""
        row, column = np.unravel_index(np.nanargmin(self.relative), self.relative.shape)
        return int(row), int(column)


def draw_costs(document: Mapping[str, Any], path: Path) -> Path:
    """Draw the costs behind the advice ``document``, which has a choice; return the path.

    Raises
    ------
    UsageError
        If the file cannot be written.
    """
    kind = path.suffix.removeprefix(".")
    costs = costs_of(document)
    content = render(lambda canvas: draw(costs, canvas), SIZE, kind)
    return write_file(path, lambda file: file.write(content))


def costs_of(document: Mapping[str, Any]) -> CostMap:
    """Return STEM's least proved costs over powers of two of b and I, around its offer."""
    names = Question.__dataclass_fields__
    q = Question(**{name: document["question"][name] for name in names})
    offers = [document["choice"], *document["alternatives"]]
    stem = next(offer for offer in offers if offer["algorithm"] == "stem")
    corner = float(document["sweet_spot"]["bI"])
    batches = _powers(max(stem["b"], corner / stem["I"]))
    local = _powers(max(stem["I"], corner / stem["b"]))
    found = np.array([[_cost(q, b, I) for b in batches] for I in local])
    least = float(np.nanmin(found))
    return CostMap(q, batches, local, found / least, least, corner)


def _powers(reach: float) -> tuple[int, ...]:
    n = min(MOST_POWERS, 1 + MARGIN + math.ceil(math.log2(max(1.0, reach))))
    return tuple(2**i for i in range(n))


def _cost(q: Question, b: int, I: int) -> float:
    offer = cheapest_at(q, "stem", b, I)
    return math.nan if offer is None else offer.cost


def draw(data: CostMap, figure: Canvas) -> None:
    """Draw a cell for every (b, I), its number the cost over the least one."""
    ax = figure.subplots()
    shades = np.log2(data.relative)
    top = max(1.0, float(np.nanquantile(shades, 0.9)))
    image = ax.imshow(shades, origin="lower", aspect="auto", vmin=0, vmax=top)
    _numbers(ax, data, shades / top)
    row, column = data.best
    ax.plot(column, row, "s", markersize=26, mfc="none", mec="black", mew=1.8)
    _corner(ax, data)
    ax.set_xticks(range(len(data.batches)), _names(data.batches))
    ax.set_yticks(range(len(data.local)), _names(data.local))
    ax.grid(visible=False)
    ax.set_xlabel("samples per minibatch of a worker, $b$")
    ax.set_ylabel("local steps per round, $I$")
    q = data.question
    least = rounded(data.least)
    ax.set_title(
        f"STEM's proved cost to $\\epsilon$ = {q.epsilon:g}, over the least: {least}"
        f"\n(a sample {q.sample_cost:g}, a round {q.round_cost:g}, K = {q.K})"
    )
    bar = figure.colorbar(image, ax=ax, extend="max", pad=0.02, format=lambda v, _: rounded(2**v))
    bar.set_label("cost / least cost")


def _numbers(ax: Axes, data: CostMap, shade: Floats) -> None:
    for (row, column), value in np.ndenumerate(data.relative):
        known = math.isfinite(value)
        text = f"{value:.2f}" if value < 9.995 else rounded(value)
        colour = "white" if known and shade[row, column] > DARK else "black"
        ax.text(
            column, row, text if known else "–", ha="center", va="center", fontsize=7, color=colour
        )


def _corner(ax: Axes, data: CostMap) -> None:
    """Draw b I = corner: below it rounds grow like 1/(b I), above it samples grow like b I."""
    at_one = math.log2(data.corner)
    label = f"corner of the trade-off, $b\\,I$ = {data.corner:.3g}"
    ax.plot([at_one, 0], [0, at_one], "--", color="black", linewidth=1.2, label=label)
    ax.set_xlim(-0.5, len(data.batches) - 0.5)
    ax.set_ylim(-0.5, len(data.local) - 0.5)
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.13), frameon=False)


def _names(values: Iterable[int]) -> list[str]:
    return [str(value) for value in values]
