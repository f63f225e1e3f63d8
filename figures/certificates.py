"""How good a constant is: certified by machine, by hand, printed, and the worst run found.

All at L = Delta_f = sigma^2 = zeta^2 = 1, at the printed steps and on the trade-off curve, where
S = (I b K)^2 rounds have constant steps: S times the bound, or times the measure.

Paper: Thm: PR_Convergence_Main_App, eq. (eq: Step-Size).
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from stemtheory.certificates import Statement, beside, constants, find, shipped, solvable, stated
from stemtheory.moments import moments
from stemtheory.oracles import load_problem
from stemtheory.report import Figure, FigureTable, Panel, Progress, Quantity, palette
from stemtheory.runtime import Floats, rounded

K, b = 4, 1
READINGS = ("literal", "average-first")
LOCAL_STEPS = {"quick": (1, 2, 4)}
ALL_STEPS = (1, 2, 3, 4, 6, 8)
CURVATURES = np.geomspace(1e-2, 1.0, 25)
COLUMNS = (
    *(Quantity(name) for name in ("reading", "series")),
    Quantity("I", "local steps $I$"),
    Quantity("value", "rounds $S$ times $E\\,||\\nabla f(\\bar x_a)||^2$"),
    *(Quantity(name) for name in ("gap_part", "sigma_part", "zeta_part")),
)
TUNED = ", tuned steps"
SERIES: dict[str, dict[str, Any]] = {
    "printed theorem": {"color": palette.BLUE, "marker": "s"},
    "Theorem R": {"color": palette.PURPLE, "marker": "^", "markersize": 9},
    "certified": {"color": palette.VERMILION, "marker": "o"},
    "worst run found": {"color": "black", "marker": "D"},
}
BY_HAND = {"printed theorem": "printed theorem", "Theorem R (a)": "Theorem R"}


def lacks(mode: str) -> str | None:
    """Return what must be installed: certificates that do not ship are searched by a solver."""
    if solvable():
        return None
    return (
        "certificates needs cvxpy and clarabel for those that do not ship: pip install"
        " 'stemtheory[certify]'."
    )


def table(mode: str, store: Path | None, progress: Progress) -> FigureTable:
    """Return the four constants over I, for both readings; parts add up to the value.

    A bound whose premises are unmet is NaN.
    """
    parts: list[dict[str, Any]] = []
    for reading in READINGS:
        for I in LOCAL_STEPS.get(mode, ALL_STEPS):
            progress(f"{reading}, I = {I}")
            parts += ({"reading": reading, "I": I, **row} for row in rows(reading, I))
    return FigureTable.of(COLUMNS, parts, K=K, b=b)


def rows(reading: str, I: int) -> Iterator[dict[str, Any]]:
    """Yield the constants at one I: at the printed steps, and at tuned ones where these ship."""
    s = stated("stem", reading, I=I, K=K, b=b)
    ours = [told for told in at(s) if told["eta"] == str(s.eta)] or [
        find(s).certificate["statement"]
    ]
    for bound in beside(ours[0]):
        value = math.nan if bound["unmet"] else bound["value"]
        yield _row(BY_HAND[bound["name"]], value, [math.nan] * 3)
    tuned = [told for told in at(s) if told["eta"] != str(s.eta)]
    for statement, steps in ((ours[0], ""), *((told, TUNED) for told in tuned)):
        of = [float(c) for c in constants(statement).values()]
        yield _row("certified" + steps, sum(of), of)
        gap, noise = (
            max(run(statement, reading, H, sigma) for H in CURVATURES) for sigma in (0, 1)
        )
        yield _row("worst run found" + steps, gap + noise, [gap, noise, 0.0])


def _row(series: str, value: float, parts: list[float]) -> dict[str, Any]:
    names = ("gap_part", "sigma_part", "zeta_part")
    return {"series": series, "value": value, **dict(zip(names, parts, strict=True))}


def at(s: Statement) -> Iterator[dict[str, Any]]:
    """Yield what the certificates state that ship for a reading, I, K and b, whatever the steps."""
    for path in shipped().values():
        told = json.loads(path.read_text(encoding="utf-8"))["statement"]
        if all(told[name] == getattr(s, name) for name in ("algorithm", "reading", *"IKbm")):
            yield told


def run(statement: Mapping[str, Any], reading: str, H: float, sigma: float) -> float:
    """Return S times STEM's mean squared gradient on f = H x^2/2 at a certificate's steps, exactly.

    Without noise and with a gap of 1, or started at the minimum with noise. Both at once, each
    along an axis of its own, are a legal problem, whose value is the sum.
    """
    I = statement["I"]
    S, eta, a = (I * b * K) ** 2, float(Fraction(statement["eta"])), Fraction(statement["a"])
    own: dict[str, Any] = {"L": 1.0, "slack": True, "curvature": H, "sigma": sigma, "zeta": 0.0}
    problem = load_problem("quadratic", K=K, dim=1, noise="additive", **own)
    found = moments(
        problem, "stem", T=S * I, b=b, I=I, sync=reading, x1=0.0 if sigma else math.sqrt(2 / H),
        schedule="constant", schedule_options={"eta": eta, "a": float(a)},
    )  # fmt: skip
    return float(S * found.mean_grad_sq)


def draw(data: FigureTable, figure: Canvas) -> None:
    """Draw one panel for each reading."""
    panels = figure.subplots(1, len(READINGS), sharey=True)
    for ax, reading, letter in zip(panels, READINGS, "ab", strict=True):
        _draw_panel(ax, data.where(reading=reading), f"{letter}  {reading}")
    panels[1].set_ylabel("")  # as in a
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)


def _draw_panel(ax: Axes, data: FigureTable, title: str) -> None:
    panel = Panel(ax, data, "I", "value", log="y", title=title)
    for name, look in SERIES.items():
        hollow: dict[str, Any] = {"markerfacecolor": "white", "linestyle": "none"}
        own, tuned = data.where(series=name), data.where(series=name + TUNED)
        panel.line(own, color=look["color"], linestyle="-", linewidth=1)
        panel.marks(own, **look, label=name, **(hollow if name == "Theorem R" else {}))
        if len(tuned):
            panel.line(tuned, color=look["color"], linestyle="--", linewidth=1)
            panel.marks(tuned, **look, **hollow, label=name + TUNED)
    ax.set_xscale("log", base=2)
    steps = data.where(series="certified")["I"]
    ax.set_xticks(steps, [f"{I:g}" for I in steps])
    ax.minorticks_off()
    ax.set_ylim(1, 1e7)


def caption(data: FigureTable) -> str:
    """Return what is seen and what is not claimed."""
    told = []
    for (reading,), own in data.groups("reading"):
        of: dict[str, Floats] = {name: rows["value"] for (name,), rows in own.groups("series")}
        told.append(
            f"{reading}: certified {_range(of['certified'])} (tuned"
            f" {_range(of['certified' + TUNED])}), Theorem R {_range(of['Theorem R'])}, printed"
            f" {_range(of['printed theorem'])}, the worst run {_range(of['worst run found'])}"
            f" (tuned {_range(of['worst run found' + TUNED])})"
        )
    return (
        "S times the bound on E||grad f(xbar_a)||^2 at L = Delta_f = sigma^2 = zeta^2 = 1,"
        f" K = {data.facts['K']}, b = {data.facts['b']} and S = (I b K)^2 rounds. At the printed"
        " steps: the printed theorem, Theorem R (a) where its premise I >= 2 is met, and the sum"
        " c_D + c_S + c_Z of round certificates, found by a solver and proved in exact fractions."
        " Hollow and dashed: certificates that ship for tuned steps. Diamonds: S times what STEM"
        " takes at the same steps, by exact moments, on the worst quadratic found, with equal"
        f" workers, one axis with the whole gap and another with all the noise. {'; '.join(told)}."
        " What the printed theorem loses is its logarithm and its constants. Not claimed: that no"
        " worse run exists; anything at other K and b, or at steps that vary."
    )


def _range(values: Floats) -> str:
    low, high = np.nanmin(values), np.nanmax(values)
    return f"{rounded(low, 4)} to {rounded(high, 4)}"


SUMMARY = "the constant: printed, by hand, certified by machine, and the worst run found"
ENTRY = Figure("certificates", SUMMARY, table, draw, caption, size=(8.4, 4.0), lacks=lacks)
