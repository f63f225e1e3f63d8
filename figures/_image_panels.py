"""How the paper's figures on images are drawn, and what their captions say.

Three columns: training loss against the paper's x-axis (rounds; samples in Figure 5), and test
accuracy against samples and against gradient evaluations, of which STEM computes two a sample.
Bands reach from the lowest to the highest seed.

Paper: sec: Experiments.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.ticker import MaxNLocator

from stemtheory.figures._image_table import table
from stemtheory.figures._images import (
    BORROWED,
    FEDAVG,
    NAMES,
    PAPER_ROW,
    ROWS,
    SCAFFOLD,
    SEED,
    STEM,
    TUNED_ROW,
    Comparison,
    Line,
    compare,
    difference,
    lacks,
    samples_to,
)
from stemtheory.images import percent, points
from stemtheory.report import Figure, Progress

COLOUR = {STEM: "#0072B2", FEDAVG: "#D55E00", SCAFFOLD: "#009E73", BORROWED: "0.15"}
MARKER = {STEM: "o", FEDAVG: "s", SCAFFOLD: "^", BORROWED: "x"}
DASH = ("-", (0, (5, 2)))  # first and second I
DOTS = (0, (1, 1))  # FedAvg on STEM's schedule, at the first I
ORIGINAL = {
    2: "CIFAR-10, all classes per worker, b = 8, I = 61",
    3: "CIFAR-10, all classes per worker, b = 64, I = 7",
    4: "CIFAR-10, 5 of 10 classes per worker, b = 8, I = 61",
    5: "MNIST, 5 of 10 classes per worker, b = 8, I = 67 and I = 536",
}


def draw(data: Comparison, figure: Canvas) -> None:
    """Draw two rows of three panels."""
    grid = figure.subplots(2, 3)
    for r, row in enumerate(ROWS):
        for c, ax in enumerate(grid[r]):
            _panel(data, row, c, ax)
            letter = "abcdef"[3 * r + c]
            title = f"{letter}  {row[0].upper()}{row[1:]}" if c == 0 else letter
            ax.set_title(title)
        _legend(data, row, grid[r][2])


def _panel(data: Comparison, row: str, column: int, ax: Axes) -> None:
    for line in data.lines:
        if line.row == row:
            x = _abscissa(data, line, column)
            _curve(ax, line, x, column, DASH[data.case.local.index(line.I)])
    ax.set_xlim(left=0)
    if column == 0:
        ax.set_yscale("log")
        ax.set_ylim(top=_highest_loss(data, row))
        ax.set_ylabel("training loss")
        ax.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        low, high = ax.get_ylim()
        shown = "123456789" if high < 6 * low else "25"  # few decades need more marks with numbers
        ax.yaxis.set_minor_formatter(lambda v, _: f"{v:g}" if f"{v:e}"[0] in shown else "")
    else:
        ax.set_ylabel("test accuracy")
        ax.set_ylim(*_limits(data, row))
    ax.set_xlabel(_axis(data, column))
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    ax.xaxis.set_major_locator(MaxNLocator(4, integer=True, steps=[1, 2, 5, 10]))


def _axis(data: Comparison, column: int) -> str:
    """Return what lies along x."""
    if column == 0 and data.figure != 5:
        return "communication rounds"
    return "gradient evaluations per worker" if column == 2 else "samples per worker"


def _abscissa(data: Comparison, line: Line, column: int) -> Any:
    history = line.history
    return {
        "communication rounds": history.rounds.astype(float),
        "samples per worker": history.draws,
        "gradient evaluations per worker": history.gradients,
    }[_axis(data, column)]


def _curve(ax: Axes, line: Line, x: Any, column: int, dash: Any) -> None:
    """Draw the mean of the seeds that are still finite, and the band between the extremes."""
    y = line.history.loss if column == 0 else line.history.accuracy
    seen = np.isfinite(y).any(axis=0)
    if not seen.any():
        return
    x, y = x[seen], y[:, seen]
    colour, thin = COLOUR[line.name], line.name == BORROWED
    ax.plot(
        x,
        np.nanmean(y, axis=0),
        color=colour,
        linestyle=DOTS if thin and dash == "-" else dash,
        linewidth=1.2 if thin else 1.6,
        marker=MARKER[line.name],
        markersize=3.5,
        markevery=(NAMES.index(line.name) % max(1, len(x) // 6), max(1, len(x) // 6)),
        zorder=4 if thin else 3,
    )
    ax.fill_between(
        x, np.nanmin(y, axis=0), np.nanmax(y, axis=0), color=colour, alpha=0.15, linewidth=0
    )


def _limits(data: Comparison, row: str) -> tuple[float, float]:
    """Return the accuracy axis: from what the slowest curve has a third of the way on."""
    found = [
        line.history.accuracy
        for line in data.lines
        if line.row == row and np.isfinite(line.history.accuracy).all()
    ]
    if not found:
        return 0.0, 1.0
    lowest = min(float(accuracy[:, accuracy.shape[1] // 3].min()) for accuracy in found)
    highest = max(float(accuracy.max()) for accuracy in found)
    return max(0.0, math.floor(10 * lowest - 0.5) / 10), min(1.0, highest + 0.03)


def _highest_loss(data: Comparison, row: str) -> float | None:
    """Return the top of the loss axis: what the slowest curve has when it is first looked at.

    The common start is far above and would flatten everything else.
    """
    found = [line.history.loss[:, 1] for line in data.lines if line.row == row]
    finite = np.concatenate(found)[np.isfinite(np.concatenate(found))]
    return float(1.1 * finite.max()) if len(finite) else None


def _legend(data: Comparison, row: str, ax: Axes) -> None:
    """Put the step sizes into the legend: they decide."""
    for name in NAMES:
        steps = [data.line(row, name, I).steps for I in data.case.local]
        same = len(set(steps)) == 1
        text = f"{name}: {' | '.join(map(_symbols, steps[:1] if same else steps))}"
        style: dict[str, Any] = {"color": COLOUR[name], "marker": MARKER[name], "markersize": 4}
        if name == BORROWED:  # its steps are STEM's
            text, style = name, {**style, "linestyle": DOTS, "linewidth": 1.2}
        ax.plot([], [], label=text, **style)
    if len(data.case.local) > 1:
        for dash, I in zip(DASH, data.case.local, strict=True):
            ax.plot([], [], color="0.4", linestyle=dash, linewidth=1.2, label=f"$I$ = {I}")
    ax.legend(loc="lower right", fontsize=7)


def _symbols(steps: str) -> str:
    return (
        steps.replace("kappa", "$\\bar{\\kappa}$")
        .replace("cbar", "$\\bar{c}$")
        .replace("step", "$\\eta$")
    )


LENGTH = {
    "quick": "Quick mode: a small stand-in, some seconds.",
    "default": "Default mode: packaged data, smaller than the paper's; about two minutes on two"
    " cores.",
    "full": "Full mode: the paper's size; hours, and resumable.",
}


def caption(data: Comparison) -> str:
    """Return settings, deviations, and in numbers what reproduces and what does not."""
    told = [_settings(data), *_finals(data), *_verdict(data), _deviations(data), _estimated(data)]
    return " ".join(told)


def _settings(data: Comparison) -> str:
    case, (train, test) = data.case, data.per_worker
    local = " and ".join(str(I) for I in case.local)
    rounds = " and ".join(str(n) for n in case.rounds)
    classes = "all classes" if case.dials["classes"] == 10 else f"{case.dials['classes']} of 10"
    several = f" Solid: I = {case.local[0]}; dashed: I = {case.local[-1]}."
    return (
        f"The paper's Figure {data.figure} ({ORIGINAL[data.figure]}), here on {data.note}:"
        f" {case.problem} with {data.dim:,} parameters, K = {case.K} workers with {train} training"
        f" and {test} test images each, {classes} per worker, b = {case.b}, I = {local}, {rounds}"
        f" rounds of b I samples (STEM draws as many before the first), {len(case.seeds)} seeds"
        " (start and minibatches; one partition). Curves: means;"
        f" bands: lowest to highest seed.{several if len(case.local) > 1 else ''}"
        f" {LENGTH[data.mode]}"
    )


def _finals(data: Comparison) -> list[str]:
    """Return the final test accuracies, row by row."""
    told = []
    for row in ROWS:
        for I in data.case.local:
            at = f", I = {I}" if len(data.case.local) > 1 else ""
            each = "; ".join(_one(data.line(row, name, I)) for name in NAMES)
            told.append(f"Final test accuracy in per cent with {row}{at}: {each}.")
    return told


def _one(line: Line) -> str:
    lost = line.history.lost
    text = f"{line.name} ({line.steps}) {percent(line.final)}"
    if lost:
        first = int(line.history.diverged[line.history.diverged > 0].min())
        text += f" ({lost} of {len(line.history.diverged)} seeds diverged, first in round {first})"
    return text


def _verdict(data: Comparison) -> list[str]:
    """Return what reproduces: STEM's lead, where it comes from, and the effect of I."""
    I = data.case.local[0]
    stem, tuned = data.line(PAPER_ROW, STEM, I), data.line(TUNED_ROW, STEM, I)
    rivals = [data.line(PAPER_ROW, name, I) for name in (FEDAVG, SCAFFOLD)]
    leads = [difference(stem, rival) for rival in rivals]
    verdict = "reproduced" if all(lead.clear for lead in leads) else "not reproduced"
    borrowed = difference(stem, data.line(PAPER_ROW, BORROWED, I))
    on_terms = [difference(tuned, data.line(TUNED_ROW, name, I)) for name in (FEDAVG, SCAFFOLD)]
    first = (
        f"STEM ahead of both with the paper's step sizes: {verdict} ({points(leads[0])} over"
        f" FedAvg, {points(leads[1])} over SCAFFOLD, paired by seed)."
    )
    second = (
        f"Beyond step sizes: STEM against FedAvg on STEM's own schedule {points(borrowed)}; with"
        f" all three tuned, against FedAvg {points(on_terms[0])}, against SCAFFOLD"
        f" {points(on_terms[1])}."
    )
    told = [first, second]
    if data.figure == 5:
        told.append(_reached(data))
    return told


