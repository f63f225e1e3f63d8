"""A TOML file together with the line on which each key stands, so that an error can point at it."""

from __future__ import annotations

import contextlib
import math
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from stemtheory.runtime import UsageError, choice

Place = tuple[str, ...]  # a key with the tables around it
DEEPEST = 20  # tables and arrays in one another; a sweep has no more than five
# Where a statement ends is told by its brackets and line ends outside of strings and comments.
_MARK = re.compile(
    r'"""(?:\\.|[^\\])*?"{3,5}|"(?:\\.|[^"\\\n])*"'
    r"|'''.*?'{3,5}|'[^'\n]*'|\#[^\n]*|[\[\]{}\n]",
    re.DOTALL,
)


@dataclass(frozen=True)
class Document:
    """A parsed TOML text; ``lines`` maps the path of a key to its line, counted from 1."""

    name: str
    table: Mapping[str, Any]
    lines: Mapping[Place, int]

    def where(self, path: Place) -> str:
        """Return the file with the line of a key, or with that of the nearest table around it."""
        ends = (path[:end] for end in range(len(path), 0, -1))
        line = next((self.lines[end] for end in ends if end in self.lines), None)
        return f"{self.name}, line {line}" if line else self.name

    def refuse(self, path: Place, problem: str) -> NoReturn:
        """Raise a UsageError that names the file, the line and the key."""
        raise UsageError(f"{self.where(path)}: {'.'.join(path)} {problem}")

    @contextlib.contextmanager
    def naming(self, path: Place, what: str = "is wrong") -> Iterator[None]:
        """Put the file, the line and the key in front of what a check in here says."""
        try:
            yield
        except UsageError as error:
            self.refuse(path, f"{what}: {error}")

    def section(self, path: Place, value: Any, known: Sequence[str] = ()) -> Mapping[str, Any]:
        """Return ``value`` if it is a table without other keys than the known ones, if any are."""
        if not isinstance(value, Mapping):
            self.refuse(
                path, f"is {value!r:.60}, but it must be a table: write [{'.'.join(path)}]."
            )
        for key in value if known else ():
            with self.naming((*path, key), "is no key of a sweep"):
                choice("key", key, known)
        return value

    def at(self, size: str) -> Document:
        """Return the document with the tables of one size laid over the others, lines too."""
        over = {path[1:]: line for path, line in self.lines.items() if path[0] == size}
        merged = _merge(self.table, self.table.get(size, {}))
        return Document(self.name, merged, {**self.lines, **over})


def parse(text: str, name: str) -> Document:
    """Return the document; ``name`` is what errors call it.

    Raises
    ------
    UsageError
        For invalid TOML, endless nesting, and numbers that are not finite or beyond a float.
    """
    deep = f"{name} is nested more than {DEEPEST} levels deep: write it flat."
    try:
        table = tomllib.loads(text, parse_float=_number)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{name} is not valid TOML ({error}): correct it.") from error
    except ValueError as error:  # of Python, which reads no integer of that many digits
        raise UsageError(f"{name} holds a number of thousands of digits: give another.") from error
    except RecursionError as error:
        raise UsageError(deep) from error
    if not _is_flat(table, DEEPEST):
        raise UsageError(deep)
    lines: dict[Place, int] = {}
    for path, line in _located(text):
        for end in range(1, len(path) + 1):  # [a.b] opens a as well
            lines.setdefault(path[:end], line)
    document = Document(name, table, lines)
    for path, value in _leaves(table, ()):
        if isinstance(value, float) and not math.isfinite(value):
            document.refuse(path, f"is {value}, but it must be a finite number: give another.")
        if isinstance(value, _Faded):
            document.refuse(path, "is so small that a float loses its digits: give a larger one.")
        if isinstance(value, int) and abs(value) > sys.float_info.max:
            document.refuse(path, "has more than 308 digits: give a number that a float can hold.")
    return document


class _Faded(float):
    """A number that is 0 or subnormal as a float, although none of that stands in the file."""


def _number(text: str) -> float:
    """Return a number of the file, marked where a float cannot hold it."""
    number = float(text)
    small = abs(number) < sys.float_info.min
    return _Faded(number) if small and text.lower().partition("e")[0].strip("+-0._") else number


def _merge(base: Any, over: Any) -> Any:
    """Lay one table over another, table by table; a rule such as {from, to} is one value."""
    if not (isinstance(base, Mapping) and isinstance(over, Mapping)) or "from" in over:
        return over
    return {**base, **{key: _merge(base.get(key), value) for key, value in over.items()}}


def _is_flat(value: Any, levels: int) -> bool:
    """Return whether tables and arrays stand in one another at most ``levels`` deep."""
    if not isinstance(value, Mapping | list):
        return True
    inner = value.values() if isinstance(value, Mapping) else value
    return levels > 0 and all(_is_flat(item, levels - 1) for item in inner)


def _located(text: str) -> Iterator[tuple[Place, int]]:
    """Yield the path of every key of a valid TOML text, with the line of its statement."""
    header: Place = ()
    for line, statement in _statements(text):
        keys = _paths(tomllib.loads(statement), ())
        if statement.lstrip().startswith("["):
            *_, header = keys  # the last one is all of [a.b] or [[a.b]]
            yield header, line
        else:
            yield from ((header + path, line) for path in keys)


def _statements(text: str) -> Iterator[tuple[int, str]]:
    """Yield every statement, which may go over several lines, with its first line."""
    depth, start, line = 0, 0, 1
    for mark in _MARK.finditer(f"{text}\n"):
        depth += (mark[0] in "[{") - (mark[0] in "]}")
        if mark[0] == "\n" and depth == 0:
            statement = text[start : mark.end()]
            yield line, statement
            start, line = mark.end(), line + statement.count("\n")


def _paths(value: Any, path: Place) -> Iterator[Place]:
    """Yield the paths of all keys in a table, outer ones first."""
    for key, item in value.items():
        yield (*path, key)
        if isinstance(item, Mapping):
            yield from _paths(item, (*path, key))


def _leaves(value: Any, path: Place) -> Iterator[tuple[Place, Any]]:
    """Yield everything that is neither table nor array, an item of an array under its key."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _leaves(item, (*path, key))
    elif isinstance(value, list):
        for item in value:
            yield from _leaves(item, path)
    else:
        yield path, value
