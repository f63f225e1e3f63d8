"""Settings shared by all tests. Nothing is seeded here: each test names its own seeds."""

import compileall
import gc
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
    """Let test modules, with their assertions rewritten, be kept for the next process.

    What is there then stays to the end, and no collection of garbage looks through it again: one
    took 0.6 s, and engines ask for one whenever memory runs out.
    """
    before, sys.dont_write_bytecode = sys.dont_write_bytecode, False
    try:
        return (yield)
    finally:
        sys.dont_write_bytecode = before
        gc.collect()
        gc.freeze()
