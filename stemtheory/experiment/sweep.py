"""The front door of sweeps: a file becomes points, missing cells run, and a table comes back."""

from __future__ import annotations

import math
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from stemtheory.experiment.design.cells import Cell
from stemtheory.experiment.design.points import Machine, Point, settle
from stemtheory.experiment.design.rules import rules
from stemtheory.experiment.design.spec import Spec, load_spec
from stemtheory.experiment.execute.drive import CHUNK_SECONDS, drive
from stemtheory.experiment.execute.executors import kind_of
from stemtheory.experiment.execute.forecast import Forecast, forecast, kind_of_cell, weight
from stemtheory.experiment.execute.work import CellResult, load_trace
from stemtheory.experiment.faults import SweepStopped
from stemtheory.experiment.fits.exponents import Fit, check_columns, fits
from stemtheory.experiment.fits.targets import Target, targets
from stemtheory.experiment.store import tables
from stemtheory.experiment.store.changes import changes
from stemtheory.experiment.store.results import Store
from stemtheory.experiment.store.store_file import located
from stemtheory.runtime import (
    Floats,
    Stop,
    UsageError,
    callback,
    file_path,
    listener,
    notebook,
    one_blas_thread,
    real,
    resolve,
    truth,
    whole,
)
from stemtheory.simulator import fused, refuse_the_huge

if TYPE_CHECKING:
    import pandas as pd

FOLDER = Path("results")


class Progress(NamedTuple):
    """How far a sweep is: cells ``done`` (of those ``failed``) and ``left``, cells per second.

    ``eta`` is the seconds that are left by the cost of the cells, None before the first is done.
    """

    done: int
    failed: int
    left: int
    rate: float
    eta: float | None


@dataclass(frozen=True)
class SweepResult:
    """A sweep and its store. ``statuses`` are those of its cells; ``ran`` cells ran this time.

    ``forecast`` is there after a dry run: what the missing cells would take.
    """

    spec: Spec
    store: Path
    points: tuple[Point, ...]
    statuses: dict[str, str]
    ran: int
    seconds: float
    forecast: Forecast | None = None

    @property
    def cells_total(self) -> int:
        """How many different cells the points need."""
        return len({point.cell.id for point in self.points})

    def count(self, status: str) -> int:
        """Return how many cells have a status: ok, diverged or failed."""
        return sum(found == status for found in self.statuses.values())

    @cached_property
    def results(self) -> Mapping[str, CellResult]:
        """The stored outcomes of this sweep's cells by id, each made when it is asked for."""
        if not self.statuses:
            return {}
        with Store.reading(self.store) as store:
            return store.outcomes(list(self.statuses))

    @cached_property
    def frame(self) -> pd.DataFrame:
        """One row per reported point: every setting, mean_grad_sq, stderr, status, costs."""
        return tables.frame(tables.each_record(self.points, self.results))

    @cached_property
    def targets(self) -> tuple[Target, ...]:
        """T(epsilon) in steps, samples, rounds and vectors, beside what the bounds promise."""
        return targets(self.points, self.results)

    @cached_property
    def fits(self) -> tuple[Fit, ...]:
        """The exponents that the sweep declares, from everything that the store holds."""
        return fits(self.spec, self.points, self.results, self.targets)

    def _repr_html_(self) -> str:
        """Return what a notebook shows: how many cells there are, and every exponent found."""
        failed, diverged = self.count("failed"), self.count("diverged")
        title = (
            f"{self.spec.name} ({self.spec.mode}): {len(self.statuses) - failed} of"
            f" {self.cells_total} cells, {diverged} diverged, {failed} failed"
        )
        head = ("fit", "exponent", "95 % interval", "theory", "verdict")
        found = () if self.forecast else self.fits
        ends = ("{:.3f} to {:.3f}".format(*fit.ci95) if fit.ci95 else None for fit in found)
        rows = (
            (f.name, f.exponent, e, f.theory, f.verdict) for f, e in zip(found, ends, strict=True)
        )
        return notebook.table(title, head, rows)

    def running(self, point: Point) -> tuple[Any, Floats]:
        """Return ``times`` (n,) and the running averages (n, R) that a point's cell recorded.

        Raises
        ------
        LookupError
            If it recorded none: set ``record`` in the sweep.
        """
        result = self.results.get(point.cell.id)
        if result is None or result.trace is None:
            raise LookupError(f"cell {point.cell.id} has no record: set record in the sweep.")
        return load_trace(result)

    def document(self) -> dict[str, Any]:
        """Return the JSON document of the command ``sweep``."""
        done = len(self.statuses)
        found = {
            "name": self.spec.name,
            "mode": self.spec.mode,
            "store": str(self.store),
            "points": len(self.points),
            "cells_total": self.cells_total,
            "cells_done": done - self.count("failed"),
            "cells_failed": self.count("failed"),
            "cells_diverged": self.count("diverged"),
            "may_diverge": self.spec.may_diverge,
            "cells_left": self.cells_total - done,
            "cells_ran": self.ran,
            "seconds": self.seconds,
            "fits": [] if self.forecast else [fit.to_dict() for fit in self.fits],
            "targets": [] if self.forecast else [target.to_dict() for target in self.targets],
        }
        if self.forecast is not None:
            found["forecast"] = self.forecast._asdict()
        return found


