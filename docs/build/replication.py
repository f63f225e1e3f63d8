"""The page docs/replication.md: a template of words, and its tables from the records of the runs.

A record is the table that ``stemtheory figure`` writes beside a picture, and the result of a
benchmark. The page is filled from the records that lie in docs/replication/, so that no number of
its tables stands there by hand; a new run is reported by putting its tables there.

Paper: sec: Experiments.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from docs.build.templates import DOCS, filled, table_row
from stemtheory.images import SeedMean, percent, points
from stemtheory.images.over_seeds import over_seeds

FIGURES = (2, 3, 4, 5)
PAPER, TUNED = "the paper's step sizes", "tuned step sizes"
ROWS = {PAPER: "paper", TUNED: "tuned"}
STEM, FEDAVG, SCAFFOLD, BORROWED = "STEM", "FedAvg", "SCAFFOLD", "FedAvg, STEM's schedule"
NAMES = (STEM, FEDAVG, SCAFFOLD, BORROWED)
FLOORS = ((1, 1, 10), (4, 8, 10), (4, 32, 5))  # b, I and classes per worker
FLOOR_STEP = "0.03"

Record = dict[str, str]
Curve = tuple[str, str, int]  # row, algorithm, I


def pages() -> dict[str, str]:
    """Return the page: its path below docs/ to its text."""
    found = values(DOCS / "replication", DOCS.parent / "benchmarks/results/images.json")
    return {"replication.md": filled("replication.template.md", found)}


def values(records: Path, benchmark: Path) -> dict[str, str]:
    """Return the text of every table of the page."""
    runs = {n: read(records / f"paper_figure{n}.csv") for n in FIGURES}
    floors = list(_lines(records / "gradient_floor.csv"))
    return {
        "verdicts": "\n".join(verdicts(runs)),
        "accuracies": "\n".join(accuracies(runs)),
        "leads": "\n".join(leads(runs)),
        "samples": "\n".join(samples(runs[5])),
        "floors": "\n".join(floor_rows(floors)),
        "benchmark": "\n".join(benchmark_rows(json.loads(benchmark.read_text(encoding="utf-8")))),
    }


def read(path: Path) -> dict[Curve, Record]:
    """Return the lines of a figure's table by row, algorithm and I."""
    return {(r["row"], r["algorithm"], int(r["I"])): r for r in _lines(path)}


def finals(record: Record) -> NDArray[np.float64]:
    """Return the final test accuracy of every seed, NaN where it diverged."""
    names = sorted((name for name in record if name.startswith("seed")), key=lambda s: int(s[4:]))
    return np.array([float(record[name] or "nan") for name in names])


def lead(run: dict[Curve, Record], row: str, over: str, I: int) -> SeedMean:
    """Return the lead of STEM in final test accuracy, paired by seed."""
    return over_seeds(finals(run[row, STEM, I]) - finals(run[row, over, I]))


def verdicts(runs: dict[int, dict[Curve, Record]]) -> Iterator[str]:
    """Yield whether each claim of the paper was found, as rows of a table."""
    for n in FIGURES:
        I = _local(runs[n])[0]
        cells = []
        for row in ROWS:
            both = [lead(runs[n], row, name, I) for name in (FEDAVG, SCAFFOLD)]
            word = "reproduced" if all(one.clear for one in both) else "not reproduced"
            cells.append(f"{word}: {points(both[0])}, {points(both[1])}")
        yield table_row(f"Figure {n}" + (f", I = {I}" if n == 5 else ""), "STEM ahead", *cells)
    alike = [
        f"{percent(over_seeds(finals(runs[2][row, STEM, 61])))} and"
        f" {percent(over_seeds(finals(runs[3][row, STEM, 7])))} per cent"
        for row in ROWS
    ]
    yield table_row("Figures 2, 3", "STEM with (8, 61) and (64, 7) ends alike", *alike)
    fewer = []
    for row in ROWS:
        pair = [[_reached(runs[5][row, name, I]) for I in _local(runs[5])] for name in NAMES]
        never = sum(bool(np.isinf(few) and np.isinf(many)) for few, many in pair)
        text = f"{sum(few < many for few, many in pair)} of {len(NAMES)} algorithms"
        fewer.append(text + (f"; reached with neither I: {never}" if never else ""))
    yield table_row("Figure 5", "more local steps, more samples to the target", *fewer)


