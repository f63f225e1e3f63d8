"""The commands on claims: JSON keys, exit codes, tables, selection, and independence of jobs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from stemtheory.claims import together
from stemtheory.claims.base import Claim, Comparison, Mutant
from stemtheory.claims.finding import chosen
from stemtheory.claims.ledger import aliases, claims, select
from stemtheory.cli.app import main
from stemtheory.runtime import Verdict
from tests.helpers.example_claim import CLAIMS, CONTRACTION

ROW_KEYS = {
    *("id", "label", "section", "kind", "reading", "where", "verdict", "expected"),
    *("margin", "worst", "cells", "n"),
}

LONG = Claim(
    id="FALSE",
    label="none",
    section="textbook",
    kind="arithmetic",
    statement="Two is at most one.",
    formula=r"2 \leq 1",
    compare=lambda subject: Comparison(subject * 2.0, subject * 1.0),
    cases=lambda level: (1.0,),
)
TOOTHLESS = Claim(
    id="TOOTHLESS",
    label="none",
    section="textbook",
    kind="arithmetic",
    statement="One is at most two.",
    formula=r"1 \leq 2",
    compare=lambda subject: Comparison(subject * 1.0, subject * 2.0),
    cases=lambda level: (1.0,),
    mutants=(Mutant("no mutant at all", compare=lambda s: Comparison(s * 1.0, s * 2.0)),),
)


def ask(capsys: pytest.CaptureFixture[str], *argv: str, code: int = 0) -> Any:
    """Run a command with --json; nothing but the document may be printed."""
    assert main([*argv, "--json"]) == code
    out, err = capsys.readouterr()
    assert err == ""
    return json.loads(out, parse_constant=pytest.fail)


def tell(capsys: pytest.CaptureFixture[str], *argv: str, code: int = 0) -> str:
    """Run a command and return what it prints for people."""
    assert main(list(argv)) == code
    out, err = capsys.readouterr()
    assert err == ""
    return out


def test_the_document_of_verify(capsys: pytest.CaptureFixture[str]) -> None:
    found = ask(capsys, "verify", "U2*", "D1", "--quick", "--mutants")
    assert {row["id"] for row in found["claims"]} == {"U2", "U2-corrected", "D1"}
    assert all(row.keys() >= ROW_KEYS for row in found["claims"])
    assert found["summary"] == {"holds": 1, "violated": 1, "not-checkable": 1}
    assert found["unexpected"] == []
    assert found["mutants"] == [
        {
            "claim": "U2-corrected",
            "mutant": claims()["U2-corrected"].mutants[0].name,
            "rejected": True,
        }
    ]


def test_an_unexpected_verdict_ends_with_1(capsys: pytest.CaptureFixture[str]) -> None:
    found = ask(capsys, "verify", "tests.cli.test_verify_cli:LONG", "--quick", code=1)
    assert [row["id"] for row in found["unexpected"]] == ["FALSE"]
    text = tell(capsys, "verify", "tests.cli.test_verify_cli:LONG", "--quick", code=1)
    assert "VIOLATED" in text
    assert "UNEXPECTED" in text


def test_a_mutant_that_survives_ends_with_1(capsys: pytest.CaptureFixture[str]) -> None:
    name = "tests.cli.test_verify_cli:TOOTHLESS"
    assert main(["verify", name, "--quick", "--json"]) == 0
    capsys.readouterr()
    assert "SURVIVED" in tell(capsys, "verify", name, "--quick", "--mutants", code=1)


@pytest.mark.parametrize(
    "argv",
    [
        ("verify", "M99"),
        ("verify", "U2", "--quick", "--full"),
        ("verify", "U2", "--seed", "1.5"),
        ("verify", "U2", "--jobs", "0"),
        ("verify", "--replay", "nowhere.json"),
        ("verify", "nowhere.module:CLAIMS"),
        ("verify", "tests.helpers.sources:ROOT"),
        ("explain", "M99"),
        ("explain", "tests.helpers.example_claim:CLAIMS"),
        ("hunt", "U2"),
        ("hunt", "M3", "--sync", "nosuch"),
        ("hunt", "M3", "--budget", "0"),
        ("check", "nosuch"),
        ("check", "quadratic", "--set", "schedule.kappa=1"),
    ],
)
def test_bad_usage_ends_with_2(argv: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(list(argv)) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error: ")
    assert err.count("\n") == 1


def test_the_alias_selects_what_a_synchronisation_touches() -> None:
    ids = [claim.id for claim in select(["synchronisation"])]
    assert {"M1", "M2", "M3", "M5", "M7b", "M7", "M3-R", "R1", "R3", "Ra", "LOGFREE"} <= set(ids)
    assert all(any(claim.id for claim in select([part])) for part in aliases()["synchronisation"])


def test_a_users_claims_run_through_the_ledger(capsys: pytest.CaptureFixture[str]) -> None:
    """False alarms: two two-sided cells at the ledger's share of 1e-3, about 5e-8 each."""
    name = "tests.helpers.example_claim:CLAIMS"
    found = ask(capsys, "verify", name, "--quick", "--mutants")
    assert [row["verdict"] for row in found["claims"]] == ["holds"] * len(CLAIMS)
    assert [m["rejected"] for m in found["mutants"]] == [True] * 4
    text = tell(capsys, "explain", "tests.helpers.example_claim:CONTRACTION")
    assert CONTRACTION.statement in text
    assert "eta <= 1/L" in text


