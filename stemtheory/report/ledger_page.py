"""The ledger as a page: a table that filters and sorts, and a card per claim.

A card holds the claim's formula, its premises, a plot of both sides over the panel, its verdicts
and worst case, and for a failure the counterexample and the repair. The page filters and sorts
with a few lines of its own script and needs no network.
"""

from __future__ import annotations

import html
import json
from collections.abc import Mapping, Sequence
from typing import Any

from stemtheory._version import __version__
from stemtheory.claims import Claim, Outcome, counterexamples, premises
from stemtheory.report.formula import Typesetter
from stemtheory.report.ledger_plot import plot
from stemtheory.report.ledger_rows import Line, lines
from stemtheory.report.tables import Section, page, shown
from stemtheory.runtime import UsageError

TITLE = "STEM and FedAvg: every line of the paper, put to the test"
NOTE = (
    "Margin: right over left side in excess form; for equalities in expectation the critical value"
    " over |z|, for identities the error budget over the error, for rates (half-width + tolerance)"
    " over the deviation. Below 1 is violated; 1 is attained."
)


def html_page(
    document: Mapping[str, Any],
    outcomes: Sequence[Outcome],
    level: str,
    known: Mapping[str, Claim],
) -> str:
    """Return the page: a summary, the table of all rows, and a card per claim."""
    setter = Typesetter()
    found = lines(document["claims"], known)
    by_claim: dict[str, list[Line]] = {}
    for item in found:
        by_claim.setdefault(item.id, []).append(item)
    cards: dict[str, list[str]] = {}
    for outcome in outcomes:
        claim = known[outcome.name]
        text = card(claim, by_claim[claim.id], outcome, setter)
        cards.setdefault(claim.section, []).append(text)
    sections = [Section("ledger", "The ledger", table(found, known))]
    sections += [
        Section(f"section-{name}", name.replace("-", " ").capitalize(), "\n".join(texts))
        for name, texts in cards.items()
    ]
    lead = _lead(document, level) + setter.defs()
    return page(TITLE, lead, sections, style=STYLE, script=SCRIPT)


def card(claim: Claim, found: Sequence[Line], outcome: Outcome, setter: Typesetter) -> str:
    """Return the card of one claim."""
    verdicts = " ".join(dict.fromkeys(item.verdict for item in found))
    unexpected = any(item.unexpected for item in found)
    parts = [
        f"<h3>{html.escape(claim.id)} {_badges(found)}</h3>",
        f'<p class="label">{html.escape(claim.label)} · {claim.kind}</p>',
        f"<p>{html.escape(claim.statement)}</p>",
        f'<div class="wide" tabindex="0">{_formula(claim, setter)}</div>',
        _premises(claim),
        _rows(found),
        _paragraph("Why", claim.reason),
        _paragraph("Repair", claim.repair),
        _counterexamples(claim),
        _mutants(claim, outcome),
    ]
    picture = _picture(claim, outcome)
    return (
        f'<article id="claim-{html.escape(claim.id)}" data-claim="{html.escape(claim.id)}"'
        f' data-section="{html.escape(claim.section)}" data-verdict="{verdicts}"'
        f' data-unexpected="{int(unexpected)}">\n<div>{"".join(parts)}</div>\n{picture}</article>'
    )


def _formula(claim: Claim, setter: Typesetter) -> str:
    """Return the drawn formula; a user's own that cannot be drawn stands as it was written."""
    try:
        return setter.svg(claim.formula)
    except UsageError:
        return f"<code>{html.escape(claim.formula)}</code>"


def _lead(document: Mapping[str, Any], level: str) -> str:
    counts = ", ".join(f"{n} {verdict}" for verdict, n in document["summary"].items())
    unexpected = len(document["unexpected"])
    tried = document.get("mutants")
    rejected = ""
    if tried is not None:
        good = sum(m["rejected"] for m in tried)
        rejected = f" Of {len(tried)} mutants (wrong versions), {good} were rejected."
    flag = "" if level == "default" else f" --{level}"
    return (
        f"<p>{len(document['claims'])} rows: {html.escape(counts)};"
        f" {unexpected or 'none'} of them unexpected.{rejected} A failure that is expected is one"
        " that this project found and holds a counterexample of.</p>"
        f"<p>Made by <code>stemtheory verify{flag} --out DIR</code>, stemtheory {__version__}."
        " The same ledger: " + ", ".join(_link(f"ledger.{e}") for e in ("csv", "json", "md", "tex"))
        + f'.</p><p class="note">{html.escape(NOTE)}</p>'
    )  # fmt: skip


def _link(name: str) -> str:
    return f'<a href="{name}">{name}</a>'


