"""A probe: a claim at settings of one's own, its sides over t, and a case file that replays."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from stemtheory.claims import one, probe, replay, save_probe, shipped
from stemtheory.claims.base import Case
from stemtheory.claims.casefiles import worst
from stemtheory.claims.probing import FIELDS, changed
from stemtheory.cli.app import main
from stemtheory.report import draw_probe
from stemtheory.runtime import UsageError
from tests.helpers.sources import ROOT

BROKEN = json.loads(shipped()["M3-literal"].read_text())
SIZES = ("problem", "K", "dim", "b", "I", "rounds", "x1", "replicates")
CHANGES = {**{name: BROKEN["case"][name] for name in SIZES}, **BROKEN["case"]["dials"]}


def test_a_known_counterexample_is_met_again_at_its_place() -> None:
    found = probe("M3", CHANGES)
    assert found.violated.any()
    assert (found.worst.t, found.worst.where) == (BROKEN["t"], BROKEN["where"])
    assert found.worst.left == pytest.approx(BROKEN["left"], rel=1e-9)
    first = found.first
    assert first is not None
    assert str(found.where[first]) == "sync"
    assert not found.violated[:first].any()


def test_the_sides_are_those_that_verify_compares() -> None:
    found = probe("M3", {"I": 3, "zeta": 2.0}, reading="average-first")
    again = worst(found.claim, found.case)
    assert again is not None
    i = int(np.argmax(found.left / found.right))
    assert (found.left[i], found.right[i]) == (again.left, again.right)
    assert found.case.reading == "average-first"
    assert (found.case.I, dict(found.case.dials)["zeta"]) == (3, 2.0)


def test_what_is_written_is_replayed(tmp_path: Path) -> None:
    file = save_probe(probe("M3", CHANGES), tmp_path)
    assert replay(file)["reproduced"]
    stored = json.loads(file.read_text())
    stored["case"]["K"] = 4  # edited by hand, it is computed anew, and is another instance
    file.write_text(json.dumps(stored))
    assert not replay(file)["reproduced"]
    edited = {name: value for name, value in stored.items() if name not in ("left", "right")}
    file.write_text(json.dumps(edited))
    again = replay(file)
    assert again["reproduced"]
    assert (again["stored"], again["left"]) == ({}, probe("M3", {**CHANGES, "K": 4}).worst.left)
    file.write_text(json.dumps({**edited, "left": 1.0}))
    with pytest.raises(UsageError, match="not a case file"):
        replay(file)


def test_an_expectation_is_probed_as_it_is_judged() -> None:
    found = probe("F1", {"I": 5}, options={"eta": 0.01})
    assert not found.violated.any()
    assert found.right == pytest.approx(0.5**2 / 2)


def test_every_field_of_a_case_may_be_changed() -> None:
    told = set(Case.__dataclass_fields__) - {"reading", "algorithm"}
    told -= {"dials", "options", "algorithm_options"}
    assert set(FIELDS) == told
    case = changed(Case("cosine", 2, 1, 1, 2, 3), {"K": "4", "sigma": 0.25}, {"eta": 0.1})
    assert (case.K, case.dials, case.options) == (4, (("sigma", 0.25),), (("eta", 0.1),))
    assert case.algorithm_options == ()


def test_options_of_the_algorithm_may_be_changed() -> None:
    pack = str(ROOT / "packs/scaffold/stemtheory_scaffold")
    found = probe("SF1", algorithm_options={"participation": 0.5}, packs=[pack])
    assert dict(found.case.algorithm_options)["participation"] == 0.5
    assert "option" in dict(found.case.algorithm_options)  # the panel's
    with pytest.raises(UsageError, match="speed"):
        probe("SF3", algorithm_options={"speed": 0.5}, packs=[pack])


def test_a_left_side_below_0_is_no_rounding() -> None:
    """ST7's potential falls on every run of its panel."""
    with pytest.raises(UsageError, match="its left side is below 0 everywhere"):
        probe("ST7", packs=[str(ROOT / "packs/storm/stemtheory_storm")])


@pytest.mark.parametrize(
    ("argv", "sentence"),
    [
        (["SCH4"], "only claims about one run can be probed"),
        (["RMK1"], "only claims about one run can be probed"),
        (["M3", "--set", "I=zz"], "I is 'zz'"),
        (["M3", "--set", "nope=3"], "no dial nope"),
        (["M3", "--set", "K=1"], "one worker cannot differ"),
        (["M3", "--set", "I"], "not of the form key=value"),
        (["M3", "--set", "I=2", "--set", "I=3"], "given twice"),
        (["M3", "--set", "algorithm.option=II"], "unknown for stem"),
        (["M3", "--set", "schedule.eta=1", "--eta", "2"], "given twice"),
        (["M3", "--sync", "nonsense"], "nonsense"),
        (["M3", "--schedule", "constant", "--eta", "0.01"], "needs a"),
        (["M33"], "did you mean M3?"),
    ],
)
def test_bad_input_is_one_sentence(
    argv: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["probe", *argv]) == 2
    err = capsys.readouterr().err
    assert sentence in err
    assert err.count("\n") == 1


def test_the_command_tells_the_first_failure_and_writes_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    pairs = [item for key, value in CHANGES.items() for item in ("--set", f"{key}={value}")]
    assert main(["probe", "lemma A.6", *pairs, "--plot", "p.svg", "--out", "found"]) == 1
    out = capsys.readouterr().out
    assert "first failure" in out
    assert "violated at" in out
    assert "written: found/M3-literal.json" in out
    assert "left &gt; right" in Path("p.svg").read_text()
    assert main(["probe", "M3", "--set", "I=3", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["first"] is None
    assert len(document["sides"]) == document["instances"]


def test_a_picture_has_the_ending_of_one(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"\.png, \.pdf or \.svg"):
        draw_probe(probe("M3"), tmp_path / "p.txt")


def test_a_premise_that_is_not_met_is_told() -> None:
    claim = one("F3")
    with pytest.raises(UsageError, match="premise is not met"):
        probe(claim.id, {"I": 64}, options={"eta": 3.0})
