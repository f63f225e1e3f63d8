"""Reading arrays from an npz file that may be damaged or made to do harm: read, or one sentence.

``numpy.load`` believes what a header says, and allocates what it claims. Here every member is held
against the bytes that are there before anything of its size is made.
"""

from __future__ import annotations

import io
import math
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy

from stemtheory.runtime.errors import UsageError


def read_npz(path: Path | str, todo: str, content: bytes | None = None) -> dict[str, Any]:
    """Return all arrays of an uncompressed npz file by name, as ``numpy.savez`` wrote them.

    Where its ``content`` is at hand, ``path`` is what it is called.

    Raises
    ------
    UsageError
        If it is anything else; its sentence ends with what is to be done.
    """
    try:
        held = None if content is None else io.BytesIO(content)
        with zipfile.ZipFile(held or path) as archive:
            size = len(content) if content is not None else Path(path).stat().st_size
            members = archive.infolist()
            if sum(info.file_size for info in members) > size:  # in one another
                raise ValueError("its members are larger than the file")
            return {info.filename.removesuffix(".npy"): _member(archive, info) for info in members}
    except Exception as error:  # a crafted file fails in more ways than zipfile and NumPy name
        reason = " ".join((str(error) or type(error).__name__).split())
        raise UsageError(f"{path} cannot be read ({reason:.120}): {todo}.") from error


def refuse_misfits(
    path: Path | str, found: Mapping[str, Any], like: Mapping[str, Any], todo: str
) -> None:
    """Refuse arrays that are not named, shaped and typed ``like`` those (None: of any shape).

    NumPy would broadcast a row over a table, and take what it misses for granted.

    Raises
    ------
    UsageError
        With what is missing, left over or misshapen.
    """
    wrong = sorted(set(found) ^ set(like))
    for name, want in like.items():
        if not wrong and want is not None:
            have, want = found[name], np.asarray(want)
            if (have.shape, have.dtype.kind) != (want.shape, want.dtype.kind):
                wrong = [f"{name} of shape {have.shape} and not {want.shape}"]
    if wrong:
        raise UsageError(f"{path} cannot be read ({', '.join(wrong):.120}): {todo}.")


def _member(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Any:
    """Return one array; only plain bytes in plain storage are read, and all of them."""
    if info.compress_type != zipfile.ZIP_STORED or info.compress_size != info.file_size:
        raise ValueError(f"{info.filename} is compressed")
    with archive.open(info) as member:
        version = npy.read_magic(member)
        header = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        shape, fortran, dtype = header(member)
        if dtype.hasobject:
            raise ValueError(f"{info.filename} holds objects")
        content = member.read()  # at most what lies in the file
    if len(content) != math.prod(shape) * dtype.itemsize:
        raise ValueError(f"{info.filename} has {len(content)} bytes, which is not shape {shape}")
    flat = np.frombuffer(bytearray(content), dtype)  # writable
    return flat.reshape(shape, order="F" if fortran else "C")
