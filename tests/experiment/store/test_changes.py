"""A user's code or data that changed between two runs of a sweep: other cells, and a line."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from stemtheory.experiment.design.cells import Cell
from stemtheory.experiment.store.changes import changes
from stemtheory.simulator import Run
from tests.helpers.sources import ROOT

SWEEP = """
[settings]
problem = "loss_mine:ENTRY"
K = 2
dim = 2
T = 16
replicates = 2
[algorithms.own]
algorithm = "mine:ENTRY"
[algorithms.fedavg]
[grids.main]
seed = [0, 1]
"""


def ask(folder: Path, *more: str) -> tuple[dict[str, Any], str]:
    """Return the document and what stderr says of a sweep, run by a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "stemtheory", "sweep", "own.toml", "--json", *more],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), done.stderr


@pytest.mark.slow
def test_cells_of_an_edited_module_run_again_and_a_line_says_so(tmp_path: Path) -> None:
    algorithm, loss = tmp_path / "mine.py", tmp_path / "loss_mine.py"
    shutil.copy(ROOT / "tests/helpers/example_algorithm.py", algorithm)
    shutil.copy(ROOT / "tests/helpers/example_loss.py", loss)
    (tmp_path / "own.toml").write_text(SWEEP, encoding="utf-8")
    found, said = ask(tmp_path, "--jobs", "2")
    assert (found["cells_ran"], "changed" in said) == (4, False)
    assert ask(tmp_path)[0]["cells_ran"] == 0

    algorithm.write_text(algorithm.read_text().replace("* change", "* change * 0.5"))
    said = ask(tmp_path, "--dry-run")[1]
    line = "the code of mine (or of what it imports) changed since 2 cells of this store were run:"
    assert said.count(line) == 1
    found, said = ask(tmp_path)
    assert found["cells_ran"] == 2
    assert said.count(f"{line} kept, and run again as other cells\n") == 1
    assert "loss_mine" not in said

    loss.write_text(loss.read_text() + "\n# another\n")
    found, said = ask(tmp_path)
    assert found["cells_ran"] == 4
    # two of the algorithm as it is now, two as it was, and two of FedAvg
    assert "the code of loss_mine (or of what it imports) changed since 6 cells" in said
    found, said = ask(tmp_path)
    assert (found["cells_ran"], "changed" in said) == (0, False)


def cell(made_of: str = "", algorithm: str = "", name: str = "mine:LOSS", seed: int = 0) -> Cell:
    run = Run.of("cosine", "stem", K=2, dim=2, T=8, seed=seed)
    problem = replace(run.problem, name=name, made_of=made_of)
    chosen = run.algorithm
    if algorithm:
        chosen = replace(chosen, name="own:ENTRY", made_of=algorithm)
    return Cell(replace(run, problem=problem, algorithm=chosen))


CODE, DATA, OTHER = "0" * 16, "1" * 16, "2" * 16
CASES: dict[str, tuple[Cell, Cell, list[str]]] = {
    "the same": (cell(CODE + DATA), cell(CODE + DATA), []),
    "code": (cell(CODE + DATA), cell(OTHER + DATA), ["the code of mine"]),
    "data": (cell(CODE + DATA), cell(CODE + OTHER), ["the data of mine:LOSS"]),
    "both": (
        cell(CODE + DATA),
        cell(OTHER + OTHER),
        ["the code of mine", "the data of mine:LOSS"],
    ),
    "data of the catalogue": (
        cell(DATA, name="cnn"),
        cell(OTHER, name="cnn"),
        ["the data of cnn"],
    ),
    "an algorithm": (
        cell("", CODE, name="cosine"),
        cell("", OTHER, name="cosine"),
        ["the code of own"],
    ),
    "another seed": (cell(CODE + DATA), cell(OTHER + DATA, seed=1), []),
}


@pytest.mark.parametrize("case", CASES)
def test_what_changed_is_named(case: str) -> None:
    before, now, wanted = CASES[case]
    stored = json.loads(json.dumps(before.settings()))
    found = changes([now], [stored])
    assert [line.split(" (or")[0].split(" changed")[0] for line in found] == wanted
    assert all("changed since 1 cell of this store was run: kept" in line for line in found)
