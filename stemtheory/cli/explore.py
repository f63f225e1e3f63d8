"""The command explore: the page on which a theorem's constants move."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from stemtheory.cli import console
from stemtheory.cli import options as o
from stemtheory.cli.examples import example

Out = Annotated[Path, o.option(None, "--out FILE", "the page: .html", True)]


def register(app: typer.Typer) -> None:
    """Add the command to the program."""
    app.command(epilog=example("explore"))(explore)


def explore(out: Out = Path("out/explorer.html"), json: o.Json = False) -> int:
    """Write one page with bounds, exact moments and the surface of (b, I) under sliders.

    It opens from the disk without a network, and a setting of it can be sent as its address.
    """
    from stemtheory.report.explorer import write_explorer

    page = write_explorer(out)
    document = {"page": str(page), "bytes": page.stat().st_size}
    console.emit(document, json, lambda: console.line(f"page: {page}"))
    return 0
