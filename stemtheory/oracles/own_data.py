"""A problem on rows of a user's own: the dials, the file, the labels, the split.

Dials: ``data`` the file; ``target`` the column that is learnt (the last); ``split`` over the
workers, with ``concentration`` and ``data_seed`` where that is dirichlet; ``standardise`` to shift
and scale every column, over all workers, to mean 0 and variance 1 (a constant one becomes 0);
``alpha`` the weight of the regulariser.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from stemtheory.oracles.dials import refuse_unknown
from stemtheory.oracles.problem import ProblemEntry
from stemtheory.oracles.row_constants import Slopes
from stemtheory.oracles.row_files import RowTable, read_rows
from stemtheory.oracles.row_problem import RowSum, declare, dip
from stemtheory.oracles.row_split import split_rows
from stemtheory.oracles.usual import USUAL
from stemtheory.runtime import Floats, UsageError, file_path, real, truth, whole

DIALS: dict[str, Any] = {
    "data": None, "target": None, "split": "in_order", "concentration": 1.0, "data_seed": 0,
    "standardise": False, "alpha": 0.1,
}  # fmt: skip
FOLLOW = ("L", "sigma", "zeta")  # from the rows
LEAST, MOST = 1e-3, 1e6  # of the concentration
SHOWN = 6  # workers whose numbers of rows are told one by one


@dataclass(frozen=True)
class RowLoss(ProblemEntry):
    """ell of the residual a.x - o, elementwise, and what its constants are made of.

    ``labels`` says that the target has two values, which become -1 and 1 and are taken into a, with
    o = 0; else the target is o. ``width`` is the default of the dial delta, which measures
    residuals, or None for a loss without.
    """

    name: str
    loss: Callable[[Any], Any]
    slope: Callable[[Any], Any]
    slopes: Slopes
    labels: bool
    width: float | None = None
    summary: str = ""
    formula: str = ""
    visible: str = ""

    needs_data = True
    nonconvex = True  # with the regulariser, as by default

    @property
    def own_dials(self) -> dict[str, Any]:
        """The dials of rows of one's own, and their defaults."""
        return DIALS if self.width is None else {**DIALS, "delta": self.width}

    def __call__(self, K: int = USUAL.K, dim: int | None = None, **dials: Any) -> RowSum:
        """Return the problem on the rows of the file ``data``; ``dim`` follows from them.

        Raises
        ------
        UsageError
            For wrong files, for dials that it has not, and for a dim that is not the data's.
        """
        return _build(self, K, dim, **dials)


def _build(model: RowLoss, K: int, dim: int | None, **dials: Any) -> RowSum:
    """Return the problem of K workers on the rows of the file ``data``.

    Raises
    ------
    UsageError
        For what is no dial or no file of rows, and for a dim that is not the data's.
    """
    for name in FOLLOW:
        if dials.get(name) is not None:
            raise UsageError(
                f"{name} is {dials[name]}, but with data L, sigma and zeta follow from the rows:"
                f" leave {name} out."
            )
    dials = {name: value for name, value in dials.items() if name not in FOLLOW}
    refuse_unknown(f"{model.name} on data", dials, model.own_dials)
    if dials.get("data") is None:
        raise UsageError(
            f"{model.name} is about rows of your own, but no file was given: give data=FILE"
            " (CSV, Parquet, npz or LIBSVM)."
        )
    s = {**model.own_dials, **dials}
    path, table = _table(s)
    _refuse_idle(s["split"], dials)
    K, alpha = whole("K", K), real("alpha", s["alpha"], minimum=0)
    N, columns = table.rows.shape
    if dim is not None and dim != columns:
        raise UsageError(
            f"dim is {dim}, but {path} has {columns} columns beside its target: leave dim out."
        )
    target, said = _labels(table, path) if model.labels else (_numbers(table, path), table.name)
    shares = split_rows(
        s["split"], target, K, _concentration(s["concentration"]),
        whole("data_seed", s["data_seed"], 0),
    )  # fmt: skip
    order, counts = np.concatenate(shares), tuple(len(share) for share in shares)
    scaled = truth("standardise", s["standardise"])
    rows, target = (_standard(table.rows) if scaled else table.rows)[order], target[order]
    width = 1.0 if model.width is None else real("delta", s["delta"], positive=True)
    rows, offsets = (
        (rows * target[:, None], np.zeros(N)) if model.labels else (rows / width, target / width)
    )
    s["rows"] = _told(path, N, columns, said, scaled, counts)
    problem = RowSum(
        model, rows, offsets, counts, alpha, width**2, dials=s,
        declared=declare(model, rows, counts, width**2, alpha),
    )  # fmt: skip
    return replace(problem, found=dip(problem)) if alpha else problem


