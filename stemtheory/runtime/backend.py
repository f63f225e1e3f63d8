"""NumPy or CuPy: chosen once, probed by a real kernel, passed down as one object.

Nothing here touches CuPy or CUDA until a backend is asked for, so a parent process stays clean for
the workers that it spawns.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import importlib
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Literal

import numpy as np

from stemtheory.runtime.errors import UsageError, choice
from stemtheory.runtime.streams import REPLICATE_BLOCK, generator

BACKENDS = ("auto", "numpy", "cupy")
Cause = Literal["not installed", "no device", "no kernels"]
# cuRAND states of one device generator: 512 KiB of them. CuPy's default differs from version to
# version, and the numbers drawn depend on it; it must be a multiple of 256 (threads of a block).
DEVICE_STATES = 8192
_OUT_OF_MEMORY = ("cudaErrorMemoryAllocation", "CUDA_ERROR_OUT_OF_MEMORY", "ALLOC_FAILED")


@dataclass(frozen=True)
class Backend:
    """An array library and the device it computes on.

    ``xp`` is the array namespace; ``to_host`` and ``from_host`` are the only two bridges between
    it and NumPy; ``generator`` makes a stream of noise from a seed, and ``replicates_per_stream``
    is how many replicates share one (see ``streams``); ``reason`` says why this backend was taken;
    ``free`` hands memory that no array uses back to the device.
    """

    name: str
    xp: Any
    device: str
    reason: str
    to_host: Callable[[Any], Any]
    from_host: Callable[[Any], Any]
    generator: Callable[[Any], Any]
    replicates_per_stream: int
    free: Callable[[], object] = gc.collect

    @property
    def on_host(self) -> bool:
        """Whether arrays are NumPy's own, in the memory and caches of this machine."""
        return self.xp is np

    def quiet(self) -> contextlib.AbstractContextManager[Any]:
        """Return a context in which overflow is data (a diverged run), not a warning."""
        if self.on_host:
            return np.errstate(all="ignore")
        return contextlib.nullcontext()


class BackendUnavailableError(UsageError):
    """CuPy was asked for and cannot run; ``cause`` is one of three, the text says what to do.

    ``surprising`` is false where CuPy is simply not there, which is no news to anybody.
    """

    def __init__(self, cause: Cause, text: str, surprising: bool = True) -> None:
        super().__init__(text)
        self.cause = cause
        self.surprising = surprising


def resolve(name: str | Backend = "auto") -> Backend:
    """Return the backend called ``name``; ``auto`` takes CuPy where it works, else NumPy.

    The probe runs once per process. ``auto`` that falls back although CuPy is installed says why
    on stderr, once; where CuPy is not installed nobody expects a GPU, and it stays silent (the
    reason is in ``Backend.reason``). A ``Backend`` is returned as it is.

    Raises
    ------
    UsageError
        For an unknown name, or ``cupy`` where it is not installed, has no device or driver, or
        cannot compile kernels.
    """
    if isinstance(name, Backend):
        return name
    name = choice("backend", name, BACKENDS)
    if name == "numpy":
        return numpy_backend("asked for")
    found = _probe()
    if isinstance(found, Backend):
        return found
    if name == "cupy":
        raise BackendUnavailableError(found.cause, str(found), found.surprising)
    return _fall_back(found)


def unavailable() -> str | None:
    """Return why CuPy cannot run here, in one sentence, or None where it can."""
    found = _probe()
    return None if isinstance(found, Backend) else str(found)


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether an error says that memory ran out, on the host or on the device."""
    return isinstance(error, MemoryError) or any(text in str(error) for text in _OUT_OF_MEMORY)


def numpy_backend(reason: str) -> Backend:
    """Return the NumPy backend; ``reason`` says why it was taken."""
    return Backend(
        name="numpy",
        xp=np,
        device="cpu",
        reason=reason,
        to_host=np.asarray,
        from_host=np.asarray,
        generator=generator,
        replicates_per_stream=1,
    )


@functools.cache
def _probe() -> Backend | BackendUnavailableError:
    """Return the CuPy backend, or why there is none; an import alone succeeds without a device."""
    try:
        cupy = importlib.import_module("cupy")
    except Exception as error:
        missing = isinstance(error, ModuleNotFoundError) and error.name == "cupy"
        how = "is not installed" if missing else f"is not installed whole ({_said(error)})"
        todo = "pip install 'stemtheory[cuda13]' (or cuda12), or use backend numpy."
        return BackendUnavailableError("not installed", f"backend cupy {how}: {todo}", not missing)
    try:
        with _blaming(
            "no device",
            "backend cupy found no CUDA device or driver",
            "use backend numpy, or run on a machine with a GPU.",
        ):
            runtime = cupy.cuda.runtime
            if runtime.getDeviceCount() < 1:
                raise RuntimeError("no CUDA device")
            device = runtime.getDeviceProperties(runtime.getDevice())["name"]
            cupy.zeros(1)  # the first allocation is what fails without a driver
        with _blaming(
            "no kernels",
            "backend cupy has a device but its kernels cannot be compiled",
            "pip install 'cupy-cuda13x[ctk]' (or cupy-cuda12x[ctk]), or use backend numpy.",
        ):  # an elementwise kernel, a matrix product and a draw: NVRTC, cuBLAS and cuRAND
            x = cupy.arange(4.0).reshape(2, 2)
            noise = _device_generator(cupy, np.random.SeedSequence(0))
            y = cupy.sin(x) + x @ x + noise.standard_normal((2, 2), dtype=np.dtype("float64"))
            float(y.sum())
    except BackendUnavailableError as error:
        return error
    return Backend(
        name="cupy",
        xp=cupy,
        device=device.decode() if isinstance(device, bytes) else str(device),
        reason="a CUDA device answered",
        to_host=cupy.asnumpy,
        from_host=cupy.asarray,
        generator=functools.partial(_device_generator, cupy),
        replicates_per_stream=REPLICATE_BLOCK,
        free=functools.partial(_free, cupy),
    )


@functools.cache
def _fall_back(found: BackendUnavailableError) -> Backend:
    """Return NumPy in place of CuPy; the cache makes it speak once per process."""
    if found.surprising:
        sys.stderr.write(f"stemtheory: backend auto runs on NumPy, because {found}\n")
    return numpy_backend(str(found))


@contextlib.contextmanager
def _blaming(cause: Cause, what: str, todo: str) -> Iterator[None]:
    """Name the cause of whatever fails, and the first line of what was said."""
    try:
        yield
    except Exception as error:
        raise BackendUnavailableError(cause, f"{what} ({_said(error)}): {todo}") from None


def _said(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[0][:120] if lines else type(error).__name__


def _device_generator(cupy: ModuleType, seed: np.random.SeedSequence) -> Any:
    """Return a device generator; its numbers differ from NumPy's for the same seed.

    CuPy keeps 32 bits of the seed. What it draws depends on how many numbers one call asks for,
    so the engine's calls must not depend on how replicates are grouped.
    """
    return cupy.random.Generator(cupy.random.Philox4x3210(seed, size=DEVICE_STATES))


def _free(cupy: ModuleType) -> None:
    gc.collect()
    cupy.get_default_memory_pool().free_all_blocks()
    cupy.get_default_pinned_memory_pool().free_all_blocks()
