"""What better theorems mean for a run: samples and rounds as proved, and as they come out exactly.

STEM at the steps of the printed theorem (also those of Theorem R), of Theorem R* and of
certificates, FedAvg and minibatch SGD by the paper's schedules; then over zeta^2, which larger
steps pay more for. L = Delta_f = 1; exact moments, no random number.

Paper: Thm: PR_Convergence_Main_App, Thm: Flexible_FedAvg, Table: Comparison.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure as Canvas

from stemtheory.figures._at_steps import (
    CURVATURE,
    FAMILIES,
    READING,
    USUAL,
    I,
    K,
    World,
    bound,
    certificates,
    run,
    steps,
)
from stemtheory.figures._exact import EPSILON, ROUNDS, SAMPLES, whole_lengths
from stemtheory.report import Figure, FigureTable, Panel, Progress, Quantity, palette
from stemtheory.schedules import largest_minibatch
from stemtheory.simulator import last_crossing

MINIBATCHES = tuple(2**n for n in range(18))
CERTIFIED_AT = 4  # the b of the panel over zeta
NOISE_SHARE = 8.0  # zeta/sigma over zeta: there the noise's linear model is that of phase noise
HETEROGENEITY = 4.0 ** np.arange(-1, 8)
NU = 0.5  # of FedAvg: any other is nearly the same here
LONGEST = 2.0**34
SHOWN = (2e-1, 1e-6)
COMPARED = 1e-4
COLUMNS = (
    *(Quantity(name) for name in ("over", "kind", "series", "I", "b")),
    Quantity("zeta2", "$\\zeta^2/(L\\Delta_f)$, with $\\sigma^2 = \\zeta^2/64$"),
    EPSILON,
    SAMPLES,
    ROUNDS,
    Quantity("value", "rounds $S$ times $E\\,||\\nabla f(\\bar x_a)||^2$"),
    Quantity("noise", "of it by noise and drift"),
)


def table(mode: str, store: Path | None, progress: Progress) -> FigureTable:
    """Return bounds and runs over epsilon, then over zeta^2; quick, so that modes do not differ."""
    progress("along the trade-off curve")
    parts = [*over_epsilon()]
    progress("over heterogeneity")
    for zeta2 in HETEROGENEITY:
        world = World(math.sqrt(zeta2) / NOISE_SHARE, math.sqrt(zeta2))
        for family in FAMILIES:
            parts += _rows("zeta", family, I, CERTIFIED_AT, world)
    return FigureTable.of(COLUMNS, parts, K=K, I=I, b=CERTIFIED_AT, reading=READING)


def over_epsilon() -> Iterator[dict[str, Any]]:
    """Yield what is proved and what comes out, from short runs to long ones."""
    for b in MINIBATCHES:
        for family in ("printed", "R*"):
            yield from _rows("epsilon", family, I, b, USUAL)
    for own_I, b in sorted(certificates()):
        yield from _rows("epsilon", "certificate", own_I, b, USUAL)
    for T in whole_lengths("fedavg", K, NU, 2.0**10, LONGEST):
        yield run("fedavg", USUAL, T=T, nu=NU)
    for n in range(9, 27):
        yield run("sgd", USUAL, T=2**n, I=1, b=largest_minibatch(2**n, K, 1.0))


def _rows(over: str, family: str, own_I: int, b: int, world: World) -> Iterator[dict[str, Any]]:
    """Yield the bounds of one family of steps on the trade-off curve, and the run beside them."""
    S = (own_I * b * K) ** 2
    own = run(family, world, T=S * own_I, b=b, I=own_I, **steps(family, own_I, b)) | {"over": over}
    yield own
    for name in FAMILIES[family]:
        proved = {"epsilon": (epsilon := bound(name, own_I, b, world)), "value": S * epsilon}
        yield own | {"kind": "bound", "series": name, **proved, "noise": math.nan}


STEM = palette.LOOKS["stem"]
STEPS: dict[str, dict[str, Any]] = {
    "printed": {"color": STEM.shade(0, 3), "label": "STEM, printed steps"},
    "R*": {"color": STEM.shade(1, 3), "label": "STEM, steps of R*"},
    "certificate": {"color": STEM.shade(2, 3), "label": "STEM, certificate's steps"},
}
OTHERS: dict[str, dict[str, Any]] = {
    "fedavg": {"color": palette.LOOKS["fedavg"].colour, "label": "FedAvg"},
    "sgd": {
        "color": palette.LOOKS["minibatch-sgd"].colour,
        "label": "minibatch SGD",
        "linestyle": "--",
    },
}
PROVED: dict[str, dict[str, Any]] = {
    "printed theorem": {"color": STEM.shade(0, 3), "linestyle": palette.DOTTED},
    "Theorem R": {"color": STEM.shade(0, 3), "linestyle": palette.LONG},
    "Theorem R*": {"color": STEM.shade(1, 3), "linestyle": palette.LONG},
    "certificate": {"color": STEM.shade(2, 3), "linestyle": palette.LONG},
}


def draw(data: FigureTable, figure: Canvas) -> None:
    """Draw samples and rounds over epsilon, and what zeta^2 costs."""
    panels = figure.subplots(1, 3)
    costs = data.where(over="epsilon")
    at: dict[str, Any] = {"xlim": SHOWN}
    a, b, c = "a  Samples to $\\epsilon$", "b  Rounds to $\\epsilon$", "c  What $\\zeta^2$ costs"
    _draw_lines(
        Panel(panels[0], costs, "epsilon", "samples", ylim=(1e2, 1e15), title=a, **at), costs
    )
    _draw_lines(
        Panel(panels[1], costs, "epsilon", "rounds", ylim=(1e1, 1e13), title=b, **at), costs
    )
    rest = data.where(over="zeta")
    _draw_lines(Panel(panels[2], rest, "zeta2", "value", ylim=(1, 1e6), title=c), rest)
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)


def _draw_lines(panel: Panel, data: FigureTable) -> None:
    for name, look in (STEPS | OTHERS).items():
        rows = data.where(kind="run", series=name)
        _draw_one(panel, rows, name == "certificate", **{"linestyle": "-", "marker": "o", **look})
    for name, look in PROVED.items():
        rows = data.where(kind="bound", series=name)
        style = {"marker": "o", "markerfacecolor": "white", "label": f"bound: {name}", **look}
        _draw_one(panel, rows, name == "certificate", **style)


def _draw_one(panel: Panel, rows: FigureTable, scattered: bool, **style: Any) -> None:
    """Draw a line; certificates, which ship for a few I and b each, over epsilon as marks."""
    if scattered and panel.x == "epsilon":
        panel.marks(rows, **style | {"linestyle": "none"})
    elif len(rows):
        panel.line(rows, **style | {"marker": "o" if scattered else ""})


def caption(data: FigureTable) -> str:
    """Return what is seen and what is not claimed."""
    return (
        f"STEM with K = {K} workers and I = {I} local steps, {READING} reading, on the trade-off"
        " curve S = (I b K)^2, L = Delta_f = 1. Solid: exact second moments of one problem, an axis"
        f" with the whole gap (curvature 1) and one with all the noise (curvature {CURVATURE},"
        " phase noise linearised at the minimum, so that L = 1 binds, workers' minima apart)."
        " Dotted and dashed: what is proved at the same steps; circles: certificates that ship for"
        f" tuned steps, I = 2, 4 and 8, b = 1 and 4. a, b (sigma = zeta = 1), at epsilon ="
        f" {COMPARED:g}: {_gains(data)}. So larger steps help the run as they help the bound where"
        " the gap rules; noise alone gains less: S times its part is"
        f" {_alone(data, 'printed')} at the printed steps, {_alone(data, 'R*')} at those of R*. c"
        f" (b = {CERTIFIED_AT}, sigma = zeta/{NOISE_SHARE:g}): the price of larger steps is zeta^2."
        f" {_prices(data)}. Not claimed: that the problem is the worst, that steps could not be"
        " tuned further, or other K and I; FedAvg and minibatch SGD have the paper's own schedules."
    )


def _gains(data: FigureTable) -> str:
    """Say how many times more the others cost than R*: as bounds, then as runs at their steps."""
    told = []
    for kind, name, said, ours in (
        ("bound", "printed theorem", "the bound of the printed theorem takes", "Theorem R*"),
        ("bound", "Theorem R", "that of Theorem R", "Theorem R*"),
        ("run", "printed", "a run at the printed steps", "R*"),
        ("run", "fedavg", "one of FedAvg", "R*"),
        ("run", "sgd", "one of minibatch SGD", "R*"),
    ):
        samples, rounds = (ratio(data, kind, (name, ours), of) for of in ("samples", "rounds"))
        told.append(f"{said} {samples:.3g} times the samples and {rounds:.3g} times the rounds")
    return f"{', '.join(told)} of R*"


def ratio(data: FigureTable, kind: str, series: tuple[str, str], of: str) -> float:
    """Return the cost of the first series over that of the second, at COMPARED."""
    first, second = (
        _cost(data.where(over="epsilon", kind=kind, series=name), of) for name in series
    )
    return first / second


def _cost(rows: FigureTable, of: str) -> float:
    order = np.argsort(rows["rounds"])
    return float(last_crossing(rows[of][order], rows["epsilon"][order], COMPARED))


def _alone(data: FigureTable, family: str) -> str:
    """Return S times the noise's part of a run, over sigma^2, at sigma = zeta = 1."""
    rows = data.where(over="epsilon", kind="run", series=family, b=CERTIFIED_AT)
    return f"{rows['noise'][0]:.3g}"


