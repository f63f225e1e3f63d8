"""Feeds cells to an executor, and survives the death of its workers."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    wait,
)
from dataclasses import dataclass, field

from stemtheory._version import __version__
from stemtheory.experiment.design.cells import Cell
from stemtheory.experiment.execute.executors import is_lost_worker, open_executor
from stemtheory.experiment.execute.forecast import weight
from stemtheory.experiment.execute.isolation import run_apart
from stemtheory.experiment.execute.work import CellResult, failed, run_cells
from stemtheory.experiment.faults import WorkersLostError

CHUNK_SECONDS = 0.25  # cheap cells travel together, so that sending them costs little
Chunk = tuple[Cell, ...]
Pairs = list[tuple[Cell, CellResult]]


@dataclass
class _Flight:
    """What is queued and in flight, and the cells whose worker died."""

    queue: deque[Chunk]
    stopped: Callable[[], bool]
    running: dict[Future[list[CellResult]], Chunk] = field(default_factory=dict)
    suspects: list[Cell] = field(default_factory=list)
    broken: bool = False


def drive(
    cells: Iterable[Cell],
    kind: str,
    jobs: int,
    dask: str | None = None,
    *,
    chunk_seconds: float = CHUNK_SECONDS,
    stopped: Callable[[], bool] = lambda: False,
) -> Iterator[Pairs]:
    """Yield finished cells with their outcomes, as they come.

    Once ``stopped`` says so nothing new is begun, and what is in flight is finished. After a pool
    broke, the cells in flight run again one at a time; the one that kills its process again is
    ``failed``, the others are innocent.

    Raises
    ------
    WorkersLostError
        If the workers are gone altogether.
    """
    flight = _Flight(deque(chunks(cells, chunk_seconds)), stopped)
    while flight.queue and not stopped():
        flight.broken = False
        with open_executor(kind, jobs, dask) as (pool, width):
            # One more than there are workers waits, so that none of them does.
            yield from _fly(pool, width + (kind != "serial"), flight)
            if flight.suspects and kind == "dask":
                yield from _again_on_dask(pool, flight)
        for pair in run_apart(flight.suspects, stopped):
            yield [pair]
        flight.suspects.clear()


def chunks(cells: Iterable[Cell], seconds: float) -> Iterator[Chunk]:
    """Yield runs of cells whose predicted time together is about ``seconds``, in order."""
    held: list[Cell] = []
    total = 0.0
    for cell in cells:
        cost = weight(cell)
        if held and total + cost > seconds:
            yield tuple(held)
            held, total = [], 0.0
        held.append(cell)
        total += cost
    if held:
        yield tuple(held)


def _fly(pool: Executor, window: int, flight: _Flight) -> Iterator[Pairs]:
    """Keep ``window`` chunks in flight until all are done, a signal came, or the pool broke."""
    while flight.running or (flight.queue and not flight.stopped() and not flight.broken):
        while flight.queue and len(flight.running) < window and not _closing(flight):
            chunk = flight.queue.popleft()
            try:
                flight.running[pool.submit(run_cells, chunk, __version__)] = chunk
            except BrokenExecutor:  # never begun: it is no suspect
                flight.queue.appendleft(chunk)
                flight.broken = True
        if flight.stopped():
            _recall(flight)
        ended, _ = wait(flight.running, timeout=0.5, return_when=FIRST_COMPLETED)
        for future in ended:
            if pairs := _land(future, flight.running.pop(future), flight):
                yield pairs


def _closing(flight: _Flight) -> bool:
    return flight.broken or flight.stopped()


def _recall(flight: _Flight) -> None:
    """Take back what no worker has begun."""
    for future in [future for future in flight.running if future.cancel()]:
        del flight.running[future]


def _land(future: Future[list[CellResult]], chunk: Chunk, flight: _Flight) -> Pairs:
    """Return the outcomes of a chunk; none yet if its worker died."""
    try:
        return list(zip(chunk, future.result(), strict=True))
    except BrokenExecutor:
        flight.broken = True
    except CancelledError as error:
        raise WorkersLostError(
            "the scheduler is gone; what was finished is kept: run it again to resume."
        ) from error
    except Exception as error:
        if not is_lost_worker(error):
            reason = f"no result came back ({type(error).__name__}: {error})"
            return [(cell, failed(cell, " ".join(reason.split()))) for cell in chunk]
    flight.suspects.extend(chunk)
    return []


def _again_on_dask(pool: Executor, flight: _Flight) -> Iterator[Pairs]:
    """Run the suspects one at a time; Dask itself has tried each several times."""
    while flight.suspects and not flight.stopped():
        cell = flight.suspects.pop(0)
        try:
            yield [(cell, pool.submit(run_cells, (cell,), __version__).result()[0])]
        except Exception as error:
            if not is_lost_worker(error):
                raise WorkersLostError(f"the workers are lost ({error}): run it again.") from error
            yield [(cell, failed(cell, "the workers that ran it died, again and again"))]
    flight.suspects.clear()
