"""A device without a device: an array library that behaves as CuPy does, computed by NumPy.

``DeviceArray`` wraps an array and is none: converting it to NumPy raises, mixing it with a host
array raises, and what CuPy lacks is missing. Every array and namespace belongs to a ``Device``,
which counts the synchronisations with the host, notes the names that were used, and runs out of
memory where it is told to. Nothing here runs on a GPU; it finds what would fail on one.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NoReturn

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from stemtheory.runtime.backend import Backend
from stemtheory.runtime.streams import REPLICATE_BLOCK

# Callables of NumPy 2.4 that CuPy 14.2 does not have (compared in one process, without a device).
_MISSING = """
    asmatrix block bmat busday_count busday_offset datetime_as_string datetime_data einsum_path
    errstate frompyfunc fromregex geomspace get_include getbufsize geterr geterrcall
    histogram_bin_edges info insert is_busday isnat matrix matvec memmap nanpercentile nanquantile
    ndenumerate nditer nested_iters polyder polydiv polyint recarray record setbufsize seterr
    seterrcall show_runtime spacing test unstack vecdot vecmat
"""
_MISSING_LINALG = """
    diagonal matrix_norm multi_dot outer svdvals tensordot trace vecdot vector_norm
"""
MISSING = frozenset(_MISSING.split())
MISSING_LINALG = frozenset(_MISSING_LINALG.split())


class OutOfMemoryError(MemoryError):
    """As ``cupy.cuda.memory.OutOfMemoryError``, which is a MemoryError too."""


@dataclass
class Device:
    """What happened on one fake device, and how much memory it has for a single array."""

    syncs: int = 0
    names: set[str] = field(default_factory=set)
    dtypes: set[str] = field(default_factory=set)
    largest: int = 0
    memory: float = float("inf")
    refusals: int = 0

    def put(self, host: Any) -> DeviceArray:
        """Return a device array that holds ``host``; a view takes no memory of its own."""
        host = np.asarray(host)
        size = host.nbytes if host.base is None else 0
        if size > self.memory:
            self.refusals += 1
            raise OutOfMemoryError(f"Out of memory allocating {size:,} bytes")
        self.largest = max(self.largest, size)
        if host.dtype.kind == "f":
            self.dtypes.add(host.dtype.name)
        return DeviceArray(host, self)


class DeviceArray(NDArrayOperatorsMixin):
    """An array on a fake device; its methods are those that NumPy's and CuPy's arrays share."""

    __slots__ = ("_device", "_values")

    def __init__(self, values: Any, device: Device) -> None:
        self._values, self._device = values, device

    # What CuPy refuses. Without __array__ NumPy would try the sequence protocol.
    def __array__(self, dtype: Any = None, copy: Any = None) -> NoReturn:
        raise TypeError("Implicit conversion to a NumPy array is not allowed: use to_host.")

    def __iter__(self) -> Any:
        return (self[i] for i in range(len(self)))

    def __len__(self) -> int:
        return len(self._values)

    # Metadata is on the host: reading it does not wait for the device.
    @property
    def shape(self) -> tuple[int, ...]:
        shape: tuple[int, ...] = self._values.shape
        return shape

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return int(self._values.size)

    @property
    def dtype(self) -> np.dtype[Any]:
        dtype: np.dtype[Any] = self._values.dtype
        return dtype

    @property
    def nbytes(self) -> int:
        return int(self._values.nbytes)

    @property
    def T(self) -> DeviceArray:
        return self._device.put(self._values.T)

    # Synchronisations: the host waits for a number.
    def get(self) -> Any:
        self._device.syncs += 1
        return self._values.copy()

    def item(self) -> Any:
        return self.get().item()

    def tolist(self) -> Any:
        return self.get().tolist()

    def __float__(self) -> float:
        return float(self.get())

    def __int__(self) -> int:
        return int(self.get())

    def __bool__(self) -> bool:
        return bool(self.get())

    # Computation.
    def __getitem__(self, key: Any) -> DeviceArray:
        return self._device.put(self._values[_bare(key)])

    def __setitem__(self, key: Any, value: Any) -> None:
        self._values[_bare(key)] = _bare(value)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **words: Any) -> Any:
        if ufunc.__name__ in MISSING or method not in ("__call__", "reduce", "outer", "at"):
            return NotImplemented
        self._device.names.add(ufunc.__name__)
        if any(isinstance(value, tuple | list) for value in inputs):
            raise TypeError(f"{ufunc.__name__} of a list: CuPy takes arrays and numbers only.")
        out = words.pop("out", None)
        if out is not None:
            words["out"] = tuple(_bare(array) for array in out)
        with np.errstate(all="ignore"):  # a device does not warn
            values = getattr(ufunc, method)(*map(_bare, inputs), **words)
        if out is not None:
            return out[0]
        return _wrapped(values, self._device)

    def __array_function__(self, func: Any, types: Any, args: Any, words: Any) -> Any:
        linalg = func.__module__ == "numpy.linalg"
        if func.__name__ in (MISSING_LINALG if linalg else MISSING):
            return NotImplemented
        return _call(self._device, func, func.__name__, args, words)

    def _method(self, name: str, *args: Any, **words: Any) -> Any:
        return _call(self._device, getattr(self._values, name), f"ndarray.{name}", args, words)

    def sum(self, *args: Any, **words: Any) -> Any:
        return self._method("sum", *args, **words)

    def mean(self, *args: Any, **words: Any) -> Any:
        return self._method("mean", *args, **words)

    def max(self, *args: Any, **words: Any) -> Any:
        return self._method("max", *args, **words)

    def min(self, *args: Any, **words: Any) -> Any:
        return self._method("min", *args, **words)

    def all(self, *args: Any, **words: Any) -> Any:
        return self._method("all", *args, **words)

    def any(self, *args: Any, **words: Any) -> Any:
        return self._method("any", *args, **words)

    def astype(self, *args: Any, **words: Any) -> Any:
        return self._method("astype", *args, **words)

    def reshape(self, *args: Any, **words: Any) -> Any:
        return self._method("reshape", *args, **words)

    def ravel(self) -> Any:
        return self._method("ravel")

    def copy(self) -> Any:
        return self._method("copy")


class Namespace:
    """The fake library's functions: NumPy's, without those that CuPy lacks."""

    def __init__(self, device: Device, name: str = "cupy") -> None:
        self._device, self._name = device, name

    def __getattr__(self, name: str) -> Any:
        linalg = self._name.endswith("linalg")
        if name in (MISSING_LINALG if linalg else MISSING) or name == "random":
            raise AttributeError(f"module '{self._name}' has no attribute '{name}'")
        if name == "linalg":
            return Namespace(self._device, "cupy.linalg")
        found = getattr(np.linalg if linalg else np, name)
        if not callable(found) or isinstance(found, type):
            return found  # pi, newaxis, float64
        if name == "bincount":  # CuPy looks for negative numbers and for the largest one
            self._device.syncs += 2
        if name in ("array", "asarray"):
            return lambda host, *args, **words: self._device.put(found(_host(host), *args, **words))

        def call(*args: Any, **words: Any) -> Any:
            return _call(self._device, found, name, args, words)

        return call


class Generator:
    """A device generator with the members CuPy's has, and its dependence on the size of a call.

    What CuPy draws at once is not what it draws in two calls, because its threads keep one state
    each; here every call opens a stream of its own.
    """

    def __init__(self, seed: np.random.SeedSequence, device: Device) -> None:
        self._seed, self._device, self._calls = seed, device, itertools.count()

    def _stream(self) -> np.random.Generator:
        words = (*self._seed.spawn_key, next(self._calls))
        seed = np.random.SeedSequence(self._seed.entropy, spawn_key=words)
        return np.random.Generator(np.random.SFC64(seed))

    def standard_normal(self, size: Any = None, dtype: Any = np.float64) -> DeviceArray:
        return self._device.put(self._stream().standard_normal(size, dtype))

    def random(self, size: Any = None, dtype: Any = np.float64) -> DeviceArray:
        return self._device.put(self._stream().random(size, dtype))

    def integers(self, low: int, high: int, size: Any = None, dtype: Any = np.int64) -> DeviceArray:
        return self._device.put(self._stream().integers(low, high, size, dtype))


def fake_backend(device: Device) -> Backend:
    """Return a backend on a fake device."""
    return Backend(
        name="fake",
        xp=Namespace(device),
        device="fake device",
        reason="a test",
        to_host=lambda array: array.get(),
        from_host=lambda array: device.put(np.array(_host(array))),
        generator=lambda seed: Generator(seed, device),
        replicates_per_stream=REPLICATE_BLOCK,
    )


def _call(device: Device, func: Callable[..., Any], name: str, args: Any, words: Any) -> Any:
    """Call a NumPy function on bare values and hand the result back to the device."""
    device.names.add(name)
    bare = [_bare(arg) for arg in args]
    with np.errstate(all="ignore"):
        return _wrapped(func(*bare, **{key: _bare(word) for key, word in words.items()}), device)


def _wrapped(values: Any, device: Device) -> Any:
    """Put arrays on the device, reductions to a single number included, as CuPy does."""
    if isinstance(values, tuple | list):
        return type(values)(_wrapped(value, device) for value in values)
    return device.put(values) if isinstance(values, np.ndarray | np.generic) else values


def _bare(value: Any) -> Any:
    """Return the values of a device array; a host array among the operands is an error."""
    if isinstance(value, DeviceArray):
        return value._values
    if isinstance(value, np.ndarray):
        raise TypeError(f"Unsupported type {type(value)}: a host array meets a device array.")
    if isinstance(value, tuple | list):
        return type(value)(_bare(part) for part in value)
    return value


def _host(value: Any) -> Any:
    if isinstance(value, DeviceArray):
        raise TypeError("This array is on the device already.")
    return value
