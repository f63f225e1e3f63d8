"""One page about what was measured: the claims, the bounds against simulation, every figure.

``reproduce`` runs it all and writes ``index.html`` (one file: style and pictures are inside, so it
opens without a network; so are the small tables, to be saved), with the ledger, the figures and the
sweeps beside it. A section of the page is a heading and its HTML.

Paper: Theorem (Thm: PR_Convergence_Main_App), Theorem (Thm: Flexible_FedAvg).
"""

from __future__ import annotations

import base64
import csv
import html
import json
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from stemtheory._version import __version__
from stemtheory.bounds import evaluate, setting_of
from stemtheory.claims import select, together
from stemtheory.oracles import catalogue
from stemtheory.report import ledger_page, ledger_report, pages, report_sweeps
from stemtheory.report.drawing import (
    MODES,
    STYLE,
    draw_figures,
    figure_entry,
    writable_folder,
    write_table,
)
from stemtheory.report.ledger_rows import lines
from stemtheory.report.manifest import PACKAGE, Manifest, key_of, versions
from stemtheory.report.pages import Column, Section, Table, Value, download
from stemtheory.runtime import Verdict, choice, write_whole
from stemtheory.simulator import Trace, simulate

SEED = 0
PROBLEMS = ("quadratic", "geman_mcclure", "cosine")
NUS = (0.0, 0.5, 1.0)
# The bounds that the paper proves; the repaired ones have a table of their own.
BOUNDS_SHOWN = {"stem": ("stem-intermediate", "stem-theorem"), "fedavg": ("fedavg-theorem",)}
STEPS = {"quick": 4096, "full": 65536}
REPLICATES = 32
FORMATS = ("png", "pdf", "svg")
APART = ("paper_figure", "gradient_floor")  # figures that take longer than all others together
# Figures that a sweep of the report has measured already.
MEASURED_BY = {
    "heterogeneity": "heterogeneity",
    "margins": "margins",
    "systems": "systems",
    "table1": "systems",
    **dict.fromkeys(("suboptimal", "tradeoff_curve", "tradeoff_surface"), "tradeoff"),
}
CASES = PACKAGE / "claims" / "cases"
CLAIMS: tuple[str, ...] = ()  # patterns of the claims that are checked: all


