"""What a number was made from beside this package: a user's own code, and data files.

A name such as ``mine:LOSS`` says nothing about the loss. The fingerprint of its module is the hash
of its source and of every module that it imports from outside of this package, of Python's own
library and of installed packages; that of data is the hash of the arrays that were read. The
package has one too, for what depends on nothing else.
"""

from __future__ import annotations

import ast
import contextlib
import hashlib
import importlib.util
import os
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from stemtheory._version import __version__

OWN = Path(__file__).resolve().parent.parent
INSTALLED = tuple(
    Path(path).resolve() for path in {*sysconfig.get_paths().values()} if Path(path).is_dir()
)
FINGERPRINT = 16  # hexadecimal digits
BENEATH = ("numpy", "scipy", "numba")
HIDDEN = ("site-packages", "dist-packages")


@cache
def code_of(module_name: str) -> str:
    """Return the fingerprint of a module that has been imported: 16 hexadecimal digits.

    It is taken once in a process, as the module is: what is loaded is what counts, whatever
    becomes of the file later.
    """
    todo, seen, digest = [module_name], set(), hashlib.blake2b(digest_size=FINGERPRINT // 2)
    texts = {}
    while todo:
        name = todo.pop()
        path = own_source(name)
        if name in seen or path is None:
            continue
        seen.add(name)
        texts[name] = path.read_bytes()
        todo += _imported(texts[name], name, path.name == "__init__.py")
    for name in sorted(texts):
        digest.update(name.encode() + b"\0" + hashlib.blake2b(texts[name]).digest())
    return digest.hexdigest()


def data_of(thing: Any) -> str:
    """Return the fingerprint of all arrays that an object holds: 16 hexadecimal digits.

    What was read from a file counts, wherever the file lies and whatever becomes of it later.
    """
    digest = hashlib.blake2b(digest_size=FINGERPRINT // 2)
    _add_arrays(thing, digest, set())
    return digest.hexdigest()


@cache
def package_fingerprint() -> str:
    """Return the hash of every source of this package, and of what lies beneath: 64 digits.

    Beneath are versions and the machine: another one may round the last digit otherwise.
    """
    import platform  # most commands need no fingerprint, and both take milliseconds to load
    from importlib.metadata import PackageNotFoundError, version

    beneath = [__version__, sys.version, platform.machine(), platform.node()]
    beneath.append(os.environ.get("NUMBA_DISABLE_JIT", ""))
    for package in BENEATH:
        with contextlib.suppress(PackageNotFoundError):
            beneath.append(f"{package} {version(package)}")
    known = hashlib.blake2b(repr(beneath).encode(), digest_size=32)
    for path in sorted(_sources(OWN)):
        known.update(f"\0{path.relative_to(OWN)}\0".encode() + path.read_bytes())
    return known.hexdigest()


def _sources(folder: Path) -> Iterator[Path]:
    """Yield all sources, settings and records below a folder; a checkout's catalogues are links."""
    for root, folders, files in os.walk(folder, followlinks=True):
        folders[:] = [name for name in folders if name != "__pycache__"]
        yield from (Path(root, name) for name in files if name.endswith((".py", ".toml", ".json")))


def stamp_of(path: Path) -> tuple[int, ...] | None:
    """Return what tells that a file was changed since, None where there is none."""
    try:
        found = path.stat()
    except (OSError, ValueError):
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def _add_arrays(thing: Any, digest: Any, seen: set[int]) -> None:
    if id(thing) in seen or isinstance(thing, str | bytes | type | ModuleType):
        return
    seen.add(id(thing))
    if isinstance(thing, np.ndarray):
        if thing.dtype != object:
            digest.update(f"{thing.dtype.str}{thing.shape}".encode())
            digest.update(np.ascontiguousarray(thing))
    elif isinstance(thing, Mapping):
        for name in sorted(thing, key=str):
            _add_arrays(thing[name], digest, seen)
    elif isinstance(thing, list | tuple):
        for item in thing:
            _add_arrays(item, digest, seen)
    elif hasattr(thing, "__dict__"):
        _add_arrays(vars(thing), digest, seen)


def own_source(name: str) -> Path | None:
    """Return the file of a module that is a user's own, None for every other."""
    if name.partition(".")[0] == __name__.partition(".")[0]:
        return None  # a catalogue of the checkout lies outside of the package's folder
    module = sys.modules.get(name)
    try:
        file = _file_of(module) if module is not None else _origin(name)
    except (ImportError, AttributeError, ValueError):
        return None
    if file is None or file.suffix != ".py":
        return None
    path = file.resolve()
    installed = any(path.is_relative_to(folder) for folder in INSTALLED)
    if installed or path.is_relative_to(OWN) or set(HIDDEN) & set(path.parts):
        return None
    return path if path.is_file() else None


def _file_of(module: ModuleType) -> Path | None:
    file = getattr(module, "__file__", None)
    return None if file is None else Path(file)


def _origin(name: str) -> Path | None:
    """Return where a module that is not loaded yet would come from."""
    spec = importlib.util.find_spec(name)
    return Path(spec.origin) if spec is not None and spec.origin is not None else None


def _imported(text: bytes, name: str, package: bool) -> list[str]:
    """Return every module that a source may import, inside of functions too."""
    found = []
    here = name if package else name.rpartition(".")[0]
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parent = ".".join(here.split(".")[: len(here.split(".")) - node.level + 1])
                base = f"{parent}.{base}".strip(".")
            found += [base, *(f"{base}.{alias.name}" for alias in node.names)]
    parts = [module.split(".") for module in found if module]
    return [".".join(p[: i + 1]) for p in parts for i in range(len(p))]
