"""Where STEM's advantage is real: the floor of ||grad f||^2 on digits.

Softmax regression with the nonconvex regulariser. With a constant step eta every algorithm ends
on a floor. A small a averages STEM's noise away; its price is drift between
synchronisations. Seen against a, eta, b, I and the classes per worker.

Paper: sec: Experiments, Theorem (Thm: PR_Convergence_Main).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.ticker import NullLocator

from stemtheory.images import ImageProblem, Training, missing, train
from stemtheory.images.training import estimates
from stemtheory.oracles import load_problem
from stemtheory.report import Column, Figure, FigureTable, Panel, Progress, Quantity, Table, palette
from stemtheory.runtime import numpy_backend
from stemtheory.schedules import Constant

K, SEED = 10, 0
ETA, SMALL_A, LARGE_A = 0.03, 0.03, 0.1
RECORDS = 40
STEPS = {"quick": 640, "default": 2048, "full": 8192}
SEEDS = {"quick": 2, "default": 4, "full": 8}


class FloorSetting(NamedTuple):
    """One cell: an algorithm and all that its floor is measured against."""

    algorithm: str
    a: float = 1.0
    eta: float = ETA
    b: int = 1
    I: int = 1
    classes: int = 10


class FloorCurve(NamedTuple):
    """One curve of a panel: a name, and what it changes in the setting of the panel."""

    name: str
    algorithm: str
    a: float
    hollow: bool = False  # a second curve of one algorithm
    twice: bool = False  # twice the samples, so that gradients are as many as STEM's


CURVES = (
    FloorCurve(f"STEM, $a$ = {SMALL_A:g}", "stem", SMALL_A),
    FloorCurve(f"STEM, $a$ = {LARGE_A:g}", "stem", LARGE_A, hollow=True),
    FloorCurve("FedAvg", "fedavg", 1.0),
    FloorCurve("FedAvg, $2b$", "fedavg", 1.0, hollow=True, twice=True),
    FloorCurve("SCAFFOLD", "scaffold", 1.0),
)
MIXED = FloorSetting("", b=4, I=32, classes=5)
BASES = (  # what panel a compares: little drift, some, much
    ("a: $b$, $I$ = 1, 10 classes", FloorSetting("stem")),
    ("a: $b$ = 4, $I$ = 8, 10 classes", FloorSetting("stem", b=4, I=8)),
    ("a: $b$ = 4, $I$ = 32, 5 classes", MIXED),
)


class FloorPanel(NamedTuple):
    """What is changed along x, from where, and over which values in quick and default mode."""

    field: str
    base: FloorSetting
    quick: tuple[float, ...]
    default: tuple[float, ...]

    def values(self, mode: str) -> tuple[float, ...]:
        """Return the values along x; ``full`` has those of ``default`` and longer runs."""
        return self.quick if mode == "quick" else self.default

    def settings(self, curve: FloorCurve, mode: str) -> list[FloorSetting]:
        """Return the settings along one curve."""
        changes: list[dict[str, Any]] = [{self.field: value} for value in self.values(mode)]
        base = self.base._replace(algorithm=curve.algorithm, a=curve.a)
        found = [base._replace(**change) for change in changes]
        return [s._replace(b=2 * s.b) for s in found] if curve.twice else found


PANELS = {
    "a": FloorPanel("a", FloorSetting("stem"), (0.03, 0.1, 1.0), (0.01, 0.03, 0.1, 0.3, 1.0)),
    "b": FloorPanel("eta", FloorSetting(""), (0.03, 0.1), (0.01, 0.03, 0.1, 0.3)),
    "c": FloorPanel("eta", MIXED, (0.03, 0.1), (0.003, 0.01, 0.03, 0.1)),
    "d": FloorPanel("b", FloorSetting("", I=8), (1, 16), (1, 4, 16, 64)),
    "e": FloorPanel("I", FloorSetting("", b=4), (8, 32), (1, 8, 32, 64)),
    "f": FloorPanel("classes", FloorSetting("", b=4, I=32), (5, 10), (2, 5, 10)),
}
COLUMNS = (
    *(Quantity("algorithm"), Quantity("a", "momentum $a$"), Quantity("eta", "step $\\eta$")),
    *(Quantity("b", "minibatch $b$"), Quantity("I", "local steps $I$")),
    Quantity("classes", "classes per worker"),
    Quantity("floor", "floor of $\\|\\nabla f(\\bar{x})\\|^2$", ("floor_low", "floor_high")),
    *(Quantity(name) for name in ("error", "floor_low", "floor_high")),
)


def table(mode: str, store: Path | None, progress: Progress) -> FigureTable:
    """Return the floors of all panels; a setting that several show is measured once."""
    T, seeds, wanted = STEPS[mode], SEEDS[mode], list(dict.fromkeys(settings(mode)))
    problems = {n: problem_of(n) for n in sorted({s.classes for s in wanted})}
    found = []
    for done, setting in enumerate(wanted):
        if done % 20 == 0:
            progress(f"gradient_floor: setting {done + 1} of {len(wanted)}")
        found.append((setting, *floor(problems[setting.classes], setting, T, seeds)))
    run = Training("stem", Constant(ETA, SMALL_A), 40, 8, 4, (SEED,))
    met = {classes: estimates(problem, run) for classes, problem in problems.items()}
    note = next(iter(problems.values())).note
    return table_of(found, mode=mode, T=T, seeds=seeds, note=note, met=met)


def table_of(found: list[tuple[FloorSetting, float, float]], **facts: Any) -> FigureTable:
    """Return the table of floors (means over the seeds), their standard errors, and two of those.

    A floor is NaN where a seed diverged.
    """
    parts = []
    for setting, mean, error in found:
        ends = {"floor_low": mean - 2 * error, "floor_high": mean + 2 * error}
        parts.append({**setting._asdict(), "floor": mean, "error": error, **ends})
    return FigureTable.of(COLUMNS, parts, **facts)


def settings(mode: str) -> Iterator[FloorSetting]:
    """Yield the setting of every point of every curve."""
    for a in PANELS["a"].values(mode):
        for _, base in BASES:
            yield base._replace(algorithm="stem", a=a)
            yield base._replace(algorithm="fedavg")
            yield base._replace(algorithm="scaffold")
    for panel in list(PANELS.values())[1:]:
        for point in zip(*(panel.settings(curve, mode) for curve in CURVES), strict=True):
            yield from point


def problem_of(classes: int) -> ImageProblem:
    """Return softmax regression on digits with so many classes per worker, in float32."""
    made = load_problem("softmax_regression", K=K, data="digits", classes=classes)
    assert isinstance(made, ImageProblem)
    return made.place(numpy_backend("figures of images"), np.dtype(np.float32))


def floor(problem: ImageProblem, setting: FloorSetting, T: int, seeds: int) -> tuple[float, float]:
    """Return the mean of ||grad f(xbar)||^2 over the second half of T steps, and its error."""
    rounds = T // setting.I
    schedule, every = Constant(setting.eta, setting.a), max(1, rounds // RECORDS)
    size = rounds, setting.I, setting.b, tuple(range(seeds))
    training = Training(setting.algorithm, schedule, *size, every=every, gradient=True)
    history = train(problem, training, threads=1)
    late = history.grad_sq[:, history.rounds > rounds // 2].mean(axis=1)
    if not np.isfinite(late).all():
        return math.nan, math.nan  # a floor of some of the seeds would flatter
    return float(late.mean()), float(late.std(ddof=1) / math.sqrt(seeds))


def draw(data: FigureTable, figure: Canvas) -> None:
    """Draw six panels with one scale of floors, bars of two standard errors."""
    grid = figure.subplots(2, 3, sharey=True)
    for (letter, shown), ax in zip(PANELS.items(), grid.flat, strict=True):
        _draw_panel(data, letter, shown, ax)
    for ax in grid[:, 1:].flat:
        ax.set_ylabel("")  # as in the first column
    handles, labels = (
        [one for ax in grid.flat[:2] for one in ax.get_legend_handles_labels()[i]] for i in (0, 1)
    )
    figure.legend(handles, labels, loc="outside lower center", ncols=4)


def _draw_panel(data: FigureTable, letter: str, shown: FloorPanel, ax: Axes) -> None:
    mode = data.facts["mode"]
    panel = Panel(ax, data, shown.field, "floor", title=f"{letter}  {_fixed(shown)}")
    lines: list[tuple[str, list[FloorSetting], dict[str, Any], float]] = []
    if shown.field == "a":
        for i, (name, base) in enumerate(BASES):
            dash = palette.DASHES[i]
            at = [base._replace(algorithm="stem", a=a) for a in shown.values(mode)]
            lines.append((name, at, _style("stem", shade=i, linestyle=dash), 1.0))
            for algorithm in ("fedavg", "scaffold"):
                level = number(data, base._replace(algorithm=algorithm))[0]
                if math.isfinite(level):
                    colour = _style(algorithm, shade=i)["color"]
                    ax.axhline(level, color=colour, linestyle=dash, linewidth=1.1)
    else:
        for c in CURVES:
            # twice the samples stand where the others' b is
            aside = 0.5 if c.twice and shown.field == "b" else 1.0
            style = _style(c.algorithm)
            if c.hollow:
                style |= {"markerfacecolor": "white", "linestyle": "--"}
            lines.append((c.name, shown.settings(c, mode), style, aside))
    for name, at, style, aside in lines:
        rows = data.at(FloorSetting._fields, at)
        panel.marks(rows, aside, **{**style, "linestyle": "none"})
        panel.line(rows, aside, **style, linewidth=1.1, label=name)
    ax.set_xticks(shown.values(mode), [f"{v:g}" for v in shown.values(mode)])
    ax.xaxis.set_minor_locator(NullLocator())


def _style(algorithm: str, shade: int | None = None, **more: Any) -> dict[str, Any]:
    """Return the algorithm's own look, or a shade of it for a setting of panel a."""
    look = palette.LOOKS[algorithm]
    colour = look.colour if shade is None else look.shade(shade, len(BASES))
    return look.style(color=colour, **more)


