"""The sweeps of a report: those that fit into its budget, run or resumed, as tables.

Paper: Thm: PR_Convergence_Main, Thm: Flexible_FedAvg.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from stemtheory.experiment import (
    Spec,
    SweepResult,
    export_records,
    load_spec,
    planned,
    point_records,
    run_sweep,
    shared_workers,
    weight,
)
from stemtheory.oracles import catalogue
from stemtheory.report.drawing import writable_folder
from stemtheory.report.manifest import Manifest, key_of
from stemtheory.report.tables import Column, Table
from stemtheory.runtime import cores, part

BUDGET = {"quick": 60.0, "full": 1800.0}  # predicted seconds on a machine of speed 1
ROOTS = ("stemtheory.experiment", "stemtheory.report.report_sweeps")
FITS = (
    *(Column(n, False) for n in ("fit", "of", "against")),
    *(Column(n) for n in ("exponent", "95% low", "95% high", "theory")),
    *(Column(n, False) for n in ("verdict", "reason")),
)
Result = Mapping[str, Any]


def every_sweep(mode: str, manifest: Manifest) -> tuple[list[Result], list[str]]:
    """Return the result of every sweep within the budget, cheapest first, and who is left out.

    A sweep that was cut short goes on from its store; one whose code or file has changed since is
    run anew.
    """
    chosen, left_out = within_budget(mode)
    total, spent, results = sum(chosen.values()), 0.0, []
    with shared_workers(cores()):
        for name, seconds in chosen.items():
            with part(spent / total, (spent + seconds) / total):
                results.append(one_sweep(name, mode, manifest))
            spent += seconds
    return results, left_out


def within_budget(mode: str) -> tuple[dict[str, float], list[str]]:
    """Return the sweeps of a report with their predicted seconds, and those that are too long."""
    every = sorted((predicted(name, mode), name) for name in catalogue.names("sweeps"))
    ends = itertools.accumulate(seconds for seconds, _ in every)
    fits = [end <= BUDGET[mode] for end in ends]
    chosen = {name: seconds for (seconds, name), fit in zip(every, fits, strict=True) if fit}
    return chosen, [name for _, name in every[len(chosen) :]]


def predicted(name: str, mode: str) -> float:
    """Return the seconds that the cost model predicts: the same wherever numba is."""
    return sum(map(weight, planned(load_spec(name, mode))))


def one_sweep(name: str, mode: str, manifest: Manifest) -> Result:
    """Return what a report says of one sweep; its cells lie in ``sweeps/NAME-MODE.sqlite``."""
    spec = load_spec(name, mode)

    def make(again: bool) -> tuple[Result, list[Path]]:
        manifest.progress(f"sweep {name}: running")
        place = writable_folder(manifest.folder / "sweeps")
        store, csv = (place / f"{name}-{mode}.{ending}" for ending in ("sqlite", "csv"))
        for old in () if again else place.glob(f"{store.name}*"):
            old.unlink()
        found = run_sweep(spec, store=store, jobs=cores())
        export_records(_records(found), csv)
        return described(spec, found, csv.relative_to(manifest.folder).as_posix()), [csv]

    result: Result = manifest.made(f"sweep {name}", key_of(ROOTS, mode, spec), make)
    return result


def store_of(name: str, mode: str, folder: Path) -> Path | None:
    """Return the store of a sweep that this report has run, None if it has not."""
    store = folder / "sweeps" / f"{name}-{mode}.sqlite"
    return store if name and store.is_file() else None


def _records(found: SweepResult) -> list[dict[str, Any]]:
    """Return the points without the times that they took: the same table on every run."""
    records = point_records(found.points, found.results)
    return [{k: v for k, v in r.items() if not k.endswith("_seconds")} for r in records]


def described(spec: Spec, found: SweepResult, csv: str) -> Result:
    """Return the part of a sweep's document that does not change from run to run."""
    document = found.document()
    cells = ("cells_total", "cells_failed", "cells_diverged")
    counts = ("name", "points", *cells, "may_diverge", "fits")
    return {"summary": spec.summary, "csv": csv} | {k: document[k] for k in counts}


def fit_table(result: Result) -> Table:
    """Return the fits of a sweep as a table."""
    rows = []
    for fit in result["fits"]:
        low, high = fit["ci95"] or (None, None)
        numbers = (fit["exponent"], low, high, fit["theory"])
        rows.append((fit["name"], fit["y"], fit["x"], *numbers, fit["verdict"], fit["reason"]))
    note = "Exponents of log-log lines; 95 % intervals. Theory is the exponent of the theorem."
    return Table(f"Fits of the sweep {result['name']}", note, FITS, tuple(rows))


def unexpected(results: list[Result]) -> list[dict[str, Any]]:
    """Return the sweeps that have failed cells, or cells that diverged and must not."""
    bad = ("cells_failed", "cells_diverged")
    return [
        {"sweep": r["name"]} | {name: r[name] for name in bad}
        for r in results
        if r["cells_failed"] or (r["cells_diverged"] and not r["may_diverge"])
    ]
