"""Every command that a page shows runs, in an empty folder and in the order of the page.

A command is a line of a block that starts with ``$ stemtheory`` or, indented, with ``stemtheory``.
``<!-- not run: reason -->`` above a block marks one that is only asked for its help: it must exist.
``<!-- file: NAME -->`` above a block names the file that a reader writes with it.
README and tour.md are held to their outputs in test_readme.py, findings.md and its template in
test_findings.py, and the templates' other pages are filled from them.
"""

from __future__ import annotations

import re
import shlex
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from stemtheory.cli.app import main
from stemtheory.oracles.heterogeneity import HETEROGENEITIES
from stemtheory.oracles.noise import NOISES
from stemtheory.schedules import SCHEDULES
from tests.helpers.example_heterogeneity import LOCAL
from tests.helpers.example_noise import SETTLING
from tests.helpers.example_schedule import INVERSE_ROOT
from tests.helpers.sources import ROOT

PAGES = {
    path.name: path.read_text(encoding="utf-8")
    for path in sorted((ROOT / "docs").glob("*.md"))
    if not path.name.endswith(".template.md") and path.name != "tour.md"  # that: test_readme.py
}
COMMAND = re.compile(r"^(?:\$ |    (?:[A-Z_]+=\S+ )?)(stemtheory .*)$", re.MULTILINE)
FILE = re.compile(r"<!-- file: (\S+) -->\n(?:<!-- [^>]+ -->\n)?```\w+\n(.*?)```", re.DOTALL)
BLOCK = re.compile(
    r"(?P<mark><!-- not run: [^>]+ -->\n\n?)?"
    r"(?P<block>^```\w*\n.*?^```$|(?:^    \S[^\n]*\n)+)",
    re.DOTALL | re.MULTILINE,
)


def commands(text: str) -> Iterator[list[str]]:
    """Yield the arguments of every command of a page; of one that is not run, its help."""
    for found in BLOCK.finditer(text):
        for line in COMMAND.findall(found["block"]):
            argv = shlex.split(line, comments=True)[1:]
            yield [argv[0], "--help"] if found["mark"] else argv


def write_files(text: str, folder: Path) -> list[str]:
    """Write the files that a page shows, under the names that it gives them."""
    found = FILE.findall(text)
    for name, shown in found:
        (folder / name).write_text(shown, encoding="utf-8")
    return [name for name, _ in found]


SHOWN = {page: list(commands(text)) for page, text in PAGES.items()}


@pytest.fixture
def examples(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Put the examples of the guides where the guides tell a reader to put them."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(NOISES, SETTLING.name, SETTLING)
    monkeypatch.setitem(HETEROGENEITIES, LOCAL.name, LOCAL)
    monkeypatch.setitem(SCHEDULES, "inverse-root", INVERSE_ROOT)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "mine", raising=False)
    shutil.copy(ROOT / "tests/helpers/example_sweep.toml", tmp_path / "mine.toml")


@pytest.mark.slow
@pytest.mark.usefixtures("examples")
@pytest.mark.parametrize("page", [page for page, shown in SHOWN.items() if shown])
def test_the_commands_of_a_page_run(
    page: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    write_files(PAGES[page], tmp_path)
    for argv in SHOWN[page]:
        code = main(argv)
        out, err = capsys.readouterr()
        assert code == 0, (argv, err)
        assert out or "written: " in err, argv


def dollars(text: str) -> list[str]:
    """Return what follows a dollar at the beginning of a line, wherever that stands."""
    return re.findall(r"^\s*\$ (.*)$", text, re.MULTILINE)


def test_every_dollar_is_seen() -> None:
    """No line that starts with a dollar escapes, whatever block it stands in."""
    for page, text in PAGES.items():
        assert dollars(text) == dollars("".join(block.group() for block in BLOCK.finditer(text)))
        assert all(line.startswith("stemtheory ") for line in dollars(text)), page
        assert len(dollars(text)) <= len(SHOWN[page]), page
    assert sum(map(len, SHOWN.values())) > 15


def test_a_dollar_outside_of_a_block_is_found() -> None:
    stray = "Type\n$ make install\nand go on.\n"
    assert dollars(stray) == ["make install"]
    assert not list(BLOCK.finditer(stray))


def test_a_marked_block_is_only_asked_for_its_help() -> None:
    marked = "a\n\n<!-- not run: minutes -->\n\n    stemtheory figure x --full  # long\n\n"
    text = marked + "```\n$ stemtheory list algorithms\nits output\n```\n"
    assert list(commands(text)) == [["figure", "--help"], ["list", "algorithms"]]


def test_a_command_that_fails_is_noticed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "quadratic", "stem", "--schedule", "inverse-root"]) == 2
    assert "inverse-root" in capsys.readouterr().err
