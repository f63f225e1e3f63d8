"""The report: tables in four forms, one page that needs nothing else, and the same every time."""

import base64
import csv
import io
import json
import re
import shutil
import subprocess
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from jinja2 import UndefinedError
from matplotlib.figure import Figure as Canvas

from stemtheory._version import __version__
from stemtheory.bounds.verdicts import Margin
from stemtheory.experiment import Machine, points, run_sweep, weight
from stemtheory.experiment.design.spec import Spec, parse_spec
from stemtheory.experiment.execute import workers
from stemtheory.oracles import catalogue
from stemtheory.report import drawing, report_sweeps
from stemtheory.report import reproduction as report
from stemtheory.report.drawing import Figure
from stemtheory.report.figure_table import FigureTable, Quantity
from stemtheory.report.manifest import Manifest, key_of, reachable
from stemtheory.report.pages import render
from stemtheory.report.panels import Panel
from stemtheory.report.report_page import caption_parts, report_page
from stemtheory.report.tables import Column, Table, shown
from stemtheory.runtime import Verdict, side_by_side
from stemtheory.runtime.errors import UsageError
from stemtheory.simulator.trace import Trace

AWKWARD = "a|b & <c> 50% #_{x}^~\\"
TABLE = Table(
    "Title",
    AWKWARD,
    (Column("name", False), Column("value"), Column("steps")),
    ((AWKWARD, 0.1 + 0.2, 12345), ("plain", None, 7)),
)


def test_csv_gives_every_number_back() -> None:
    rows = list(csv.reader(io.StringIO(TABLE.csv())))
    assert rows[0] == ["name", "value", "steps"]
    assert rows[1][0] == AWKWARD
    assert float(rows[1][1]) == 0.1 + 0.2
    assert rows[2] == ["plain", "", "7"]


def test_markdown_has_as_many_cells_in_every_row() -> None:
    lines = [line for line in TABLE.markdown().splitlines() if line.startswith("|")]
    assert [len(re.findall(r"(?<!\\)\|", line)) for line in lines] == [4, 4, 4, 4]
    assert lines[1] == "| --- | ---: | ---: |"
    assert lines[3] == "| plain | – | 7 |"


def test_latex_escapes_what_latex_reads() -> None:
    text = TABLE.latex()
    assert r"\begin{tabular}{lrr}" in text
    assert (
        r"a\textbar{}b \& \textless{}c\textgreater{} 50\% \#\_\{x\}"
        r"\textasciicircum{}\textasciitilde{}\textbackslash{}" in text
    )
    assert r"plain & -- & 7 \\" in text
    rows = [line for line in text.splitlines() if line.endswith(r"\\")]
    assert [len(re.findall(r"(?<!\\)&", row)) for row in rows] == [2, 2, 2]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"),
        (3, "3"),
        (254470, "254,470"),
        (0.5, "0.5"),
        (16.0, "16"),
        (64 ** (1 / 3), "4"),
        (0.0170123, "0.0170"),
        (385.2, "385"),
        (6098.59, "6,100"),
        (1.23456e9, "1.23e+09"),
        (float("inf"), "inf"),
        ("holds", "holds"),
    ],
)
def test_numbers_are_shown_with_three_digits(value: Any, text: str) -> None:
    assert shown(value) == text


