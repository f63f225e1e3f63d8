"""A TOML file together with the line on which each key stands, so that an error can point at it."""

from __future__ import annotations

import contextlib
import math
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from stemtheory.runtime import UsageError

Path = tuple[str, ...]
DEEPEST = 20  # tables and arrays in one another; a sweep has no more than five


@dataclass(frozen=True)
class Document:
    """A parsed TOML text; ``lines`` maps the path of a key to its line, counted from 1."""

    name: str
    table: Mapping[str, Any]
    lines: Mapping[Path, int]

    def line(self, path: Path) -> int | None:
        """Return the line of a key, or that of the nearest table around it."""
        for end in range(len(path), 0, -1):
            if path[:end] in self.lines:
                return self.lines[path[:end]]
        return None

    def refuse(self, path: Path, problem: str) -> NoReturn:
        """Raise a UsageError that names the file, the line and the key."""
        line = self.line(path)
        where = f"{self.name}, line {line}" if line else self.name
        raise UsageError(f"{where}: {'.'.join(path)} {problem}")

    @contextlib.contextmanager
    def naming(self, path: Path) -> Iterator[None]:
        """Put the file, the line and the key in front of what a check in here says."""
        try:
            yield
        except UsageError as error:
            self.refuse(path, f"is wrong: {error}")


def parse(text: str, name: str) -> Document:
    """Return the document; ``name`` is what errors call it.

    Raises
    ------
    UsageError
        For invalid TOML, endless nesting, and numbers that are not finite, with the line.
    """
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{name} is not valid TOML ({error}): correct it.") from error
    except RecursionError as error:
        raise _too_deep(name) from error
    if not _is_flat(table, DEEPEST):
        raise _too_deep(name)
    lines: dict[Path, int] = {}
    for path, line in _located(text):
        for end in range(1, len(path) + 1):  # [a.b] opens a as well
            lines.setdefault(path[:end], line)
    document = Document(name, table, lines)
    for path, value in _leaves(table, ()):
        if isinstance(value, float) and not math.isfinite(value):
            document.refuse(path, f"is {value}, but it must be a finite number: give another.")
    return document


def _is_flat(value: Any, levels: int) -> bool:
    """Return whether tables and arrays stand in one another at most ``levels`` deep."""
    if not isinstance(value, Mapping | list):
        return True
    inner = value.values() if isinstance(value, Mapping) else value
    return levels > 0 and all(_is_flat(item, levels - 1) for item in inner)


def _too_deep(name: str) -> UsageError:
    return UsageError(f"{name} is nested more than {DEEPEST} levels deep: write it flat.")


def _located(text: str) -> Iterator[tuple[Path, int]]:
    """Yield the paths of a valid TOML text, statement by statement.

    A statement is the smallest run of lines that is valid TOML by itself, so strings and arrays
    over several lines are no trouble.
    """
    prefix: Path = ()
    pending, first = "", 1
    for number, line in enumerate(text.splitlines(), 1):
        first = first if pending else number
        pending += line + "\n"
        try:
            piece = tomllib.loads(pending)
        except tomllib.TOMLDecodeError:
            continue
        if pending.lstrip().startswith("["):
            prefix = next(_headers(piece, ()))
            yield prefix, first
        else:
            for path in _paths(piece, ()):
                yield prefix + path, first
        pending = ""


def _headers(piece: Mapping[str, Any], path: Path) -> Iterator[Path]:
    """Yield the one path that a header such as [a.b] or [[a.b]] opens."""
    for key, value in piece.items():
        inner = value[0] if isinstance(value, list) else value
        if inner:
            yield from _headers(inner, (*path, key))
        else:
            yield (*path, key)


def _paths(table: Mapping[str, Any], path: Path) -> Iterator[Path]:
    for key, value in table.items():
        yield (*path, key)
        if isinstance(value, dict):
            yield from _paths(value, (*path, key))


def _leaves(value: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _leaves(item, (*path, key))
    elif isinstance(value, list):
        for item in value:
            yield from _leaves(item, path)
    else:
        yield path, value
