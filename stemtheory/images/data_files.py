"""Readers of image files that lie on this machine: IDX (MNIST and its kin) and CIFAR-10 batches.

Every reader checks what it reads and raises one sentence where a file is missing, torn or something
else. Pickled batches come from outside, so they are read by an unpickler that builds NumPy arrays
of numbers and plain containers, and refuses everything else before it runs.
"""

from __future__ import annotations

import gzip
import io
import math
import pickle  # read only through RestrictedUnpickler
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stemtheory.runtime import UsageError

Bytes = NDArray[np.uint8]
IDX_MAGIC = b"\x00\x00\x08"  # unsigned bytes; the fourth byte is the number of axes
CIFAR_PIXELS = 3 * 32 * 32


class Raw(NamedTuple):
    """Images of shape [n, channels, height, width] and their labels [n], as bytes."""

    images: Bytes
    labels: Bytes


def read_idx(path: Path) -> Bytes:
    """Return the array of an IDX file of bytes, gzipped or not.

    Raises
    ------
    UsageError
        If the file is missing, torn, or no IDX file.
    """
    content = _content(path)
    if len(content) < 4 or content[:3] != IDX_MAGIC or not 1 <= content[3] <= 4:
        raise UsageError(f"{path} is no IDX file of bytes: fetch it again, whole.")
    head = 4 + 4 * content[3]
    if len(content) < head:
        raise _torn(path, len(content), head)
    shape = tuple(int(n) for n in np.frombuffer(content[4:head], ">u4"))
    wanted = head + math.prod(shape)
    if len(content) != wanted:
        raise _torn(path, len(content), wanted)
    return np.frombuffer(content, np.uint8, offset=head).reshape(shape)


def read_idx_folder(folder: Path) -> tuple[Raw, Raw]:
    """Return the training and the test images of a folder, as the files are named everywhere."""
    return read_idx_pair(folder, "train"), read_idx_pair(folder, "t10k")


def read_idx_pair(folder: Path, part: str) -> Raw:
    """Return images and labels of ``part`` (train or t10k)."""
    images = read_idx(_either(folder, f"{part}-images-idx3-ubyte", f"{part}-images.idx3-ubyte"))
    labels = read_idx(_either(folder, f"{part}-labels-idx1-ubyte", f"{part}-labels.idx1-ubyte"))
    if images.ndim != 3 or labels.ndim != 1 or len(images) != len(labels):
        raise UsageError(
            f"{folder} holds images of shape {images.shape} and labels of shape {labels.shape},"
            " which do not belong together: fetch both files again."
        )
    return Raw(images[:, None], _digits(labels, folder))


def read_cifar10(folder: Path) -> tuple[Raw, Raw]:
    """Return the training and the test images of CIFAR-10, from python or from binary batches.

    Raises
    ------
    UsageError
        If a batch is missing, torn, or holds anything but arrays and plain containers.
    """
    names = [f"data_batch_{i}" for i in range(1, 6)]
    binary = (folder / "data_batch_1.bin").exists()
    read: Callable[[Path], Raw] = _binary_batch if binary else _python_batch
    ending = ".bin" if binary else ""
    batches = [read(folder / f"{name}{ending}") for name in names]
    train = Raw(
        np.concatenate([b.images for b in batches]), np.concatenate([b.labels for b in batches])
    )
    return train, read(folder / f"test_batch{ending}")


class RestrictedUnpickler(pickle.Unpickler):
    """Reads NumPy arrays of plain numbers and plain containers; any other global is refused."""

    def find_class(self, module: str, name: str) -> Any:
        """Return a stand-in for one of the few builders that a batch needs.

        Raises
        ------
        UsageError
            For everything else: nothing of it has run by then.
        """
        found = _STAND_INS.get((module.replace("numpy.core", "numpy._core"), name))
        if found is None:
            raise UsageError(
                f"this batch asks for {module}.{name}, but only NumPy arrays and plain"
                " containers are read: take the file from its original source, or the binary"
                " batches."
            )
        return found


class _Dtype:
    """Stands in for a dtype: its code and byte order are noted, no state is trusted."""

    def __init__(self, code: object, *flags: object) -> None:
        del flags
        self.code = code.decode() if isinstance(code, bytes) else str(code)
        self.order: Literal[">", "="] = "="

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        if state[1] in (">", b">"):
            self.order = ">"

    def resolve(self) -> np.dtype[Any]:
        """Return the dtype of numbers that is meant; object arrays could hold anything."""
        dtype = np.dtype(self.code).newbyteorder(self.order)
        if dtype.kind not in "uifb":
            raise UsageError(
                f"this batch holds an array of {dtype}, but only numbers are read:"
                " take the file from its original source."
            )
        return dtype


