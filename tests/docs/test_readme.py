"""README and tour are true: commands print what is shown, and so do the examples and the table.

``<!-- not run: reason -->`` above a block marks one that is only asked for its help, as on the
pages of docs (test_commands.py).
"""

import contextlib
import io
import re
import shlex
from pathlib import Path
from typing import NamedTuple

import pytest

from stemtheory import load_problem, simulate
from stemtheory.bounds.verdicts import margins
from stemtheory.claims import claims
from stemtheory.cli.app import main
from stemtheory.runtime import Verdict, counted
from stemtheory.runtime.backend import resolve
from tests.docs.test_commands import BLOCK
from tests.helpers.sources import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
TOUR = (ROOT / "docs/tour.md").read_text(encoding="utf-8")
TEXT = README + TOUR
ELLIPSIS = "..."
LINE = re.compile(r"^\$ stemtheory (.*)$", re.MULTILINE)
# The numbers are those of the host's streams; a device draws others.
on_host = pytest.mark.skipif(
    resolve("auto").name != "numpy", reason="the README shows numbers drawn on the host"
)


class Shown(NamedTuple):
    """A command of the README and the output shown below it."""

    argv: list[str]
    output: str
    marked: bool


def blocks(language: str) -> list[str]:
    """Return the fenced blocks of one language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", TEXT, re.DOTALL | re.MULTILINE)


def commands() -> list[Shown]:
    """Return every ``$ stemtheory ...`` of the README."""
    found = []
    for block in BLOCK.finditer(TEXT):
        text = block["block"].rpartition("```")[0]
        for part in re.split(r"^\$ stemtheory ", text, flags=re.MULTILINE)[1:]:
            line, _, output = part.partition("\n")
            found.append(Shown(shlex.split(line), output, block["mark"] is not None))
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
    argv = [*shown.argv, "--help"] if shown.marked else shown.argv
    # one process measures a run once for all claims; the output is the same with any number
    code = main([*argv, *(("--jobs", "1") if argv[0] == "verify" else ())])
    out, err = capsys.readouterr()
    assert code == (1 if " violated\n" in out else 0)
    told = [line for line in err.splitlines() if "compiling the fused kernel" not in line]
    stages = [line for line in told if argv[0] == "figure" and "error" not in line]
    assert told == stages
    assert faults(shown.output, out) == []


def test_every_command_is_shown() -> None:
    named = {"run", "bound", "list", "doctor", "figure", "reproduce"}
    assert {shown.argv[0] for shown in commands()} >= named
    # no line with a dollar escapes, whatever block it stands in
    assert re.findall(r"^\s*\$ (.*)$", TEXT, re.MULTILINE) == [
        f"stemtheory {line}" for line in LINE.findall(TEXT)
    ]
    assert len(LINE.findall(TEXT)) == len(commands())
    assert sum(shown.marked for shown in commands()) <= 2


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
        counted(trace.counts.samples_per_worker),
        counted(trace.counts.rounds),
    ]
    printed = [m for m in margins(trace) if m.name == "stem-theorem"]
    assert all(m.verdict == "vacuous" and (m.value or 0) > 35 for m in printed)


def test_which_claims_have_no_mutant_or_no_checker() -> None:
    known = claims().values()
    text = " ".join(TEXT.split())
    assert sum(claim.compare is None for claim in known) == 5
    assert "A checker can reject all but the five that are not checkable" in text
    # of another line rules make versions that are rejected (docs/statistics.md)
    bare = {
        claim.id
        for claim in known
        if claim.compare
        and not claim.mutants
        and (not claim.line or Verdict.VIOLATED in claim.expected.values())
    }
    named = re.search(r"but for the eight that are violated as they stand \(([^)]+)\)", text)
    assert named is not None
    assert set(named[1].split(", ")) == bare
    assert len(bare) == 8


def test_links_lead_somewhere() -> None:
    names = [*re.findall(r"\]\(([^)#:]+)(?:#[\w-]+)?\)", README), "LICENSE", "CITATION.cff"]
    assert [name for name in names if not (ROOT / name).is_file()] == []
    assert "docs/img/tradeoff_surface.png" in names


def test_the_readme_is_read_in_two_minutes() -> None:
    assert len(README.splitlines()) <= 150
    order = [README.index(word) for word in ("What was found", "## Install", "$ stemtheory run",
             "```python", "![", "How far to trust", "## Extend", "citation")]  # fmt: skip
    assert order == sorted(order)
