"""How the paper's figures on images are drawn, and what their captions say.

Three columns: training loss against the paper's x-axis (rounds; samples in Figure 5), and test
accuracy against samples and against gradient evaluations, of which STEM computes two a sample.
Bands reach from the lowest to the highest seed.

Paper: sec: Experiments.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from stemtheory.figures._image_table import (
    BORROWED,
    FEDAVG,
    NAMES,
    SCAFFOLD,
    STEM,
    ends,
    finals,
    view,
)
from stemtheory.figures._images import PAPER_ROW, ROWS, SEED, TUNED_ROW, compare, lacks
from stemtheory.images import SeedMean, percent, points
from stemtheory.images.over_seeds import over_seeds
from stemtheory.report import Figure, FigureTable, Panel, Progress, palette
from stemtheory.runtime import large

LOOKS = {
    STEM: palette.LOOKS["stem"].style(),
    FEDAVG: palette.LOOKS["fedavg"].style(),
    SCAFFOLD: palette.LOOKS["scaffold"].style(),
    BORROWED: palette.LOOKS["fedavg"].style(markerfacecolor="white"),
}
SHORT = {PAPER_ROW: "Paper's steps", TUNED_ROW: "Tuned steps"}
DASH = ("-", (0, (5, 2)))  # first and second I
DOTS = (0, (1, 1))  # FedAvg on STEM's schedule, at the first I
ORIGINAL = {
    2: "CIFAR-10, all classes per worker, b = 8, I = 61",
    3: "CIFAR-10, all classes per worker, b = 64, I = 7",
    4: "CIFAR-10, 5 of 10 classes per worker, b = 8, I = 61",
    5: "MNIST, 5 of 10 classes per worker, b = 8, I = 67 and I = 536",
}


def draw(data: FigureTable, figure: Canvas) -> None:
    """Draw two rows of three panels."""
    first = "samples" if data.facts["figure"] == 5 else "rounds"
    what = ((first, "loss"), ("samples", "accuracy"), ("gradients", "accuracy"))
    grid = figure.subplots(2, 3)
    local = data.facts["case"].local
    for r, row in enumerate(ROWS):
        own = data.where(row=row)
        for c, (x, y) in enumerate(what):
            letter = "abcdef"[3 * r + c]
            _panel(own, grid[r, c], x, y, f"{letter}  {SHORT[row]}: {y}")
    figure.legend(handles=list(_keys(local)), loc="outside lower center", ncols=6)


def _panel(data: FigureTable, ax: Axes, x: str, y: str, title: str) -> None:
    panel = Panel(ax, data, x, y, log="y" if y == "loss" else "", title=title)
    local = data.facts["case"].local
    for (name, I), rows in data.groups("algorithm", "I"):
        _curve(panel, rows.kept(np.isfinite(rows[y])), name, DASH[local.index(I)])
    ax.set_xlim(left=0)
    if y == "loss":
        ax.set_ylim(top=_highest_loss(data))
        ax.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        low, high = ax.get_ylim()
        shown = "123456789" if high < 6 * low else "25"  # few decades need more marks with numbers
        ax.yaxis.set_minor_formatter(lambda v, _: f"{v:g}" if f"{v:e}"[0] in shown else "")
    else:
        ax.set_ylim(*_limits(data))
    ax.xaxis.set_major_formatter(lambda value, _: large(value))
    ax.xaxis.set_major_locator(MaxNLocator(4, integer=True, steps=[1, 2, 5, 10]))


def _curve(panel: Panel, rows: FigureTable, name: str, dash: Any) -> None:
    """Draw the mean of the seeds that are still finite, and the band between the extremes."""
    if not len(rows):
        return
    thin, every = name == BORROWED, max(1, len(rows) // 6)
    panel.line(
        rows,
        **LOOKS[name],
        linestyle=DOTS if thin and dash == "-" else dash,
        linewidth=1.2 if thin else 1.6,
        markersize=3.5,
        markevery=(NAMES.index(name) % every, every),
        zorder=4 if thin else 3,
    )
    panel.band(rows, color=LOOKS[name]["color"], alpha=0.15)


def _limits(data: FigureTable) -> tuple[float, float]:
    """Return the accuracy axis: from what the slowest curve has a third of the way on."""
    found = [rows for _, rows in data.where(lost=0).groups("algorithm", "I")]
    if not found:
        return 0.0, 1.0
    lowest = min(rows["accuracy_low"][len(rows) // 3] for rows in found)
    highest = max(rows["accuracy_high"].max() for rows in found)
    return max(0.0, math.floor(10 * lowest - 0.5) / 10), min(1.0, highest + 0.03)


def _highest_loss(data: FigureTable) -> float | None:
    """Return the top of the loss axis: what the slowest curve has when it is first looked at.

    The common start is far above and would flatten everything else.
    """
    first = [rows["loss_high"][1] for _, rows in data.groups("algorithm", "I")]
    finite = [loss for loss in first if math.isfinite(loss)]
    return 1.1 * max(finite) if finite else None


def _keys(local: tuple[int, ...]) -> Iterator[Line2D]:
    """Yield what the legend shows: the algorithms, and I where there are two."""
    for name in NAMES:
        own: dict[str, Any] = {"linestyle": DOTS, "linewidth": 1.2} if name == BORROWED else {}
        yield Line2D([], [], label=name, **{**LOOKS[name], "markersize": 4, **own})
    dashes: tuple[Any, ...] = DASH
    for dash, I in zip(dashes, local if len(local) > 1 else (), strict=False):
        yield Line2D([], [], color="0.4", linestyle=dash, linewidth=1.2, label=f"$I$ = {I}")


LENGTH = {
    "quick": "Quick mode: a small stand-in, some seconds.",
    "default": "Default mode: packaged data, smaller than the paper's; about two minutes on two"
    " cores.",
    "full": "Full mode: the paper's size; hours, and resumable.",
}


def caption(data: FigureTable) -> str:
    """Return settings, deviations, and in numbers what reproduces and what does not."""
    L, sigma, zeta = data.facts["met"]
    met = (
        "Met at the start and after a third of STEM's run, estimates from below, no constants:"
        f" L {L:.2g}, sigma {sigma:.2g}, zeta {zeta:.2g}."
    )
    reached = [_reached(data)] if data.facts["figure"] == 5 else []
    told = [_settings(data), *_finals(data), _verdict(data), *reached, _deviations(data), met]
    return " ".join(told)


def _settings(data: FigureTable) -> str:
    facts, case = data.facts, data.facts["case"]
    local = " and ".join(str(I) for I in case.local)
    rounds = " and ".join(str(n) for n in case.rounds)
    classes = "all classes" if case.dials["classes"] == 10 else f"{case.dials['classes']} of 10"
    several = f" Solid: I = {case.local[0]}; dashed: I = {case.local[-1]}."
    return (
        f"The paper's Figure {facts['figure']} ({ORIGINAL[facts['figure']]}), here on"
        f" {facts['note']}: {case.problem} with {facts['dim']:,} parameters, K = {case.K} workers"
        f" with {facts['train']} training and {facts['test']} test images each, {classes} per"
        f" worker, b = {case.b}, I = {local}, {rounds} rounds of b I samples (STEM draws as many"
        f" before the first), {len(case.seeds)} seeds (start and minibatches; one partition)."
        f" Curves: means; bands: lowest to highest seed.{several if len(case.local) > 1 else ''}"
        f" {LENGTH[facts['mode']]}"
    )


def _finals(data: FigureTable) -> list[str]:
    """Return the final test accuracies, row by row."""
    told, local = [], data.facts["case"].local
    for row in ROWS:
        for I in local:
            at = f", I = {I}" if len(local) > 1 else ""
            each = "; ".join(_one(data, row, name, I) for name in NAMES)
            told.append(f"Final test accuracy in per cent with {row}{at}: {each}.")
    return told


def _one(data: FigureTable, row: str, name: str, I: int) -> str:
    end, found = ends(data, row, name, I), finals(data, row, name, I)
    text = f"{name} ({end['steps']}) {percent(over_seeds(found))}"
    if end["lost"]:
        first = f"first in round {end['first_lost']:.0f}"
        text += f" ({end['lost']} of {len(found)} seeds diverged, {first})"
    return text


def lead(data: FigureTable, row: str, over: str) -> SeedMean:
    """Return STEM's mean lead in final test accuracy over common seeds, at the first I."""
    I = data.facts["case"].local[0]
    return over_seeds(finals(data, row, STEM, I) - finals(data, row, over, I))


