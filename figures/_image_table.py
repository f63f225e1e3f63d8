"""The numbers of the paper's figures on images as a table: one line for every curve.

It lies beside the picture and keeps the final accuracy of every seed, so that paired differences
can be computed again from the file: docs/replication.md is.

Paper: sec: Experiments.
"""

from __future__ import annotations

import math

from stemtheory.figures._images import Comparison, Line, samples_to
from stemtheory.report import Column, Table, Value

WORDS = ("row", "algorithm", "steps")  # the columns that are no numbers
NUMBERS = (
    "I",
    "rounds",
    "samples",
    "gradients",
    "accuracy",
    "accuracy_error",
    "loss",
    "loss_error",
    "samples_to_target",
    "lost",
)


def table(data: Comparison) -> Table:
    """Return the final numbers of every curve, means and standard errors over the seeds.

    ``samples_to_target`` is a median over seeds, none where the target was not reached; ``seed0``
    and so on are final test accuracies, none where a seed diverged.
    """
    seeds = tuple(Column(f"seed{seed}") for seed in data.case.seeds)
    named = (*(Column(name, number=False) for name in WORDS), *map(Column, NUMBERS))
    return Table(
        title=f"Figure {data.figure} of the paper on {data.note}, {data.mode} mode",
        note=(
            "Samples and gradients are those of one worker; the target is a test accuracy of"
            f" {data.case.target:g}; errors are one standard error over the seeds."
        ),
        columns=(*named, *seeds),
        rows=tuple(_row(line, data.case.target) for line in data.lines),
    )


def _row(line: Line, target: float) -> tuple[Value, ...]:
    history = line.history
    numbers = (*line.final[:2], *line.final_loss[:2], samples_to(line, target))
    finals = [float(value) for value in history.accuracy[:, -1]]
    return (
        line.row,
        line.name,
        line.steps,
        line.I,
        int(history.rounds[-1]),
        int(history.draws[-1]),
        int(history.gradients[-1]),
        *map(_finite, numbers),
        history.lost,
        *map(_finite, finals),
    )


def _finite(value: float) -> float | None:
    """Return a number, or None: a missing cell stays empty."""
    return value if math.isfinite(value) else None