def _reached(data: Comparison) -> str:
    """Return the samples per worker to a given accuracy, small I against large."""
    target = data.case.target
    told = []
    for row in ROWS:
        each = []
        for name in NAMES:
            found = [samples_to(data.line(row, name, I), target) for I in data.case.local]
            shown = [f"{n:,.0f}" if math.isfinite(n) else "not reached" for n in found]
            each.append(f"{name} {' against '.join(shown)}")
        told.append(f"with {row} {'; '.join(each)}")
    return (
        f"Samples per worker until {100 * target:.0f} per cent (median of the seeds), I ="
        f" {data.case.local[0]} against {data.case.local[1]}: {'. '.join(told)}."
    )


def _estimated(data: Comparison) -> str:
    met = data.met
    return (
        "Met at the start and after a third of STEM's run, estimates from below, no constants:"
        f" L {met.L:.2g}, sigma {met.sigma:.2g}, zeta {met.zeta:.2g}."
    )


def _deviations(data: Comparison) -> str:
    widths = (
        "layer widths are an assumption, since the paper gives none"
        if data.case.problem == "cnn"
        else "a network with one hidden layer in the place of the paper's convolutions"
    )
    return (
        f"Deviations: {widths}; minibatches with replacement; eta_t = kappa/(1 + e)^(1/3) in epoch"
        " e, a_t clipped at 1 (unclipped it starts at cbar). Tuned: by the training loss after a"
        " third of the rounds, on one seed of its own. Behind ±: one standard error over the seeds;"
        " a lead must exceed 95 per cent of Student's distribution. Not claimed: anything about"
        " other data, networks or lengths."
    )


def entry(figure: int, summary: str) -> Figure[Comparison]:
    """Return the catalogue entry of one of the four figures."""

    def prepare(mode: str, progress: Progress) -> Comparison:
        return compare(figure, mode, progress)

    return Figure(
        name=f"paper_figure{figure}",
        summary=summary,
        prepare=prepare,
        draw=draw,
        caption=caption,
        size=(11.0, 6.2),
        seed=SEED,
        lacks=lambda mode: lacks(figure, mode),
        report_mode="default",
        table=table,
    )
