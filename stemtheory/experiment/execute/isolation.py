"""Cells that may have killed their worker run again one at a time, away from everything else."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection

from stemtheory.experiment.design.cells import Cell
from stemtheory.experiment.execute.executors import one_blas_thread, settle
from stemtheory.experiment.execute.work import CellResult, failed, run_cell
from stemtheory.experiment.faults import WorkersLostError


def run_apart(
    cells: Sequence[Cell], stopped: Callable[[], bool]
) -> Iterator[tuple[Cell, CellResult]]:
    """Yield every cell with its outcome; a cell that kills its process is ``failed``.

    One process runs the cells in turn; where it dies, the cell it was at is the culprit, and a
    fresh process takes the rest. ``stopped`` is asked between cells.
    """
    waiting = list(cells)
    while waiting and not stopped():
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=_serve, args=(theirs,), daemon=True)
        with one_blas_thread():
            process.start()
        theirs.close()  # else its end would be held open here, and its death go unnoticed
        try:
            _await_start(ours)
            while waiting and not stopped():
                cell = waiting.pop(0)
                outcome = _ask(ours, cell)
                if outcome is None:
                    process.join()
                    yield cell, failed(cell, _cause(process.exitcode))
                    break
                yield cell, outcome
        finally:
            ours.close()
            process.join()


def _await_start(connection: Connection) -> None:
    """Wait until the process is up: one that never starts says nothing about any cell."""
    try:
        connection.recv()
    except (EOFError, OSError) as error:
        raise WorkersLostError(
            "worker processes end before they start: call run_sweep below"
            ' if __name__ == "__main__", or use one job.'
        ) from error


def _ask(connection: Connection, cell: Cell) -> CellResult | None:
    """Return the outcome of a cell, or None if the process died over it."""
    try:
        connection.send(cell)
        outcome: CellResult = connection.recv()
    except (EOFError, OSError):
        return None
    return outcome


def _serve(connection: Connection) -> None:
    """Run cells until the other end is closed."""
    settle()
    connection.send(True)
    while True:
        try:
            cell = connection.recv()
        except EOFError:
            return
        connection.send(run_cell(cell))


def _cause(code: int | None) -> str:
    """Say how a process ended."""
    if code is None or code >= 0:
        return f"its worker ended twice, the second time with exit code {code}"
    name = signal.Signals(-code).name
    more = ", as the system does when memory runs out" if name == "SIGKILL" else ""
    return f"its worker was killed twice, the second time by {name}{more}"
