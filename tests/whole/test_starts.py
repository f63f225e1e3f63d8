"""What a command loads before it answers: modules are counted, not seconds."""

import json
import subprocess
import sys

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
        (COMMAND.format("list claims"), 205),
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


def test_an_explanation_loads_no_special_functions() -> None:
    """Linear algebra it does: its BLAS is held to one thread before a claim is checked."""
    found = loaded(COMMAND.format("explain D1"))
    own = {name for name in found if name.startswith("stemtheory")}
    assert len(own) <= 235, sorted(own)
    assert not (HEAVY - {"scipy"}) & {name.split(".")[0] for name in found}
    assert not {"scipy.special", "scipy.optimize", "scipy.stats"} & found


def test_the_count_notices_what_is_loaded() -> None:
    found = loaded("from stemtheory import verify; import scipy.special;")
    assert "scipy" in found
    assert len([name for name in found if name.startswith("stemtheory")]) > 85
