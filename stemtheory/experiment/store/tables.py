"""Tables of sweeps: one row per reported point, or one row per stored cell; exact exports."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from stemtheory.algorithms import load_algorithm
from stemtheory.experiment.design.points import Point
from stemtheory.experiment.design.where import Condition, condition
from stemtheory.experiment.execute.work import CellResult
from stemtheory.experiment.store.results import Store, StoredCell
from stemtheory.runtime import Floats, UsageError, write_file

if TYPE_CHECKING:
    import pandas as pd

MISSING = "missing"
ROWS = 5000  # of a CSV that are written at once
COUNTS = (
    *("samples_per_worker", "samples_total", "draws_per_worker", "rounds", "exchanges"),
    *("vectors_up", "vectors_down", "floats_up", "floats_down"),
)
FACTS = (*COUNTS, "diverged_replicates", "grad_sq_start")
Record = dict[str, Any]


def point_records(points: Iterable[Point], results: Mapping[str, CellResult]) -> list[Record]:
    """Return one record per reported point; a cell that has not run has status ``missing``."""
    return list(each_record(list(points), results))


def each_record(points: Sequence[Point], results: Mapping[str, CellResult]) -> Iterator[Record]:
    """Yield the same, one after the other."""
    options = {name for p in points for name, _ in p.cell.run.algorithm.options}
    options -= {"sync", "sync_batch"}  # columns of their own
    for point in points:
        yield _point_record(point, results.get(point.cell.id), options)


def cell_records(rows: Iterable[StoredCell]) -> list[Record]:
    """Return one record per stored cell, with the numbers of every replicate."""
    return list(map(_cell_record, rows))


@dataclass(frozen=True)
class CellRecords:
    """The records of an open store that keep a condition, read anew whenever one goes through them.

    ``where`` is a condition on their columns, or None: those of 1e5 cells would take 700 MB.
    """

    store: Store
    where: str | None = None

    def __iter__(self) -> Iterator[Record]:
        records = map(_cell_record, self.store.rows())
        return records if self._keep is None else filter(self._keep, records)

    @cached_property
    def _keep(self) -> Condition | None:
        if self.where is None:
            return None
        records = map(_cell_record, self.store.rows())
        return condition(self.where, {name for record in records for name in record})


def swept_columns(records: Iterable[Record]) -> list[str]:
    """Return the settings in which records differ, in the order of the cells' own columns.

    B is one only where nothing that it follows from differs. The records are seen once.
    """
    measured = {*outcome(None), "grad_sq", "finished", "provenance"}
    first: dict[str, str] = {}
    differ: set[str] = set()
    for n, record in enumerate(records):
        for name in record:
            if name not in measured and name not in first:
                first[name] = repr(None) if n else repr(record[name])  # those before lack it
        differ.update(name for name in first if repr(record.get(name)) != first[name])
    found = [name for name in first if name in differ]
    return [n for n in found if n != "B" or not {"T", "b", "I", "algorithm"} & differ]


def outcome(result: CellResult | None) -> Record:
    """Return the columns of what a cell measured and cost; None where there is nothing."""
    r = result or CellResult("", MISSING)
    constants = r.facts.get("constants", {})
    clean = r.status == "ok"
    return {
        "status": r.status,
        "reason": r.reason,
        "mean_grad_sq": r.mean_grad_sq,
        "stderr": r.stderr,
        "mean_grad_sq_finite": r.mean_grad_sq_finite,
        "mean_last": mean_of(r.last) if clean else None,
        "mean_best": mean_of(r.best) if clean else None,
        "replicates_run": r.replicates,
        **{name: r.facts.get(name) for name in FACTS},
        "gap": constants.get("gap"),
        "f_star": constants.get("f_star"),
        "recorded": r.trace is not None,
        "wall_seconds": r.wall_seconds,
        "cpu_seconds": r.cpu_seconds,
        "cell": r.id or None,
    }


def mean_of(values: Floats) -> float:
    """The mean, to the last bit; a method's arguments take longer than eight numbers."""
    return float(np.add.reduce(values) / len(values))


def frame(records: Iterable[Record]) -> pd.DataFrame:
    """Return the records as a table; a column that some records lack is empty there.

    They are seen once, one after the other: a table of columns takes a tenth of their memory.
    """
    import pandas as pd

    columns: dict[str, list[Any]] = {}
    for n, record in enumerate(records):
        for name in record:
            if name not in columns:
                columns[name] = [math.nan] * n
        for name, values in columns.items():
            values.append(record.get(name, math.nan))
    return pd.DataFrame(columns)


def export_records(records: Iterable[Record], path: Path) -> Path:
    """Write the records as .csv or .parquet without losing a digit; return the path.

    They are seen once. In CSV a list or table is JSON text, and a float has the fewest digits that
    give it back.

    Raises
    ------
    UsageError
        For another ending, a path that cannot be written, or Parquet without pyarrow.
    """
    kind = path.suffix.lower()
    if kind not in (".csv", ".parquet"):
        raise UsageError(
            f"{path} ends in '{kind}', but it must end in .csv or .parquet: rename it."
        )
    table = frame(map(_plain, records))
    if kind == ".csv":
        return write_file(path, lambda file: _write_csv(table, file))
    try:
        raw = table.to_parquet(index=False)
    except ImportError as error:
        raise UsageError(
            "Parquet needs pyarrow, which is not installed: pip install stemtheory[parquet],"
            " or export .csv."
        ) from error
    return write_file(path, lambda file: file.write(raw))


def _write_csv(table: pd.DataFrame, file: BinaryIO) -> None:
    """Write so many rows at a time that their text takes a few MB."""
    for start in range(0, max(len(table), 1), ROWS):
        part = table.iloc[start : start + ROWS]
        file.write(part.to_csv(index=False, header=start == 0).encode())


def _point_record(point: Point, result: CellResult | None, options: set[str]) -> Record:
    settings = point.cell.settings() | _own_options(point, options)
    constants = result.facts.get("constants", {}) if result else {}
    return {
        "grid": point.grid,
        "label": point.label,
        **settings,
        "algorithm": point.algorithm,
        "recursion": settings["algorithm"],
        "nu": point.nu,
        "curve": point.curve,
        "clipped": point.clipped,
        "T_requested": point.T_requested,
        "epsilon": point.epsilon,
        **{name: constants[name] for name in ("L", "sigma", "zeta")
           if name not in settings and name in constants},
        **outcome(result),
        "cell": point.cell.id,
    }  # fmt: skip


def _cell_record(row: StoredCell) -> Record:
    return {
        **row.settings,
        **outcome(row.result),
        "grad_sq": [x if math.isfinite(x) else None for x in row.result.grad_sq.tolist()],
        "finished": row.finished,
        "provenance": json.loads(row.result.provenance),
    }


def _own_options(point: Point, names: set[str]) -> Record:
    """Return the options called ``names`` of a point's algorithm; cells leave out defaults."""
    if not names:
        return {}
    settled = load_algorithm(point.algorithm).settle(dict(point.cell.run.algorithm.options))
    return {f"algorithm_options.{name}": settled[name] for name in settled if name in names}


def _plain(record: Record) -> Record:
    """Lists and tables have no cell of their own in a flat file."""
    return {
        name: json.dumps(value) if isinstance(value, list | tuple | dict) else value
        for name, value in record.items()
    }
