"""SIGINT and SIGTERM ask a sweep to end after what is in flight; a second one ends it at once."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from types import FrameType, TracebackType
from typing import Any, Self

WAITING = "finishing what is in flight; Ctrl-C again stops now"


def say_waiting() -> None:
    """Say on stderr, from within a signal's handler, where a stream may be in use."""
    with contextlib.suppress(OSError):
        os.write(2, f"{os.linesep if os.isatty(2) else ''}{WAITING}\n".encode())


class Stop:
    """A context in which a signal only sets ``number``, and says at once what is waited for.

    Elsewhere than in the main thread it does nothing.

    A second signal sets ``hurried``. It raises too, by the handlers that were installed before,
    unless ``patient`` says that the work looks at ``hurried`` by itself: then any number of signals
    finds the same clean way out. The handlers are back on leaving.
    """

    def __init__(self, patient: bool = False) -> None:
        self.number: int | None = None
        self.hurried, self.patient = False, patient
        self._before: dict[int, Any] = {}

    def __bool__(self) -> bool:
        """Whether a signal came."""
        return self.number is not None

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.number is None:
            self.number = number
            say_waiting()
            return
        self.hurried = True
        if not self.patient:
            signal.signal(number, self._before[number])
            signal.raise_signal(number)
