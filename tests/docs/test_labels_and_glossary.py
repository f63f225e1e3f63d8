"""Labels that the paper has, and a glossary that matches the code."""

import ast
import inspect
import io
import re
import tokenize
from collections.abc import Iterator
from typing import Any, NamedTuple

import typer

from stemtheory import simulate
from stemtheory.cli.app import app
from tests.helpers.sources import ROOT, module_name, package_files

LABELS = frozenset((ROOT / "tests/data/paper_labels.txt").read_text(encoding="utf-8").splitlines())
# A reference starts at "Paper:" and ends with the paragraph, the string or the comment.
REFERENCE = re.compile(r"\bPaper:(.*?)(?=\n\s*\n|\bPaper:|\Z)", re.DOTALL)
GROUP = re.compile(r"\(([^()]*)\)")


def strings_and_comments(source: str) -> Iterator[str]:
    """Yield every string literal, and every block of comment lines without its marks."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
    block: list[str] = []
    last = 0
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            if token.start[0] != last + 1:
                yield "\n".join(block)
                block = []
            block.append(token.string.lstrip("# "))
            last = token.start[0]
    yield "\n".join(block)


def reference_labels(reference: str) -> list[str]:
    """Return what a reference gives for labels of the paper.

    That is every group in parentheses with a colon or an underscore, and outside of parentheses
    every item with a colon: ``Lemma (Lem: Norm_Ineq), eq. (Eq: Problem)`` or ``Lem: Norm_Ineq``.
    """
    text = " ".join(reference.split())
    items = re.split(r"[,;.]", GROUP.sub("", text))
    bare = [item.strip() for item in items if ":" in item]
    return bare + [group for group in GROUP.findall(text) if ":" in group or "_" in group]


def label_faults(source: str) -> list[str]:
    """Return one sentence for every reference of a source text that cannot be followed."""
    faults = []
    for text in strings_and_comments(source):
        for reference in REFERENCE.findall(text):
            labels = reference_labels(reference)
            if not labels:
                faults.append(f"no label in 'Paper:{' '.join(reference.split())}'")
            faults += [f"the paper has no label '{name}'" for name in labels if name not in LABELS]
    return faults


def test_references_name_labels_of_the_paper() -> None:
    faults = {
        module_name(path): found
        for path in package_files()
        if (found := label_faults(path.read_text(encoding="utf-8")))
    }
    assert faults == {}


GOOD_REFERENCES = (
    '"""Mean.\n\nPaper: Lemma (Lem: e_bar_bound_Batch), eq. (Eq: Grad_Norm_Sum), (x).\n"""',
    "# Paper: Theorem (Thm:\n# PR_Convergence_Main_App).\n\nx = f(a_b)\n",
    '"""Paper: Algorithm (Algo_DR-STORM_batch).\n\nNot part of it: (a_t).\n"""',
    'A = ("Paper: Thm: Flexible_FedAvg; App: FedAvg", "b: (a_t)")',
)
BAD_REFERENCES = (
    '"""Mean.\n\nPaper: Lemma (Lem: e_bar_bound).\n"""',
    '"""Paper: Lemma (Lem: Norm_Ineq), eq. (Eq: Norm_Ineq)."""',
    '"""Paper: Thm: Flexible, eq. (Eq: Problem)."""',
    "# Paper: Lemma 3\n",
    "x = 1  # a comment\n\n# another\n# Paper: Lemma (lem: Norm_Ineq)\n",
)


def test_known_labels_pass_and_unknown_ones_are_rejected() -> None:
    assert [len(label_faults(text)) for text in GOOD_REFERENCES] == [0] * len(GOOD_REFERENCES)
    assert [len(label_faults(text)) for text in BAD_REFERENCES] == [1] * len(BAD_REFERENCES)


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
    parameters = inspect.signature(simulate).parameters
    letters = {name for name in parameters if len(name) <= 2}
    assert {"T", "b", "I", "B", "nu", "x1"} <= letters
    assert letters - {row.letter for row in glossary()} == set()


def _options(command: Any) -> Iterator[tuple[str, ...]]:
    """Yield the option names of a command and of all commands below it, option by option."""
    yield from (tuple(p.opts) for p in command.params if p.param_type_name == "option")
    for child in getattr(command, "commands", {}).values():
        yield from _options(child)


def flag_faults(options: list[set[str]], rows: list[Row]) -> list[str]:
    """Return the flags that glossary and command line do not both have, in both forms."""
    written = {flag for row in rows for flag in row.flags}
    faults = [
        f"no option is called {' and '.join(row.flags)}"
        for row in rows
        if row.flags and not any(set(row.flags) <= names for names in options)
    ]
    short = {name for names in options for name in names if re.fullmatch(r"--[A-Za-z]\w?", name)}
    return faults + [f"{flag} is not in the glossary" for flag in sorted(short - written)]


def test_flags_of_the_glossary_exist_in_both_forms() -> None:
    options = [set(names) for names in _options(typer.main.get_command(app))]
    assert flag_faults(options, glossary()) == []


def test_a_missing_or_unwritten_flag_is_found() -> None:
    options = [set(row.flags) for row in glossary() if row.flags]
    assert flag_faults(options, glossary()) == []
    assert flag_faults([names - {"--steps"} for names in options], glossary()) != []
    assert flag_faults([*options, {"--H", "--height"}], glossary()) == [
        "--H is not in the glossary"
    ]