def _fixed(panel: FloorPanel) -> str:
    """Return what is held in a panel."""
    if panel.field == "a":
        return f"$\\eta$ = {ETA:g}, three settings"
    base = panel.base
    held = {"eta": f"$\\eta$ = {base.eta:g}", "b": f"$b$ = {base.b}", "I": f"$I$ = {base.I}"}
    held["classes"] = f"{base.classes} classes"
    return ", ".join(text for name, text in held.items() if name != panel.field)


def number(data: FigureTable, setting: FloorSetting) -> tuple[float, float]:
    """Return the floor of a setting and its standard error."""
    row = data.at(FloorSetting._fields, [setting])
    return float(row["floor"][0]), float(row["error"][0])


def caption(data: FigureTable) -> str:
    """Return the setting, the numbers where STEM wins and where it does not, and the limits."""
    facts = data.facts
    told = "; ".join(_compared(data, base) for _, base in BASES)
    met = "; ".join(
        f"L {c.L:.2g}, sigma {c.sigma:.2g}, zeta {c.zeta:.2g} with {n} classes per worker"
        for n, c in facts["met"].items()
    )
    short = " The short runs of quick mode still carry some of their start."
    return (
        f"Softmax regression on {facts['note']} with 0.01 sum x^2/(1+x^2), 650 parameters, K = {K}"
        f" workers with 130 images each. Floor: ||grad f(xbar)||^2 over all training images,"
        f" averaged over {RECORDS // 2} times in the second half of T = {facts['T']:,} steps,"
        f" constant eta and a; mean of {facts['seeds']} seeds, bars two standard errors. At eta ="
        f" {ETA:g}: {told}. {_best_steps(data)} FedAvg with 2b computes as many gradients as STEM."
        " A missing point left the finite numbers in some seed."
        f"{short if facts['mode'] == 'quick' else ''} Largest values met along a run of STEM,"
        f" estimates from below, no constants: {met}. Not claimed: rates in T, other data, or"
        " decreasing steps."
    )