def table(found: Sequence[Line], known: Mapping[str, Claim], cards: str = "") -> str:
    """Return the controls and the table of all rows; ``cards`` is the page that has the cards."""
    sections = dict.fromkeys(claim.section for claim in known.values())
    verdicts = dict.fromkeys(item.verdict for item in found)
    head = "".join(
        f'<th scope="col" aria-sort="none"><button type="button">{name}</button></th>'
        for name in ("claim", "section", "where", "verdict", "margin", "reason")
    )
    body = []
    for item in found:
        claim = known[item.id]
        margin = "" if item.margin is None else repr(item.margin)
        body.append(
            f'<tr data-claim="{html.escape(item.id)}" data-section="{html.escape(claim.section)}"'
            f' data-verdict="{item.verdict}" data-unexpected="{int(item.unexpected)}">'
            f'<td><a href="{cards}#claim-{html.escape(item.id)}">{html.escape(item.id)}</a></td>'
            f"<td>{html.escape(claim.section)}</td><td>{html.escape(item.place)}</td>"
            f'<td>{_badge(item)}</td><td class="n" data-value="{margin}">{shown(item.margin)}</td>'
            f'<td class="reason">{html.escape(item.reason)}</td></tr>'
        )
    return (
        '<form class="controls" role="search">'
        '<label>Find <input type="search" name="text" placeholder="M3, sync, cosine"></label>'
        f"<label>Section {_select('section', list(sections))}</label>"
        f"<label>Verdict {_select('verdict', list(verdicts))}</label>"
        '<label><input type="checkbox" name="unexpected"> only what is unexpected</label>'
        '<output name="count"></output></form>'
        f'<div class="wide" tabindex="0"><table class="ledger"><thead><tr>{head}</tr></thead>'
        f"<tbody>\n{chr(10).join(body)}\n</tbody></table></div>"
    )


def _select(name: str, values: Sequence[str]) -> str:
    options = "".join(f"<option>{html.escape(value)}</option>" for value in values)
    return f'<select name="{name}"><option value="">all</option>{options}</select>'


def _badge(item: Line) -> str:
    mark = " unexpected" if item.unexpected else ""
    return f'<span class="badge {item.verdict}{mark}">{item.verdict}{" !" if mark else ""}</span>'


def _badges(found: Sequence[Line]) -> str:
    return " ".join(dict.fromkeys(_badge(item) for item in found))


def _premises(claim: Claim) -> str:
    names = premises(claim)
    return _paragraph("Premises", "; ".join(names)) if names else ""


def _rows(found: Sequence[Line]) -> str:
    rows = "".join(
        f"<tr><td>{html.escape(item.place) or 'everywhere'}</td><td>{_badge(item)}</td>"
        f'<td class="n">{shown(item.margin)}</td><td class="reason">{html.escape(item.reason)}'
        "</td></tr>"
        for item in found
    )
    head = '<tr><th class="t">where</th><th class="t">verdict</th><th class="n">margin</th>'
    return (
        f'<div class="wide" tabindex="0"><table><thead>{head}<th class="t">reason</th></tr>'
        f"</thead><tbody>{rows}</tbody></table></div>"
    )


def _paragraph(title: str, text: str) -> str:
    return f"<p><b>{title}.</b> {html.escape(text)}</p>" if text else ""


def _counterexamples(claim: Claim) -> str:
    """Return the shipped counterexamples: both sides, the command, and the case itself."""
    parts = []
    for case in counterexamples(claim):
        body = json.dumps({k: v for k, v in case.items() if k != "name"}, indent=1)
        parts.append(
            f"<details><summary>Counterexample <code>{case['name']}</code>: left"
            f" {case['left']:.6g}, right {case['right']:.6g}, {_when(case['t'])}</summary>"
            f"<p><code>stemtheory verify --replay {case['name']}</code></p>"
            f"<pre>{html.escape(body)}</pre></details>"
        )
    return "".join(parts)


def _when(t: Any) -> str:
    return html.escape(t) if isinstance(t, str) else f"t = {t}"


def _mutants(claim: Claim, outcome: Outcome) -> str:
    if outcome.mutants:
        texts = [f"{m['mutant']} ({_fate(m['rejected'])})" for m in outcome.mutants]
    else:
        texts = [mutant.name for mutant in claim.mutants] if claim.compare else []
    return _paragraph("Wrong versions that must be rejected", "; ".join(texts))


def _fate(rejected: bool) -> str:
    return "rejected" if rejected else "SURVIVED"


def _picture(claim: Claim, outcome: Outcome) -> str:
    drawing = plot(claim, outcome.points)
    if not drawing:
        return ""
    of = f"{len(outcome.points)} of {outcome.total:,} instances"
    below = f"; {outcome.below:,} have a side at or below 0" if outcome.below else ""
    return f"<figure>{drawing}<figcaption>{of}{below}</figcaption></figure>"


