"""``make test-near``: every file has tests near it, and they are those that cover it."""

from __future__ import annotations

import re

import pytest

from tests.helpers.sources import ROOT, tree_files
from tests.near import COVERS, near

FILES = [
    name
    for name in tree_files()
    if name.endswith((".py", ".toml")) and not name.startswith(("tests/", "benchmarks/"))
]


def test_every_file_has_tests_that_exist() -> None:
    for name in FILES:
        tests = [test for test in near(name) if "/" in test]
        assert tests, name
        assert all((ROOT / test).exists() for test in tests), name


@pytest.mark.parametrize(
    ("name", "tests"),
    [
        ("stemtheory/bounds/inversion.py", {"tests/bounds/test_inversion.py"}),
        ("stemtheory/experiment/design/where.py", {"tests/experiment/design/test_where.py"}),
        ("stemtheory/oracles/noise.py", {"tests/oracles/test_dials.py"}),
        ("stemtheory/schedules/by_name.py", {"tests/schedules/test_by_name.py"}),
        ("stemtheory/simulator/trace.py", {"tests/simulator/test_trace.py"}),
        ("stemtheory/_version.py", {"tests/whole/test_packaging.py"}),
        ("problems/cosine.py", {"tests/claims/contract/test_contract.py", "-k", "cosine"}),
        ("tests/whole/test_near.py", {"tests/whole/test_near.py"}),
    ],
)
def test_the_tests_near_a_file(name: str, tests: set[str]) -> None:
    assert tests <= set(near(name))


def test_what_covers_besides_speaks_of_what_there_is() -> None:
    assert [start for start in COVERS if not (ROOT / start).exists()] == []
    assert [t for tests in COVERS.values() for t in tests if not (ROOT / t).exists()] == []


def test_the_makefile_calls_it() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert re.search(
        r"^test-near: .*\n\t\$\(PY\) -m pytest .*tests\.near '\$\(FILE\)'", makefile, re.MULTILINE
    )
