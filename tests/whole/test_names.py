"""A name of a type says one thing in the whole package: homonyms are found here.

Classes and type aliases count, catalogues included. The command line's options do not: a flag is
spelled by ``Annotated`` and read as ``o.Epsilon``. Nor do names that stay in their module.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.helpers.sources import module_name, package_files, parse

# Each is on its way out; a name that is no longer double must leave the list.
KNOWN = {
    "Document",
    "Interval",
    "Pairs",
    "Place",
    "Progress",
    "Rows",
    "Value",
    "Visit",
}


def type_names(tree: ast.Module) -> Iterator[str]:
    """Yield the classes of a module and the aliases it makes of other types."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield node.name
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                pass
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                pass
            case _:
                continue
        if name[0].isupper() and not name.isupper() and is_type(value):
            yield name


def is_type(value: ast.expr) -> bool:
    """Return whether an expression of a capitalised name is a type: X[...], A | B, np.float32."""
    if isinstance(value, ast.Subscript):
        return not ast.unparse(value.value).endswith("Annotated")
    return isinstance(value, ast.BinOp | ast.Attribute | ast.Name)


def homonyms(trees: dict[str, ast.Module]) -> dict[str, list[str]]:
    """Return the names of types that more than one module defines, with those modules."""
    found: dict[str, list[str]] = {}
    for module, tree in trees.items():
        for name in type_names(tree):
            found.setdefault(name, []).append(module)
    return {name: modules for name, modules in found.items() if len(modules) > 1}


def test_names_of_types_are_unique() -> None:
    found = homonyms({module_name(path): parse(path) for path in package_files()})
    assert {name: modules for name, modules in found.items() if name not in KNOWN} == {}
    assert KNOWN - found.keys() == set(), "these are unique now: take them out of KNOWN"


def test_a_homonym_is_found() -> None:
    trees = {
        "a": ast.parse("class Line: ...\nPair = tuple[int, int]\nSize = int | float"),
        "b": ast.parse("class Line: ...\nPair: TypeAlias = list[int]\nclass _Own: ..."),
        "c": ast.parse("Size = Annotated[int, 1]\nclass _Own: ...\nTOTAL = a | b\nClaim = make()"),
        "d": ast.parse("Claim = make()\nclass Outer:\n    class Inner: ...\nScale = np.float32"),
        "e": ast.parse("class Inner: ...\nfrom a import Line\nScale = float"),
    }
    assert homonyms(trees) == {
        "Line": ["a", "b"],
        "Pair": ["a", "b"],
        "Inner": ["d", "e"],
        "Scale": ["d", "e"],
    }
