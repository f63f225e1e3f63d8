"""Readers of a user's rows: CSV, Parquet, npz and LIBSVM files, each checked line by line.

What is read is a table of finite numbers and one target per row; a target may be text where labels
are wanted. Every reader raises one sentence with the line (of npz and Parquet the row) of whatever
is not that. No reader unpickles, and a file costs memory in proportion to its bytes, of which there
are at most ``MOST_BYTES``, and to its table, of at most ``MOST_CELLS`` numbers.
"""

from __future__ import annotations

import csv
import math
from array import array
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from stemtheory.runtime import Floats, UsageError, kept, read_npz, stamp_of

MOST_BYTES = 2**28
MOST_CELLS = 5 * 10**7
MOST_ROWS = 10**7
LINE, ROW = "line", "row"
MISSING = ("", "na", "n/a", "nan", "null", "none", "?")
DELIMITERS = ",;\t"
ARRAYS = "write X [rows, columns] and y [rows] with numpy.savez"


class RowTable(NamedTuple):
    """Rows [N, dim], a target for each, what it is called, and where each row stands in the file.

    ``target`` holds numbers, or texts if one of them is no number.
    """

    rows: Floats
    target: tuple[float, ...] | tuple[str, ...]
    name: str
    lines: Sequence[int]
    word: str  # what a line of the file is called

    def place(self, i: int, path: Path) -> str:
        """Return where row i stands, in words."""
        return f"{self.word} {self.lines[i]} of {path}"


def read_rows(path: Path, target: str | int | None = None) -> RowTable:
    """Return the table of a file; its ending says how it is read.

    ``target`` is the name of the target's column or its number, from 1; the last unless given.

    Raises
    ------
    UsageError
        For what is no such file, and for what is in it that is no number, with its line.
    """
    if path.is_dir():
        raise UsageError(f"data is {path}, which is a folder: give a file of rows.")
    if path.suffix.lower() not in READERS:
        raise UsageError(
            f"data is {path}, but files of rows end in {', '.join(READERS)}: name it by what it is."
        )
    try:
        size = path.stat().st_size
    except OSError as error:
        raise _unreadable(path, error) from error
    if size > MOST_BYTES:
        raise _too_large(path, f"{size:.3g} bytes", f"{MOST_BYTES:.3g}")
    return _read(path, target, stamp_of(path))


@lru_cache(maxsize=4)
def _read(path: Path, target: str | int | None, stamp: object) -> RowTable:
    del stamp  # a file that was changed is another one
    read = READERS[path.suffix.lower()]
    if target is not None and read in (_read_npz, _read_libsvm):
        raise UsageError(
            f"target is {target}, but {path} says itself what its target is: leave target out."
        )
    try:
        found = read(path, target)
    except OSError as error:
        raise _unreadable(path, error) from error
    except UnicodeDecodeError as error:
        raise UsageError(
            f"{path} is no text in UTF-8 ({error.reason}): save it as such."
        ) from error
    if not found.lines:
        raise UsageError(f"{path} holds no rows: give a file that has some.")
    found.rows.flags.writeable = False
    return found


def _unreadable(path: Path, error: OSError) -> UsageError:
    return UsageError(
        f"data {path} cannot be read ({error.strerror or error}): give a file that is there."
    )


def _too_large(path: Path, size: str, most: str) -> UsageError:
    return UsageError(f"{path} is too large ({size}, at most {most}): take fewer rows of it.")


def _refuse_large(path: Path, rows: int, columns: int) -> None:
    if rows > MOST_ROWS or rows * columns > MOST_CELLS:
        most = f"{MOST_ROWS:.0e} rows and {MOST_CELLS:.0e} numbers"
        raise _too_large(path, "its table", most)


def _number(text: str, place: str, column: str) -> float:
    """Return the number of a cell, which is finite."""
    value = _value(text, place, column)
    if value is None:
        raise UsageError(f"{place} has '{text.strip():.40}' in {column}, which is not a number.")
    if not math.isfinite(value):
        raise UsageError(f"{place} has {value} in {column}, which is not finite.")
    return value


def _value(text: str, place: str, column: str) -> float | None:
    """Return the number of a cell that holds something and keeps its digits; None for words."""
    if text.strip().lower() in MISSING:
        raise UsageError(f"{place} has no value in {column}: fill it in, or leave the row out.")
    try:
        return kept(text)
    except UsageError as error:
        raise UsageError(f"{place}, {column}: {error}") from error
    except ValueError:
        return None


