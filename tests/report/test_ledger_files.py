"""The ledger as files: complete, escaped, without a network, and the same on every run."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import subprocess
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from stemtheory.claims import together
from stemtheory.claims.base import Claim, Comparison
from stemtheory.claims.ledger import select
from stemtheory.claims.sides import MOST, PlotPoint, Sample, sides
from stemtheory.report import ledger_files
from stemtheory.report.ledger_plot import SIZE, limits, plot
from stemtheory.report.ledger_rows import excess, lines, matrix
from stemtheory.report.pages import render
from stemtheory.runtime import Verdict

NAMES = ("M1", "M3", "U2", "U2-corrected", "D1", "A2i", "SP1")
AWKWARD = Claim(
    id="AWKWARD",
    label="<b>&\"'</b>",
    section="odd|_&section",
    kind="arithmetic",
    statement="1 < 2 & 3 > 2, | and \\ and $x_1$ and 100 %",
    formula=r"\nosuchcommand < 1",
    compare=lambda s: Comparison(s * 1.0, s * 2.0),
    cases=lambda level: (1.0,),
)


@pytest.fixture(scope="module")
def outcomes() -> list[together.Outcome]:
    """Return a small ledger with every kind of verdict that a row may expect."""
    return together.begun(NAMES, mutants=True, jobs=1)()


@pytest.fixture(scope="module")
def written(outcomes: list[together.Outcome], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of its five files."""
    out = tmp_path_factory.mktemp("ledger")
    document = together.document(outcomes, mutants=True)
    files = ledger_files.write(out, document, outcomes, "quick", NAMES)
    assert [Path(file).name for file in files] == [
        f"ledger.{ending}" for ending in ("csv", "json", "md", "tex", "html")
    ]
    return out


class Page(HTMLParser):
    """Collects the ids, links, articles and open tags of a page."""

    VOID = ("meta", "link", "input", "br", "img", "wbr")

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.articles: list[dict[str, str | None]] = []
        self.open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        values = dict(attrs)
        if "id" in values:
            self.ids.append(values["id"])
        self.links += [values[name] for name in ("href", "src") if name in values]
        if tag == "article":
            self.articles.append(values)
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in self.VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_csv_holds_every_row_in_full(outcomes: list[together.Outcome], written: Path) -> None:
    rows = list(csv.DictReader(io.StringIO((written / "ledger.csv").read_text())))
    wanted = together.document(outcomes, mutants=True)["claims"]
    assert [row["id"] for row in rows] == [row["id"] for row in wanted]
    for row, source in zip(rows, wanted, strict=True):
        assert row["verdict"] == source["verdict"]
        assert row["margin"] == ("" if source["margin"] is None else repr(source["margin"]))
        if source["worst"]:
            assert float(row["left"]) == source["worst"]["left"]


def test_json_is_the_document(outcomes: list[together.Outcome], written: Path) -> None:
    stored = json.loads((written / "ledger.json").read_text(), parse_constant=pytest.fail)
    wanted = together.document(outcomes, mutants=True)
    assert stored["summary"] == wanted["summary"]
    assert [row["margin"] for row in stored["claims"]] == [r["margin"] for r in wanted["claims"]]


def test_markdown_tables_have_one_width(written: Path) -> None:
    text = (written / "ledger.md").read_text()
    for block in text.split("\n\n"):
        rows = [line for line in block.splitlines() if line.startswith("|")]
        assert len({len(re.findall(r"(?<!\\)\|", row)) for row in rows}) <= 1
    assert "M3" in text


def test_latex_has_no_bare_special_character(written: Path) -> None:
    text = (written / "ledger.tex").read_text()
    assert text.count(r"\begin{tabular}") == text.count(r"\end{tabular}") > 1
    cells = [line for line in text.splitlines() if line.endswith(r"\\")]
    assert cells
    for cell in cells:
        assert not re.search(r"(?<!\\)[_%#]", cell)


def test_every_claim_has_its_card(written: Path) -> None:
    page = Page((written / "ledger.html").read_text())
    assert page.open == []
    assert {card["data-claim"] for card in page.articles} == set(NAMES)
    assert len(page.ids) == len(set(page.ids))
    for link in page.links:
        local = link.startswith("#") or re.fullmatch(r"ledger\.\w+", link) or link == "data:,"
        assert local, link
        if link.startswith("#"):
            assert link[1:] in page.ids


def test_a_failure_shows_its_counterexample_and_its_repair(written: Path) -> None:
    text = (written / "ledger.html").read_text()
    (card,) = re.findall(r'<article id="claim-M3".*?</article>', text, re.DOTALL)
    for part in ("verify --replay M3-overwrite", "<b>Repair.</b>", 'class="violated"', "M3-R"):
        assert part in card
    assert 'class="formula"' in card
    assert "(rejected)" in card
    assert card.count("<h3>") == 1
    assert "Lemma A.6, Gradient Error Contraction" in " ".join(card.split())
    assert re.search(r"#claim-M3\">M3</a> <span class=\"label\">Lemma A.6<", text)


def test_nothing_comes_from_elsewhere(written: Path) -> None:
    text = (written / "ledger.html").read_text()
    assert not re.search(r"https?://|@import|url\(|fetch\(|XMLHttpRequest", text)


def test_the_files_are_the_same_on_every_run(
    outcomes: list[together.Outcome], written: Path, tmp_path: Path
) -> None:
    document = together.document(outcomes, mutants=True)
    ledger_files.write(tmp_path, document, outcomes, "quick", NAMES)
    for path in tmp_path.iterdir():
        assert path.read_bytes() == (written / path.name).read_bytes()


