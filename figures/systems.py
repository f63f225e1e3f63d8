"""Where each system wins: rounds, samples and vectors to epsilon over zeta, I, K and epsilon.

Every system has its best of one grid of step sizes, by one rule: the fewest samples to epsilon.

Paper: Table: Comparison.
"""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.ticker import LogLocator, NullLocator

from stemtheory.experiment import SweepResult, sweep_for, tuned
from stemtheory.report import (
    Column,
    Figure,
    FigureTable,
    Panel,
    Progress,
    Quantity,
    Table,
    drawable,
    palette,
)
from stemtheory.runtime import Floats

COSTS = ("rounds", "samples", "vectors")
# What varies, by the grid of the sweep; of I, the samples of one worker in a round (b I).
VARIED = {"zeta": "zeta", "steps": "bI", "workers": "K", "epsilon": "epsilon"}
AXES = {
    "zeta": "$I$ = 16, $K$ = 4",
    "bI": "$\\zeta$ = 16, $K$ = 4",
    "K": "$\\zeta$ = 4, $I$ = 4",
    "epsilon": "$\\zeta$ = 4, $I$ = 4, $K$ = 4",
}
SAID = {"zeta": "zeta", "bI": "I", "K": "K", "epsilon": "epsilon"}  # in words
COLUMNS = (
    *(Quantity(name) for name in ("against", "problem", "system")),
    Quantity("zeta", "heterogeneity $\\zeta$"),
    Quantity("bI", "samples per round, $b\\,I$"),
    Quantity("K", "workers $K$"),
    Quantity("epsilon", "$\\epsilon$ (harder to the right)"),
    *(Quantity("eta"), Quantity("rounds", "rounds"), Quantity("samples", "samples per worker")),
    Quantity("vectors", "vectors per worker"),
    *(Quantity(name) for name in ("at_edge", "diverged_steps", "samples_of_all_steps")),
)
FEW = ("minibatch-sgd", "fedavg", "scaffold", "stem")  # what a quick figure runs by itself
GRIDS = tuple(f"{name}{end}" for name in VARIED for end in ("", "_batch"))
NAMES = {
    "minibatch-sgd": "minibatch SGD",
    "fedavg": "FedAvg",
    "scaffold": "SCAFFOLD",
    "vrl-sgd": "VRL-SGD",
    "fedprox": "FedProx",
    "mime": "MIME",
    "mimelite": "MimeLite",
    "mimemvr": "MimeMVR",
    "fedglomo": "FedGLOMO",
    "fedpd": "FedPD",
    "slowmo": "SlowMo",
    "local-polyak": "local Polyak",
    "local-nesterov": "local Nesterov",
    "spider": "SPIDER",
    "stem": "STEM",
}


def table(mode: str, store: Path | None, progress: Progress) -> FigureTable:
    """Return the data of sweep ``systems``; a quick one run on the spot has four systems only."""
    labels = FEW if mode == "quick" else ()
    return table_of(sweep_for("systems", mode, store, progress, GRIDS, labels))


def table_of(found: SweepResult) -> FigureTable:
    """Return what every system took per worker, with its best step.

    Costs are NaN where no step gets to epsilon. The samples of all steps are the cost of tuning.
    """
    parts: list[dict[str, Any]] = []
    for winner in tuned(found.points, found.results):
        cell, grid = winner.point.cell, winner.point.grid.removesuffix("_batch")
        problem = cell.run.problem
        if grid not in VARIED:
            continue
        who = {"problem": problem.name, "system": winner.point.label, "K": problem.K}
        at = {"zeta": float(str(dict(problem.dials)["zeta"])), "bI": cell.b * cell.I}
        costs = {name: winner.costs.get(name, math.nan) for name in COSTS}
        costs["eta"] = math.nan if winner.value is None else winner.value
        tuning = {"diverged_steps": winner.diverged, "samples_of_all_steps": winner.spent}
        at |= {"epsilon": winner.epsilon, "at_edge": winner.at_edge}
        parts.append({"against": VARIED[grid], **who, **at, **costs, **tuning})
    options = [dict(p.cell.run.schedule.options) for p in found.points]
    steps = tuple(sorted({float(str(o["eta"])) for o in options if "eta" in o}, reverse=True))
    most = max(point.cell.replicates for point in found.points)
    return FigureTable.of(COLUMNS, parts, steps=steps, replicates=most)


