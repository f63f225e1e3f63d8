"""A pack: what a paper is, which labels it has, and in which modules its claims stand.

It is read from ``pack.toml``; the ledger imports its claim modules when they are asked for.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.util import resolve_name
from pathlib import Path
from typing import Any, NamedTuple

from stemtheory._version import __version__
from stemtheory.runtime import UsageError

FILE = "pack.toml"
NAME = re.compile(r"[a-z][a-z0-9_-]*")
NEEDS = re.compile(r"stemtheory *>= *(\d+(?:\.\d+)*)")
MODULE = re.compile(r"\.*\w+(?:\.\w+)*")
REQUIRED = ("name", "title", "authors", "year", "licence", "needs", "sections", "labels")


class Label(NamedTuple):
    """What the paper prints for a label, such as Lemma A.6, and why no claim is about it."""

    number: str
    title: str = ""
    reason: str = ""


@dataclass(frozen=True)
class ByReading:
    """Printed lines, each with a word for it, that are shown under every reading of a listing.

    ``note`` stands above them, and ``beside`` over the other lines of the same alias.
    """

    lines: Mapping[str, str]
    note: str = ""
    beside: str = "Beside them"


@dataclass(frozen=True, eq=False)
class Pack:
    """A paper's claims as ``pack.toml`` announces them; ``package`` is imported from ``folder``.

    ``sections`` maps a section of the ledger to its module, ``aliases`` a name to the claims of one
    question, and ``matrices`` such a name to the lines that its table shows under every reading.
    ``algorithm`` is what claims about runs are asked of that name no other; without it the usual
    panel's.
    """

    folder: Path
    package: str
    name: str
    title: str
    authors: tuple[str, ...]
    year: int
    licence: str
    needs: str
    sections: Mapping[str, str]
    labels: Mapping[str, Label]
    arxiv: str = ""
    doi: str = ""
    subject: str = ""
    algorithm: str = ""
    aliases: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    matrices: Mapping[str, ByReading] = field(default_factory=dict)

    @property
    def home(self) -> Path:
        """The folder of the topmost package, below which its modules lie."""
        return self.folder.parents[depth - 1] if (depth := self.package.count(".")) else self.folder

    @property
    def source(self) -> str:
        """Where the paper is found: its DOI or its number in arXiv."""
        return f"doi:{self.doi}" if self.doi else f"arXiv:{self.arxiv}"

    def module(self, section: str) -> str:
        """Return the dotted name of a section's module."""
        return resolve_name(f".{self.sections[section]}", self.package)

    def place(self, section: str) -> str:
        """Return the file that holds the claims of a section, from the top of its package."""
        return f"{self.module(section).replace('.', '/')}.py"

    @property
    def files(self) -> list[Path]:
        """Every file of its folder that can change what is found: modules and data."""
        kinds = (".py", ".toml", ".json")
        return sorted(path for path in self.folder.rglob("*") if path.suffix in kinds)

    @property
    def cases(self) -> Path:
        """The folder of its case files."""
        return self.folder / "cases"

    @property
    def versions(self) -> Path:
        """The record of the versions that rules make of its lines (docs/build/versions.py)."""
        return self.folder / "versions.json"


def read(folder: Path, package: str) -> Pack:
    """Return the pack that a folder announces, which is imported as ``package``.

    Raises
    ------
    UsageError
        In one sentence: the file, the field, and what it must be.
    """
    file = folder / FILE
    if not file.is_file():
        raise UsageError(f"{folder} holds no {FILE}, which says what a pack is: write one there.")
    try:
        table = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:  # a decoding error is one of the latter
        raise UsageError(f"{file} is not valid TOML ({error}): correct it.") from error
    return _pack(table, file, package)