def test_awkward_texts_are_escaped(tmp_path: Path) -> None:
    pattern = ("tests.report.test_ledger_files:AWKWARD",)
    found = together.begun(pattern, jobs=1)()
    ledger_files.write(tmp_path, together.document(found, False), found, "quick", pattern)
    text = (tmp_path / "ledger.html").read_text()
    assert Page(text).open == []
    assert "<b>&" not in text
    assert r"<code>\nosuchcommand &lt; 1</code>" in text
    assert r"odd\textbar{}\_\&section" in (tmp_path / "ledger.tex").read_text()


def test_the_diagonal_parts_what_holds_from_what_does_not() -> None:
    claim = select(["U3"])[0]
    points = [PlotPoint(1e-3, 1e-5, False), PlotPoint(1e-5, 1e-2, True), PlotPoint(0.0, 1e-4, True)]
    picture = ET.fromstring(render("ledger_plot.svg", plot=plot(claim, points)))
    paths = {path.attrib["class"]: path.attrib["d"] for path in picture.iter("path")}
    assert paths["holds"].count("h0") == 1
    assert paths["violated"].count("l7 7") == 2
    (x, y), (x_bad, y_bad) = (
        tuple(map(float, re.findall(r"[\d.]+", paths[name])[:2])) for name in ("holds", "violated")
    )
    assert y - 10 > SIZE - (x - 50)  # below the diagonal
    assert y_bad - 10 < SIZE - (x_bad - 50)
    assert limits(points) == (-6, -1)
    assert plot(claim, []) is None


def test_a_sample_keeps_the_worst_and_every_violation() -> None:
    claim = Claim("X", "x", "arithmetic", "s", "f", compare=lambda s: s)
    import numpy as np

    left = np.linspace(1.0, 3.0, 5000)
    sample = Sample()
    sample.watch(claim, Comparison(left, np.full(5000, 2.9)), "literal")
    kept = sample.thinned()
    assert len(kept) <= MOST
    assert max(p.measured for p in kept) == 3.0
    assert all(p.violated == (p.measured > 2.9) for p in kept)
    assert sample.total == 5000
    assert sample.below == 0
    allowed, measured = sides(claim, Comparison(left, np.full(5000, 2.9)))
    assert (allowed == 2.9).all()
    assert (measured == left).all()


def test_readings_with_one_verdict_share_a_line(outcomes: list[together.Outcome]) -> None:
    document = together.document(outcomes, mutants=False)
    known = {claim.id: claim for claim in select(NAMES)}
    m1 = {
        (x.where, x.verdict): x.readings for x in lines(document["claims"], known) if x.id == "M1"
    }
    assert m1[("off-sync", "holds")] == ("literal", "average-first", "overwrite")
    assert m1[("sync", "violated")] == ("literal",)
    assert m1[("sync", "holds")] == ("average-first", "overwrite")
    cells = {
        name: cell
        for name, _, cell in matrix(document, known, {"M1": "error accumulation"}).printed
    }
    assert cells["M1"]["literal"] == "FAILS at a sync, right side 0"
    assert cells["M1"]["overwrite"] == "holds"
    assert cells["M1"]["average-both"] == "-"


def test_excess() -> None:
    assert excess(None) == "right side 0"
    assert excess(1e-12) == "right side 0"
    assert excess(0.25) == "exceeded x4"
    assert excess(0.9999) == "exceeded x1.0001"


CHROMIUM = shutil.which("chromium")


@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium browser")
def test_the_page_filters_and_sorts(written: Path, tmp_path: Path) -> None:
    """The script runs: a filter by verdict hides rows and cards, a click on a heading sorts."""
    probe = """<script>
      var form = document.querySelector(".controls");
      form.elements.verdict.value = "violated";
      form.dispatchEvent(new Event("input"));
      var rows = Array.from(document.querySelectorAll(".ledger tbody tr"));
      var shown = rows.filter(r => !r.hidden).map(r => r.dataset.verdict);
      var cards = Array.from(document.querySelectorAll("article:not([hidden])"));
      var head = document.querySelectorAll(".ledger th")[2];
      head.click();
      var values = Array.from(document.querySelectorAll(".ledger tbody td.n"))
        .map(c => c.dataset.value).filter(v => v !== "").map(Number);
      document.title = JSON.stringify({
        shown: shown, cards: cards.map(c => c.dataset.claim), values: values,
        wide: document.documentElement.scrollWidth <= document.documentElement.clientWidth
      });
    </script></body>"""
    page = tmp_path / "probe.html"
    page.write_text((written / "ledger.html").read_text().replace("</body>", probe))
    done = subprocess.run(
        [
            *(str(CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"),
            *("--window-size=400,800", f"--user-data-dir={tmp_path / 'profile'}", page.as_uri()),
        ],
        capture_output=True,
        text=True,
        timeout=120,
    )
    (title,) = re.findall(r"<title>(.*?)</title>", done.stdout)
    found = json.loads(title.replace("&quot;", '"'))
    assert set(found["shown"]) == {Verdict.VIOLATED.value}
    assert set(found["cards"]) == {"M1", "M3", "U2", "SP1"}
    assert found["values"] == sorted(found["values"])
    assert found["wide"]  # nothing but the tables scrolls sideways on a telephone
