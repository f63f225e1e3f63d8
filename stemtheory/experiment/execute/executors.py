"""Where cells run: here, in threads, in processes, or on Dask, all behind one interface.

Every executor is a ``concurrent.futures.Executor``; none of them changes a bit of any result.
"""

from __future__ import annotations

import contextlib
import importlib
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from typing import Any

from stemtheory._version import __version__
from stemtheory.experiment.faults import WorkersLostError
from stemtheory.runtime import STREAM_VERSION, UsageError, choice, whole

TIMEOUT = 20  # seconds that a scheduler has to answer
KINDS = ("auto", "serial", "threads", "processes", "dask")
# Read by BLAS libraries when they are loaded, so they must be set before NumPy is imported.
BLAS_LIBRARIES = ("OMP", "OPENBLAS", "MKL", "NUMEXPR", "VECLIB", "BLIS")
BLAS_THREADS = tuple(
    f"{name}_{'MAXIMUM' if name == 'VECLIB' else 'NUM'}_THREADS" for name in BLAS_LIBRARIES
)


class Serial(Executor):
    """Runs a task when it is submitted, in the thread that submits it."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Return a future that is done."""
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


def kind_of(kind: str, jobs: int, dask: str | None) -> str:
    """Return the kind of executor that was asked for, ``auto`` resolved."""
    choice("executor", kind, KINDS)
    whole("jobs", jobs)
    if dask is not None or kind == "dask":
        if kind not in ("auto", "dask"):
            raise UsageError(f"dask was given together with executor {kind}: give one of them.")
        return "dask"
    if kind == "auto":
        return "serial" if jobs == 1 else "processes"
    return kind


@contextlib.contextmanager
def open_executor(kind: str, jobs: int, dask: str | None = None) -> Iterator[tuple[Executor, int]]:
    """Open an executor of a resolved kind; yield it and how many tasks it runs at a time.

    Raises
    ------
    UsageError
        Where Dask is not installed, or the scheduler cannot be reached or runs another version.
    """
    if kind == "serial":
        yield Serial(), 1
    elif kind == "threads":
        with ThreadPoolExecutor(jobs) as pool:
            yield pool, jobs
    elif kind == "processes":
        with one_blas_thread():
            context = multiprocessing.get_context("spawn")
            with ProcessPoolExecutor(jobs, mp_context=context, initializer=settle) as processes:
                yield processes, jobs
    else:
        with _dask(jobs, dask or "local") as found:
            yield found


def settle() -> None:
    """Prepare a worker process: signals go to the parent alone, and its death is the worker's."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(os, "setpgrp"):
        os.setpgrp()  # a signal to the parent's group, such as that of timeout(1), passes by
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_follow, args=(parent,), daemon=True).start()


def _follow(parent: Any) -> None:
    parent.join()
    os._exit(1)


@contextlib.contextmanager
def one_blas_thread() -> Iterator[None]:
    """Let the processes that are started meanwhile use one BLAS thread each."""
    before = {name: os.environ.get(name) for name in BLAS_THREADS}
    os.environ.update(dict.fromkeys(BLAS_THREADS, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def is_lost_worker(error: BaseException) -> bool:
    """Return whether Dask gave a task up because the workers that ran it died."""
    return type(error).__name__ == "KilledWorker"


@contextlib.contextmanager
def _dask(jobs: int, address: str) -> Iterator[tuple[Executor, int]]:
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
        cores = _same_versions(client, address)
        # pure=False: a task is never taken for one that ran before
        yield client.get_executor(pure=False), cores


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