def view(data: FigureTable) -> Table:
    """Return every tuned run: what it took, with which step, and what the search took."""
    note = (
        "Per worker; vectors are those sent and received. Against I, the value is b I, the samples"
        f" of a round. A dash: no step of the {len(data.facts['steps'])} gets there within its run."
        " Edge: the best step is the first or last of the grid. The samples of all steps are the"
        " cost of tuning, and times the best is what it multiplies the samples by."
    )
    rows = []
    for r in data.records():
        none, spent = math.isnan(r["eta"]), r["samples_of_all_steps"]
        numbers = [None if math.isnan(r[name]) else r[name] for name in ("eta", *COSTS)]
        place = "none" if none else "edge" if r["at_edge"] else "inside"
        times = None if none else spent / r["samples"]
        who = SAID[r["against"]], r["problem"], NAMES.get(r["system"], r["system"])
        at = r[r["against"]], r["epsilon"]
        rows.append((*who, *at, *numbers, place, r["diverged_steps"], spent, times))
    columns = (
        *(Column(name, False) for name in ("against", "problem", "system")),
        *(Column(name) for name in ("value", "epsilon", "best step", *COSTS)),
        Column("step", False),
        *(Column(name) for name in ("diverged steps", "samples of all steps", "times the best")),
    )
    return Table("Systems with their best of one grid of steps", note, columns, tuple(rows))


SHOWN = ("minibatch-sgd", "fedavg", "scaffold", "mimemvr", "fedglomo", "fedpd", "stem")
STYLES: dict[str, dict[str, Any]] = {
    name: palette.LOOKS[name].style(linestyle=palette.LOOKS[name].dash) for name in SHOWN
}
REST = "others, in the table"
OTHERS: dict[str, Any] = {"color": "0.72", "linewidth": 0.8, "zorder": 1}


def problem_shown(data: FigureTable) -> str:
    """Return the problem that is drawn: the one that is not convex, if it is there."""
    problems = data.distinct("problem")
    return "cosine" if "cosine" in problems else str(problems[0])


def least_epsilon(data: FigureTable) -> float:
    """Return the epsilon of the panels over zeta, I and K: the smallest that is there."""
    fixed = data.where(against=tuple(AXES)[:-1])["epsilon"]
    return float(fixed.min()) if len(fixed) else math.nan


def rows_of(data: FigureTable, against: str) -> FigureTable:
    """Return what one column of panels shows, by x; with epsilon on the axis it is not fixed."""
    rows = data.where(against=against, problem=problem_shown(data))
    if against != "epsilon":
        rows = rows.where(epsilon=least_epsilon(data))
    return rows.sorted("system", tuple(NAMES)).sorted(against)


def draw(data: FigureTable, figure: Canvas) -> None:
    """Draw what is to be taken from it: rounds over heterogeneity."""
    ax = figure.subplots()
    title = f"Rounds to $\\epsilon$ = {least_epsilon(data):g}; {AXES['zeta']}"
    _panel(rows_of(data, "zeta"), ax, "zeta", "rounds", title)
    _legend(ax, figure, columns=4)


def draw_all(data: FigureTable, figure: Canvas) -> None:
    """Draw a row of panels for each setting and a column for each cost."""
    grid = figure.subplots(len(AXES), len(COSTS))
    for r, (against, held) in enumerate(AXES.items()):
        for c, cost in enumerate(COSTS):
            letter = "abcdefghijkl"[r * len(COSTS) + c]
            title = f"{letter}  {held}" if c == 0 else f"{letter}  {cost.capitalize()}"
            _panel(rows_of(data, against), grid[r, c], against, cost, title)
    _legend(grid[0, 0], figure, columns=8)


