"""Claims put to their panels: rows with verdicts and margins, and mutants that are rejected."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from stemtheory.claims.base import SCALED, Case, Claim, Compare, Comparison, Finding, Mutant
from stemtheory.claims.evidence.fedavg_path import played, recorded
from stemtheory.claims.judge import BLIND, judge
from stemtheory.claims.means import in_expectation
from stemtheory.claims.panel import grid, path_cases, run_by
from stemtheory.runtime import UsageError, Verdict, combine, notebook, one_blas_thread

Watch = Callable[[Claim, Comparison, str], None]
Cells = list[tuple[Finding, Any]]  # each with the case, or what else the claim was put to


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
    conditional: tuple[dict[str, Any], ...] = ()
    detectable: dict[str, float] | None = None

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
    """Put one claim to its panel; return a row per reading and kind of place."""
    return ledger_rows(claim, judged(claim, level, seed, watch))


@one_blas_thread()
def judged(
    claim: Claim, level: str = "quick", seed: int = 0, watch: Watch | None = None
) -> dict[str, Cells]:
    """Return the cells of a claim by reading; there are none where nothing can be checked.

    ``watch`` is shown every comparison and its reading, for instance to draw it.
    """
    readings = () if claim.compare is None else claim.readings
    return {reading: cells_of(claim, reading, level, seed, watch=watch) for reading in readings}


def ledger_rows(claim: Claim, cells: Mapping[str, Cells]) -> list[LedgerRow]:
    """Return a row per reading and kind of place from the cells of ``judged``."""
    if claim.compare is None:
        verdict = Verdict.NOT_CHECKABLE
        return [LedgerRow(claim, "-", "all", verdict, verdict, None, {}, {verdict.value: 1}, 0)]
    return [row for reading, found in cells.items() for row in rows_of(claim, reading, found)]


def cells_of(
    claim: Claim,
    reading: str,
    level: str,
    seed: int = 0,
    mutant: Mutant | None = None,
    watch: Watch | None = None,
) -> Cells:
    """Return the cells of a claim (or of a mutant of it) under one reading, with their cases."""
    compare = mutant.compare if mutant and mutant.compare else claim.compare
    change = mutant.change if mutant and mutant.change else lambda subject: subject
    arguments = mutant.arguments if mutant else {}
    assert compare is not None
    found: Cells = []
    for subject in subjects(claim, reading, level, seed):
        unmet = tuple(p.name for p in claim.premises(subject) if not p.ok)
        if unmet:
            cell = Finding(claim.id, reading, "all", Verdict.INAPPLICABLE, None, {}, 0, unmet)
            found.append((cell, subject))
            continue
        changed = change(subject)
        run = mutant and mutant.algorithm
        looked_at = played(changed, run(changed)) if run else opened(claim, changed)
        comparison = _compared(claim, compare, looked_at, arguments)
        if watch is not None:
            watch(claim, comparison, reading)
        found += [
            (in_expectation(claim, changed, cell) if broken(claim, cell, mutant) else cell, changed)
            for cell in judge(claim, comparison, reading)
        ]
    return found


def _compared(
    claim: Claim, compare: Compare, looked_at: Any, arguments: Mapping[str, Any]
) -> Comparison:
    """Return both sides; what a run lacks is told with the claim's name."""
    try:
        return compare(looked_at, **arguments)
    except UsageError as error:
        raise UsageError(f"claim {claim.id}: {error}") from error


def broken(claim: Claim, cell: Finding, mutant: Mutant | None) -> bool:
    """Whether expectations must be asked: a conditional claim fails on some replicate.

    Of a mutant a failing replicate is enough: the checker has noticed it.
    """
    return mutant is None and claim.kind == "conditional" and cell.verdict == Verdict.VIOLATED


def subjects(claim: Claim, reading: str, level: str, seed: int = 0) -> tuple[Any, ...]:
    """Return what a claim is put to: one grid, or cases under the reading."""
    if claim.kind == "arithmetic":
        return claim.cases(level) if claim.cases else (grid(level),)
    cases = claim.cases(level) if claim.cases else path_cases(level)
    if not all(isinstance(case, Case) for case in cases):
        return cases  # a rate of a bound: nothing is run, so there is no reading and no seed
    if seed:
        cases = tuple(replace(case, seed=case.seed + seed) for case in cases)
    known = tuple(case for case in claim.counterexamples if case.reading == reading)
    every = (*(replace(case, reading=reading) for case in cases), *known)
    return tuple(by_its_algorithm(claim, case) for case in every)


def by_its_algorithm(claim: Claim, case: Case) -> Case:
    """Return the case run by what the claim is about, if it names no other algorithm itself."""
    own = claim.algorithm and case.algorithm == Case.algorithm
    return run_by(case, claim.algorithm) if own else case


def opened(claim: Claim, subject: Any) -> Any:
    """Return what the claim looks at: a recorded run (pathwise, conditional), or the subject."""
    if claim.kind not in ("pathwise", "conditional"):
        return subject
    return recorded(subject)


