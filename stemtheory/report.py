"""One page about what was measured: the bounds against simulation, and every figure.

``reproduce`` runs it all and writes ``index.html`` (one file: style and pictures are inside, so it
opens without a network), and the table as CSV, Markdown and LaTeX beside it. A section of the page
is a heading and its HTML; what is measured later is one more section.

Paper: Theorem (Thm: PR_Convergence_Main_App), Theorem (Thm: Flexible_FedAvg).
"""

from __future__ import annotations

import base64
import csv
import html
import io
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from stemtheory import catalogue
from stemtheory._version import __version__
from stemtheory.bounds import evaluate
from stemtheory.drawing import MODES, draw_figures, figure_entry, writable_folder, write_whole
from stemtheory.errors import choice
from stemtheory.margins import margins, setting_of
from stemtheory.simulate import simulate
from stemtheory.trace import Trace

Value = str | int | float | None

SEED = 0
PROBLEMS = ("quadratic", "geman_mcclure", "cosine")
NUS = (0.0, 0.5, 1.0)
# The bounds that the paper proves; the repaired ones have a table of their own.
BOUNDS_SHOWN = {"stem": ("stem-intermediate", "stem-theorem"), "fedavg": ("fedavg-theorem",)}
STEPS = {"quick": 4096, "full": 65536}
REPLICATES = 32
FORMATS = ("png", "pdf", "svg")
NOT_VERIFIED = "no claim was checked: this report holds bounds against measurement, and figures"


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