def accuracies(runs: dict[int, dict[Curve, Record]]) -> Iterator[str]:
    """Yield the final test accuracies with their step sizes, as rows of a table."""
    for n in FIGURES:
        for I in _local(runs[n]):
            for row, short in ROWS.items():
                found = [runs[n][row, name, I] for name in NAMES]
                yield table_row(f"{n}, I = {I}", short, *(_final(record) for record in found))


def leads(runs: dict[int, dict[Curve, Record]]) -> Iterator[str]:
    """Yield the leads of STEM, a star where one is not 0 beyond chance, as rows."""
    for n in FIGURES:
        for I in _local(runs[n]):
            for row, short in ROWS.items():
                over = [lead(runs[n], row, name, I) for name in (FEDAVG, SCAFFOLD, BORROWED)]
                cells = [points(one).removesuffix(" points") + " *" * one.distinct for one in over]
                yield table_row(f"{n}, I = {I}", short, *cells)


def samples(run: dict[Curve, Record]) -> Iterator[str]:
    """Yield the samples of a worker until the target of Figure 5, as rows of a table."""
    for row, short in ROWS.items():
        for I in _local(run):
            reached = [_reached(run[row, name, I]) for name in NAMES]
            cells = [f"{n:,.0f}" if np.isfinite(n) else "not reached" for n in reached]
            yield table_row(short, I, *cells)


def floor_rows(found: list[Record]) -> Iterator[str]:
    """Yield the floors of the gradient, as rows of a table."""
    at = {tuple(r[k] for k in ("algorithm", "a", "eta", "b", "I", "classes")): r for r in found}
    for b, I, classes in FLOORS:
        wanted = [("stem", "0.01", b), ("stem", "0.03", b), ("stem", "0.1", b)]
        wanted += [("fedavg", "1.0", b), ("fedavg", "1.0", 2 * b), ("scaffold", "1.0", b)]
        cells = []
        for name, a, size in wanted:
            r = at[name, a, FLOOR_STEP, str(size), str(I), str(classes)]
            cells.append(f"{1e3 * float(r['floor']):.2f} ± {1e3 * float(r['error']):.2f}")
        yield table_row(f"b = {b}, I = {I}, {classes} classes", *cells)


def benchmark_rows(document: dict[str, Any]) -> Iterator[str]:
    """Yield seconds of CPU per step beside torch, as rows of a table."""
    for r in document["rows"]:
        chunks = [f"{1e3 * seconds:.1f}" for seconds in r["by_chunk"].values()]
        both = [f"{1e3 * r[name]:.1f}" for name in ("stem", "torch")]
        yield table_row(r["case"], r["b"], *chunks, *both, f"{r['seconds'] / r['torch']:.2f}")


def _final(record: Record) -> str:
    """Return a final accuracy and the step sizes behind it, as the page writes them."""
    steps = record["steps"].replace("kappa ", "").replace("cbar ", "").replace("step ", "")
    lost = int(record["lost"])
    text = percent(over_seeds(finals(record))) + (f", {lost} diverged" if lost else "")
    return text if record["algorithm"] == BORROWED else f"{text} ({steps})"


def _reached(record: Record) -> float:
    return float(record["samples_to_target"] or "inf")


def _local(run: dict[Curve, Record]) -> list[int]:
    """Return the numbers of local steps, in the order of the record."""
    return list(dict.fromkeys(I for _, _, I in run))


def _lines(path: Path) -> Iterator[Record]:
    yield from csv.DictReader(path.read_text(encoding="utf-8").splitlines())
