"""How much of the work is done, told from wherever it is done to whoever waits for it.

Work tells its own share, from 0 to 1, and knows nothing of what it is a part of; who calls it says
which part that is. Nobody listens unless ``heard_by`` says so.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol

# How much is done at all: of a sweep, a figure, a panel of the ledger.
MODES = ("quick", "default", "full")


class Listener(Protocol):
    """Who is told the share that is done; ``found`` says that it was there already."""

    def __call__(self, share: float, found: bool = False, /) -> None:
        """Take a share from 0 to 1."""


def _nobody(_share: float, _found: bool = False, /) -> None:
    pass


_listener: ContextVar[Listener] = ContextVar("listener", default=_nobody)


def listener() -> Listener:
    """Return who is told here; a thread that is started does not inherit it."""
    return _listener.get()


@contextmanager
def heard_by(told: Listener) -> Iterator[None]:
    """Tell ``told`` what is done inside."""
    mark = _listener.set(told)
    try:
        yield
    finally:
        _listener.reset(mark)


@contextmanager
def part(low: float, high: float) -> Iterator[None]:
    """Let what is done inside be the part from ``low`` to ``high`` of the work outside."""
    outer = _listener.get()
    with heard_by(lambda share, found=False: outer(low + (high - low) * share, found)):
        yield
    outer(high)


@contextmanager
def uncounted() -> Iterator[None]:
    """Tell nobody of work of which nobody knows how much there is in all."""
    with heard_by(_nobody):
        yield


def counter(total: float) -> Callable[[float], None]:
    """Return what takes amounts of work as they are done, in any thread, of ``total`` in all."""
    told, lock = _listener.get(), threading.Lock()
    done = 0.0

    def add(amount: float) -> None:
        nonlocal done
        with lock:
            done += amount
            told(min(1.0, done / total))

    return add
