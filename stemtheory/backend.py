"""NumPy or CuPy: chosen once, probed by a real kernel, passed down as one object."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np

from stemtheory.errors import UsageError, choice

BACKENDS = ("auto", "numpy", "cupy")


@dataclass(frozen=True)
class Backend:
    """An array library and the device it computes on.

    ``xp`` is the array namespace; ``to_host`` and ``from_host`` are the only two bridges between
    it and NumPy; ``reason`` says why this backend was taken.
    """

    name: str
    xp: Any
    device: str
    reason: str
    to_host: Callable[[Any], Any]
    from_host: Callable[[Any], Any]
    generator: Callable[[np.random.SeedSequence], Any]

    def quiet(self) -> contextlib.AbstractContextManager[Any]:
        """Return a context in which overflow is data (a diverged run), not a warning."""
        if self.name == "numpy":
            return np.errstate(over="ignore", invalid="ignore", divide="ignore")
        return contextlib.nullcontext()


class BackendUnavailableError(UsageError):
    """CuPy was asked for and cannot run; the text names the cause."""


def resolve(name: str = "auto") -> Backend:
    """Return the backend called ``name``; ``auto`` takes CuPy where it works, else NumPy.

    Raises
    ------
    UsageError
        For an unknown name, or ``cupy`` where it is not installed, has no device or driver, or
        cannot compile kernels.
    """
    name = choice("backend", name, BACKENDS)
    if name == "numpy":
        return numpy_backend("asked for")
    try:
        return _cupy_backend()
    except BackendUnavailableError as error:
        if name == "cupy":
            raise
        return numpy_backend(str(error))


def numpy_backend(reason: str) -> Backend:
    """Return the NumPy backend; ``reason`` says why it was taken."""
    return Backend(
        name="numpy",
        xp=np,
        device="cpu",
        reason=reason,
        to_host=np.asarray,
        from_host=np.asarray,
        generator=lambda seed: np.random.Generator(np.random.SFC64(seed)),
    )


def _cupy_backend() -> Backend:
    """Import CuPy, then prove that it works: an import alone succeeds without any device."""
    try:
        cupy = importlib.import_module("cupy")
    except ImportError as error:
        raise BackendUnavailableError(
            "backend cupy is not installed: pip install 'stemtheory[cuda13]' (or cuda12),"
            " or use backend numpy."
        ) from error
    device = _probe_device(cupy)
    _probe_kernels(cupy)
    return Backend(
        name="cupy",
        xp=cupy,
        device=device,
        reason="a CUDA device answered",
        to_host=cupy.asnumpy,
        from_host=cupy.asarray,
        generator=lambda seed: _device_generator(cupy, seed),
    )


def _probe_device(cupy: ModuleType) -> str:
    try:
        if cupy.cuda.runtime.getDeviceCount() < 1:
            raise RuntimeError("no CUDA device")
        properties = cupy.cuda.runtime.getDeviceProperties(0)
        cupy.zeros(1)
    except Exception as error:
        raise BackendUnavailableError(
            f"backend cupy found no CUDA device or driver ({_first_line(error)}):"
            " use backend numpy, or run on a machine with a GPU."
        ) from error
    name = properties["name"]
    return name.decode() if isinstance(name, bytes) else str(name)


def _probe_kernels(cupy: ModuleType) -> None:
    try:
        x = cupy.arange(4.0).reshape(2, 2)
        y = cupy.sin(x) + x @ x
        cupy.cuda.Device().synchronize()
        float(y.sum())
    except Exception as error:
        raise BackendUnavailableError(
            f"backend cupy has a device but its kernels cannot be compiled ({_first_line(error)}):"
            " pip install 'cupy-cuda13x[ctk]', or use backend numpy."
        ) from error


def _device_generator(cupy: ModuleType, seed: np.random.SeedSequence) -> Any:
    """Return a device generator; its numbers differ from NumPy's for the same seed."""
    word = int(seed.generate_state(1, np.uint64)[0])
    return cupy.random.Generator(cupy.random.Philox4x3210(word))


def _first_line(error: BaseException) -> str:
    text = str(error).strip().splitlines()
    return text[0][:120] if text else type(error).__name__
