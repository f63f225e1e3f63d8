"""Rounds to epsilon over I, without noise: what client drift costs FedAvg and not STEM.

Two workers pull apart by (zeta/2) sin(w x + pi/4). Lines are exact moments of its linearisation at
the minimum, workers of unequal curvature, down to epsilon = 1e-8; marks are runs of the problem
itself, whose heterogeneity is bounded as Assumption 2 asks. The step is tuned per epsilon.

Paper: Thm: PR_Convergence_Main, Thm: Flexible_FedAvg, Ass: Unbiased_Var_Grad.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from stemtheory.algorithms import ALGORITHMS
from stemtheory.figures._exact import EPSILON, ROUNDS, exponent, local_exponents, tail_exponent
from stemtheory.moments import LINEARISED, LinearModel, Recursion, steps_to
from stemtheory.moments.linear_model import linear_model
from stemtheory.oracles import Problem, load_problem
from stemtheory.report import Figure, FigureTable, Panel, Progress, Quantity, palette
from stemtheory.simulator import last_crossing, simulate

H, Z, ZETA, PHASE = 0.5, 0.5, 1.0, math.pi / 4  # so L = H + Z = 1
X1 = 1.0
STEPS = (1, 4, 16, 64)
EPSILONS = 2.0 ** -np.arange(5, 28, 2)
GRID, LEVELS = 33, 4
LARGEST_STEP = 1.99 / H  # gradient descent on f diverges beyond 2/h
# how small epsilon = 2^-n the runs go: a run takes I times its rounds in steps
RUNS = {
    "quick": {("fedavg", 4): 7, ("fedavg", 16): 7, ("stem", 4): 9, ("stem", 16): 9},
    "default": {
        **{("fedavg", I): n for I, n in ((4, 11), (16, 9), (64, 7))},
        **{("stem", I): n for I, n in ((4, 13), (16, 13), (64, 11))},
    },
    "full": {
        **{("fedavg", I): n for I, n in ((4, 13), (16, 11), (64, 9))},
        **{("stem", I): n for I, n in ((4, 15), (16, 15), (64, 13))},
    },
}
COLUMNS = (
    *(Quantity(name) for name in ("kind", "algorithm", "I", "momentum")),
    EPSILON,
    ROUNDS,
    *(Quantity(name) for name in ("eta", "a", "rounds_exact")),
    Quantity("exponent", "local exponent $p$ in rounds $\\propto \\epsilon^{-p}$"),
)


def linearised() -> LinearModel:
    """Return the linearisation at x = 0: H_k = h +- Z cos(phase), o_k = +-(zeta/2) sin(phase)."""
    bend, push = Z * math.cos(PHASE), ZETA / 2 * math.sin(PHASE)
    return linear_model([H + bend, H - bend], [push, -push])


def sinusoid() -> Problem:
    """Return the problem itself, whose heterogeneity is zeta everywhere."""
    return load_problem(
        "quadratic", K=2, dim=1, curvature=H, L=H + Z, sigma=0.0, zeta=ZETA, het_phase=PHASE
    )


def momentum_of(rule: str, I: int, epsilon: float) -> float:
    """Return STEM's a = 1/(4 bK I^2) at bK = 1 (``fixed``), or as the theorem's curve has it.

    On the curve bK = sqrt(T/I^3) = sqrt(S)/I, at least 1, with S = 1/epsilon rounds.

    Paper: Thm: PR_Convergence_Main, eq. (eq: I:b_SAMVR).
    """
    samples = max(1.0, math.sqrt(1 / epsilon) / I) if rule == "curve" else 1.0
    return 1 / (4 * samples * I * I)


def table(mode: str, store: Path | None, progress: Progress) -> FigureTable:
    """Return the tuned rounds of the linearised model, their local exponents, and the runs.

    ``momentum`` is the rule for a: ``curve``, ``fixed``, or ``none`` for FedAvg.
    """
    progress("tuning steps per epsilon by exact moments")
    rules = [("fedavg", "none"), ("stem", "curve"), ("stem", "fixed")]
    lines = [exact_line(algorithm, I, rule) for algorithm, rule in rules for I in STEPS]
    parts = lines + [local_line(line) for line in lines]
    progress("running the sinusoid problem")
    shown = [line for line in lines if line["momentum"] != "fixed"]
    for line in shown:
        last = RUNS[mode].get((line["algorithm"], line["I"]), 0)
        parts += [run(line, n) for n in range(5, last + 1, 2)]
    return FigureTable.of(COLUMNS, parts)


def exact_line(algorithm: str, I: int, rule: str) -> dict[str, Any]:
    """Return the rounds to every epsilon with the best constant step for it."""
    recursion = Recursion(linearised(), algorithm, ALGORITHMS[algorithm].make())
    a = np.array([momentum_of(rule, I, float(e)) for e in EPSILONS])
    found = [best(recursion, I, float(e), a_e) for e, a_e in zip(EPSILONS, a, strict=True)]
    rounds, eta = np.array(found).T
    who = {"kind": "exact", "algorithm": algorithm, "I": I, "momentum": rule}
    return {**who, "epsilon": EPSILONS, "rounds": rounds, "eta": eta, "a": a}


def local_line(line: dict[str, Any]) -> dict[str, Any]:
    """Return local exponents where there are ten rounds and more: rounds are whole."""
    seen = line["rounds"] >= 10
    middle, local = local_exponents(EPSILONS[seen], line["rounds"][seen])
    who = {name: line[name] for name in ("algorithm", "I", "momentum")}
    return {"kind": "local", **who, "epsilon": middle, "exponent": -local}


def best(recursion: Recursion, I: int, epsilon: float, a: float) -> tuple[float, float]:
    """Return (rounds, eta) of the step that takes the fewest rounds: a grid that closes in."""
    low, high = math.log(1e-9), math.log(LARGEST_STEP)
    answer = math.inf, math.nan
    for _ in range(LEVELS):
        eta = np.exp(np.linspace(low, high, GRID))
        T = steps_to(recursion, epsilon, eta=eta, a=a, b=1.0, I=I, B=1.0, x1=X1, doublings=40)
        i = int(np.argmin(T))
        answer = float(T[i]) / I, float(eta[i])
        half = (high - low) / 16
        low, high = math.log(eta[i]) - half, min(math.log(eta[i]) + half, math.log(LARGEST_STEP))
    return answer


def run(line: dict[str, Any], n: int) -> dict[str, Any]:
    """Return a run of the sinusoid problem at epsilon = 2^-n, with the line's step there."""
    (i,) = np.flatnonzero(EPSILONS == 2.0**-n)
    epsilon, exact, I = float(EPSILONS[i]), float(line["rounds"][i]), line["I"]
    options = {"eta": float(line["eta"][i])}
    if line["algorithm"] == "stem":
        options["a"] = float(line["a"][i])
    trace = simulate(
        sinusoid(),
        line["algorithm"],
        T=I * math.ceil(1.3 * exact + 4),
        b=1,
        I=I,
        schedule="constant",
        schedule_options=options,
        replicates=1,
        x1=X1,
        record_every=I,
    )
    rounds = float(last_crossing(trace.times / I, trace.running[:, 0], epsilon))
    who = {name: line[name] for name in ("algorithm", "I", "momentum")}
    return {"kind": "run", **who, "epsilon": epsilon, "rounds": rounds, "rounds_exact": exact,
            **options}  # fmt: skip


