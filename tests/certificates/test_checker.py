"""The checker stands alone, and accepts what the generator found."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from stemtheory.certificates import Certified, find, stated, why_not
from tests.helpers.sources import PACKAGE

CHECKER = PACKAGE / "certificates" / "checker.py"


@pytest.fixture(scope="module")
def found() -> Certified:
    return find(stated("stem", "literal", I=4, K=4, b=1))


def test_it_is_short_and_imports_the_standard_library_alone() -> None:
    text = CHECKER.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 200
    imported = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            imported.add(node.module or "")
    assert imported <= sys.stdlib_module_names
    assert imported & {"importlib", "runpy", "subprocess", "os"} == set()


def run_alone(path: Path, *wanted: str) -> tuple[int, str]:
    """Run the checker as a file, away from the package and from every installed one."""
    done = subprocess.run(
        [sys.executable, "-I", "-S", str(CHECKER), str(path), *wanted],
        capture_output=True,
        text=True,
        cwd=path.parent,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def test_a_certificate_is_accepted_by_the_checker_alone(found: Certified, tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    path.write_bytes(found.data)
    code, said = run_alone(path, "K=4", "I=4", "b=1", "eta=1/64", "reading=literal")
    assert code == 0
    assert said.startswith("accepted: ")
    code, said = run_alone(path, "K=5")
    assert code == 1
    assert said == "refused: K is 4, but 5 was asked for\n"
    path.write_bytes(found.data[: len(found.data) // 2])
    code, said = run_alone(path)
    assert code == 1
    assert len(said.splitlines()) == 1


def test_the_file_has_the_fields_of_the_format_in_their_order(found: Certified) -> None:
    def no_float(text: str) -> None:
        raise AssertionError(text)

    document: dict[str, Any] = json.loads(found.data, parse_float=no_float)
    assert list(document) == ["format", "version", "statement", "basis", "multipliers", "gram"]
    assert document["basis"][:6] == ["e0", "g0", "X0", "U0", "H1", "H2"]
    assert document["basis"][-2:] == ["D4", "P4"]
    assert list(document["statement"]) == [
        *("algorithm", "reading", "I", "K", "b", "m", "eta", "a", "delta", "lambda", "mu"),
        *("C_sigma", "C_zeta"),
    ]
    assert document["statement"]["a"] == "24577/6291456"
    assert "0" not in document["multipliers"].values()
    assert [len(row) for row in document["gram"]["D"]] == list(range(1, 20))
    assert why_not(found.data) == ""
