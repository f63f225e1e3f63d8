"""The command certify: what it proves, what it refuses, and the check of a file."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from stemtheory.certificates import checker
from stemtheory.cli.app import main

SMALL = ("certify", "stem", "--I", "2", "--K", "2")


def document(capsys: pytest.CaptureFixture[str], *argv: str) -> dict[str, Any]:
    assert main([*argv, "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


@pytest.fixture
def file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    path = tmp_path / "c.json"
    assert main([*SMALL, "--out", str(path)]) == 0
    capsys.readouterr()
    return path


def test_it_states_what_is_proved_what_is_assumed_and_what_is_not_checked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "c.json"
    found = document(capsys, "certify", "stem", "--reading", "literal", "--out", str(path))
    assert found["verdict"] == "proved"
    assert found["constants"]["c_D"] == {"exact": "32", "value": 32.0}
    assert found["sum"] == pytest.approx(34.1415, rel=1e-3)
    assert [row["name"] for row in found["beside"]] == ["printed theorem", "Theorem R (a)"]
    assert found["beside"][0]["factor"] == pytest.approx(844802.87 / 34.1415, rel=1e-3)
    assert any("A1" in text for text in found["assumed"])
    assert any("summing" in text for text in found["not_machine_checked"])
    assert found["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
    assert found["bytes"] == path.stat().st_size
    checker.check(checker.parse(path.read_bytes()), K=4, I=4, b=1, m=1, reading="literal")


def test_the_text_has_the_quantifiers(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*SMALL, "--m", "2"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "for every d, every K functions and oracles with A1 and A2, and every legal start" in out
    assert "E V_I <= E V_0 - (eta/2) sum_j<I E|grad f(xbar_j)|^2" in out
    assert "the first draw of round 1 also has m b samples" in out
    assert main(["certify", "fedavg", "--I", "2"]) == 0
    assert "C_sigma of F2 and F3, per round" in capsys.readouterr().out


def test_the_table_for_an_appendix_needs_no_package(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "c.tex"
    assert main([*SMALL, "--tex", str(path)]) == 0
    text = path.read_text(encoding="utf-8")
    assert text.startswith(r"\begin{table}")
    assert text.count("{") == text.count("}")
    assert r"$C_\sigma$ & " in text
    assert "usepackage" not in text


def test_a_file_is_checked_against_what_is_asked_for(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    check = ("certify", "--check", str(file))
    found = document(capsys, *check, "--K", "2", "--I", "2", "--h", "1/16")
    assert found["accepted"] is True
    assert found["statement"]["K"] == 2
    for more, why in (
        (("--K", "3"), "K is 2, but 3 was asked for"),
        (("--reading", "average-first"), "reading is literal, but average-first was asked for"),
        (("--h", "1/8"), "eta is 1/32, but h = 1/8 was asked for"),
        (("--alpha", "1/8"), "a is "),
    ):
        assert main([*check, *more]) == 1
        assert f"refused: {why}" in capsys.readouterr().out
    assert main(["certify", "fedavg", "--check", str(file)]) == 1
    assert "algorithm is stem, but fedavg was asked for" in capsys.readouterr().out


def test_a_broken_file_is_refused_and_a_missing_one_is_bad_usage(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_bytes(file.read_bytes()[:-100])
    assert main(["certify", "--check", str(file)]) == 1
    assert capsys.readouterr().out.startswith("refused: ")
    assert main(["certify", "--check", str(file.parent / "none.json")]) == 2
    assert "is no file and no certificate that ships" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (("stem", "--reading", "overwrite"), "verify --replay M7-overwrite is a legal instance"),
        (("stem", "--reading", "average-both"), "--replay M7-average-both is a legal instance"),
        (("stem", "--reading", "literall"), "did you mean literal?"),
        (("scaffold",), "algorithm 'scaffold' is unknown"),
        (("fedavg", "--alpha", "1"), "--alpha was given, but fedavg has neither momentum"),
        (("fedavg", "--m", "2"), "--m was given"),
        (("fedavg", "--reading", "literal"), "--reading was given"),
        (("stem", "--schedule", "theorem", "--h", "1"), "--schedule was given beside --h"),
        (("stem", "--schedule", "practical"), "schedule 'practical' is unknown"),
        (("stem", "--h", "1/0"), "h is '1/0', but it must be a number from 1e-6 to 1000"),
        (("stem", "--h", "1e99"), "h is '1e99'"),
        (("stem", "--weights", "1,1"), "weights is '1,1', but it must be three numbers"),
        (("stem", "--I", "20"), "add --force"),
        (("stem", "--I", "33"), "I is 33, but a certificate takes a whole number from 1 to 32"),
        (("stem", "--b", "1.5"), "b is '1.5'"),
        (("stem", "--I", "1", "--m", "2"), "m is 2, but no draw spans an averaging"),
    ],
)
def test_bad_input_gets_one_sentence(
    argv: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["certify", *argv]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert said in err
    assert len(err.splitlines()) == 1


def test_what_only_proves_is_refused_beside_check(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for more in (("--out", "x"), ("--tex", "x"), ("--weights", "1,1,1"), ("--force",)):
        assert main(["certify", "--check", str(file), *more]) == 2
        assert more[0] in capsys.readouterr().err


def test_without_the_solver_the_sentence_names_the_extra(
    monkeypatch: pytest.MonkeyPatch, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "clarabel", None)
    assert main([*SMALL]) == 2
    assert "install stemtheory[certify]; checking one needs neither" in capsys.readouterr().err
    assert main(["certify", "--check", str(file)]) == 0


def test_a_certificate_that_ships_is_checked_by_its_name(
    capsys: pytest.CaptureFixture[str],
) -> None:
    found = document(capsys, "certify", "--check", "literal-I4-K4-b1-tuned", "--K", "4")
    assert found["verdict"] == "proved"
    assert found["constants"]["c_Z"]["value"] <= 0.21
    assert found["constants"]["c_S"]["value"] <= 1.78


def test_the_theorem_shows_what_is_proved_of_it(capsys: pytest.CaptureFixture[str]) -> None:
    found = document(capsys, "explain", "M7")
    assert len(found["certificates"]) == 32
    assert {row["verdict"] for row in found["certificates"]} == {"proved"}
    assert main(["explain", "M7"]) == 0
    assert "32 of 32 certificates that ship are accepted" in capsys.readouterr().out
    assert "certificates" not in document(capsys, "explain", "M3")


def test_a_certificate_that_ships_is_hunted_by_its_name(
    capsys: pytest.CaptureFixture[str],
) -> None:
    argv = ["hunt", "--budget", "0.2", "--certificate"]
    found = document(capsys, *argv, "literal-I2-K2-b1-printed")
    assert found["refuted"] is False
    assert 0.9 < found["ratio"] <= 1
    assert main([*argv, "nosuch"]) == 2
    assert "no certificate that ships" in capsys.readouterr().err
    assert main(["hunt", "M1", *argv[1:], "literal-I2-K2-b1-printed"]) == 2
    assert "attacks that file alone" in capsys.readouterr().err
