"""One writer per store: an operating-system lock on a file beside it, freed when its owner dies."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from stemtheory.experiment.faults import BusyStoreError

if sys.platform == "win32":
    import msvcrt

    def _take(file: IO[str]) -> None:
        file.seek(0)
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def _take(file: IO[str]) -> None:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)


@contextlib.contextmanager
def sole_writer(store: Path) -> Iterator[None]:
    """Hold the lock of a store.

    Raises
    ------
    BusyStoreError
        At once, if another process holds it.
    """
    path = store.with_name(store.name + ".lock")
    # The file stays: removing it would let two writers lock two files of the same name.
    with path.open("a+", encoding="utf-8") as file:
        try:
            _take(file)
        except OSError as error:
            owner = path.read_text(encoding="utf-8").strip() or "unknown"
            raise BusyStoreError(
                f"{store} is being written by another sweep (process {owner}): wait for it to end,"
                " or give another store."
            ) from error
        file.truncate(0)
        file.write(f"{os.getpid()}\n")
        file.flush()
        yield


NETWORK = (
    *("nfs", "cifs", "smb", "9p", "afs", "ceph", "lustre", "gpfs", "beegfs", "gluster"),
    *("fuse.sshfs", "fuse.gluster", "pvfs", "orangefs", "ncpfs"),
)


def on_network(path: Path, mounts: str | None = None) -> bool:
    """Return whether a file lies on a network file system, where WAL cannot share its memory.

    ``mounts`` is the text of Linux's table of mounts; elsewhere the answer is no.
    """
    if mounts is None:
        try:
            mounts = Path("/proc/self/mounts").read_text(encoding="utf-8", errors="replace")
        except OSError:
            return False
    real = path.resolve()
    best, kind = -1, ""
    for line in mounts.splitlines():
        _, folder, type_, *_ = line.split(" ", 3)
        point = Path(folder.replace("\\040", " "))
        if real.is_relative_to(point) and len(point.parts) >= best:
            best, kind = len(point.parts), type_
    return kind.startswith(NETWORK)
