"""What quick panels found, kept for the next command that asks for the same.

Of a claim that ships, the rows depend on nothing but the sources of this package and on what lies
beneath it: the hash of both is their key. So a change of either finds nothing here, and the claim
is judged anew. A file that is damaged, or cannot be written, is as good as none.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import platform
import sys
from collections.abc import Iterator
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from stemtheory._version import __version__
from stemtheory.claims.base import Claim
from stemtheory.claims.checking import check, row_json
from stemtheory.runtime import UsageError, write_whole
from stemtheory.simulator import cache_folder

PACKAGE = Path(__file__).resolve().parent.parent
BENEATH = ("numpy", "scipy", "numba")
Rows = list[dict[str, Any]]


def rows_of(claim: Claim) -> Rows:
    """Return the rows of a claim's quick panel, as the ledger's document has them.

    Those of a claim of our own packs are kept.
    """
    if claim.pack is None or not claim.pack.folder.is_relative_to(PACKAGE):
        return judged(claim)
    file, key = cache_folder() / "verdicts" / f"{claim.pack.name}-{claim.id}.json", fingerprint()
    if (rows := _read(file, key)) is None:
        # through JSON at once, so that what is shown does not depend on who shows it
        text = json.dumps({"key": key, "rows": judged(claim)}, default=lambda value: value.item())
        with contextlib.suppress(OSError, UsageError):
            file.parent.mkdir(parents=True, exist_ok=True)
            write_whole(file, text)
        rows = json.loads(text)["rows"]
    return rows


def judged(claim: Claim) -> Rows:
    """Return the rows of a claim that is put to its quick panel now."""
    return [row_json(row) for row in check(claim)]


def _read(file: Path, key: str) -> Rows | None:
    """Return the rows that are kept under a key; None if there are none."""
    try:
        found = json.loads(file.read_text("utf-8"))
        rows: Rows = found["rows"]
        return rows if found["key"] == key else None
    except (OSError, ValueError, TypeError, KeyError):
        return None


@cache
def fingerprint() -> str:
    """Return the hash of all that a quick panel's rows depend on: 64 hexadecimal digits."""
    known = hashlib.blake2b(repr(_beneath()).encode(), digest_size=32)
    for path in sorted(_sources(PACKAGE)):
        known.update(f"\0{path.name}\0".encode() + path.read_bytes())
    return known.hexdigest()


def _beneath() -> tuple[str | None, ...]:
    """Return versions and the machine: another one may round the last digit otherwise."""
    machine = platform.machine(), platform.node(), os.environ.get("NUMBA_DISABLE_JIT")
    return (__version__, sys.version, *map(_version, BENEATH), *machine)


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _sources(folder: Path) -> Iterator[Path]:
    """Yield every source and data file below a folder; the catalogues of a checkout are links."""
    for root, folders, files in os.walk(folder, followlinks=True):
        folders[:] = [name for name in folders if name != "__pycache__"]
        yield from (Path(root, name) for name in files if name.endswith((".py", ".toml")))
