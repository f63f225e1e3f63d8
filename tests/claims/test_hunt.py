"""The hunt rediscovers from a cold start what the ledger knows, and breaks no claim that holds.

Budgets are seconds of search and never asserted; each hunt ends as soon as it has what it seeks.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stemtheory.bounds import Premise
from stemtheory.claims.base import Case, Claim, Comparison
from stemtheory.claims.casefiles import Found, replay, worst
from stemtheory.claims.checking import subjects
from stemtheory.claims.hunting import BOX, decode, fitted, hunt, shrink
from stemtheory.claims.ledger import claims
from stemtheory.cli.app import main
from stemtheory.oracles.catalogue import load_problem
from stemtheory.runtime.errors import UsageError
from tests.helpers.sources import ROOT

SILENT = Claim(
    id="SILENT",
    label="x",
    kind="pathwise",
    statement="Less than nothing is at most nothing.",
    formula="-1 \\le 0",
    compare=lambda path: Comparison(np.array([-1.0]), np.array([0.0])),
)
UNMET = replace(SILENT, id="UNMET", premises=lambda case: (Premise("b = 0", case.b == 0),))
BUDGET = 120.0  # on two cores; either failure is found in a few seconds


@pytest.mark.slow
@pytest.mark.parametrize(("claim", "reading"), [("M3", "overwrite"), ("M2", "literal")])
@pytest.mark.parametrize("seed", [0, 1])
def test_a_cold_start_finds_what_a_synchronisation_breaks(
    claim: str, reading: str, seed: int, tmp_path: Path
) -> None:
    found = hunt(claim, reading=reading, budget=BUDGET, seed=seed, out=tmp_path)
    assert found["violated"]
    assert found["left"] > found["right"]
    assert found["where"] == "sync"
    again = replay(Path(found["case_file"]))
    assert again["violated"]
    assert again["reproduced"]


@pytest.mark.slow
@pytest.mark.parametrize(("claim", "reading"), [("M3-R", "literal"), ("M2b", "overwrite")])
def test_a_claim_that_holds_is_not_broken(claim: str, reading: str, tmp_path: Path) -> None:
    found = hunt(claim, reading=reading, budget=4.0, out=tmp_path)
    assert not found["violated"]
    assert 0.05 < found["best_ratio"] <= 1
    assert found["evaluations"] > 10
    assert replay(Path(found["case_file"]))["reproduced"]


@pytest.mark.slow
@pytest.mark.parametrize("claim", ["F3", "SP1-S", "A2p"])
def test_the_hunt_runs_a_claim_as_its_own_panel_does(claim: str) -> None:
    """FedAvg's claims on FedAvg, the special case with a = 1, and premises kept."""
    found = hunt(claim, budget=3.0)
    assert not found["violated"]
    assert found["evaluations"] > 10


def test_every_corner_of_the_box_is_a_case() -> None:
    low, high = np.array(BOX).T
    rng = np.random.default_rng(5)
    corners = [np.where(rng.random(len(BOX)) < 0.5, low, high) for _ in range(60)]
    inside = [low + (high - low) * rng.random(len(BOX)) for _ in range(60)]
    for point in (*corners, *inside):
        case = decode(point, "literal")
        assert case.T <= 200 or case.rounds == 1
        assert case.I >= 2
        assert case.replicates >= 1


@pytest.mark.parametrize(("pack", "names"), [("storm", ("ST5", "ST7")), ("scaffold", ("SF3",))])
def test_the_box_fits_itself_to_what_the_algorithm_fixes(pack: str, names: tuple[str, ...]) -> None:
    """STORM has one worker and I = 1; a step that is tied to b keeps the panel's own b."""
    known = claims([str(ROOT / f"packs/{pack}/stemtheory_{pack}")])
    rng = np.random.default_rng(5)
    low, high = np.array(BOX).T
    for claim in (known[name] for name in names):
        panel = subjects(claim, "literal", "quick")
        for point in low + (high - low) * rng.random((20, len(BOX))):
            case = fitted(claim, panel, point, "literal")
            assert case.algorithm == pack
            assert case.run.sizes.K == (1 if pack == "storm" else case.K)
            assert all(premise.ok for premise in claim.premises(case))


def test_a_hunt_that_can_say_nothing_says_why(capsys: pytest.CaptureFixture[str]) -> None:
    found = hunt(f"{__name__}:SILENT", budget=0.3)
    assert found["best_ratio"] is None
    assert found["idle"] == "the left side stays at or below 0, or what floats resolve"
    assert hunt(f"{__name__}:UNMET", budget=0.3)["idle"] == "the premise b = 0 is not met"
    assert main(["hunt", f"{__name__}:SILENT", "--budget", "0.3"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "says anything, mostly: the left side stays" in said
    assert "None" not in said


def test_a_bound_that_is_attained_is_not_broken_by_rounding() -> None:
    """Verify allows the floor that floats leave; so does the hunt, and a plain break is chosen."""

    def compare(path: Any, last: float = 3.0) -> Comparison:
        return Comparison(
            np.array([2e-8, last]), np.array([1e-8, 2.9]), floor=np.array([1.5e-8, 0])
        )

    case = Case("cosine", 2, 1, 1, 2, 1, replicates=1)
    broken = worst(Claim("X", "x", "pathwise", "s", "f", compare=compare), case)
    assert broken is not None
    assert (broken.violated, broken.left) == (True, 3.0)
    claim = Claim("X", "x", "pathwise", "s", "f", compare=lambda path: compare(path, 1.0))
    attained = worst(claim, case)
    assert attained is not None
    assert (attained.violated, attained.ratio) == (False, 1.0)


def test_shrinking_keeps_the_violation_and_makes_it_plainer() -> None:
    claim = claims()["M3"]
    (known, *_) = [case for case in claim.counterexamples if case.reading == "overwrite"]
    start = worst(claim, replace(known, rounds=2))
    assert start is not None
    assert start.violated
    end = shrink(claim, start)
    assert end.violated
    assert end.subject.rounds <= 2
    assert end.subject.K <= known.K
    assert end.ratio >= min(1.5, start.ratio)


def test_a_claim_true_on_average_is_no_find() -> None:
    """One lucky replicate exceeds the bound, the mean does not."""

    def compare(path: Any) -> Comparison:
        left = np.ones((path.T, path.case.replicates))
        left[:, 0] = 3.0
        return Comparison(left, np.full_like(left, 2.0))

    claim = Claim("X", "x", "pathwise", "s", "f", compare=compare)
    found = worst(claim, Case("cosine", 2, 1, 1, 2, 1, replicates=8))
    assert isinstance(found, Found)
    assert not found.violated
    assert found.left == 1.25


@pytest.mark.parametrize("name", ["U2", "M7", "D1"])
def test_claims_that_are_not_decided_path_by_path_are_refused(name: str) -> None:
    with pytest.raises(UsageError, match="can be hunted"):
        hunt(name)


def test_an_expected_failure_ends_with_0(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    argv = ["hunt", "M3", "--sync", "overwrite", "--budget", "120", "--out", str(tmp_path)]
    assert main(argv) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert "VIOLATED" in out
    assert "M3-overwrite.json" in out


def test_the_cosine_loss_is_exact_near_its_minimum() -> None:
    """1 - cos w x taken literally would lose the digits that a descent near 0 is made of."""
    problem = load_problem("cosine", 1, 1, sigma=0.0, zeta=0.0)
    x = 1e-6
    value = float(problem.value(np.array([x])))
    assert value == pytest.approx(x * x / 2, rel=1e-11)  # f = c x^2/2 - O(x^4), c = L = 1
