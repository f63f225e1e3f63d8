"""A table as data, and the same table for a spreadsheet, a repository and a paper."""

from __future__ import annotations

import csv
import io
import math
from dataclasses import dataclass
from typing import NamedTuple

from stemtheory.runtime import large, rounded

Value = str | int | float | None


class Column(NamedTuple):
    """A heading, and whether the cells are numbers (set to the right).

    ``share`` is how much of a printed page's width its words may take before they are broken.
    """

    name: str
    number: bool = True
    share: float | None = None

    @property
    def latex(self) -> str:
        """How a tabular sets it."""
        if self.share is not None:
            return rf"p{{{self.share}\textwidth}}"
        return "r" if self.number else "l"


@dataclass(frozen=True)
class Table:
    """A table as data, and as text; a page's template shows it to a browser.

    CSV holds every number in full and nothing where a value is missing; the others show three
    significant digits and a dash. ``note`` is what a reader must know beside the ``title``.
    """

    title: str
    note: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Value, ...], ...]

    def csv(self) -> str:
        """Return it as CSV, numbers exact."""
        buffer = io.StringIO()
        writer = csv.writer(buffer, lineterminator="\n")
        writer.writerow([column.name for column in self.columns])
        writer.writerows(["" if cell is None else cell for cell in row] for row in self.rows)
        return buffer.getvalue()

    def markdown(self) -> str:
        """Return it as a pipe table."""
        escape = str.maketrans({"|": r"\|", "\n": " ", "<": "&lt;"})
        lines = [
            [c.name for c in self.columns],
            ["---:" if c.number else "---" for c in self.columns],
        ]
        lines += [[shown(cell) for cell in row] for row in self.rows]
        body = [f"| {' | '.join(cell.translate(escape) for cell in line)} |" for line in lines]
        return "\n".join([f"**{self.title}**", "", *body, "", self.note]) + "\n"

    def latex(self) -> str:
        """Return it as a tabular in a table, without a package beyond plain LaTeX."""
        rows = [[c.name for c in self.columns], *([shown(c) for c in row] for row in self.rows)]
        head, *body = (" & ".join(c.translate(LATEX) for c in row) + r" \\" for row in rows)
        spec = "".join(column.latex for column in self.columns)
        lines = [
            r"\begin{table}",
            rf"\caption{{{f'{self.title}. {self.note}'.translate(LATEX)}}}",
            rf"\begin{{tabular}}{{{spec}}}",
            *(r"\hline", head, r"\hline", *body, r"\hline"),
            r"\end{tabular}",
            r"\end{table}",
        ]
        return "\n".join(lines) + "\n"


def shown(value: Value) -> str:
    """Return a cell as a reader sees it: three significant digits, a dash for nothing."""
    if value is None:
        return "–"
    if isinstance(value, int):
        return large(value)
    if isinstance(value, str):
        return value
    if not abs(value) < 1000 or math.isclose(float(f"{value:.3g}"), value, rel_tol=1e-9):
        return rounded(value)  # NaN too
    return f"{value:#.3g}".rstrip(".")


LATEX = str.maketrans(
    {
        **{character: f"\\{character}" for character in "&%$#_{}"},
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "\\": r"\textbackslash{}",
        "|": r"\textbar{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "–": "--",
    }
)
