"""Files written whole: a reader sees the old file or the new one, whatever stops the writer."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from stemtheory.runtime.errors import UsageError


def write_file(path: Path, write: Callable[[BinaryIO], Any], what: str = "path") -> Path:
    """Return ``path`` after ``write`` filled a file beside it that then took its place.

    A symbolic link stays one: what it points at is replaced. Nothing is left behind by a failure;
    its sentence says to choose another ``what``.

    Raises
    ------
    UsageError
        If it cannot be written.
    """
    with _refusing(path, what):
        part = part_of(path)
        try:
            with part.open("wb") as file:
                write(file)
            part.replace(_meant(path))
        finally:
            part.unlink(missing_ok=True)
    return path


def try_file(path: Path, what: str = "path") -> None:
    """Refuse a path as ``write_file`` would, before there is anything to write."""
    with _refusing(path, what):
        part = part_of(path)
        part.touch()
        part.unlink()


@contextlib.contextmanager
def _refusing(path: Path, what: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
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


def part_of(path: Path) -> Path:
    """Return the name that a file has while it is written: beside the file that a link means."""
    real = _meant(path)
    return real.with_name(f".{real.name}.{os.getpid()}.part")


def _meant(path: Path) -> Path:
    """Return the file itself where ``path`` is a symbolic link."""
    try:
        return path.resolve()
    except RuntimeError as error:
        raise OSError(errno.ELOOP, "its links go in a circle") from error
