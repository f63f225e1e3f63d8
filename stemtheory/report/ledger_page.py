"""The ledger as a page: a table that filters and sorts, and a card per claim.

A card holds the claim's formula, its premises, a plot of both sides over the panel, its verdicts
and worst case, and for a failure the counterexample and the repair.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from stemtheory.certificates import is_certified, shipped
from stemtheory.claims import Claim, Outcome, Packs, asked, counterexamples, premises, versions_of
from stemtheory.report.formula import mathml, plain
from stemtheory.report.ledger_plot import plot
from stemtheory.report.ledger_rows import NOTE, LedgerLine, lines
from stemtheory.report.pages import render
from stemtheory.runtime import UsageError


def title(known: Mapping[str, Claim]) -> str:
    """Return what is put to the test: the papers of these claims, or a user's own."""
    return f"{papers(known)}: every claim, put to the test"


def papers(known: Mapping[str, Claim]) -> str:
    """Return what the packs of these claims are about."""
    subjects = dict.fromkeys(claim.pack.subject for claim in known.values() if claim.pack)
    return ", ".join(subjects) or "Own claims"


def sources(known: Mapping[str, Claim]) -> list[str]:
    """Return what each pack of these claims says that it is about: authors, title, year, source."""
    packs = dict.fromkeys(claim.pack for claim in known.values() if claim.pack)
    return [f"{', '.join(p.authors)}: {p.title}, {p.year}, {p.source}." for p in packs]


def html_page(
    document: Mapping[str, Any],
    outcomes: Sequence[Outcome],
    level: str,
    known: Mapping[str, Claim],
    packs: Packs = (),
) -> str:
    """Return the page: a summary, the table of all rows, and a card per claim."""
    found = lines(document["claims"], known)
    groups: dict[str, list[dict[str, Any]]] = {}
    sections = {"ledger": "The ledger"}
    for outcome in outcomes:
        claim = known[outcome.name]
        anchor = f"section-{claim.section}"
        sections[anchor] = claim.section.replace("-", " ").capitalize()
        mine = [line for line in found if line.id == claim.id]
        groups.setdefault(anchor, []).append(card(claim, mine, outcome))
    return render(
        "ledger.html",
        title=title(known),
        sources=sources(known),
        packs=asked(packs),
        note=NOTE,
        level=level,
        document=document,
        counts=counted(document),
        sections=sections,
        lines=found,
        known=known,
        groups=groups,
    )


def counted(document: Mapping[str, Any]) -> str:
    """Return how many rows have each verdict, in words."""
    return ", ".join(f"{n} {verdict}" for verdict, n in document["summary"].items())


def card(claim: Claim, found: Sequence[LedgerLine], outcome: Outcome) -> dict[str, Any]:
    """Return what the card of one claim shows."""
    mutants = [f"{m['mutant']} ({FATES[m['rejected']]})" for m in outcome.mutants]
    declared = [mutant.name for mutant in claim.mutants] if claim.compare else []
    return {
        "claim": claim,
        "lines": found,
        "outcome": outcome,
        "mathml": _mathml(claim.formula),
        "plain": plain(claim.formula),
        "premises": premises(claim),
        "counterexamples": [
            case | {"text": json.dumps({k: v for k, v in case.items() if k != "name"}, indent=1)}
            for case in counterexamples(claim)
        ],
        "mutants": mutants or declared,
        "excess": _mathml(claim.excess),
        "certificates": sorted(shipped()) if is_certified(claim) else [],
        "versions": outcome.versions or versions_of(claim),
        "plot": plot(claim, outcome.points),
    }


FATES = {True: "rejected", False: "SURVIVED"}


def _mathml(formula: str) -> str:
    """Return the formula as MathML, nothing for a user's own that cannot be shown."""
    try:
        return mathml(formula)
    except UsageError:
        return ""
