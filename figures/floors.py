"""What no algorithm goes below, beside what runs take and what theorems promise: two chains.

Every system has its best step of one grid that ends at 1/L: the one with which the median run comes
to the end of the chain first. Bounds are at the accuracy that needs all links.

Paper: rmk:complexity.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure as Canvas

from stemtheory.bounds import invert
from stemtheory.experiment import SweepResult, sweep_for
from stemtheory.report import Figure, FigureTable, Panel, Progress, Quantity, palette
from stemtheory.simulator import Run

NAMES = {
    "fedavg": "FedAvg",
    "scaffold": "SCAFFOLD",
    "stem": "STEM",
    "minibatch-sgd": "minibatch SGD",
}
ASIDE = {"fedavg": 0.95, "scaffold": 1.0, "stem": 1.05, "minibatch-sgd": 1.0}  # or they hide
# What is proved of a system: of STEM the repaired theorem, whose reading is the one that runs.
BOUNDS = {"fedavg": "fedavg-theorem", "stem": "stem-repaired"}
COLUMNS = (
    *(Quantity(name) for name in ("chain", "kind", "system")),
    Quantity("I", "local steps $I$"),
    Quantity("K", "workers $K$"),
    Quantity("rarity", "$1/p$, the next link shows with probability $p$"),
    Quantity("rounds", "rounds to the end of the chain"),
    Quantity("samples", "samples of all workers", ("samples_low", "samples_high")),
    *(Quantity(name) for name in ("samples_low", "samples_high", "eta", "at_edge")),
)


class Reached(NamedTuple):
    """A cell and when its replicates came to the end: iterations, infinite where they did not."""

    system: str
    run: Run
    after: Any

    @property
    def place(self) -> tuple[Any, ...]:
        """What the best step is looked for at."""
        problem = self.run.problem
        return problem.name, self.system, problem.K, self.run.sizes.I, dict(problem.dials).get("p")

    @property
    def eta(self) -> float:
        """The step size."""
        return float(str(dict(self.run.schedule.options)["eta"]))


def reached(found: SweepResult) -> Iterator[Reached]:
    """Yield when the replicates of every cell came to the end of their chain."""
    for point in found.points:
        result = found.results[point.cell.id]
        at = np.array(result.facts.get("arrived_at", []), dtype=float)
        after = np.where(at > 0, at - 1, math.inf)
        if len(at):
            yield Reached(point.label, point.cell.run, after)


def table(mode: str, store: Path | None, progress: Progress) -> FigureTable:
    """Return the data of sweep ``floors``."""
    return table_of(sweep_for("floors", mode, store, progress))


def table_of(found: SweepResult) -> FigureTable:
    """Return what every system took with its best step, the floors, and the bounds.

    Rounds begun count, and samples drawn, a first batch among them; NaN where no step of the grid
    brings the median replicate to the end.
    """
    groups: dict[tuple[Any, ...], list[Reached]] = {}
    for cell in reached(found):
        groups.setdefault(cell.place, []).append(cell)
    best = [min(cells, key=lambda cell: float(np.median(cell.after))) for cells in groups.values()]
    steps = sorted({cell.eta for cells in groups.values() for cell in cells}, reverse=True)
    parts = [_measured(cell, steps[0]) for cell in best]
    for name in dict.fromkeys(cell.run.problem.name for cell in best):
        runs = [cell for cell in best if cell.run.problem.name == name]
        parts += [_floor(cell) for cell in runs]
        parts += [part for cell in runs for part in _bound(cell)]
    most = max(len(cell.after) for cell in best)
    links = int(best[0].run.problem.load().dials["links"])
    rows = FigureTable.of(COLUMNS, parts, links=links, steps=tuple(steps), replicates=most)
    return rows.kept(~rows.frame.duplicated().to_numpy())


def _at(cell: Reached, kind: str, system: str = "") -> dict[str, Any]:
    p = dict(cell.run.problem.dials).get("p")
    return {
        "chain": cell.run.problem.name,
        "kind": kind,
        "system": system,
        "I": cell.run.sizes.I,
        "K": cell.run.problem.K,
        "rarity": math.nan if p is None else 1 / float(str(p)),
    }


def _samples(run: Run, after: float) -> float:
    return (
        run.costs(int(after)).draws_per_worker * run.problem.K if math.isfinite(after) else math.nan
    )


def _measured(cell: Reached, longest: float) -> dict[str, Any]:
    """Return the row of a system with its best step: the median replicate, the first and last."""
    middle = float(np.median(cell.after))
    there = math.isfinite(middle)
    low, high = float(cell.after.min()), float(cell.after.max())
    return {
        **_at(cell, "measured", cell.system),
        "rounds": math.ceil(middle / cell.run.sizes.I) if there else math.nan,
        "samples": _samples(cell.run, middle),
        "samples_low": _samples(cell.run, low),
        "samples_high": _samples(cell.run, high),
        "eta": cell.eta if there else math.nan,
        "at_edge": cell.eta == longest,
    }


def _floor(cell: Reached) -> dict[str, Any]:
    """Return what nothing goes below: a round for a link, n/(2p) samples."""
    problem = cell.run.problem.load()
    links = problem.dials["links"]
    samples = links / (2 * problem.dials["p"]) if "p" in problem.dials else math.nan
    row = {**_at(cell, "floor"), "samples": samples}
    # I is no matter for samples, nor K: one line
    return row | (
        {"rounds": links} if math.isnan(samples) else {"rounds": math.nan, "I": 0, "K": 0}
    )


def _bound(cell: Reached) -> Iterator[dict[str, Any]]:
    """Yield what a theorem promises of the system at this accuracy, if its premises hold."""
    if cell.system not in BOUNDS:
        return
    problem, sizes = cell.run.problem.load(), cell.run.sizes
    known = problem.constants(cell.run.start)
    promised = invert(
        BOUNDS[cell.system], problem.dials["floor"], K=problem.K, L=known.L, sigma=known.sigma,
        zeta=known.zeta, gap=known.gap, b=sizes.b, I=sizes.I,
    )  # fmt: skip
    if all(premise.ok for premise in promised.bound.premises):
        yield {
            **_at(cell, "bound", cell.system),
            "rounds": promised.rounds,
            "samples": promised.samples_total,
        }


def draw(data: FigureTable, figure: Canvas) -> None:
    """Draw rounds over I on the split chain, and samples over 1/p on the hidden chain."""
    axes = figure.subplots(1, 2)
    split = data.where(chain="split_chain")
    rounds = Panel(axes[0], split, "I", "rounds", title=_title("a", "split chain", split))
    _draw(split, rounds, (("", {}),))
    hidden = data.where(chain="hidden_chain")
    several = len(hidden.where(kind="measured").distinct("K")) > 1
    title = f"b  Hidden chain, {data.facts['links']} links"
    samples = Panel(axes[1], hidden, "rarity", "samples", title=title)
    workers = hidden.where(kind="measured").distinct("K")
    _draw(hidden, samples, tuple((f", $K$ = {K:g}" if several else "", {"K": K}) for K in workers))
    for ax in axes:
        ax.legend(loc="center", ncols=2)


def _title(letter: str, name: str, rows: FigureTable) -> str:
    (K,) = rows.distinct("K")
    return f"{letter}  {name.capitalize()}, {rows.facts['links']} links, $K$ = {K:g}"


def _draw(rows: FigureTable, panel: Panel, series: tuple[tuple[str, dict[str, Any]], ...]) -> None:
    """Draw what runs took, of several K the later ones hollow; bounds above, the floor below."""
    for system, name in NAMES.items():
        look = palette.LOOKS[system]
        for i, (said, where) in enumerate(series):
            own = rows.where(kind="measured", system=system, **where).sorted(panel.x)
            if not len(own):
                continue
            hollow = {"markerfacecolor": "white"} if i else {}
            dash = look.dash if panel.x == "I" else palette.DASHES[i % 3]
            panel.line(own, color=look.colour, linestyle=dash, linewidth=1)
            panel.marks(own, ASIDE[system], **look.style(label=name + said, **hollow))
            bound = rows.where(kind="bound", system=system, **where).sorted(panel.x)
            panel.line(bound, color=look.colour, linestyle=palette.DOTTED, linewidth=1.2)
    panel.key("theorems' bounds", ":", linewidth=1.2)
    panel.line(rows.where(kind="floor").sorted(panel.x), color="0.15", linewidth=2.2, label="floor")


def caption(data: FigureTable) -> str:
    """Return what is seen and what is not claimed."""
    split = data.where(chain="split_chain", kind="measured")
    said = []
    for (system,), rows in split.sorted("system", tuple(NAMES)).groups("system"):
        own = rows.sorted("I")
        pairs = zip(own["rounds"], own["I"], strict=True)
        said.append(f"{NAMES[system]} " + ", ".join(f"{r:g} at I = {i:g}" for r, i in pairs))
    hidden = data.where(chain="hidden_chain", kind="measured")
    floors = {
        r["rarity"]: r["samples"] for r in data.where(chain="hidden_chain", kind="floor").records()
    }
    over = [r["samples_low"] / floors[r["rarity"]] for r in hidden.records()]
    lost = int(np.isnan(data.where(kind="measured")["samples"]).sum())
    missing = f" {lost} points have no step that gets there." if lost else ""
    edge = int(data.where(kind="measured")["at_edge"].sum())
    n = data.facts["links"]
    return (
        f"Chains of {n} links (L = gap = 1, from x_1 = 0), each system with its best step of"
        f" {', '.join(f'{eta:g}' for eta in data.facts['steps'])} over L. (a) Links shared out over"
        f" the workers in turn: rounds begun until all are found, over I: {'; '.join(said)}. The"
        f" floor is {n}: no worker passes two links between two exchanges. (b) The next link shows"
        f" with probability p: samples of all workers, the median of {data.facts['replicates']}"
        f" replicates with the first and the last, over 1/p; the floor n/(2p) is kept with"
        f" probability above 0.996, and the nearest replicate is {np.nanmin(over):.3g} times above"
        " it. Dotted: what is proved of FedAvg and of STEM (the repaired theorem, from I = 2 on) at"
        f" accuracy (h/lambda)^2. {edge} of {len(data.where(kind='measured'))} best steps are the"
        f" longest, 1/L.{missing} Not claimed: that a fixed chain tells these systems apart, or"
        " that longer steps would not be faster; a chain is passed at one link a step with two"
        " hundred times 1/L, and nothing goes below the floors then either (claims FL1 to FL3)."
    )


SUMMARY = "floors of rounds and samples, runs and bounds above them (Remark 1)"
ENTRY = Figure("floors", SUMMARY, table, draw, caption, size=(10.4, 4.6), sweep="floors")
