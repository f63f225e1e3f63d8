"""What quick panels found is kept: shown again as it was, and never after a source has changed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from stemtheory.claims import explain, explanation, one, verify
from stemtheory.cli import main
from tests.helpers.sources import ROOT

CLAIM = "SCH4"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of what is kept, an empty one of its own."""
    monkeypatch.setenv("STEMTHEORY_CACHE", str(tmp_path))
    return tmp_path / "verdicts"


def never(*_: object) -> None:
    raise AssertionError("the claim was judged again")


def test_rows_are_judged_once_and_are_those_of_verify(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = explain(CLAIM, keep=True)
    assert first["rows"] == verify([CLAIM], jobs=1)["claims"]
    monkeypatch.setattr(explanation, "check", never)
    assert explain(CLAIM, keep=True) == first
    with pytest.raises(AssertionError, match="judged again"):
        explain(CLAIM)
    assert [path.name for path in folder.iterdir()] == [f"{CLAIM}.json"]


@pytest.mark.parametrize("damage", ["", "{}", '{"key": 1, "rows": []}', "[]", "\ufffd{"])
def test_what_is_damaged_is_judged_anew_and_mended(folder: Path, damage: str) -> None:
    rows = explanation.kept_rows(one(CLAIM))
    file = folder / f"{CLAIM}.json"
    whole = file.read_text("utf-8")
    file.write_text(damage, encoding="utf-8")
    assert explanation.kept_rows(one(CLAIM)) == rows
    assert file.read_text("utf-8") == whole


def test_a_key_that_is_not_asked_finds_nothing(folder: Path) -> None:
    """The mutant of the check above: rows that are wrong are shown where the key is right."""
    explanation.kept_rows(one(CLAIM))
    file = folder / f"{CLAIM}.json"
    found = json.loads(file.read_text("utf-8"))
    file.write_text(json.dumps({**found, "rows": []}), encoding="utf-8")
    assert explanation.kept_rows(one(CLAIM)) == []
    file.write_text(json.dumps({"key": "another", "rows": []}), encoding="utf-8")
    assert explanation.kept_rows(one(CLAIM)) == found["rows"]


def test_a_folder_that_cannot_be_written_is_done_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("STEMTHEORY_CACHE", str(tmp_path / "file"))
    assert explanation.kept_rows(one(CLAIM)) == verify([CLAIM], jobs=1)["claims"]


def test_a_users_own_claim_is_not_kept(folder: Path) -> None:
    assert explain("tests.helpers.example_claim:CONTRACTION", keep=True)["rows"]
    assert not folder.exists()


def test_only_a_process_of_its_own_keeps(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In another process what is loaded may have been changed, as a test does."""
    assert main(["explain", CLAIM]) == 0
    assert not folder.exists()
    asked = [sys.executable, "-m", "stemtheory", "explain", CLAIM]
    done = [
        subprocess.run(asked, capture_output=True, check=True, cwd=ROOT, env=os.environ.copy())
        for _ in range(2)
    ]
    assert [one.stdout.decode() for one in done] == [capsys.readouterr().out] * 2
    assert (folder / f"{CLAIM}.json").is_file()
