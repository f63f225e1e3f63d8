"""Tables and pages as text: a table for a spreadsheet, a repository, a paper and a browser.

A page is one file: its style, its pictures and its script are inside, so it opens without a
network, reads on a telephone and prints.
"""

from __future__ import annotations

import base64
import csv
import html
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

Value = str | int | float | None


class Column(NamedTuple):
    """A heading, and whether the cells are numbers (set to the right)."""

    name: str
    number: bool = True


@dataclass(frozen=True)
class Table:
    """A table as data, and the same table for a spreadsheet, a repository, a paper and a browser.

    CSV holds every number in full and nothing where a value is missing; the other three show three
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
        spec = "".join("r" if column.number else "l" for column in self.columns)
        head = latex_row([column.name for column in self.columns])
        body = [latex_row([shown(cell) for cell in row]) for row in self.rows]
        return "\n".join(
            [
                r"\begin{table}",
                rf"\caption{{{latex_text(f'{self.title}. {self.note}')}}}",
                rf"\begin{{tabular}}{{{spec}}}",
                *(r"\hline", head, r"\hline", *body, r"\hline"),
                r"\end{tabular}",
                r"\end{table}",
                "",
            ]
        )

    def html(self) -> str:
        """Return it as an HTML table that scrolls sideways where it does not fit."""
        kinds = ["n" if column.number else "t" for column in self.columns]
        head = _cells("th", [column.name for column in self.columns], kinds, ' scope="col"')
        body = [_cells("td", [shown(cell) for cell in row], kinds) for row in self.rows]
        return (
            '<div class="wide" tabindex="0"><table>\n'
            f"<caption>{html.escape(self.title)}</caption>\n<thead>{head}</thead>\n<tbody>\n"
            + "\n".join(body)
            + f'\n</tbody></table></div>\n<p class="note">{html.escape(self.note)}</p>'
        )


class Section(NamedTuple):
    """One section of the page: an anchor, a heading, and HTML."""

    anchor: str
    title: str
    body: str


def page(
    title: str, lead: str, sections: Sequence[Section], *, style: str = "", script: str = ""
) -> str:
    """Return the whole page: nothing in it comes from elsewhere, and nothing changes per run.

    ``lead`` is the HTML below the title; ``style`` and ``script`` join the page's own.
    """
    contents = "".join(
        f'<li><a href="#{s.anchor}">{html.escape(s.title)}</a></li>' for s in sections
    )
    bodies = "\n".join(
        f'<section id="{s.anchor}"><h2>{html.escape(s.title)}</h2>\n{s.body}\n</section>'
        for s in sections
    )
    active = f"<script>\n{script}</script>\n" if script else ""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<link rel="icon" href="data:,">\n'
        f"<title>{html.escape(title)}</title>\n<style>\n{STYLE}{style}</style>\n</head>\n<body>\n"
        f"<main>\n<h1>{html.escape(title)}</h1>\n{lead}\n"
        f"<nav><ul>{contents}</ul></nav>\n{bodies}\n</main>\n{active}</body>\n</html>\n"
    )


def download(path: Path, name: str = "") -> str:
    """Return a link that saves a small file which is inside the page: it works by itself."""
    data = base64.b64encode(path.read_bytes()).decode("ascii")
    name = html.escape(name or path.name)
    return f'<a download="{name}" href="data:text/plain;base64,{data}">{name}</a>'


def shown(value: Value) -> str:
    """Return a cell as a reader sees it: three significant digits, a dash for nothing."""
    if value is None:
        return "–"
    if isinstance(value, int):
        return f"{value:,}" if abs(value) >= 10000 else str(value)
    if isinstance(value, str):
        return value
    if not math.isfinite(value) or math.isclose(float(f"{value:.3g}"), value, rel_tol=1e-9):
        return f"{value:g}"
    if 1000 <= abs(value) < 1e6:
        return f"{float(f'{value:.3g}'):,.0f}"
    return f"{value:#.3g}".rstrip(".")


def latex_row(cells: Sequence[str]) -> str:
    """Return one line of a tabular."""
    return " & ".join(latex_text(cell) for cell in cells) + r" \\"


def latex_text(text: str) -> str:
    """Return text with LaTeX's special characters escaped."""
    return text.translate(LATEX)


def _cells(tag: str, cells: Sequence[str], kinds: Sequence[str], attributes: str = "") -> str:
    inner = (
        f'<{tag} class="{kind}"{attributes}>{html.escape(cell)}</{tag}>'
        for cell, kind in zip(cells, kinds, strict=True)
    )
    return f"<tr>{''.join(inner)}</tr>"


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
STYLE = """\
:root { color-scheme: light; }
body { margin: 0; font: 16px/1.5 system-ui, sans-serif; color: #1a1a1a; background: #fff; }
main { max-width: 72rem; margin: 0 auto; padding: 1rem; }
h1 { font-size: 1.6rem; line-height: 1.2; }
h2 { font-size: 1.25rem; margin-top: 2.5rem; }
a { color: #00548a; }
code { font-size: 0.9em; overflow-wrap: anywhere; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: 0.85rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; font-weight: 600; padding-bottom: 0.4rem; }
.note { font-size: 0.9rem; max-width: 60rem; }
th, td { padding: 0.2rem 0.55rem; border-bottom: 1px solid #d9d9d9; white-space: nowrap; }
thead th { border-bottom: 2px solid #555; vertical-align: bottom; white-space: normal; }
.n { text-align: right; }
.t { text-align: left; }
figure { margin: 0; }
img { max-width: 100%; height: auto; }
figcaption { font-size: 0.9rem; max-width: 60rem; }
@media (max-width: 40rem) {
  main { padding: 0.6rem; }
  td, th { padding: 0.2rem 0.35rem; }
  .wide img { max-width: none; width: 46rem; }
}
@media print {
  body { font-size: 10pt; }
  main { max-width: none; padding: 0; }
  nav { display: none; }
  section + section { break-before: page; }
  h2 { margin-top: 0; }
  p, figcaption { max-width: none; }
  h1, h2, h3, caption { break-after: avoid; break-inside: avoid; }
  .wide { overflow: visible; }
  pre { overflow: visible; white-space: pre-wrap; }
  table { font-size: 6pt; }
  th, td { padding: 1pt 2pt; }
  tr, figure { break-inside: avoid; }
  a { color: inherit; text-decoration: none; }
}
"""
