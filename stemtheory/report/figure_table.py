"""What a figure draws, as data before it is a picture: named columns, and rows.

A column says of itself what an axis must say of it, and which columns hold the ends of its
interval, so that neither can be forgotten or mistaken where it is drawn.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from stemtheory.runtime import Floats

if TYPE_CHECKING:
    import pandas as pd


class Quantity(NamedTuple):
    """A column: its name, what an axis says of it with its unit, the columns of its interval."""

    name: str
    label: str = ""
    ends: tuple[str, str] | None = None


@dataclass(frozen=True)
class FigureTable:
    """Rows of named columns, and the ``facts`` that hold for all of them (T, K, replicates).

    What a row has no value for is NaN (a number) and an empty cell in the file. Rows of different
    kinds (a curve, a run, a bound) share the columns of what they have in common.
    """

    columns: tuple[Quantity, ...]
    frame: pd.DataFrame
    facts: Mapping[str, Any]

    @classmethod
    def of(
        cls, columns: Iterable[Quantity], parts: Iterable[Mapping[str, Any]], **facts: Any
    ) -> FigureTable:
        """Return the table of ``parts``: each holds cells by column, single ones or (n,) of them.

        Raises
        ------
        KeyError
            For a column that is not declared, or the end of an interval that is none.
        """
        columns = tuple(columns)
        names = [column.name for column in columns]
        ends = {name for column in columns for name in column.ends or ()}
        records: list[dict[str, Any]] = []
        for part in parts:
            if unknown := (set(part) | ends) - set(names):
                raise KeyError(f"{sorted(unknown)} is no column: declared are {names}")
            cells = np.broadcast_arrays(*(np.atleast_1d(np.asarray(v)) for v in part.values()))
            lists = [cell.tolist() for cell in cells]
            records += [dict(zip(part, row, strict=True)) for row in zip(*lists, strict=True)]
        import pandas as pd  # half of the start-up time of a command that needs no table

        return cls(columns, pd.DataFrame(records, columns=names), facts)

    def __len__(self) -> int:
        return len(self.frame)

    def __getitem__(self, name: str) -> Floats:
        """Return the numbers of a column, NaN where there is none."""
        return self.frame[name].to_numpy(np.float64, na_value=np.nan)

    def where(self, **wanted: object) -> FigureTable:
        """Return the rows whose columns have these values; a tuple allows any of its own."""
        kept = np.ones(len(self.frame), dtype=bool)
        for name, value in wanted.items():
            allowed = value if isinstance(value, tuple) else (value,)
            kept &= self.frame[name].isin(allowed).to_numpy()
        return self.kept(kept)

    def kept(self, rows: ArrayLike) -> FigureTable:
        """Return the rows at which the mask (n,) is true."""
        return FigureTable(self.columns, self.frame[np.asarray(rows, dtype=bool)], self.facts)

    def at(self, names: Sequence[str], keys: Sequence[tuple[Any, ...]]) -> FigureTable:
        """Return the rows whose columns ``names`` have these values, in this order."""
        frame = self.frame.set_index(list(names), drop=False).loc[list(keys)]
        return FigureTable(self.columns, frame.reset_index(drop=True), self.facts)

    def sorted(self, name: str, order: Sequence[object] = ()) -> FigureTable:
        """Return the rows by a column, in the ``order`` of its values if given; stable."""
        place = {value: i for i, value in enumerate(order)}
        key = (lambda column: column.map(place)) if place else None
        frame = self.frame.sort_values(name, kind="stable", key=key)
        return FigureTable(self.columns, frame, self.facts)

    def groups(self, *names: str) -> Iterator[tuple[tuple[Any, ...], FigureTable]]:
        """Yield the values of columns and the rows that have them, in the order of appearance."""
        for values, frame in self.frame.groupby(list(names), sort=False, dropna=False):
            yield tuple(values), FigureTable(self.columns, frame, self.facts)

    def distinct(self, name: str) -> list[Any]:
        """Return the values of a column, each once, in the order of appearance."""
        return self.frame[name].dropna().drop_duplicates().tolist()

    def records(self) -> list[dict[str, Any]]:
        """Return every row by the names of the columns."""
        return [{str(name): cell for name, cell in row.items()}
                for row in self.frame.to_dict("records")]  # fmt: skip

    def one(self, name: str, **wanted: object) -> Any:
        """Return the only value that a column has where others have these."""
        (value,) = self.where(**wanted).frame[name].tolist()
        return value

    def label(self, name: str) -> str:
        """Return what an axis says of a column."""
        return self._column(name).label

    def interval(self, name: str) -> tuple[Floats, Floats]:
        """Return both ends of the interval of a column; NaN where it has none."""
        ends = self._column(name).ends
        return (
            (self[ends[0]], self[ends[1]]) if ends else (np.nan * self[name], np.nan * self[name])
        )

    def csv(self) -> str:
        """Return it as CSV, numbers exact, nothing where a value is missing."""
        return self.frame.to_csv(index=False, lineterminator="\n")

    def _column(self, name: str) -> Quantity:
        return next(column for column in self.columns if column.name == name)
