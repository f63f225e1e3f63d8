"""The page of a report: claims, bounds beside measurements, figures, sweeps, and where all is from.

Paper: Theorem (Thm: PR_Convergence_Main_App), Theorem (Thm: Flexible_FedAvg).
"""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from stemtheory.claims import Claim
from stemtheory.report import drawing
from stemtheory.report.ledger_page import NOTE, counted
from stemtheory.report.ledger_rows import lines
from stemtheory.report.manifest import Manifest, versions
from stemtheory.report.pages import render
from stemtheory.report.report_sweeps import Result, fit_table
from stemtheory.report.tables import Column, Table
from stemtheory.runtime import Verdict

TITLE = "STEM: its bounds against simulation"
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
        title=TITLE,
        mode=mode,
        seed=seed,
        folder=folder,
        sections=sections,
        document=ledger,
        counts=counted(ledger),
        lines=lines(ledger["claims"], known),
        known=known,
        failing=failing_lines(ledger, known),
        bounds=bounds,
        figures=shown,
        left_out=left_out,
        sweeps=[{**sweep, "table": fit_table(sweep)} for sweep in sweeps],
        long_sweeps=long_sweeps,
        versions=versions(),
        provenance=Table("Parts", KEYS, (Column("part", False), Column("key", False)), parts),
    )


def failing_lines(ledger: Mapping[str, Any], known: Mapping[str, Claim]) -> Table:
    """Return the lines of the paper that fail, with the claims' statements."""
    failing = [row for row in ledger["claims"] if row["verdict"] == Verdict.VIOLATED]
    columns = (*(Column(n, False) for n in ("claim", "statement", "where")), Column("margin"))
    rows = ((x.id, known[x.id].statement, x.place, x.margin) for x in lines(failing, known))
    return Table("Lines that fail", NOTE, columns, tuple(rows))


def _figure(figure: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Return what the page shows of a drawn figure, its tables with the files that hold them."""
    files = [Path(file) for file in figure["files"]]
    summary = drawing.figure_entry(figure["name"]).summary
    return {
        "name": figure["name"],
        "summary": summary,
        "title": summary[:1].upper() + summary[1:],
        "picture": next(file for file in files if file.suffix == ".png"),
        "paragraphs": figure["caption"].split("\n\n"),
        "places": [file.relative_to(folder).as_posix() for file in files],
        "tables": [(file, _markdown_table(file)) for file in files if file.suffix == ".md"],
    }


def _markdown_table(path: Path) -> Table:
    """Return the table that a figure wrote as Markdown, cells as they stand there."""
    title, *lines, note = [line for line in path.read_text(encoding="utf-8").splitlines() if line]
    head, rule, *rows = [html.unescape(line)[2:-2].split(" | ") for line in lines]
    columns = tuple(map(Column, head, (mark.endswith(":") for mark in rule)))
    return Table(title.strip("*"), note, columns, tuple(map(tuple, rows)))
