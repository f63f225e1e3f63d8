"""Samples to epsilon with the best constant step and momentum for each epsilon.

The theorem's schedule prescribes its own exponent; here eta and a are free, so what is seen belongs
to the algorithms: I = b = K = 1, all by exact moments. Mean-squared smoothness must bind through
the noise (L_noise = 1): with additive noise (L_noise = 0) STEM merely estimates a mean, at
eps^(-1).

Paper: Ass: Lip_Smoothness, Thm: PR_Convergence_Main, Table: Comparison.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from stemtheory.algorithms import ALGORITHMS
from stemtheory.figures._exact import EPSILON, exponent, local_exponents, tail_exponent
from stemtheory.moments import Recursion, steps_to
from stemtheory.moments.linear_model import linear_model
from stemtheory.report import Figure, FigureTable, Panel, Progress, Quantity, palette
from stemtheory.runtime import Floats

EPSILONS = 4.0 ** -np.arange(3, 13)
GRID = 17  # points per direction of a search; each level is a quarter as wide
LEVELS = 6
X1 = 1.0
# system: algorithm, L_n, the exponent it is set beside; the steepest first
SYSTEMS = {
    "SGD": ("fedavg", 1.0, 2.0),
    "STEM": ("stem", 1.0, 1.5),
    "STEM, additive": ("stem", 0.0, 1.0),
}
COLUMNS = (
    *(Quantity(name) for name in ("kind", "system")),
    EPSILON,
    Quantity("samples", "samples, one worker"),
    *(Quantity(name) for name in ("eta", "a")),
    Quantity("exponent", "local exponent $p$ in samples $\\propto \\epsilon^{-p}$"),
)


def table(mode: str, store: Path | None, progress: Progress) -> FigureTable:
    """Return the tuned costs; exact and quick, so that every mode gives the same."""
    progress("tuning constants per epsilon by exact moments")
    costs = [tuned(name, *SYSTEMS[name][:2]) for name in SYSTEMS]
    return FigureTable.of(COLUMNS, costs + [local(part) for part in costs])


def tuned(system: str, algorithm: str, noise_slope: float) -> dict[str, Any]:
    """Return the least samples over constant (eta, a) at every epsilon, and those constants."""
    model = linear_model([1.0], noise_slope=noise_slope, noise_level=1.0)
    recursion = Recursion(model, algorithm, ALGORITHMS[algorithm].make())
    samples, eta, a = np.array([best(recursion, float(e)) for e in EPSILONS]).T
    costs = {"epsilon": EPSILONS, "samples": samples, "eta": eta, "a": a}
    return {"kind": "tuned", "system": system, **costs}


def local(part: dict[str, Any]) -> dict[str, Any]:
    """Return the exponents between neighbouring epsilons."""
    middle, exponents = local_exponents(EPSILONS, part["samples"])
    return {"kind": "local", "system": part["system"], "epsilon": middle, "exponent": -exponents}


def best(recursion: Recursion, epsilon: float) -> tuple[float, float, float]:
    """Return (samples, eta, a): the least samples B + 2T (STEM, B = ceil(2/a)) or T (SGD).

    The search is a grid in (log eta, log a) that closes in on its best point.
    """
    log = math.log(epsilon)
    low, high = np.array([1.2 * log - 3, 1.3 * log - 4]), np.array([math.log(1.99), 0.0])
    momentum = recursion.base == "stem"
    limit, answer = high.copy(), (math.inf, math.nan, math.nan)
    for _ in range(LEVELS):
        eta = np.exp(np.linspace(low[0], high[0], GRID))[:, None]
        a = np.exp(np.linspace(low[1], high[1], GRID)) if momentum else np.ones(1)
        B = np.ceil(2 / a)
        T = steps_to(recursion, epsilon, eta=eta, a=a, b=1.0, I=1, B=B, x1=X1, doublings=60)
        samples = B + 2 * T if momentum else T
        i, j = np.unravel_index(np.argmin(samples), samples.shape)
        answer = float(samples[i, j]), float(eta[i, 0]), float(a[j])
        centre, half = np.log([eta[i, 0], a[j]]), (high - low) / 8
        low, high = centre - half, np.minimum(centre + half, limit)
    return answer


STYLES: dict[str, dict[str, Any]] = {
    "SGD": palette.LOOKS["minibatch-sgd"].style(),  # b = I = 1
    "STEM": palette.LOOKS["stem"].style(),
    "STEM, additive": palette.LOOKS["stem"].style(markerfacecolor="white"),
}
LABELS = {
    "SGD": "SGD, $L_n$ = 1",
    "STEM": "STEM, $L_n$ = 1",
    "STEM, additive": "STEM, additive noise ($L_n$ = 0)",
}
LIMITS = (EPSILONS[0] * 2, EPSILONS[-1] / 2)


def draw(data: FigureTable, figure: Canvas) -> None:
    """Draw the samples, and their local exponents."""
    left, right = figure.subplots(1, 2)
    _draw_samples(data.where(kind="tuned"), left)
    _draw_exponents(data.where(kind="local"), right)


def _draw_samples(data: FigureTable, ax: Axes) -> None:
    title = "a  Samples with the best constants for each $\\epsilon$"
    panel = Panel(ax, data, "epsilon", "samples", xlim=LIMITS, title=title)
    for (system,), rows in data.groups("system"):
        panel.marks(rows, **STYLES[system], label=LABELS[system])
        last = rows["epsilon"][-1], rows["samples"][-1]
        panel.slope(rows["epsilon"], last, -SYSTEMS[system][2], color=STYLES[system]["color"])
    panel.key("slopes -2, -3/2 and -1", "--", linewidth=1.2)
    ax.legend(loc="upper left")


def _draw_exponents(data: FigureTable, ax: Axes) -> None:
    more: dict[str, Any] = {"xlim": LIMITS, "ylim": (0.9, 2.1), "title": "b  Their local exponents"}
    panel = Panel(ax, data, "epsilon", "exponent", log="x", **more)
    for (system,), rows in data.groups("system"):
        colour = STYLES[system]["color"]
        ax.axhline(SYSTEMS[system][2], color=colour, linestyle="--", linewidth=1.2)
        panel.line(rows, **STYLES[system], linewidth=1.0)
    ax.set_yticks([1, 1.5, 2], ["1", "3/2", "2"])


def caption(data: FigureTable) -> str:
    """Return what is seen and what is not claimed."""
    rows = {system: data.where(kind="tuned", system=system) for system in SYSTEMS}
    fits = "; ".join(
        f"{name} {exponent(*over(rows[system])):.3f} over all,"
        f" {tail_exponent(*over(rows[system])):.3f} over the last third ({what})"
        for system, name, what in (
            ("SGD", "SGD", "theory -2"),
            ("STEM", "STEM with L_noise = 1", "theory -3/2"),
            ("STEM, additive", "STEM with L_noise = 0", "estimating a mean: -1"),
        )
    )
    steps = [exponent(*over(rows["STEM"], name)) for name in ("eta", "a")]
    return (
        "Least samples until E||grad f(xbar_a)||^2 is at most epsilon, over constant step eta and"
        " momentum a chosen for each epsilon (I = b = K = 1, quadratic with h = 1, sigma = 1, x1 ="
        " 1; noise L_n xi_1 x + xi_2; the first batch of ceil(2/a) samples is counted). All by"
        f" exact moments, no random number. Exponents: {fits}. STEM's best step and momentum scale"
        f" as eps^{steps[0]:.2f} and eps^{steps[1]:.2f} for L_noise = 1. With additive noise"
        " Assumption 1 is not met through the noise and STEM is faster than the theory: that case"
        " must not be read as a confirmation. Not claimed: a lower bound or optimality over"
        " schedules that vary, the exponent on nonconvex problems, or that tuning is possible"
        " without knowing the problem; multiplicative noise has unbounded variance, so Assumption 2"
        " holds near the minimum only."
    )


def over(rows: FigureTable, of: str = "samples") -> tuple[Floats, Floats]:
    """Return epsilon and what is fitted against it."""
    return rows["epsilon"], rows[of]


SUMMARY = "samples with the best constants per epsilon: STEM against SGD, exact"
ENTRY = Figure("tuned", SUMMARY, table, draw, caption, size=(10.4, 4.2))
