"""Rounds to epsilon over I, without noise: what client drift costs FedAvg and not STEM.

Two workers pull apart by (zeta/2) sin(w x + pi/4). Lines are exact moments of its linearisation at
the minimum, workers of unequal curvature, down to epsilon = 1e-8; marks are runs of the problem
itself, whose heterogeneity is bounded as Assumption 2 asks. The step is tuned per epsilon.

Paper: Thm: PR_Convergence_Main, Thm: Flexible_FedAvg, Ass: Unbiased_Var_Grad.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from stemtheory.algorithms import ALGORITHMS
from stemtheory.figures._exact import (
    FEDAVG_COLOUR,
    STEM_COLOUR,
    exponent,
    local_exponents,
    tail_exponent,
)
from stemtheory.moments import LINEARISED, LinearModel, Recursion, steps_to
from stemtheory.moments.linear_model import linear_model
from stemtheory.oracles import Problem, load_problem
from stemtheory.report import Figure, Progress
from stemtheory.runtime import Floats
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


class Line(NamedTuple):
    """Exact rounds of the linearised model at EPSILONS, with the step that attains them.

    ``momentum`` is the rule for a: ``curve``, ``fixed``, or ``none`` for FedAvg.
    """

    algorithm: str
    I: int
    momentum: str
    rounds: Floats
    eta: Floats

    @property
    def exponent(self) -> float:
        """The exponent of the rounds down to epsilon = 2^-11, about the range of the runs."""
        seen = EPSILONS >= 2.0**-11
        return exponent(EPSILONS[seen], self.rounds[seen])

    @property
    def tail(self) -> float:
        """The exponent over the smallest third of the epsilons."""
        return tail_exponent(EPSILONS, self.rounds)


class Mark(NamedTuple):
    """A run of the sinusoid problem: rounds to epsilon, and the line's."""

    algorithm: str
    I: int
    epsilon: float
    rounds: float
    exact: float


@dataclass(frozen=True)
class Drift:
    """The lines and the runs on top."""

    lines: tuple[Line, ...]
    marks: tuple[Mark, ...]

    def line(self, algorithm: str, I: int, momentum: str) -> Line:
        """Return one line."""
        wanted = algorithm, I, momentum
        return next(x for x in self.lines if (x.algorithm, x.I, x.momentum) == wanted)


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


def prepare(mode: str, progress: Progress) -> Drift:
    """Return the tuned lines and the runs."""
    progress("tuning steps per epsilon by exact moments")
    lines = [exact_line("fedavg", I, "none") for I in STEPS]
    lines += [exact_line("stem", I, rule) for rule in ("curve", "fixed") for I in STEPS]
    progress("running the sinusoid problem")
    data = Drift(tuple(lines), ())
    marks = [
        mark(data.line(algorithm, I, "none" if algorithm == "fedavg" else "curve"), n)
        for (algorithm, I), last in RUNS[mode].items()
        for n in range(5, last + 1, 2)
    ]
    return Drift(tuple(lines), tuple(marks))


def exact_line(algorithm: str, I: int, rule: str) -> Line:
    """Return the rounds to every epsilon with the best constant step for it."""
    recursion = Recursion(linearised(), algorithm, ALGORITHMS[algorithm].make())
    found = [best(recursion, I, float(e), momentum_of(rule, I, float(e))) for e in EPSILONS]
    rounds, eta = np.array(found).T
    return Line(algorithm, I, rule, rounds, eta)


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


def mark(line: Line, n: int) -> Mark:
    """Return a run of the sinusoid problem at epsilon = 2^-n, with the line's step there."""
    i = int(np.flatnonzero(EPSILONS == 2.0**-n)[0])
    epsilon, exact, I = float(EPSILONS[i]), float(line.rounds[i]), line.I
    options = {"eta": float(line.eta[i])}
    if line.algorithm == "stem":
        options["a"] = momentum_of(line.momentum, I, epsilon)
    T = I * math.ceil(1.3 * exact + 4)
    trace = simulate(
        sinusoid(),
        line.algorithm,
        T=T,
        b=1,
        I=I,
        schedule="constant",
        schedule_options=options,
        replicates=1,
        x1=X1,
        record_every=I,
    )
    rounds = float(last_crossing(trace.times / I, trace.running[:, 0], epsilon))
    return Mark(line.algorithm, I, epsilon, rounds, exact)


COLOURS = {1: "black", 4: FEDAVG_COLOUR, 16: "#E69F00", 64: "#CC79A7"}
STEM_COLOURS = {1: "black", 4: STEM_COLOUR, 16: "#56B4E9", 64: "#009E73"}
MARKERS = {1: "v", 4: "o", 16: "s", 64: "^"}


def draw(data: Drift, figure: Canvas) -> None:
    """Draw the rounds, and their local exponents."""
    left, right = figure.subplots(1, 2)
    _draw_rounds(data, left)
    _draw_exponents(data, right)


