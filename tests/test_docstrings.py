"""Docstrings everywhere, labels that the paper has, and a glossary that matches the code."""

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.sources import ROOT, module_name, package_files, parse

LABELS = frozenset((ROOT / "tests/data/paper_labels.txt").read_text(encoding="utf-8").splitlines())
FILES = package_files()
Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef

# A reference starts at "Paper:" and ends with the paragraph, the docstring or the literal.
REFERENCE = re.compile(
    r'\bPaper:(.*?)(?=\n\s*#?\s*\n|"""|\bPaper:|"\s*$|\Z)', re.DOTALL | re.MULTILINE
)
GROUP = re.compile(r"\(([^()]*)\)")


def public_parts(tree: ast.Module) -> Iterator[tuple[str, Documented]]:
    """Yield the module, its public classes and functions, and their public methods."""
    yield "module", tree
    for node in tree.body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            if node.name.startswith("_"):
                continue
            yield node.name, node
            for child in node.body if isinstance(node, ast.ClassDef) else ():
                if isinstance(child, ast.FunctionDef) and not child.name.startswith("_"):
                    yield f"{node.name}.{child.name}", child


def undocumented(tree: ast.Module) -> list[str]:
    """Return the names of the public parts without a docstring."""
    return [name for name, node in public_parts(tree) if not ast.get_docstring(node)]


def label_faults(text: str) -> list[str]:
    """Return one sentence for every reference to the paper that cannot be followed.

    A reference is ``Paper: Lemma (Lem: Norm_Ineq), eq. (Eq: Problem)``: every group in parentheses
    with a colon or an underscore is a label of the paper, and there is at least one.
    """
    faults = []
    for reference in REFERENCE.findall(text):
        groups = [" ".join(re.sub(r"\n\s*#", " ", g).split()) for g in GROUP.findall(reference)]
        labels = [group for group in groups if ":" in group or "_" in group]
        if not labels:
            faults.append(f"no label in 'Paper:{' '.join(reference.split())}'")
        faults += [f"the paper has no label '{label}'" for label in labels if label not in LABELS]
    return faults


@pytest.mark.parametrize("path", FILES, ids=module_name)
def test_public_parts_have_a_docstring(path: Path) -> None:
    assert undocumented(parse(path)) == []


@pytest.mark.parametrize("path", FILES, ids=module_name)
def test_references_name_labels_of_the_paper(path: Path) -> None:
    assert label_faults(path.read_text(encoding="utf-8")) == []


def test_a_missing_docstring_is_found() -> None:
    text = '"""Module."""\nclass A:\n    """A."""\n    def f(self): ...\n    def _g(self): ...\n'
    assert undocumented(ast.parse(text)) == ["A.f"]
    assert undocumented(ast.parse("def f(): ...")) == ["module", "f"]


GOOD_REFERENCES = (
    '"""Mean.\n\nPaper: Lemma (Lem: e_bar_bound_Batch), eq. (Eq: Grad_Norm_Sum), (x).\n"""',
    "# Paper: Theorem (Thm:\n# PR_Convergence_Main_App).\n\nx = f(a_b)\n",
    '"""Paper: Algorithm (Algo_DR-STORM_batch).\n\nNot part of it: (a_t).\n"""',
)
BAD_REFERENCES = (
    '"""Mean.\n\nPaper: Lemma (Lem: e_bar_bound).\n"""',
    '"""Paper: Lemma (Lem: Norm_Ineq), eq. (Eq: Norm_Ineq)."""',
    "# Paper: Lemma 3\n",
)


@pytest.mark.parametrize("text", GOOD_REFERENCES)
def test_a_known_label_passes(text: str) -> None:
    assert label_faults(text) == []


@pytest.mark.parametrize("text", BAD_REFERENCES)
def test_an_unknown_label_is_rejected(text: str) -> None:
    assert len(label_faults(text)) == 1


class Row(NamedTuple):
    """One line of the glossary."""

    letter: str
    word: str
    flags: tuple[str, ...]
    unit: str
    where: str


def glossary() -> list[Row]:
    """Return the rows of the table in docs/glossary.md."""
    lines = (ROOT / "docs/glossary.md").read_text(encoding="utf-8").splitlines()
    table = [line.strip("| ").split("|") for line in lines if line.startswith("| `")]
    cells = [[cell.strip() for cell in row] for row in table]
    return [
        Row(letter.strip("`"), word, tuple(re.findall(r"`(--[^`]+)`", flags)), unit, where)
        for letter, word, flags, unit, where in cells
    ]


def test_the_glossary_is_a_table_without_repeats() -> None:
    rows = glossary()
    letters = [row.letter for row in rows]
    flags = [flag for row in rows for flag in row.flags]
    assert {"T", "K", "b", "I", "B", "nu", "x1"} <= set(letters)
    assert len(set(letters)) == len(letters)
    assert len(set(flags)) == len(flags)
    assert all(row.word and row.unit and row.where for row in rows)


def test_letters_of_simulate_stand_in_the_glossary() -> None:
    module = pytest.importorskip("stemtheory.simulate")
    parameters = inspect.signature(module.simulate).parameters
    letters = {name for name in parameters if len(name) <= 2}
    assert {"T", "b", "I", "B", "nu", "x1"} <= letters
    assert letters - {row.letter for row in glossary()} == set()


def _options(command: Any) -> Iterator[tuple[str, ...]]:
    """Yield the option names of a command and of all commands below it, option by option."""
    yield from (tuple(p.opts) for p in command.params if p.param_type_name == "option")
    for child in getattr(command, "commands", {}).values():
        yield from _options(child)


def test_flags_of_the_glossary_exist_in_both_forms() -> None:
    cli = pytest.importorskip("stemtheory.cli")
    typer_main = pytest.importorskip("typer.main")
    options = [set(names) for names in _options(typer_main.get_command(cli.app))]
    for row in glossary():
        if row.flags:
            assert any(set(row.flags) <= names for names in options), row.flags
    short = {name for names in options for name in names if re.fullmatch(r"--[A-Za-z]\w?", name)}
    assert short - {flag for row in glossary() for flag in row.flags} == set()
