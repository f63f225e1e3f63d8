"""Where cells run: here, in threads, in processes, or on Dask, all behind one interface.

Each is a ``concurrent.futures.Executor`` that is asked to ``run_cells``; none of them changes a bit
of any result.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import re
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from typing import Any

from stemtheory._version import __version__
from stemtheory.experiment.execute.work import run_cell
from stemtheory.experiment.execute.workers import processes
from stemtheory.experiment.faults import WorkersLostError
from stemtheory.runtime import STREAM_VERSION, UsageError, choice, whole

TIMEOUT = 20  # seconds that a scheduler has to answer
KINDS = ("auto", "serial", "threads", "processes", "dask")
ADDRESS = re.compile(r"local|[a-z]+://\S+|\S+:\d+")
MOST_JOBS = 4 * (os.cpu_count() or 1)  # at a time: more of them only take memory from each other


class Serial(Executor):
    """Runs cells when they are submitted, in the thread that submits them."""

    def __init__(self, hurried: Callable[[], bool]) -> None:
        self._hurried = hurried

    def submit(self, _fn: Any, /, *args: Any, **_kwargs: Any) -> Future[Any]:
        """Return a future that is done."""
        future: Future[Any] = Future()
        future.set_result([run_cell(cell, self._hurried) for cell in args[0]])
        return future


def kind_of(kind: str, jobs: int, dask: object) -> str:
    """Return the kind of executor that was asked for; ``auto`` is one in which any cell may die."""
    choice("executor", kind, KINDS)
    whole("jobs", jobs)
    if not isinstance(dask, str | None):
        raise UsageError(f"dask is {dask!r:.60}, but it must be an address in quotes, or 'local'.")
    if dask is not None and not ADDRESS.fullmatch(dask):
        raise UsageError(
            f"dask is {dask!r:.60}, but it must be local, or the address of a scheduler with its"
            " port: write such as tcp://127.0.0.1:8786."
        )
    if dask is not None and kind not in ("auto", "dask"):
        raise UsageError(f"dask was given together with executor {kind}: give one of them.")
    if kind == "auto":
        return "processes" if dask is None else "dask"
    return kind


@contextlib.contextmanager
def open_executor(
    kind: str, jobs: int, dask: str | None = None, hurried: Callable[[], bool] = lambda: False
) -> Iterator[tuple[Executor, int]]:
    """Open an executor of a resolved kind; yield it and how many tasks it runs at a time.

    ``jobs`` counts up to ``MOST_JOBS``. Once ``hurried`` says so, nothing is waited for.

    Raises
    ------
    UsageError
        Where Dask is not installed, or the scheduler cannot be reached or runs another version.
    """
    jobs = min(jobs, MOST_JOBS)
    if kind == "serial":
        yield Serial(hurried), 1
    elif kind == "dask":
        with _dask(jobs, dask or "local") as (client, cores):
            # pure=False: a task is never taken for one that ran before
            yield client.get_executor(pure=False), cores
    elif kind == "processes":
        with processes(jobs) as pool:
            yield pool, pool.jobs
    else:
        threads = ThreadPoolExecutor(jobs)
        try:
            yield threads, jobs
        finally:
            threads.shutdown(wait=not hurried(), cancel_futures=True)


def is_lost_worker(error: BaseException) -> bool:
    """Return whether Dask gave a task up because the workers that ran it died."""
    return type(error).__name__ == "KilledWorker"


@contextlib.contextmanager
def _dask(jobs: int, address: str) -> Iterator[tuple[Any, int]]:
    try:
        distributed: Any = importlib.import_module("distributed")
    except ImportError as error:
        raise UsageError(
            "dask was asked for, but distributed is not installed: pip install stemtheory[dask]."
        ) from error
    with contextlib.ExitStack() as stack:
        target: Any = address
        if address == "local":
            target = stack.enter_context(
                distributed.LocalCluster(
                    n_workers=jobs,
                    threads_per_worker=1,
                    processes=True,
                    dashboard_address="127.0.0.1:0",
                )
            )
        try:
            client = stack.enter_context(distributed.Client(target, timeout=TIMEOUT))
        except (OSError, ValueError, TimeoutError) as error:
            raise UsageError(
                f"no Dask scheduler answers at {address} ({error}): start one, or give local."
            ) from error
        yield client, _same_versions(client, address)


def _same_versions(client: Any, address: str) -> int:
    """Return how many threads the workers have; all must run this version of the package."""
    ours = worker_version()
    try:
        client.wait_for_workers(1, timeout=TIMEOUT)  # they may still be starting
        theirs = client.run(worker_version)
    except TimeoutError as error:
        raise WorkersLostError(
            f"{address} has no workers: start some, then run it again."
        ) from error
    except (ImportError, ModuleNotFoundError) as error:
        raise UsageError(
            f"a worker of {address} has no stemtheory ({error}): install {ours[0]} there."
        ) from error
    other = {version for version in theirs.values() if tuple(version) != ours}
    if other:
        raise UsageError(
            f"a worker of {address} runs stemtheory {min(other)[0]}, but this is {ours[0]}:"
            " install the same version on all."
        )
    return sum(client.nthreads().values())


def worker_version() -> tuple[str, int]:
    """Return the version of the package and of its streams, wherever this runs."""
    return __version__, STREAM_VERSION
