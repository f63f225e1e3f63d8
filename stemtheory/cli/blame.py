"""Whose code an exception came from: a user's own module is named, with the line."""

from __future__ import annotations

import traceback
from types import FrameType

from stemtheory.runtime import own_source


def theirs(error: BaseException) -> str | None:
    """Return one sentence on the innermost line of a user's own module that raised, or None.

    What lies above the command, such as a script that called it, is in no traceback of its errors.
    """
    frames = [
        (name, number)
        for frame, number in traceback.walk_tb(error.__traceback__)
        if (name := _module(frame)) and own_source(name) is not None
    ]
    if not frames:
        return None
    name, number = frames[-1]
    said = f"{type(error).__name__}: {error}".removesuffix(": ")
    return (
        f"your module {name}, line {number}, raised {said:.300}: mend it there, it is not"
        " stemtheory that failed (STEMTHEORY_DEBUG=1 shows the traceback)."
    )


def _module(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", ""))