@one_blas_thread()  # points load problems, whose constants are sums too
def run_sweep(
    sweep: str | Path | Spec,
    *,
    mode: str = "default",
    store: str | Path | None = None,
    jobs: int = 1,
    dask: str | None = None,
    dry_run: bool = False,
    progress: Callable[[Progress], None] | None = None,
    executor: str = "auto",
    retry_failed: bool = False,
    chunk_seconds: float = CHUNK_SECONDS,
    tell: Callable[[str], None] = lambda text: None,
) -> SweepResult:
    """Return the sweep with all its cells done; those that the store holds already do not run.

    Parameters
    ----------
    sweep, mode
        A name of the catalogue, a TOML file or a Spec; quick, default or full.
    store
        The results store (default ``results/NAME.sqlite``).
    jobs, dask, executor
        How many cells run at a time; ``local`` or the address of a Dask scheduler; serial, threads,
        processes, dask, or auto. None of them changes a bit of the numbers.
    dry_run
        Run and write nothing; ``forecast`` says what it would take.
    progress
        Called after every write.
    retry_failed
        Run cells again that are stored as failed.
    chunk_seconds
        Cells predicted to take less together go to a worker as one task.
    tell
        Called with a sentence where code or data of yours changed since the store was written.

    Returns
    -------
    SweepResult
        Its points, its cells' outcomes, its fits, and ``frame``, a table of all of it.

    Raises
    ------
    UsageError
        For a wrong sweep, or a store that is none or cannot be written.
    StoreError
        For a damaged, full or busy store.
    SweepStopped
        After SIGINT or SIGTERM, when the cells in flight are written.

    Examples
    --------
    >>> from stemtheory import run_sweep
    >>> run_sweep("speedup", mode="quick", dry_run=True).forecast.cells > 0
    True
    """
    began = time.perf_counter()
    spec = sweep if isinstance(sweep, Spec) else _loaded(file_path("sweep", sweep), mode)
    for name, function in (("progress", progress), ("tell", tell)):
        callback(name, tell if function is None else function)
    dry_run, retry_failed = truth("dry_run", dry_run), truth("retry_failed", retry_failed)
    chunk_seconds, jobs = real("chunk_seconds", chunk_seconds, minimum=0), whole("jobs", jobs)
    rules(spec)  # what is wrong in them is found before anything runs
    kind = kind_of(executor, jobs, dask)
    path = FOLDER / f"{spec.name}.sqlite" if store is None else file_path("store", store)
    located(path)  # or it is refused
    machine, statuses = _stored(path, spec)
    machine, found = settle(spec, machine)
    check_columns(spec, found)
    cells = {point.cell.id: point.cell for point in found}
    missing = _missing(cells, statuses, retry_failed)
    ran, plan = 0, None
    for sentence in _changes(path, missing):
        tell(sentence)
    if kind != "dask":  # its workers are other machines
        _refuse_what_is_not_here(spec, found, missing)
    if dry_run:
        plan = forecast(missing, jobs)
    elif missing:
        _refuse_uncompiled(missing, path)
        patient = kind in ("processes", "dask")  # which are looked at every POLL seconds
        with Store.writing(path) as opened, Stop(patient) as stop:
            opened.remember(spec.name, spec.mode, machine, cells)
            missing = _missing(cells, opened.statuses(), retry_failed)  # now nobody else writes
            tally = _Tally(missing, progress)
            for pairs in drive(
                *(missing, kind, jobs, dask),
                chunk_seconds=chunk_seconds,
                stopped=lambda: bool(stop),
                hurried=lambda: stop.hurried,
            ):
                opened.add(pairs)
                tally.add(pairs)
            statuses, ran = opened.statuses(), tally.done
            if stop.number is not None and tally.left:
                hint = f"run the same command with store {path}"
                raise SweepStopped(stop.number, tally.done, tally.left, hint)
    mine = {id_: statuses[id_] for id_ in cells if id_ in statuses}
    return SweepResult(spec, path, found, mine, ran, time.perf_counter() - began, plan)


