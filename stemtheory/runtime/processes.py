"""What there is of a machine: its memory, its cores, and work side by side, a process on each.

Answers do not depend on how many processes there are. These are spawned: the same on every system,
and no thread is copied in the middle of its work. They end with the process that asked, whatever
ends it.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from itertools import starmap
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from stemtheory.runtime.files import is_out_of_handles

if TYPE_CHECKING:  # most commands start no process, and need not wait for this
    from concurrent.futures import Future, ProcessPoolExecutor

GROUP_LIMITS = (  # of control groups, version 2 and 1: what a job or a container may take
    Path("/sys/fs/cgroup/memory.max"),
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
)
T = TypeVar("T")


def machine_bytes() -> int:
    """Return the memory of this machine, or of the control group if that is less, in bytes."""
    found = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    for file in GROUP_LIMITS:
        with contextlib.suppress(OSError, ValueError):  # there is none, or it says "max"
            found.append(int(file.read_text()))
    return min(found)


def cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def side_by_side(
    call: Callable[..., T], orders: Sequence[tuple[Any, ...]], jobs: int
) -> Iterator[T]:
    """Yield ``call(*order)`` of every order as it comes, ``jobs`` at a time; one job needs nobody.

    ``call`` is a function of a module, and orders can be pickled. Inside of ``shared_processes``
    work begins at once, and not when the first answer is asked for.
    """
    if (lent := _lent.get()) is not None and jobs > 1:
        return _as_they_come(_begun(call, orders, lent))
    pool = None if min(jobs, len(orders)) <= 1 else _pool(min(jobs, len(orders)))
    return starmap(call, orders) if pool is None else _answers(call, orders, pool)


_lent: ContextVar[ProcessPoolExecutor | None] = ContextVar("lent", default=None)


@contextlib.contextmanager
def shared_processes(jobs: int) -> Iterator[None]:
    """Let all work side by side inside be done by the same ``jobs`` processes.

    Each loads its code once, and one work need not wait for the last order of another. What has
    not begun when it ends never does.
    """
    pool = None if jobs <= 1 else _pool(jobs)
    mark = _lent.set(pool)
    try:
        yield
    finally:
        _lent.reset(mark)
        if pool is not None:
            pool.shutdown(wait=True, cancel_futures=True)


def _begin() -> None:
    """Let a worker end with the process that asked, also when that is killed."""
    from multiprocessing import parent_process

    parent = parent_process()
    assert parent is not None
    threading.Thread(target=_end_with, args=(parent.sentinel,), daemon=True).start()


def _end_with(parent: int) -> None:
    from multiprocessing.connection import wait

    wait([parent])
    os._exit(1)


def _pool(workers: int) -> ProcessPoolExecutor | None:
    """Return processes, None where the system has no semaphores for them."""
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    try:
        return ProcessPoolExecutor(workers, mp_context=get_context("spawn"), initializer=_begin)
    except (OSError, ImportError, NotImplementedError) as error:
        if is_out_of_handles(error):
            raise
        sys.stderr.write(
            f"stemtheory: one process does it all, since the system lends no semaphores"
            f" ({error}; they live in /dev/shm)\n"
        )
        return None


def _answers(
    call: Callable[..., T], orders: Sequence[tuple[Any, ...]], pool: ProcessPoolExecutor
) -> Iterator[T]:
    with pool:
        try:
            yield from _as_they_come(_begun(call, orders, pool))
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _begun(
    call: Callable[..., T], orders: Sequence[tuple[Any, ...]], pool: ProcessPoolExecutor
) -> list[Future[T]]:
    # A terminal sends SIGINT to every process, also to one that is still starting: workers inherit
    # that it waits.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        return [pool.submit(call, *order) for order in orders]
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _as_they_come(futures: Sequence[Future[T]]) -> Iterator[T]:
    from concurrent.futures import as_completed

    return (future.result() for future in as_completed(futures))
