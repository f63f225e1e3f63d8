"""One writer per store: an operating-system lock on a file beside it, freed when its owner dies.

Where the file system knows no locks, as on some clusters, a file that one writer alone can make
stands for it. It names its owner, and a person removes it where that was killed: no other machine
can know.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import platform
import time
from collections.abc import Iterator
from pathlib import Path

from stemtheory.experiment.faults import BusyStoreError
from stemtheory.runtime import UsageError

WITHOUT_LOCKS = (errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOTSUP)


@contextlib.contextmanager
def sole_writer(store: Path) -> Iterator[None]:
    """Hold the lock of a store, whose path is resolved.

    Raises
    ------
    BusyStoreError
        At once, if another process holds it.
    UsageError
        If there is a lock that cannot be opened, as where it belongs to somebody else.
    OSError
        If none can be made.
    """
    path = store.with_name(f"{store.name}.lock")
    # The file stays: removing it would let two writers lock two files of the same name.
    try:
        file = path.open("a+", encoding="utf-8")
    except OSError as error:
        if not path.exists():
            raise
        raise UsageError(
            f"{path}, which locks the store, cannot be opened ({error.strerror}): remove it if no"
            " sweep runs on the store, or give another store."
        ) from error
    with file:
        try:
            locked = has_locks(file.fileno(), exclusive=True)
        except BlockingIOError as error:
            file.seek(0)
            raise BusyStoreError(_busy(store, file.read().strip() or "unknown")) from error
        if not locked:
            with _owned(store):
                yield
            return
        file.truncate(0)
        file.write(f"{os.getpid()}\n")
        file.flush()
        yield


def has_locks(descriptor: int, exclusive: bool = False) -> bool:
    """Return whether the file system of an open file knows locks; the file is locked then.

    Raises
    ------
    BlockingIOError
        If another process holds it.
    """
    try:
        fcntl.flock(descriptor, (fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH) | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in WITHOUT_LOCKS:
            return False
        raise
    return True


@contextlib.contextmanager
def _owned(store: Path) -> Iterator[None]:
    """Hold a store by a file that exists for its one writer only."""
    path, host = store.with_name(f"{store.name}.owner"), platform.node()
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(f"{os.getpid()} {host} {time.strftime('%Y-%m-%d %H:%M:%S')}\n")
    except FileExistsError as error:
        process, where, since, *_ = (*path.read_text(encoding="utf-8").split(" ", 2), "?", "?", "?")
        ended = where == host and process.isdigit() and not _runs(int(process))
        gone = " and has ended" if ended else ""
        raise BusyStoreError(
            f"{_busy(store, f'{process} on {where} since {since.strip()}{gone}')} This file system"
            f" knows no locks: if that process has ended, remove {path} and run it again."
        ) from error
    try:
        yield
    finally:
        path.unlink(missing_ok=True)


def _busy(store: Path, owner: str) -> str:
    return (
        f"{store} is being written by another sweep (process {owner}): wait for it to end, or give"
        " another store."
    )


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass
    return True
