"""Where STEM's advantage is real: the floor of ||grad f||^2 on digits.

Softmax regression with the nonconvex regulariser. With a constant step eta every algorithm ends
on a floor. A small a averages STEM's noise away; its price is drift between
synchronisations. Seen against a, eta, b, I and the classes per worker.

Paper: sec: Experiments, Theorem (Thm: PR_Convergence_Main).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from stemtheory.images import ImageProblem, Training, missing, train
from stemtheory.images.training import estimates
from stemtheory.oracles import Constants, load_problem
from stemtheory.report import Column, Figure, Progress, Table, log_bars
from stemtheory.runtime import numpy_backend
from stemtheory.schedules import Constant

K, SEED = 10, 0
ETA, SMALL_A, LARGE_A = 0.03, 0.03, 0.1
RECORDS = 40
Measured = tuple[float, float]


class Setting(NamedTuple):
    """One cell: an algorithm and all that its floor is measured against."""

    algorithm: str
    a: float = 1.0
    eta: float = ETA
    b: int = 1
    I: int = 1
    classes: int = 10


class Curve(NamedTuple):
    """One curve of a panel: a name, and what it changes in the setting of the panel."""

    name: str
    change: Mapping[str, Any]
    colour: str
    marker: str
    twice: bool = False  # twice the samples, so that gradients are as many as STEM's

    def at(self, setting: Setting) -> Setting:
        """Return the setting of this curve."""
        changed = setting._replace(**self.change)
        return changed._replace(b=2 * changed.b) if self.twice else changed


SMALL = Curve(f"STEM, $a$ = {SMALL_A:g}", {"algorithm": "stem", "a": SMALL_A}, "#0072B2", "o")
MEDIUM = Curve(f"STEM, $a$ = {LARGE_A:g}", {"algorithm": "stem", "a": LARGE_A}, "#56B4E9", "D")
FEDAVG = Curve("FedAvg", {"algorithm": "fedavg"}, "#D55E00", "s")
TWICE = Curve("FedAvg, $2b$", {"algorithm": "fedavg"}, "0.15", "x", twice=True)
SCAFFOLD = Curve("SCAFFOLD", {"algorithm": "scaffold"}, "#009E73", "^")
CURVES = (SMALL, MEDIUM, FEDAVG, TWICE, SCAFFOLD)


class Panel(NamedTuple):
    """What is changed along x, from where, and over which values in quick and default mode."""

    letter: str
    field: str
    label: str
    base: Setting
    values: Mapping[str, tuple[float, ...]]


MIXED = Setting("", b=4, I=32, classes=5)
PANELS = (
    Panel(
        "a", "a", "momentum $a$", Setting("stem"),
        {"quick": (0.03, 0.1, 1.0), "default": (0.01, 0.03, 0.1, 0.3, 1.0)},
    ),
    Panel(
        "b", "eta", "step $\\eta$", Setting(""),
        {"quick": (0.03, 0.1), "default": (0.01, 0.03, 0.1, 0.3)},
    ),
    Panel(
        "c", "eta", "step $\\eta$", MIXED,
        {"quick": (0.03, 0.1), "default": (0.003, 0.01, 0.03, 0.1)},
    ),
    Panel(
        "d", "b", "minibatch $b$", Setting("", I=8),
        {"quick": (1, 16), "default": (1, 4, 16, 64)},
    ),
    Panel(
        "e", "I", "local steps $I$", Setting("", b=4),
        {"quick": (8, 32), "default": (1, 8, 32, 64)},
    ),
    Panel(
        "f", "classes", "classes per worker", Setting("", b=4, I=32),
        {"quick": (5, 10), "default": (2, 5, 10)},
    ),
)  # fmt: skip
BASES = (  # what panel a compares: little drift, some, much
    ("STEM: $b$ = 1, $I$ = 1, 10 classes", Setting("stem"), "#0072B2", "o"),
    ("STEM: $b$ = 4, $I$ = 8, 10 classes", Setting("stem", b=4, I=8), "#E69F00", "s"),
    ("STEM: $b$ = 4, $I$ = 32, 5 classes", MIXED, "#D55E00", "^"),
)
STEPS = {"quick": 640, "default": 2048, "full": 8192}
SEEDS = {"quick": 2, "default": 4, "full": 8}


@dataclass(frozen=True)
class Floors:
    """The floor of every setting, mean and standard error over the seeds, and the lengths."""

    mode: str
    T: int
    seeds: int
    floors: Mapping[Setting, Measured]
    note: str
    found: Mapping[int, Constants]


def prepare(mode: str, progress: Progress) -> Floors:
    """Return the floors of all panels; a setting that several show is measured once."""
    T, seeds = STEPS[mode], SEEDS[mode]
    problems = {n: _problem(n) for n in sorted({s.classes for s in settings(mode)})}
    floors: dict[Setting, Measured] = {}
    wanted = dict.fromkeys(settings(mode))
    for done, setting in enumerate(wanted):
        if done % 20 == 0:
            progress(f"gradient_floor: setting {done + 1} of {len(wanted)}")
        floors[setting] = floor(problems[setting.classes], setting, T, seeds)
    run = Training("stem", Constant(ETA, SMALL_A), 40, 8, 4, (SEED,))
    found = {classes: estimates(problem, run) for classes, problem in problems.items()}
    return Floors(mode, T, seeds, floors, next(iter(problems.values())).note, found)


def settings(mode: str) -> Iterator[Setting]:
    """Yield the setting of every point of every curve."""
    for panel in PANELS:
        for value in values(panel, mode):
            if panel.field == "a":
                for _, base, _, _ in BASES:
                    yield base._replace(algorithm="stem", a=value)
                    yield base._replace(algorithm="fedavg")
                    yield base._replace(algorithm="scaffold")
            else:
                for curve in CURVES:
                    yield curve.at(moved(panel, value))


def moved(panel: Panel, value: float) -> Setting:
    """Return the setting of a panel at one value along x."""
    change: dict[str, Any] = {panel.field: value}
    return panel.base._replace(**change)


def values(panel: Panel, mode: str) -> tuple[float, ...]:
    """Return the values along x; ``full`` has those of ``default`` and longer runs."""
    return panel.values["quick" if mode == "quick" else "default"]


def _problem(classes: int) -> ImageProblem:
    made = load_problem("softmax_regression", K=K, data="digits", classes=classes)
    assert isinstance(made, ImageProblem)
    return made.place(numpy_backend("figures of images"), np.dtype(np.float32))


def floor(problem: ImageProblem, setting: Setting, T: int, seeds: int) -> Measured:
    """Return the mean of ||grad f(xbar)||^2 over the second half of T steps, and its error."""
    rounds = T // setting.I
    training = Training(
        setting.algorithm,
        Constant(setting.eta, setting.a),
        rounds,
        setting.I,
        setting.b,
        tuple(range(seeds)),
        every=max(1, rounds // RECORDS),
        gradient=True,
    )
    history = train(problem, training, threads=1)
    late = history.grad_sq[:, history.rounds > rounds // 2].mean(axis=1)
    if not np.isfinite(late).all():
        return math.nan, math.nan  # a floor of some of the seeds would flatter
    return float(late.mean()), float(late.std(ddof=1) / math.sqrt(seeds))


def draw(data: Floors, figure: Canvas) -> None:
    """Draw six panels with one scale of floors."""
    grid = figure.subplots(2, 3, sharey=True)
    for panel, ax in zip(PANELS, grid.flat, strict=True):
        ax.set(xscale="log", yscale="log")
        if panel.field == "a":
            _draw_momentum(data, panel, ax)
        else:
            _draw_curves(data, panel, ax)
        ax.set_xlabel(panel.label)
        ax.set_title(f"{panel.letter}  {_fixed(panel)}")
        ax.set_xticks(values(panel, data.mode), [f"{v:g}" for v in values(panel, data.mode)])
        ax.xaxis.set_minor_locator(_none())
    for row in grid:
        row[0].set_ylabel("floor of $\\|\\nabla f(\\bar{x})\\|^2$")
    grid.flat[0].legend(loc="best", fontsize=7)
    grid.flat[1].legend(loc="best", fontsize=7)


def _none() -> Any:
    from matplotlib.ticker import NullLocator

    return NullLocator()


def _fixed(panel: Panel) -> str:
    """Return what is held in a panel."""
    if panel.field == "a":
        return f"$\\eta$ = {ETA:g}; dashes: FedAvg, dots: SCAFFOLD"
    base = panel.base
    held = {"eta": f"$\\eta$ = {base.eta:g}", "b": f"$b$ = {base.b}", "I": f"$I$ = {base.I}"}
    held["classes"] = f"{base.classes} classes"
    return ", ".join(text for name, text in held.items() if name != panel.field)


def _draw_momentum(data: Floors, panel: Panel, ax: Axes) -> None:
    x = values(panel, data.mode)
    for name, base, colour, marker in BASES:
        _points(ax, x, [data.floors[base._replace(algorithm="stem", a=a)] for a in x],
                colour, marker, name)  # fmt: skip
        for algorithm, dash in (("fedavg", "--"), ("scaffold", ":")):
            level = data.floors[base._replace(algorithm=algorithm)][0]
            if math.isfinite(level):
                ax.axhline(level, color=colour, linestyle=dash, linewidth=1.1)


def _draw_curves(data: Floors, panel: Panel, ax: Axes) -> None:
    x = values(panel, data.mode)
    for curve in CURVES:
        at = [curve.at(moved(panel, v)) for v in x]
        _points(ax, x, [data.floors[s] for s in at], curve.colour, curve.marker, curve.name)


def _points(
    ax: Axes, x: tuple[float, ...], found: list[Measured], colour: str, marker: str, name: str
) -> None:
    """Draw floors with bars of two standard errors, joined by lines."""
    mean, error = np.array(found).T
    log_bars(
        ax, x, mean, mean - 2 * error, mean + 2 * error, color=colour, marker=marker, label=name
    )
    ax.plot(x, mean, color=colour, linewidth=1.1)


def caption(data: Floors) -> str:
    """Return the setting, the numbers where STEM wins and where it does not, and the limits."""
    told = "; ".join(_compared(data, base) for _, base, _, _ in BASES)
    met = "; ".join(
        f"L {c.L:.2g}, sigma {c.sigma:.2g}, zeta {c.zeta:.2g} with {n} classes per worker"
        for n, c in data.found.items()
    )
    return (
        f"Softmax regression on {data.note} with 0.01 sum x^2/(1+x^2), 650 parameters, K = {K}"
        f" workers with 130 images each. Floor: ||grad f(xbar)||^2 over all training images,"
        f" averaged over {RECORDS // 2} times in the second half of T = {data.T:,} steps, constant"
        f" eta and a; mean of {data.seeds} seeds, bars two standard errors. At eta = {ETA:g}:"
        f" {told}. {_best_steps(data)} FedAvg with 2b computes as many gradients as STEM. A missing"
        f" point left the finite numbers in some seed.{SHORT if data.mode == 'quick' else ''}"
        f" Largest values met along a run of STEM, estimates from below, no constants: {met}. Not"
        " claimed: rates in T, other data, or decreasing steps."
    )


SHORT = " The short runs of quick mode still carry some of their start."


def _compared(data: Floors, base: Setting) -> str:
    """Return the floors of one setting, and how far STEM's lies below or above its rivals'."""
    levels = {
        name: data.floors[base._replace(algorithm=algorithm, a=a)]
        for name, algorithm, a in (
            (f"STEM (a = {SMALL_A:g})", "stem", SMALL_A),
            (f"STEM (a = {LARGE_A:g})", "stem", LARGE_A),
            ("FedAvg", "fedavg", 1.0),
            ("SCAFFOLD", "scaffold", 1.0),
        )
    }
    each = ", ".join(f"{name} {_number(*found)}" for name, found in levels.items())
    ours = levels[f"STEM (a = {SMALL_A:g})"][0]
    ratios = [levels[name][0] / ours for name in ("FedAvg", "SCAFFOLD")]
    if not np.isfinite(ratios).all():
        return f"with b = {base.b}, I = {base.I}, {base.classes} classes per worker {each}"
    return (
        f"with b = {base.b}, I = {base.I}, {base.classes} classes per worker {each} (over STEM's at"
        f" a = {SMALL_A:g}: {ratios[0]:.2f} and {ratios[1]:.2f} times)"
    )


def _best_steps(data: Floors) -> str:
    """Return the lowest floor of every curve over the steps tried, in panels b and c."""
    told = []
    for panel in PANELS[1:3]:
        each = []
        for curve in CURVES:
            found = {v: data.floors[curve.at(moved(panel, v))] for v in values(panel, data.mode)}
            best = min(found, key=lambda v: found[v][0] if found[v][0] == found[v][0] else math.inf)
            each.append(f"{curve.name.replace('$', '')} {_number(*found[best])} at eta {best:g}")
        told.append(f"panel {panel.letter}: {', '.join(each)}")
    return f"Lowest over the steps tried, {'; '.join(told)}."


def table(data: Floors) -> Table:
    """Return the floor of every setting, mean and standard error over the seeds."""
    return Table(
        title=f"Floor of the gradient on {data.note}, {data.mode} mode",
        note=f"T = {data.T:,} steps, {data.seeds} seeds; none where a seed diverged.",
        columns=(
            Column("algorithm", number=False),
            *map(Column, (*Setting._fields[1:], "floor", "error")),
        ),
        rows=tuple(
            (*s, *(v if math.isfinite(v) else None for v in m)) for s, m in data.floors.items()
        ),
    )


def _number(mean: float, error: float) -> str:
    return f"{mean:.2e} ± {error:.0e}" if math.isfinite(mean) else "none"


ENTRY = Figure(
    name="gradient_floor",
    summary="the floor of the gradient on digits against a, eta, b, I and classes per worker",
    prepare=prepare,
    draw=draw,
    caption=caption,
    size=(11.0, 6.6),
    seed=SEED,
    lacks=lambda mode: missing("digits"),
    table=table,
)
