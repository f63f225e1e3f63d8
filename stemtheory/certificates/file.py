"""A certificate's file: written so that equal inputs give equal bytes, and read by the checker."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from stemtheory.certificates import checker
from stemtheory.runtime import UsageError

SHIPPED = Path(__file__).with_name("shipped")


def in_file(certificate: Mapping[str, Any]) -> bytes:
    """Return the bytes of a certificate's file."""
    return (json.dumps(certificate, separators=(",", ":")) + "\n").encode()


def fingerprint(data: bytes) -> str:
    """Return what a file is known by."""
    return hashlib.sha256(data).hexdigest()


def read(path: Path) -> bytes:
    """Return the bytes of a file.

    Raises
    ------
    UsageError
        If it cannot be read.
    """
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(
            f"{path} cannot be read ({error.strerror or error}): give the file of a certificate."
        ) from error


def why_not(data: bytes, **wanted: object) -> str:
    """Return why the checker refuses a file, nothing where it accepts it as what is wanted."""
    try:
        checker.check(checker.parse(data), **wanted)
    except (ValueError, RecursionError) as error:
        return str(error) or "the file is nested too deeply"
    return ""


def locate(target: str) -> Path:
    """Return the file meant: a path, or the name of a certificate that ships.

    Raises
    ------
    UsageError
        If there is neither.
    """
    known = shipped()
    if not Path(target).exists() and target in known:
        return known[target]
    if not Path(target).is_file():
        raise UsageError(
            f"{target} is no file and no certificate that ships: give a file, all, or one of"
            f" {', '.join(known)}."
        )
    return Path(target)


def shipped() -> dict[str, Path]:
    """Return the certificates that come with the package, by name."""
    return {path.stem: path for path in sorted(SHIPPED.glob("*.json"))}
