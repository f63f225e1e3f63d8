r"""A ledger in the appendix of a paper: tables of verdicts, and each claim by itself.

A claim's float has its formula, premises, verdicts, and both sides where it is worst. The class
article compiles all of it without a package: what is amsmath's in a formula (\tfrac, \text) is
written with what LaTeX itself has. The tables are there in Markdown too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from stemtheory._version import __version__
from stemtheory.claims import Claim, Pack
from stemtheory.report.formula import parts
from stemtheory.report.ledger_rows import NOTE, LedgerLine, lines
from stemtheory.report.tables import LATEX, Column, Table, shown
from stemtheory.runtime import Verdict

PLAIN = {r"\tfrac": r"\frac", r"\dfrac": r"\frac", r"\text": r"\mbox"}
HEAD = ("reading", "place", "verdict", "left side", "right side", "$t$")
ROWS = 36  # of a table that is set on one page
COLUMNS = (
    Column("claim", False),
    Column("line of the paper", False, share=0.3),
    Column("where", False, share=0.18),
    Column("verdict", False),
    Column("expected", False),
    Column("margin"),
)


def claim_latex(told: Mapping[str, Any]) -> str:
    """Return the float of one claim, from the document of ``explain``."""
    printed = ", ".join(filter(None, (told["number"], told["title"])))
    name = f"{told['id']} ({printed})" if printed else str(told["id"])
    caption = f"{name}: {told['statement']}"
    text = [
        r"\begin{table}[htbp]",
        rf"\caption{{{caption.translate(LATEX)}{_conditions(told)}}}",
        rf"\label{{claim:{told['id']}}}",
        r"\raggedright",
        *(f"$\\displaystyle {part}$" for part in parts(in_latex(told["formula"]))),
        r"\par\medskip",
        r"\begin{tabular}{lllrrr}",
        r"\hline",
        rf"{' & '.join(HEAD)} \\",
        r"\hline",
        *(_row(row) for row in told["rows"]),
        r"\hline",
        r"\end{tabular}",
        *_settings(told["rows"]),
        r"\end{table}",
    ]
    return "\n".join(text) + "\n"


def claims_latex(documents: Sequence[Mapping[str, Any]]) -> str:
    """Return the floats of several claims, one after the other."""
    return "\n".join(claim_latex(told) for told in documents)


def in_latex(formula: str) -> str:
    """Return a formula that needs no package."""
    return re.sub(r"\\[A-Za-z]+", lambda command: PLAIN.get(command[0], command[0]), formula)


def _conditions(told: Mapping[str, Any]) -> str:
    if not told["premises"]:
        return ""
    return f" Premises: {', '.join(told['premises']).translate(LATEX)}."


def _row(row: Mapping[str, Any]) -> str:
    worst = row["worst"] or {}
    sides = (worst.get("left"), worst.get("right"), worst.get("t"))
    cells = (row["reading"], row["where"], row["verdict"], *map(shown, sides))
    return f"{' & '.join(str(cell).translate(LATEX) for cell in cells)} \\\\"


def _settings(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """The parameters of the worst instance of every row that has a case."""
    told_of = []
    for row in rows:
        case = (row["worst"] or {}).get("case")
        if case:
            sizes = {name: case[name] for name in ("K", "b", "I", "rounds", "x1", "schedule")}
            told = ", ".join(f"{k} = {v}" for k, v in {**sizes, **case["dials"]}.items())
            text = f"{row['reading']}, {row['where']}: {case['problem']}, {told}."
            told_of.append(rf"\par\smallskip\footnotesize {text.translate(LATEX)}")
    return told_of


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
        rows = tuple(_cells(line, known[line.id]) for line in mine)
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


def _cells(line: LedgerLine, claim: Claim) -> tuple[str | float | None, ...]:
    printed = ", ".join(filter(None, (claim.number, claim.title))) or claim.label
    return line.id, printed, line.place, line.verdict, line.expected, line.margin
