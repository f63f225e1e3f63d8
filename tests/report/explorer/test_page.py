"""The page as a file: whole, small, without a network, and written where it is asked for."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from stemtheory import UsageError
from stemtheory.bounds import BOUNDS
from stemtheory.claims import claims
from stemtheory.report.explorer import explorer_page, write_explorer
from stemtheory.report.explorer.formulas import CLAIM_OF, DIALS, formulas
from stemtheory.report.explorer.page import COLOURS, MODULES, cases, plain
from stemtheory.tightening import CHAIN
from tests.report.test_reproduction import Reader, page_faults

MOST = 400_000  # bytes
FETCHING = re.compile(r"\b(?:fetch|XMLHttpRequest|WebSocket|importScripts|EventSource)\s*\(")


@pytest.fixture(scope="module")
def page() -> str:
    return explorer_page()


def test_the_page_is_whole_and_needs_no_network(page: str, tmp_path: Path) -> None:
    assert page_faults(page, tmp_path) == []
    assert FETCHING.findall(page) == []
    assert not re.search(r"""(?:src|href)=["']?https?:""", page)
    assert not re.search(r"^\s*(?:import|export) ", page, re.MULTILINE)
    assert len(page.encode()) <= MOST
    assert "The MIT License" in page  # of uPlot, in the page itself


def test_beside_a_report_it_links_to_it(tmp_path: Path) -> None:
    for name in ("index.html", "ledger.html"):
        (tmp_path / name).touch()
    text = explorer_page(beside=True)
    assert page_faults(text, tmp_path) == []
    linked = {p.partition("#claim-")[2] for p in Reader(text).points if "#claim-" in p}
    steps = {estimate.claim for estimate in CHAIN}
    assert linked == {*CLAIM_OF.values(), *steps} <= set(claims())


def test_every_curve_has_an_entry_and_every_bound_a_claim(page: str) -> None:
    anchors = Reader(page).anchors
    assert {f"entry-{name}" for name in COLOURS if name != "start"} <= anchors
    assert set(CLAIM_OF) == set(BOUNDS) <= set(COLOURS)
    assert {f"entry-{it['entry']}" for it in formulas()["falls"]} <= anchors
    for name in DIALS:
        assert {f"dial-{name}", f"slide-{name}", f"box-{name}"} <= anchors


def test_every_view_says_what_it_does_not_show(page: str) -> None:
    views = re.findall(r'<section id="view-(\w+)">(.*?)</section>', page, re.DOTALL)
    assert [name for name, _ in views] == ["moments", "surface", "epsilon", "slack"]
    assert all("<b>Not shown.</b>" in text for _, text in views)


def test_the_cases_are_settings_of_the_page(page: str) -> None:
    found = re.search(r'<script id="data" type="application/json">(.*?)</script>', page)
    assert found is not None
    data = json.loads(found[1])
    for case in cases():
        for name, value in case["state"].items():
            dial = data["dials"].get(name)
            fits = name in data["choices"] if dial is None else dial["low"] <= value <= dial["high"]
            assert fits or (dial["zero"] and value == 0), name


def test_modules_share_one_room() -> None:
    """They become one script, so a name that two of them give to their top is an error."""
    given = [
        name
        for module in MODULES
        for name in re.findall(
            r"^(?:function\*?|const|let) (\w+|\$)", plain(module), flags=re.MULTILINE
        )
    ]
    assert len(given) == len(set(given)), sorted(n for n in given if given.count(n) > 1)


def test_it_is_written_once_and_the_same(tmp_path: Path) -> None:
    place = tmp_path / "new" / "page.html"
    assert write_explorer(place) == place
    first = place.read_bytes()
    assert write_explorer(place).read_bytes() == first
    with pytest.raises(UsageError, match=r"must end with \.html"):
        write_explorer(tmp_path / "page.txt")
    assert list(tmp_path.iterdir()) == [place.parent]
