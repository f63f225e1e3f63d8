"""The commands about sweeps: run one, and look into a store of results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stemtheory.cli import console
from stemtheory.cli import options as o
from stemtheory.cli.completion import entries
from stemtheory.cli.examples import example
from stemtheory.cli.waiting import clock, waiting
from stemtheory.runtime import UsageError, each_json, rounded, whole

if TYPE_CHECKING:
    from stemtheory.experiment import Progress

SHOWN = ("status", "mean_grad_sq", "stderr", "rounds")
VARYING = ("problem", "algorithm", "sync", "K", "dim", "T", "b", "I", "L", "sigma", "zeta", "seed")
FIT_COLUMNS = ("name", "exponent", "ci95", "theory", "verdict")
REASONS = {  # why a column may be null
    "precision": "the number of replicates was fixed",
    "stderr": "one replicate has no spread, or the cell has no mean",
    "mean_grad_sq": "a replicate diverged, or the cell failed",
    "grad_sq": "a replicate that diverged has no average",
}
MOST_ROWS = 40  # a longer table is for a file

Jobs = Annotated[str, o.option(None, "--jobs INT", "cells at a time, each in a process", True)]
Dask = Annotated[str | None, o.option(None, "--dask ADDRESS", "a Dask scheduler, or local")]
_DRY_RUN = "say what it would take, and run nothing"
DryRun = Annotated[bool, o.option(None, "--dry-run", _DRY_RUN)]
Retry = Annotated[bool, o.option(None, "--retry-failed", "run cells again that failed")]
_WHERE = "rows to keep, such as: K == 4 and problem in ('cosine', 'welsch')"
Where = Annotated[str | None, o.option(None, "--where EXPR", _WHERE)]
_EXPORT = "write the rows: .csv or .parquet"
Export = Annotated[Path | None, o.option(None, "--export FILE", _EXPORT)]
_PLOT = "draw two columns, and one that tells lines apart: T,mean_grad_sq,algorithm"
Plot = Annotated[str | None, o.option(None, "--plot X,Y[,HUE]", _PLOT)]
_OUT = "the picture: .png, .pdf or .svg; STORE's name and .png unless given"
PlotFile = Annotated[Path | None, o.option(None, "--out FILE", _OUT)]


def register(app: typer.Typer) -> None:
    """Add the commands ``sweep`` and ``results``."""
    app.command(epilog=example("sweep"))(sweep)
    app.command(epilog=example("results"))(results)


def sweep(
    name: Annotated[
        str, o.argument("NAME|FILE.toml", "see: stemtheory list sweeps", entries("sweeps"))
    ],
    quick: o.Quick = False,
    full: o.Full = False,
    store: o.Store = None,
    jobs: Jobs = "1",
    dask: Dask = None,
    dry_run: DryRun = False,
    retry_failed: Retry = False,
    json: o.Json = False,
) -> int:
    """Run the missing cells of a sweep; killed at any moment, the same command resumes it."""
    from stemtheory.experiment import (
        MOST_JOBS,
        StoreError,
        SweepStopped,
        WorkersLostError,
        run_sweep,
    )

    if whole("jobs", jobs) > MOST_JOBS and dask is None:
        console.note(f"jobs {jobs}: {MOST_JOBS} are run at a time, four for each core")
    try:
        with waiting() as told:
            told("measuring cells" if dry_run else "running cells")
            found = run_sweep(
                name,
                mode=o.mode(quick, full),
                store=store,
                jobs=whole("jobs", jobs),
                dask=dask,
                dry_run=dry_run,
                retry_failed=retry_failed,
                progress=counted(told),
                tell=console.note,
            )
    except (StoreError, WorkersLostError) as error:
        return console.complain(str(error), 1)
    except SweepStopped as stop:
        return console.complain(str(stop), stop.code)
    document = found.document()
    console.emit(document, json, lambda: show_sweep(document))
    diverged = 0 if document["may_diverge"] else document["cells_diverged"]
    return int(document["cells_failed"] + diverged > 0)


def results(
    store: Annotated[Path, o.argument("STORE", "the .sqlite file of a sweep")],
    where: Where = None,
    export: Export = None,
    plot: Plot = None,
    out: PlotFile = None,
    csv: o.Csv = False,
    json: o.Json = False,
) -> int:
    """Show the cells of a store, filter them, and export them without losing a digit."""
    from stemtheory.experiment import CellRecords, Store, StoreError, export_records
    from stemtheory.report import draw_cells

    o.refuse_both(csv=csv, json=json)
    if out is not None and plot is None:
        raise UsageError(f"--out is {out}, but nothing is drawn: give --plot X,Y as well.")
    try:
        with Store.reading(store) as opened:
            rows = CellRecords(opened, where)
            if export is not None:
                if next(iter(rows), None) is None:
                    raise UsageError(f"no row of {store} is left to export: widen --where.")
                console.note(f"written: {export_records(rows, export)}")
            if plot is not None:
                drawn = draw_cells(rows, plot, out or Path(f"{store.stem}.png"))
                console.note(f"written: {drawn}")
            if csv:
                console.csv(rows)
            elif not json and export is None:
                show_rows(rows)
            if json:
                write_rows(rows)
    except StoreError as error:
        return console.complain(str(error), 1)
    return 0


def show_sweep(d: Mapping[str, Any]) -> None:
    """Print what a sweep did, or would do."""
    console.line(f"sweep {d['name']} ({d['mode']}): {d['points']} points, {d['cells_total']} cells")
    if "forecast" in d:
        plan = d["forecast"]
        console.line(
            f"to run: {plan['cells']} cells, {rounded(plan['samples'])} samples,"
            f" about {clock(plan['seconds'])}"
        )
        return
    console.line(
        f"done {d['cells_done']} ({d['cells_ran']} now, in {clock(d['seconds'])}),"
        f" diverged {d['cells_diverged']}, failed {d['cells_failed']}"
    )
    console.line(f"store: {d['store']}")
    show_fits(d["fits"])
    if d["cells_failed"]:  # last, where it is seen
        failed = "status == 'failed'"
        console.line(f'why: stemtheory results {d["store"]} --where "{failed}"')
        console.line("to run them again: the same command with --retry-failed")


def show_fits(fits: list[dict[str, Any]]) -> None:
    """Print every exponent with its interval, the theory's and the verdict."""
    if fits:
        rows = [[_short(fit, key) for key in FIT_COLUMNS] for fit in fits]
        console.table(["fit", "exponent", "95 % interval", "theory", "verdict"], rows)
    for reason in dict.fromkeys(fit["reason"] for fit in fits if fit["exponent"] is None):
        console.line(f"without an exponent: {reason}")


