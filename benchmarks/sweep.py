"""What a sweep costs beside its cells: cells per second, writes per second, a resume of nothing.

Cells are tiny (1 ms), so that the machinery shows. The store's writes are one transaction each,
flushed to the disk. The resume reads a file of 1e5 finished cells and finds nothing to do.

    python benchmarks/sweep.py [--cells 400] [--rows 100000] [--out benchmarks/results/sweep.json]
"""

from __future__ import annotations

import json
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from _common import arguments, machine, write

from stemtheory import run_sweep
from stemtheory.experiment import Machine, Spec, Store, parse_spec, points, run_cell

TEXT = """
[settings]
K = 2
dim = 2
replicates = 2
[grids.main]
T = [16, 20, 24, 28]
nu = { from = 0, to = 1, count = 5 }
sigma = { from = 0.1, to = 0.5, count = 5 }
seed = { from = 0, to = %d, count = %d }
"""


def sweep(cells: int) -> Spec:
    """Return a sweep of about that many points."""
    seeds = max(2, cells // 100)
    return parse_spec(TEXT % (seeds - 1, seeds), "benchmark")


def cells_per_second(folder: Path, cells: int, jobs: int, executor: str) -> float:
    """Return cells per second of one sweep from nothing, the start of its workers included."""
    start = time.perf_counter()
    path = folder / f"{executor}{jobs}.sqlite"
    found = run_sweep(sweep(cells), store=path, jobs=jobs, executor=executor)
    return found.ran / (time.perf_counter() - start)


def writes_per_second(folder: Path, n: int) -> dict[str, float]:
    """Return rows per second, in transactions of one row and of a hundred."""
    cell = next(points(sweep(100), Machine("numpy"))).cell
    result = run_cell(cell)
    rates = {}
    for size in (1, 100):
        seeds = range(10_000 * size, 10_000 * size + n)
        cells = [replace(cell, run=replace(cell.run, seed=seed)) for seed in seeds]
        pairs = [(c, replace(result, id=c.id)) for c in cells]
        with Store.writing(folder / f"writes{size}.sqlite") as store:
            start = time.perf_counter()
            for i in range(0, n, size):
                store.add(pairs[i : i + size])
            rates[f"in transactions of {size}"] = n / (time.perf_counter() - start)
    return rates


def resume_seconds(folder: Path, rows: int, repeats: int) -> dict[str, float]:
    """Return the seconds of a resume that finds every one of ``rows`` points done."""
    path, spec = folder / "resume.sqlite", sweep(rows)
    cells = {p.cell.id: p.cell for p in points(spec, Machine("numpy"))}
    result = run_cell(next(iter(cells.values())))
    with Store.writing(path) as store:
        store.add((cell, replace(result, id=id_)) for id_, cell in cells.items())
    times = []
    for _ in range(repeats):
        start, cpu = time.perf_counter(), time.process_time()
        found = run_sweep(spec, store=path)
        assert found.ran == 0
        times.append((time.perf_counter() - start, time.process_time() - cpu))
    return {
        "points": len(found.points),
        "cells": found.cells_total,
        "wall_seconds": min(wall for wall, _ in times),
        "cpu_seconds": min(cpu for _, cpu in times),
        "megabytes": path.stat().st_size / 1e6,
    }


def main() -> None:
    """Measure everything and print it as JSON."""
    options = arguments(__doc__, cells=400, rows=100_000, repeats=3)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        kinds = [(1, "serial"), (2, "threads"), (1, "processes"), (2, "processes")]
        found = {
            "cells_per_second": {
                f"{jobs} {kind}": cells_per_second(folder, options.cells, jobs, kind)
                for jobs, kind in kinds
            },
            "writes_per_second": writes_per_second(folder, 1000),
            "resume": resume_seconds(folder, options.rows, options.repeats),
            **machine(),
        }
    print(json.dumps(found, indent=1))
    write(options.out, found)


if __name__ == "__main__":
    main()
