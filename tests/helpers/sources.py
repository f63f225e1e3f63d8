"""The package's own source files, as the tests that read code see them."""

import ast
import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "stemtheory"


def package_files(suffixes: tuple[str, ...] = (".py",)) -> list[Path]:
    """Return the files of the package with these endings, the linked catalogue folders included."""
    found = []
    for folder, folders, names in os.walk(PACKAGE, followlinks=True):
        folders[:] = sorted(set(folders) - {"__pycache__"})
        found += [Path(folder, name) for name in sorted(names) if name.endswith(suffixes)]
    return found


def tree_files() -> dict[str, str]:
    """Return the text of every file of the project by its path; what is built is left out."""
    found = {}
    for folder, folders, names in os.walk(ROOT):
        built = {"build", "dist", "out", "results"} if Path(folder) == ROOT else set()
        folders[:] = sorted(
            name
            for name in set(folders) - built - {"__pycache__"}
            if name == ".ci" or not (name.startswith(".") or name.endswith(".egg-info"))
        )
        for path in (Path(folder, name) for name in sorted(names) if name != ".git"):
            if path.is_file() and b"\0" not in (content := path.read_bytes()):
                found[path.relative_to(ROOT).as_posix()] = content.decode("utf-8", "replace")
    return found


def module_name(path: Path) -> str:
    """Return the dotted name under which a file of the package is imported."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def parse(path: Path) -> ast.Module:
    """Return the syntax tree of a file."""
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))
