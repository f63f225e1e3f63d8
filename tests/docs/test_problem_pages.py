"""The pages about the problems are those that the problems write."""

import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from docs.build import __main__ as build
from docs.build import problems
from stemtheory.oracles.catalogue import names, problem_entry
from tests.helpers.sources import ROOT

DOCS = ROOT / "docs"
AGAIN = "generate them: python -m docs.build"


def stale(made: dict[str, str]) -> list[str]:
    """Return the paths below docs/ that are missing or differ."""
    return [
        path
        for path, text in made.items()
        if not (DOCS / path).is_file() or (DOCS / path).read_text(encoding="utf-8") != text
    ]


def test_no_page_is_stale() -> None:
    assert stale(problems.pages()) == [], AGAIN
    assert problems.stale_pictures(DOCS) == [], AGAIN


def test_a_changed_problem_makes_its_page_stale(monkeypatch: pytest.MonkeyPatch) -> None:
    from stemtheory.problems import welsch

    monkeypatch.setattr(welsch, "ENTRY", replace(welsch.ENTRY, summary="something else"))
    assert stale(problems.pages()) == ["problems.md"]
    monkeypatch.setattr(welsch, "ENTRY", replace(welsch.ENTRY, slope=problem_entry("cauchy").slope))
    assert "img/problems/welsch.svg" in stale(problems.pages())


@pytest.mark.parametrize("name", names("problems"))
def test_every_problem_has_its_section_and_picture(name: str) -> None:
    page = (DOCS / "problems.md").read_text(encoding="utf-8")
    text = page.split(f"\n## {name}\n", 1)[1].split("\n## ", 1)[0]
    entry = problem_entry(name)
    assert entry.formula in text
    assert len(entry.visible) > 40
    assert "| L | 1 | " in text
    root = ET.fromstring(problems.picture(name))
    lines = root.findall(".//{http://www.w3.org/2000/svg}polyline")
    assert len(lines) == 3
    assert all("nan" not in line.attrib["points"] for line in lines)


def test_a_problem_of_rows_has_its_section_without_numbers() -> None:
    page = (DOCS / "problems.md").read_text(encoding="utf-8")
    text = page.split("\n## robust_regression\n", 1)[1].split("\n## ", 1)[0]
    assert problem_entry("robust_regression").formula in text
    for said in ("`delta` = 1", "`alpha` = 0.1", "L <= ", "sigma <= ", "zeta <= "):
        assert said in text
    assert "- [robust_regression](#robust_regression)" in page


def test_one_command_writes_every_page_and_removes_old_pictures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert {pages.__module__ for pages in build.PAGES} == {
        f"docs.build.{name}" for name in ("findings", "problems", "replication")
    }
    old = tmp_path / "img/problems/gone.svg"
    old.parent.mkdir(parents=True)
    old.write_text("<svg/>")
    monkeypatch.setattr(build, "PAGES", (lambda: {"a.md": "a"}, problems.pages))
    monkeypatch.setattr(build.casefiles, "build", lambda: [tmp_path])
    build.main(tmp_path)
    assert capsys.readouterr().out.endswith("1 case files\n")
    written = {p.relative_to(tmp_path).as_posix() for p in tmp_path.rglob("*") if p.is_file()}
    assert written == {"a.md", *problems.pages()}


# -- how to add a problem

GUIDE = (DOCS / "add_a_problem.md").read_text(encoding="utf-8")


def block(mark: str) -> str:
    """Return the code block of the guide that follows a comment."""
    return GUIDE.split(f"<!-- {mark} -->\n```python\n", 1)[1].split("```", 1)[0]


def test_the_guide_shows_the_example_that_is_tested() -> None:
    assert block("tests/helpers/example_loss.py") == (
        ROOT / "tests/helpers/example_loss.py"
    ).read_text("utf-8")


def test_the_guide_checks_its_example() -> None:
    names: dict[str, object] = {}
    exec(compile(block("check"), "add_a_problem.md", "exec"), names)
    assert names["rows"]


def test_files_named_by_the_guide_exist() -> None:
    named = set(re.findall(r"`(problems/\w+\.py)`", GUIDE))
    assert named
    assert all((ROOT / name).is_file() for name in named)
