"""Every command has an example under its help, and it runs."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
import typer

from stemtheory.cli.app import app, main
from stemtheory.cli.examples import APART

COMMANDS = typer.main.get_command(app).commands  # type: ignore[attr-defined]
# These take minutes: the help alone is asked for. A store must be there before it is looked into.
LONG = ("reproduce", "hunt")


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_the_example_runs(
    command: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = re.fullmatch(r"Example: stemtheory (.+)  \(.+\)", COMMANDS[command].epilog)
    assert found is not None
    argv = shlex.split(found[1])
    assert argv[0] == command
    monkeypatch.chdir(tmp_path)
    if command == "results":
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(tmp_path)
            file = tmp_path / "tradeoff.toml"
            file.write_text('[settings]\nproblem = "cosine"\nT = 8\n[grids.g]\nb = [1, 2]\n')
            assert main(["sweep", str(file), "--store", "results/tradeoff.sqlite"]) == 0
            capsys.readouterr()
    assert main([*argv, "--help"] if command in LONG else argv) == 0
    assert capsys.readouterr().out


def test_the_commands_that_sound_alike_are_told_apart() -> None:
    for name in ("verify", "explain", "probe", "hunt", "check", "doctor"):
        assert f"{name}: " in APART
        assert name in COMMANDS
