"""One clear sentence for bad input: what was given, what is allowed, what to do."""

from __future__ import annotations

import contextlib
import math
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

LONGEST = 60  # characters of a value in a sentence
EXTREME = 1e30  # beyond it, or below its inverse, a number may be what breaks the arithmetic


class UsageError(ValueError):
    """Bad input from the user; its text is one sentence and the command line exits with 2."""


def whole(name: str, value: object, minimum: int = 1) -> int:
    """Return ``value`` as an int that is at least ``minimum``.

    Accepts ints, floats without a fraction and strings such as ``1e6`` and ``1_000_000``.

    Raises
    ------
    UsageError
        If it is not a finite whole number, or is below ``minimum``.
    """
    number = _number(value)
    if (
        number is None
        or not math.isfinite(number)
        or number != int(number)
        or number < minimum
        or _faded(value, number)
    ):
        most = " and below 1e308" if number == math.inf else ""
        raise UsageError(
            f"{name} is {_shown(value)}, but it must be a whole number of at least {minimum}{most}:"
            f" give {name}={minimum} or more."
        )
    return int(number)


def real(
    name: str, value: object, *, minimum: float | None = None, positive: bool = False
) -> float:
    """Return ``value`` as a finite float that is at least ``minimum`` (or above 0).

    Raises
    ------
    UsageError
        If it is not a finite number in that range, or so small that a float lost its digits.
    """
    number = _number(value)
    if number is not None and _faded(value, number):
        raise UsageError(
            f"{name} is {_shown(value)}, but below {sys.float_info.min:.2g} a float loses its"
            " digits (it is subnormal): give a larger one, or 0 where that is allowed."
        )
    allowed = "a finite number"
    if positive:
        allowed = "a finite number above 0"
    elif minimum is not None:
        allowed = f"a finite number of at least {minimum:g}"
    if (
        number is None
        or not math.isfinite(number)
        or (positive and number <= 0)
        or (minimum is not None and number < minimum)
    ):
        raise UsageError(
            f"{name} is {_shown(value)}, but it must be {allowed}: give another value."
        )
    return float(number)


def choice(name: str, value: object, allowed: Iterable[str]) -> str:
    """Return ``value`` if it is one of the ``allowed`` names.

    Raises
    ------
    UsageError
        With the known names, and the nearest one if the value looks like a misprint.
    """
    known = sorted(allowed)
    if isinstance(value, str) and value in known:
        return value
    near = get_close_matches(str(value), known, n=1)
    hint = f"did you mean {near[0]}?" if near else "choose one of them."
    raise UsageError(f"{name} {_shown(value)} is unknown; known are {', '.join(known)}: {hint}")


def truth(name: str, value: object) -> bool:
    """Return ``value`` if it is true or false (1 and 0 count).

    Raises
    ------
    UsageError
        For anything else, such as a word that Python would take for true.
    """
    if isinstance(value, bool | int | float) and value in (0, 1):
        return bool(value)
    raise UsageError(f"{name} is {_shown(value)}, but it must be true or false: give one of them.")


def mapping(name: str, value: object) -> dict[str, Any]:
    """Return options by name, none for None.

    Raises
    ------
    UsageError
        For anything that does not map names to values.
    """
    if value is None:
        return {}
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return dict(value)
    raise UsageError(
        f"{name} is {_shown(value)}, but it must map names to values: write {{'name': value}}."
    )


def several(name: str, value: object) -> tuple[Any, ...]:
    """Return the items of a list, a tuple, a range or an array of one axis.

    Raises
    ------
    UsageError
        For anything else; text and mappings are no lists.
    """
    if isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping):
        return tuple(value)
    raise UsageError(f"{name} is {_shown(value)}, but it must be a list: write [a, b].")


def file_path(name: str, value: object) -> Path:
    """Return the path of a file or a folder.

    Raises
    ------
    UsageError
        For what is neither text nor a path, for empty text and for a zero byte in it.
    """
    if isinstance(value, str | os.PathLike) and str(value) and "\0" not in str(value):
        return Path(value)
    raise UsageError(
        f"{name} is {_shown(value)}, but it must be the path of a file or a folder: give text or a"
        " Path."
    )


def callback(name: str, value: object) -> None:
    """Refuse what cannot be called.

    Raises
    ------
    UsageError
        With what was given.
    """
    if not callable(value):
        raise UsageError(
            f"{name} is {_shown(value)}, but it must be a function: give one, or leave it out."
        )


@contextlib.contextmanager
def within_floats(**numbers: object) -> Iterator[None]:
    """Refuse arithmetic that leaves the range of floats; what is furthest from 1 is to blame.

    Raises
    ------
    UsageError
        With the name of that number. Where none is extreme the error is no user's, and stays.
    """
    try:
        yield
    except ArithmeticError as error:
        far = {name: _distance(value) for name, value in numbers.items()}
        name = max(far, key=lambda name: far[name])
        if far[name] < math.log(EXTREME):
            raise
        raise UsageError(
            f"{name} is {_shown(numbers[name])}, but with it the arithmetic leaves the range of"
            f" floats ({error}): give a value nearer to 1."
        ) from error


def kept(text: str) -> float:
    """Return the number that ``text`` is, for readers that take whatever ``float`` makes of it.

    Raises
    ------
    UsageError
        For digits that a float turns into 0 or into infinity, with the number as it is written.
    ValueError
        As ``float``.
    """
    number = float(text)
    if (number == 0 and _faded(text, number)) or (
        math.isinf(number) and any(c.isdigit() for c in text)
    ):
        raise UsageError(
            f"{text.strip():.60} would be read as {number:g}, since a float goes from"
            f" {sys.float_info.min:.2g} to {sys.float_info.max:.2g}: give a number of that range."
        )
    return number


def _distance(value: object) -> float:
    """Return |log |value||, 0 for what has none."""
    number = _number(value)
    return abs(math.log(abs(number))) if number and math.isfinite(number) else 0.0


def _faded(value: object, number: float) -> bool:
    """Return whether a number is subnormal, or a text of one that is not 0 became 0."""
    if number == 0 and isinstance(value, str):
        return value.lower().partition("e")[0].strip(" \t+-0._") != ""
    return 0 < abs(number) < sys.float_info.min


def _number(value: object) -> float | int | None:
    """Read an int, a float or their text; None for anything else (a bool is not a number).

    An int beyond the range of a float is infinite, as its text with an exponent is.
    """
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        with contextlib.suppress(ValueError):
            value = int(value)
    if isinstance(value, int):
        return value if abs(value) <= sys.float_info.max else _endless(value)
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None


def _endless(value: int) -> float:
    return math.inf if value > 0 else -math.inf


def _shown(value: object) -> str:
    text = f"'{value}'" if isinstance(value, str) else repr(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."