def reproduce(
    *,
    mode: str = "quick",
    out: Path = Path("out"),
    progress: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """Return where the report is, what was verified, the figures, and the seconds it took.

    ``quick`` is what runs unless ``full`` is asked for (``default`` means quick here). The files
    are the same on every run; only ``seconds`` differs.

    Raises
    ------
    UsageError
        Before any work, for an unknown mode or a folder that cannot be written.
    """
    start = time.perf_counter()
    mode = "full" if choice("mode", mode, MODES) == "full" else "quick"
    folder = writable_folder(out)
    pictures = writable_folder(folder / "figures")
    table, unexpected = measured_against_bounds(mode, progress)
    names = catalogue.names("figures")
    figures = draw_figures(names, mode=mode, out=pictures, formats=FORMATS, progress=progress)
    progress("writing the report")
    files = {"csv": table.csv(), "md": table.markdown(), "tex": table.latex()}
    for ending, text in files.items():
        write_whole(folder / f"bounds.{ending}", text)
    sections = [bounds_section(table, tuple(files))]
    sections += [figure_section(figure, folder) for figure in figures]
    report = write_whole(folder / "index.html", page(mode, sections))
    return {
        "report": str(report),
        "verify": {"claims": [], "summary": {}, "unexpected": unexpected, "reason": NOT_VERIFIED},
        "figures": figures,
        "seconds": round(time.perf_counter() - start, 3),
    }


def measured_against_bounds(
    mode: str, progress: Callable[[str], None]
) -> tuple[Table, list[dict[str, Value]]]:
    """Return the table "measured against bound", and its rows that contradict a bound or diverged.

    Both algorithms on three problems at nu = 0, 1/2, 1, with the theorem's own schedule.
    """
    columns = (
        *(Column(name, False) for name in ("problem", "algorithm")),
        *(Column(name) for name in ("nu", "T", "K", "b", "I", "measured", "95% low", "95% high")),
        Column("bound", False),
        *(Column(name) for name in ("value", "margin", "informative from T")),
        Column("verdict", False),
    )
    rows: list[tuple[Value, ...]] = []
    for name in PROBLEMS:
        progress(f"measured against bound: {name}")
        for algorithm in BOUNDS_SHOWN:
            for nu in NUS:
                rows += bound_rows(run(name, algorithm, nu, STEPS[mode]))
    title = "Measured M = (1/T) sum of E||grad f(xbar_t)||^2, and the bounds on it"
    note = (
        f"95 % Student interval over {REPLICATES} replicates; theorem schedule, literal reading,"
        " dim 8, L = 1, sigma = 0.5, zeta = 1, x1 = 1. Margin: bound over the interval's upper end;"
        " below 1 the bound is not confirmed. Vacuous: true, but no better than ||grad f(x1)||^2;"
        " 'informative from T' is where that ends, with b and I held. A bound that holds here is"
        " not proved by it; a margin is what these problems leave, not the bound's tightness."
    )
    table = Table(title, note, columns, tuple(rows))
    bad = [row for row in rows if row[-1] in ("violated", "diverged")]
    return table, [dict(zip((c.name for c in columns), row, strict=True)) for row in bad]


def run(name: str, algorithm: str, nu: float, T: int) -> Trace:
    """Return one run of the table, all settings but T at their defaults."""
    problem = catalogue.load_problem(name)
    return simulate(problem, algorithm, T=T, nu=nu, replicates=REPLICATES, seed=SEED)


def bound_rows(trace: Trace) -> list[tuple[Value, ...]]:
    """Return one row of the table for every bound shown of the run's algorithm."""
    s = trace.settings
    low, high = trace.ci95 or (None, None)
    measured = s["nu"], s["T"], s["K"], s["b"], s["I"], trace.mean_grad_sq, low, high
    rows: list[tuple[Value, ...]] = []
    for margin in margins(trace):
        if margin.name not in BOUNDS_SHOWN[s["algorithm"]]:
            continue
        bound = evaluate(margin.name, setting_of(trace), grad_sq=s["grad_sq_start"])
        verdict = "diverged" if trace.status == "diverged" else margin.verdict
        of_bound = margin.name, margin.value, margin.margin, bound.vacuous_below_T, verdict
        rows.append((s["problem"], s["algorithm"], *measured, *of_bound))
    return rows


def bounds_section(table: Table, endings: Sequence[str]) -> Section:
    """Return the section with the table and links to its other forms."""
    links = ", ".join(f'<a href="bounds.{e}">bounds.{e}</a>' for e in endings)
    body = f"{table.html()}\n<p>The same table: {links}.</p>"
    return Section("bounds", "Measured against bound", body)


def figure_section(figure: dict[str, Any], folder: Path) -> Section:
    """Return the section of one drawn figure, its picture inside the page."""
    files = [Path(file) for file in figure["files"]]
    picture = next(file for file in files if file.suffix == ".png")
    data = base64.b64encode(picture.read_bytes()).decode("ascii")
    paragraphs = [f"<p>{html.escape(text)}</p>" for text in figure["caption"].split("\n\n")]
    places = [file.relative_to(folder).as_posix() for file in files]
    links = ", ".join(f'<a href="{html.escape(p)}">{html.escape(p)}</a>' for p in places)
    summary = figure_entry(figure["name"]).summary
    body = (
        f'<figure><div class="wide" tabindex="0"><img alt="{html.escape(summary)}"'
        f' src="data:image/png;base64,{data}"></div>\n'
        f"<figcaption>{''.join(paragraphs)}<p>Files: {links}.</p></figcaption></figure>"
    )
    return Section(figure["name"], summary[:1].upper() + summary[1:], body)


def page(mode: str, sections: Sequence[Section]) -> str:
    """Return the whole page: nothing in it comes from elsewhere, and nothing changes per run."""
    contents = "".join(
        f'<li><a href="#{s.anchor}">{html.escape(s.title)}</a></li>' for s in sections
    )
    bodies = "\n".join(
        f'<section id="{s.anchor}"><h2>{html.escape(s.title)}</h2>\n{s.body}\n</section>'
        for s in sections
    )
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<link rel="icon" href="data:,">\n'
        f"<title>{TITLE}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n"
        f"<h1>{TITLE}</h1>\n<p>{INTRODUCTION}</p>\n"
        f"<p>Made by <code>stemtheory reproduce --{mode}</code>, seed {SEED}, stemtheory"
        f" {__version__}. No claim is checked in this report yet.</p>\n"
        f"<nav><ul>{contents}</ul></nav>\n{bodies}\n</main>\n</body>\n</html>\n"
    )


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
TITLE = "STEM: its bounds against simulation"
INTRODUCTION = (
    "What the theorems on STEM and FedAvg promise, beside what the algorithms do on problems whose"
    " constants L, sigma and zeta are known exactly."
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
  .wide { overflow: visible; }
  table { font-size: 6.5pt; }
  th, td { padding: 1pt 2.5pt; }
  tr, figure { break-inside: avoid; }
  a { color: inherit; text-decoration: none; }
}
"""
