"""What a large store takes to read: CPU seconds and peak memory of results, table, fits and text.

    python benchmarks/stores.py [--cells 100000] [--before TREE] [--out FILE.json]

The cells are made up (M falls like T^-1 times a lognormal factor per replicate), so that 1e5 of
them take seconds; every process reads them anew. Cells that differ in sigma or zeta only share
their noise. With ``--before`` the same is measured of another tree of the package, in turn, and
ratios are before over after. ``json`` and ``csv`` are the command ``results``, written to nowhere.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

TEXT = """
[settings]
K = 4
dim = 4
replicates = 8
engine = "array"
[grids.main]
nu = {{ from = 0, to = 1, count = 5 }}
zeta = {{ from = 0.5, to = 1.0, count = 10 }}
sigma = {{ from = 0.1, to = 0.5, count = 25 }}
seed = {{ from = 0, to = {last}, count = {seeds} }}
T = [1024, 2048, 4096, 8192, 16384, 32768, 65536, 131072]
[fits.rate]
y = "M"
x = "T"
by = ["nu", "zeta", "sigma"]
theory = -1
"""


def spec(cells: int) -> Any:
    """Return a sweep of about that many cells."""
    from stemtheory.experiment import parse_spec

    seeds = max(2, cells // 10_000)
    return parse_spec(TEXT.format(last=seeds - 1, seeds=seeds), "stores")


def make(cells: int, path: Path) -> None:
    """Write a store of made-up outcomes."""
    import numpy as np

    from stemtheory.experiment import Machine, Store, points, run_cell

    stream = np.random.default_rng(0)
    names = {field.name for field in fields(Machine)}
    older: dict[str, Any] = {"engine": "array"} if "engine" in names else {}
    machine = Machine(backend="numpy", **older)  # a tree before may have one engine for all
    found = {p.cell.id: p.cell for p in points(spec(cells), machine)}
    model = run_cell(next(iter(found.values())))

    def outcome(cell: Any) -> Any:
        M = np.exp(0.2 * stream.standard_normal(8)) / cell.T
        mean, stderr = float(M.mean()), float(M.std(ddof=1) / np.sqrt(8))
        return replace(
            model, id=cell.id, grad_sq=M, last=M, best=M, mean_grad_sq=mean, stderr=stderr,
            mean_grad_sq_finite=mean,
        )  # fmt: skip

    with Store.writing(path) as store:
        settled: Any = ("array", "numpy") if older else machine
        store.remember("stores", "default", settled, found)
        store.add((cell, outcome(cell)) for cell in found.values())


READ: dict[str, Callable[[Any], int]] = {
    "points": lambda sweep: len(sweep.points),
    "results": lambda sweep: sum(result.replicates for result in sweep.results.values()),
    "frame": lambda sweep: len(sweep.frame),
    "fits": lambda sweep: len(sweep.fits),
    "document": lambda sweep: len(sweep.document()["fits"]),
}

PRINTED = ("json", "csv")


def read(what: str, cells: int, path: Path) -> dict[str, float]:
    """Return CPU seconds beyond those of finding the points, and the peak of memory in MB."""
    from stemtheory import run_sweep

    sweep = run_sweep(spec(cells), store=path, dry_run=True)  # which runs nothing, whatever lacks
    assert len(sweep.statuses) == sweep.cells_total
    object.__setattr__(sweep, "forecast", None)  # so that the document holds fits
    start = time.process_time()
    READ[what](sweep)
    return spent(start)


def printed(form: str, path: Path) -> dict[str, float]:
    """Return CPU seconds and the peak of memory in MB of printing a store's rows."""
    from stemtheory.cli.app import main as command

    start = time.process_time()
    with Path(os.devnull).open("w") as nowhere, contextlib.redirect_stdout(nowhere):
        assert command(["results", str(path), f"--{form}"]) == 0
    return spent(start)


def spent(start: float) -> dict[str, float]:
    """Return the CPU seconds since then, and the peak of memory of this process in MB."""
    seconds = time.process_time() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
    return {"seconds": round(seconds, 2), "peak_MB": round(peak)}


def measured(tree: str, cells: int) -> dict[str, dict[str, float]]:
    """Return seconds and memory of every way to read a store, with the package of a tree."""
    from _common import environment_of

    environment = environment_of(tree)

    def child(*words: str) -> str:
        command = [sys.executable, __file__, *words]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, env=environment)
        return done.stdout.decode()

    with tempfile.TemporaryDirectory() as folder:
        store = str(Path(folder, "stores.sqlite"))
        child("make", str(cells), store)
        return {what: json.loads(child(what, str(cells), store)) for what in (*READ, *PRINTED)}


def main() -> None:
    """Measure every way to read a store and print it as JSON."""
    from _common import arguments, machine, quotients, trees, write

    options = arguments(__doc__, cells=100_000, before="")
    found: dict[str, Any] = {"machine": machine(), "cells": options.cells}
    for when, tree in trees(options.before).items():
        found[when] = measured(tree, options.cells)
    if options.before:
        found["ratio"] = quotients(found["before"], found["after"], 2)
    print(json.dumps(found, indent=1))
    write(options.out, found)


if __name__ == "__main__":
    if sys.argv[1:2] == ["make"]:
        make(int(sys.argv[2]), Path(sys.argv[3]))
    elif sys.argv[1:2] and sys.argv[1] in PRINTED:
        print(json.dumps(printed(sys.argv[1], Path(sys.argv[3]))))
    elif sys.argv[1:2] and sys.argv[1] in READ:
        print(json.dumps(read(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]))))
    else:
        main()