NAMES = {"fedavg": "FedAvg", "stem": "STEM"}
LIMITS = (EPSILONS[0] * 1.4, EPSILONS[-1] / 1.4)


def look(algorithm: str, I: int) -> dict[str, Any]:
    """Return colour and line: a shade and a dash for each I; at I = 1 both are the same."""
    if I == 1:
        return {"color": "black", "linestyle": "-"}
    step, last = STEPS.index(I) - 1, len(STEPS) - 1
    colour = palette.LOOKS[algorithm].shade(step, last)
    return {"color": colour, "linestyle": palette.DASHES[step]}


def draw(data: FigureTable, figure: Canvas) -> None:
    """Draw the rounds, and their local exponents."""
    left, right = figure.subplots(1, 2)
    _draw_rounds(data, left)
    _draw_exponents(data, right)


def _draw_rounds(data: FigureTable, ax: Axes) -> None:
    title = "a  Rounds with the best step for each $\\epsilon$, no noise"
    panel = Panel(ax, data, "epsilon", "rounds", xlim=LIMITS, title=title)
    runs = data.where(kind="run")
    for algorithm, I, rows in _lines(data.where(kind="exact")):
        label = f"{NAMES[algorithm]}, $I$ = {I}" if I > 1 else "$I$ = 1, either"
        panel.line(rows, **look(algorithm, I), linewidth=1.3, label=label)
        marks: dict[str, Any] = {"marker": palette.LOOKS[algorithm].marker, "markersize": 4.5}
        own = runs.where(algorithm=algorithm, I=I)
        panel.marks(own, color=look(algorithm, I)["color"], **marks)
    for algorithm, name in NAMES.items():
        marker = palette.LOOKS[algorithm].marker
        panel.key(f"{name}, runs", marker, markersize=4.5)
    for algorithm, power, aside in (("fedavg", -1.5, 2.2), ("stem", -1.0, 1 / 2.2)):
        last = _line(data, algorithm, 16)["rounds"][-1] * aside
        panel.slope(EPSILONS[4:], (EPSILONS[-1], last), power, color="0.35", linewidth=1)
    label = "$\\epsilon^{-3/2}$ and $\\epsilon^{-1}$"
    panel.key(label, "--", color="0.35", linewidth=1)
    ax.legend(loc="upper left")


