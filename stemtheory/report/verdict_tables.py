"""Tables of verdicts for a paper's appendix, in LaTeX and in Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from stemtheory._version import __version__
from stemtheory.claims import Claim, Pack
from stemtheory.report.ledger_page import NOTE
from stemtheory.report.ledger_rows import LedgerLine, lines
from stemtheory.report.tables import Column, Table
from stemtheory.runtime import Verdict

ROWS = 36  # of a table that is set on one page
COLUMNS = (
    Column("claim", False),
    Column("line of the paper", False, share=0.3),
    Column("where", False, share=0.18),
    Column("verdict", False),
    Column("expected", False),
    Column("margin"),
)


def verdicts_latex(document: Mapping[str, Any], known: Mapping[str, Claim], level: str) -> str:
    """Return the tables of a document's verdicts, without a package beyond plain LaTeX."""
    return "\n".join(table.latex() for table in verdict_tables(document, known, level, ROWS))


def verdicts_markdown(document: Mapping[str, Any], known: Mapping[str, Claim], level: str) -> str:
    """Return the same, one table for each pack."""
    return "\n".join(table.markdown() for table in verdict_tables(document, known, level))


def verdict_tables(
    document: Mapping[str, Any], known: Mapping[str, Claim], level: str, most: int | None = None
) -> Iterator[Table]:
    """Yield the tables of each pack, with at most so many rows; what has no pack comes together."""
    found = lines(document["claims"], known)
    for pack in dict.fromkeys(known[line.id].pack for line in found):
        mine = [line for line in found if known[line.id].pack is pack]
        rows = tuple(_row(line, known[line.id]) for line in mine)
        title, note = _title(pack), _note(mine, level)
        for start in range(0, len(rows), most or len(rows)):
            yield Table(title, note, COLUMNS, rows[start : most and start + most])
            title, note = f"{_title(pack)} (continued)", ""


def _title(pack: Pack | None) -> str:
    if pack is None:
        return "Verdicts on claims of one's own"
    return f"Verdicts on {pack.title} ({', '.join(pack.authors)}, {pack.year}, {pack.source})"


def _note(found: Sequence[LedgerLine], level: str) -> str:
    """Return what the words mean that stand in a table, and who says so."""
    words = dict.fromkeys(line.verdict for line in found)
    meant = "; ".join(f"{word}: {Verdict(word).meaning}" for word in words)
    return f"By stemtheory {__version__}, panel {level}. {meant[:1].upper()}{meant[1:]}. {NOTE}"


def _row(line: LedgerLine, claim: Claim) -> tuple[str | float | None, ...]:
    printed = ", ".join(filter(None, (claim.number, claim.title))) or claim.label
    return line.id, printed, line.place, line.verdict, line.expected, line.margin