class Reader(HTMLParser):
    """Collects what a page points at, its anchors and text, and whether its tags close."""

    EMPTY = frozenset({"meta", "link", "img", "br", "input", "wbr"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.points: list[str] = []
        self.anchors: set[str] = set()
        self.alts: list[str | None] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in self.EMPTY:
            self.open.append(tag)
        values = dict(attrs)
        self.points += [v for k in ("src", "href") if (v := values.get(k)) is not None]
        self.anchors |= {v for v in (values.get("id"),) if v}
        self.alts += [values.get("alt")] if tag == "img" else []

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def page_faults(text: str, folder: Path) -> list[str]:
    """Return what a page lacks, or points at and should not."""
    reader = Reader(text)
    faults = [f"<{tag}> is not closed" for tag in reader.open]
    faults += ["a picture without a text" for alt in reader.alts if not alt]
    for point in reader.points:
        if point.startswith("#"):
            faults += [] if point[1:] in reader.anchors else [f"no place {point}"]
        elif not point.startswith("data:") and not (folder / point.partition("#")[0]).is_file():
            faults.append(f"no file {point}")
    return faults + re.findall(r"@import|url\(", text)


def test_the_page_is_whole_and_escaped(tmp_path: Path) -> None:
    (tmp_path / "bounds.csv").write_bytes(b"1")
    for ending in ("md", "tex"):
        (tmp_path / f"bounds.{ending}").touch()
    for ending in ("csv", "md", "tex", "html"):
        (tmp_path / f"ledger.{ending}").touch()
    (tmp_path / "explorer.html").touch()
    text = report_page(
        tmp_path,
        mode="quick",
        seed=0,
        known={},
        ledger={"claims": [], "summary": {}, "unexpected": []},
        bounds=TABLE,
        figures=[],
        left_out={AWKWARD: AWKWARD},
        sweeps=[],
        long_sweeps=[AWKWARD],
        manifest=Manifest(tmp_path),
    )
    assert page_faults(text, tmp_path) == []
    assert "".join(Reader(text).words).count(AWKWARD) == 6
    assert "<c>" not in text
    assert '<a download="bounds.csv" href="data:text/plain;base64,MQ==">' in text
    assert '<td class="n">12,345</td>' in text


def test_a_name_that_a_template_lacks_is_an_error() -> None:
    with pytest.raises(UndefinedError, match="title"):
        render("page.html", sections={})


@pytest.mark.parametrize(
    "mutant",
    [
        '<img alt="" src="data:,">',
        '<img alt="x" src="https://example.org/a.png">',
        '<a href="#nowhere">x</a>',
        "<style>@import 'x.css'</style>",
        "<div>",
    ],
)
def test_a_page_that_needs_more_is_rejected(mutant: str, tmp_path: Path) -> None:
    assert len(page_faults(mutant, tmp_path)) == 1


def _table(mode: str, store: Path | None, progress: Any) -> FigureTable:
    quantities = Quantity("x", "$x_1$"), Quantity("y", "$y$")
    return FigureTable.of(quantities, [{"x": [1, 2], "y": [1, 2]}])


def _draw(data: FigureTable, figure: Canvas) -> None:
    Panel(figure.subplots(), data, "x", "y").line(data)


CAPTION = "A line < 2 & more. It has 2 points. Not claimed: that it is straight."
PARTS = {
    "Seen": "A line < 2 & more.",
    "Numbers": "It has 2 points.",
    "Not claimed": "That it is straight.",
    "Command": f"stemtheory figure stub --quick; seed 0; stemtheory {__version__}.",
}
SMALL = Table("Small", "A note.", (Column("name", False), Column("value")), (("a < b", 0.25),))
STUB = Figure("stub", "a line", _table, _draw, lambda _: CAPTION, view=lambda _: SMALL)


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the whole pipeline short: one problem, few steps, one simple figure."""
    monkeypatch.setattr(report, "PROBLEMS", ("quadratic",))
    monkeypatch.setattr(report, "STEPS", {"quick": 64, "full": 128})
    monkeypatch.setattr(report, "REPLICATES", 8)
    monkeypatch.setattr(report, "cores", lambda: 1)  # another process would know nothing of this
    listed = {"figures": ["stub"], "sweeps": []}
    names, entry = catalogue.names, drawing.figure_entry

    def find(name: str) -> Figure:
        return STUB if name == "stub" else entry(name)

    monkeypatch.setattr(
        catalogue,
        "names",
        lambda folder, **more: listed[folder] if folder in listed else names(folder, **more),
    )
    monkeypatch.setattr(report, "CLAIMS", ("U2*", "SP1", "SCH4"))
    monkeypatch.setattr(drawing, "figure_entry", find)
    monkeypatch.setattr(report, "figure_entry", find)


def contents(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.mark.usefixtures("short")
def test_reproduce_writes_one_report(tmp_path: Path) -> None:
    notes: list[str] = []
    result = report.reproduce(mode="quick", out=tmp_path / "a", progress=notes.append)
    assert set(result) == {"report", "verify", "figures", "seconds"}
    assert result["verify"]["unexpected"] == []
    assert result["verify"]["summary"] == {"holds": 2, "violated": 2}
    assert [figure["name"] for figure in result["figures"]] == ["stub"]
    assert any("quadratic" in note for note in notes)
    files = contents(tmp_path / "a")
    assert set(files) == {
        "index.html",
        "explorer.html",
        "manifest.json",
        *(f"bounds.{ending}" for ending in ("csv", "md", "tex")),
        *(f"ledger.{ending}" for ending in ("csv", "json", "md", "tex", "html")),
        *(f"figures/stub.{ending}" for ending in ("png", "txt", "csv", "md", "tex")),
    }
    assert Path(result["report"]) == tmp_path / "a/index.html"
    text = files["index.html"].decode()
    assert page_faults(text, tmp_path / "a") == []
    words = "".join(Reader(text).words)
    for title, part in PARTS.items():
        assert f"{title}. {part}" in words
    assert Reader(text).alts == ["A line. y against x_1"]
    # a failing line is a link to its entry, and its statement is the paper's
    assert 'href="ledger.html#claim-SP1"' in text
    assert "what is claimed there, in our words" in words
    assert "STEM (x) with a_t = 1 is FedAvg (y), as printed." in words
    ledger = Reader(files["ledger.html"].decode())
    assert {p.partition("#")[2] for p in Reader(text).points if "#claim-" in p} <= ledger.anchors
    # the picture stands there once, and the page is smaller than with its PNG
    (picture,) = re.findall(r'<img [^>]*src="data:image/(?:png|svg\+xml);base64,([^"]+)"', text)
    assert len(base64.b64decode(picture)) <= len(files["figures/stub.png"])
    # STEM has two bounds in the table and FedAvg one, at three values of nu
    rows = list(csv.DictReader(io.StringIO(files["bounds.csv"].decode())))
    assert len(rows) == 9
    assert all(float(row["95% low"]) <= float(row["measured"]) for row in rows)
    # the same again, byte for byte; default means quick
    report.reproduce(mode="default", out=tmp_path / "b")
    assert contents(tmp_path / "b") == files
    report.reproduce(mode="full", out=tmp_path / "b")
    full = contents(tmp_path / "b")
    assert full["bounds.csv"] != files["bounds.csv"]
    # the other formats come with the full form, and where they are asked for
    assert set(full) - set(files) == {"figures/stub.pdf", "figures/stub.svg"}
    report.reproduce(mode="quick", out=tmp_path / "a", formats=["svg"])
    asked = contents(tmp_path / "a")
    assert set(asked) - set(files) == {"figures/stub.svg"}
    for one in (*files, "figures/stub.svg"):
        assert one in ("index.html", "manifest.json") or asked[one] == {**full, **files}[one]


@pytest.mark.usefixtures("short")
def test_a_second_run_does_only_what_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The files are the same, and only what was touched, damaged or asked anew is made again."""

    def done() -> list[str]:
        notes: list[str] = []
        report.reproduce(mode="quick", out=tmp_path, progress=notes.append)
        return [n for n in notes if "as before" not in n and n != "writing the report"]

    first = done()
    assert any("checking" in note for note in first)
    files = contents(tmp_path)
    assert done() == []
    assert contents(tmp_path) == files
    (tmp_path / "figures/stub.png").write_text("damaged")
    assert done() == ["drawing 1 of 1 figures", "figure stub: drawn"]
    assert contents(tmp_path) == files
    (tmp_path / "bounds.csv").unlink()
    assert done() == ["measured against bound: quadratic"]
    monkeypatch.setattr(report, "CLAIMS", ("U2*", "SP1"))
    assert done() == ["checking every claim"]
    (tmp_path / "manifest.json").write_text("{")
    assert len(done()) == len(first)


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize(
    ("mode", "order"),
    [
        ("quick", ["bounds begun", "claims begun", "sweeps", "claims", "bounds"]),
        ("full", ["bounds begun", "claims begun", "claims", "bounds", "sweeps"]),
    ],
)
def test_claims_and_bounds_are_begun_before_the_sweeps(
    mode: str, order: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where sweeps take hours, what is done is kept before them."""
    seen: list[str] = []

    def watched(name: str, begin: Any) -> Any:
        def begun(*given: Any) -> Any:
            wait = begin(*given)
            seen.append(f"{name} begun")

            def told() -> Any:
                seen.append(name)
                return wait()

            return told

        return begun

    def swept(*_: Any) -> tuple[list[Any], list[str]]:
        seen.append("sweeps")
        return [], []

    for name in ("claims", "bounds"):
        monkeypatch.setattr(report, f"begun_{name}", watched(name, vars(report)[f"begun_{name}"]))
    monkeypatch.setattr(report_sweeps, "every_sweep", swept)
    report.reproduce(mode=mode, out=tmp_path)
    assert seen == order


def test_which_sweeps_fit_is_known_without_a_probe(monkeypatch: pytest.MonkeyPatch) -> None:
    """The weights are those of the cells that a new store would have."""
    spec = parse_spec(SWEEP, "mine", "quick")
    monkeypatch.setattr(report_sweeps, "load_spec", lambda *_: spec)
    monkeypatch.setattr(workers.Worker, "_started", lambda _: pytest.fail("a process was started"))
    with pytest.raises(pytest.fail.Exception, match="was started"):
        run_sweep(spec, store=Path("no such store"), dry_run=True)  # the mutant: it measures
    plan = points(spec, Machine("numpy"))
    cells = {point.cell.id: point.cell for point in plan}
    assert report_sweeps.predicted("mine", "quick") == sum(map(weight, cells.values()))


SWEEP = """
summary = "Two lengths"
[settings]
problem = "quadratic"
K = 2
dim = 1
replicates = 4
seed = 0
[algorithms.stem]
[grids.small]
kind = "zip"
T = [8, 16]
b = [1, 1]
I = [1, 1]
"""


@pytest.mark.usefixtures("short")
def test_sweeps_within_the_budget_are_in_the_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = catalogue.names

    def listed(folder: str, **more: Any) -> list[str]:
        return ["small", "large"] if folder == "sweeps" else names(folder, **more)

    def spec(name: str, mode: str) -> Spec:
        text = SWEEP if name == "small" else SWEEP.replace("16", "1_000_000_000")
        return parse_spec(text, name, mode)

    monkeypatch.setattr(catalogue, "names", listed)
    monkeypatch.setattr(report_sweeps, "load_spec", spec)
    read: list[Path | None] = []

    def reading(mode: str, store: Path | None, progress: Any) -> FigureTable:
        read.append(store)
        return _table(mode, store, progress)

    figure = replace(STUB, sweep="small", table=reading)
    for module in (drawing, report):
        monkeypatch.setattr(module, "figure_entry", lambda name: figure)
    notes: list[str] = []
    report.reproduce(mode="quick", out=tmp_path, progress=notes.append)
    assert "sweep small: running" in notes
    assert read == [tmp_path / "sweeps/small-quick.sqlite"]
    table = (tmp_path / "sweeps/small-quick.csv").read_text()
    assert len(list(csv.DictReader(io.StringIO(table)))) == 2
    text = (tmp_path / "index.html").read_text()
    assert page_faults(text, tmp_path) == []
    assert "stemtheory sweep large --quick" in text
    before = (tmp_path / "index.html").read_bytes()
    notes.clear()
    report.reproduce(mode="quick", out=tmp_path, progress=notes.append)
    assert "sweep small: as before" in notes
    assert (tmp_path / "index.html").read_bytes() == before
    (tmp_path / "sweeps/small-quick.csv").unlink()  # its cells are in the store
    report.reproduce(mode="quick", out=tmp_path)
    assert (tmp_path / "sweeps/small-quick.csv").is_file()


def test_runs_side_by_side_are_those_of_one_process() -> None:
    orders = [("quadratic", algorithm, 0.5, 64) for algorithm in report.BOUNDS_SHOWN]
    one, two = (dict(side_by_side(report.rows_of_run, orders, jobs)) for jobs in (1, 2))
    assert one == two
    assert list(one) == orders


def test_figures_side_by_side_are_those_of_one_process(tmp_path: Path) -> None:
    """What is asked of another process can be sent to it, and its files are the same."""
    names = ("tests.helpers.example_figure:ENTRY", "tests.report.test_drawing:LINE")
    for jobs in (1, 2):
        orders = report.orders_of(dict.fromkeys(names, "quick"), ("png",), tmp_path / str(jobs))
        assert len(orders) == 2  # they show two tables
        found = [f for (f,) in side_by_side(report.figures_of, orders, jobs)]
        assert {f["name"] for f in found} == {"bound", "line"}
        assert {file for f in found for file in f["files"]} == set(contents(tmp_path / str(jobs)))
    assert contents(tmp_path / "1") == contents(tmp_path / "2")


def test_a_caption_falls_into_what_is_seen_its_numbers_and_what_is_not_claimed() -> None:
    text = "Rounds to epsilon, with K = 2. (a) At I = 4: 3.2. Not claimed: rates.\n\nCommand: x."
    assert caption_parts(text) == {
        "Seen": "Rounds to epsilon, with K = 2.",
        "Numbers": "(a) At I = 4: 3.2.",
        "Not claimed": "Rates.",
        "Command": "x.",
    }
    assert caption_parts("Rounds") == {"Seen": "Rounds"}


def test_figures_of_a_stored_sweep_say_which() -> None:
    figures = {n: drawing.figure_entry(n) for n in catalogue.names("figures")}
    named = {entry.sweep for entry in figures.values() if entry.sweep}
    assert named == {"floors", "heterogeneity", "margins", "systems", "tradeoff"}
    assert named <= set(catalogue.names("sweeps"))


def test_the_key_follows_the_code_that_is_reached() -> None:
    modules = reachable(["stemtheory.figures.tuned"])
    assert {
        "stemtheory.figures._exact",
        "stemtheory.moments.exact",
        "stemtheory.problems.cosine",
    } <= (reachable(["stemtheory.figures.tuned", "stemtheory.problems"]))
    assert not [m for m in modules if m.startswith(("stemtheory.claims", "stemtheory.cli.app"))]
    assert "stemtheory.figures.drift" not in modules
    assert "stemtheory.claims.paper.stem.rates" in reachable(["stemtheory.claims"])
    roots = ["stemtheory.runtime.errors"]
    assert key_of(roots, "quick") == key_of(roots, "quick") != key_of(roots, "full")


CHROMIUM = shutil.which("chromium")


@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium browser")
@pytest.mark.usefixtures("short")
def test_the_report_works_in_a_browser(tmp_path: Path) -> None:
    """Opened from a file, on a telephone: no error, the filter hides rows, a heading sorts."""
    report.reproduce(mode="quick", out=tmp_path)
    watch = """<script>
      var errors = [];
      window.addEventListener("error", function (e) { errors.push(String(e.message)); }, true);
      console.error = console.warn = function (text) { errors.push(String(text)); };
    </script><title>"""
    probe = """<script>
      var form = document.querySelector(".controls");
      form.elements.verdict.value = "holds";
      form.dispatchEvent(new Event("input"));
      var rows = Array.from(document.querySelectorAll(".ledger tbody tr"));
      var kept = rows.filter(r => !r.hidden).map(r => r.dataset.verdict);
      form.elements.verdict.value = "";
      form.dispatchEvent(new Event("input"));
      document.querySelectorAll(".ledger th")[2].click();
      var values = Array.from(document.querySelectorAll(".ledger tbody td.n"))
        .map(c => c.dataset.value).filter(v => v !== "").map(Number);
      document.querySelectorAll("details").forEach(part => { part.open = true; });
      window.dispatchEvent(new Event("resize"));
      document.title = JSON.stringify({
        errors: errors, kept: kept, rows: rows.length, values: values,
        drawn: Array.from(document.images).map(i => i.complete && i.naturalWidth > 0),
        hidden: document.querySelectorAll("main > section[hidden]").length,
        first: Array.from(document.querySelectorAll(".ledger thead th")).slice(0, 3)
          .map(h => h.textContent),
        cues: Array.from(document.querySelectorAll(".wide")).every(box =>
          (box.scrollWidth > box.clientWidth + 1)
          == (getComputedStyle(box.previousElementSibling).display == "block")),
        fits: document.documentElement.scrollWidth <= document.documentElement.clientWidth
      });
    </script></body>"""
    text = (tmp_path / "index.html").read_text()
    shown = text.replace("<title>", watch, 1).replace("</body>", probe)
    found = _title_of(shown, 400, tmp_path)
    assert found["errors"] == []
    assert found["kept"] == ["holds"] * 2
    assert found["rows"] == 4
    assert found["values"] == sorted(found["values"])
    assert found["drawn"] == [True]
    assert found["hidden"] == 0
    assert found["first"] == ["claim", "verdict", "margin"]
    assert found["cues"]  # a box that scrolls says so, and no other
    assert found["fits"]  # nothing but the tables scrolls sideways
    printed = _title_of(text.replace("</body>", PRINTED), PAPER, tmp_path)
    assert printed["fits"], printed["widest"]
    assert printed["columns"] == 6  # none vanishes, in what is folded on a screen as well
    assert printed["highest"] < 60
    wide = text.replace("</body>", f"<p style='white-space: nowrap'>{200 * 'x'}</p>" + PRINTED)
    assert not _title_of(wide, PAPER, tmp_path)["fits"]


PAPER = 718  # pixels between the margins of A4
PRINTED = """<script>
  for (const sheet of document.styleSheets)
    for (const rule of sheet.cssRules)
      if (rule.media) rule.media.mediaText = rule.media.mediaText == "print" ? "all" : "speech";
  window.dispatchEvent(new Event("beforeprint"));
  document.title = JSON.stringify({
    fits: document.documentElement.scrollWidth <= document.documentElement.clientWidth,
    columns: Array.from(document.querySelectorAll(".ledger thead th"))
      .filter(h => h.offsetWidth > 0).length,
    highest: Math.max(...Array.from(document.querySelectorAll("tbody tr"))
      .map(r => r.offsetHeight)),
    widest: Array.from(document.querySelectorAll("main *"))
      .filter(e => e.getBoundingClientRect().right > document.documentElement.clientWidth)
      .map(e => e.outerHTML.slice(0, 80)).slice(0, 3)
  });
</script></body>"""


def _title_of(text: str, width: int, folder: Path) -> dict[str, Any]:
    """Return what a page has put into its title, opened from a file in a window so wide."""
    page = folder / "probe.html"
    page.write_text(text)
    done = subprocess.run(
        [
            *(str(CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"),
            *(f"--window-size={width},800", f"--user-data-dir={folder / 'profile'}"),
            page.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=120,
    )
    (title,) = re.findall(r"<title>(.*?)</title>", done.stdout)
    found: dict[str, Any] = json.loads(title.replace("&quot;", '"'))
    return found


@pytest.mark.usefixtures("short")
def test_a_violated_bound_is_unexpected(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def violated(trace: Trace) -> tuple[Margin, ...]:
        return tuple(replace(m, margin=0.5, verdict=Verdict.VIOLATED) for m in bounds(trace))

    bounds = Trace.bounds
    monkeypatch.setattr(Trace, "bounds", violated)
    unexpected = report.reproduce(mode="quick", out=tmp_path)["verify"]["unexpected"]
    assert len(unexpected) == 9
    assert {row["verdict"] for row in unexpected} == {"violated"}


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize(
    ("mode", "kind", "place"),
    [("slow", "png", "new"), ("quick", "gif", "new"), ("quick", "png", "file/out")],
)
def test_bad_input_is_refused_before_any_work(
    mode: str, kind: str, place: str, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    notes: list[str] = []
    with pytest.raises(UsageError):
        report.reproduce(mode=mode, out=tmp_path / place, progress=notes.append, formats=[kind])
    assert notes == []
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_the_table_says_what_was_measured() -> None:
    """A run on the curve is judged by the theorem's two forms, and by nothing repaired."""
    rows = report.bound_rows(report.run("geman_mcclure", "stem", 0.5, 4096))
    assert [row[10] for row in rows] == ["stem-theorem", "stem-intermediate"]
    assert [row[-1] for row in rows] == ["vacuous", "holds"]
    for row in rows:
        measured, low, high, value, margin = (float(row[i] or 0) for i in (7, 8, 9, 11, 12))
        assert low < measured < high
        assert margin == pytest.approx(value / high)
