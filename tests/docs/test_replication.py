"""docs/replication.md is what its records say, and a lead is counted only where it is clear."""

import csv
import math
from pathlib import Path

import numpy as np
import pytest

from docs.build import replication
from docs.build.findings import fill
from stemtheory.images.over_seeds import SeedMean, over_seeds, percent, points
from tests.helpers.sources import ROOT

RECORDS, BENCHMARK = ROOT / "docs/replication", ROOT / "benchmarks/results/images.json"
TEMPLATE = (ROOT / "docs/replication.template.md").read_text(encoding="utf-8")


def test_the_page_is_filled_from_its_records() -> None:
    page = (ROOT / "docs/replication.md").read_text(encoding="utf-8")
    values = replication.values(RECORDS, BENCHMARK)
    assert page == fill(TEMPLATE, values), "run: python -m docs.build"
    assert "nan" not in "".join(values.values())


def test_another_record_is_another_page(tmp_path: Path) -> None:
    """One seed of one curve: the lead is no longer clear, and the page says so."""
    for path in RECORDS.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    path = tmp_path / "paper_figure2.csv"
    rows = list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))
    rows[0]["seed1"] = "0.7"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    before, after = (replication.values(folder, BENCHMARK) for folder in (RECORDS, tmp_path))
    first = [value["verdicts"].splitlines()[0] for value in (before, after)]
    assert "ahead | reproduced" in first[0]
    assert "ahead | not reproduced" in first[1]
    assert before["floors"] == after["floors"]


def test_statistics_over_seeds() -> None:
    assert over_seeds([1.0, 2.0, 3.0]) == pytest.approx((2.0, 1 / math.sqrt(3), 3))
    assert over_seeds([1.0, math.nan, 3.0]) == pytest.approx((2.0, 1.0, 2))
    assert over_seeds([math.nan]).seeds == 0
    assert percent(over_seeds([0.5, 0.6])) == "55.00 ± 5.00"
    assert percent(over_seeds([0.5])) == "50.00"
    assert percent(over_seeds([np.inf])) == "none"
    assert points(over_seeds([-0.01, -0.03])) == "-2.00 ± 1.00 points"
    assert points(over_seeds([])) == "not comparable"


def test_a_lead_is_clear_beyond_student_s_interval() -> None:
    """Three seeds: 4.303 standard errors; two: 12.71. One, or none, is never clear."""
    assert SeedMean(4.31, 1.0, 3).clear
    assert not SeedMean(4.30, 1.0, 3).clear
    assert not SeedMean(4.31, 1.0, 2).clear
    assert SeedMean(12.71, 1.0, 2).clear
    assert not SeedMean(-9.0, 1.0, 3).clear
    assert not over_seeds([0.3]).clear
    assert not over_seeds([math.nan, math.nan]).clear
