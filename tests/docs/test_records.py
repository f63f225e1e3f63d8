"""Numbers in the docs that a test cannot measure again are those of the committed records."""

import importlib
import json
import sys
from typing import Any

import pytest

from tests.helpers.sources import ROOT

BENCHMARKS = ROOT / "benchmarks"


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Import a script of benchmarks/ by its name, and forget it."""
    monkeypatch.syspath_prepend(BENCHMARKS)
    known = set(sys.modules)
    yield importlib.import_module
    for name in set(sys.modules) - known:
        if not name.startswith("stemtheory"):
            del sys.modules[name]


def record(name: str) -> Any:
    return json.loads((BENCHMARKS / "results" / f"{name}.json").read_text(encoding="utf-8"))


def page(name: str) -> str:
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


def test_the_exponents_of_full_sweeps(script: Any) -> None:
    full = script("full_sweeps")
    found = record("full_sweeps")
    assert full.table(found) in page("sweeps.md")
    for fit in found["sweeps"]["speedup"]["fits"]:
        fit["exponent"] += 0.01
    assert full.table(found) not in page("sweeps.md")


def test_the_tables_of_speed(script: Any) -> None:
    tables = script("tables")
    assert tables.fused_table(record("fused")) in page("performance.md")
    assert tables.peers_table(record("peers")) in page("performance.md")


def test_a_guide_shows_the_sweep_that_is_tested() -> None:
    shown = page("sweeps.md").split("<!-- tests/helpers/example_sweep.toml -->\n```toml\n", 1)[1]
    assert shown.split("```", 1)[0] == (ROOT / "tests/helpers/example_sweep.toml").read_text(
        "utf-8"
    )
