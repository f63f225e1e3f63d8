"""One page about what was measured: the claims, the bounds against simulation, every figure.

``reproduce`` runs it all and writes ``index.html`` (one file: style and pictures are inside, so it
opens without a network; so are the small tables, to be saved), with the ledger, the figures and the
sweeps beside it.

Paper: Theorem (Thm: PR_Convergence_Main_App), Theorem (Thm: Flexible_FedAvg).
"""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from stemtheory.bounds import evaluate, setting_of
from stemtheory.claims import Packs, chosen_packs, select, together
from stemtheory.oracles import catalogue
from stemtheory.report import ledger_files, report_sweeps
from stemtheory.report.drawing import FORMATS as KINDS
from stemtheory.report.drawing import (
    MODES,
    STYLE,
    draw_figures,
    figure_entry,
    load_matplotlib,
    writable_folder,
    write_table,
)
from stemtheory.report.explorer import NAME as EXPLORER
from stemtheory.report.explorer import write_explorer
from stemtheory.report.manifest import Made, Manifest, key_of
from stemtheory.report.pages import TEMPLATES
from stemtheory.report.report_page import report_page
from stemtheory.report.tables import Column, Table, Value
from stemtheory.runtime import (
    choice,
    cores,
    counter,
    listener,
    part,
    several,
    shared_processes,
    side_by_side,
    uncounted,
    write_whole,
)
from stemtheory.simulator import Trace, simulate

SEED = 0
PROBLEMS = ("quadratic", "geman_mcclure", "cosine")
NUS = (0.0, 0.5, 1.0)
# The bounds that the paper proves; the repaired ones have a table of their own.
BOUNDS_SHOWN = {"stem": ("stem-intermediate", "stem-theorem"), "fedavg": ("fedavg-theorem",)}
STEPS = {"quick": 4096, "full": 65536}
REPLICATES = 32
FORMATS = {"quick": ("png",), "full": ("png", "pdf", "svg")}  # the page shows the first
APART = ("paper_figure", "gradient_floor")  # figures that take longer than all others together
# The shares of the parts in the time, in the order in which they are waited for: quick measured,
# full guessed. Claims and bounds are worked at beside the sweeps; but where these take hours, what
# is done is kept before.
PARTS = {
    "quick": {"sweeps": 0.45, "claims": 0.1, "bounds": 0.05, "figures": 0.4},
    "full": {"claims": 0.2, "bounds": 0.1, "sweeps": 0.5, "figures": 0.2},
}
CLAIMS: tuple[str, ...] = ()  # patterns of the claims that are checked: all


def reproduce(
    *,
    mode: str = "quick",
    out: Path = Path("out"),
    progress: Callable[[str], None] = lambda _: None,
    packs: Packs = (),
    formats: Sequence[str] = (),
) -> dict[str, Any]:
    """Return where the report is, what was verified, the figures, and the seconds it took.

    ``quick`` is what runs unless ``full`` is asked for (``default`` means quick here). The files
    are the same on every run; only ``seconds`` differs. What the folder holds already and nothing
    has changed of is not made again (``manifest.json``), so a run that was stopped goes on. The
    claims are those of ``packs``, by names or folders; of every installed one without any. Figures
    are PNG files, in ``full`` also PDF and SVG, and what ``formats`` names besides.

    Raises
    ------
    UsageError
        Before any work, for an unknown mode or format, or a folder that cannot be written.
    """
    start = time.perf_counter()
    mode = "full" if choice("mode", mode, MODES) == "full" else "quick"
    asked = (choice("format", kind, KINDS) for kind in several("formats", formats))
    kinds = tuple(dict.fromkeys((*FORMATS[mode], *asked)))
    folder = writable_folder(out)
    load_matplotlib()
    manifest = Manifest(folder, progress)
    found = every_part(mode, kinds, manifest, packs)
    ledger, (table, unexpected) = found["claims"], found["bounds"]
    (sweeps, long_sweeps), (figures, left_out) = found["sweeps"], found["figures"]
    progress("writing the report")
    write_explorer(folder / EXPLORER, beside=True)
    page = report_page(
        folder,
        mode=mode,
        seed=SEED,
        known={claim.id: claim for claim in select(CLAIMS, packs)},
        ledger=ledger,
        bounds=table,
        figures=figures,
        left_out=left_out,
        sweeps=sweeps,
        long_sweeps=long_sweeps,
        manifest=manifest,
        packs=packs,
    )
    report = write_whole(folder / "index.html", page)
    unexpected = [*ledger["unexpected"], *unexpected, *report_sweeps.unexpected(sweeps)]
    return {
        "report": str(report),
        "verify": {**ledger, "unexpected": unexpected},
        "figures": figures,
        "seconds": round(time.perf_counter() - start, 3),
    }


