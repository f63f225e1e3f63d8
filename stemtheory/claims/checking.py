"""Claims put to their panels: rows with verdicts and margins, and mutants that are rejected."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from stemtheory.claims.base import Case, Claim, Comparison, Finding, Mutant
from stemtheory.claims.evidence.fedavg_path import record_fedavg
from stemtheory.claims.evidence.path import record
from stemtheory.claims.judge import judge
from stemtheory.claims.panel import grid, path_cases, with_reading
from stemtheory.runtime import Verdict, combine, notebook

Watch = Callable[[Claim, Comparison, str], None]


@dataclass(frozen=True)
class LedgerRow:
    """One claim under one reading at one kind of place, over its whole panel."""

    claim: Claim
    reading: str
    where: str
    verdict: Verdict
    expected: Verdict
    margin: float | None
    worst: dict[str, Any]
    cells: dict[str, int]
    n: int
    unmet: tuple[str, ...] = ()

    @property
    def surprising(self) -> bool:
        """Whether the verdict is not the expected one; ``undecided`` always is."""
        return self.verdict != self.expected or self.verdict == Verdict.UNDECIDED

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the row of the ledger."""
        return rows_html(self.claim.statement, [row_json(self)])


class Ledger(dict[str, Any]):
    """The document of ``verify``: a plain dictionary that shows itself in a notebook."""

    def _repr_html_(self) -> str:
        """Return every row, and the count of each verdict."""
        counts = ", ".join(f"{n} {verdict}" for verdict, n in self["summary"].items())
        title = f"{counts}; {len(self['unexpected']) or 'none'} unexpected"
        return rows_html(title, self["claims"])


def rows_html(title: str, rows: Sequence[Mapping[str, Any]]) -> str:
    """Return rows of the document as a table in HTML."""
    columns = ("id", "label", "reading", "where", "verdict", "expected", "margin")
    return notebook.table(title, columns, ([row[name] for name in columns] for row in rows))


def check(
    claim: Claim, level: str = "quick", seed: int = 0, watch: Watch | None = None
) -> list[LedgerRow]:
    """Put one claim to its panel; return a row per reading and kind of place.

    ``watch`` is shown every comparison and its reading, for instance to draw it.
    """
    if claim.compare is None:
        return [_unchecked(claim)]
    rows = []
    for reading in claim.readings:
        rows += rows_of(claim, reading, cells_of(claim, reading, level, seed, watch=watch))
    return rows


def cells_of(
    claim: Claim,
    reading: str,
    level: str,
    seed: int = 0,
    mutant: Mutant | None = None,
    watch: Watch | None = None,
) -> list[tuple[Finding, Any]]:
    """Return the cells of a claim (or of a mutant of it) under one reading, with their cases."""
    compare = mutant.compare if mutant and mutant.compare else claim.compare
    change = mutant.change if mutant and mutant.change else lambda subject: subject
    assert compare is not None
    found: list[tuple[Finding, Any]] = []
    for subject in subjects(claim, reading, level, seed):
        unmet = tuple(p.name for p in claim.premises(subject) if not p.ok)
        if unmet:
            cell = Finding(claim.id, reading, "all", Verdict.INAPPLICABLE, None, {}, 0, unmet)
            found.append((cell, subject))
            continue
        changed = change(subject)
        comparison = compare(opened(claim, changed))
        if watch is not None:
            watch(claim, comparison, reading)
        found += [(cell, changed) for cell in judge(claim, comparison, reading)]
    return found


def subjects(claim: Claim, reading: str, level: str, seed: int = 0) -> tuple[Any, ...]:
    """Return what a claim is put to: one grid, or cases under the reading."""
    if claim.kind == "arithmetic":
        return claim.cases(level) if claim.cases else (grid(level),)
    cases = claim.cases(level) if claim.cases else path_cases(level)
    if not all(isinstance(case, Case) for case in cases):
        return cases  # a rate of a bound: nothing is run, so there is no reading and no seed
    if seed:
        cases = tuple(Case(**{**vars(case), "seed": case.seed + seed}) for case in cases)
    known = tuple(case for case in claim.counterexamples if case.reading == reading)
    return with_reading(cases, reading) + known


def opened(claim: Claim, subject: Any) -> Any:
    """Return what the claim looks at: a recorded run (pathwise, conditional), or the subject."""
    if claim.kind not in ("pathwise", "conditional"):
        return subject
    return record_fedavg(subject) if subject.algorithm == "fedavg" else record(subject)