def _legend(ax: Axes, figure: Canvas, columns: int) -> None:
    drawn = zip(*ax.get_legend_handles_labels(), strict=True)
    handles, labels = zip(*sorted(drawn, key=lambda pair: pair[1] == REST), strict=True)
    figure.legend(handles, labels, loc="outside lower center", ncols=min(columns, len(labels)))


def _panel(data: FigureTable, ax: Axes, against: str, cost: str, title: str) -> None:
    panel = Panel(ax, data, against, cost, plain="xy", title=title)
    grey, places, ticks = False, Counter[float](), sorted(data.distinct(against))
    ax.set_xticks(ticks, [f"{tick:.2g}" for tick in ticks])
    ax.xaxis.set_minor_locator(NullLocator())
    ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    for system in data.sorted("system", tuple(NAMES)).distinct("system"):
        rows, style = data.where(system=system), STYLES.get(system, OTHERS)
        name = NAMES[system] if system in STYLES else None if grey else REST
        grey = grey or system not in STYLES
        reached = drawable(rows[cost])
        look: dict[str, Any] = {"linewidth": 1.2, "markersize": 5, **style}
        panel.line(rows.kept(reached), label=name, **look)
        if system in STYLES:
            _unreached(ax, rows.kept(~reached)[against], style, places)
    ring: dict[str, Any] = {"markersize": 11, "markeredgecolor": "0.1", "markeredgewidth": 1}
    best = best_rows(data, against, cost)
    panel.marks(best, marker="o", mfc="none", zorder=5, clip_on=False, **ring)
    if places:  # room for the marks at the top
        low, high = ax.get_ylim()
        ax.set_ylim(low, high * (high / low) ** 0.2)
    if against == "epsilon":
        ax.invert_xaxis()


def _unreached(ax: Axes, x: Floats, style: dict[str, Any], places: Counter[float]) -> None:
    """Mark a system that does not get there by its hollow marker at the top edge."""
    for place in x.tolist():
        height = 0.97 - 0.07 * places[place]
        places[place] += 1
        look: dict[str, Any] = {"markerfacecolor": "white", "markersize": 5, "clip_on": False}
        transform = ax.get_xaxis_transform()
        ax.plot([place], [height], transform=transform, **{**style, **look, "linestyle": "none"})


def best_rows(rows: FigureTable, against: str, cost: str) -> FigureTable:
    """Return, at every x, the row with the least cost among the systems that get there."""
    reached = rows.kept(drawable(rows[cost]))
    order = np.argsort(reached[cost], kind="stable")
    _, first = np.unique(reached[against][order], return_index=True)
    return reached.kept(np.isin(np.arange(len(reached)), order[first]))


def wins(data: FigureTable, against: str, cost: str) -> list[tuple[float, list[str]]]:
    """Return for every x the systems within 5 % of the least cost, best first."""
    rows = rows_of(data, against)
    found = []
    for (x,), own in rows.kept(drawable(rows[cost])).groups(against):
        near = own.kept(own[cost] <= 1.05 * own[cost].min()).sorted(cost)
        found.append((x, [NAMES[system] for system in near.frame["system"]]))
    return found


def _told(data: FigureTable, against: str, cost: str) -> str:
    """Say who wins where, neighbours with the same winners together."""
    parts: list[tuple[list[float], list[str]]] = []
    for x, names in wins(data, against, cost):
        if parts and parts[-1][1] == names:
            parts[-1][0].append(x)
        else:
            parts.append(([x], names))
    return ", ".join(
        f"{' = '.join(names)} at {xs[0]:g}" + (f" to {xs[-1]:g}" if len(xs) > 1 else "")
        for xs, names in parts
    )


