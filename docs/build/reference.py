"""A Sphinx extension: the reference pages, written from the package's catalogues at every build.

One page for each claim, with what `explain` says of it, and one for problems, algorithms, bounds,
noise, heterogeneity and commands. Whatever is added to a catalogue is on the site with the next
build, and nothing of it is kept.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from docs.build.templates import DOCS, filled
from stemtheory.bounds import BOUNDS
from stemtheory.claims import Claim, claims, explain
from stemtheory.cli.app import app as command_line
from stemtheory.cli.inventory import entries
from stemtheory.oracles import names
from stemtheory.oracles.heterogeneity import HETEROGENEITIES
from stemtheory.oracles.noise import NOISES
from stemtheory.runtime import Verdict, rounded
from stemtheory.runtime.verdict import DECIDING

FOLDER = "reference/generated"
CELL = str.maketrans({"|": r"\|", "\n": " "})


def pages() -> Iterator[tuple[str, str]]:
    """Yield the path below docs/ and the text of every page."""
    yield f"{FOLDER}/claims.md", page("claims", sections=sections())
    for claim in claims().values():
        yield f"{FOLDER}/claims/{claim.id}.md", page("claim", claim=claim, **found(claim))
    yield f"{FOLDER}/problems.md", page("problems", problems=list(problems()))
    yield f"{FOLDER}/algorithms.md", page("algorithms", algorithms=entries("algorithms"))
    yield f"{FOLDER}/bounds.md", page("bounds", bounds=list(BOUNDS.values()))
    yield (
        f"{FOLDER}/oracles.md",
        page("oracles", noises=NOISES.values(), heterogeneities=HETEROGENEITIES.values()),
    )
    yield f"{FOLDER}/verdicts.md", page("verdicts", verdicts=list(Verdict), deciding=DECIDING)
    yield f"{FOLDER}/commands.md", page("commands", commands=list(commands()))


def page(name: str, **values: Any) -> str:
    """Return a page of the reference, filled."""
    return filled(f"build/pages/{name}.md", values)


def sections() -> dict[str, list[Claim]]:
    """Return the claims by section, both in the ledger's order."""
    by_section: dict[str, list[Claim]] = {}
    for claim in claims().values():
        by_section.setdefault(claim.section, []).append(claim)
    return by_section


def found(claim: Claim) -> dict[str, Any]:
    """Return what `explain` finds out about a claim now, as the page shows it."""
    told = explain(claim.id)
    rows = [
        {**row, "margin": "" if row["margin"] is None else rounded(row["margin"], 4)}
        for row in told["rows"]
    ]
    return {"told": {**told, "rows": rows}}


def problems() -> Iterator[dict[str, Any]]:
    """Yield the problems that need data: docs/problems.md derives the others."""
    known = names("problems")
    for entry in entries("problems"):
        module = importlib.import_module(f"stemtheory.problems.{entry['name']}")
        text = inspect.cleandoc(module.__doc__ or "")
        yield {**entry, "page": entry["name"] in known, "text": text}


def commands() -> Iterator[dict[str, Any]]:
    """Yield each command with its help and its parameters, as `--help` has them."""
    group = typer.main.get_command(command_line)
    context = typer.Context(group, info_name="stemtheory")
    for name, command in group.commands.items():  # type: ignore[attr-defined]
        parameters = [
            {"flags": ", ".join([*p.opts, *p.secondary_opts]), "help": cell(p)}
            for p in command.get_params(typer.Context(command, info_name=name, parent=context))
        ]
        yield {"name": name, "help": inspect.cleandoc(command.help or ""), "options": parameters}


def cell(parameter: Any) -> str:
    """Return a parameter's help as one cell of a table."""
    return str(getattr(parameter, "help", None) or "").translate(CELL)


def write(folder: Path = DOCS) -> None:
    """Write every page; one that is the same keeps its time, so that it is not built again."""
    made = dict(pages())
    for place, text in made.items():
        path = folder / place
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
    for old in (folder / FOLDER).rglob("*.md"):
        if str(old.relative_to(folder)) not in made:
            old.unlink()


def setup(app: Any) -> dict[str, bool]:
    """Write the pages before Sphinx looks for its sources."""
    app.connect("config-inited", lambda app, config: write(Path(app.srcdir)))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
