"""The results store: one SQLite file, one writer, one row per finished cell.

A row is written once, in the transaction that ends its cell, so a process that is killed at any
moment leaves exactly the finished cells. The write-ahead log is used, except on a network file
system. Every row carries a checksum, because SQLite notices a torn page but not a wrong number.
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

from stemtheory.experiment.design.cells import Cell
from stemtheory.experiment.execute.work import CellResult
from stemtheory.experiment.faults import DamagedStoreError, LostStoreError
from stemtheory.experiment.store.store_file import (
    Identity,
    check,
    create,
    enter_alone,
    guarded,
    hint,
    identity,
    reader,
    writer,
)
from stemtheory.runtime import UsageError

# what the checksum covers: all but when, where and how fast
CONTENT = (
    *("id", "status", "reason", "settings", "mean_grad_sq", "stderr", "mean_grad_sq_finite"),
    *("grad_sq", "last", "best", "diverged_at", "facts", "trace"),
)
COLUMNS = (*CONTENT, "checksum", "wall_seconds", "cpu_seconds", "finished", "provenance")


@dataclass(frozen=True)
class Row:
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
        with contextlib.ExitStack() as stack:
            enter_alone(stack, path)
            stack.enter_context(guarded(path))
            if not path.exists():
                create(path)
            with cls.reading(path) as before:
                before.verify()
            file = identity(path)
            connection = stack.enter_context(contextlib.closing(writer(path, max_pages)))
            store = cls(path, connection, file)
            try:
                yield store
                store._stays()
            finally:
                # At rest a store is one file; while somebody reads it the log just stays.
                with contextlib.suppress(sqlite3.OperationalError):
                    connection.execute("PRAGMA journal_mode = DELETE")

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

    def rows(self, ids: Sequence[str] | None = None) -> Iterator[Row]:
        """Yield the stored cells, or those with the given ids, in the order of the ids.

        Raises
        ------
        DamagedStoreError
            If a row does not match its checksum.
        """
        names = ", ".join(f"cells.{c}" for c in COLUMNS[:-1])
        query = f"SELECT {names}, provenance.text FROM cells LEFT JOIN provenance ON number ="
        query += " provenance"
        with guarded(self.path):
            if ids is None:
                for row in self._connection.execute(f"{query} ORDER BY cells.rowid"):
                    yield self._row(row)
                return
            for id_ in ids:
                for row in self._connection.execute(f"{query} WHERE id = ?", (id_,)):
                    yield self._row(row)

    def verify(self) -> None:
        """Compare every row with its checksum.

        Raises
        ------
        DamagedStoreError
            If one differs.
        """
        for row in self._connection.execute(f"SELECT {', '.join(CONTENT)}, checksum FROM cells"):
            self._verified(row)

    def machine(self, name: str, mode: str) -> tuple[str, str] | None:
        """Return the engine and backend that ``auto`` was resolved to for a sweep, or None."""
        query = "SELECT engine, backend FROM sweeps WHERE name = ? AND mode = ?"
        found: tuple[str, str] | None = self._connection.execute(query, (name, mode)).fetchone()
        return found

    def remember(self, name: str, mode: str, engine: str, backend: str) -> None:
        """Keep what ``auto`` was resolved to when the sweep was created."""
        with guarded(self.path), self._connection as connection:
            connection.execute(
                "INSERT OR IGNORE INTO sweeps VALUES (?, ?, ?, ?)", (name, mode, engine, backend)
            )

    def _stays(self) -> None:
        """Refuse to go on where the file that is written no longer has its name."""
        if identity(self.path) != self._file:
            raise LostStoreError(
                f"{self.path} was deleted or replaced while its sweep ran, and what was finished"
                " went with it: leave the file where it is and run the same command again."
            )

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

    def _row(self, row: Sequence[Any]) -> Row:
        self._verified(row)
        r = dict(zip((*COLUMNS[:-1], "provenance"), row, strict=True))
        result = CellResult(
            id=r["id"],
            status=r["status"],
            reason=r["reason"],
            grad_sq=np.frombuffer(r["grad_sq"], "<f8"),
            last=np.frombuffer(r["last"], "<f8"),
            best=np.frombuffer(r["best"], "<f8"),
            diverged_at=np.frombuffer(r["diverged_at"], "<i8"),
            mean_grad_sq=r["mean_grad_sq"],
            stderr=r["stderr"],
            mean_grad_sq_finite=r["mean_grad_sq_finite"],
            facts=json.loads(r["facts"]),
            trace=r["trace"],
            wall_seconds=r["wall_seconds"],
            cpu_seconds=r["cpu_seconds"],
            provenance=r["provenance"],
        )
        return Row(json.loads(r["settings"]), result, r["finished"])


def _checksum(content: Sequence[Any]) -> bytes:
    """Return a hash of the stored values, as SQLite hands them back."""
    digest = hashlib.blake2b(digest_size=16)
    for value in content:
        raw = value if isinstance(value, bytes) else repr(value).encode()
        digest.update(b"%d:" % len(raw) + raw)
    return digest.digest()
