"""The pytest plugin: ``pytest --stemtheory`` makes every claim of a pack a test.

It stands beside the package because pytest imports it at every start: until the option is given,
nothing of the package is imported.
"""

from __future__ import annotations

import pytest

PACK = "--stemtheory-pack"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the two options."""
    group = parser.getgroup("stemtheory", "claims of packs as tests")
    group.addoption(
        "--stemtheory",
        action="store_true",
        help="also test every claim of the packs: of all that are installed, or of those named",
    )
    group.addoption(
        PACK,
        action="append",
        default=[],
        metavar="NAME|FOLDER",
        help="with --stemtheory: of this pack alone; may be repeated",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register what collects claims, where it was asked for."""
    if config.getoption("--stemtheory"):
        from stemtheory.cli import pytest_items

        config.pluginmanager.register(pytest_items, "stemtheory-items")
    elif config.getoption(PACK):
        raise pytest.UsageError(f"{PACK} was given without --stemtheory: add it, or leave it out.")
