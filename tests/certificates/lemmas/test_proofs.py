"""What has a proof, how it is shown, and what is said where there is none."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from stemtheory import UsageError
from stemtheory.certificates import provable, prove
from stemtheory.certificates.lemmas import proofs
from stemtheory.claims import claims
from stemtheory.claims.language import Line
from stemtheory.cli.app import main

for package in ("sympy", "z3", "flint"):
    pytest.importorskip(package)


def test_every_proof_is_of_a_claim_and_in_the_ledgers_order() -> None:
    known = list(provable())
    assert known == [name for name in claims() if name in known]
    assert set(known) == set(proofs.lemmas()) | set(proofs.facts())
    assert not set(proofs.lemmas()) & set(proofs.facts())


def test_nothing_false_everywhere_is_proved() -> None:
    """Of a line that some reading breaks, what is proved is said, or it is not that line's step."""
    for name in provable():
        if claims()[name].expected:
            assert proofs.says(name), name


def test_an_identity_is_shown_whole() -> None:
    found = prove("M3-R")
    assert (found["verdict"], found["method"], found["residual"]) == ("proved", "identity", "0")
    (proof,) = found["proofs"]
    names = [given["name"] for given in proof["assumptions"]]
    assert names == ["cont", "independent", "vari", "independent", "orthogonal"]
    assert len(proof["squares"]) == 1
    assert proof["at"] == ["every other step", "the jump"]
    assert all(mutant["left"] for mutant in found["mutants"])
    assert any("M3a" in glue for glue in found["glue"])


def test_a_line_between_numbers_is_shown_whole() -> None:
    found = prove("SCH4")
    assert (found["verdict"], found["questions"]) == ("proved", 1)
    assert [premise["name"] for premise in found["premises"]] == ["kbar", "c"]
    (mutant,) = found["mutants"]
    assert mutant["name"] == "128 -> 64"
    assert "c = " in mutant["left"]


def test_a_claim_without_a_proof_says_which_have_one() -> None:
    with pytest.raises(
        UsageError, match=r"M7 has no proof for all .*: take one of SCH0, .*, LOGFREE, .*, RS17\."
    ):
        prove("M7")


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "z3", None)
    with pytest.raises(UsageError, match=r"needs z3, .* pip install 'stemtheory\[prove\]'"):
        prove("SCH4")


def test_certify_prints_the_proof(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["certify", "M3-R"]) == 0
    text = capsys.readouterr().out
    for part in (
        "M3-R: proved for all parameters by identity",
        "times cont",
        "with D^(k) = ",
        "residual 0",
        "mutant 2 -> 1: leaves ",
        "read by people: ",
    ):
        assert part in text


def test_certify_refuses_what_a_claim_has_not(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["certify", "M3-R", "--K", "4"]) == 2
    assert "--K was given, but a claim is proved for all" in capsys.readouterr().err
    assert main(["certify", "M7"]) == 2


def test_a_proof_that_fails_is_no_success(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = Line((claims()["SCH3"].line or Line(())).steps)

    def another(claim: Any) -> Line:
        return wrong

    monkeypatch.setattr(proofs, "line_of", another)
    assert main(["certify", "SCH4"]) == 1
    assert "is false at" in capsys.readouterr().err


def test_a_mutant_that_is_not_noticed_is_no_success(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proofs, "versions", lambda line, mutant: [line])
    assert main(["certify", "SCH4"]) == 1
    assert "NOTHING" in capsys.readouterr().out


def test_explain_says_so_apart_from_the_verdicts(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "SCH4"]) == 0
    text = capsys.readouterr().out
    assert "proved for all parameters: z3 over the reals (certify SCH4)" in text
    assert main(["explain", "SCH2", "--json"]) == 0
    assert '"proved": "z3 over the reals"' in capsys.readouterr().out
