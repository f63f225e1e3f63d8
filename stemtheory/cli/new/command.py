"""The command new: a skeleton that works, with its tests, in a folder of one's own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from stemtheory.cli import console
from stemtheory.cli import options as o
from stemtheory.cli.completion import one_of
from stemtheory.cli.display import Document
from stemtheory.cli.examples import example
from stemtheory.cli.new.skeletons import (
    NAMED,
    SKELETONS,
    check_name,
    names_of,
    rendered,
    written,
)
from stemtheory.runtime import choice

Kind = Annotated[str, o.argument("KIND", ", ".join(SKELETONS), one_of(*SKELETONS))]
Name = Annotated[str, o.argument("NAME", "of the module: small letters, digits and _")]
_OUT = "a folder that is empty, or not there yet; by default NAME in this one"
OutFolder = Annotated[Path | None, o.option(None, "--out DIR", _OUT)]


def register(app: typer.Typer) -> None:
    """Add the command to the program."""
    app.command(epilog=example("new"))(new)


def new(kind: Kind, name: Name, out: OutFolder = None, json: o.Json = False) -> int:
    """Write a skeleton that works, with its tests, for a pack, problem, claim and so on."""
    choice("kind", kind, tuple(SKELETONS))
    check_name(name)
    folder = Path(name) if out is None else out
    files = written(folder, rendered(kind, names_of(name)))
    first = SKELETONS[kind].first.replace(NAMED, name)
    document = {"kind": kind, "name": name, "files": [str(path) for path in files]}
    document["next"] = [f"cd {folder}", first, "python -m pytest"]
    console.emit(document, json, lambda: show(document))
    return 0


def show(document: Document) -> None:
    """Print the files, and what to type next."""
    for path in document["files"]:
        console.line(f"written: {path}")
    console.line("it works as it stands; try it, then put your own in its place:")
    for command in document["next"]:
        console.line(f"  {command}")
