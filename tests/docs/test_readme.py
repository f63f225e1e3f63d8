"""README and tour are true: commands print what is shown, and so do the examples and the table."""

import contextlib
import io
import re
import shlex
from pathlib import Path
from typing import NamedTuple

import pytest

from stemtheory import load_problem, simulate
from stemtheory.bounds.verdicts import margins
from stemtheory.cli.app import main
from stemtheory.runtime.backend import resolve
from tests.helpers.sources import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
TOUR = (ROOT / "docs/tour.md").read_text(encoding="utf-8")
TEXT = README + TOUR
ELLIPSIS = "..."
# Too long for a test: these are checked to exist, with their options, by asking for help.
LONG = ("figure", "reproduce")
# The numbers are those of the host's streams; a device draws others.
on_host = pytest.mark.skipif(
    resolve("auto").name != "numpy", reason="the README shows numbers drawn on the host"
)


class Shown(NamedTuple):
    """A command of the README and the output shown below it."""

    argv: list[str]
    output: str


def blocks(language: str) -> list[str]:
    """Return the fenced blocks of one language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", TEXT, re.DOTALL | re.MULTILINE)


def commands() -> list[Shown]:
    """Return every ``$ stemtheory ...`` of the README."""
    found = []
    for block in blocks("console"):
        for part in re.split(r"^\$ stemtheory ", block, flags=re.MULTILINE)[1:]:
            line, _, output = part.partition("\n")
            found.append(Shown(shlex.split(line), output))
    return found


def faults(shown: str, printed: str) -> list[str]:
    """Return what is shown but not printed, in this order; ``...`` stands for anything."""
    pattern = ".*".join(re.escape(piece) for piece in shown.strip().split(ELLIPSIS))
    return [] if re.fullmatch(pattern, printed.strip(), re.DOTALL) else [shown]


@on_host
@pytest.mark.parametrize("shown", commands(), ids=lambda shown: " ".join(shown.argv[:3]))
def test_commands_print_what_is_shown(
    shown: Shown,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    argv = [*shown.argv, "--help"] if shown.argv[0] in LONG else shown.argv
    code = main(argv)
    out, err = capsys.readouterr()
    assert code == (1 if " violated\n" in out else 0)
    assert err == ""
    assert faults(shown.output, out) == []


def test_every_command_is_shown() -> None:
    assert {shown.argv[0] for shown in commands()} >= {"run", "bound", "list", "doctor", *LONG}
    assert all("stemtheory" in block for block in blocks("console"))


def test_faults_are_found() -> None:
    assert faults("a 1\n...\nb 2\n", "a 1\nanything\nb 2\n") == []
    assert faults("a 1\n...\nb 2\n", "a 1\nanything\nb 3\n") != []
    assert faults("a 1\n", "a 1\nmore\n") != []


@on_host
@pytest.mark.parametrize("which", [0, 1])
def test_the_python_examples(which: int) -> None:
    assert len(blocks("python")) == len(blocks("text")) == 2
    code, expected = blocks("python")[which], blocks("text")[which]
    assert len([line for line in code.splitlines() if line]) <= 15
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "README.md", "exec"), {})
    assert [line.rstrip() for line in printed.getvalue().splitlines()] == expected.splitlines()


def table() -> list[list[str]]:
    """Return the cells of the table, without its head."""
    lines = [line for line in TOUR.splitlines() if line.startswith("| ")][2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


ENDINGS = {"stem-intermediate": "proof", "stem-repaired": "repaired", "fedavg-theorem": "theorem"}


@on_host
@pytest.mark.parametrize("row", table(), ids=" ".join)
def test_the_table(row: list[str]) -> None:
    trace = simulate(load_problem("geman_mcclure"), row[0], nu=float(row[1]))
    holding = [m for m in margins(trace) if m.verdict == "holds" and m.value is not None]
    tightest = min(holding, key=lambda m: m.value or 0.0)
    settings, mean = trace.settings, trace.mean_grad_sq
    assert mean is not None
    assert tightest.value is not None
    assert row[2:] == [
        f"{settings['b']:g}",
        str(settings["I"]),
        f"{mean:.4g}",
        f"{tightest.value:.4g} ({ENDINGS[tightest.name]})",
        f"{tightest.value / mean:.1f}",
        f"{trace.counts.samples_per_worker:.0f}",
        str(trace.counts.rounds),
    ]
    printed = [m for m in margins(trace) if m.name == "stem-theorem"]
    assert all(m.verdict == "vacuous" and (m.value or 0) > 35 for m in printed)


def test_links_lead_somewhere() -> None:
    names = [*re.findall(r"\]\(([^)#:]+)(?:#[\w-]+)?\)", README), "LICENSE", "CITATION.cff"]
    assert [name for name in names if not (ROOT / name).is_file()] == []
    assert "docs/img/tradeoff_surface.png" in names


def test_the_readme_is_read_in_two_minutes() -> None:
    assert len(README.splitlines()) <= 150
    order = [README.index(word) for word in ("What was found", "## Install", "$ stemtheory run",
             "```python", "![", "How far to trust", "## Extend", "citation")]  # fmt: skip
    assert order == sorted(order)