def test_the_document_does_not_depend_on_the_number_of_processes() -> None:
    names = ["useful-lemmas", "A2i", "M3"]
    one = together.begun(names, jobs=1)()
    two = together.begun(names, jobs=2)()
    assert one == two
    assert together.document(one, mutants=False)["claims"]


def test_progress_counts_every_claim() -> None:
    seen: list[str] = []
    together.verify(["U1", "U3"], jobs=1, progress=seen.append)
    assert [text.split()[0] for text in seen] == ["1/2", "2/2"]


def test_the_table_has_sections_and_reasons(capsys: pytest.CaptureFixture[str]) -> None:
    text = tell(capsys, "verify", "M1", "U2", "D1", "--quick")
    for word in ("stem-descent", "useful-lemmas", "as expected", "not-checkable"):
        assert word in text
    assert max(map(len, text.splitlines())) <= 100
    assert "none unexpected" in text


def test_synchronisation_prints_what_each_reading_breaks(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of four of its lines: the tour shows the command as it is (docs/test_readme.py)."""
    (pack,) = chosen()
    monkeypatch.setitem(pack.aliases, "synchronisation", ("M1", "M3", "M7", "M3-R"))
    text = tell(capsys, "verify", "synchronisation", "--quick")
    lines = text.splitlines()
    heads = [line for line in lines if line.split()[:1] == ["line"]]
    assert [line.split()[-4:] for line in heads[:1]] == [
        ["literal", "average-first", "overwrite", "average-both"]
    ]
    printed = {line.split()[0]: line for line in lines if line.startswith((" M", " R"))}
    assert printed["M1"].count("FAILS") == 1
    assert printed["M3"].count("FAILS") == 3
    assert printed["M7"].count("FAILS") == 2
    assert printed["M7"].count("holds") == 2
    assert "holds" in printed["M3-R"]


def test_explain(capsys: pytest.CaptureFixture[str]) -> None:
    found = ask(capsys, "explain", "M3")
    assert found["label"] == claims()["M3"].label
    assert {row["verdict"] for row in found["rows"]} == {"holds", "violated"}
    assert {case["name"] for case in found["counterexamples"]} >= {"M3-overwrite", "M3-literal"}
    text = tell(capsys, "explain", "M3")
    assert "stem-contraction" in text
    assert "checked in stemtheory/claims/paper/stem/contraction.py" in text
    assert "repair:" in text
    assert "stemtheory verify --replay M3-overwrite" in " ".join(text.split())


def test_replay(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    found = ask(capsys, "verify", "--replay", "M3-overwrite")["replays"]
    assert found[0]["violated"]
    assert found[0]["reproduced"]
    assert "same to 1e-9" in tell(capsys, "verify", "--replay", "M3-overwrite")
    from stemtheory.claims.casefiles import shipped

    stored = json.loads(shipped()["M3-overwrite"].read_text())
    stored["right"] *= 2
    (tmp_path / "other.json").write_text(json.dumps(stored))
    text = tell(capsys, "verify", "--replay", str(tmp_path / "other.json"), code=1)
    assert "DIFFERENT" in text


def test_list_claims(capsys: pytest.CaptureFixture[str]) -> None:
    rows = ask(capsys, "list", "claims")["claims"]
    assert [row["name"] for row in rows] == list(claims())
    assert all(row["summary"] for row in rows)


def test_check(capsys: pytest.CaptureFixture[str]) -> None:
    found = ask(capsys, "check", "quadratic", "--quick", "--dim", "2", "--K", "2")
    assert found["passed"]
    assert {row["constant"] for row in found["rows"]} >= {"L", "sigma", "zeta", "f_star"}
    assert all(row["ok"] for row in found["rows"])
    assert "the contract is kept" in tell(capsys, "check", "quadratic", "--quick", "--dim", "2")


def test_expected_verdicts_only() -> None:
    """An undecided row is unexpected even where the ledger names no other verdict."""
    from stemtheory.claims.checking import surprising

    assert surprising({"verdict": Verdict.UNDECIDED, "expected": Verdict.UNDECIDED})
    assert not surprising({"verdict": "violated", "expected": "violated"})
