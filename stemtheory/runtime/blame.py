"""What an exception says of a user's own code: its kind, its words, and the line that raised it."""

from __future__ import annotations

import traceback
from types import FrameType

from stemtheory.runtime.fingerprints import own_source


def own_line(error: BaseException) -> tuple[str, int] | None:
    """Return the module and the innermost line of a user's own code that raised, None if none did.

    What lies above the command, such as a script that called it, is in no traceback of its errors.
    """
    frames = [
        (name, number)
        for frame, number in traceback.walk_tb(error.__traceback__)
        if (name := _module(frame)) and own_source(name) is not None
    ]
    return frames[-1] if frames else None


def raised(error: BaseException) -> str:
    """Return in one line what was raised, with the place where that is a user's own."""
    said = f"{type(error).__name__}: {' '.join(str(error).split())}".removesuffix(": ")
    place = own_line(error)
    return said if place is None else f"{said} (your module {place[0]}, line {place[1]})"


def _module(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", ""))