def _short(fit: Mapping[str, Any], key: str) -> str | None:
    value = fit[key]
    if isinstance(value, list):
        return f"{value[0]:.2f} to {value[1]:.2f}"
    return f"{value:.2f}" if isinstance(value, float) else value


def show_rows(rows: Iterable[dict[str, Any]]) -> None:
    """Print the first rows in the columns that matter; a setting they share is said once."""
    from stemtheory.experiment import swept_columns

    first: list[dict[str, Any]] = []
    count = 0

    def counted() -> Iterator[dict[str, Any]]:
        nonlocal count
        for row in rows:
            first.extend([row] if count < MOST_ROWS else [])
            count += 1
            yield row

    swept = swept_columns(counted())
    shared = {n: first[0].get(n) for n in VARYING if first and n not in swept}
    # a whole number is what a user may type
    fixed = [f"{n} {v if isinstance(v, int) else console.number(v)}" for n, v in shared.items()]
    if fixed:
        console.line(f"all with {', '.join(fixed)}")
    columns = [*(n for n in VARYING if n in swept), *(n for n in swept if n not in VARYING), *SHOWN]
    console.table(columns, [[row.get(name) for name in columns] for row in first])
    for reason in dict.fromkeys(row["reason"] for row in first if row["reason"]):
        console.line(f"failed: {reason}")
    if count > MOST_ROWS:
        console.line(f"{MOST_ROWS} of {count} rows; --where narrows them, --export writes all")


def counted(told: Callable[[str], None]) -> Callable[[Progress], None]:
    """Return what says how many cells are done, and how many a second."""

    def show(p: Progress) -> None:
        told(f"{p.done} done, {p.failed} failed, {p.left} left; {rounded(p.rate)}/s")

    return show


def write_rows(rows: Iterable[dict[str, Any]]) -> None:
    """Write rows as JSON, one after the other, and say once for each column why it may be null.

    They are gone through twice: a damaged one is found before anything is written.
    """
    for _ in rows:
        pass
    empty: set[str] = set()

    def noted() -> Iterator[dict[str, Any]]:
        for row in rows:
            empty.update(name for name, value in row.items() if value is None)
            yield row

    def reasons() -> dict[str, str]:
        return {f"rows[].{name}": REASONS.get(name, "the cell has none") for name in sorted(empty)}

    console.write_all(each_json("rows", noted(), reasons))