def _pack(table: Mapping[str, Any], file: Path, package: str) -> Pack:
    def refuse(what: str) -> UsageError:
        return UsageError(f"{file}: {what}.")

    if unknown := [key for key in table if key not in FIELDS]:
        raise refuse(f"{unknown[0]} is no field of a pack, which are {', '.join(FIELDS)}")
    if missing := [key for key in REQUIRED if key not in table]:
        raise refuse(f"{missing[0]} is missing: add it")
    if not table.get("arxiv") and not table.get("doi"):
        raise refuse("there is neither doi nor arxiv: add one of them")
    for key, value in table.items():
        allowed, check = FIELDS[key]
        if not check(value):
            raise refuse(f"{key} is {value!r:.80}, but it must be {allowed}: correct it")
    if _newer(table["needs"]):
        raise refuse(
            f"the pack needs {table['needs']}, but this is stemtheory {__version__}: upgrade it, or"
            " name other packs by --pack"
        )
    made: dict[str, Any] = {"subject": table["name"], **table}
    made["authors"] = tuple(table["authors"])
    made["labels"] = {name: Label(**label) for name, label in table["labels"].items()}
    made["aliases"] = {name: tuple(ids) for name, ids in table.get("aliases", {}).items()}
    made["matrices"] = {
        name: ByReading(**found) for name, found in table.get("matrices", {}).items()
    }
    return Pack(file.parent, package, **made)


def _newer(needs: str) -> bool:
    """Whether what a pack needs is newer than this version."""
    found = NEEDS.fullmatch(needs)
    assert found is not None
    return _numbers(found[1]) > _numbers(__version__)


def _numbers(version: str) -> tuple[int, ...]:
    """Return the numbers that a version begins with; 0.2 and 0.2.0 are the same."""
    found = re.match(r"\d+(?:\.\d+)*", version)
    numbers = [int(part) for part in found[0].split(".")] if found else []
    while numbers and not numbers[-1]:
        numbers.pop()
    return tuple(numbers)


# What each field may be: in words, and as a check.


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _are_texts(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(map(_is_text, value))


def _is_like(pattern: re.Pattern[str]) -> Callable[[object], bool]:
    return lambda value: isinstance(value, str) and pattern.fullmatch(value) is not None


def _maps_to(check: Callable[[object], bool]) -> Callable[[object], bool]:
    return lambda value: isinstance(value, dict) and all(map(check, value.values()))


def _are_sections(value: object) -> bool:
    if not isinstance(value, dict) or not _maps_to(_is_like(MODULE))(value):
        return False
    return all(map(_is_like(NAME), value))


def _is_label(value: object) -> bool:
    if not isinstance(value, dict) or not set(value) <= set(Label._fields):
        return False
    return "number" in value and all(isinstance(text, str) for text in value.values())


def _is_matrix(value: object) -> bool:
    if not isinstance(value, dict) or not {"lines"} <= set(value) <= {"lines", "note", "beside"}:
        return False
    words = [text for name, text in value.items() if name != "lines"]
    return _maps_to(_is_text)(value["lines"]) and all(map(_is_text, words))


_TEXT: tuple[str, Callable[[object], bool]] = ("a text", _is_text)
FIELDS: dict[str, tuple[str, Callable[[object], bool]]] = {
    "name": ("a name of small letters, digits, - and _", _is_like(NAME)),
    "title": _TEXT,
    "authors": ("a list of names", _are_texts),
    "year": ("a whole number", lambda value: type(value) is int),
    "arxiv": _TEXT,
    "doi": _TEXT,
    "licence": _TEXT,
    "needs": ('a version, such as "stemtheory >= 0.2"', _is_like(NEEDS)),
    "subject": _TEXT,
    "algorithm": _TEXT,
    "sections": (
        'a table of modules by names of small letters, digits, - and _: theorem = "theorem"',
        _are_sections,
    ),
    "labels": (
        'a table of labels, such as "lem:one" = { number = "Lemma 1" }, with title or reason',
        _maps_to(_is_label),
    ),
    "aliases": ("a table of lists of claims", _maps_to(_are_texts)),
    "matrices": (
        "a table of tables, each with lines (words by claim), note and beside",
        _maps_to(_is_matrix),
    ),
}
