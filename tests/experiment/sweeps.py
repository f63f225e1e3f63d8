"""Small sweeps for tests, and what two stores must have in common."""

from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from stemtheory.experiment.design.cells import Cell
from stemtheory.experiment.design.spec import Spec, parse_spec
from stemtheory.experiment.store.results import CONTENT, Store
from stemtheory.experiment.sweep import SweepResult, run_sweep

SMALL = """
summary = "a small sweep"
[settings]
K = 2
dim = 2
replicates = 3
[algorithms.stem]
[algorithms.fedavg]
[grids.main]
problem = ["cosine", "quadratic"]
T = [16, 32]
nu = [0, 0.5, 1]
"""


def small(text: str = SMALL, name: str = "small", mode: str = "default") -> Spec:
    """Return a sweep of 24 points."""
    return parse_spec(text, name, mode)


def content(path: Path) -> dict[str, tuple[Any, ...]]:
    """Return every cell of a store, by id, without when, where and how fast it was computed."""
    with Store.reading(path) as store:
        store.verify()
        rows = store._connection.execute(f"SELECT {', '.join(CONTENT)} FROM cells")
        return {row[0]: row for row in rows}


def other(cell: Cell, **changes: Any) -> Cell:
    """Return a cell with some settings changed, whichever part of its run they stand in."""
    run, rest = cell.run, dict(changes)
    for part in ("sizes", "numerics"):
        inner = getattr(run, part)
        known = {f.name for f in fields(inner)}
        run = replace(run, **{part: replace(inner, **{k: rest.pop(k) for k in known & set(rest)})})
    known = {f.name for f in fields(run)}
    run = replace(run, **{name: rest.pop(name) for name in known & set(rest)})
    return replace(cell, run=run, **rest)


def run(sweep: str | Path | Spec, **how: Any) -> SweepResult:
    """Return a sweep run in this process, which takes no time to start and gives the same bits."""
    return run_sweep(sweep, **{"executor": "serial", **how})
