"""Small files of rows: two classes, values with outliers, and one that is unlike in every way."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from stemtheory.runtime import generator

KINDS = ("classes", "values", "uneven")


def arrays(kind: str, N: int = 40) -> tuple[Any, Any]:
    """Return rows and targets; ``uneven`` has a large row, a constant column and few of one label.

    Its last row is as long as all others together, so that mean and worst worker differ.
    """
    stream = generator([7, KINDS.index(kind)])
    X = stream.standard_normal((N, 3)) * [1.0, 2.0, 0.5] + [0.0, 1.0, 0.0]
    y = X @ [1.0, -0.5, 2.0] + stream.standard_normal(N)
    if kind == "classes":
        y = np.where(y > 0, 4.0, 2.0)
    if kind == "values":
        y[::9] += 30
    if kind == "uneven":
        X[:, 1], X[-1] = 1.0, [30.0, 1.0, -20.0]
        y = np.where(np.arange(N) % 5 == 4, 1.0, 0.0)
    return X, y


def write_rows(path: Path, kind: str = "classes", N: int = 40) -> Path:
    """Write a CSV file with a line of names, the target last."""
    X, y = arrays(kind, N)
    lines = ["a,b,c,y"]
    lines += [",".join(map(repr, row)) for row in np.column_stack([X, y]).tolist()]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path
