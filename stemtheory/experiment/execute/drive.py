"""Feeds cells to an executor, and takes what comes back, whatever happens to its workers."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait

from stemtheory._version import __version__
from stemtheory.experiment.design.cells import Cell
from stemtheory.experiment.execute.executors import is_lost_worker, open_executor
from stemtheory.experiment.execute.forecast import weight
from stemtheory.experiment.execute.work import CellResult, failed, run_cells
from stemtheory.experiment.faults import WorkersLostError

CHUNK_SECONDS = 0.25  # cheap cells travel together, so that sending them costs little
POLL = 0.1  # seconds until a second signal is noticed
Chunk = tuple[Cell, ...]
Pairs = list[tuple[Cell, CellResult]]


def drive(
    cells: Iterable[Cell],
    kind: str,
    jobs: int,
    dask: str | None = None,
    *,
    chunk_seconds: float = CHUNK_SECONDS,
    stopped: Callable[[], bool] = lambda: False,
    hurried: Callable[[], bool] = lambda: False,
) -> Iterator[Pairs]:
    """Yield finished cells with their outcomes, as they come.

    Once ``stopped`` says so nothing new is begun, and what is in flight is finished, unless
    ``hurried`` says not to wait for it. A cell that keeps killing its worker is ``failed``; the
    others are innocent.

    Raises
    ------
    WorkersLostError
        If the workers are gone altogether.
    """
    queue, suspects = deque(chunks(cells, chunk_seconds)), deque[Cell]()
    running: dict[Future[list[CellResult]], Chunk] = {}
    alone: Future[list[CellResult]] | None = None
    with open_executor(kind, jobs, dask, hurried) as (pool, width):
        # One more than there are workers waits, so that none of them does.
        width += kind != "serial"
        while running or ((queue or suspects) and not stopped()):
            while queue and len(running) < width and not stopped():
                chunk = queue.popleft()
                running[pool.submit(run_cells, chunk, __version__)] = chunk
            if suspects and not running and not stopped():  # one at a time, so that it is clear
                chunk = (suspects.popleft(),)
                running[alone := pool.submit(run_cells, chunk, __version__)] = chunk
            if stopped():  # take back what no worker has begun
                for future in [future for future in running if future.cancel()]:
                    del running[future]
            ended, _ = wait(running, timeout=POLL, return_when=FIRST_COMPLETED)
            for future in ended:
                chunk = running.pop(future)
                if pairs := _landed(future, chunk, future is alone):
                    yield pairs
                else:
                    suspects.extend(chunk)
            if hurried():
                return


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


def _landed(future: Future[list[CellResult]], chunk: Chunk, alone: bool) -> Pairs:
    """Return the outcomes of a chunk; none where Dask lost it and cannot say by which cell."""
    try:
        return list(zip(chunk, future.result(), strict=True))
    except CancelledError as error:
        raise WorkersLostError(
            "the scheduler is gone; what was finished is kept: run it again to resume."
        ) from error
    except WorkersLostError:
        raise
    except Exception as error:
        reason = f"no result came back ({type(error).__name__}: {error})"
        if is_lost_worker(error):
            if not alone:
                return []
            reason = "the workers that ran it died, again and again"
        return [(cell, failed(cell, " ".join(reason.split()))) for cell in chunk]
