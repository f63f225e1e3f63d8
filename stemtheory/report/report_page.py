"""The page of a report: claims, bounds beside measurements, figures, sweeps, and where all is from.

Paper: Theorem (Thm: PR_Convergence_Main_App), Theorem (Thm: Flexible_FedAvg).
"""

from __future__ import annotations

import base64
import html
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from stemtheory.claims import Claim, Packs, asked
from stemtheory.report import drawing
from stemtheory.report.ledger_page import counted, papers, sources
from stemtheory.report.ledger_rows import NOTE, LedgerLine, lines
from stemtheory.report.manifest import Manifest, versions
from stemtheory.report.pages import render
from stemtheory.report.report_sweeps import Result, fit_table
from stemtheory.report.tables import Column, Table
from stemtheory.runtime import Verdict

PICTURES = {".png": "png", ".svg": "svg+xml"}
DIGITS = re.compile(rb"(\b[1-9]\d*\.\d\d)\d+")  # a hundredth of a point is not seen
SENTENCE = re.compile(r"(?<=[a-z0-9)]\.) (?=[A-Z(])")  # where one ends and the next begins
KEYS = (
    "The key is the hash of the code, settings and versions that a part was made from; a part is"
    " made again where its key or one of its files has changed."
)


def report_page(
    folder: Path,
    *,
    mode: str,
    seed: int,
    known: Mapping[str, Claim],
    ledger: Mapping[str, Any],
    bounds: Table,
    figures: Sequence[Mapping[str, Any]],
    left_out: Mapping[str, str],
    sweeps: Sequence[Result],
    long_sweeps: Sequence[str],
    manifest: Manifest,
    packs: Packs = (),
) -> str:
    """Return the report, whose parts lie in ``folder``, as one page.

    ``left_out`` has the reason for each figure that is not here; ``long_sweeps`` are not here
    either.
    """
    shown = [_figure(figure, folder) for figure in figures]
    parts = tuple((part, entry["key"][:16]) for part, entry in sorted(manifest.parts.items()))
    sections = {
        "claims": "The claims",
        "bounds": "Measured against bound",
        **{figure["name"]: figure["title"] for figure in shown},
        "sweeps": "Sweeps",
        **({"left-out": "Figures left out"} if left_out else {}),
        "provenance": "Provenance",
    }
    return render(
        "report.html",
        title=f"{papers(known)}: claims put to the test, bounds against simulation",
        papers=papers(known),
        sources=sources(known),
        packs=asked(packs),
        mode=mode,
        seed=seed,
        folder=folder,
        sections=sections,
        document=ledger,
        counts=counted(ledger),
        lines=lines(ledger["claims"], known),
        known=known,
        failing=failing_lines(ledger, known),
        note=NOTE,
        bounds=with_first(bounds, ("problem", "algorithm", "bound", "verdict", "margin")),
        figures=shown,
        left_out=left_out,
        sweeps=[{**sweep, "table": fit_table(sweep)} for sweep in sweeps],
        long_sweeps=long_sweeps,
        versions=versions(),
        provenance=Table("Parts", KEYS, (Column("part", False), Column("key", False)), parts),
    )


def failing_lines(ledger: Mapping[str, Any], known: Mapping[str, Claim]) -> list[LedgerLine]:
    """Return the lines that fail."""
    failing = [row for row in ledger["claims"] if row["verdict"] == Verdict.VIOLATED]
    return lines(failing, known)


def _figure(figure: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Return what the page shows of a drawn figure, its tables with the files that hold them."""
    files = [Path(file) for file in figure["files"]]
    summary = drawing.figure_entry(figure["name"]).summary
    pictures = {f.suffix: f.read_bytes() for f in files if f.suffix in PICTURES}
    if ".svg" in pictures:
        pictures[".svg"] = DIGITS.sub(rb"\1", pictures[".svg"])
    # the page carries a picture once, in the form that is smaller
    suffix = min(pictures, key=lambda end: len(pictures[end]))
    title = summary[:1].upper() + summary[1:]
    return {
        "name": figure["name"],
        "title": title,
        "alt": f"{title}. {figure['panels']}",
        "picture": base64.b64encode(pictures[suffix]).decode("ascii"),
        "type": PICTURES[suffix],
        "parts": caption_parts(figure["caption"]),
        "places": [file.relative_to(folder).as_posix() for file in files],
        "tables": [(file, _markdown_table(file)) for file in files if file.suffix == ".md"],
    }


def caption_parts(caption: str) -> dict[str, str]:
    """Return a caption as what is seen (its first sentence), numbers, what is not claimed, command.

    A part that a user's own caption lacks is left out.
    """
    text, _, command = caption.partition("\n\nCommand: ")
    told, _, unclaimed = text.partition(" Not claimed: ")
    seen, _, numbers = SENTENCE.sub("\n", told, count=1).partition("\n")
    unclaimed = unclaimed[:1].upper() + unclaimed[1:]
    parts = {"Seen": seen, "Numbers": numbers, "Not claimed": unclaimed, "Command": command}
    return {title: text for title, text in parts.items() if text}


def with_first(table: Table, names: Sequence[str]) -> Table:
    """Return the table with the columns of these names first: what a telephone shows of it."""
    order = [i for name in names for i, c in enumerate(table.columns) if c.name == name]
    order += [i for i in range(len(table.columns)) if i not in order]
    columns = tuple(table.columns[i] for i in order)
    rows = tuple(tuple(row[i] for i in order) for row in table.rows)
    return Table(table.title, table.note, columns, rows)


def _markdown_table(path: Path) -> Table:
    """Return the table that a figure wrote as Markdown, cells as they stand there."""
    title, *lines, note = [line for line in path.read_text(encoding="utf-8").splitlines() if line]
    head, rule, *rows = [html.unescape(line)[2:-2].split(" | ") for line in lines]
    columns = tuple(map(Column, head, (mark.endswith(":") for mark in rule)))
    return Table(title.strip("*"), note, columns, tuple(map(tuple, rows)))
