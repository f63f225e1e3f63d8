"""State, parameters and results are frozen: what may be written to is named here."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.helpers.sources import module_name, package_files, parse

WRITTEN = {
    "certificates.lemmas.reals.Reals",
    "claims.sides.Sample",
    "runtime.philox.PhiloxStream",
    "simulator.fused.booked.Booked",
    "simulator.fused.checkpoint.Checkpoint",
    "simulator.plan.Rows",
}


def thawed(tree: ast.Module) -> Iterator[str]:
    """Yield the data classes of a module that are not frozen."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            for mark in map(ast.unparse, node.decorator_list):
                if mark.startswith("dataclass") and "frozen=True" not in mark:
                    yield node.name


def test_every_other_data_class_is_frozen() -> None:
    found = {
        f"{module_name(path).removeprefix('stemtheory.')}.{name}"
        for path in package_files()
        for name in thawed(parse(path))
    }
    assert found == WRITTEN


def test_a_thawed_one_is_found() -> None:
    text = "@dataclass(frozen=False)\nclass A: ...\n@dataclass(frozen=True)\nclass B: ..."
    assert list(thawed(ast.parse(text))) == ["A"]
