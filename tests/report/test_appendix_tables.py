"""Tables of verdicts for an appendix: every row, pack by pack, in LaTeX without a package."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from stemtheory.claims import claims, select, verify
from stemtheory.cli import main
from stemtheory.report.appendix import verdict_tables, verdicts_latex, verdicts_markdown
from tests.helpers.sources import ROOT
from tests.report.test_appendix import faults

PACKS = ("stem", str(ROOT / "tests/helpers/example_pack"))


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    return verify(["M3", "SCH4", "EX-*"], jobs=1, packs=PACKS)


@pytest.fixture(scope="module")
def latex(document: dict[str, Any]) -> str:
    return verdicts_latex(document, claims(PACKS), "quick")


def rows_of(text: str, mark: str) -> list[list[str]]:
    """Return the cells of every row of a table as text, without its head."""
    return [re.split(rf" *{mark} *", row.strip(f"{mark}\\ ")) for row in text.splitlines()
            if re.match(r"(\| )?(M3|SCH4|EX-\d) ", row)]  # fmt: skip


def test_it_needs_no_package_and_names_the_paper(latex: str) -> None:
    assert faults(latex) == []
    assert latex.count(r"\begin{table}") == 2
    assert r"\caption{Verdicts on A note on the directions of a run (A. Author, 2020, " in latex
    assert "iolated: false of something that was looked at" in latex
    assert r"p{0.3\textwidth}" in latex


def test_every_verdict_stands_in_it_once(document: dict[str, Any], latex: str) -> None:
    wanted = {(row["id"], row["verdict"], row["expected"]) for row in document["claims"]}
    markdown = verdicts_markdown(document, claims(PACKS), "quick")
    for text, mark in ((latex, "&"), (markdown, r"\|")):
        rows = rows_of(text, mark)
        assert {(cells[0], cells[3], cells[4]) for cells in rows} == wanted
        assert len({tuple(cells) for cells in rows}) == len(rows)
    assert ("M3", "violated", "violated") in wanted
    assert "| EX-1 | Lemma 1, Lengths |" in markdown


def test_a_verdict_that_was_not_expected_shows(document: dict[str, Any]) -> None:
    """The mutant: one row of the document says something else."""
    rows = [{**r, "verdict": "violated"} if r["id"] == "EX-1" else r for r in document["claims"]]
    text = verdicts_markdown({**document, "claims": rows}, claims(PACKS), "quick")
    assert ["EX-1", "violated", "holds"] in [
        [cells[0], *cells[3:5]] for cells in rows_of(text, r"\|")
    ]


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        (r"\textwidth", r"\pagewidth", "pagewidth"),
        (r"\end{tabular}", "", "environments"),
        (" & holds & ", " holds ", "cells"),
    ],
)
def test_what_would_not_compile_is_noticed(latex: str, old: str, new: str, fault: str) -> None:
    assert any(fault in found for found in faults(latex.replace(old, new, 1)))


@pytest.mark.parametrize("most", [1, 2, 3, 50])
def test_a_long_table_goes_on_over_pages(document: dict[str, Any], most: int) -> None:
    parts = list(verdict_tables(document, claims(PACKS), "quick", most))
    whole = list(verdict_tables(document, claims(PACKS), "quick"))
    assert [row for part in parts for row in part.rows] == [r for one in whole for r in one.rows]
    assert all(0 < len(part.rows) <= most for part in parts)
    begun = [part for part in parts if not part.title.endswith("(continued)")]
    assert [part.title for part in begun] == [one.title for one in whole]


def test_the_command_writes_both(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tex, page = tmp_path / "verdicts.tex", tmp_path / "verdicts.md"
    command = ["verify", "--pack", PACKS[1], "--quick", "--jobs", "1"]
    assert main([*command, "--tex", str(tex), "--markdown", str(page)]) == 0
    assert capsys.readouterr().out.endswith(f"written: {tex}\nwritten: {page}\n")
    text = tex.read_text(encoding="utf-8")
    assert faults(text) == []
    assert text.index(r"\caption{Verdicts on") < text.index(r"\label{claim:EX-1}")
    assert len(rows_of(page.read_text(encoding="utf-8"), r"\|")) == 2


def test_claims_without_a_pack_have_a_table() -> None:
    name = "tests.helpers.example_line:LENGTH"
    found = verify([name], jobs=1)
    known = {claim.id: claim for claim in select([name])}
    (table,) = verdict_tables(found, known, "quick")
    assert table.title == "Verdicts on claims of one's own"
    assert table.rows[0][:2] == ("OWN1", "my paper, eq. (7)")
