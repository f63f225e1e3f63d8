"""Where each system wins: rounds, samples and vectors to epsilon over zeta, I, K and epsilon.

Every system has its best of one grid of step sizes, by one rule: the fewest samples to epsilon.

Paper: Table: Comparison.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.ticker import LogLocator, NullLocator

from stemtheory.experiment import stored_sweep, swept
from stemtheory.figures._systems import (
    AXES,
    COSTS,
    NAMES,
    PANELS,
    Row,
    Systems,
    systems_of,
    table,
)
from stemtheory.report import Figure, Progress, drawable, plain_log_axes

FEW = ("minibatch-sgd", "fedavg", "scaffold", "stem")  # what a quick figure runs by itself
GRIDS = tuple(f"{name}{end}" for name in PANELS for end in ("", "_batch"))
STYLES: dict[str, dict[str, Any]] = {
    "minibatch-sgd": {"color": "#009E73", "marker": "D", "linestyle": "-"},
    "fedavg": {"color": "#D55E00", "marker": "s", "linestyle": "-"},
    "scaffold": {"color": "#CC79A7", "marker": "^", "linestyle": (0, (5, 1.5))},
    "mimemvr": {"color": "#E69F00", "marker": "v", "linestyle": (0, (3, 1, 1, 1))},
    "fedglomo": {"color": "#56B4E9", "marker": "P", "linestyle": (0, (1, 1))},
    "fedpd": {"color": "0.15", "marker": "X", "linestyle": (0, (2, 2))},
    "stem": {"color": "#0072B2", "marker": "o", "linestyle": "-"},
}
REST = "others, in the table"
OTHERS: dict[str, Any] = {"color": "0.72", "linewidth": 0.8, "zorder": 1}
AT = {
    "zeta": "$I$ = 16, $K$ = 4",
    "I": "$\\zeta$ = 16, $K$ = 4",
    "K": "$\\zeta$ = 4, $I$ = 4",
    "epsilon": "$\\zeta$ = 4, $I$ = 4, $K$ = 4",
}
TITLES = {
    "zeta": "heterogeneity $\\zeta$",
    "I": "samples per round, $b\\,I$",
    "K": "workers $K$",
    "epsilon": "$\\epsilon$ (harder to the right)",
}
UNITS = {"rounds": "rounds", "samples": "samples per worker", "vectors": "vectors per worker"}


def prepare(mode: str, progress: Progress) -> Systems:
    """Return the data of sweep ``systems``, run on the spot; a quick one has four systems only."""
    labels = FEW if mode == "quick" else ()
    return systems_of(swept("systems", mode, progress, GRIDS, labels))


def stored(mode: str, store: Path) -> Systems:
    """Return the same from its store, with all systems."""
    return systems_of(stored_sweep("systems", mode, store, GRIDS))


def shown_problem(data: Systems) -> str:
    """Return the problem that is drawn: the one that is not convex, if it is there."""
    problems = data.problems()
    return "cosine" if "cosine" in problems else problems[0]


def draw(data: Systems, figure: Canvas) -> None:
    """Draw a row of panels for each cost and a column for each setting."""
    grid = figure.subplots(len(COSTS), len(AXES), sharex="col")
    for r, cost in enumerate(COSTS):
        for c, against in enumerate(AXES):
            ax = grid[r, c]
            _panel(data, ax, against, cost)
            letter = "abcdefghijkl"[r * len(AXES) + c]
            ax.set_title(letter if r else f"{letter}  {AT[against]}")
            if c == 0:
                ax.set_ylabel(UNITS[cost])
            if r == len(COSTS) - 1:
                ax.set_xlabel(TITLES[against])
    handles, labels = grid[0, 0].get_legend_handles_labels()
    last = sorted(range(len(labels)), key=lambda i: labels[i] == REST)
    handles, labels = [handles[i] for i in last], [labels[i] for i in last]
    figure.legend(handles, labels, loc="outside upper center", ncols=len(labels))


def _panel(data: Systems, ax: Axes, against: str, cost: str) -> None:
    problem = shown_problem(data)
    epsilon = None if against == "epsilon" else data.epsilon()
    lines = {x: data.series(against, problem, x, epsilon) for x in data.labels()}
    plain_log_axes(ax)
    ticks = sorted({row.x for rows in lines.values() for row in rows})
    ax.set_xticks(ticks, [f"{tick:.2g}" for tick in ticks])
    ax.xaxis.set_minor_locator(NullLocator())
    ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    grey, places = False, Counter[float]()
    for label, rows in lines.items():
        x, y = np.array([[row.x, getattr(row, cost)] for row in rows]).reshape(-1, 2).T
        good = drawable(x, y)
        style = STYLES.get(label, OTHERS)
        name = NAMES[label] if label in STYLES else None if grey else REST
        grey = grey or label not in STYLES
        look: dict[str, Any] = {"linewidth": 1.2, "markersize": 5, **style}
        ax.plot(x[good], y[good], label=name, **look)
        if label in STYLES:
            _unreached(ax, x[~good], style, places)
    for row in best_rows(lines.values(), cost):
        ring: dict[str, Any] = {
            "markersize": 11,
            "markeredgecolor": "0.1",
            "markerfacecolor": "none",
        }
        ax.plot([row.x], [getattr(row, cost)], "o", markeredgewidth=1, zorder=5, **ring)
    if places:  # room for the marks at the top
        low, high = ax.get_ylim()
        ax.set_ylim(low, high * (high / low) ** 0.2)
    if against == "epsilon":
        ax.invert_xaxis()


def _unreached(ax: Axes, x: Any, style: dict[str, Any], places: Counter[float]) -> None:
    """Mark a system that does not get there by its hollow marker at the top edge."""
    for place in x:
        height = 0.97 - 0.07 * places[place]
        places[place] += 1
        look = {"markerfacecolor": "white", "markersize": 5, "clip_on": False}
        transform = ax.get_xaxis_transform()
        ax.plot([place], [height], transform=transform, **{**style, **look, "linestyle": "none"})


def best_rows(lines: Any, cost: str) -> list[Row]:
    """Return, at every x, the row with the least cost among the systems that get there."""
    rows = [row for line in lines for row in line if drawable(getattr(row, cost)).all()]
    places = sorted({row.x for row in rows})
    return [min((r for r in rows if r.x == x), key=lambda r: getattr(r, cost)) for x in places]


def wins(data: Systems, against: str, cost: str) -> list[tuple[float, list[str]]]:
    """Return for every x the systems within 5 % of the least cost, best first."""
    epsilon = None if against == "epsilon" else data.epsilon()
    lines = [data.series(against, shown_problem(data), x, epsilon) for x in data.labels()]
    found = []
    for best in best_rows(lines, cost):
        least = getattr(best, cost)
        near = [
            r for rows in lines for r in rows if r.x == best.x and getattr(r, cost) <= 1.05 * least
        ]
        near.sort(key=lambda r: getattr(r, cost))
        found.append((best.x, [NAMES[r.label] for r in near]))
    return found


def _told(data: Systems, against: str, cost: str) -> str:
    """Say who wins where, neighbours with the same winners together."""
    parts: list[tuple[list[float], list[str]]] = []
    for x, names in wins(data, against, cost):
        if parts and parts[-1][1] == names:
            parts[-1][0].append(x)
        else:
            parts.append(([x], names))
    return ", ".join(f"{' = '.join(names)} at {_range(xs)}" for xs, names in parts)


def _range(xs: list[float]) -> str:
    return f"{xs[0]:g}" if len(xs) == 1 else f"{xs[0]:g} to {xs[-1]:g}"


def _missing(rows: list[Row]) -> list[str]:
    """Name the systems that do not get there, each with its places."""
    found: dict[str, dict[str, list[str]]] = {}
    for row in rows:
        found.setdefault(NAMES[row.label], {}).setdefault(row.against, []).append(f"{row.x:g}")
    return [
        f"{name} at " + " and ".join(f"{axis} = {', '.join(xs)}" for axis, xs in places.items())
        for name, places in found.items()
    ]


def caption(data: Systems) -> str:
    """Return what is seen and what is not claimed."""
    problem, epsilon = shown_problem(data), data.epsilon()
    shown = [r for r in data.rows if r.problem == problem]
    missing = [
        r for r in shown if r.eta is None and (r.against == "epsilon" or r.epsilon == epsilon)
    ]
    lost = "; ".join(_missing(missing))
    overhead = float(np.median([r.overhead for r in shown if r.overhead is not None]))
    edge, won = sum(r.at_edge for r in shown), sum(r.eta is not None for r in shown)
    told = "; ".join(
        f"{cost} over {name}: {_told(data, name, cost)}" for cost in COSTS[:2] for name in AXES
    )
    return (
        f"What one worker spends until E||grad f(xbar_a)||^2 is at most epsilon = {epsilon:g} (last"
        f" column: over epsilon), on {problem} (two dimensions, L = sigma = 1, noise that depends"
        " on x, L_n = 0.5, workers that disagree at the optimum by zeta). Every system has its best"
        f" of the same {len(data.steps)} steps from {data.steps[0]:g}/L down to"
        f" {data.steps[-1]:.2g}/L, for each epsilon that with the fewest samples;"
        f" {data.replicates} replicates; a step at which a run diverged cannot win. Against zeta, I"
        " = 16; against I, zeta = 16; against K and epsilon, zeta = I = 4. Minibatch SGD takes one"
        " step on all the b I samples of a round. Rings: the least of a column; within 5 % of it:"
        f" {told}. Hollow, at the top: not reached within the run ({lost or 'none'}). Tuning took"
        f" {overhead:.0f} times the samples of the winner (median); {edge} of {won} winners"
        " are at the edge of the grid. Not claimed: that the order is the same on other problems,"
        " in high dimension or with other momentum (a is tied to the step by a common factor)."
        " MIME's full local gradients are free of noise here and count b I samples, which flatters"
        " it; the same replicates choose the step and measure it, which flatters everybody."
    )


ENTRY = Figure(
    name="systems",
    summary="rounds, samples and vectors to epsilon of every tuned system, over zeta, I and K",
    prepare=prepare,
    draw=draw,
    caption=caption,
    size=(12.4, 8.4),
    stored=stored,
    report_mode="quick",
    table=table,
)
