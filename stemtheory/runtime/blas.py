"""One BLAS thread for whatever is measured: sums of several threads differ in the last digit."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Iterator
from functools import cache

from threadpoolctl import ThreadpoolController

# Read by BLAS libraries when they are loaded: for processes that are started with them.
BLAS_THREADS = (
    *("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS"),
    *("NUMEXPR_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"),
)
# SciPy brings a BLAS of its own along, an OpenBLAS that comes with the first of these modules. To
# load it here would take longer than what many a command does.
OF_SCIPY, ITS_THREADS = ("scipy.linalg", "scipy.special"), "OPENBLAS_NUM_THREADS"
_lock = threading.Lock()
_inside = 0
_limit = contextlib.ExitStack()


@contextlib.contextmanager
def one_blas_thread() -> Iterator[None]:
    """Let BLAS use one thread meanwhile.

    The limit is that of the process, so threads share it: the first one in sets it, and the last
    one out sets back what was found.
    """
    global _inside
    with _lock:
        if _inside == 0:
            _limit.enter_context(_of_the_later())
            _limit.enter_context(_libraries(_is_scipys_there()).limit(limits=1))
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0:
                _limit.close()


@contextlib.contextmanager
def _of_the_later() -> Iterator[None]:
    """Let a BLAS that SciPy brings meanwhile begin with one thread, and then have NumPy's number.

    No number of threads stands in the environment for longer: other processes inherit it.
    """
    was_there, before = _is_scipys_there(), os.environ.get(ITS_THREADS)
    os.environ[ITS_THREADS] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[ITS_THREADS]
        else:
            os.environ[ITS_THREADS] = before
        if not was_there and _is_scipys_there():
            found = [library.num_threads for library in _libraries(False).lib_controllers]
            most = max(found, default=os.cpu_count() or 1)
            for library in _libraries(True).lib_controllers:
                library.set_num_threads(most)


def _is_scipys_there() -> bool:
    return any(name in sys.modules for name in OF_SCIPY)


@cache
def _libraries(with_scipys: bool) -> ThreadpoolController:
    # looked for once or twice: to go through every loaded library takes milliseconds
    return ThreadpoolController().select(user_api="blas")