def rows_of(claim: Claim, reading: str, cells: Cells) -> list[LedgerRow]:
    """Return one row per kind of place; inapplicable cells count in the first."""
    idle = [pair for pair in cells if pair[0].verdict == Verdict.INAPPLICABLE]
    active = [pair for pair in cells if pair[0].verdict != Verdict.INAPPLICABLE]
    places = sorted({cell.where for cell, _ in active}) or ["all"]
    by_place = {place: [pair for pair in active if pair[0].where == place] for place in places}
    by_place[places[0]] += idle
    return [_row(claim, reading, place, found) for place, found in by_place.items()]


def _row(claim: Claim, reading: str, place: str, cells: Cells) -> LedgerRow:
    verdict = combine(cell.verdict for cell, _ in cells)
    measured = [pair for pair in cells if pair[0].margin is not None]
    if verdict == Verdict.VIOLATED:  # what is undecided may be further off, and proves nothing
        measured = [pair for pair in measured if pair[0].verdict == verdict]
    noticed = _noticed(cells)
    if verdict == Verdict.HOLDS and noticed and noticed["median"] > BLIND:
        verdict = Verdict.UNDECIDED
    worst, margin = {}, None
    if measured:
        cell, case = min(measured, key=lambda pair: float(pair[0].margin or 0.0))
        margin = cell.margin
        worst = {**cell.worst, "case": case.to_json() if isinstance(case, Case) else None}
    return LedgerRow(
        claim,
        reading,
        place,
        verdict,
        claim.expectation(reading, place),
        margin,
        worst,
        dict(Counter(cell.verdict.value for cell, _ in cells)),
        sum(cell.n for cell, _ in cells),
        tuple(sorted({name for cell, _ in cells for name in cell.unmet})),
        tuple(_in_both_ways(cell, case) for cell, case in cells if cell.means),
        noticed,
    )


def _noticed(cells: Cells) -> dict[str, float] | None:
    """Return the median and the least relative error that the equalities would notice."""
    errors = [error for cell, _ in cells for error in cell.detectable]
    return {"median": float(np.median(errors)), "least": min(errors)} if errors else None


def _in_both_ways(cell: Finding, case: Case) -> dict[str, Any]:
    """Return what a case that breaks a conditional claim says given the past, and in the mean."""
    assert cell.means is not None
    return {
        "case": case.to_json(),
        "conditional_margin": cell.means.conditional,
        "verdict": cell.verdict.value,
        "margin": cell.margin,
        "ratio_low": cell.means.low,
        "ratio_high": cell.means.high,
        "replicates": cell.means.replicates,
    }


@dataclass(frozen=True)
class Rejection:
    """Whether a mutant was found violated."""

    claim: str
    mutant: str
    rejected: bool


@one_blas_thread()
def try_mutants(
    claim: Claim, level: str = "quick", seed: int = 0, honest: Mapping[str, Cells] | None = None
) -> list[Rejection]:
    """Return, for each mutant of a claim, whether its checker rejects it.

    ``honest`` are the claim's own cells, if they were judged before.
    """
    honest = judged(claim, level, seed) if honest is None else honest
    return [
        Rejection(
            claim.id,
            mutant.name,
            any(rejects(claim, mutant, r, cells, level, seed) for r, cells in honest.items()),
        )
        for mutant in (claim.mutants if claim.compare else ())
    ]


def rejects(
    claim: Claim, mutant: Mutant, reading: str, honest: Cells, level: str, seed: int = 0
) -> bool:
    """Whether the mutant is violated at a kind of place where the claim itself is not."""
    sound = {cell.where for cell, _ in honest if cell.n} - {
        cell.where for cell, _ in honest if cell.verdict == Verdict.VIOLATED
    }
    compare = claim.compare
    if compare and mutant == SCALED:
        margins = [c.margin for c, _ in honest if c.where in sound and c.margin and c.margin > 0]
        if not margins:
            return False
        factor = 1 / (4 * min(margins))
        mutant = Mutant("scaled", compare=lambda subject: compare(subject).scaled(factor))
    tried = cells_of(claim, reading, level, seed, mutant)
    return any(c.verdict == Verdict.VIOLATED and c.where in sound for c, _ in tried)


def assemble(
    rows: list[dict[str, Any]],
    mutants: list[dict[str, Any]] | None,
    versions: list[dict[str, Any]] | None = None,
) -> dict[str, Any]:
    """Return the document of rows that ``row_json`` made, of mutants and of versions by rule."""
    verdicts = [row["verdict"] for row in rows]
    document: dict[str, Any] = {
        "claims": rows,
        "summary": {v.value: verdicts.count(v.value) for v in Verdict if v.value in verdicts},
        "unexpected": [row for row in rows if surprising(row)],
    }
    if mutants is None:
        return document
    return {**document, "mutants": mutants, "versions": versions or []}


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
        "conditional": list(row.conditional),
        "detectable": row.detectable,
    }