def _loaded(sweep: str | Path, mode: str) -> Spec:
    """Return the sweep of one size, after the other sizes in its file have been checked as well."""
    spec = load_spec(sweep, mode)
    for size in ("quick", "full"):
        if size in spec.document.table and size != mode:
            rules(load_spec(sweep, size))
    return spec


@one_blas_thread()
def planned(spec: Spec) -> tuple[Cell, ...]:
    """Return the cells that a sweep has in a store which is new; nothing is measured or run."""
    _, found = settle(spec, Machine(resolve("auto").name))
    return tuple({point.cell.id: point.cell for point in found}.values())


def settle_store(path: Path, spec: Spec) -> None:
    """Make a store in which ``auto`` is settled for all of a sweep, before a part of it runs."""
    machine, _ = settle(spec, _stored(path, spec)[0])
    with Store.writing(path) as opened:
        opened.remember(spec.name, spec.mode, machine)


def _stored(path: Path, spec: Spec) -> tuple[Machine, dict[str, str]]:
    """Return what ``auto`` stands for, and what is done; a store settles both."""
    if not path.exists():
        return Machine(resolve("auto").name), {}
    with Store.reading(path) as store:
        known = store.machine(spec.name, spec.mode)
        return known or Machine(resolve("auto").name), store.statuses()


def _changes(path: Path, missing: list[Cell]) -> list[str]:
    """Return what of a user's own changed since cells were stored that would be these."""
    own = [cell for cell in missing if cell.run.problem.made_of or cell.run.algorithm.made_of]
    if not (own and path.exists()):
        return []
    with Store.reading(path) as store:
        return changes(own, store.own_settings())


def _refuse_uncompiled(missing: list[Cell], path: Path) -> None:
    """Refuse cells of the fused engine where it is missing, before any of them fails."""
    backends = {c.run.numerics.backend for c in missing if c.run.numerics.engine == "fused"}
    reason = fused.missing() if "numpy" in backends else None
    if backends - {"numpy"}:
        reason = reason or fused.missing_for_device()
    if reason:
        raise UsageError(
            f"cells of {path} are for the fused engine, but {reason}: install it, or start"
            " another store."
        )


def _refuse_what_is_not_here(spec: Spec, found: tuple[Point, ...], missing: list[Cell]) -> None:
    """Refuse a backend or the memory that this machine lacks, with the grid and its line."""
    wanted = {cell.id for cell in missing}
    for point in found:
        run = point.cell.run
        if point.cell.id in wanted:
            try:
                if resolve(run.numerics.backend).on_host:
                    refuse_the_huge(run, run.numerics.engine, point.cell.record, threads=1)
            except UsageError as error:
                raise spec.refuse_grid(point.grid, error) from error


def _missing(cells: dict[str, Cell], statuses: dict[str, str], retry: bool) -> list[Cell]:
    return [
        cell
        for id_, cell in cells.items()
        if id_ not in statuses or (retry and statuses[id_] == "failed")
    ]


class _Tally:
    """Counts what is done, and says when the rest will be: by what each kind of cell has taken."""

    def __init__(self, cells: list[Cell], report: Callable[[Progress], None] | None) -> None:
        self.report, self.left = report, len(cells)
        self.done = self.failed = 0
        self.ahead: dict[object, float] = defaultdict(float)  # by kind, in seconds of the model
        for cell in cells:
            self.ahead[kind_of_cell(cell)] += weight(cell)
        self.behind: dict[object, float] = defaultdict(float)
        self.spent: dict[object, float] = defaultdict(float)  # seconds in the cells themselves
        self.start, self.told = time.perf_counter(), listener()

    def add(self, pairs: list[tuple[Cell, CellResult]]) -> None:
        self.done += len(pairs)
        self.left -= len(pairs)
        self.failed += sum(result.status == "failed" for _, result in pairs)
        for cell, result in pairs:
            kind, cost = kind_of_cell(cell), weight(cell)
            self.ahead[kind] -= cost
            self.behind[kind] += cost
            self.spent[kind] += result.wall_seconds
        seconds = time.perf_counter() - self.start
        eta = seconds * self.to_go() if self.left else 0.0
        self.told(seconds / (seconds + eta))
        if self.report is not None:
            self.report(Progress(self.done, self.failed, self.left, self.done / seconds, eta))

    def to_go(self) -> float:
        """Return what is left over what is done; a kind not seen yet is as slow as all others."""
        usual = sum(self.spent.values()) / sum(self.behind.values())
        pace = {kind: self.spent[kind] / cost for kind, cost in self.behind.items()}
        left = sum(cost * pace.get(kind, usual) for kind, cost in self.ahead.items())
        return max(0.0, left / (sum(self.spent.values()) or math.inf))
