r"""A claim for the appendix of a paper: formula, premises, verdicts, both sides where it is worst.

The text is a float that the class article compiles without a package: what is amsmath's in a
formula (\tfrac, \text) is written with what LaTeX itself has.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from stemtheory.report.formula import parts
from stemtheory.report.tables import LATEX, shown

PLAIN = {r"\tfrac": r"\frac", r"\dfrac": r"\frac", r"\text": r"\mbox"}
HEAD = ("reading", "place", "verdict", "left side", "right side", "$t$")


def claim_latex(told: Mapping[str, Any]) -> str:
    """Return the float of one claim, from the document of ``explain``."""
    printed = ", ".join(filter(None, (told["number"], told["title"])))
    name = f"{told['id']} ({printed})" if printed else str(told["id"])
    caption = f"{name}: {told['statement']}"
    lines = [
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
    return "\n".join(lines) + "\n"


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
    lines = []
    for row in rows:
        case = (row["worst"] or {}).get("case")
        if case:
            sizes = {name: case[name] for name in ("K", "b", "I", "rounds", "x1", "schedule")}
            told = ", ".join(f"{k} = {v}" for k, v in {**sizes, **case["dials"]}.items())
            text = f"{row['reading']}, {row['where']}: {case['problem']}, {told}."
            lines.append(rf"\par\smallskip\footnotesize {text.translate(LATEX)}")
    return lines
