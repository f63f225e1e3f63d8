"""A stored number knows the code and the data that made it."""

from __future__ import annotations

import importlib.metadata
import json
import platform
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stemtheory.experiment.design.cells import Cell
from stemtheory.experiment.execute.work import run_cell, run_cells
from stemtheory.runtime import code_of, data_of, fingerprints, own_source
from stemtheory.simulator import Run
from tests.helpers.sources import ROOT

LOSS = """
import numpy as np
from helper_of_mine import SCALE
from stemtheory.oracles import ProblemMaker
from stemtheory.problems import quadratic
DATA = np.loadtxt("data.txt")

def make(K, dim, **dials):
    problem = quadratic.ENTRY(K, dim, **dials)
    object.__setattr__(problem, "data", DATA)
    return problem

MINE = ProblemMaker(make)
"""
CODE = """
import json
from stemtheory.experiment.design.cells import Cell
from stemtheory.simulator import Run
run = Run.of("loss_of_mine:MINE", K=2, dim=2, T=8, b=1, I=2, replicates=2, backend="numpy",
             engine="array")
print(json.dumps([Cell(run).id, run.to_json()]))
"""


def asked(folder: Path) -> tuple[str, dict[str, Any]]:
    """Return the id of a cell and its run, as a process in ``folder`` makes them."""
    done = subprocess.run(
        [sys.executable, "-c", CODE],
        cwd=folder,
        env={"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "PATH": ""},
        capture_output=True,
        text=True,
        check=True,
    )
    id_, plain = json.loads(done.stdout)
    return id_, plain


def written(folder: Path) -> Path:
    folder.mkdir()
    (folder / "loss_of_mine.py").write_text(LOSS, encoding="utf-8")
    (folder / "helper_of_mine.py").write_text("SCALE = 1.0\n", encoding="utf-8")
    (folder / "data.txt").write_text("1 2 3\n", encoding="utf-8")
    return folder


@pytest.mark.slow
def test_what_a_number_is_made_of_is_part_of_its_identity(tmp_path: Path) -> None:
    """The module, what it imports, and the data that it read; not where they lie."""
    here = written(tmp_path / "a")
    first, plain = asked(here)
    assert plain["problem"]["made_of"]
    assert asked(written(tmp_path / "b"))[0] == first
    found = {first}
    for name, text in (
        ("loss_of_mine.py", LOSS + "# changed\n"),
        ("helper_of_mine.py", "SCALE = 2.0\n"),
        ("data.txt", "1 2 4\n"),
    ):
        (here / name).write_text(text, encoding="utf-8")
        found.add(asked(here)[0])
    assert len(found) == 4


def test_built_in_code_leaves_no_mark() -> None:
    run = Run.of("cosine", "stem", K=2, dim=2, T=8)
    assert run.problem.made_of == run.algorithm.made_of == ""
    assert "made_of" not in run.text
    assert code_of("stemtheory.simulator.run") == code_of("json") == code_of("numpy")


def test_arrays_count_wherever_they_are_held() -> None:
    one = {"a": [np.arange(3)], "b": (1, "x")}
    assert data_of(one) == data_of({"b": (2, "y"), "a": [np.arange(3)]})
    assert data_of(one) != data_of({"a": [np.arange(4)]})
    assert data_of(one) != data_of({"a": [np.arange(3.0)]})
    assert data_of(one) != data_of({})


def faulty(made_of: str | None = None) -> Cell:
    run = Run.of(
        "tests.experiment.faulty:ENTRY", K=2, dim=2, T=8, b=1, I=2, replicates=2, backend="numpy",
        engine="array",
    )  # fmt: skip
    return Cell(replace(run, problem=replace(run.problem, made_of=made_of or run.problem.made_of)))


def test_a_worker_with_other_code_computes_nothing() -> None:
    assert run_cell(faulty()).status == "ok"
    found = run_cell(faulty("0123456789abcdef"))
    assert found.status == "failed"
    assert "another code or other data" in found.reason


def test_a_worker_of_another_version_computes_nothing() -> None:
    (found,) = run_cells([faulty()], "0.0.1")
    assert found.status == "failed"
    assert "use one version" in found.reason


def test_a_catalogue_of_the_checkout_is_no_users_own() -> None:
    import stemtheory.problems.cosine  # noqa: F401 - a link to a folder beside the package

    assert own_source("stemtheory.problems.cosine") is None
    assert own_source("stemtheory.runtime.fingerprints") is None


@pytest.fixture
def sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return a folder that stands for the package, with one module and a linked catalogue."""
    package, catalogue = tmp_path / "package", tmp_path / "problems"
    for place in (package, catalogue):
        place.mkdir()
        (place / "module.py").write_text("L = 1\n", encoding="utf-8")
    (package / "problems").symlink_to(catalogue)
    monkeypatch.setattr(fingerprints, "OWN", package)
    fingerprints.package_fingerprint.cache_clear()
    yield package
    fingerprints.package_fingerprint.cache_clear()


@pytest.mark.parametrize("file", ["module.py", "problems/module.py", "case.json"])
def test_another_source_is_another_key(sources: Path, file: str) -> None:
    before = fingerprints.package_fingerprint()
    fingerprints.package_fingerprint.cache_clear()
    assert fingerprints.package_fingerprint() == before
    (sources / file).write_text("L = 2\n", encoding="utf-8")
    fingerprints.package_fingerprint.cache_clear()
    assert fingerprints.package_fingerprint() != before


@pytest.mark.parametrize("beneath", ["version", "machine"])
def test_other_things_beneath_are_another_key(
    sources: Path, beneath: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = fingerprints.package_fingerprint()
    if beneath == "version":
        monkeypatch.setattr(importlib.metadata, "version", lambda package: "0")
    else:
        monkeypatch.setattr(platform, "node", lambda: "elsewhere")
    fingerprints.package_fingerprint.cache_clear()
    assert fingerprints.package_fingerprint() != before
