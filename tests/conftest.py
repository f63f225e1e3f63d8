"""Settings shared by all tests. Nothing is seeded here: each test names its own seeds."""

import compileall
import os
import sys

import pytest

from tests.helpers.sources import ROOT

# No test needs a display, whatever the environment of the person who runs them says; commands that
# a test starts inherit it.
os.environ["MPLBACKEND"] = "Agg"


def pytest_configure(config: pytest.Config) -> None:
    """Compile the package, which hundreds of processes that tests start would do again.

    PYTHONDONTWRITEBYTECODE keeps them from writing what they compiled, not from reading it, and so
    it stays: a module that a test writes twice in a second would look unchanged.
    """
    if not hasattr(config, "workerinput"):
        compileall.compile_dir(ROOT / "stemtheory", quiet=2)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> object:
    """Let test modules, with their assertions rewritten, be kept for the next process."""
    before, sys.dont_write_bytecode = sys.dont_write_bytecode, False
    try:
        return (yield)
    finally:
        sys.dont_write_bytecode = before