def every_part(
    mode: str, formats: tuple[str, ...], manifest: Manifest, packs: Packs
) -> dict[str, Any]:
    """Return what each of ``PARTS`` has found; they share processes, so that none is idle."""
    waits: dict[str, Callable[[], Any]] = {}

    def swept() -> tuple[list[Mapping[str, Any]], list[str]]:
        found = report_sweeps.every_sweep(mode, manifest)
        waits["figures"] = begun_figures(mode, formats, manifest)
        return found

    with shared_processes(cores()):
        # bounds first: their processes start while the ledger is read
        waits["bounds"] = begun_bounds(mode, manifest)
        waits["claims"] = begun_claims(mode, manifest, packs)
        waits["sweeps"] = swept
        ends = itertools.accumulate(PARTS[mode].values(), initial=0.0)
        found = {}
        for name, span in zip(PARTS[mode], itertools.pairwise(ends), strict=True):
            with part(*span):
                found[name] = waits[name]()
    return found


def begun_figures(
    mode: str, formats: tuple[str, ...], manifest: Manifest
) -> Callable[[], tuple[list[dict[str, Any]], dict[str, str]]]:
    """Begin to draw; return what waits for the figures, and for why others are left out.

    Those that are not there already are drawn side by side, and each is noted when it is done.
    """
    modes, left_out = chosen_figures(mode, manifest)
    keys = {name: figure_key(name, own, formats, manifest) for name, own in modes.items()}
    kept = {name: manifest.kept(f"figure {name}", key) for name, key in keys.items()}
    drawn = {name: figure for name, figure in kept.items() if figure is not None}
    missing = {name: modes[name] for name in keys if name not in drawn}
    for name in missing:
        manifest.begin(f"figure {name}", keys[name])
    orders = orders_of(missing, formats, manifest.folder)
    answers = side_by_side(figures_of, orders, cores())

    def wait() -> tuple[list[dict[str, Any]], dict[str, str]]:
        for i, name in enumerate(tuple(drawn), 1):
            manifest.progress(f"figure {name}: as before")
            listener()(i / len(keys), True)
        if missing:
            manifest.progress(f"drawing {len(missing)} of {len(keys)} figures")
        for figure in itertools.chain.from_iterable(answers):
            name = figure["name"]
            drawn[name] = figure
            files = [manifest.folder / file for file in figure["files"]]
            manifest.done(f"figure {name}", keys[name], figure, files)
            manifest.progress(f"figure {name}: drawn")
            listener()(len(drawn) / len(keys))
        return [_placed(drawn[name], manifest.folder) for name in keys], left_out

    return wait


def _placed(figure: dict[str, Any], folder: Path) -> dict[str, Any]:
    return {**figure, "files": [str(folder / file) for file in figure["files"]]}


def chosen_figures(mode: str, manifest: Manifest) -> tuple[dict[str, str], dict[str, str]]:
    """Return the mode of every figure that is drawn, and why the others are left out."""
    chosen: dict[str, str] = {}
    left_out: dict[str, str] = {}
    for name in catalogue.names("figures"):
        entry = figure_entry(name)
        measured = report_sweeps.store_of(entry.sweep, mode, manifest.folder)
        own = entry.report_mode if mode == "full" and measured is None else mode
        reason = entry.lacks(own)
        if mode == "quick" and name.startswith(APART):
            reason = "it trains networks on images, which takes longer than all else here"
        if reason is None:
            chosen[name] = own
        else:
            manifest.progress(f"figure {name}: left out, {reason}")
            left_out[name] = reason
    return chosen, left_out


def figure_key(name: str, mode: str, formats: tuple[str, ...], manifest: Manifest) -> str:
    """Return the key of a figure; the report may have measured its sweep already."""
    measured = manifest.parts.get(f"sweep {figure_entry(name).sweep}", {}).get("key")
    roots = (f"stemtheory.figures.{name}", "stemtheory.report.drawing")
    return key_of(roots, mode, formats, measured, data=[STYLE])


def orders_of(
    modes: Mapping[str, str], formats: tuple[str, ...], folder: Path
) -> list[tuple[Any, ...]]:
    """Return what ``figures_of`` is asked: figures that show one table come together."""
    together: dict[tuple[object, str], list[str]] = {}
    for name, mode in modes.items():
        together.setdefault((figure_entry(name).table, mode), []).append(name)
    orders = []
    for (_, mode), names in together.items():
        store = report_sweeps.store_of(figure_entry(names[0]).sweep, mode, folder)
        orders.append((tuple(names), mode, store, folder, formats))
    # those that compute begin, or the last of them would run alone
    return sorted(orders, key=lambda order: (order[2] is not None, -len(order[0])))