def _compared(data: FigureTable, base: FloorSetting) -> str:
    """Return the floors of one setting, and how far STEM's lies below or above its rivals'."""
    stem = {f"STEM (a = {a:g})": base._replace(algorithm="stem", a=a) for a in (SMALL_A, LARGE_A)}
    rivals = {"FedAvg": "fedavg", "SCAFFOLD": "scaffold"}
    others = {name: base._replace(algorithm=of, a=1.0) for name, of in rivals.items()}
    levels = {name: number(data, setting) for name, setting in {**stem, **others}.items()}
    each = ", ".join(f"{name} {_number(*found)}" for name, found in levels.items())
    told = f"with b = {base.b}, I = {base.I}, {base.classes} classes per worker {each}"
    ours, _, *theirs = (mean for mean, _ in levels.values())
    ratios = [mean / ours for mean in theirs]
    if not np.isfinite(ratios).all():
        return told
    return f"{told} (over STEM's at a = {SMALL_A:g}: {ratios[0]:.2f} and {ratios[1]:.2f} times)"


def _best_steps(data: FigureTable) -> str:
    """Return the lowest floor of every curve over the steps tried, in panels b and c."""
    told = []
    for letter in "bc":
        each = []
        for curve in CURVES:
            tried = PANELS[letter].settings(curve, data.facts["mode"])
            means = data.at(FloorSetting._fields, tried)["floor"]
            best = tried[int(np.argmin(np.where(np.isnan(means), math.inf, means)))]
            at = f"{_number(*number(data, best))} at eta {best.eta:g}"
            each.append(f"{curve.name.replace('$', '')} {at}")
        told.append(f"panel {letter}: {', '.join(each)}")
    return f"Lowest over the steps tried, {'; '.join(told)}."


def view(data: FigureTable) -> Table:
    """Return the floor of every setting, mean and standard error over the seeds."""
    names, facts = (*FloorSetting._fields, "floor", "error"), data.facts
    return Table(
        title=f"Floor of the gradient on {facts['note']}, {facts['mode']} mode",
        note=f"T = {facts['T']:,} steps, {facts['seeds']} seeds; none where a seed diverged.",
        columns=tuple(Column(name, number=name != "algorithm") for name in names),
        rows=tuple(tuple(None if r[n] != r[n] else r[n] for n in names) for r in data.records()),
    )


def _number(mean: float, error: float) -> str:
    return f"{mean:.2e} ± {error:.0e}" if math.isfinite(mean) else "none"


SUMMARY = "the floor of the gradient on digits against a, eta, b, I and classes per worker"
ENTRY = Figure(
    "gradient_floor",
    SUMMARY,
    table,
    draw,
    caption,
    size=(11.0, 6.6),
    seed=SEED,
    lacks=lambda mode: missing("digits"),
    view=view,
)
