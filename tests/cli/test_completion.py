"""Shells complete commands, names of the catalogues, and dials."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
import typer

from stemtheory.cli import completion
from stemtheory.cli.app import app

PROGRAM = [sys.executable, "-c", "import sys; from stemtheory.cli import main; sys.exit(main())"]


def completed(shell: str, line: str) -> str:
    """Return what a shell is offered for the last word of a line."""
    words = line.split(" ")
    typed = {
        "bash": {"COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)},
        "zsh": {"_TYPER_COMPLETE_ARGS": line},
        "fish": {"_TYPER_COMPLETE_ARGS": line, "_TYPER_COMPLETE_FISH_ACTION": "get-args"},
    }[shell]
    variables = {**os.environ, "_STEMTHEORY_COMPLETE": f"complete_{shell}", **typed}
    # the words of the shell are those of the program's name, whatever runs it
    done = subprocess.run(PROGRAM, env=variables, capture_output=True, text=True, check=False)
    return done.stdout


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_is_offered_problems(shell: str) -> None:
    offered = completed(shell, "stemtheory run co")
    assert "corridor" in offered
    assert "cosine" in offered
    assert "quadratic" not in offered


def test_what_stands_before_decides_which_dials_are_offered() -> None:
    command = typer.main.get_command(app).commands["run"]  # type: ignore[attr-defined]
    for problem, dial, there in (("cosine", "ripple=", True), ("quadratic", "ripple=", False)):
        context = typer.Context(command)
        context.params = {"problem": problem, "algorithm": "scaffold", "schedule": "practical"}
        assert (dial in completion.settings(context, "")) is there
    assert {"zeta=", "schedule.kappa=", "algorithm.participation="} <= {
        *completion.settings(context, "")
    }
    assert completion.settings(context, "schedule.k") == ["schedule.kappa="]


@pytest.mark.parametrize(
    ("complete", "typed", "offered"),
    [
        (completion.claim_names, "m3", ["M3", "M3-R", "M3a", "M3b", "M3c"]),
        (completion.claim_names, "stem-cont", ["stem-contraction"]),
        (completion.checked, "stem", ["stem"]),
        (completion.kinds, "b", ["bounds"]),
        (completion.entries("sweeps"), "trade", ["tradeoff"]),
        (completion.entries("bounds"), "stem-l", ["stem-log-free"]),
        (completion.one_of("a", "b"), "c", []),
    ],
)
def test_names_are_offered_by_their_beginning(
    complete: completion.Complete, typed: str, offered: list[str]
) -> None:
    assert complete(typed) == offered
