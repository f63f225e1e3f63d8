"""Npz files that are damaged or made to do harm: one sentence, whatever it is."""

from __future__ import annotations

import io
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stemtheory.runtime import UsageError, read_npz, refuse_misfits

ARRAYS: dict[str, Any] = {
    "number": np.array(7),
    "table": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    "name": np.array("a run"),
    "none": np.zeros((0, 3), np.float32),
}


def saved() -> bytes:
    file = io.BytesIO()
    np.savez(file, **ARRAYS)
    return file.getvalue()


def member(content: bytes, name: str = "table.npy", method: int = zipfile.ZIP_STORED) -> bytes:
    """Return an archive with one member."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        archive.writestr(name, content)
    return file.getvalue()


def npy(header: str, content: bytes = bytes(48)) -> bytes:
    """Return an array's file with a header of one's own."""
    text = header.encode().ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + content


def encrypted() -> bytes:
    """Return an archive that says that its members are encrypted, here and in its directory."""
    content = bytearray(saved())
    for start, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.index(start) + at] |= 1
    return bytes(content)


SHAPE = "{'descr': '<f8', 'fortran_order': False, 'shape': %s, }"
WRONG: dict[str, Callable[[], bytes]] = {
    "empty": lambda: b"",
    "cut": lambda: saved()[:-40],
    "a byte is another": lambda: saved().replace(np.float64(4.0).tobytes(), bytes(8)),
    "no archive": lambda: b"<html>",
    "one array": lambda: npy(SHAPE % "(2, 3)"),
    "compressed": lambda: member(npy(SHAPE % "(2, 3)"), method=zipfile.ZIP_DEFLATED),
    "bomb": lambda: member(bytes(10**7), method=zipfile.ZIP_BZIP2),
    "encrypted": encrypted,
    "more than there is": lambda: member(npy(SHAPE % "(1000000000000,)")),
    "less than there is": lambda: member(npy(SHAPE % "(2,)")),
    "a negative size": lambda: member(npy(SHAPE % "(-2, -3)")),
    "objects": lambda: member(npy("{'descr': '|O', 'fortran_order': False, 'shape': (6,), }")),
    "code": lambda: member(npy("{'descr': open('x'), 'fortran_order': False, 'shape': (6,), }")),
    "no header": lambda: member(b"\x93NUMPY\x09\x00"),
    "no array": lambda: member(b"text", "notes.txt"),
}


def test_what_numpy_wrote_is_read(tmp_path: Path) -> None:
    path = tmp_path / "run.npz"
    path.write_bytes(saved())
    found = read_npz(path, "remove it")
    assert set(found) == set(ARRAYS)
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(found[name], array)
        assert found[name].dtype == array.dtype
    found["table"][0, 0] = 5  # nothing read-only comes back
    refuse_misfits(path, found, ARRAYS, "remove it")


@pytest.mark.parametrize("wrong", WRONG)
def test_anything_else_is_one_sentence(tmp_path: Path, wrong: str) -> None:
    path = tmp_path / "run.npz"
    path.write_bytes(WRONG[wrong]())
    with pytest.raises(UsageError, match=r"run\.npz cannot be read \(.+\): remove it\.$") as error:
        read_npz(path, "remove it")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"table": np.zeros(3)}, r"table of shape \(3,\)"),  # NumPy would broadcast it
        ({"table": np.zeros((2, 3), int)}, "table of shape"),
        ({"more": np.zeros(3)}, "more"),
        ({"none": None}, "none"),
    ],
)
def test_what_does_not_fit_is_refused(change: dict[str, Any], said: str) -> None:
    found = {k: v for k, v in {**ARRAYS, **change}.items() if v is not None}
    with pytest.raises(UsageError, match=said):
        refuse_misfits(Path("run.npz"), found, ARRAYS, "remove it")
