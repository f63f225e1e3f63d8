"""What `import stemtheory` exposes: named, documented, with examples that run."""

from __future__ import annotations

import doctest
import inspect
import re
from types import ModuleType

import pytest

import stemtheory
from stemtheory.schedules.by_name import SCHEDULES

FUNCTIONS = [n for n in stemtheory.__all__ if inspect.isfunction(getattr(stemtheory, n))]
TYPES = ["Run", "Trace"]
EXPOSED = {
    *("simulate", "moments", "bounds", "load_problem", "load_algorithm", "verify", "explain"),
    *(
        "advise",
        "check_algorithm",
        "check_problem",
        "estimate_constants",
        "run_sweep",
        "Run",
        "Trace",
        "UsageError",
    ),
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


def test_help_names_every_schedule_and_its_options() -> None:
    text = inspect.getdoc(stemtheory.simulate) or ""
    part = text.split("schedule, schedule_options\n")[1].split("\nsync, sync_batch\n")[0]
    told = dict(re.findall(r"``(\w+)`` \(((?:[^()]|\([^()]*\))*)\)", part))
    assert list(told) == list(SCHEDULES)
    for name, families in SCHEDULES.items():
        options = {option for maker in families.values() for option in maker.options}
        named = set(re.split(r"\W+", told[name].partition(":")[0]))
        assert named == options if options else ":" not in told[name]


@pytest.mark.parametrize("name", FUNCTIONS + TYPES)
def test_examples_run(name: str) -> None:
    (found,) = doctest.DocTestFinder(recurse=False).find(getattr(stemtheory, name), name)
    assert found.examples
    runner = doctest.DocTestRunner(verbose=False)
    runner.run(found)
    assert runner.failures == 0, f"the example of {name} prints something else"
