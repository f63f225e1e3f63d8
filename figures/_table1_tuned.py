"""Exponents of the tuned systems for every row of Table 1, from the fits of sweep ``systems``.

Each row is run with its own law of b and I, and each system with its best of the common steps for
every epsilon. What the other rows were claimed under is named; no claim of this package covers
their theorems, so what stands here is a measurement and no verdict on them.

Paper: Table: Comparison.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

from matplotlib.axes import Axes

from stemtheory.algorithms import ALGORITHMS
from stemtheory.experiment import Fit, stored_sweep, swept
from stemtheory.figures._systems import NAMES
from stemtheory.report import Progress

GRIDS = ("epsilon", "law_local", "law_batch", "law_prox")
NOT_MEASURED = "not measured"
# Row and nu (None: all there is) to the rule of the sweep (samples_RULE, rounds_RULE) and systems.
CONSTANT, LOCAL, BATCH, PROX = "", "_local", "_batch", "_prox"
LAWS: dict[tuple[str, Fraction | None], tuple[str, tuple[str, ...]]] = {
    ("STEM", Fraction(0)): (BATCH, ("stem",)),
    ("STEM", Fraction(1)): (LOCAL, ("stem",)),
    ("Fed STEM", Fraction(1)): (LOCAL, ("stem",)),
    ("Minibatch STEM", Fraction(0)): (BATCH, ("stem",)),
    ("FedAvg", Fraction(0)): (BATCH, ("fedavg",)),
    ("FedAvg", Fraction(1)): (LOCAL, ("fedavg",)),
    ("FedAvg (Yu et al.)", None): (LOCAL, ("fedavg",)),
    ("FedAvg (Karimireddy, Yang et al.)", None): (CONSTANT, ("fedavg",)),
    ("SCAFFOLD", None): (CONSTANT, ("scaffold",)),
    ("FedPD/FedProx", None): (PROX, ("fedpd", "fedprox")),
    ("MIME/FedGLOMO", None): (CONSTANT, ("mimemvr", "fedglomo")),
}
OURS = "Assumptions 1 and 2 (this paper's)"
PREMISES = {
    "FedAvg (Yu et al.)": "bounded second moments, or zeta bounded",
    "FedAvg (Karimireddy, Yang et al.)": "bounded dissimilarity of gradients",
}


class TunedRow(NamedTuple):
    """One exponent: of ``cost`` (samples or rounds), by rule, system and problem.

    ``claimed`` is the row's. ``exponent`` and ``ci95`` are None, and ``reason`` says why, where
    fewer than three epsilons were reached.
    """

    rule: str
    cost: str
    label: str
    problem: str
    claimed: float
    exponent: float | None
    ci95: tuple[float, float] | None
    verdict: str
    reason: str


def measured(mode: str, progress: Progress) -> tuple[TunedRow, ...]:
    """Return the exponents, from runs on the spot; quick ones would take too long: none."""
    if mode == "quick":
        return ()
    return tuple(_rows(swept("systems", mode, progress, GRIDS).fits))


def stored(mode: str, store: Path) -> tuple[TunedRow, ...]:
    """Return the same from the store of sweep ``systems``."""
    return tuple(_rows(stored_sweep("systems", mode, store, GRIDS).fits))


def _rows(fits: Iterable[Fit]) -> Iterable[TunedRow]:
    for fit in fits:
        cost, _, rule = fit.rule.name.partition("_")
        group = fit.group
        yield TunedRow(
            f"_{rule}" if rule else CONSTANT,
            cost,
            str(group["label"]),
            str(group["problem"]),
            fit.theory,
            fit.exponent,
            fit.ci95,
            fit.verdict,
            fit.reason,
        )


def cell(rows: Sequence[TunedRow], row: str, nu: Fraction | None, cost: str) -> str | None:
    """Return a row's exponents over the problems, system by system; None if it is not run."""
    if (row, nu) not in LAWS:
        return None
    if not rows:
        return NOT_MEASURED
    rule, labels = LAWS[row, nu]
    parts = []
    for label in labels:
        own = [r for r in rows if (r.rule, r.cost, r.label) == (rule, cost, label)]
        text = _range(own)
        parts.append(f"{NAMES[label]} {text}" if len(labels) > 1 else text)
    return "; ".join(parts)


def _range(rows: Sequence[TunedRow]) -> str:
    """The exponents of all problems, from the steepest to the flattest, and the widest interval."""
    found = sorted(r.exponent for r in rows if r.exponent is not None)
    lost = len(rows) - len(found)
    if not found:
        return "not-estimable"
    half = max((r.ci95[1] - r.ci95[0]) / 2 for r in rows if r.ci95 is not None)
    ends = dict.fromkeys((f"{found[0]:.2f}", f"{found[-1]:.2f}"))
    return f"{' to '.join(ends)} ± {half:.2g}" + (f" ({lost} not-estimable)" if lost else "")


def premises(row: str, *, here: bool) -> str:
    """Return the assumption under which a row was claimed, and whether our claims cover it."""
    if here:
        return OURS
    found = PREMISES.get(row)
    if found is None:
        labels = LAWS[row, None][1]
        found = "; ".join(f"{NAMES[label]}: {ALGORITHMS[label].needs}" for label in labels)
    return f"{found} (not covered by our claims)"


COLOURS = ("#0072B2", "#E69F00", "#009E73")
MARKERS = "os^"
LAW_NAMES = {
    CONSTANT: "$b, I$ fixed",
    LOCAL: "$I = \\epsilon^{-1/2}$",
    BATCH: "$b = \\epsilon^{-1/2}$",
    PROX: "$I = 1/\\epsilon$",
}


def draw(ax: Axes, rows: Sequence[TunedRow], cost: str) -> None:
    """Draw the exponents of one cost, a line for each system and law, beside those claimed."""
    own = [r for r in rows if r.cost == cost]
    places = list(dict.fromkeys((r.rule, r.label) for r in own))
    problems = list(dict.fromkeys(r.problem for r in own))
    for r in own:
        i, at = problems.index(r.problem), places.index((r.rule, r.label))
        ax.plot([r.claimed] * 2, [at - 0.4, at + 0.4], color="0.1", linewidth=2, zorder=3)
        if r.exponent is None or r.ci95 is None:
            continue
        y = at + 0.22 * (i - (len(problems) - 1) / 2)
        bars = [[r.exponent - r.ci95[0]], [r.ci95[1] - r.exponent]]
        style: dict[str, Any] = {"color": COLOURS[i % 3], "marker": MARKERS[i % 3]}
        ax.errorbar([r.exponent], [y], xerr=bars, elinewidth=1, capsize=0, markersize=4.5, **style)
    for i, problem in enumerate(problems):
        ax.plot([], [], MARKERS[i % 3], color=COLOURS[i % 3], label=f"tuned, {problem}")
    ax.plot([], [], color="0.1", linewidth=2, label="the row's claim")
    ax.set_yticks(range(len(places)), [f"{NAMES[x]}, {LAW_NAMES[rule]}" for rule, x in places])
    ax.set(xlim=(-3.15, -0.4), ylim=(len(places) + 0.9, -0.6), xlabel="exponent of $\\epsilon$")


def reasons(rows: Iterable[TunedRow]) -> list[str]:
    """Return why exponents are missing, each once."""
    return list(
        dict.fromkeys(
            f"{NAMES[r.label]} on {r.problem}: {r.reason}" for r in rows if r.exponent is None
        )
    )