def _verdict(data: FigureTable) -> str:
    """Return what reproduces: STEM's lead, and where it comes from."""
    paper, tuned = (
        [lead(data, row, name) for name in (FEDAVG, SCAFFOLD)] for row in (PAPER_ROW, TUNED_ROW)
    )
    verdict = "reproduced" if all(one.clear for one in paper) else "not reproduced"
    return (
        f"STEM ahead of both with the paper's step sizes: {verdict} ({points(paper[0])} over"
        f" FedAvg, {points(paper[1])} over SCAFFOLD, paired by seed). Beyond step sizes: STEM"
        f" against FedAvg on STEM's own schedule {points(lead(data, PAPER_ROW, BORROWED))}; with"
        f" all three tuned, against FedAvg {points(tuned[0])}, against SCAFFOLD {points(tuned[1])}."
    )


def _reached(data: FigureTable) -> str:
    """Return the samples per worker to a given accuracy, small I against large."""
    case = data.facts["case"]
    told = []
    for row in ROWS:
        each = []
        for name in NAMES:
            found = [ends(data, row, name, I)["samples_to_target"] for I in case.local]
            shown = [large(n) if math.isfinite(n) else "not reached" for n in found]
            each.append(f"{name} {' against '.join(shown)}")
        told.append(f"with {row} {'; '.join(each)}")
    return (
        f"Samples per worker until {100 * case.target:.0f} per cent (median of the seeds), I ="
        f" {case.local[0]} against {case.local[1]}: {'. '.join(told)}."
    )


def _deviations(data: FigureTable) -> str:
    widths = (
        "layer widths are an assumption, since the paper gives none"
        if data.facts["case"].problem == "cnn"
        else "a network with one hidden layer in the place of the paper's convolutions"
    )
    return (
        f"Deviations: {widths}; minibatches with replacement; eta_t = kappa/(1 + e)^(1/3) in epoch"
        " e, a_t clipped at 1 (unclipped it starts at cbar). Tuned: by the training loss after a"
        " third of the rounds, on one seed of its own. Behind ±: one standard error over the seeds;"
        " a lead must exceed 95 per cent of Student's distribution. Not claimed: anything about"
        " other data, networks or lengths."
    )


def entry(figure: int, summary: str) -> Figure:
    """Return the catalogue entry of one of the four figures."""

    def table(mode: str, store: Path | None, progress: Progress) -> FigureTable:
        return compare(figure, mode, progress)

    return Figure(
        name=f"paper_figure{figure}",
        summary=summary,
        table=table,
        draw=draw,
        caption=caption,
        size=(11.0, 6.2),
        seed=SEED,
        lacks=lambda mode: lacks(figure, mode),
        report_mode="default",
        view=view,
    )
