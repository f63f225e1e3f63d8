"""A picture is the same whatever the surroundings say about backends and styles."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from stemtheory.cli.app import main
from tests.helpers.sources import ROOT

RUN = ("run", "cosine", "stem", "--T", "60", "--replicates", "2", "--dim", "2")
ADVISE = ("advise", "--epsilon", "0.1")


@pytest.fixture
def surroundings(tmp_path: Path) -> dict[str, str]:
    """Return those of a notebook's shell command, with a style that needs TeX."""
    (tmp_path / "matplotlibrc").write_text("text.usetex: True\nlines.linewidth: 9\n")
    backend = "module://no_such_notebook.backend_inline"
    return {**os.environ, "MPLBACKEND": backend, "MATPLOTLIBRC": str(tmp_path)}


@pytest.mark.parametrize("argv", [RUN, ADVISE], ids=["run", "advise"])
def test_a_plot_does_not_depend_on_the_surroundings(
    argv: tuple[str, ...], tmp_path: Path, surroundings: dict[str, str]
) -> None:
    here, there = tmp_path / "here.svg", tmp_path / "there.svg"
    assert main([*argv, "--plot", str(here)]) == 0
    command = [sys.executable, "-m", "stemtheory", *argv, "--plot", str(there)]
    done = subprocess.run(command, env=surroundings, cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert there.read_bytes() == here.read_bytes()


def test_a_valid_backend_is_kept(surroundings: dict[str, str]) -> None:
    code = (
        "import os; from stemtheory.report.drawing import load_matplotlib; load_matplotlib();"
        "import matplotlib; print(matplotlib.get_backend(), os.environ['MPLBACKEND'])"
    )
    for backend in ("svg", "no such backend"):
        env = surroundings | {"MPLBACKEND": backend}
        done = subprocess.run(
            [sys.executable, "-c", code], env=env, cwd=ROOT, capture_output=True, text=True
        )
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.endswith(f" {backend}\n")  # what a child inherits
        assert done.stdout.startswith("svg ") == (backend == "svg")
