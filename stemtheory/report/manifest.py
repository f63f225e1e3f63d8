"""What a folder of results was made from, so that a second run does only what has changed.

A part of the work (the ledger, one sweep, one figure) has a key: the hash of the text of every
module that it may run, its settings, and the versions beneath. ``manifest.json`` holds for each
part its key, its result and the hashes of its files; a part whose key and files are the same is
not made again.
"""

from __future__ import annotations

import ast
import hashlib
import json
import platform
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from stemtheory._version import __version__
from stemtheory.runtime import listener, to_json, write_whole

PACKAGE = Path(__file__).resolve().parent.parent
NAME = "manifest.json"
BENEATH = ("numpy", "scipy", "matplotlib")
# Found by name at run time, so no import statement leads there.
Made = tuple[Any, Iterable[Path]]  # a result, and its files
ALWAYS = ("stemtheory.problems", "stemtheory.algorithms")


class Manifest:
    """The manifest of one folder; every change is written at once, whole, and told."""

    def __init__(self, folder: Path, progress: Callable[[str], None] = lambda _: None) -> None:
        self.folder, self.progress = folder, progress
        self.parts = _read(folder / NAME)

    def made(self, part: str, key: str, make: Callable[[bool], Made]) -> Any:
        """Return the result of ``part``: the one that is here, or what ``make`` returns with files.

        ``make`` is told whether the part was begun with this key before.
        """
        return self.begun(part, key, lambda again: lambda: make(again))()

    def begun(
        self, part: str, key: str, start: Callable[[bool], Callable[[], Made]]
    ) -> Callable[[], Any]:
        """Begin with ``part`` if its result is not here; return what waits for the result.

        ``start`` is told whether the part was begun with this key before, and returns what waits
        for the result and its files.
        """
        kept = self.kept(part, key)
        finish = start(self.begin(part, key)) if kept is None else None

        def wait() -> Any:
            if finish is None:
                self.progress(f"{part}: as before")
                listener()(1.0, True)
                return kept
            result, files = finish()
            self.done(part, key, result, files)
            return result

        return cache(wait)

    def kept(self, part: str, key: str) -> Any:
        """Return the result of ``part`` if it was made with ``key`` and its files are untouched."""
        entry = self.parts.get(part)
        if entry is None or entry["key"] != key or entry["result"] is None:
            return None
        same = all(digest(self.folder / file) == old for file, old in entry["files"].items())
        return entry["result"] if same else None

    def begin(self, part: str, key: str) -> bool:
        """Note that ``part`` is being made; return whether it was begun with this key before."""
        entry = self.parts.get(part)
        again = entry is not None and entry["key"] == key
        self._write(part, {"key": key, "files": {}, "result": None})
        return again

    def done(self, part: str, key: str, result: Any, files: Iterable[Path]) -> None:
        """Note the result of ``part`` and its files, which lie in the folder."""
        places = {f.relative_to(self.folder).as_posix(): digest(f) for f in files}
        self._write(part, {"key": key, "files": places, "result": result})

    def _write(self, part: str, entry: dict[str, Any]) -> None:
        self.parts[part] = entry
        write_whole(self.folder / NAME, to_json(dict(sorted(self.parts.items()))))


def _read(path: Path) -> dict[str, Any]:
    """Return the parts; a manifest that is missing or damaged knows nothing."""
    try:
        parts = json.loads(path.read_text(encoding="utf-8"))
        good = {p: e for p, e in parts.items() if {"key", "files", "result"} <= set(e)}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}
    return good


def digest(path: Path) -> str | None:
    """Return the SHA-256 of a file, None if there is none."""
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else None


def key_of(roots: Sequence[str], *settings: object, data: Iterable[Path] = ()) -> str:
    """Return the key of what ``roots`` (modules or packages) do with ``settings`` and ``data``."""
    known = hashlib.sha256(repr((*settings, *versions().items())).encode())
    for module in sorted(reachable((*roots, *ALWAYS))):
        known.update(f"{module}\n".encode() + _path(module).read_bytes())
    for path in sorted(data):
        known.update(f"{path.name}\n".encode() + path.read_bytes())
    return known.hexdigest()


@cache
def versions() -> dict[str, str]:
    """Return the versions that results depend on."""
    own = {"stemtheory": __version__, "python": platform.python_version()}
    return own | {name: version(name) for name in BENEATH}


def reachable(roots: Iterable[str]) -> set[str]:
    """Return the modules of this package that the roots import, directly or not.

    Imports inside functions count; a package stands for all of its modules, except the catalogues
    of figures and claims, whose entries stand alone.
    """
    found: set[str] = set()
    todo = list(roots)
    while todo:
        module = todo.pop()
        path = _path(module)
        if module in found or not path.is_file():
            continue
        found.add(module)
        if path.name == "__init__.py" and module not in ("stemtheory", "stemtheory.figures"):
            inner = (p.relative_to(path.parent) for p in path.parent.rglob("[!_]*.py"))
            todo += [".".join((module, *p.with_suffix("").parts)) for p in inner]
        todo += imported(path.read_text(encoding="utf-8"))
    return found


@cache
def imported(text: str) -> tuple[str, ...]:
    """Return the modules of this package that a module's text imports from."""
    names: list[str] = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("stemtheory"):
            names += [_home(str(node.module), alias.name) for alias in node.names]
        elif isinstance(node, ast.Import):
            names += [a.name for a in node.names if a.name.startswith("stemtheory.")]
    return tuple(name for name in names if name != "stemtheory")


def _home(module: str, name: str) -> str:
    """Return where ``from module import name`` leads: a face is looked through, not reached."""
    if _path(f"{module}.{name}").is_file():
        return f"{module}.{name}"
    return _face(module).get(name, module)


@cache
def _face(module: str) -> dict[str, str]:
    """Return which module each name comes from that the ``__init__`` of a folder imports."""
    path = _path(module)
    if path.name != "__init__.py":
        return {}
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    found = [n for n in nodes if isinstance(n, ast.ImportFrom)]
    return {alias.name: str(node.module) for node in found for alias in node.names}


def _path(module: str) -> Path:
    """Return the file of a module of this package."""
    base = PACKAGE.joinpath(*module.split(".")[1:])
    package = base / "__init__.py"
    return package if package.is_file() else base.with_suffix(".py")
