"""Numbers in the docs that a test cannot measure again are those of the committed records."""

import importlib
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from stemtheory.experiment.fits.exponents import agreement
from tests.helpers.sources import ROOT

BENCHMARKS = ROOT / "benchmarks"


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Import a script of benchmarks/ by its name, and forget it."""
    monkeypatch.syspath_prepend(BENCHMARKS)
    monkeypatch.setattr(sys, "argv", ["script"])
    yield importlib.import_module
    for path in BENCHMARKS.glob("*.py"):
        sys.modules.pop(path.stem, None)


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


def test_verdicts_of_full_sweeps_follow_from_their_intervals() -> None:
    """Also after the rule has changed; what theory and tolerance exclude has a direction."""
    fits = [fit for sweep in record("full_sweeps")["sweeps"].values() for fit in sweep["fits"]]
    for fit in fits:
        found = agreement(fit["exponent"], tuple(fit["ci95"]), fit["theory"], fit["tolerance"])
        assert fit["verdict"] == (found or fit["verdict"])
        assert found or fit["verdict"] in ("faster", "slower")
    assert sum(fit["verdict"] == "within tolerance" for fit in fits) == 50


def test_the_tables_of_speed(script: Any) -> None:
    tables = script("tables")
    assert tables.fused_table(record("fused")) in page("performance.md")
    assert tables.peers_table(record("peers")) in page("performance.md")


def test_the_scripts_still_run(script: Any, tmp_path: Path) -> None:
    """What measures is measured on too little to say anything; that it runs is what counts."""
    sweep, common = script("sweep"), script("_common")
    assert all(rate > 0 for rate in sweep.writes_per_second(tmp_path, 100).values())
    assert sweep.resume_seconds(tmp_path, 100, repeats=1)["cells"] > 50
    run = common.engine("small", "phase", "float32", "array", "stem", T=8)
    found = common.interleaved({"array": (run, 8)}, 64 * 8 * 16, repeats=1)
    assert found["array"]["wall_ns"] > 0
    given = common.arguments("A script.\n", repeats=7)
    assert (given.repeats, given.out) == (7, None)


def test_a_guide_shows_the_sweep_that_is_tested() -> None:
    shown = page("sweeps.md").split("<!-- tests/helpers/example_sweep.toml -->\n```toml\n", 1)[1]
    assert shown.split("```", 1)[0] == (ROOT / "tests/helpers/example_sweep.toml").read_text(
        "utf-8"
    )