def _draw_exponents(data: FigureTable, ax: Axes) -> None:
    local = data.where(kind="local")
    more: dict[str, Any] = {"xlim": LIMITS, "ylim": (0.75, 1.65), "title": "b  Local exponents"}
    panel = Panel(ax, local, "epsilon", "exponent", log="x", **more)
    for power in (1.0, 1.5):
        ax.axhline(power, color="0.35", linestyle="--", linewidth=1)
    for algorithm, I, rows in _lines(local):
        panel.line(rows, **look(algorithm, I), linewidth=1.3)
    hollow = palette.LOOKS["stem"].marker
    marks: dict[str, Any] = {"marker": hollow, "markersize": 3.5, "markerfacecolor": "white"}
    for I in STEPS[1:]:
        held = local.where(momentum="fixed", I=I)
        panel.line(held, **look("stem", I), **marks, linewidth=1.0)
    panel.key("as in a (STEM: $a$ of the curve)")
    panel.key("STEM with $a = 1/(4I^2)$ held", **marks)
    ax.set_yticks([1, 1.25, 1.5], ["1", "5/4", "3/2"])
    ax.legend(loc="lower right")


def _lines(rows: FigureTable) -> Iterator[tuple[str, int, FigureTable]]:
    """What both panels draw as lines: FedAvg, STEM on the curve, and I = 1 once for both."""
    order = [("fedavg", I) for I in (*STEPS[1:], 1)] + [("stem", I) for I in STEPS[1:]]
    for algorithm, I in order:
        yield algorithm, I, rows.where(algorithm=algorithm, I=I, momentum=("none", "curve"))


def _line(data: FigureTable, algorithm: str, I: int, *momentum: str) -> FigureTable:
    rules = momentum or ("none", "curve")
    return data.where(kind="exact", algorithm=algorithm, I=I, momentum=rules)


def _tail(rows: FigureTable) -> float:
    """The exponent over the smallest third of the epsilons."""
    return tail_exponent(rows["epsilon"], rows["rounds"])


def _head(rows: FigureTable) -> float:
    """The exponent of the rounds down to epsilon = 2^-11, about the range of the runs."""
    seen = rows.kept(rows["epsilon"] >= 2.0**-11)
    return exponent(seen["epsilon"], seen["rounds"])


def caption(data: FigureTable) -> str:
    """Return what is seen and what is not claimed."""
    fedavg, stem = (
        ", ".join(f"{_tail(_line(data, name, I)):.3f} (I = {I})" for I in STEPS[1:])
        for name in NAMES
    )
    held = {I: _line(data, "stem", I, "fixed") for I in STEPS[1:]}
    bent = ", ".join(f"{_head(r):.2f} then {_tail(r):.2f} (I = {I})" for I, r in held.items())
    last = [_line(data, "fedavg", I)["rounds"][-1] for I in STEPS[1:]]
    runs = data.where(kind="run")
    off = {
        name: rows["rounds"][rows["rounds"] > 0] / rows["rounds_exact"][rows["rounds"] > 0]
        for (name,), rows in runs.groups("algorithm")
    }
    ranges = "; ".join(f"{NAMES[name]} {min(r):.2f} to {max(r):.2f}" for name, r in off.items())
    return (
        f"Rounds until the average squared gradient is at most epsilon, without noise, for K = 2"
        f" workers that pull apart by (zeta/2) sin(w x + pi/4), zeta = {ZETA:g}, on a bowl of"
        f" curvature {H:g} (L = {H + Z:g}, x1 = {X1:g}); constant step, the best for each epsilon."
        f" Lines: the {LINEARISED}, workers of curvature {H:g} +- {Z * math.cos(PHASE):.2f}, exact"
        " to epsilon below 1e-8. Marks: runs of the problem itself with the line's step, so at most"
        f" as good as tuned ones; rounds over the line's {ranges}. Exponents over the smallest"
        f" third of the epsilons: FedAvg {fedavg}; its curves lie within a factor"
        f" {max(last) / min(last):.2f}: more local steps do not save rounds. STEM {stem}, with the"
        " momentum a = 1/(4 bK I^2) that the trade-off curve prescribes (bK = 1/(I eps^(1/2)), at"
        " least 1; b sets a only, there is no noise to average). Hollow: with a held at 1/(4 I^2)"
        f" STEM starts at eps^-1 as well, but its own drift, of order a zeta, bends it: {bent}. I ="
        " 1 has no drift. Not claimed: samples (they grow with I here), STEM's rate at a momentum"
        " that does not fall with epsilon, or that the steps could be known in advance."
    )


SUMMARY = "rounds against epsilon for I = 1, 4, 16, 64 without noise: FedAvg against STEM"
ENTRY = Figure("drift", SUMMARY, table, draw, caption, size=(10.4, 4.4))
