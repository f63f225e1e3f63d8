"""One claim in full: what it says, when, what was found, and what wrong versions it rejects."""

from __future__ import annotations

import json
from typing import Any

from stemtheory.claims.base import Claim
from stemtheory.claims.casefiles import case_files
from stemtheory.claims.checking import subjects
from stemtheory.claims.kept import judged, rows_of
from stemtheory.claims.language import spoken_of
from stemtheory.claims.ledger import Packs, of_pack, one
from stemtheory.claims.rules import versions_of


def explain(name: str, packs: Packs = (), *, keep: bool = False) -> dict[str, Any]:
    """Return what a claim says, its premises, quick verdicts, counterexamples, repair and mutants.

    Parameters
    ----------
    name
        What the claim is called: its id, its number, label or title in the paper, or a word of
        them; or ``package.module:NAME`` of your own.
    packs
        Names or folders of packs to look in; every installed one without any.
    keep
        Whether the verdicts may be those that an earlier call kept, as long as no source of this
        package has changed since, and are kept themselves; only of claims that ship.

    Returns
    -------
    dict
        The JSON document of the command ``explain``.

    Raises
    ------
    UsageError
        For an unknown claim, and for a name that means several lines.

    Examples
    --------
    >>> from stemtheory import explain
    >>> explain("M3")["section"]
    'stem-contraction'
    """
    claim = one(name, packs)
    return told(claim, rows_of(claim) if keep else judged(claim))


def told(claim: Claim, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the document of a claim whose rows are known."""
    pack = claim.pack
    siblings = () if pack is None else of_pack(pack)
    return {
        "id": claim.id,
        "label": claim.label,
        "number": claim.number,
        "title": claim.title,
        "also": [c.id for c in siblings if c.label == claim.label and c.id != claim.id],
        "pack": pack.name if pack else "",
        "section": claim.section,
        "module": pack.place(claim.section) if pack else None,
        "kind": claim.kind,
        "statement": claim.statement,
        "formula": claim.formula,
        "readings": list(claim.readings),
        "premises": premises(claim),
        "rows": rows,
        "counterexamples": counterexamples(claim),
        "reason": claim.reason,
        "repair": claim.repair,
        "mutants": [mutant.name for mutant in claim.mutants] if claim.compare else [],
        "excess": claim.excess,
        "letters": spoken_of(claim.line) if claim.line else [],
        "by_hand": claim.by_hand,
        "versions": versions_of(claim),
    }


def premises(claim: Claim) -> list[str]:
    """Return the names of the claim's premises, as its quick panel states them."""
    if claim.compare is None:
        return []
    panel = [subject for r in claim.readings for subject in subjects(claim, r, "quick")]
    return list(dict.fromkeys(p.name for subject in panel for p in claim.premises(subject)))


def counterexamples(claim: Claim) -> list[dict[str, Any]]:
    """Return the shipped case files of a claim, each with its name."""
    files = [] if claim.pack is None else case_files(claim.pack)
    stored = ((path.stem, json.loads(path.read_text("utf-8"))) for path in files)
    return [{"name": name, **case} for name, case in stored if case["claim"] == claim.id]
