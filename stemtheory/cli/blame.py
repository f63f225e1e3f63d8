"""Whose code an exception came from: a user's own module is named, with the line."""

from __future__ import annotations

from stemtheory.runtime import own_line


def theirs(error: BaseException) -> str | None:
    """Return one sentence on the innermost line of a user's own module that raised, or None."""
    place = own_line(error)
    if place is None:
        return None
    name, number = place
    said = f"{type(error).__name__}: {error}".removesuffix(": ")
    return (
        f"your module {name}, line {number}, raised {said:.300}: mend it there, it is not"
        " stemtheory that failed (STEMTHEORY_DEBUG=1 shows the traceback)."
    )