def figures_of(
    names: tuple[str, ...], mode: str, store: Path | None, folder: Path, formats: tuple[str, ...]
) -> list[dict[str, Any]]:
    """Return name, files in the folder and caption of figures, drawn."""
    every = draw_figures(names, mode=mode, store=store, out=folder / "figures", formats=formats)
    return [
        figure | {"files": [Path(f).relative_to(folder).as_posix() for f in figure["files"]]}
        for figure in every
    ]


def begun_claims(mode: str, manifest: Manifest, packs: Packs = ()) -> Callable[[], dict[str, Any]]:
    """Begin with the claims; return what waits for the ledger, whose files lie in the folder."""

    def start(_: bool) -> Callable[[], Made]:
        manifest.progress("checking every claim")
        outcomes = together.begun(CLAIMS, level=mode, seed=SEED, packs=packs)

        def finish() -> Made:
            found = outcomes()
            document = together.document(found, mutants=False)
            files = ledger_files.write(manifest.folder, document, found, mode, CLAIMS, packs)
            return document["summary"], [Path(file) for file in files]

        return finish

    roots = ("stemtheory.claims", "stemtheory.report.ledger_files")
    data = [file for pack in chosen_packs(packs) for file in pack.files] + [*TEMPLATES.iterdir()]
    made = manifest.begun("claims", key_of(roots, mode, CLAIMS, SEED, data=data), start)

    def wait() -> dict[str, Any]:
        made()
        ledger: dict[str, Any] = json.loads((manifest.folder / "ledger.json").read_text("utf-8"))
        return ledger

    return wait


MEASURED = (
    *(Column(name, False) for name in ("problem", "algorithm")),
    *(Column(name) for name in ("nu", "T", "K", "b", "I", "measured", "95% low", "95% high")),
    Column("bound", False),
    *(Column(name) for name in ("value", "margin", "informative from T")),
    Column("verdict", False),
)


def begun_bounds(
    mode: str, manifest: Manifest
) -> Callable[[], tuple[Table, list[dict[str, Value]]]]:
    """Begin with the table "measured against bound"; return what waits for it.

    With it come its rows that contradict a bound or diverged.

    Both algorithms on three problems at nu = 0, 1/2, 1, with the theorem's own schedule.
    """
    title = "Measured M = (1/T) sum of E||grad f(xbar_t)||^2, and the bounds on it"
    note = (
        f"95 % Student interval over {REPLICATES} replicates; theorem schedule, literal reading,"
        " dim 8, L = 1, sigma = 0.5, zeta = 1, x1 = 1. Margin: bound over the interval's upper end;"
        " below 1 the bound is not confirmed. Vacuous: true, but no better than ||grad f(x1)||^2;"
        " 'informative from T' is where that ends, with b and I held. A bound that holds here is"
        " not proved by it; a margin is what these problems leave, not the bound's tightness."
    )

    def start(_: bool) -> Callable[[], Made]:
        manifest.progress(f"measured against bound: {', '.join(PROBLEMS)}")
        orders = list(itertools.product(PROBLEMS, BOUNDS_SHOWN, NUS, (STEPS[mode],)))
        answers = side_by_side(rows_of_run, orders, cores())

        def finish() -> Made:
            done = counter(len(orders))
            found: dict[Any, list[tuple[Value, ...]]] = {}
            for order, its_rows in answers:
                found[order] = its_rows
                done(1.0)
            rows = [row for order in orders for row in found[order]]
            table = Table(title, note, MEASURED, tuple(rows))
            return rows, write_table(table, manifest.folder / "bounds")

        return finish

    key = key_of(("stemtheory.report.reproduction",), mode, PROBLEMS, STEPS, REPLICATES)
    made = manifest.begun("bounds", key, start)

    def wait() -> tuple[Table, list[dict[str, Value]]]:
        rows = tuple(tuple(row) for row in made())
        bad = [row for row in rows if row[-1] in ("violated", "diverged")]
        named = [dict(zip((c.name for c in MEASURED), row, strict=True)) for row in bad]
        return Table(title, note, MEASURED, rows), named

    return wait


def rows_of_run(
    name: str, algorithm: str, nu: float, T: int
) -> tuple[Any, list[tuple[Value, ...]]]:
    """Return what was asked, and the rows of that run."""
    return (name, algorithm, nu, T), bound_rows(run(name, algorithm, nu, T))


def run(name: str, algorithm: str, nu: float, T: int) -> Trace:
    """Return one run of the table, all settings but T at their defaults."""
    problem = catalogue.load_problem(name)
    with uncounted():
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
