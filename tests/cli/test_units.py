"""Sizes, rates and times as people write them."""

from __future__ import annotations

import json
import math

import pytest

from stemtheory.bounds.advise import advise
from stemtheory.cli import units
from stemtheory.cli.app import main
from stemtheory.runtime import UsageError


@pytest.mark.parametrize(
    ("read", "text", "value"),
    [
        (units.size, "2GB", 2e9),
        (units.size, " 1.5 MiB ", 1.5 * 1024**2),
        (units.size, "1e3kB", 1e6),
        (units.rate, "100Mbit", 12.5e6),
        (units.rate, "100Mbit/s", 12.5e6),
        (units.rate, "12.5MB/s", 12.5e6),
        (units.seconds, "20ms", 0.02),
        (units.seconds, "1.5h", 5400.0),
    ],
)
def test_what_people_write(read: object, text: str, value: float) -> None:
    assert callable(read)
    assert read("x", text) == pytest.approx(value, rel=1e-15)


@pytest.mark.parametrize(
    "text", ["2", "GB", "-1GB", "0GB", "1..2GB", "2gb", "1e999GB", "", "2 GB x"]
)
def test_what_is_no_size_gets_a_sentence(text: str) -> None:
    with pytest.raises(UsageError, match="write 2GB"):
        units.size("model-size", text)


def test_units_are_chosen_by_the_value() -> None:
    assert units.in_bytes(4.6e13) == "46 TB"
    assert units.in_bytes(0.5) == "0.5 B"
    assert units.in_seconds(3.684e6) == "42.6 d"
    assert units.in_seconds(0.02) == "20 ms"
    assert units.in_seconds(1e-12) == "0.001 ns"


def test_advice_is_priced_by_the_link(capsys: pytest.CaptureFixture[str]) -> None:
    """2 MB at 16 Mbit/s are a second a vector: the same advice as with the costs by hand."""
    argv = ["advise", "--epsilon", "1e-2", "--model-size", "2MB", "--bandwidth", "16Mbit"]
    assert main([*argv, "--sample-time", "500ms", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    by_hand = advise("1e-2", K=4, sample_cost=0.5, round_cost=1.0)
    assert found["choice"] == json.loads(json.dumps(by_hand["choice"]))
    assert found["link"] == {"vector_bytes": 2e6, "vector_time": 1.0, "sample_time": 0.5}
    cost = found["choice"]["samples"] * 0.5 + found["choice"]["vectors"] * 1.0
    assert math.isclose(found["choice"]["cost"], cost)
    assert main([*argv, "--sample-time", "500ms"]) == 0
    out = capsys.readouterr().out
    assert f"takes {units.in_seconds(cost)} at the most" in out
    assert f"sends {units.in_bytes(found['choice']['vectors'] * 2e6)}" in out
