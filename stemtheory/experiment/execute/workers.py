"""Processes that run cells, one for each job; a cell that ends its process fails alone.

A worker is a fresh interpreter that is sent cells and answers with one outcome as soon as it is
there. So where a worker dies, the cell it was at is known, and what it had finished is kept. It
needs no ``if __name__ == "__main__"`` in the caller's script.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from multiprocessing.connection import Connection, Pipe
from queue import SimpleQueue
from typing import Any

from stemtheory.experiment.design.cells import Cell
from stemtheory.experiment.execute.work import CellResult, failed, run_cell
from stemtheory.experiment.faults import WorkersLostError
from stemtheory.runtime import BLAS_THREADS

START = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]);"
    " from stemtheory.experiment.execute.workers import serve; serve(int(sys.argv[2]))"
)


class Processes(Executor):
    """Runs chunks of cells in ``jobs`` processes."""

    def __init__(self, jobs: int) -> None:
        self.jobs = jobs
        self._threads = ThreadPoolExecutor(jobs)
        self._workers = [Worker() for _ in range(jobs)]
        self._idle: SimpleQueue[Worker] = SimpleQueue()
        for worker in self._workers:
            self._idle.put(worker)

    def submit(self, _fn: Any, /, *args: Any, **_kwargs: Any) -> Future[Any]:
        """Return the future outcomes of the cells that are the first argument."""
        return self._threads.submit(self.run, args[0])

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End all workers at once; the outcomes that are there still come back."""
        for worker in self._workers:
            worker.kill()
        self._threads.shutdown(wait, cancel_futures=cancel_futures)
        for worker in self._workers if wait else ():
            worker.bury()

    def run(self, cells: Sequence[Cell]) -> list[CellResult]:
        """Return the outcomes of the cells, from one process."""
        worker = self._idle.get()
        try:
            return worker.run(cells)
        finally:
            self._idle.put(worker)


_shared: ContextVar[Processes | None] = ContextVar("shared", default=None)


@contextmanager
def processes(jobs: int) -> Iterator[Processes]:
    """Open ``jobs`` processes, or those that are shared here."""
    if (lent := _shared.get()) is not None:
        yield lent
        return
    pool = Processes(jobs)
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


@contextmanager
def shared_workers(jobs: int) -> Iterator[None]:
    """Let sweeps and forecasts inside use the same processes: each loads code and kernels once."""
    with processes(jobs) as pool:
        mark = _shared.set(pool)
        try:
            yield
        finally:
            _shared.reset(mark)


class Worker:
    """One process, and the next one when it dies."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._line: Connection[Any, Any] | None = None
        self._lock, self._closed = threading.Lock(), False

    def kill(self) -> None:
        """End it for good."""
        with self._lock:
            self._closed = True
            if self._process is not None:
                self._process.kill()

    def run(self, cells: Sequence[Cell]) -> list[CellResult]:
        """Return the outcomes of the cells in order; fewer if it was ended for good.

        The cell over which a process dies runs again in the next one, for it may be innocent (the
        system ends whom it likes when memory is short); the second time it is ``failed``.

        Raises
        ------
        WorkersLostError
            If a process ends before it takes a cell: that says nothing about any.
        """
        found: list[CellResult] = []
        suspect = False
        while len(found) < len(cells):
            try:
                for result in self._answers(cells[len(found) :]):
                    found.append(result)
                    suspect = False
            except (EOFError, OSError):
                code = self.bury()
                if self._closed:
                    break
                if suspect:
                    found.append(failed(cells[len(found)], _cause(code)))
                suspect = not suspect
            except BaseException:
                self.bury()  # what it still has to say would be taken for the next answer
                raise
        return found

    def _answers(self, cells: Sequence[Cell]) -> Iterator[CellResult]:
        try:
            line = self._line or self._started()
        except OSError as error:  # of this process: no cell is to blame
            if self._closed:
                raise
            raise WorkersLostError(
                f"a worker process cannot be started ({error.strerror or error}): give it what it"
                " lacks (ulimit -n, ulimit -u), or lower jobs; what was finished is kept."
            ) from error
        line.send(tuple(cells))
        for _ in cells:
            yield line.recv()

    def _started(self) -> Connection[Any, Any]:
        ours, theirs = Pipe()
        with self._lock, theirs:  # held open here, its end would hide that of the process
            if self._closed:
                raise EOFError
            self._line, end = ours, theirs.fileno()
            self._process = subprocess.Popen(
                [sys.executable, "-c", START, json.dumps(sys.path), str(end)],
                stdin=subprocess.DEVNULL,
                stdout=2,  # what a cell prints is no part of a document
                env={**os.environ, **dict.fromkeys(BLAS_THREADS, "1")},
                pass_fds=[end],
                process_group=0,  # so that signals to the parent's group pass by
            )
        try:
            ours.recv()
        except (EOFError, OSError) as error:
            if self._closed:
                raise
            raise WorkersLostError(
                f"a worker process ended before it started (exit code {self.bury()}): see what"
                f" {START!r} says to {sys.executable}."
            ) from error
        return ours

    def bury(self) -> int | None:
        """Return the exit code of the process, dead by then, after clearing up behind it."""
        process, line = self._process, self._line
        self._process = self._line = None
        if line is not None:
            line.close()
        if process is None:
            return None
        process.kill()  # it may have closed its end only
        return process.wait()


def serve(end: int) -> None:
    """Run the cells that come in until the other end is closed, also by the parent's death."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    line: Connection[Any, Any] = Connection(end)
    waiting: SimpleQueue[Sequence[Cell]] = SimpleQueue()
    threading.Thread(target=_listen, args=(line, waiting), daemon=True).start()
    line.send("ready")
    while True:
        for cell in waiting.get():
            line.send(run_cell(cell))


def _listen(line: Connection[Any, Any], waiting: SimpleQueue[Sequence[Cell]]) -> None:
    try:
        while True:
            waiting.put(line.recv())
    finally:
        os._exit(0)


def _cause(code: int | None) -> str:
    """Say how a process ended."""
    if code is None or code >= 0:
        return f"its worker ended twice, the second time with exit code {code}"
    name = signal.Signals(-code).name
    more = ", as the system does when memory runs out" if name == "SIGKILL" else ""
    return f"its worker was killed twice, the second time by {name}{more}"
