"""The streams of a command: closed, narrow or full ones, and stdout for one document alone."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import TextIO


class OutputLostError(Exception):
    """What was printed could not be written, such as onto a full disk."""


_document: ContextVar[TextIO | None] = ContextVar("document", default=None)


@contextlib.contextmanager
def document_alone() -> Iterator[None]:
    """Send to stderr whatever is printed, here or in a worker; ``emit`` still reaches stdout."""
    out, copy = sys.stdout, None
    if sys.stdout is sys.__stdout__:  # else it is a test's, which no worker inherits
        out.flush()
        copy = os.dup(out.fileno())
        os.dup2(sys.stderr.fileno(), out.fileno())
    document = out if copy is None else os.fdopen(copy, "w", encoding="utf-8")
    mark = _document.set(document)
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield
    finally:
        _document.reset(mark)
        if copy is not None:
            os.dup2(copy, out.fileno())
            with contextlib.suppress(OSError):
                document.close()


def write(text: str) -> None:
    """Write to the stdout of the command, and see that it arrives."""
    out = _document.get() or sys.stdout
    try:
        out.write(text)
        out.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputLostError(error.strerror or error) from error


def take_any_stream() -> None:
    """Let a closed stdout or stderr swallow what is written, and a narrow encoding show a ?."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # closed by whoever started us
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115
        elif isinstance(stream, io.TextIOWrapper) and stream.errors == "strict":
            stream.reconfigure(errors="replace")


def close_stdout() -> None:
    """Point stdout to nowhere, so that the interpreter's last flush does not complain."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.__stdout__.fileno())  # type: ignore[union-attr]
