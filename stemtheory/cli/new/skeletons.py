"""Skeletons that work, with their tests: their files, and how they are written whole.

The templates are the examples of the guides, under another name; a test compares them.
"""

from __future__ import annotations

import importlib.util
import keyword
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from stemtheory.runtime import UsageError, write_whole

TEMPLATES = Path(__file__).with_name("templates")
NAME = re.compile(r"[a-z][a-z0-9_]*")
NAMED, INITIALS = "@NAME@", "@ID@"  # in a template: the name, and how ids of claims begin


class Skeleton(NamedTuple):
    """Files by their templates, and the command that is tried first."""

    files: Mapping[str, str]
    first: str


def _module(kind: str, first: str, ending: str = "py") -> Skeleton:
    """Return the skeleton of one file and its test."""
    files = {
        f"@NAME@.{ending}": f"{kind}.{ending}.txt",
        "test_@NAME@.py": f"{kind}_test.py.txt",
    }
    return Skeleton(files, first)


SKELETONS = {
    "pack": Skeleton(
        {
            "pyproject.toml": "pack_project.toml.txt",
            "@NAME@/__init__.py": "pack_init.py.txt",
            "@NAME@/pack.toml": "pack.toml.txt",
            "@NAME@/directions.py": "pack_claims.py.txt",
            "test_@NAME@.py": "pack_test.py.txt",
            ".github/workflows/claims.yml": "pack_workflow.yml.txt",
        },
        "stemtheory verify --pack @NAME@ --quick --mutants",
    ),
    "problem": _module("problem", "stemtheory check @NAME@:ENTRY"),
    "algorithm": _module("algorithm", "stemtheory check @NAME@:ENTRY"),
    "claim": _module("claim", "stemtheory verify @NAME@:CLAIMS --quick --mutants"),
    "figure": _module("figure", "stemtheory figure @NAME@:ENTRY --quick"),
    "sweep": _module("sweep", "stemtheory sweep @NAME@.toml --dry-run", ending="toml"),
}


def check_name(name: str) -> None:
    """Refuse what Python could not import as a module of its own.

    Raises
    ------
    UsageError
        For such a name, and for that of a module that is there already.
    """
    if not NAME.fullmatch(name) or keyword.iskeyword(name):
        raise UsageError(
            f"name is {name!r:.60}, but it must be one that Python can import: small letters,"
            " digits and _, a letter first, and no word of the language."
        )
    try:
        found = importlib.util.find_spec(name)
    except ValueError:  # it was imported, and does not say from where
        return
    if found is not None and found.origin is not None:  # a bare folder hides nothing
        raise UsageError(
            f"name is {name}, but a module of that name is there already ({found.origin}): choose"
            " another."
        )


def names_of(name: str) -> dict[str, str]:
    """Return what the marks of a template stand for."""
    return {NAMED: name, INITIALS: name.upper().replace("_", "")}


def rendered(kind: str, names: Mapping[str, str]) -> dict[str, str]:
    """Return the texts of a skeleton by their paths."""

    def filled(text: str) -> str:
        for mark, meant in names.items():
            text = text.replace(mark, meant)
        return text

    files = SKELETONS[kind].files.items()
    return {filled(path): filled((TEMPLATES / t).read_text("utf-8")) for path, t in files}


def written(folder: Path, texts: Mapping[str, str]) -> list[Path]:
    """Return the files, all of them written into a folder that held nothing, or none.

    Raises
    ------
    UsageError
        For a folder that holds something, or cannot be written.
    """
    paths = [folder / path for path in texts]
    made = _missing({parent for path in paths for parent in path.parents})
    done: list[Path] = []
    try:
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise UsageError(
                f"{folder} is there already and not an empty folder: give another by --out."
            )
        for path, text in zip(paths, texts.values(), strict=True):
            path.parent.mkdir(parents=True, exist_ok=True)
            done.append(write_whole(path, text))
    except (OSError, UsageError) as error:
        _undo(done, made)
        if isinstance(error, UsageError):
            raise
        reason = error.strerror or error
        raise UsageError(
            f"{folder} cannot be written ({reason}): choose another folder."
        ) from error
    return done


def _missing(folders: set[Path]) -> list[Path]:
    """Return the folders that are not there yet, the innermost first."""
    return sorted((f for f in folders if not f.exists()), key=lambda f: -len(f.parts))


def _undo(files: list[Path], folders: list[Path]) -> None:
    for path in files:
        path.unlink(missing_ok=True)
    for folder in folders:
        with suppress(OSError):  # it was never made
            folder.rmdir()
