"""Readers of image files that lie on this machine: IDX (MNIST and its kin) and CIFAR-10 batches.

Every reader checks what it reads and raises one sentence where a file is missing, torn or something
else. Pickled batches come from outside, so they are read by an unpickler that builds NumPy arrays
of numbers and plain containers, and refuses everything else before it runs. A file costs memory
and time in proportion to its bytes, of which there are at most ``MOST_BYTES``, unzipped.
"""

from __future__ import annotations

import gzip
import io
import math
import pickle  # read only through RestrictedUnpickler
import pickletools
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
MOST_BYTES = 2**28  # six times the largest file of the data sets


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
    if 0 in shape:
        raise UsageError(f"{path} holds nothing, its shape is {shape}: fetch it again, whole.")
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
    below = (folder / sub for sub in ("", "cifar-10-batches-py", "cifar-10-batches-bin"))
    folder = next((f for f in below if any(f.glob("data_batch_1*"))), folder)
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

    def __init__(self, content: bytes) -> None:
        super().__init__(io.BytesIO(content), encoding="bytes")
        self.left = len(content)

    def find_class(self, module: str, name: str) -> Any:
        """Return a stand-in for one of the few builders that a batch needs.

        Raises
        ------
        UsageError
            For everything else: nothing of it has run by then.
        """
        if (module, name) == ("_codecs", "encode"):
            return self.encode
        found = _STAND_INS.get((module.replace("numpy.core", "numpy._core"), name))
        if found is None:
            raise UsageError(
                f"this batch asks for {module}.{name}, but only NumPy arrays and plain"
                " containers are read: take the file from its original source, or the binary"
                " batches."
            )
        return found

    def encode(self, text: str, encoding: str) -> bytes:
        """Return bytes that Python 3 wrote into a protocol 2 pickle as latin-1 text."""
        if encoding not in ("latin1", "latin-1"):
            raise UsageError(f"this batch asks for the encoding {encoding}: latin1 is read.")
        self.left -= len(text)
        if self.left < 0:  # the same text over and over
            raise UsageError("this batch grows beyond its own bytes: take it from its source.")
        return str(text).encode("latin1")


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


def _scalar(dtype: Any, content: Any) -> Any:
    """Return a number that NumPy wrote by itself, as in a list of labels."""
    return _Array().fill(content, dtype, (), "C").values[()]


# Nothing here is a builder of NumPy's own: a state made to do harm meets code that only reads it.
_STAND_INS: dict[tuple[str, str], Any] = {
    ("numpy", "dtype"): _Dtype,
    ("numpy", "ndarray"): "ndarray",
    ("numpy._core.multiarray", "_reconstruct"): _Array,
    ("numpy._core.numeric", "_frombuffer"): _from_buffer,
    ("numpy._core.multiarray", "scalar"): _scalar,
}


def _plain(value: Any, known: dict[int, Any]) -> Any:
    """Return containers with their stand-ins replaced by the arrays they hold, each one once.

    A pickle of a hundred lists, each of which holds the one before twice, has 2^100 leaves.
    """
    if isinstance(value, _Array):
        return value.values
    if not isinstance(value, dict | list | tuple):
        return value
    if id(value) not in known:
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
        found = {key: _plain(part, known) for key, part in pairs}
        known[id(value)] = found if isinstance(value, dict) else type(value)(found.values())
    return known[id(value)]


def unpickle(content: bytes, where: object = "pickle") -> Any:
    """Return what a pickle of arrays and plain containers holds.

    Raises
    ------
    UsageError
        If it is torn, or holds anything else.
    """
    try:
        for opcode, argument, _ in pickletools.genops(content):
            # numbered rooms for what is used again: a table as long as the largest number
            if "PUT" in opcode.name and int(argument or 0) > len(content):
                raise UsageError("it numbers more parts than it has: fetch it again, whole.")
        return _plain(RestrictedUnpickler(content).load(), {})
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
    if batch.keys() & {b"fine_labels", "fine_labels"}:
        raise UsageError(f"{path} is CIFAR-100, with its fine labels: put CIFAR-10 there.")
    data, labels = (batch.get(key, batch.get(key.decode())) for key in (b"data", b"labels"))
    found = np.asarray(data), np.atleast_1d(np.asarray(labels))
    if found[0].shape != (len(found[1]), CIFAR_PIXELS) or found[0].dtype != np.uint8:
        raise UsageError(
            f"{path} holds {found[0].dtype} of shape {found[0].shape}, but a CIFAR-10 batch has"
            f" rows of {CIFAR_PIXELS} bytes (uint8) and a label for each: fetch it again."
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
    """Return the first of these files that is there, gzipped or not.

    Unpacked by some tools, a file lies in a folder of its own name; by others below MNIST/raw.
    """
    places = [folder, folder / "raw", folder / "MNIST" / "raw"]
    places += [place / name for place in places for name in names]
    tried = [place / f"{name}{end}" for place in places for name in names for end in ("", ".gz")]
    for path in tried:
        if path.is_file():
            return path
    raise UsageError(f"{folder} holds neither {names[0]} nor {names[0]}.gz: put the files there.")


def _content(path: Path) -> bytes:
    """Return the bytes of a file, unzipped: of a regular one, since a pipe may have no end."""
    try:
        if path.exists() and not path.is_file():
            raise UsageError(f"{path} is no file: put that of the data set there.")
        with path.open("rb") as raw:
            zipped = raw.read(2) == b"\x1f\x8b"
            raw.seek(0)
            content = (gzip.GzipFile(fileobj=raw) if zipped else raw).read(MOST_BYTES + 1)
    except FileNotFoundError:
        raise UsageError(f"{path} is missing: put the whole data set there.") from None
    except (EOFError, zlib.error, OSError) as error:
        raise UsageError(f"{path} cannot be read ({error}): fetch it again, whole.") from error
    if len(content) > MOST_BYTES:
        raise UsageError(f"{path} has more than {MOST_BYTES} bytes: fetch it again, whole.")
    return content


def _torn(path: Path, found: int, wanted: int) -> UsageError:
    return UsageError(f"{path} has {found} bytes where {wanted} belong: fetch it again, whole.")