class _Array:
    """Stands in for an array while it is unpickled: bytes that ``np.frombuffer`` reads."""

    def __init__(self, *start: object) -> None:
        del start
        self.values: Any = np.empty(0)

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        _, shape, dtype, fortran, content = state
        self.fill(content, dtype, shape, "F" if fortran else "C")

    def fill(self, content: Any, dtype: Any, shape: Any, order: Literal["C", "F"]) -> _Array:
        """Return this after taking the numbers from ``content``."""
        if not (isinstance(dtype, _Dtype) and isinstance(content, bytes | bytearray)):
            raise UsageError("this batch holds an array of objects: numbers only are read.")
        flat = np.frombuffer(content, dtype.resolve())
        self.values = flat.reshape(tuple(int(n) for n in shape), order=order)
        return self


def _from_buffer(content: Any, dtype: Any, shape: Any, order: Any, *axes: Any) -> _Array:
    del axes
    return _Array().fill(content, dtype, shape, "F" if order == "F" else "C")


def _encode(text: str, encoding: str) -> bytes:
    """Return bytes that Python 3 wrote into a protocol 2 pickle as latin-1 text."""
    if encoding not in ("latin1", "latin-1"):
        raise UsageError(f"this batch asks for the encoding {encoding}: latin1 is read.")
    return str(text).encode("latin1")


# Nothing here is a builder of NumPy's own: a state made to do harm meets code that only reads it.
_STAND_INS: dict[tuple[str, str], Any] = {
    ("numpy", "dtype"): _Dtype,
    ("numpy", "ndarray"): "ndarray",
    ("numpy._core.multiarray", "_reconstruct"): _Array,
    ("numpy._core.numeric", "_frombuffer"): _from_buffer,
    ("_codecs", "encode"): _encode,
}


def _plain(value: Any) -> Any:
    """Return containers with their stand-ins replaced by the arrays they hold."""
    if isinstance(value, _Array):
        return value.values
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_plain(part) for part in value)
    return value


def unpickle(content: bytes, where: object = "pickle") -> Any:
    """Return what a pickle of arrays and plain containers holds.

    Raises
    ------
    UsageError
        If it is torn, or holds anything else.
    """
    try:
        return _plain(RestrictedUnpickler(io.BytesIO(content), encoding="bytes").load())
    except UsageError as error:
        raise UsageError(f"{where}: {error}") from error
    except Exception as error:  # a torn pickle fails in as many ways as there are opcodes
        raise UsageError(
            f"{where} is torn or no pickled batch ({type(error).__name__}): fetch it again, whole."
        ) from error


def _python_batch(path: Path) -> Raw:
    batch = unpickle(_content(path), path)
    if not isinstance(batch, dict):
        raise UsageError(f"{path} holds no dictionary, as a CIFAR-10 batch does: fetch it again.")
    data, labels = (batch.get(key, batch.get(key.decode())) for key in (b"data", b"labels"))
    found = np.asarray(data), np.atleast_1d(np.asarray(labels))
    if found[0].shape != (len(found[1]), CIFAR_PIXELS) or found[0].dtype != np.uint8:
        raise UsageError(
            f"{path} holds data of shape {found[0].shape}, but a CIFAR-10 batch has rows of"
            f" {CIFAR_PIXELS} bytes and a label for each: fetch it again."
        )
    return Raw(found[0].reshape(-1, 3, 32, 32), _digits(found[1], path))


def _binary_batch(path: Path) -> Raw:
    content = np.frombuffer(_content(path), np.uint8)
    if len(content) == 0 or len(content) % (1 + CIFAR_PIXELS):
        raise _torn(path, len(content), (len(content) // (1 + CIFAR_PIXELS) + 1) * 3073)
    rows = content.reshape(-1, 1 + CIFAR_PIXELS)
    return Raw(rows[:, 1:].reshape(-1, 3, 32, 32), _digits(rows[:, 0], path))


def _digits(labels: Any, where: object) -> Bytes:
    """Return labels as bytes after checking that there are at most ten classes."""
    values = np.asarray(labels)
    whole = values.ndim == 1 and values.dtype.kind in "iu"
    if not whole or values.size == 0 or values.min() < 0 or values.max() > 9:
        raise UsageError(f"{where} has labels outside of 0..9, or none: fetch it again.")
    return values.astype(np.uint8)


def _either(folder: Path, *names: str) -> Path:
    """Return the first of these files that is there, gzipped or not."""
    tried = [folder / f"{name}{ending}" for name in names for ending in ("", ".gz")]
    for path in tried:
        if path.exists():
            return path
    raise UsageError(f"{folder} holds neither {names[0]} nor {names[0]}.gz: put the files there.")


def _content(path: Path) -> bytes:
    try:
        raw = path.read_bytes()
        return gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw
    except FileNotFoundError:
        raise UsageError(f"{path} is missing: put the whole data set there.") from None
    except (EOFError, zlib.error, OSError) as error:
        raise UsageError(f"{path} cannot be read ({error}): fetch it again, whole.") from error


def _torn(path: Path, found: int, wanted: int) -> UsageError:
    return UsageError(f"{path} has {found} bytes where {wanted} belong: fetch it again, whole.")
