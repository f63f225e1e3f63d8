"""The results store: one SQLite file, one writer, one row per finished cell.

A row is written once, in the transaction that ends its cell, so a process that is killed at any
moment leaves exactly the finished cells. The write-ahead log is used, except on a network file
system. Every row carries a checksum, because SQLite notices a torn page but not a wrong number.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from stemtheory.errors import UsageError
from stemtheory.experiment.cells import Cell
from stemtheory.experiment.faults import DamagedStoreError, FullStoreError, StoreError
from stemtheory.experiment.lock import on_network, sole_writer
from stemtheory.experiment.work import CellResult

APPLICATION = 0x5354454D  # "STEM", in the file's header
SCHEMA_VERSION = 1
SCHEMA = """
CREATE TABLE cells (
    id TEXT PRIMARY KEY, status TEXT NOT NULL, reason TEXT NOT NULL, settings TEXT NOT NULL,
    mean_grad_sq REAL, stderr REAL, mean_grad_sq_finite REAL,
    grad_sq BLOB NOT NULL, last BLOB NOT NULL, best BLOB NOT NULL, diverged_at BLOB NOT NULL,
    facts TEXT NOT NULL, trace BLOB, checksum BLOB NOT NULL,
    wall_seconds REAL NOT NULL, cpu_seconds REAL NOT NULL, finished REAL NOT NULL,
    provenance INTEGER NOT NULL REFERENCES provenance(number)
);
CREATE TABLE provenance (number INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);
CREATE TABLE sweeps (
    name TEXT NOT NULL, mode TEXT NOT NULL, engine TEXT NOT NULL, backend TEXT NOT NULL,
    PRIMARY KEY (name, mode)
);
"""
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

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path, self._connection = path, connection

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
            raise UsageError(f"{path} does not exist: give the store of a sweep.")
        with _guarded(path), contextlib.closing(_connect_reader(path)) as connection:
            _check(path, connection)
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
        """
        with contextlib.ExitStack() as stack:
            _enter_alone(stack, path)
            stack.enter_context(_guarded(path))
            if not path.exists():
                _create(path)
            with cls.reading(path) as before:
                before.verify()
            connection = stack.enter_context(contextlib.closing(_connect_writer(path, max_pages)))
            yield cls(path, connection)
            # At rest a store is one file. Not while somebody reads it; then the log just stays.
            with contextlib.suppress(sqlite3.OperationalError):
                connection.execute("PRAGMA journal_mode = DELETE")

    def statuses(self) -> dict[str, str]:
        """Return the status of every finished cell by its id."""
        with _guarded(self.path):
            return dict(self._connection.execute("SELECT id, status FROM cells"))

    def add(self, cells: Iterable[tuple[Cell, CellResult]]) -> None:
        """Write finished cells in one transaction: all of them or none.

        A cell that is there already keeps its row, unless that row says ``failed``.

        Raises
        ------
        FullStoreError
            If no room is left; what was written before is kept.
        """
        with _guarded(self.path), self._connection as connection:
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
        with _guarded(self.path):
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
        with _guarded(self.path), self._connection as connection:
            connection.execute(
                "INSERT OR IGNORE INTO sweeps VALUES (?, ?, ?, ?)", (name, mode, engine, backend)
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
            raise DamagedStoreError(_hint(self.path, f"the row of cell {row[0]} was altered"))

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


def _create(path: Path) -> None:
    """Make an empty store, whole or not at all: a file of this name is never half a store."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    part.unlink(missing_ok=True)
    try:
        with contextlib.closing(sqlite3.connect(part)) as connection:
            connection.executescript(
                f"PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {SCHEMA_VERSION};"
                f"BEGIN; {SCHEMA} COMMIT;"
            )
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _connect_reader(path: Path) -> sqlite3.Connection:
    uri = f"{path.resolve().as_uri()}?mode=ro"
    # Without a log to read, a folder that cannot be written needs no shared memory either.
    if not path.with_name(path.name + "-wal").exists() and not os.access(path.parent, os.W_OK):
        uri += "&immutable=1"
    return sqlite3.connect(uri, uri=True, timeout=10)


def _connect_writer(path: Path, max_pages: int | None) -> sqlite3.Connection:
    uri = f"{path.resolve().as_uri()}?mode=rw"
    # Transactions are begun by hand, so that each is exactly what it says.
    connection = sqlite3.connect(uri, uri=True, timeout=10, isolation_level=None)
    mode = "DELETE" if on_network(path) else "WAL"
    connection.execute(f"PRAGMA journal_mode = {mode}")
    connection.execute("PRAGMA synchronous = FULL")
    if max_pages is not None:
        connection.execute(f"PRAGMA max_page_count = {int(max_pages)}")
    return connection


def _check(path: Path, connection: sqlite3.Connection) -> None:
    """Refuse what is no store, is of another version, or does not hang together."""
    if path.stat().st_size == 0:
        raise DamagedStoreError(_hint(path, "the file is empty"))
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if application != APPLICATION:
        raise UsageError(f"{path} is not a store of sweeps: give another file.")
    if version != SCHEMA_VERSION:
        raise UsageError(
            f"{path} has schema version {version}, but this is stemtheory for version"
            f" {SCHEMA_VERSION}: use the version that wrote it, or give another store."
        )
    faults = [text for (text,) in connection.execute("PRAGMA quick_check(3)") if text != "ok"]
    if faults:
        raise DamagedStoreError(_hint(path, faults[0]))


def _hint(path: Path, fault: str) -> str:
    return (
        f"{path} is damaged ({' '.join(fault.split())}) and was not touched: restore a copy,"
        f" or save what is readable with sqlite3 {path.name} .recover, or move the file away to"
        " start anew."
    )


def _enter_alone(stack: contextlib.ExitStack, path: Path) -> None:
    """Make the folder and take the lock; what cannot be written is bad usage, found at once."""
    if path.exists() and not path.is_file():
        raise UsageError(f"{path} is not a file: give another store.")
    log = path.with_name(path.name + "-wal")
    if not path.exists() and log.exists() and log.stat().st_size:
        raise DamagedStoreError(
            f"{path} is missing, but its log {log.name} is there and was not touched: put the store"
            " back beside it, or move the log away to start anew."
        )
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        stack.enter_context(sole_writer(path))
        if path.exists() and not os.access(path, os.W_OK):
            raise PermissionError(13, "no permission to write")
    except OSError as error:
        raise UsageError(
            f"{path} cannot be written ({error.strerror or error}): give another store."
        ) from error


@contextlib.contextmanager
def _guarded(path: Path) -> Iterator[None]:
    """Turn what SQLite raises into one of this package's own errors."""
    try:
        yield
    except sqlite3.Error as error:
        text = str(error)
        name = getattr(error, "sqlite_errorname", "")
        if name.startswith("SQLITE_FULL") or "disk is full" in text:
            raise FullStoreError(
                f"no room is left for {path}; every cell written before is kept: make room and run"
                " the same command again."
            ) from error
        if name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
            raise DamagedStoreError(_hint(path, text)) from error
        raise StoreError(
            f"{path} cannot be used ({text}): try again, or give another store."
        ) from error