STYLE = """\
article { border-top: 1px solid #bbb; padding: 0.8rem 0; display: grid; gap: 0.5rem 1.5rem;
  grid-template-columns: minmax(0, 1fr) auto; }
article p { margin: 0.35rem 0; max-width: 46rem; }
article td { vertical-align: top; }
h3 { margin: 0; font-size: 1.1rem; }
.label { color: #555; font-size: 0.85rem; }
.reason { white-space: normal; min-width: 16rem; overflow-wrap: anywhere; }
nav ul { display: flex; flex-wrap: wrap; gap: 0.2rem 1.2rem; padding: 0; list-style: none; }
.formula { display: block; margin: 0.3rem 0; }
.plot { font: 10px system-ui, sans-serif; text-anchor: middle; max-width: 100%; height: auto; }
.plot .y { text-anchor: end; }
.plot path { fill: none; }
.plot .frame { stroke: #555; stroke-width: 1; }
.plot .diagonal { stroke: #555; stroke-width: 1; stroke-dasharray: 4 3; }
.plot .over { fill: #f6e9e4; }
.plot .holds { stroke: #00548a; stroke-width: 4; stroke-linecap: round; opacity: 0.6; }
.plot .violated { stroke: #b3300f; stroke-width: 1.6; }
figcaption { font-size: 0.75rem; color: #555; max-width: 18rem; }
.badge { display: inline-block; padding: 0 0.45rem; border-radius: 0.6rem; font-size: 0.8rem;
  font-weight: 600; border: 1px solid #777; white-space: nowrap; }
.badge.holds { color: #0b5a2b; border-color: #0b5a2b; }
.badge.violated { color: #b3300f; border-color: #b3300f; }
.badge.undecided { color: #7a5200; border-color: #7a5200; }
.badge.unexpected { background: #b3300f; color: #fff; }
.controls { display: flex; flex-wrap: wrap; gap: 0.5rem 1.2rem; align-items: center;
  margin-bottom: 0.6rem; font-size: 0.9rem; }
.controls input[type="search"], .controls select { font: inherit; padding: 0.15rem 0.3rem; }
th button { font: inherit; font-weight: 600; background: none; border: 0; padding: 0;
  cursor: pointer; }
th[aria-sort="ascending"] button::after { content: " \\2191"; }
th[aria-sort="descending"] button::after { content: " \\2193"; }
.ledger th, .ledger td { text-align: left; vertical-align: top; }
.ledger td.n { text-align: right; }
pre { font-size: 0.75rem; overflow-x: auto; }
[hidden] { display: none !important; }
@media (max-width: 48rem) {
  article { grid-template-columns: minmax(0, 1fr); }
  .ledger td:nth-child(2), .ledger th:nth-child(2),
  .ledger td:nth-child(6), .ledger th:nth-child(6) { display: none; }
  .reason { min-width: 11rem; }
}
@media print {
  .controls { display: none; }
  article { break-inside: avoid; grid-template-columns: minmax(0, 1fr) 12rem; }
  section + section { break-before: auto; }
  .plot { width: 12rem; }
  .formula { max-width: 100%; height: auto; }
  .reason { min-width: 0; }
}
"""
SCRIPT = """\
(function () {
  var form = document.querySelector(".controls");
  var table = document.querySelector(".ledger");
  var rows = Array.from(table.tBodies[0].rows);
  var cards = Array.from(document.querySelectorAll("article"));
  function text(node) { return node.textContent.toLowerCase(); }
  var words = new Map(rows.concat(cards).map(function (node) { return [node, text(node)]; }));
  function fits(node) {
    var d = node.dataset, f = form.elements;
    return (!f.section.value || d.section === f.section.value)
      && (!f.verdict.value || d.verdict.split(" ").indexOf(f.verdict.value) >= 0)
      && (!f.unexpected.checked || d.unexpected === "1")
      && f.text.value.toLowerCase().split(/\\s+/).every(function (word) {
        return words.get(node).indexOf(word) >= 0;
      });
  }
  function filter() {
    var kept = new Set();
    rows.forEach(function (row) {
      row.hidden = !fits(row);
      if (!row.hidden) { kept.add(row.dataset.claim); }
    });
    cards.forEach(function (card) {
      card.hidden = !(kept.has(card.dataset.claim) || fits(card));
    });
    document.querySelectorAll("main > section").forEach(function (section) {
      var own = section.querySelectorAll("article");
      section.hidden = own.length > 0 && !section.querySelector("article:not([hidden])");
    });
    var n = rows.filter(function (row) { return !row.hidden; }).length;
    form.elements.count.value = n + " of " + rows.length + " rows";
  }
  function key(row, column) {
    var cell = row.cells[column];
    if (cell.dataset.value === undefined) { return cell.textContent; }
    return cell.dataset.value === "" ? Infinity : Number(cell.dataset.value);
  }
  function sort(head) {
    var up = head.getAttribute("aria-sort") !== "ascending";
    Array.from(head.parentNode.cells).forEach(function (cell) {
      cell.setAttribute("aria-sort", "none");
    });
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
    rows.slice().sort(function (a, b) {
      var x = key(a, head.cellIndex), y = key(b, head.cellIndex);
      var order = typeof x === "number" ? x - y || 0 : x.localeCompare(y, "en", {numeric: true});
      return up ? order : -order;
    }).forEach(function (row) { table.tBodies[0].appendChild(row); });
  }
  Array.from(table.tHead.rows[0].cells).forEach(function (head) {
    head.addEventListener("click", function () { sort(head); });
  });
  form.addEventListener("input", filter);
  form.addEventListener("submit", function (event) { event.preventDefault(); });
  filter();
})();
"""
