"""The ledger for a reader: ledger.csv, .json, .md, .tex, and the page ledger.html."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from stemtheory.claims import Claim, Outcome, Packs, select
from stemtheory.report.ledger_page import html_page, title
from stemtheory.report.ledger_rows import NOTE, lines
from stemtheory.report.tables import Column, Table
from stemtheory.runtime import to_json, write_whole

COLUMNS = (
    *(Column(name, False) for name in ("claim", "label", "where", "verdict", "expected")),
    Column("margin"),
    Column("reason", False),
)


def write(
    out: Path,
    document: Mapping[str, Any],
    outcomes: Sequence[Outcome],
    level: str,
    patterns: Sequence[str] = (),
    packs: Packs = (),
) -> list[str]:
    """Return the paths of the five files, written whole."""
    known = {claim.id: claim for claim in select(patterns, packs)}
    tables = section_tables(document, known)
    texts = {
        "csv": full_table(document, title(known)).csv(),
        "json": to_json(document),
        "md": f"# {title(known)}\n\n" + "\n".join(one.markdown() for one in tables) + f"\n{NOTE}\n",
        "tex": "\n".join(one.latex() for one in tables),
        "html": html_page(document, outcomes, level, known, packs),
    }
    return [str(write_whole(out / f"ledger.{ending}", text)) for ending, text in texts.items()]


def full_table(document: Mapping[str, Any], title: str) -> Table:
    """Return every row with its numbers in full, for a spreadsheet."""
    names = ("id", "label", "section", "kind", "reading", "where", "verdict", "expected")
    numbers = ("margin", "left", "right")
    columns = (
        *(Column(name, False) for name in names),
        *(Column(name) for name in (*numbers, "n", "detectable")),
        Column("t", False),
        Column("cells", False),
        Column("case", False),
    )
    rows = []
    for row in document["claims"]:
        worst = row["worst"] or {}
        case = json.dumps(worst["case"], sort_keys=True) if worst.get("case") else None
        noticed = row["detectable"] and row["detectable"]["median"]
        sides = (row["margin"], worst.get("left"), worst.get("right"), row["n"], noticed)
        cells = " ".join(f"{name}={count}" for name, count in row["cells"].items())
        where = None if worst.get("t") is None else str(worst["t"])
        rows.append((*(row[name] for name in names), *sides, where, cells, case))
    return Table(title, NOTE, columns, tuple(rows))


def section_tables(document: Mapping[str, Any], known: Mapping[str, Claim]) -> list[Table]:
    """Return one table per section, readings put together."""
    tables = []
    for section in dict.fromkeys(row["section"] for row in document["claims"]):
        mine = [row for row in document["claims"] if row["section"] == section]
        rows = tuple(
            (x.id, known[x.id].label, x.place, x.verdict, x.expected, x.margin, x.reason)
            for x in lines(mine, known)
        )
        tables.append(Table(section, "", COLUMNS, rows))
    return tables
