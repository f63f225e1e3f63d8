"""Which packs there are: those that come with the package, installed ones, and folders by path.

Nothing of a pack is imported here; ``pack.toml`` is all that is read.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from stemtheory.claims.pack import FILE, Pack, read
from stemtheory.runtime import UsageError, choice, file_path, several

GROUP = "stemtheory.packs"  # of entry points: name = package
OWN = Path(__file__).resolve().parent
PACKAGE = __name__.rpartition(".")[0]


def asked(packs: Sequence[object]) -> str:
    """Return the options of a command that was asked for these packs alone."""
    return "".join(f" --pack {pack}" for pack in packs)


def chosen(packs: Sequence[str] = ()) -> tuple[Pack, ...]:
    """Return the packs that are named or whose folders are given; every installed one without any.

    Raises
    ------
    UsageError
        For a name that is none, a folder that holds no pack, and two packs of one name.
    """
    by_name: dict[str, Pack] = {}
    for name in several("packs", packs) or packages():
        pack = _one(name)
        if (other := by_name.setdefault(pack.name, pack)) is not pack:
            raise UsageError(
                f"{other.folder} and {pack.folder} are two packs called {pack.name}: give only one."
            )
    return tuple(by_name.values())


@cache
def packages() -> dict[str, str]:
    """Return the package of every installed pack by name, our own first.

    Raises
    ------
    UsageError
        For two of one name.
    """
    from importlib.metadata import entry_points

    found = {_read(*at).name: at[1] for at in shipped()}
    for entry in entry_points(group=GROUP):
        if found.setdefault(entry.name, entry.value) != entry.value:
            raise UsageError(
                f"two packs called {entry.name} are installed, {found[entry.name]} and"
                f" {entry.value}: uninstall one of them."
            )
    return found


def shipped() -> Iterator[tuple[Path, str]]:
    """Yield the folder and the package of every pack that comes with this one, STEM's first."""
    yield OWN / "paper", f"{PACKAGE}.paper"
    for file in sorted((OWN / "packs").glob(f"*/{FILE}")):
        yield file.parent, f"{PACKAGE}.packs.{file.parent.name}"


def _one(name: object) -> Pack:
    """Return the pack of a name, or of a folder."""
    known = packages()
    if isinstance(name, str) and name in known:
        return _installed(name, known[name])
    folder = file_path("pack", name)
    if not folder.is_dir():
        choice("pack", name, [*known, f"any folder with a {FILE}"])
    folder = folder.resolve()
    return _read(folder, _importable(folder))


def _installed(name: str, package: str) -> Pack:
    """Return the pack of an installed package, of which nothing is imported."""
    try:
        spec = importlib.util.find_spec(package)
        folders = list(spec.submodule_search_locations or ()) if spec is not None else []
    except (ImportError, ValueError):
        folders = []
    if not folders:
        raise UsageError(
            f"the installed pack {name} is said to be in {package}, which is no package: name the"
            f" one that holds {FILE} in its entry point, or other packs by --pack."
        )
    pack = _read(Path(folders[0]).resolve(), package)
    if pack.name != name:
        raise UsageError(
            f"{pack.folder / FILE} calls the pack {pack.name}, but its entry point calls it {name}:"
            " give both one name."
        )
    return pack


@cache
def _read(folder: Path, package: str) -> Pack:
    return read(folder, package)


def _importable(folder: Path) -> str:
    """Return the package that a folder is, and let it be imported: from above its topmost folder.

    Raises
    ------
    UsageError
        For a folder whose name no import statement can hold.
    """
    parts, home = [folder.name], folder.parent
    while (home / "__init__.py").exists():
        parts, home = [home.name, *parts], home.parent
    if not all(part.isidentifier() for part in parts):
        raise UsageError(
            f"{folder} cannot be imported, because {folder.name} is no name in Python: call the"
            " folder by letters, digits and _."
        )
    if str(home) not in sys.path:
        sys.path.append(str(home))  # last, so that it hides nothing
    importlib.invalidate_caches()
    return ".".join(parts)