def rows_of(claim: Claim, reading: str, cells: Iterable[tuple[Finding, Any]]) -> list[LedgerRow]:
    """Return one row per kind of place; inapplicable cells count in the first."""
    listed = list(cells)
    idle = [pair for pair in listed if pair[0].verdict == Verdict.INAPPLICABLE]
    active = [pair for pair in listed if pair[0].verdict != Verdict.INAPPLICABLE]
    places = sorted({cell.where for cell, _ in active}) or ["all"]
    rows = []
    for place in places:
        mine = [pair for pair in active if pair[0].where == place] + (
            idle if place == places[0] else []
        )
        rows.append(_row(claim, reading, place, mine))
    return rows


def _row(claim: Claim, reading: str, place: str, cells: list[tuple[Finding, Any]]) -> LedgerRow:
    verdict = combine(cell.verdict for cell, _ in cells)
    measured = [pair for pair in cells if pair[0].margin is not None]
    worst, margin = {}, None
    if measured:
        cell, case = min(measured, key=lambda pair: float(pair[0].margin or 0.0))
        margin = cell.margin
        worst = {**cell.worst, "case": case.to_json() if isinstance(case, Case) else None}
    counts: dict[str, int] = {}
    for cell, _ in cells:
        counts[cell.verdict.value] = counts.get(cell.verdict.value, 0) + 1
    unmet = tuple(sorted({name for cell, _ in cells for name in cell.unmet}))
    return LedgerRow(
        claim,
        reading,
        place,
        verdict,
        claim.expectation(reading, place),
        margin,
        worst,
        counts,
        sum(cell.n for cell, _ in cells),
        unmet,
    )


def _unchecked(claim: Claim) -> LedgerRow:
    verdict = Verdict.NOT_CHECKABLE
    return LedgerRow(claim, "-", "all", verdict, verdict, None, {}, {verdict.value: 1}, 0)


@dataclass(frozen=True)
class Rejection:
    """Whether a mutant was found violated."""

    claim: str
    mutant: str
    rejected: bool


def try_mutants(claim: Claim, level: str = "quick") -> list[Rejection]:
    """Return, for each mutant of a claim, whether its checker rejects it."""
    return [Rejection(claim.id, m.name, rejects(claim, m, level)) for m in claim.mutants]


def rejects(claim: Claim, mutant: Mutant, level: str = "quick") -> bool:
    """Whether the mutant is violated in a row where the claim itself is not."""
    for reading in claim.readings:
        honest = cells_of(claim, reading, level)
        sound = {cell.where for cell, _ in honest if cell.n} - {
            cell.where for cell, _ in honest if cell.verdict == Verdict.VIOLATED
        }
        if mutant.compare is None and mutant.change is None:
            tried = _scaled(claim, reading, level, [c for c in honest if c[0].where in sound])
        else:
            tried = cells_of(claim, reading, level, mutant=mutant)
        if any(c.verdict == Verdict.VIOLATED and c.where in sound for c, _ in tried):
            return True
    return False


def _scaled(claim: Claim, reading: str, level: str, honest: list[tuple[Finding, Any]]) -> Any:
    """Judge the claim again with its right side over four times the smallest margin seen."""
    margins = [c.margin for c, _ in honest if c.margin is not None and c.margin > 0]
    compare = claim.compare
    if not margins or compare is None:
        return []
    factor = 1 / (4 * min(margins))

    def smaller(subject: Any) -> Comparison:
        return compare(subject).scaled(factor)

    return cells_of(claim, reading, level, mutant=Mutant("scaled", compare=smaller))


def assemble(rows: list[dict[str, Any]], mutants: list[dict[str, Any]] | None) -> dict[str, Any]:
    """Return the document of rows (and of mutants) that ``row_json`` made."""
    verdicts = [row["verdict"] for row in rows]
    document: dict[str, Any] = {
        "claims": rows,
        "summary": {v.value: verdicts.count(v.value) for v in Verdict if v.value in verdicts},
        "unexpected": [row for row in rows if surprising(row)],
    }
    return document if mutants is None else {**document, "mutants": mutants}


def surprising(row: Mapping[str, Any]) -> bool:
    """Whether a row of the document is not as expected; ``undecided`` never is."""
    return bool(row["verdict"] != row["expected"] or row["verdict"] == Verdict.UNDECIDED)


def row_json(row: LedgerRow) -> dict[str, Any]:
    """Return a row as the JSON keys that scripts rely on."""
    c = row.claim
    return {
        "id": c.id,
        "label": c.label,
        "section": c.section,
        "kind": c.kind,
        "reading": row.reading,
        "where": row.where,
        "verdict": row.verdict.value,
        "expected": row.expected.value,
        "margin": row.margin,
        "worst": row.worst,
        "cells": row.cells,
        "n": row.n,
        "unmet": list(row.unmet),
    }
