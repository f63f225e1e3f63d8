"""Where a number comes from: versions, and the commit when the package runs from a checkout."""

from __future__ import annotations

import json
import platform
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from stemtheory._version import __version__
from stemtheory.runtime import STREAM_VERSION

PACKAGES = ("numpy", "scipy", "numba", "distributed")
CHECKOUT = Path(__file__).resolve().parents[3]


def provenance(**more: Any) -> str:
    """Return versions, platform, commit and ``more`` as JSON text, without what is not there."""
    known = {name: value for name, value in {**_fixed(), **more}.items() if value is not None}
    return json.dumps(known, sort_keys=True)


@cache
def _fixed() -> dict[str, Any]:
    return {
        "stemtheory": __version__,
        "stream_version": STREAM_VERSION,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "commit": commit(CHECKOUT),
        **{name: _version(name) for name in PACKAGES},
    }


def commit(folder: Path) -> str | None:
    """Return the commit checked out in ``folder``, or None where it is no checkout.

    Read from git's files, so git need not be installed.
    """
    try:
        git = folder / ".git"
        if git.is_file():  # a linked worktree: "gitdir: PATH"
            git = folder / git.read_text(encoding="utf-8").partition(":")[2].strip()
        head = (git / "HEAD").read_text(encoding="utf-8").strip()
        if not head.startswith("ref: "):
            return head
        name = head[5:]
        shared = git / "commondir"
        roots = [git]
        if shared.exists():
            roots.append(git / shared.read_text(encoding="utf-8").strip())
        return next((found for root in roots if (found := _lookup(root, name))), None)
    except OSError:
        return None


def _lookup(root: Path, name: str) -> str | None:
    """Return the commit of a branch: a file of its own, or a line of packed-refs."""
    if (root / name).is_file():
        return (root / name).read_text(encoding="utf-8").strip()
    packed = root / "packed-refs"
    lines = packed.read_text(encoding="utf-8").splitlines() if packed.is_file() else []
    return next((line.split()[0] for line in lines if line.endswith(f" {name}")), None)


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
