"""Every failure that the ledger expects has a case file, and running it again gives both sides."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from stemtheory.claims.base import Case
from stemtheory.claims.casefiles import expected_failures, locate, replay, shipped, worst, write
from stemtheory.claims.ledger import claims
from stemtheory.runtime.errors import UsageError

EXPECTED = {name: (claim, reading) for name, claim, reading in expected_failures()}


def test_every_expected_failure_has_its_case_and_no_other() -> None:
    assert set(shipped()) == set(EXPECTED)


@pytest.mark.parametrize("name", EXPECTED)
def test_replay(name: str) -> None:
    found = replay(shipped()[name])
    claim, reading = EXPECTED[name]
    assert found["claim"] == claim.id
    assert found["reading"] in (reading, "-")
    assert found["violated"]
    assert found["reproduced"], (found["stored"], found["left"], found["right"])


def test_a_changed_side_is_noticed(tmp_path: Path) -> None:
    stored = json.loads(shipped()["M3-overwrite"].read_text())
    stored["left"] *= 1 + 1e-6
    file = tmp_path / "changed.json"
    file.write_text(json.dumps(stored))
    assert not replay(file)["reproduced"]


def test_a_case_of_a_claim_that_holds_is_not_violated(tmp_path: Path) -> None:
    case = Case.from_json(json.loads(shipped()["M3-overwrite"].read_text())["case"])
    claim = claims()["M2b"]
    found = worst(claim, case)
    assert found is not None
    again = replay(write(found, "M2b", tmp_path / "M2b.json"))
    assert again["reproduced"]
    assert not again["violated"]


def test_locate(tmp_path: Path) -> None:
    assert locate("all") == list(shipped().values())
    assert locate("M3-overwrite") == [shipped()["M3-overwrite"]]
    assert locate(str(shipped()["M3-overwrite"].parent)) == locate("all")
    with pytest.raises(UsageError, match="no case file"):
        locate("M99-overwrite")


@pytest.mark.parametrize("text", ["", "x", "[]", "{}", '{"claim": "M3"}', '{"claim": "M99"}'])
def test_what_is_no_case_file_is_refused(text: str, tmp_path: Path) -> None:
    file = tmp_path / "bad.json"
    file.write_text(text)
    with pytest.raises(UsageError, match="not a case file"):
        replay(file)
