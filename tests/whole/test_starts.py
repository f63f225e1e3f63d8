"""What a command loads before it answers: modules are counted, not seconds."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = {"scipy", "pandas", "matplotlib", "numba", "cvxpy", "sympy"}
SHOW = "import json, sys; print('\\n' + json.dumps(sorted(sys.modules)))"
COMMAND = "from stemtheory.cli import main; main({!r}.split());"


def loaded(code: str) -> set[str]:
    """Return the modules of a fresh process after some code."""
    done = subprocess.run([sys.executable, "-c", code + SHOW], capture_output=True, check=True)
    return set(json.loads(done.stdout.decode().splitlines()[-1]))


@pytest.mark.parametrize(
    ("code", "most"),
    [
        ("import stemtheory;", 30),
        (COMMAND.format("--help"), 90),
        (COMMAND.format("bound stem-theorem"), 100),
        (COMMAND.format("list bounds"), 115),
        (COMMAND.format("list problems"), 135),
        (COMMAND.format("list claims"), 188),
    ],
)
def test_a_start_loads_little(code: str, most: int) -> None:
    found = loaded(code)
    own = {name for name in found if name.startswith("stemtheory")}
    assert len(own) <= most, sorted(own)
    assert not HEAVY & {name.split(".")[0] for name in found}


@pytest.mark.parametrize("asked", ["simulate(problem, T=12)", "Run.of('cosine', T=12)"])
def test_bounds_come_with_whoever_is_asked_for_them(asked: str) -> None:
    code = "from stemtheory import Run, load_problem, simulate; problem = load_problem('cosine');"
    assert "stemtheory.bounds.verdicts" in loaded(f"{code} assert {asked}.bounds();")


def test_an_explanation_loads_no_scipy() -> None:
    """Not even to hold its BLAS to one thread: one that comes later begins with one."""
    found = loaded(COMMAND.format("explain D1"))
    own = {name for name in found if name.startswith("stemtheory")}
    assert len(own) <= 224, sorted(own)
    assert not HEAVY & {name.split(".")[0] for name in found}


def test_an_explanation_that_was_kept_loads_little(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STEMTHEORY_CACHE", str(tmp_path))
    asked = "import sys; sys.argv[1:] = ['explain', 'M3']; from stemtheory.cli import main; main();"
    judged, found = loaded(asked), loaded(asked)
    own = {name for name in found if name.startswith("stemtheory")}
    assert len(own) <= 222, sorted(own)
    assert "scipy" in judged
    assert not HEAVY & {name.split(".")[0] for name in found}


def test_the_count_notices_what_is_loaded() -> None:
    found = loaded("from stemtheory import verify; import scipy.special;")
    assert "scipy" in found
    assert len([name for name in found if name.startswith("stemtheory")]) > 85
