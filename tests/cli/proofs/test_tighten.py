"""The command tighten: what it prints and writes, its check, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from stemtheory.cli.app import main


def test_it_proves_and_its_file_is_checked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "theorem.json"
    assert main(["tighten", "--out", str(file)]) == 0
    shown = capsys.readouterr().out
    assert "proved: literal and average-first, every I >= 1" in shown
    line = next(line for line in shown.splitlines() if line.startswith("theorem: "))
    assert line.endswith(r"S \le (IbK)^2")  # one line, to be copied
    assert main(["tighten", "--check", str(file), "--ratio", "8", "--reading", "literal"]) == 0
    assert "proved: " in capsys.readouterr().out


def test_a_file_that_proves_something_else_or_nothing_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "theorem.json"
    assert main(["tighten", "--out", str(file)]) == 0
    for more in (["--ratio", "9"], ["--reading", "average-first"], ["--h", "1/4"]):
        assert main(["tighten", "--check", str(file), *more]) == 1
        assert "but" in capsys.readouterr().out.replace("\n", " ")
    document = json.loads(file.read_text(encoding="utf-8"))
    document["constants"]["Lam"] = "17"
    file.write_text(json.dumps(document), encoding="utf-8")
    assert main(["tighten", "--check", str(file)]) == 1
    assert "(4) fails" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["--h", "1/2"], "h = eta L I is at most 0.35"),
        (["--ratio", "10000000"], "up to 1000000"),
        (["--weights", "1,1,5000"], "1000 times the smallest"),
        (["--weights", "1,1"], "three numbers"),
        (["--reading", "overwrite"], "choose literal or average-first"),
        (["--mode", "magic"], "mode"),
        (["--mode", "certificate", "--I", "20"], "--mode proof"),
    ],
)
def test_what_cannot_be_is_refused_in_one_sentence(
    argv: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["tighten", *argv]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert said in err
