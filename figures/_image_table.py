"""The numbers of the paper's figures on images: a line for every curve whenever it is looked at.

It keeps the accuracy of every seed, so that paired differences can be computed again from the
file: docs/replication.md is, from the last line of every curve.

Paper: sec: Experiments.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from stemtheory.images import History
from stemtheory.images.over_seeds import over_seeds
from stemtheory.report import Column, FigureTable, Quantity, Table
from stemtheory.runtime import Floats
from stemtheory.schedules import Schedule

STEM, FEDAVG, SCAFFOLD, BORROWED = "STEM", "FedAvg", "SCAFFOLD", "FedAvg, STEM's schedule"
NAMES = (STEM, FEDAVG, SCAFFOLD, BORROWED)
COLUMNS = (
    *(Quantity(name) for name in ("row", "algorithm", "steps", "I")),
    Quantity("rounds", "communication rounds"),
    Quantity("samples", "samples per worker"),
    Quantity("gradients", "gradients per worker"),
    Quantity("accuracy", "test accuracy", ("accuracy_low", "accuracy_high")),
    Quantity("accuracy_error"),
    Quantity("loss", "training loss", ("loss_low", "loss_high")),
    *(Quantity(name) for name in ("loss_error", "samples_to_target", "lost", "first_lost")),
    *(Quantity(f"{name}_{end}") for name in ("accuracy", "loss") for end in ("low", "high")),
)


class ImageCase(NamedTuple):
    """One figure in one mode: the problem, b, the local steps I compared, and rounds for each."""

    problem: str
    dials: dict[str, Any]
    K: int
    b: int
    local: tuple[int, ...]
    rounds: tuple[int, ...]
    every: int
    seeds: tuple[int, ...]
    target: float


class Trained(NamedTuple):
    """One curve: an algorithm with its step sizes at one I, in one row of panels."""

    row: str
    name: str
    I: int
    schedule: Schedule
    history: History


def table_of(curves: list[Trained], case: ImageCase, **facts: Any) -> FigureTable:
    """Return the curves, a line of the table for every time at which they were looked at.

    Accuracy and loss are means over the seeds that are still finite, with one standard error and
    from the lowest to the highest of them. ``seed0`` and so on are test accuracies, NaN where a
    seed diverged; ``lost`` seeds did, the first in round ``first_lost``. ``samples_to_target`` is
    the median over the seeds of the samples until the target, NaN if that is never.
    """
    seeds = tuple(Quantity(f"seed{seed}") for seed in case.seeds)
    parts = [rows_of(curve, case) for curve in curves]
    return FigureTable.of((*COLUMNS, *seeds), parts, case=case, **facts)


def rows_of(curve: Trained, case: ImageCase) -> dict[str, Any]:
    """Return the rows of one curve."""
    history = curve.history
    who = {"row": curve.row, "algorithm": curve.name, "steps": steps(curve), "I": curve.I}
    spent = {name: getattr(history, at) for name, at in
             (("rounds", "rounds"), ("samples", "draws"), ("gradients", "gradients"))}  # fmt: skip
    diverged = history.diverged[history.diverged > 0]
    ends = {
        "samples_to_target": samples_to(history, case.target),
        "lost": history.lost,
        "first_lost": float(diverged.min()) if len(diverged) else math.nan,
    }
    seeds = {f"seed{seed}": history.accuracy[i] for i, seed in enumerate(case.seeds)}
    measured = over("accuracy", history.accuracy) | over("loss", history.loss)
    return {**who, **spent, **measured, **ends, **seeds}


def over(name: str, values: Floats) -> dict[str, Floats]:
    """Return mean, standard error and extremes over the seeds that are finite, at every time."""
    each = [column[np.isfinite(column)] for column in values.T]
    found = np.array([(*over_seeds(c)[:2], *((c.min(), c.max()) if len(c) else (math.nan,) * 2))
                      for c in each])  # fmt: skip
    names = (name, f"{name}_error", f"{name}_low", f"{name}_high")
    return dict(zip(names, found.T, strict=True))


def steps(curve: Trained) -> str:
    """Return the step sizes in a few words."""
    if curve.name in (STEM, BORROWED):
        p = curve.schedule.parameters()
        return f"kappa {p['kappa']:g}, cbar {p['cbar']:g}"
    return f"step {curve.schedule.eta(1.0):g}"


def samples_to(history: History, target: float) -> float:
    """Return the median over seeds of the draws per worker until a test accuracy; NaN if never."""
    reached = history.accuracy >= target
    first = [float(history.draws[row.argmax()]) if row.any() else math.inf for row in reached]
    middle = float(np.median(first))
    return middle if math.isfinite(middle) else math.nan


WORDS = ("row", "algorithm", "steps")  # the columns that are no numbers


def last(data: FigureTable) -> FigureTable:
    """Return the last row of every curve."""
    frame = data.frame.drop_duplicates(["row", "algorithm", "I"], keep="last")
    return FigureTable(data.columns, frame, data.facts)


def ends(data: FigureTable, row: str, name: str, I: int) -> dict[str, Any]:
    """Return the last row of one curve."""
    (found,) = last(data.where(row=row, algorithm=name, I=I)).records()
    return found


def finals(data: FigureTable, row: str, name: str, I: int) -> Floats:
    """Return the final test accuracy of every seed, NaN where it diverged."""
    end = ends(data, row, name, I)
    return np.array([end[f"seed{seed}"] for seed in data.facts["case"].seeds])


def view(data: FigureTable) -> Table:
    """Return the final numbers of every curve: means and standard errors over the seeds."""
    case, facts = data.facts["case"], data.facts
    numbers = ("I", "rounds", "samples", "gradients", "accuracy", "accuracy_error", "loss",
               "loss_error", "samples_to_target", "lost")  # fmt: skip
    seeds = tuple(f"seed{seed}" for seed in case.seeds)
    whole = ("gradients", "samples")  # shown as counts
    names = (*WORDS, *numbers, *seeds)
    rows = [[None if r[n] != r[n] else int(r[n]) if n in whole else r[n] for n in names]
            for r in last(data).records()]  # fmt: skip
    return Table(
        title=f"Figure {facts['figure']} of the paper on {facts['note']}, {facts['mode']} mode",
        note=(
            "Samples and gradients are those of one worker; the target is a test accuracy of"
            f" {case.target:g}; errors are one standard error over the seeds."
        ),
        columns=tuple(Column(name, number=name not in WORDS) for name in names),
        rows=tuple(map(tuple, rows)),
    )
