"""``stemtheory new``: skeletons that work as they stand, the guides' examples, or one sentence."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from stemtheory.cli import main
from stemtheory.cli.new.skeletons import INITIALS, NAMED, SKELETONS, TEMPLATES, rendered
from stemtheory.runtime import UsageError
from tests.helpers.sources import ROOT

EXAMPLES = ROOT / "tests/helpers"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def run(argv: list[str], folder: Path) -> str:
    """Return what a process prints in a folder, where the package is installed."""
    known = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(argv, cwd=folder, env=known, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def refused(capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    assert main(["new", *argv]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    return err


@pytest.mark.slow
@pytest.mark.parametrize("kind", SKELETONS)
def test_a_skeleton_works_as_it_stands(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its own tests, and every command that it is handed over with."""
    assert main(["new", kind, "fresh", "--json"]) == 0
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    there = {path.relative_to(tmp_path) for path in tmp_path.rglob("*") if path.is_file()}
    assert there == set(map(Path, document["files"]))
    go, first, tests = document["next"]
    assert (go, tests) == ("cd fresh", "python -m pytest")
    said = run([sys.executable, "-m", *first.split()], tmp_path / "fresh")
    assert "SURVIVED" not in said
    quiet = ("-q", "-p", "no:cacheprovider")
    assert " passed" in run([sys.executable, *tests.split()[1:], *quiet], tmp_path / "fresh")
    strict = ["check", "--isolated", "--select", "B,E,F,UP,W", "--ignore", "E741"]
    for ruff in ([*strict, "--line-length", "100"], ["format", "--check", "--line-length", "100"]):
        run([sys.executable, "-m", "ruff", *ruff, "--no-cache", "."], tmp_path / "fresh")


def body(kind: str, path: str, name: str, initials: str = "") -> str:
    """Return a file of a skeleton without the comment that heads it."""
    text = rendered(kind, {NAMED: name, INITIALS: initials})[path]
    head = re.match(r"(#.*\n)+\n", text)
    assert head is not None
    return text[head.end() :]


@pytest.mark.parametrize(
    ("kind", "path", "name", "example"),
    [
        ("problem", "log_cosh.py", "log_cosh", "example_loss.py"),
        ("algorithm", "server-step.py", "server-step", "example_algorithm.py"),
        ("figure", "bound.py", "bound", "example_figure.py"),
        ("sweep", "mine.toml", "mine", "example_sweep.toml"),
        ("pack", "example/directions.py", "example", "example_pack/directions.py"),
    ],
)
def test_a_template_is_the_example_of_its_guide(
    kind: str, path: str, name: str, example: str
) -> None:
    shown = (EXAMPLES / example).read_text(encoding="utf-8")
    assert body(kind, path, name, "EX") == shown


def test_the_template_of_a_pack_is_the_example_without_what_it_leaves_out() -> None:
    shown = (EXAMPLES / "example_pack/pack.toml").read_text(encoding="utf-8")
    left_out = '"eq:left-out" = { number = "eq. (2)" }\n'
    assert left_out in shown
    assert body("pack", "example/pack.toml", "example") == shown.replace(left_out, "")


def test_the_template_of_claims_has_the_lines_of_the_guide() -> None:
    text = rendered("claim", {NAMED: "mine", INITIALS: "OWN"})["mine.py"].replace("OWN-", "OWN")
    guide = (ROOT / "docs/add_a_claim.md").read_text(encoding="utf-8")
    assert re.findall(r"^LENGTH = .*?^\)$", guide, re.DOTALL | re.MULTILINE)[0] in text


def test_the_workflow_of_a_pack_is_that_of_the_guide() -> None:
    text = rendered("pack", {NAMED: "mypack", INITIALS: ""})[".github/workflows/claims.yml"]
    assert f"```yaml\n{text}```" in (ROOT / "docs/write_a_pack.md").read_text(encoding="utf-8")


def test_every_template_is_used_and_every_mark_is_filled() -> None:
    used = {template for found in SKELETONS.values() for template in found.files.values()}
    assert used == {path.name for path in TEMPLATES.iterdir()}
    for kind in SKELETONS:
        texts = rendered(kind, {NAMED: "mine", INITIALS: "MINE"})
        assert not any(re.search(r"@[A-Z]+@", part) for pair in texts.items() for part in pair)


def test_an_empty_folder_is_filled(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "empty").mkdir()
    assert main(["new", "claim", "lines_2", "--out", "empty"]) == 0
    said = capsys.readouterr().out
    assert "written: empty/lines_2.py\n" in said
    assert "  stemtheory verify lines_2:CLAIMS --quick --mutants\n" in said
    assert 'id="LINES2-1"' in (tmp_path / "empty/lines_2.py").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["", "Mine", "2mine", "my-pack", "mine.py", "../mine", "class"])
def test_a_name_that_python_cannot_import_is_one_sentence(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "but it must be one that Python can import" in refused(capsys, "pack", name)
    assert list(tmp_path.iterdir()) == []


def test_the_name_of_another_module_is_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("json", "numpy", "stemtheory", "sys"):
        said = refused(capsys, "problem", name)
        assert f"name is {name}, but a module of that name is there already" in said
    assert list(tmp_path.iterdir()) == []


def test_a_kind_that_is_none_is_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    said = refused(capsys, "packs", "fresh")
    assert "kind 'packs' is unknown" in said
    assert all(kind in said for kind in SKELETONS)


def test_a_folder_that_holds_something_is_left_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full/notes.txt").write_text("mine", encoding="utf-8")
    for out in ("full", "full/notes.txt"):
        assert f"{out} is there already" in refused(capsys, "pack", "fresh", "--out", out)
    assert [path.name for path in (tmp_path / "full").iterdir()] == ["notes.txt"]
    assert (tmp_path / "full/notes.txt").read_text(encoding="utf-8") == "mine"


@pytest.mark.parametrize("fails_at", [0, 1, 4])
def test_nothing_half_written_is_left(
    fails_at: int,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The disk is full after some files: they go, and so do the folders that were made."""
    from stemtheory.cli.new import skeletons

    count = 0

    def filling_up(path: Path, text: str) -> Path:
        nonlocal count
        count += 1
        if count > fails_at:
            raise UsageError(f"{path} cannot be written (No space left on device).")
        path.write_text(text, encoding="utf-8")
        return path

    monkeypatch.setattr(skeletons, "write_whole", filling_up)
    (tmp_path / "empty").mkdir()
    for out in ("deep/down", "empty"):
        count = 0
        assert "No space left" in refused(capsys, "pack", "fresh", "--out", out)
    assert [path.name for path in tmp_path.rglob("*")] == ["empty"]


def test_a_folder_that_cannot_be_made_is_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    assert "cannot be written" in refused(capsys, "pack", "fresh", "--out", "file/below")
