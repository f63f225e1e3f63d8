"""Linear speed-up in the number of workers, exact: samples per worker and rounds to an epsilon.

Both theorems promise samples per worker of order 1/K, but the curves ask for b and I below 1 where
T < K^2 (STEM) or T < K^3 (FedAvg), and there the promise ends.

Paper: Thm: PR_Convergence_Main, Thm: Flexible_FedAvg.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from stemtheory.figures._exact import (
    ROUNDS,
    SAMPLES,
    TRADE_OFFS,
    ExactCosts,
    costs_down_to,
    exponent,
)
from stemtheory.report import Figure, FigureTable, Panel, Progress, Quantity, palette

WORKERS = np.array([1, 2, 4, 8, 16, 32, 64])
SMALL, LARGE = 1e-5, 3e-2
CURVES = (("stem", 0.0), ("stem", 1.0), ("fedavg", 0.0), ("fedavg", 1.0))
COLUMNS = (
    *(Quantity(name) for name in ("algorithm", "nu", "epsilon")),
    Quantity("K", "workers $K$"),
    *(Quantity("T"), SAMPLES, ROUNDS, Quantity("clipped")),
    SAMPLES._replace(name="samples_promised"),
    ROUNDS._replace(name="rounds_promised"),
)


def table(mode: str, store: Path | None, progress: Progress) -> FigureTable:
    """Return costs over K; exact and quick, so that every mode gives the same.

    ``clipped`` is where the curve asks for b or I below 1. Promised is 1/K (samples) or a constant
    (rounds) through K = 1.
    """
    progress("exact moments over the number of workers")
    parts = []
    for algorithm, nu in CURVES:
        costs = [costs_down_to(algorithm, int(K), nu, 8.0, SMALL) for K in WORKERS]
        parts += [over_workers(algorithm, nu, epsilon, costs) for epsilon in (SMALL, LARGE)]
    return FigureTable.of(COLUMNS, parts)


def over_workers(
    algorithm: str, nu: float, epsilon: float, costs: list[ExactCosts]
) -> dict[str, Any]:
    """Return the rows of one curve at epsilon, one for every number of workers."""
    T, samples, rounds = (
        np.array([c.at(of, epsilon) for c in costs]) for of in ("T", "samples", "rounds")
    )
    who = {"algorithm": algorithm, "nu": nu, "epsilon": epsilon, "K": WORKERS}
    clipped = WORKERS.astype(float) ** TRADE_OFFS[algorithm].w > T
    promised = {"samples_promised": samples[0] / WORKERS, "rounds_promised": rounds[0]}
    return {**who, "T": T, "samples": samples, "rounds": rounds, "clipped": clipped, **promised}


STYLES = {
    ("stem", 0.0): ("STEM, $\\nu$ = 0", palette.LOOKS["stem"].shade(1, 2), "o"),
    ("stem", 1.0): ("STEM, $\\nu$ = 1", palette.LOOKS["stem"].shade(0, 2), "o"),
    ("fedavg", 0.0): ("FedAvg, $\\nu$ = 0", palette.LOOKS["fedavg"].shade(1, 2), "s"),
    ("fedavg", 1.0): ("FedAvg, $\\nu$ = 1", palette.LOOKS["fedavg"].shade(0, 2), "s"),
}


def draw(data: FigureTable, figure: Canvas) -> None:
    """Draw samples per worker at both epsilons, and rounds."""
    left, middle, right = figure.subplots(1, 3)
    small, large = data.where(epsilon=SMALL), data.where(epsilon=LARGE)
    _draw_rows(left, small, "samples", f"a  Samples, $\\epsilon$ = {_tenth(SMALL)}")
    _draw_rows(
        middle, large, "samples", f"b  Samples, $\\epsilon$ = {_tenth(LARGE)}: the end of it"
    )
    _draw_rows(right, small, "rounds", f"c  Rounds, $\\epsilon$ = {_tenth(SMALL)}")
    left.legend(loc="lower left")


def _draw_rows(ax: Axes, data: FigureTable, of: str, title: str) -> None:
    panel = Panel(ax, data, "K", of, log="y", title=title)
    ax.set_xscale("log", base=2)
    promise = Panel(ax, data, "K", f"{of}_promised", log="")
    for (algorithm, nu), rows in data.groups("algorithm", "nu"):
        label, colour, marker = STYLES[algorithm, nu]
        promise.line(rows, linestyle="--", color=colour, linewidth=1)
        look: dict[str, Any] = {"marker": marker, "color": colour}
        panel.marks(rows.where(clipped=False), **look, label=label)
        panel.marks(rows.where(clipped=True), **look, markerfacecolor="white")
    panel.key("promised, through $K$ = 1", "--", linewidth=1)
    panel.key("$b$ or $I$ clipped at 1", "o", markerfacecolor="white")
    ax.set_xticks(WORKERS, [str(K) for K in WORKERS])


def _tenth(value: float) -> str:
    power = int(np.floor(np.log10(value)))
    lead = round(value / 10.0**power)
    return f"$10^{{{power}}}$" if lead == 1 else f"{value:g}"


def exponent_of(rows: FigureTable, of: str) -> float:
    """Return the exponent of a cost in K over what is not clipped; NaN of a single point."""
    kept = rows.where(clipped=False)
    return exponent(kept["K"], kept[of]) if len(kept) > 1 else float("nan")


def caption(data: FigureTable) -> str:
    """Return what is seen and what is not claimed."""
    curves = {
        epsilon: [(_name(*who), rows) for who, rows in own.groups("algorithm", "nu")]
        for (epsilon,), own in data.groups("epsilon")
    }
    small, large = (
        ", ".join(f"{name} {exponent_of(rows, 'samples'):.3f}" for name, rows in curves[epsilon])
        for epsilon in (SMALL, LARGE)
    )
    rounds = max(abs(exponent_of(rows, "rounds")) for _, rows in curves[SMALL])
    clipped = [(name, rows.where(clipped=True)["K"]) for name, rows in curves[LARGE]]
    first = ", ".join(f"{name} from K = {K[0]:g}" for name, K in clipped if len(K))
    return (
        "Samples per worker and rounds until E||grad f(xbar_a)||^2 is at most epsilon, against the"
        " number of workers, along the theorems' own curves (quadratic, h = L = sigma = 1, additive"
        " noise, zeta = 0, x1 = 1; exact moments, no random number; lengths at which I is whole,"
        " interpolated). Dashed: the promise, 1/K for samples and a constant for rounds, through"
        f" the value at K = 1. Exponents in K over filled marks at epsilon = {SMALL:g}: {small};"
        f" rounds change by K^{rounds:.3f} at most. At epsilon = {LARGE:g}: {large}. Hollow: T <"
        f" K^2 (STEM) or K^3 (FedAvg), where the curve asks for b or I below 1 and no linear"
        f" speed-up is promised; here {first or 'nowhere'} (FedAvg's runs in b are shorter than its"
        " theorem's premise T >= 81 L^2 I^2 bK). Not claimed: the speed-up of wall-clock time, of"
        " heterogeneous workers, or of other schedules."
    )


def _name(algorithm: str, nu: float) -> str:
    return f"{'STEM' if algorithm == 'stem' else 'FedAvg'} nu = {nu:g}"


SUMMARY = "samples per worker and rounds against the number of workers, exact"
ENTRY = Figure("speedup", SUMMARY, table, draw, caption, size=(11.4, 3.9))
