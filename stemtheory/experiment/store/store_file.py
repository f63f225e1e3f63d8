"""The file of a store: made whole, checked before it is written, and every trouble named."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path

from stemtheory.experiment.faults import DamagedStoreError, FullStoreError, StoreError
from stemtheory.experiment.store.lock import on_network, sole_writer
from stemtheory.runtime import UsageError

APPLICATION = 0x5354454D  # "STEM", in the file's header
SCHEMA_VERSION = 1
Identity = tuple[int, int]
SMALLEST = 512  # bytes of the smallest page of SQLite
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


def create(path: Path) -> None:
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


def identity(path: Path) -> Identity | None:
    """Return the device and inode of the file that has this name now, None if there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


@contextlib.contextmanager
def reader(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a store's file to read; nothing of it is changed."""
    uri = f"{path.resolve().as_uri()}?mode=ro"
    # Without a log to read, a folder that cannot be written needs no shared memory either.
    if not path.with_name(path.name + "-wal").exists() and not os.access(path.parent, os.W_OK):
        uri += "&immutable=1"
    with contextlib.closing(sqlite3.connect(uri, uri=True, timeout=10)) as connection:
        if not _needs_rollback(connection):
            yield connection
            return
    # Its writer was killed, and left a journal from which only a writer may restore the file: that
    # is done to a copy.
    with tempfile.TemporaryDirectory() as folder:
        twin = Path(folder, path.name)
        for name in (path.name, path.name + "-journal"):
            shutil.copyfile(path.with_name(name), twin.with_name(name))
        with contextlib.closing(sqlite3.connect(twin)) as connection:
            yield connection


def _needs_rollback(connection: sqlite3.Connection) -> bool:
    try:
        connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    except sqlite3.OperationalError as error:
        return error.sqlite_errorname.startswith("SQLITE_READONLY")
    return False


def writer(path: Path, max_pages: int | None) -> sqlite3.Connection:
    """Open a store's file to write, with the journal that suits its file system."""
    uri = f"{path.resolve().as_uri()}?mode=rw"
    # Transactions are begun by hand, so that each is exactly what it says.
    connection = sqlite3.connect(uri, uri=True, timeout=10, isolation_level=None)
    mode = "DELETE" if on_network(path) else "WAL"
    connection.execute(f"PRAGMA journal_mode = {mode}")
    connection.execute("PRAGMA synchronous = FULL")
    if max_pages is not None:
        connection.execute(f"PRAGMA max_page_count = {int(max_pages)}")
    return connection


def check(path: Path, connection: sqlite3.Connection) -> None:
    """Refuse what is no store, is of another version, or does not hang together."""
    if path.stat().st_size < SMALLEST:  # to SQLite such a stump is an empty database
        raise DamagedStoreError(hint(path, f"it has {path.stat().st_size} bytes"))
    page = connection.execute("PRAGMA page_size").fetchone()[0]
    logs = [path.with_name(path.name + end) for end in ("-wal", "-journal")]
    if path.stat().st_size % page and not any(log.exists() for log in logs):
        raise DamagedStoreError(hint(path, "its last page is cut"))
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
        raise DamagedStoreError(hint(path, faults[0]))


def hint(path: Path, fault: str) -> str:
    """Return what to say of a damaged store."""
    return (
        f"{path} is damaged ({' '.join(fault.split())}) and was not touched: restore a copy,"
        f" or save what is readable with sqlite3 {path.name} .recover, or move the file away to"
        " start anew."
    )


def enter_alone(stack: contextlib.ExitStack, path: Path) -> None:
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
def guarded(path: Path) -> Iterator[None]:
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
            raise DamagedStoreError(hint(path, text)) from error
        raise StoreError(
            f"{path} cannot be used ({text}): try again, or give another store."
        ) from error
