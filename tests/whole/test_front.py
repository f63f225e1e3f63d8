"""What `import stemtheory` exposes: named, documented, with examples that run."""

from __future__ import annotations

import doctest
import inspect
from types import ModuleType

import pytest

import stemtheory

FUNCTIONS = [n for n in stemtheory.__all__ if inspect.isfunction(getattr(stemtheory, n))]
TYPES = ["Run", "Trace"]
EXPOSED = {
    *("simulate", "moments", "bounds", "load_problem", "load_algorithm", "verify", "explain"),
    *("advise", "check_algorithm", "check_problem", "run_sweep", "Run", "Trace", "UsageError"),
}


def test_the_front_is_whole() -> None:
    assert set(stemtheory.__all__) == EXPOSED | {"SweepResult", "__version__"}
    assert isinstance(stemtheory.moments, ModuleType)
    assert isinstance(stemtheory.bounds, ModuleType)
    line = stemtheory.load_problem("quadratic", K=2, dim=1, noise="additive", heterogeneity="tilt")
    assert stemtheory.moments.moments(line, T=10**6).mean_grad_sq > 0


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_says_what_it_takes_and_gives(name: str) -> None:
    text = inspect.getdoc(getattr(stemtheory, name)) or ""
    for section in ("Parameters", "Returns", "Raises", "Examples"):
        assert f"{section}\n{'-' * len(section)}\n" in text, f"{name} has no section {section}"


@pytest.mark.parametrize("name", FUNCTIONS + TYPES)
def test_examples_run(name: str) -> None:
    (found,) = doctest.DocTestFinder(recurse=False).find(getattr(stemtheory, name), name)
    assert found.examples
    runner = doctest.DocTestRunner(verbose=False)
    runner.run(found)
    assert runner.failures == 0, f"the example of {name} prints something else"
