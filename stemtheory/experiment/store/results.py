"""The results store: one SQLite file, one writer, one row per finished cell.

A row is written once, in the transaction that ends its cell, so a process that is killed at any
moment leaves exactly the finished cells. Every row carries a checksum, because SQLite notices a
torn page but not a wrong number.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from stemtheory._version import __version__
from stemtheory.experiment.design.cells import Cell
from stemtheory.experiment.design.points import Machine
from stemtheory.experiment.execute.work import CellResult
from stemtheory.experiment.faults import DamagedStoreError
from stemtheory.experiment.store.outcomes import Outcomes
from stemtheory.experiment.store.store_file import (
    Identity,
    check,
    create,
    enter_alone,
    guarded,
    hint,
    identity,
    located,
    lost,
    reader,
    writer,
)
from stemtheory.runtime import UsageError

# what the checksum covers: all but when, where and how fast
CONTENT = (
    *("id", "status", "reason", "settings", "mean_grad_sq", "stderr", "mean_grad_sq_finite"),
    *("grad_sq", "last", "best", "diverged_at", "facts", "trace"),
)
BATCH = 500
COLUMNS = (*CONTENT, "checksum", "wall_seconds", "cpu_seconds", "finished", "provenance")


@dataclass(frozen=True)
class StoredCell:
    """A stored cell: its settings, its outcome and when it was finished (seconds since 1970)."""

    settings: dict[str, Any]
    result: CellResult
    finished: float


class Store:
    """An open store; ``reading`` and ``writing`` open one, and it is a context manager."""

    def __init__(
        self, path: Path, connection: sqlite3.Connection, file: Identity | None = None
    ) -> None:
        self.path, self._connection, self._file = path, connection, file

    @classmethod
    @contextlib.contextmanager
    def reading(cls, path: Path) -> Iterator[Self]:
        """Open a store to read, after checking that its file is sound.

        Raises
        ------
        UsageError
            If it is missing, is something else, or is of another schema version.
        DamagedStoreError
            If it is damaged.
        """
        path = located(path)
        if not path.is_file():
            fault = "is not a file" if path.exists() else "does not exist"
            raise UsageError(f"{path} {fault}: give the store of a sweep.")
        with guarded(path), reader(path) as connection:
            check(path, connection)
            yield cls(path, connection)

    @classmethod
    @contextlib.contextmanager
    def writing(cls, path: Path, max_pages: int | None = None) -> Iterator[Self]:
        """Open a store to write, alone; it is made if there is none, and checked if there is one.

        ``max_pages`` limits the size of the file, in pages of 4 KiB.

        Raises
        ------
        UsageError, DamagedStoreError
            As ``reading``; also where the folder cannot be written.
        BusyStoreError
            If another process writes to it.
        LostStoreError
            At the end, if the file was deleted or replaced meanwhile.
        """
        path = located(path)
        with contextlib.ExitStack() as stack:
            enter_alone(stack, path)
            stack.enter_context(guarded(path))
            if not path.exists():
                create(path)
            with cls.reading(path) as before:
                before.verify()
                before.refuse_other_versions()
            file = identity(path)
            connection = stack.enter_context(contextlib.closing(writer(path, max_pages)))
            yield (store := cls(path, connection, file))
            store._stays()

    def statuses(self) -> dict[str, str]:
        """Return the status of every finished cell by its id."""
        with guarded(self.path):
            return dict(self._connection.execute("SELECT id, status FROM cells"))

    def add(self, cells: Iterable[tuple[Cell, CellResult]]) -> None:
        """Write finished cells in one transaction: all of them or none.

        A cell that is there already keeps its row, unless that row says ``failed``.

        Raises
        ------
        FullStoreError
            If no room is left; what was written before is kept.
        LostStoreError
            If the file was deleted or replaced: what is written now reaches no file of that name.
        """
        with guarded(self.path), self._connection as connection:
            connection.execute("BEGIN IMMEDIATE")
            for cell, result in cells:
                row = [*self._content(cell, result), time.time()]
                row.append(self._provenance(result.provenance))
                marks = ", ".join("?" * len(COLUMNS))
                connection.execute(
                    f"INSERT INTO cells ({', '.join(COLUMNS)}) VALUES ({marks})"
                    " ON CONFLICT (id) DO UPDATE SET"
                    f" {', '.join(f'{c} = excluded.{c}' for c in COLUMNS[1:])}"
                    " WHERE cells.status = 'failed'",
                    row,
                )
        self._stays()

    def rows(self, ids: Sequence[str] | None = None) -> Iterator[StoredCell]:
        """Yield the cells with these ids in their order, or all in that of their sweeps' points.

        Raises
        ------
        DamagedStoreError
            If a row does not match its checksum.
        """
        for row in self._raw(self._order() if ids is None else ids):
            settings, finished = json.loads(row.pop("settings")), row.pop("finished")
            (result,) = Outcomes([row]).values()
            yield StoredCell(settings, result, finished)

    def outcomes(self, ids: Sequence[str]) -> Outcomes:
        """Return what the cells with these ids left behind, packed, without those not there.

        Raises
        ------
        DamagedStoreError
            If a row does not match its checksum.
        """
        return Outcomes(self._raw(ids))

    def _raw(self, wanted: Sequence[str]) -> Iterator[dict[str, Any]]:
        """Yield rows as they are stored, each compared with its checksum."""
        names = ", ".join(f"cells.{c}" for c in COLUMNS[:-1])
        query = f"SELECT {names}, provenance.text FROM cells LEFT JOIN provenance ON number ="
        query += " provenance WHERE id IN"
        for start in range(0, len(wanted), BATCH):  # so that a writer waits for one batch only
            batch = wanted[start : start + BATCH]
            with guarded(self.path):
                marks = ", ".join("?" * len(batch))
                found = self._connection.execute(f"{query} ({marks})", batch).fetchall()
            rows = {row[0]: row for row in found}
            for id_ in batch:
                if id_ in rows:
                    self._verified(rows[id_])
                    yield dict(zip((*COLUMNS[:-1], "provenance"), rows[id_], strict=True))

    def _order(self) -> list[str]:
        """Return all ids as the sweeps count their points; last what is no point of any more."""
        places = "SELECT cell FROM places JOIN sweeps USING (name, mode)"
        with guarded(self.path):
            ordered = self._connection.execute(f"{places} ORDER BY sweeps.rowid, place").fetchall()
            rest = self._connection.execute("SELECT id FROM cells ORDER BY rowid").fetchall()
        return list(dict.fromkeys(id_ for (id_,) in (*ordered, *rest)))

    def own_settings(self) -> Iterator[dict[str, Any]]:
        """Yield the settings of the cells that were made of a user's own code, or of data."""
        query = "SELECT settings FROM cells WHERE settings LIKE '%made_of%'"
        with guarded(self.path):
            found = self._connection.execute(query).fetchall()
        for (text,) in found:
            yield json.loads(text)

    def verify(self) -> None:
        """Compare every row with its checksum.

        Raises
        ------
        DamagedStoreError
            If one differs.
        """
        for row in self._connection.execute(f"SELECT {', '.join(CONTENT)}, checksum FROM cells"):
            self._verified(row)

    def refuse_other_versions(self) -> None:
        """Refuse to add to cells that another version of the package computed.

        Raises
        ------
        UsageError
            If there are some.
        """
        query = "SELECT DISTINCT text FROM provenance JOIN cells ON number = cells.provenance"
        found = {json.loads(text).get("stemtheory") for (text,) in self._connection.execute(query)}
        if other := sorted(map(str, found - {None, __version__})):
            raise UsageError(
                f"{self.path} holds cells of stemtheory {', '.join(other)}, but this is"
                f" {__version__}: use that version, or give another store."
            )

    def machine(self, name: str, mode: str) -> Machine | None:
        """Return what ``auto`` was settled to for a sweep, or None."""
        which = " WHERE name = ? AND mode = ?"
        ask = self._connection.execute
        found = ask(f"SELECT backend FROM sweeps{which}", (name, mode)).fetchone()
        engines = ask(f"SELECT kernel, engine FROM engines{which}", (name, mode)).fetchall()
        return None if found is None else Machine(found[0], dict(engines))

    def remember(self, name: str, mode: str, machine: Machine, cells: Iterable[str] = ()) -> None:
        """Keep what ``auto`` was first settled to for a sweep, and its cells in order."""
        own = (name, mode)
        with guarded(self.path), self._connection as connection:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute(
                "INSERT OR IGNORE INTO sweeps VALUES (?, ?, ?)", (*own, machine.backend)
            )
            connection.executemany(
                "INSERT OR IGNORE INTO engines VALUES (?, ?, ?, ?)",
                ((*own, *settled) for settled in machine.engines.items()),
            )
            connection.execute("DELETE FROM places WHERE name = ? AND mode = ?", own)
            connection.executemany(
                "INSERT INTO places VALUES (?, ?, ?, ?)",
                ((*own, place, cell) for place, cell in enumerate(cells)),
            )

    def _stays(self) -> None:
        """Refuse to go on where the file that is written no longer has its name."""
        if identity(self.path) != self._file:
            raise lost(self.path)

    def _content(self, cell: Cell, r: CellResult) -> list[Any]:
        content = [
            cell.id,
            r.status,
            r.reason,
            json.dumps(cell.settings(), allow_nan=False),
            r.mean_grad_sq,
            r.stderr,
            r.mean_grad_sq_finite,
            *(np.asarray(a, "<f8").tobytes() for a in (r.grad_sq, r.last, r.best)),
            np.asarray(r.diverged_at, "<i8").tobytes(),
            json.dumps(r.facts, allow_nan=False),
            r.trace,
        ]
        return [*content, _checksum(content), r.wall_seconds, r.cpu_seconds]

    def _provenance(self, text: str) -> int:
        execute = self._connection.execute
        execute("INSERT OR IGNORE INTO provenance (text) VALUES (?)", (text,))
        found = execute("SELECT number FROM provenance WHERE text = ?", (text,)).fetchone()
        return int(found[0])

    def _verified(self, row: Sequence[Any]) -> None:
        n = len(CONTENT)
        if row[n] != _checksum(row[:n]):
            raise DamagedStoreError(hint(self.path, f"the row of cell {row[0]} was altered"))


def _checksum(content: Sequence[Any]) -> bytes:
    """Return a hash of the stored values, as SQLite hands them back."""
    raws = [value if isinstance(value, bytes) else repr(value).encode() for value in content]
    parts = [part for raw in raws for part in (b"%d:" % len(raw), raw)]
    return hashlib.blake2b(b"".join(parts), digest_size=16).digest()
