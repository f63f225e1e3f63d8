"""What is shown while a command works: one line on a terminal, with the time that is left."""

from __future__ import annotations

import contextlib
import shutil
import sys
import threading
import time
from collections.abc import Iterator

from stemtheory.cli import console
from stemtheory.runtime import heard_by

AFTER = 1.0  # seconds: a command that is sooner done shows nothing
EVERY = 0.5  # seconds between two looks of the line
SOME = 0.01  # of the work: from less than that nothing can be foretold


class Waiting:
    """What is known of the work: what it is at, which share is done, since when.

    Called with a text, it takes what is being done; ``share`` takes how much of all of it is done.
    ``rough`` says that the shares are guesses.
    """

    def __init__(self, lines: bool, rough: bool = False) -> None:
        self.text, self.lines, self.rough = "", lines, rough
        self.done, self.given = 0.0, 0.0  # what was there already tells nothing of the speed
        self.began = time.monotonic()
        self._held: list[str] = []
        self._shown, self._over = False, threading.Event()
        self._lock = threading.Lock()
        self._tty = sys.stderr.isatty()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __call__(self, text: str) -> None:
        """Take what is being done; with ``lines`` each such text is a line that stays."""
        with self._lock:
            if self.lines and text != self.text:
                self._held.append(text)
            self.text = text
        if time.monotonic() - self.began >= AFTER:
            self.look()

    def share(self, share: float, found: bool = False, /) -> None:
        """Take which share of all the work is done, from 0 to 1."""
        if share > self.done:
            self.given += (share - self.done) if found else 0.0
            self.done = share

    def said(self) -> str:
        """Return what the line says: the time that is left by the speed so far."""
        spent = time.monotonic() - self.began
        worked, left = self.done - self.given, 1 - self.done
        parts = [] if self.lines or not self.text else [self.text]
        if worked >= SOME:
            time_left = f"{clock(spent / worked * left)} to go"
            told = f"very roughly {time_left}, by shares that were guessed"
            parts += [f"{self.done:.0%}", told if self.rough else f"about {time_left}"]
        return "; ".join([*parts, f"{clock(spent)} so far"])

    def look(self) -> None:
        """Write what there is to say by now."""
        with self._lock:
            held, self._held = self._held, []
            self._wipe()
            for text in held:
                console.note(text)
            if self._tty and not self._over.is_set():
                width = shutil.get_terminal_size().columns - 1
                sys.stderr.write(self.said()[:width])
                sys.stderr.flush()
                self._shown = True

    def start(self) -> None:
        """Begin to look by itself, where there will be something to see."""
        if self._tty or self.lines:
            self._thread.start()

    def end(self) -> None:
        """Take the line away."""
        self._over.set()
        if self._thread.is_alive():
            self._thread.join()
        self._wipe()

    def _wipe(self) -> None:
        if self._shown:
            sys.stderr.write("\r\x1b[2K")
            sys.stderr.flush()
            self._shown = False

    def _watch(self) -> None:
        pause = AFTER
        while not self._over.wait(pause):
            with contextlib.suppress(OSError, ValueError):  # nobody looks any more
                self.look()
            pause = EVERY


@contextlib.contextmanager
def waiting(lines: bool = False, rough: bool = False) -> Iterator[Waiting]:
    """Show on a terminal how far the work inside is; nothing of it before ``AFTER`` seconds.

    With ``lines`` every stage is a line that stays, in a file and a pipe too; ``rough`` says that
    nobody has measured which share of the time a stage takes.
    """
    shown = Waiting(lines, rough)
    shown.start()
    try:
        with heard_by(shown.share):
            yield shown
    finally:
        with contextlib.suppress(OSError, ValueError):
            shown.end()


def clock(seconds: float) -> str:
    """Return a time as a person says it."""
    if seconds < 0.01:
        return "0 s"
    if seconds < 90:
        return f"{seconds:.2g} s" if seconds < 10 else f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
