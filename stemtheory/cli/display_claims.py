"""The documents of the commands on claims, printed for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from stemtheory.claims import ByReading, Case, Claim, Packs, asked
from stemtheory.cli.console import line, table
from stemtheory.cli.display import Document
from stemtheory.cli.proving.told import round_of, show_checks, show_refused
from stemtheory.report import READINGS, LedgerLine, excess, lines, matrix, plain
from stemtheory.runtime import rounded

READING_TEXT = {
    "literal": "x and d are averaged for the next iterate, the own x stays; one exchange a round",
    "average-first": "x is averaged, then d is computed at the mean; two exchanges a round",
    "average-both": "both gradients of d at the averaged points; a second negative control",
    "overwrite": "d is computed at the own x, which the mean then replaces; one exchange a round",
}


FATES = {
    "refused": "refused by their powers or times",
    "rejected": "rejected by an instance",
    "implied": "implied by the line",
}
FEW = 3  # claims of which survivors are listed


def show_ledger(
    document: Document, known: Mapping[str, Claim], shown: ByReading | None = None
) -> None:
    """Print the rows by section, what was unexpected, and the count of verdicts.

    ``shown`` are printed lines whose verdicts are set side by side by reading, instead of rows.
    """
    if shown is not None:
        show_matrix(document, known, shown)
        return
    sections = dict.fromkeys(row["section"] for row in document["claims"])
    for section in sections:
        rows = [row for row in document["claims"] if row["section"] == section]
        _show_lines(lines(rows, known), section)
    for rejection in document.get("mutants", []):
        if not rejection["rejected"]:
            line(f"SURVIVED: mutant '{rejection['mutant']}' of {rejection['claim']}: toothless")
    show_summary(document)


def show_summary(document: Document) -> None:
    """Print the count of verdicts, of unexpected rows and of surviving mutants."""
    counts = ", ".join(f"{count} {verdict}" for verdict, count in document["summary"].items())
    unexpected = len(document["unexpected"])
    line(f"{len(document['claims'])} rows: {counts}; {unexpected or 'none'} unexpected")
    if "mutants" in document:
        tried = document["mutants"]
        rejected = sum(rejection["rejected"] for rejection in tried)
        line(f"mutants: {rejected} of {len(tried)} rejected")
        _show_versions(document["versions"])
    if "certificates" in document:
        show_refused(document["certificates"])
    for name, labels in document.get("uncovered", {}).items():
        told = (
            f"no claim and no reason for {', '.join(labels)}" if labels else "every label covered"
        )
        line(f"pack {name}: {told}")
    for path in document.get("files", []):
        line(f"written: {path}")


def _show_versions(tallies: Sequence[Document]) -> None:
    """Print how many versions that rules make of the lines met each fate; few survivors by name."""
    counts = {name: sum(tally[name] for tally in tallies) for name in FATES}
    alive = [(tally["claim"], found) for tally in tallies for found in tally["survivors"]]
    told = ", ".join(f"{counts[name]} {text}" for name, text in FATES.items())
    line(f"versions made by rule: {sum(counts.values()) + len(alive)}; {told}, {len(alive)} alive")
    if len(tallies) <= FEW:
        rows = [[name, v["rule"], v["name"], _slack(v["slack"])] for name, v in alive]
        table(("claim", "rule", "version", "slack"), rows, "Versions that no instance broke")


def _slack(factor: float | None) -> str:
    return "" if factor is None else rounded(factor, 4)


def show_matrix(document: Document, known: Mapping[str, Claim], shown: ByReading) -> None:
    """Print what each reading of the synchronisation breaks, and the lines beside these."""
    line(shown.note)
    table(("reading", "what happens at a synchronisation"), list(READING_TEXT.items()))
    found = matrix(document, known, shown.lines)
    rows = [[name, text, *(cells[r] for r in READINGS)] for name, text, cells in found.printed]
    table(("line", "of the paper", *READINGS), rows, "The paper's lines under each reading")
    line("x: left side over right one, in expectation, at the worst instance found (stemtheory")
    line("explain LINE, which also shows what fails on single replicates given the past)")
    head = ("line", "says", "readings", "verdict", "margin")
    table(head, found.repaired, shown.beside)
    show_summary(document)


def show_explanation(document: Document, claim: Claim, packs: Packs = ()) -> None:
    """Print one claim: what it says, its premises, its verdicts, counterexamples and repair."""
    printed = ", ".join(filter(None, (document["number"], document["title"], document["label"])))
    line(f"{document['id']} ({printed}), {document['section']}, {document['kind']}")
    if document["also"]:
        line(f"also about it: {', '.join(document['also'])}")
    if document["module"]:
        line(f"checked in {document['module']}")
    line(document["statement"])
    line(f"  {plain(document['formula'])}")
    for premise in document["premises"]:
        line(f"premise: {premise}")
    _show_lines(lines(document["rows"], {claim.id: claim}), "")
    if any(row["detectable"] for row in document["rows"]):
        line(
            "noticed: the relative error that is rejected with probability 1/2, in the median over"
        )
        line("the row's equalities; above 0.5 the row is undecided")
    if document["proved"]:
        line(f"proved for all parameters: {document['proved']} (certify {document['id']})")
    for row in document["rows"]:
        _show_both_ways(row)
    if any(row["conditional"] for row in document["rows"]):
        line("past: left over right of the worst replicate, given its past; mean: in expectation;")
        line("95 %: limits of E left / E right over 200 replicates (one where there is no noise)")
    for title in ("reason", "repair"):
        if document[title]:
            line(f"{title}: {document[title]}")
    for case in document["counterexamples"]:
        line(
            f"counterexample {case['name']}: left {rounded(case['left'], 6)} >"
            f" right {rounded(case['right'], 6)};"
            f" stemtheory verify --replay {case['name']}{asked(packs)}"
        )
    if "certificates" in document:
        line(
            "proved by machine, one certificate for one (reading, K, I, b, step, momentum); longer"
        )
        line("rounds: stemtheory certify --check all")
        show_checks(document)
    if document["mutants"]:
        line(f"mutants it must reject: {'; '.join(document['mutants'])}")
    if document["excess"]:
        line(f"compared as: {plain(document['excess'])}")
    if document["by_hand"]:
        line(f"sides by hand: {document['by_hand']}")
    if document["versions"]:
        _show_versions([document["versions"]])
    for path in document.get("files", []):
        line(f"written: {path}")


def _show_both_ways(row: Document) -> None:
    """Print the cases that break a conditional claim: one replicate given the past, and means."""
    if not row["conditional"]:
        return
    head = ("case", "past", "mean", "95 %")
    rows = []
    for found in row["conditional"]:
        limits = " to ".join(rounded(found[f"ratio_{end}"], 4) for end in ("low", "high"))
        past = excess(found["conditional_margin"]).removeprefix("exceeded ")
        rows.append([Case.from_json(found["case"]).short(), past, found["verdict"], limits])
    title = f"Broken on a replicate: {row['reading']}, {row['where']}"
    table(head, rows, title, cut=("case",))


def show_hunt(document: Document) -> None:
    """Print what the hunt found."""
    ratio = "unbounded" if document["unbounded"] else document["best_ratio"]
    runs = document["evaluations"]
    shown = rounded(ratio, 6) if isinstance(ratio, float) else str(ratio)
    verdict = "VIOLATED" if document["violated"] else "not violated (none found, not none exist)"
    if document["idle"]:
        verdict = f"none of {runs} runs says anything, mostly: {document['idle']}"
    line(f"{document['claim']} under {document['reading']}: {verdict}")
    if document["case"]:
        line(f"largest left/right {shown} in {runs} runs, at t = {document['t']}")
        table(("case", ""), [[name, str(value)] for name, value in document["case"].items()])
    if document["case_file"]:
        again = f"stemtheory verify --replay FILE{asked(document['packs'])}"
        line(f"case file: {document['case_file']} ({again})")


def show_attack(document: Document) -> None:
    """Print how near to its bound the worst instance comes that was found for a certificate."""
    ratio = document["ratio"]
    line(f"{document['certificate']}: {round_of(document['statement'])}")
    line(f"the checker refuses it: {document['why']}" if document["why"] else "proved by its file")
    verdict = "REFUTED" if document["refuted"] else "not refuted"
    verdict += (
        "" if document["refuted"] or document["accepted"] else " (none found, not none exist)"
    )
    line(f"largest left/right {ratio:.4f} in {document['evaluations']} sets of workers: {verdict}")
    names = ("workers", "H", "l", "o", "s", "r", "x0", "d0")
    table(names, [[c[name] for name in names] for c in document["instance"]])
    line("workers H x^2/2 + o x, noise (l x + s) xi + r xi', started at x0 - xbar_0 and d0")


def show_replays(document: Document) -> None:
    """Print both sides of case files, stored and computed again."""
    rows = []
    for found in document["replays"]:
        verdict = "violated" if found["violated"] else "not violated"
        same = "same to 1e-9" if found["reproduced"] else "DIFFERENT from what was stored"
        same = same if found["stored"] else "none stored: computed anew"
        sides = found["left"], found["right"]
        rows.append([found["name"], found["claim"], *sides, verdict, same])
    table(("case", "claim", "left", "right", "verdict", "sides"), rows)


def show_contract(document: Document) -> None:
    """Print a contract: that of a problem, constants first, or that of an algorithm."""
    if "algorithm" in document:
        options = ", ".join(f"{name}={value}" for name, value in document["options"].items())
        line(f"{document['algorithm']} with {options or 'its default options'}")
        rows = [[row[c] for c in ("constant", "verdict", "note")] for row in document["rows"]]
        table(("property", "verdict", "note"), rows)
    else:
        line(f"{document['problem']} with K={document['K']}, dim={document['dim']}")
        _show_problem_rows(document)
    failed = [row["constant"] for row in document["rows"] if not row["ok"]]
    line(f"FAILED: {', '.join(failed)}" if failed else "the contract is kept")


def _show_problem_rows(document: Document) -> None:
    columns = ("constant", "declared", "attained", "largest", "verdict", "note")
    for group in ("constant", "property"):
        rows = [[r[c] for c in columns] for r in document["rows"] if r["group"] == group]
        head = ("declared", "attained", "largest found", "verdict", "note")
        table((group, *head), rows)


def _show_lines(found: Sequence[LedgerLine], title: str) -> None:
    rows = []
    for item in found:
        verdict = item.verdict.upper() if item.unexpected else item.verdict
        rows.append([item.id, item.place, verdict, item.margin, item.reason])
    table(("claim", "where", "verdict", "margin", "reason"), rows, title, cut=("reason",))
