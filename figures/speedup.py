"""Linear speed-up in the number of workers, exact: samples per worker and rounds to an epsilon.

Both theorems promise samples per worker of order 1/K, but the curves ask for b and I below 1 where
T < K^2 (STEM) or T < K^3 (FedAvg), and there the promise ends.

Paper: Thm: PR_Convergence_Main, Thm: Flexible_FedAvg.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from stemtheory.figures._exact import (
    FEDAVG_COLOUR,
    STEM_COLOUR,
    TRADE_OFFS,
    Costs,
    costs_down_to,
    exponent,
)
from stemtheory.report import Figure, Progress
from stemtheory.runtime import Floats

WORKERS = np.array([1, 2, 4, 8, 16, 32, 64])
SMALL, LARGE = 1e-5, 3e-2
CURVES = (("stem", 0.0), ("stem", 1.0), ("fedavg", 0.0), ("fedavg", 1.0))


class Row(NamedTuple):
    """One algorithm and nu at one epsilon, over the numbers of workers.

    ``clipped`` marks where the curve asks for b or I below 1.
    """

    algorithm: str
    nu: float
    epsilon: float
    samples: Floats
    rounds: Floats
    clipped: Floats

    @property
    def exponent(self) -> float:
        """The exponent of samples per worker in K over what is not clipped."""
        kept = self.clipped == 0
        return exponent(WORKERS[kept], self.samples[kept]) if kept.sum() > 1 else float("nan")

    @property
    def rounds_exponent(self) -> float:
        """The exponent of rounds in K over what is not clipped."""
        kept = self.clipped == 0
        return exponent(WORKERS[kept], self.rounds[kept]) if kept.sum() > 1 else float("nan")


@dataclass(frozen=True)
class SpeedUp:
    """All curves at a small and at a large epsilon."""

    small: tuple[Row, ...]
    large: tuple[Row, ...]


def prepare(mode: str, progress: Progress) -> SpeedUp:
    """Return costs over K; exact and quick, so that every mode gives the same."""
    progress("exact moments over the number of workers")
    small, large = [], []
    for algorithm, nu in CURVES:
        costs = [costs_down_to(algorithm, int(K), nu, 8.0, SMALL) for K in WORKERS]
        small.append(row(algorithm, nu, SMALL, costs))
        large.append(row(algorithm, nu, LARGE, costs))
    return SpeedUp(tuple(small), tuple(large))


def row(algorithm: str, nu: float, epsilon: float, costs: list[Costs]) -> Row:
    """Return one row of costs at epsilon."""
    samples = np.array([c.samples_at(epsilon) for c in costs])
    rounds = np.array([c.rounds_at(epsilon) for c in costs])
    steps = np.array([c.steps_at(epsilon) for c in costs])
    clipped = steps < WORKERS.astype(float) ** TRADE_OFFS[algorithm].w
    return Row(algorithm, nu, epsilon, samples, rounds, clipped.astype(float))


STYLES = {
    ("stem", 0.0): ("STEM, $\\nu$ = 0", STEM_COLOUR, "o"),
    ("stem", 1.0): ("STEM, $\\nu$ = 1", "#56B4E9", "^"),
    ("fedavg", 0.0): ("FedAvg, $\\nu$ = 0", FEDAVG_COLOUR, "s"),
    ("fedavg", 1.0): ("FedAvg, $\\nu$ = 1", "#E69F00", "D"),
}


def draw(data: SpeedUp, figure: Canvas) -> None:
    """Draw samples per worker at both epsilons, and rounds."""
    left, middle, right = figure.subplots(1, 3)
    _draw_rows(left, data.small, "samples")
    _draw_rows(middle, data.large, "samples")
    _draw_rows(right, data.small, "rounds")
    left.set_ylabel("samples per worker")
    middle.set_ylabel("samples per worker")
    right.set_ylabel("communication rounds")
    left.set_title(f"a  Samples, $\\epsilon$ = {_tenth(SMALL)}")
    middle.set_title(f"b  Samples, $\\epsilon$ = {_tenth(LARGE)}: the end of it")
    right.set_title(f"c  Rounds, $\\epsilon$ = {_tenth(SMALL)}")
    left.legend(loc="lower left")


def _draw_rows(ax: Axes, rows: tuple[Row, ...], of: str) -> None:
    ax.set_xscale("log", base=2)
    ax.set_yscale("log")
    for one in rows:
        label, colour, marker = STYLES[one.algorithm, one.nu]
        cost, clipped = getattr(one, of), one.clipped > 0
        kept = ~clipped
        # the promise: 1/K (samples) or constant (rounds) through K = 1
        promise = cost[0] / WORKERS if of == "samples" else np.full(len(WORKERS), cost[0])
        ax.plot(WORKERS, promise, "--", color=colour, linewidth=1)
        ax.plot(WORKERS[kept], cost[kept], marker, color=colour, label=label)
        ax.plot(WORKERS[clipped], cost[clipped], marker, color=colour, markerfacecolor="white")
    ax.plot([], [], "--", color="0.3", linewidth=1, label="promised, through $K$ = 1")
    ax.plot([], [], "o", color="0.3", markerfacecolor="white", label="$b$ or $I$ clipped at 1")
    ax.set_xticks(WORKERS, [str(K) for K in WORKERS])
    ax.set_xlabel("workers $K$")


def _tenth(value: float) -> str:
    power = int(np.floor(np.log10(value)))
    lead = round(value / 10.0**power)
    return f"$10^{{{power}}}$" if lead == 1 else f"{value:g}"


def caption(data: SpeedUp) -> str:
    """Return what is seen and what is not claimed."""
    small = ", ".join(f"{_name(r)} {r.exponent:.3f}" for r in data.small)
    large = ", ".join(f"{_name(r)} {r.exponent:.3f}" for r in data.large)
    rounds = max(abs(r.rounds_exponent) for r in data.small)
    first = ", ".join(
        f"{_name(r)} from K = {WORKERS[r.clipped > 0][0]}" for r in data.large if r.clipped.any()
    )
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


def _name(one: Row) -> str:
    algorithm = "STEM" if one.algorithm == "stem" else "FedAvg"
    return f"{algorithm} nu = {one.nu:g}"


ENTRY = Figure(
    name="speedup",
    summary="samples per worker and rounds against the number of workers, exact",
    prepare=prepare,
    draw=draw,
    caption=caption,
    size=(11.4, 3.9),
)