def _missing(rows: FigureTable) -> list[str]:
    """Name the systems that do not get there, each with its places."""
    found: dict[str, list[str]] = {}
    for (system, against), own in rows.groups("system", "against"):
        at = ", ".join(f"{x:g}" for x in own[against])
        found.setdefault(NAMES[system], []).append(f"{SAID[against]} = {at}")
    return [f"{name} at {' and '.join(places)}" for name, places in found.items()]


def caption(data: FigureTable) -> str:
    """Return what is seen in the one panel and what is not claimed."""
    reached = rows_of(data, "zeta")
    lost = "; ".join(_missing(reached.kept(~np.isfinite(reached["eta"]))))
    return (
        "Rounds until E||grad f(xbar_a)||^2 is at most epsilon ="
        f" {least_epsilon(data):g} on {problem_shown(data)}, over the heterogeneity zeta, with I ="
        f" 16 local steps on K = 4 workers. Every system has its best of the same"
        f" {len(data.facts['steps'])} steps, that with the fewest samples. Minibatch SGD takes one"
        " step on all samples of a round, and does not feel zeta; for most others rounds grow with"
        " it. Rings: the least of a column; within 5 % of"
        f" it: {_told(data, 'zeta', 'rounds')}. Hollow, at the top: not reached within the run"
        f" ({lost or 'none'}). MIME's full local gradients are free of noise here, which flatters"
        " it. Samples and vectors, and the same over I, K and epsilon: figure"
        " systems_all. Not claimed: that the order is the same on other problems, in high dimension"
        " or with other momentum."
    )


def caption_all(data: FigureTable) -> str:
    """Return what is seen in all panels and what is not claimed."""
    problem, epsilon, steps = problem_shown(data), least_epsilon(data), data.facts["steps"]
    shown = data.where(problem=problem)
    won = np.isfinite(shown["eta"])
    seen = (shown["epsilon"] == epsilon) | (shown.frame["against"] == "epsilon").to_numpy()
    lost = "; ".join(_missing(shown.kept(~won & seen)))
    overhead = np.median((shown["samples_of_all_steps"] / shown["samples"])[won])
    edge = int(shown["at_edge"].sum())
    told = "; ".join(
        f"{cost} over {SAID[name]}: {_told(data, name, cost)}"
        for cost in COSTS[:2]
        for name in AXES
    )
    return (
        f"What one worker spends until E||grad f(xbar_a)||^2 is at most epsilon = {epsilon:g} (last"
        f" row: over epsilon), on {problem} (two dimensions, L = sigma = 1, noise that depends"
        " on x, L_n = 0.5, workers that disagree at the optimum by zeta). Every system has its best"
        f" of the same {len(steps)} steps from {steps[0]:g}/L down to"
        f" {steps[-1]:.2g}/L, for each epsilon that with the fewest samples;"
        f" {data.facts['replicates']} replicates; a step at which a run diverged cannot win."
        " Against zeta, I = 16; against I, zeta = 16; against K and epsilon, zeta = I = 4."
        " Minibatch SGD takes one step on all the b I samples of a round. Rings: the least of a"
        f" column; within 5 % of it: {told}. Hollow, at the top: not reached within the run"
        f" ({lost or 'none'}). Tuning took"
        f" {overhead:.0f} times the samples of the winner (median); {edge} of {won.sum()} winners"
        " are at the edge of the grid. Not claimed: that the order is the same on other problems,"
        " in high dimension or with other momentum (a is tied to the step by a common factor)."
        " MIME's full local gradients are free of noise here and count b I samples, which flatters"
        " it; half of the replicates choose the step, and the other half measure it."
    )


SUMMARY = "rounds to epsilon of every tuned system over heterogeneity; a table of all its costs"
ENTRY = Figure(
    "systems",
    SUMMARY,
    table,
    draw,
    caption,
    size=(7.2, 4.6),
    sweep="systems",
    report_mode="quick",
    view=view,
)
