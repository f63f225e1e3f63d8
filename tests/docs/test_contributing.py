"""CONTRIBUTING.md shows the house as it stands: its rooms in their order, paths and targets."""

from __future__ import annotations

import re
import tomllib

from tests.helpers.sources import ROOT

TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


def test_the_rooms_stand_in_the_order_of_imports() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (layers,) = (
        contract["layers"]
        for contract in settings["tool"]["importlinter"]["contracts"]
        if contract["type"] == "layers"
    )
    shown = re.findall(r"^\| `(\w+)/` \|", TEXT, re.MULTILINE)
    assert shown == [name for name in layers if name.isalpha()]
    assert {f"{name}/__init__.py" for name in shown} == {
        path.relative_to(ROOT / "stemtheory").as_posix()
        for path in (ROOT / "stemtheory").glob("*/__init__.py")
        if path.parent.name not in ("problems", "figures", "sweeps")
    }


def missing_paths(text: str) -> list[str]:
    """Return the paths that a text names and that do not exist."""
    named = re.findall(r"[`(=](\.?(?:stemtheory|tests|docs|benchmarks|\.ci)/[\w./]*)", text)
    assert named
    return [path for path in named if not (ROOT / path).exists()]


def test_the_paths_exist() -> None:
    assert missing_paths(TEXT) == []
    assert missing_paths("see `stemtheory/gone.py`") == ["stemtheory/gone.py"]


def missing_targets(text: str) -> set[str]:
    """Return what a text calls by ``make`` and the Makefile lacks."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):.*## ", makefile, re.MULTILINE))
    return set(re.findall(r"(?:`|^    )make ([a-z][a-z-]*)", text, re.MULTILINE)) - targets


def test_the_targets_exist() -> None:
    assert missing_targets(TEXT) == set()
    assert missing_targets("    make tea\n") == {"tea"}


def test_every_guide_is_linked() -> None:
    guides = {f"docs/{path.name}" for path in (ROOT / "docs").glob("add_a*.md")}
    assert len(guides) >= 7
    assert guides <= set(re.findall(r"\]\(([\w./]+)\)", TEXT))
