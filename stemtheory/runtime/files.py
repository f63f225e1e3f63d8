"""Files written whole: a reader sees the old file or the new one, whatever stops the writer."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from stemtheory.runtime.errors import UsageError

# Nobody can have put a link or a file where this makes one.
_NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW


def write_file(path: Path, write: Callable[[BinaryIO], Any], what: str = "path") -> Path:
    """Return ``path`` after ``write`` filled a file beside it that then took its place.

    A symbolic link stays one: what it points at is replaced. Nothing is left behind by a failure;
    its sentence says to choose another ``what``.

    Raises
    ------
    UsageError
        If it cannot be written.
    """
    with _refusing(path, what), part_file(path) as part, part.open("wb") as file:
        write(file)
    return path


@contextlib.contextmanager
def part_file(path: Path) -> Iterator[Path]:
    """Yield a new empty file beside ``path``, or beside what a link means, that takes its place.

    Its name cannot be foretold, so two writers never meet in one. What was written is on the disk
    before it gets the name. An error leaves nothing behind.
    """
    real = _meant(path)
    part = real.with_name(f".{os.urandom(8).hex()}.part")
    os.close(os.open(part, _NEW, 0o666))
    try:
        yield part
        _flush(part)
        part.replace(real)
        with contextlib.suppress(OSError):  # not every file system knows how to flush a folder
            _flush(real.parent)
    finally:
        part.unlink(missing_ok=True)


def _flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def try_file(path: Path, what: str = "path") -> None:
    """Refuse a path as ``write_file`` would, before there is anything to write."""
    with _refusing(path, what):
        part = _meant(path).with_name(f".{os.urandom(8).hex()}.part")
        os.close(os.open(part, _NEW, 0o666))
        part.unlink()


@contextlib.contextmanager
def _refusing(path: Path, what: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if is_out_of_handles(error):
            raise
        raise UsageError(
            f"{path} cannot be written ({error.strerror or error}): choose another {what}."
        ) from error


def write_whole(path: Path, content: bytes | str) -> Path:
    """Return ``path`` after writing bytes, or text as UTF-8, into it.

    Raises
    ------
    UsageError
        If it cannot be written.
    """
    raw = content.encode() if isinstance(content, str) else content
    return write_file(path, lambda file: file.write(raw), "folder")


def is_out_of_handles(error: BaseException) -> bool:
    """Return whether too many files are open: the path that could not be opened is innocent."""
    return isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE)


def _meant(path: Path) -> Path:
    """Return the file itself where ``path`` is a symbolic link."""
    try:
        real = path.resolve()
    except RuntimeError as error:  # of Python before 3.13
        raise OSError(errno.ELOOP, "its links go in a circle") from error
    if real.is_symlink():
        raise OSError(errno.ELOOP, "its links go in a circle")
    return real


def cache_folder() -> Path:
    """Return where kernels and verdicts are kept: STEMTHEORY_CACHE, or a folder of the user's."""
    given = os.environ.get("STEMTHEORY_CACHE")
    if given:
        return Path(given)
    base = os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()
    return Path(base) / "stemtheory" / "kernels"
