"""The command line: every command parses, calls one function, prints, and returns its exit code."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from copy import copy
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import typer

from stemtheory._version import __version__
from stemtheory.cli import advise as cli_advise
from stemtheory.cli import claims as cli_claims
from stemtheory.cli import console, display
from stemtheory.cli import constants as cli_constants
from stemtheory.cli import new as cli_new
from stemtheory.cli import options as o
from stemtheory.cli import probe as cli_probe
from stemtheory.cli import sweeps as cli_sweeps
from stemtheory.cli.completion import entries, kinds
from stemtheory.cli.examples import APART, example
from stemtheory.cli.proving import certify as cli_certify
from stemtheory.cli.proving import tighten as cli_tighten
from stemtheory.cli.waiting import waiting
from stemtheory.runtime import UsageError, whole
from stemtheory.simulator import DEFAULT

app = typer.Typer(
    name="stemtheory",
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=APART,
    help="Put the theorems on STEM and FedAvg next to the algorithms, and see whether they hold.",
)


def main(argv: Sequence[str] | None = None) -> int:
    """Return the exit code of one command; without arguments it prints the help and returns 0."""
    arguments = list(sys.argv[1:] if argv is None else argv) or ["--help"]
    return console.guarded(
        lambda: program(arguments[0]).main(
            args=arguments, prog_name="stemtheory", standalone_mode=False, obj=argv is None
        ),
        as_json="--json" in arguments,
        last=argv is None,
    )


@cache
def program(first: str = "") -> Any:
    """Return the program: with the one command that is called ``first``, or else with all.

    Reading the options of every command takes longer than what many a command does.
    """
    alone = copy(app)
    alone.registered_commands = [
        command
        for command in app.registered_commands
        if first == (command.name or getattr(command.callback, "__name__", ""))
    ]
    return typer.main.get_command(alone if alone.registered_commands else app)


def _print_version(wanted: bool) -> None:
    if wanted:
        console.line(f"stemtheory {__version__}")
        raise typer.Exit


@app.callback()
def _top(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="the version")
    ] = False,
) -> None:
    pass


@app.command(epilog=example("doctor"))
def doctor(json: o.Json = False) -> int:
    """Versions, backend and device, and why there is no GPU if there is none."""
    from stemtheory.cli import inventory

    found = inventory.examine()

    def show() -> None:
        rows = [[name, version or "not installed"] for name, version in found["versions"].items()]
        console.table(("package", "version"), rows)
        console.line(f"backend {found['backend']} on {found['device']}: {found['reason']}")

    console.emit(found, json, show)
    return 0


@app.command(name="list", epilog=example("list"))
def list_entries(
    kind: Annotated[str, o.argument("KIND", "problems, algorithms, bounds, ...", kinds)],
    pack: cli_claims.PackNames = None,
    csv: o.Csv = False,
    json: o.Json = False,
) -> int:
    """Everything that has a name: problems, algorithms, bounds, claims, packs, sweeps, figures."""
    from stemtheory.cli import inventory

    o.refuse_both(csv=csv, json=json)
    rows = inventory.entries(kind, pack or ())

    def show() -> None:
        more = {
            "algorithms": ("needs", "promises"),
            "claims": ("number",),
            "packs": ("claims", "source"),
        }.get(kind, ())
        columns = ("name", "summary", *more)
        console.table(columns, [[row[column] for column in columns] for row in rows])

    console.emit({kind: rows}, json, (lambda: console.csv(rows)) if csv else show)
    return 0


@app.command(epilog=example("bound"))
def bound(
    name: Annotated[str, o.argument("NAME", "see: stemtheory list bounds", entries("bounds"))],
    T: o.T = None,
    K: o.K = None,
    b: o.Batch = None,
    I: o.LocalSteps = None,
    nu: o.Nu = None,
    B: o.InitialBatch = None,
    sync_batch: o.SyncBatch = None,
    L: o.L = None,
    sigma: o.Sigma = None,
    zeta: o.Zeta = None,
    gap: o.Gap = "1",
    grad_sq: o.GradSq = None,
    epsilon: o.Epsilon = None,
    json: o.Json = False,
) -> int:
    """A bound, its terms and premises; with --epsilon also the T, samples and rounds it takes."""
    from stemtheory.bounds import bound_document

    sizes = o.given(T=T, K=K, b=b, I=I, nu=nu, B=B, sync_batch=sync_batch, epsilon=epsilon)
    constants = o.given(L=L, sigma=sigma, zeta=zeta, gap=gap, grad_sq=grad_sq)
    document = bound_document(name, **sizes, **constants)
    console.emit(document, json, lambda: display.show_bound(document))
    return 0


@app.command(epilog=example("run"))
def run(
    problem: Annotated[
        str,
        o.argument("PROBLEM", "a name, or package.module:NAME of your own", entries("problems")),
    ],
    algorithm: Annotated[
        str, o.argument("ALGORITHM", "see: stemtheory list algorithms", entries("algorithms"))
    ] = "stem",
    K: o.K = None,
    dim: o.Dim = None,
    L: o.L = None,
    sigma: o.Sigma = None,
    zeta: o.Zeta = None,
    noise: o.Noise = None,
    heterogeneity: o.Heterogeneity = None,
    set_: o.Set = None,
    T: o.T = None,
    b: o.Batch = None,
    I: o.LocalSteps = None,
    nu: o.Nu = None,
    B: o.InitialBatch = None,
    schedule: o.Schedule = DEFAULT.schedule,
    sync: o.Sync = None,
    sync_batch: o.SyncBatch = None,
    replicates: o.Replicates = str(DEFAULT.replicates),
    x1: o.Start = None,
    seed: o.Seed = str(DEFAULT.seed),
    backend: o.BackendName = DEFAULT.backend,
    engine: o.Engine = DEFAULT.engine,
    dtype: o.Dtype = DEFAULT.dtype,
    record_every: o.RecordEvery = None,
    plot: o.PlotFile = None,
    out: o.OutFile = None,
    json: o.Json = False,
) -> int:
    """Run an algorithm on a problem and set what it measured beside every bound on it."""
    from stemtheory.bounds import document as run_document
    from stemtheory.report import trace_files
    from stemtheory.simulator import Run, large, simulate

    named = o.given(L=L, sigma=sigma, zeta=zeta, noise=noise, heterogeneity=heterogeneity)
    groups = o.settings(set_, named)
    asked = Run.of(
        problem, algorithm, K=K, dim=dim, dials=groups.dials, algorithm_options=groups.algorithm,
        sync=sync, sync_batch=sync_batch, T=T, b=b, I=I, nu=nu, B=B, schedule=schedule,
        schedule_options=groups.schedule, replicates=replicates,
        x1=None if x1 is None else o.start_point(x1), seed=seed, backend=backend, engine=engine,
        dtype=dtype,
    )  # fmt: skip
    files = trace_files.targets(out, plot)
    if record_every is not None and not files:
        raise UsageError(
            f"--record-every is {record_every}, but there is no file to fill: give --out or --plot."
        )
    every = whole("record_every", 0 if record_every is None else record_every, 0)
    at = trace_files.plot_times(asked.sizes.T_requested) if files and record_every is None else ()
    recorded = (asked.sizes.T // every if every else 0) + len(at)
    if not json and (said := large(asked, recorded)) is not None:
        console.note(said)
    with waiting() as told:
        told(f"running {asked.sizes.T:g} iterations")
        trace = simulate(asked, record_every=every, record_at=at)
    found = trace.bounds()
    written = [str(trace_files.write(trace, found, path)) for path in files]
    document = {**run_document(trace, found), "files": written}
    console.emit(document, json, lambda: display.show_run(document))
    return int(trace.status != "ok" or any(m.verdict == "violated" for m in found))


@app.command(epilog=example("figure"))
def figure(
    names: Annotated[
        list[str] | None,
        o.argument("NAME...", "see: stemtheory list figures; or all", entries("figures")),
    ] = None,
    quick: o.Quick = False,
    full: o.Full = False,
    store: o.Store = None,
    out: o.OutFolder = Path("out"),
    formats: o.Formats = None,
    width: o.Width = None,
    json: o.Json = False,
) -> int:
    """Draw figures and write them with their captions."""
    from stemtheory.experiment import StoreError
    from stemtheory.report import draw_figures

    try:
        with waiting(lines=True) as told:
            drawn = draw_figures(
                o.figure_names(names),
                mode=o.mode(quick, full),
                store=store,
                out=out,
                formats=o.format_names(formats),
                width=width,
                progress=told,
            )
    except StoreError as error:
        return console.complain(str(error), 1)
    console.emit({"figures": drawn}, json, lambda: display.show_figures(drawn))
    return 0


@app.command(epilog=example("reproduce"))
def reproduce(
    quick: o.Quick = False,
    full: o.Full = False,
    pack: cli_claims.PackNames = None,
    out: o.OutFolder = Path("out"),
    formats: o.MoreFormats = None,
    json: o.Json = False,
) -> int:
    """Check every claim, run every sweep, draw every figure, and write one report.

    There are two sizes: --quick, which is also what runs without a flag, and --full.
    """
    from stemtheory.experiment import StoreError, SweepStopped
    from stemtheory.report import reproduction as report

    try:
        with waiting(lines=True, rough=full) as told:  # only --quick was ever measured as a whole
            result = report.reproduce(
                mode=o.mode(quick, full),
                out=out,
                progress=told,
                packs=pack or (),
                formats=o.format_names(formats) if formats else (),
            )
    except StoreError as error:
        return console.complain(str(error), 1)
    except SweepStopped as stop:
        return console.complain(f"stopped: run the same command again to go on ({out}).", stop.code)
    console.emit(result, json, lambda: display.show_report(result))
    return int(bool(result["verify"].get("unexpected")))


@app.command(epilog=example("explore"))
def explore(out: o.PageFile = Path("out/explorer.html"), json: o.Json = False) -> int:
    """Write one page with bounds, exact moments and the surface of (b, I) under sliders.

    It opens from the disk without a network, and a setting of it can be sent as its address.
    """
    from stemtheory.report.explorer import write_explorer

    page = write_explorer(out)
    document = {"page": str(page), "bytes": page.stat().st_size}
    console.emit(document, json, lambda: console.line(f"page: {page}"))
    return 0


cli_claims.register(app)
cli_probe.register(app)
cli_constants.register(app)
cli_sweeps.register(app)
cli_advise.register(app)
cli_certify.register(app)
cli_tighten.register(app)
cli_new.register(app)