def _draw_rounds(data: Drift, ax: Axes) -> None:
    ax.set(xscale="log", yscale="log", xlim=(EPSILONS[0] * 1.4, EPSILONS[-1] / 1.4))
    for line, colour, label in _shown(data):
        ax.plot(EPSILONS, line.rounds, color=colour, linewidth=1.3, label=label)
        marks = [m for m in data.marks if (m.algorithm, m.I) == (line.algorithm, line.I)]
        at = [m.epsilon for m in marks if np.isfinite(m.rounds)]
        rounds = [m.rounds for m in marks if np.isfinite(m.rounds)]
        ax.plot(at, rounds, MARKERS[line.I], color=colour, markersize=4.5)
    ax.plot([], [], "o", color="0.3", markersize=4.5, label="runs, bounded heterogeneity")
    last = EPSILONS[-1]
    for power, end in (
        (-1.5, data.line("fedavg", 16, "none")),
        (-1.0, data.line("stem", 16, "curve")),
    ):
        theory = end.rounds[-1] * 2.2 ** (1 if power < -1 else -1) * (EPSILONS / last) ** power
        ax.plot(EPSILONS[4:], theory[4:], "--", color="0.35", linewidth=1)
    ax.plot(
        [], [], "--", color="0.35", linewidth=1, label="$\\epsilon^{-3/2}$ and $\\epsilon^{-1}$"
    )
    ax.set_xlabel("$\\epsilon$ (harder to the right)")
    ax.set_ylabel("communication rounds")
    ax.set_title("a  Rounds with the best step for each $\\epsilon$, no noise")
    ax.legend(loc="upper left")


def _shown(data: Drift) -> list[tuple[Line, str, str]]:
    one = data.line("fedavg", 1, "none")
    rows = [(data.line("fedavg", I, "none"), COLOURS[I], f"FedAvg, $I$ = {I}") for I in STEPS[1:]]
    rows.append((one, "black", "$I$ = 1, either"))
    stem = [(data.line("stem", I, "curve"), STEM_COLOURS[I], f"STEM, $I$ = {I}") for I in STEPS[1:]]
    return rows + stem


def _draw_exponents(data: Drift, ax: Axes) -> None:
    ax.set(xscale="log", xlim=(EPSILONS[0] * 1.4, EPSILONS[-1] / 1.4), ylim=(0.75, 1.65))
    for power in (1.0, 1.5):
        ax.axhline(power, color="0.35", linestyle="--", linewidth=1)
    for line, colour, _ in _shown(data):
        middle, local = _local(line)
        ax.plot(middle, -local, color=colour, linewidth=1.3)
    for I in STEPS[1:]:
        line = data.line("stem", I, "fixed")
        middle, local = _local(line)
        ax.plot(middle, -local, ":", marker=MARKERS[I], markersize=3.5, color=STEM_COLOURS[I])
    ax.plot([], [], "-", color="0.3", label="as in a (STEM: $a$ of the curve)")
    ax.plot([], [], ":o", color="0.3", markersize=3.5, label="STEM with $a = 1/(4I^2)$ held")
    ax.set_yticks([1, 1.25, 1.5], ["1", "5/4", "3/2"])
    ax.set_xlabel("$\\epsilon$ (harder to the right)")
    ax.set_ylabel("local exponent $p$ in rounds $\\propto \\epsilon^{-p}$")
    ax.set_title("b  Local exponents")
    ax.legend(loc="lower right")


def _local(line: Line) -> tuple[Floats, Floats]:
    """Local exponents where there are ten rounds and more: rounds are whole."""
    seen = line.rounds >= 10
    return local_exponents(EPSILONS[seen], line.rounds[seen])


def caption(data: Drift) -> str:
    """Return what is seen and what is not claimed."""
    fedavg = ", ".join(f"{data.line('fedavg', I, 'none').tail:.3f} (I = {I})" for I in STEPS[1:])
    stem = ", ".join(f"{data.line('stem', I, 'curve').tail:.3f} (I = {I})" for I in STEPS[1:])
    held = ", ".join(
        f"{line.exponent:.2f} then {line.tail:.2f} (I = {line.I})"
        for line in (data.line("stem", I, "fixed") for I in STEPS[1:])
    )
    last = [data.line("fedavg", I, "none").rounds[-1] for I in STEPS[1:]]
    off = {
        name: [m.rounds / m.exact for m in data.marks if m.algorithm == name and m.rounds > 0]
        for name in ("fedavg", "stem")
    }
    ranges = "; ".join(
        f"{'FedAvg' if name == 'fedavg' else 'STEM'} {min(r):.2f} to {max(r):.2f}"
        for name, r in off.items()
    )
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
        " least 1; b sets a only, there is no noise to average). Dotted: with a held at 1/(4 I^2)"
        f" STEM starts at eps^-1 as well, but its own drift, of order a zeta, bends it: {held}. I ="
        " 1 has no drift. Not claimed: samples (they grow with I here), STEM's rate at a momentum"
        " that does not fall with epsilon, or that the steps could be known in advance."
    )


ENTRY = Figure(
    name="drift",
    summary="rounds against epsilon for I = 1, 4, 16, 64 without noise: FedAvg against STEM",
    prepare=prepare,
    draw=draw,
    caption=caption,
    size=(10.4, 4.4),
)