def refuse_without(name: str, dials: Mapping[str, Any], usual: Mapping[str, Any]) -> None:
    """Refuse dials of rows where no file was given; those in ``usual`` have another meaning too.

    Raises
    ------
    UsageError
        With the first of them.
    """
    for dial in dials:
        if dial in DIALS and dial not in usual and dials[dial] is not None:
            raise UsageError(
                f"{dial} is {dials[dial]}, but {name} has rows of your own only with a file: give"
                f" data=FILE, or leave {dial} out."
            )


def _table(s: Mapping[str, Any]) -> tuple[Path, RowTable]:
    path, target = file_path("data", s["data"]), s["target"]
    if isinstance(target, float) and target.is_integer():
        target = int(target)
    if isinstance(target, bool) or not isinstance(target, str | int | None):
        raise UsageError(f"target is {target}, but it must be a column: give its name or number.")
    return path, read_rows(path, target)


def _refuse_idle(split: object, dials: Mapping[str, Any]) -> None:
    """Refuse what only a Dirichlet split reads."""
    for name in ("concentration", "data_seed"):
        if name in dials and split != "dirichlet":
            raise UsageError(
                f"{name} is {dials[name]}, but split {split} draws nothing: leave it out, or set"
                " split=dirichlet."
            )


def _concentration(value: object) -> float:
    found = real("concentration", value, positive=True)
    if not LEAST <= found <= MOST:
        raise UsageError(
            f"concentration is {found:g}, but it must lie between {LEAST:g} and {MOST:g}: small"
            " for workers that differ, large for workers that are alike."
        )
    return found


def _labels(table: RowTable, path: Path) -> tuple[Floats, str]:
    """Return -1 and 1 for the two values of the target, in their order, and what was done."""
    values: list[Any] = sorted(set(table.target))
    if len(values) != 2:
        shown = ", ".join(_shown(value) for value in values[:4]) + (", ..." if values[4:] else "")
        where = ""
        if values[2:]:
            seen = dict.fromkeys(table.target)
            third = list(seen)[2]
            at = list(table.target).index(third)
            where = f", the third in {table.word} {table.lines[at]}"
        raise UsageError(
            f"{path} has {len(values)} label{'s' if values[1:] else ''} in {table.name}"
            f" ({shown}{where}), but a logistic loss takes two: keep the rows of two."
        )
    low, high = values
    signs = np.where(np.array(table.target) == high, 1.0, -1.0)
    return signs, f"{table.name} ({_shown(low)} is -1, {_shown(high)} is 1)"


def _numbers(table: RowTable, path: Path) -> Floats:
    """Return the target as numbers."""
    for i, text in enumerate(table.target):
        if isinstance(text, str):
            try:
                good = np.isfinite(float(text))
            except ValueError:
                good = False
            if not good:
                raise UsageError(
                    f"{table.place(i, path)} has '{text:.40}' in {table.name}, which is no"
                    " finite number: a regression takes numbers."
                )
    return np.array(table.target, dtype=np.float64)


def _standard(rows: Floats) -> Floats:
    """Return columns of mean 0 and variance 1; a constant one is 0."""
    centred = rows - rows.mean(axis=0)
    spread = centred.std(axis=0)
    flat = spread <= 1e-12 * np.abs(rows).max(axis=0)
    scaled: Floats = np.where(flat, 0.0, centred / np.where(flat, 1.0, spread))
    return scaled


def _told(
    path: Path, N: int, columns: int, said: str, scaled: bool, counts: tuple[int, ...]
) -> str:
    """Return in words what was read and what was done to it."""
    each = (
        ", ".join(map(str, counts)) if len(counts) <= SHOWN else f"{min(counts)} to {max(counts)}"
    )
    how = "columns standardised" if scaled else "columns as they stand"
    return f"{N} rows of {columns} columns of {path.name}, target {said}, {how}; per worker {each}"


def _shown(value: float | str) -> str:
    return f"{value:g}" if isinstance(value, float) else f"{value:.30}"