def reproduce(
    *,
    mode: str = "quick",
    out: Path = Path("out"),
    progress: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """Return where the report is, what was verified, the figures, and the seconds it took.

    ``quick`` is what runs unless ``full`` is asked for (``default`` means quick here). The files
    are the same on every run; only ``seconds`` differs. What the folder holds already and nothing
    has changed of is not made again (``manifest.json``), so a run that was stopped goes on.

    Raises
    ------
    UsageError
        Before any work, for an unknown mode or a folder that cannot be written.
    """
    start = time.perf_counter()
    mode = "full" if choice("mode", mode, MODES) == "full" else "quick"
    folder = writable_folder(out)
    manifest = Manifest(folder)
    ledger = checked_claims(mode, folder, manifest, progress)
    table, unexpected = measured_against_bounds(mode, folder, manifest, progress)
    sweeps, long_sweeps = report_sweeps.every_sweep(mode, folder, manifest, progress)
    figures, left_out = every_figure(mode, folder, manifest, progress)
    progress("writing the report")
    sections = [claims_section(ledger, folder), bounds_section(table, folder)]
    sections += [figure_section(figure, folder) for figure in figures]
    sections += [report_sweeps.section(sweeps, long_sweeps, mode, folder)]
    sections += [missing_section(left_out)] if left_out else []
    sections += [provenance_section(manifest)]
    report = write_whole(folder / "index.html", page(mode, sections))
    unexpected = [*ledger["unexpected"], *unexpected, *report_sweeps.unexpected(sweeps)]
    return {
        "report": str(report),
        "verify": {**ledger, "unexpected": unexpected},
        "figures": figures,
        "seconds": round(time.perf_counter() - start, 3),
    }


def every_figure(
    mode: str, folder: Path, manifest: Manifest, progress: Callable[[str], None]
) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """Return the figures drawn, and those left out with the reason for each."""
    drawn: list[dict[str, Any]] = []
    left_out: dict[str, str] = {}
    for name in catalogue.names("figures"):
        entry = figure_entry(name)
        measured = report_sweeps.store_of(MEASURED_BY.get(name, ""), mode, folder)
        chosen = entry.report_mode if mode == "full" and measured is None else mode
        reason = entry.lacks(chosen)
        if mode == "quick" and name.startswith(APART):
            reason = f"it trains networks on images: stemtheory figure {name} --quick"
        if reason is None:
            drawn.append(one_figure(name, chosen, folder, manifest, progress))
        else:
            progress(f"figure {name}: left out, {reason}")
            left_out[name] = reason
    return drawn, left_out


def one_figure(
    name: str, mode: str, folder: Path, manifest: Manifest, progress: Callable[[str], None]
) -> dict[str, Any]:
    """Return name, files and caption of a figure, drawn unless it is there already."""
    part = f"figure {name}"
    roots = (f"stemtheory.figures.{name}", "stemtheory.report.drawing")
    sweep = MEASURED_BY.get(name, "")
    made = manifest.parts.get(f"sweep {sweep}", {}).get("key")
    key = key_of(roots, mode, FORMATS, made, data=[STYLE])
    kept = manifest.kept(part, key)
    if kept is None:
        manifest.begin(part, key)
        pictures = writable_folder(folder / "figures")
        (found,) = draw_figures(
            [name],
            mode=mode,
            store=report_sweeps.store_of(sweep, mode, folder),
            out=pictures,
            formats=FORMATS,
            progress=progress,
        )
        files = [Path(file) for file in found["files"]]
        kept = found | {"files": [file.relative_to(folder).as_posix() for file in files]}
        manifest.done(part, key, kept, files)
    else:
        progress(f"figure {name}: as before")
    return {**kept, "files": [str(folder / file) for file in kept["files"]]}


def missing_section(left_out: dict[str, str]) -> Section:
    """Return the section that says which figures are not here, and what they need."""
    rows = (f"<li>{html.escape(f'{n}: {reason}')}</li>" for n, reason in left_out.items())
    return Section("left-out", "Figures left out", f"<ul>{''.join(rows)}</ul>")


def checked_claims(
    mode: str, folder: Path, manifest: Manifest, progress: Callable[[str], None]
) -> dict[str, Any]:
    """Return the document of the ledger, whose files lie in ``folder``."""
    cases = sorted(CASES.glob("*.json"))
    key = key_of(
        ("stemtheory.claims", "stemtheory.report.ledger_report"), mode, CLAIMS, SEED, data=cases
    )
    if manifest.kept("claims", key) is None:
        progress("checking every claim")
        manifest.begin("claims", key)
        found = together.outcomes(CLAIMS, level=mode, seed=SEED)
        document = together.document(found, mutants=False)
        files = ledger_report.write(folder, document, found, mode, CLAIMS)
        manifest.done("claims", key, document["summary"], map(Path, files))
    else:
        progress("claims: as before")
    text = (folder / "ledger.json").read_text(encoding="utf-8")
    document = json.loads(text)
    return dict(document)


def claims_section(document: Mapping[str, Any], folder: Path) -> Section:
    """Return the section on the ledger: what fails, and every row, to filter and to sort."""
    counts = ", ".join(f"{n} {verdict}" for verdict, n in document["summary"].items())
    saved = ", ".join(download(folder / f"ledger.{e}") for e in ("csv", "md", "tex"))
    body = (
        f"<p>Every line of the paper is a claim that was put to the test: {html.escape(counts)};"
        f" {len(document['unexpected']) or 'none'} of them unexpected. Claims are counted under"
        " each reading of the algorithm; the table puts those with one verdict into one row."
        ' <a href="ledger.html">The ledger</a> has each with its formula, premises, both sides and'
        f" worst case ({saved})."
        " These fail, as this project found, and have a counterexample:</p>"
    )
    known = {claim.id: claim for claim in select(CLAIMS)}
    failing = [row for row in document["claims"] if row["verdict"] == Verdict.VIOLATED]
    columns = (*(Column(n, False) for n in ("claim", "statement", "where")), Column("margin"))
    rows = tuple(
        (item.id, known[item.id].statement, item.place, item.margin)
        for item in lines(failing, known)
    )
    table = Table("Lines that fail", ledger_page.NOTE, columns, rows)
    every = ledger_page.table(lines(document["claims"], known), known, "ledger.html")
    return Section("claims", "The claims", f"{body}{table.html()}<h3>Every claim</h3>{every}")


def measured_against_bounds(
    mode: str, folder: Path, manifest: Manifest, progress: Callable[[str], None]
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
    key = key_of(("stemtheory.report.reproduction",), mode, PROBLEMS, STEPS, REPLICATES)
    kept = manifest.kept("bounds", key)
    rows = kept or measured_rows(mode, progress)
    title = "Measured M = (1/T) sum of E||grad f(xbar_t)||^2, and the bounds on it"
    note = (
        f"95 % Student interval over {REPLICATES} replicates; theorem schedule, literal reading,"
        " dim 8, L = 1, sigma = 0.5, zeta = 1, x1 = 1. Margin: bound over the interval's upper end;"
        " below 1 the bound is not confirmed. Vacuous: true, but no better than ||grad f(x1)||^2;"
        " 'informative from T' is where that ends, with b and I held. A bound that holds here is"
        " not proved by it; a margin is what these problems leave, not the bound's tightness."
    )
    table = Table(title, note, columns, tuple(tuple(row) for row in rows))
    if kept is None:
        manifest.done("bounds", key, rows, write_table(table, folder / "bounds"))
    bad = [row for row in rows if row[-1] in ("violated", "diverged")]
    return table, [dict(zip((c.name for c in columns), row, strict=True)) for row in bad]


def measured_rows(mode: str, progress: Callable[[str], None]) -> list[tuple[Value, ...]]:
    """Return the rows of the table, measured."""
    rows: list[tuple[Value, ...]] = []
    for name in PROBLEMS:
        progress(f"measured against bound: {name}")
        for algorithm in BOUNDS_SHOWN:
            for nu in NUS:
                rows += bound_rows(run(name, algorithm, nu, STEPS[mode]))
    return rows


def run(name: str, algorithm: str, nu: float, T: int) -> Trace:
    """Return one run of the table, all settings but T at their defaults."""
    problem = catalogue.load_problem(name)
    return simulate(problem, algorithm, T=T, nu=nu, replicates=REPLICATES, seed=SEED)


def bound_rows(trace: Trace) -> list[tuple[Value, ...]]:
    """Return one row of the table for every bound shown of the run's algorithm."""
    s = trace.settings
    low, high = trace.ci95 or (None, None)
    measured = s["nu"], s["T"], s["K"], s["b"], s["I"], trace.mean_grad_sq, low, high
    setting = setting_of(trace.run, trace.circumstances.constants)
    rows: list[tuple[Value, ...]] = []
    for margin in trace.bounds():
        if margin.name not in BOUNDS_SHOWN[s["algorithm"]]:
            continue
        bound = evaluate(margin.name, setting, grad_sq=s["grad_sq_start"])
        verdict = "diverged" if trace.status == "diverged" else margin.verdict
        of_bound = margin.name, margin.value, margin.margin, bound.vacuous_below_T, verdict
        rows.append((s["problem"], s["algorithm"], *measured, *of_bound))
    return rows


def bounds_section(table: Table, folder: Path) -> Section:
    """Return the section with the table and its other forms."""
    links = ", ".join(download(folder / f"bounds.{e}") for e in ("csv", "md", "tex"))
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
    numbers = [file for file in files if file.suffix == ".csv"]
    table = "".join(f"{csv_table(file).html()}<p>{_forms(file)}</p>" for file in numbers)
    body = (
        f'<figure><div class="wide" tabindex="0"><img alt="{html.escape(summary)}"'
        f' src="data:image/png;base64,{data}"></div>\n'
        f"<figcaption>{''.join(paragraphs)}<p>Files: {links}.</p></figcaption></figure>{table}"
    )
    return Section(figure["name"], summary[:1].upper() + summary[1:], body)


def csv_table(path: Path) -> Table:
    """Return the table that a figure wrote as CSV, cells as they stand there."""
    with path.open(newline="", encoding="utf-8") as file:
        head, *rows = csv.reader(file)
    columns = (Column(head[0], False), *(Column(name) for name in head[1:]))
    return Table(f"{path.stem}, in numbers", "", columns, tuple(_dashed(row) for row in rows))


def _dashed(row: list[str]) -> tuple[Value, ...]:
    return tuple(cell or None for cell in row)


def _forms(path: Path) -> str:
    """Return the links to the forms of a table that lies in ``path``."""
    forms = ", ".join(download(path.with_suffix(e)) for e in (".csv", ".md", ".tex"))
    return f"The same table: {forms}."


def provenance_section(manifest: Manifest) -> Section:
    """Return the section that says which code and versions made each part."""
    made = ", ".join(f"{name} {version}" for name, version in versions().items())
    rows = tuple((part, entry["key"][:16]) for part, entry in sorted(manifest.parts.items()))
    note = (
        "The key is the hash of the code, settings and versions that a part was made from; a part"
        " is made again where its key or one of its files has changed."
    )
    columns = (Column("part", False), Column("key", False))
    table = Table("Parts", note, columns, rows)
    return Section("provenance", "Provenance", f"<p>{html.escape(made)}.</p>{table.html()}")


def page(mode: str, sections: Sequence[Section]) -> str:
    """Return the report as one page."""
    lead = (
        f"<p>{INTRODUCTION}</p>\n"
        f"<p>Made by <code>stemtheory reproduce --{mode}</code>, seed {SEED}, stemtheory"
        f" {__version__}.</p>"
    )
    script = ledger_page.SCRIPT if any(s.anchor == "claims" for s in sections) else ""
    return pages.page(TITLE, lead, sections, style=ledger_page.STYLE, script=script)


TITLE = "STEM: its bounds against simulation"
INTRODUCTION = (
    "What the theorems on STEM and FedAvg promise, beside what the algorithms do on problems whose"
    " constants L, sigma and zeta are known exactly."
)
