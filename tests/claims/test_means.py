"""Conditional claims that fail on a replicate are judged, and their factors given, in expectation.

The numbers of M3 are those of 200 replicates by an independent program: 9.2e3, 4.49 and 16.05.
"""

from __future__ import annotations

import numpy as np
import pytest

from stemtheory.claims.base import Case, Claim, Comparison, Finding
from stemtheory.claims.casefiles import replay, shipped
from stemtheory.claims.checking import LedgerRow, check
from stemtheory.claims.judge import judge
from stemtheory.claims.ledger import claims
from stemtheory.claims.means import _interval, in_expectation
from stemtheory.runtime import Verdict


@pytest.fixture(scope="module")
def broken() -> dict[str, LedgerRow]:
    """The rows of M3 at synchronisations, by reading."""
    return {row.reading: row for row in check(claims()["M3"]) if row.where == "sync"}


@pytest.mark.parametrize(
    ("reading", "factor", "tolerance"),
    [("literal", 9.2e3, 0.2), ("average-first", 4.49, 0.01), ("overwrite", 16.05, 1e-3)],
)
def test_the_factors_are_those_of_expectations(
    broken: dict[str, LedgerRow], reading: str, factor: float, tolerance: float
) -> None:
    margin = broken[reading].margin
    assert margin is not None
    assert 1 / margin == pytest.approx(factor, rel=tolerance)
    stored = replay(shipped()[f"M3-{reading}"])
    assert stored["left"] / stored["right"] == pytest.approx(1 / margin, rel=1e-9)


def test_fewer_cases_fail_in_expectation_than_given_the_past(
    broken: dict[str, LedgerRow],
) -> None:
    cases = broken["overwrite"].conditional
    failing = [case for case in cases if case["verdict"] == Verdict.VIOLATED]
    assert (len(cases), len(failing)) == (10, 5)
    worst = min(case["conditional_margin"] for case in cases)
    assert 1 / worst == pytest.approx(66.8, rel=1e-2)
    assert all(case["ratio_low"] > 1 for case in failing)
    assert {case["verdict"] for case in cases} == {"violated", "undecided", "holds"}


def judged(left: np.ndarray, right: np.ndarray) -> Finding:
    """Return the cell of given sides [T, R] of a run whose replicates are as many."""
    sides = Comparison(left, right, t=np.arange(len(left))[:, None])
    claim = Claim("X", "eq: Step-Size", "conditional", "s", "f", compare=lambda subject: sides)
    cell = judge(claim, sides, "literal")[0]
    assert cell.verdict == Verdict.VIOLATED
    return in_expectation(claim, Case("quadratic", 1, 1, 1, 1, 1), cell)


def test_one_unlucky_replicate_proves_nothing() -> None:
    rng = np.random.default_rng(1)
    right = rng.exponential(1.0, size=(3, 200))
    left = right * rng.choice([0.1, 1.5], p=[0.9, 0.1], size=right.shape)
    assert judged(left, right).verdict == Verdict.HOLDS
    assert judged(1.2 * right, right).verdict == Verdict.VIOLATED
    assert judged(1.2 * right, right).margin == pytest.approx(1 / 1.2)
    noisy = right * rng.lognormal(-2.0, 2.0, size=right.shape)
    assert judged(noisy, right).verdict == Verdict.UNDECIDED
    assert judged(np.full((3, 200), np.nan), right).verdict == Verdict.VIOLATED


def test_the_interval_of_a_ratio_covers_it() -> None:
    """2000 draws of 200 pairs with E left / E right = 2: 95 % +- 0.5, outside +- 3 at 1e-9."""
    rng = np.random.default_rng(2)
    covered = 0
    for _ in range(2000):
        right = rng.exponential(1.0, size=(1, 200))
        left = right + rng.exponential(1.0, size=(1, 200))
        low, high = _interval(Comparison(left, right, t=np.zeros((1, 1))), 0)
        covered += low <= 2 <= high
    assert abs(covered / 2000 - 0.95) < 0.03
