"""One BLAS thread for whatever is measured: sums of several threads differ in the last digit."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from functools import cache

from threadpoolctl import ThreadpoolController

# Read by BLAS libraries when they are loaded: for processes that are started with them.
BLAS_THREADS = (
    *("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS"),
    *("NUMEXPR_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"),
)
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
            _limit.enter_context(_libraries().limit(limits=1))
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0:
                _limit.close()


@cache
def _libraries() -> ThreadpoolController:
    # looked for once: to go through every loaded library takes milliseconds
    import scipy.linalg  # noqa: F401 - it brings a BLAS of its own, which must be there by then

    return ThreadpoolController().select(user_api="blas")