def crossing(data: FigureTable, kind: str, ours: str, theirs: str) -> float:
    """Return the least zeta^2 from which a series costs more than another; NaN if none."""
    rows = [data.where(over="zeta", kind=kind, series=name) for name in (ours, theirs)]
    apart = np.log(rows[0]["value"] / rows[1]["value"])
    if apart[-1] <= 0:
        return math.nan
    at = np.flatnonzero(apart <= 0)[-1]
    x = np.log(rows[0]["zeta2"])
    share = -apart[at] / (apart[at + 1] - apart[at])
    return float(np.exp(x[at] + share * (x[at + 1] - x[at])))


def _prices(data: FigureTable) -> str:
    told = []
    for kind, ours, theirs, said in (
        ("bound", "Theorem R*", "Theorem R", "the bound of R* is above that of Theorem R"),
        ("bound", "certificate", "Theorem R", "the certificate's above that of Theorem R"),
        ("run", "R*", "printed", "a run at the steps of R* above one at the printed steps"),
        ("run", "certificate", "printed", "a run at the certificate's above it"),
    ):
        at = crossing(data, kind, ours, theirs)
        told.append(f"{said} {'nowhere here' if math.isnan(at) else f'from {at:.3g} on'}")
    return "In units of L Delta_f, " + ", ".join(told)


SUMMARY = "what better theorems mean for a run: samples, rounds and the price of zeta^2"
ENTRY = Figure("tightened", SUMMARY, table, draw, caption, size=(10.4, 4.4))
