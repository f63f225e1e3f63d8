"""The file of a store: looked at before it is opened, made whole, and every trouble named.

Its journal is SQLite's rollback journal: between two writes the one file holds everything, so it
can be copied or moved at any time, and a kill leaves nothing behind that it needs.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path

from stemtheory.experiment.faults import (
    DamagedStoreError,
    FullStoreError,
    LostStoreError,
    StoreError,
)
from stemtheory.experiment.store.lock import has_locks, sole_writer
from stemtheory.runtime import UsageError, part_file

MAGIC = b"SQLite format 3\0"
APPLICATION = 0x5354454D  # "STEM", in the file's header
SCHEMA_VERSION = 3
SMALLEST = 512  # bytes of the smallest page of SQLite
LONGEST_NAME = 255 - len("-journal")
PATIENCE = 60  # seconds that a writer waits for readers
Identity = tuple[int, int]
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
    name TEXT NOT NULL, mode TEXT NOT NULL, backend TEXT NOT NULL, PRIMARY KEY (name, mode)
);
CREATE TABLE engines (
    name TEXT NOT NULL, mode TEXT NOT NULL, kernel TEXT NOT NULL, engine TEXT NOT NULL,
    PRIMARY KEY (name, mode, kernel)
);
CREATE TABLE places (
    name TEXT NOT NULL, mode TEXT NOT NULL, place INTEGER NOT NULL, cell TEXT NOT NULL,
    PRIMARY KEY (name, mode, place)
);
"""


def located(path: Path) -> Path:
    """Return the file that a name means: its lock and its journal lie beside the file itself.

    Raises
    ------
    UsageError
        If the name is too long for the names of those, or is a link without an end.
    """
    try:
        real = path.resolve()
    except (OSError, RuntimeError) as error:
        raise UsageError(f"{path} cannot be found ({error}): give another store.") from error
    if (size := len(os.fsencode(real.name))) > LONGEST_NAME:
        raise UsageError(
            f"the store's name has {size} bytes, but the files beside it need some more: give a"
            f" name of at most {LONGEST_NAME}."
        )
    if real.is_symlink():  # from Python 3.13 on nothing is raised for it
        raise UsageError(f"{path} cannot be found (its links go in a circle): give another store.")
    return real


def create(path: Path) -> None:
    """Make an empty store, whole or not at all: a file of this name is never half a store."""
    with (
        part_file(path) as part,
        contextlib.closing(sqlite3.connect(_uri(part, "rw"), uri=True)) as connection,
    ):
        connection.executescript(
            f"PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {SCHEMA_VERSION};"
            f"BEGIN; {SCHEMA} COMMIT;"
        )


def identity(path: Path) -> Identity | None:
    """Return the device and inode of the file that has this name now, None if there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


@contextlib.contextmanager
def reader(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a store's file to read, after a look at it; nothing of it or beside it is changed."""
    logs = look(path)
    if not any(log.name.endswith("-wal") for log in logs):
        with contextlib.closing(sqlite3.connect(_uri(path, "ro"), uri=True)) as connection:
            if not _needs_rollback(connection):
                yield connection
                return
    # Its writer was killed, and left a journal from which only a writer may restore the file: that
    # is done to a copy.
    with tempfile.TemporaryDirectory() as folder:
        twin = Path(folder, path.name)
        for file in (path, *logs):
            shutil.copyfile(file, twin.with_name(file.name))
        with contextlib.closing(sqlite3.connect(twin)) as connection:
            yield connection


def look(path: Path) -> list[Path]:
    """Return the logs beside a store, after its first bytes have told that it is one.

    SQLite is not asked: it takes a stump for an empty database, and removes a log beside it.
    """
    size = path.stat().st_size
    with path.open("rb") as file:
        head = file.read(100)
    beside = [path.with_name(path.name + end) for end in ("-journal", "-wal")]
    logs = [log for log in beside if log.is_file() and log.stat().st_size]
    if head[: len(MAGIC)] != MAGIC[: len(head)]:
        raise UsageError(f"{path} is not a store of sweeps: give the .sqlite file of one.")
    if size < SMALLEST:
        more = f", but {logs[0].name} beside it may hold what it had" if logs else ""
        raise DamagedStoreError(hint(path, f"it has {size} bytes{more}"))
    page = int.from_bytes(head[16:18], "big")
    version, application = (int.from_bytes(head[i : i + 4], "big") for i in (60, 68))
    if application != APPLICATION:
        raise UsageError(f"{path} is not a store of sweeps: give the .sqlite file of one.")
    if version != SCHEMA_VERSION:
        whose = ", of stemtheory 0.1" if version == 1 else ""
        raise UsageError(
            f"{path} has schema version {version}{whose}, but this is stemtheory for version"
            f" {SCHEMA_VERSION}: use the version that wrote it, or give another store."
        )
    if size % (65536 if page == 1 else page or 1) and not logs:
        raise DamagedStoreError(hint(path, "its last page is cut"))
    if 2 in head[18:20] and not logs:
        fault = f"its header speaks of a log, {path.name}-wal, which is not beside it"
        raise DamagedStoreError(hint(path, fault))
    return logs


def _uri(path: Path, mode: str) -> str:
    """Return how SQLite opens a file; where there are no locks it does without."""
    locks = True
    with path.open("rb") as file, contextlib.suppress(BlockingIOError):  # held by another writer
        locks = has_locks(file.fileno())
    return f"{path.resolve().as_uri()}?mode={mode}{'' if locks else '&nolock=1'}"


def _needs_rollback(connection: sqlite3.Connection) -> bool:
    try:
        connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    except sqlite3.OperationalError as error:
        return error.sqlite_errorname.startswith("SQLITE_READONLY")
    return False


def writer(path: Path, max_pages: int | None) -> sqlite3.Connection:
    """Open a store's file to write."""
    # Transactions are begun by hand, so that each is exactly what it says.
    connection = sqlite3.connect(_uri(path, "rw"), uri=True, timeout=PATIENCE, isolation_level=None)
    connection.execute("PRAGMA journal_mode = DELETE")
    connection.execute("PRAGMA synchronous = FULL")
    if max_pages is not None:
        connection.execute(f"PRAGMA max_page_count = {int(max_pages)}")
    return connection


def check(path: Path, connection: sqlite3.Connection) -> None:
    """Refuse a file that does not hang together."""
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


def lost(path: Path) -> LostStoreError:
    """Return what to say of a store whose file no longer has its name."""
    return LostStoreError(
        f"{path} was deleted or replaced while its sweep ran, and what was finished went with it:"
        " leave the file where it is and run the same command again."
    )


def enter_alone(stack: contextlib.ExitStack, path: Path) -> None:
    """Make the folder and take the lock; what cannot be written is bad usage, found at once."""
    if path.exists() and not path.is_file():
        raise UsageError(f"{path} is not a file: give another store.")
    for log in (path.with_name(path.name + end) for end in ("-wal", "-journal")):
        if not path.exists() and log.exists() and log.stat().st_size:
            raise DamagedStoreError(
                f"{path} is missing, but its log {log.name} is there and was not touched: put the"
                " store back beside it, or move the log away to start anew."
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
    if path.exists() and (names := path.stat().st_nlink) > 1:
        raise UsageError(
            f"{path} has {names} names (hard links), and a journal or lock beside one of them is"
            " not seen beside another: remove the other names, or give a copy."
        )


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
        if name == "SQLITE_READONLY_DBMOVED":
            raise lost(path) from error
        if name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
            raise DamagedStoreError(hint(path, text)) from error
        raise StoreError(
            f"{path} cannot be used ({text}): try again, or give another store."
        ) from error