def _float(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _target(texts: list[str]) -> tuple[float, ...] | tuple[str, ...]:
    """Return numbers if all are; else the texts."""
    values = [_float(text) for text in texts]
    if all(value is not None and math.isfinite(value) for value in values):
        return tuple(value for value in values if value is not None)
    return tuple(texts)


def _column(path: Path, names: list[str], titled: bool, target: str | int | None) -> int:
    """Return which column is the target's."""
    if target is None:
        return len(names) - 1
    if titled and str(target) in names:
        return names.index(str(target))
    number = int(target) if str(target).isdecimal() else 0
    if 1 <= number <= len(names):
        return number - 1
    known = f"its columns are {', '.join(names):.200}" if titled else "its columns have no names"
    raise UsageError(
        f"target is {target}, but {path} has no such column, {known}: give one of them, or a"
        f" number from 1 to {len(names)}."
    )


# -- CSV


def _read_csv(path: Path, target: str | int | None) -> RowTable:
    """Return the table of a text file with one row a line; a first line of words names columns."""
    lines = _csv_lines(path)
    try:
        number, first = next(lines)
    except StopIteration:
        return RowTable(_NONE, (), "", (), LINE)
    width = len(first)
    titled = any(_float(cell) is None and cell.strip().lower() not in MISSING for cell in first)
    if titled and (target is None or str(target).isdecimal()):
        # words in the target's column alone are labels, and no names
        at = width - 1 if target is None else int(target) - 1
        rest = [cell for i, cell in enumerate(first) if i != at]
        titled = not rest or any(_float(cell) is None for cell in rest)
    names = [cell.strip() for cell in first] if titled else [f"{i + 1}" for i in range(width)]
    goal = _column(path, names, titled, target)
    if width < 2:
        raise UsageError(f"{path} has one column: give rows of numbers with a target beside them.")
    cells, texts, numbers = array("d"), list[str](), array("q")
    known: dict[str, str] = {}  # a label that comes again is kept once
    columns = [f"column {name}" for name in names]

    def take(number: int, line: list[str]) -> None:
        place = f"{LINE} {number} of {path}"
        if len(line) != width:
            raise UsageError(
                f"{place} has {len(line)} values, but the first line has {width}: give every row"
                " the same columns."
            )
        _value(line[goal], place, columns[goal])
        texts.append(known.setdefault(line[goal].strip(), line[goal].strip()))
        numbers.append(number)
        cells.extend(_number(c, place, columns[i]) for i, c in enumerate(line) if i != goal)
        _refuse_large(path, len(numbers), width - 1)

    if not titled:
        take(number, first)
    for number, line in lines:
        take(number, line)
    rows = np.frombuffer(cells, dtype=np.float64).reshape(-1, width - 1) if cells else _NONE
    return RowTable(rows.copy(), _target(texts), columns[goal], numbers, LINE)


_NONE = np.zeros((0, 1))


def _csv_lines(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield (number, cells) of every line that is not blank."""
    with path.open(newline="", encoding="utf-8-sig") as file:
        start = file.readline(2**20)
        delimiter = next((c for c in DELIMITERS if c in start), ",")
        file.seek(0)
        reader = csv.reader(file, delimiter=delimiter, strict=True)
        try:
            for cells in reader:
                if any(cell.strip() for cell in cells) or len(cells) > 1:
                    yield reader.line_num, cells
        except csv.Error as error:
            raise UsageError(
                f"line {reader.line_num} of {path} is no CSV ({error}): write it again."
            ) from error


# -- LIBSVM


def _read_libsvm(path: Path, target: str | int | None) -> RowTable:
    """Return the table of ``label index:value`` lines: indices rise from 1; one left out is 0."""
    found: list[list[tuple[int, float]]] = []
    texts, numbers, dim = list[str](), array("q"), 0
    with path.open(encoding="utf-8-sig") as file:
        for number, line in enumerate(file, 1):
            label, *cells = line.partition("#")[0].split() or [""]
            if not label:
                continue
            place = f"{LINE} {number} of {path}"
            _number(label, place, "its label")
            texts.append(label)
            numbers.append(number)
            found.append(list(_entries(cells, place)))
            dim = max(dim, found[-1][-1][0] if cells else 0)
            _refuse_large(path, len(found), dim)
    if found and not dim:
        raise UsageError(f"{path} has labels alone: give rows of index:value beside them.")
    rows = np.zeros((len(found), dim))
    for row, entries in zip(rows, found, strict=True):
        for index, value in entries:
            row[index - 1] = value
    return RowTable(rows, _target(texts), "the label", numbers, LINE)


def _entries(cells: list[str], place: str) -> Iterator[tuple[int, float]]:
    last = 0
    for cell in cells:
        text, colon, value = cell.partition(":")
        if not (colon and text.isdecimal()):
            raise UsageError(f"{place} has '{cell:.40}', which is not of the form index:value.")
        index = int(text)
        if index == 0:
            raise UsageError(
                f"{place} has index 0, but indices of LIBSVM start at 1: add 1 to all."
            )
        if index <= last:
            raise UsageError(
                f"{place} has index {index} after {last}, but indices rise: put them in order."
            )
        last = index
        yield index, _number(value, place, f"index {index}")


# -- npz and Parquet


def _read_npz(path: Path, target: str | int | None) -> RowTable:
    """Return the arrays X [N, dim] and y [N] of an uncompressed npz file; objects are refused."""
    found = read_npz(path, ARRAYS)
    if set(found) != {"X", "y"}:
        names = ", ".join(sorted(found)) or "nothing"
        raise UsageError(f"{path} holds {names:.60}, but the arrays X and y are read: {ARRAYS}.")
    X, y = found["X"], found["y"]
    shapes = X.ndim == 2 and y.ndim == 1 and len(X) == len(y) and X.shape[-1] > 0
    if not shapes or X.dtype.kind not in "biuf" or y.dtype.kind not in "biufU":
        raise UsageError(
            f"{path} has X of shape {X.shape} ({X.dtype}) and y of shape {y.shape} ({y.dtype}):"
            f" {ARRAYS}."
        )
    return _arrays(path, X, y, [f"{j + 1} of X" for j in range(X.shape[1])], "y")


def _read_parquet(path: Path, target: str | int | None) -> RowTable:
    """Return the columns of a Parquet file."""
    try:
        from pyarrow import ArrowException, parquet
    except ImportError as error:
        raise UsageError(
            f"{path} needs pyarrow, which is not installed: pip install 'stemtheory[parquet]', or"
            " save the rows as CSV."
        ) from error
    try:
        with parquet.ParquetFile(path) as file:
            _refuse_large(path, file.metadata.num_rows, file.metadata.num_columns)
            table = file.read()
        names = [str(name) for name in table.column_names]
        values = [np.asarray(column.to_pylist(), dtype=object) for column in table.columns]
    except (ArrowException, ValueError) as error:
        if isinstance(error, UsageError):
            raise
        reason = " ".join(str(error).split())
        raise UsageError(f"{path} cannot be read ({reason:.120}): write it again.") from error
    if len(names) < 2:
        raise UsageError(f"{path} has one column: give rows of numbers with a target beside them.")
    goal = _column(path, names, True, target)
    y = values.pop(goal)
    name = f"column {names.pop(goal)}"
    X = np.array([_floats(path, v, n) for v, n in zip(values, names, strict=True)]).T
    for i, label in enumerate(y):
        if label is None:
            _number("", f"{ROW} {i + 1} of {path}", name)
    return _arrays(path, X, np.array([str(v) for v in y]), names, name)


def _floats(path: Path, values: Any, name: str) -> list[float]:
    """Return a column as numbers; what is missing is NaN, and refused later."""
    for i, value in enumerate(values):
        if value is not None and not isinstance(value, bool | int | float):
            _number(str(value), f"{ROW} {i + 1} of {path}", f"column {name}")
    return [math.nan if value is None else float(value) for value in values]


def _arrays(path: Path, X: Any, y: Any, names: list[str], name: str) -> RowTable:
    """Return arrays as a table, all of them finite."""
    _refuse_large(path, *X.shape)
    rows = np.array(X, dtype=np.float64)
    bad = np.argwhere(~np.isfinite(rows))
    for i, j in bad[:1]:
        _number(str(rows[i, j]), f"{ROW} {i + 1} of {path}", f"column {names[j]}")
    texts = [str(value) for value in (y.astype(int) if y.dtype.kind == "b" else y).tolist()]
    for i, text in enumerate(texts):
        _value(text, f"{ROW} {i + 1} of {path}", name)
    return RowTable(rows, _target(texts), name, range(1, len(rows) + 1), ROW)


READERS: dict[str, Callable[[Path, str | int | None], RowTable]] = {
    **dict.fromkeys((".csv", ".tsv"), _read_csv),
    ".parquet": _read_parquet,
    ".npz": _read_npz,
    **dict.fromkeys((".libsvm", ".svmlight", ".svm"), _read_libsvm),
}
