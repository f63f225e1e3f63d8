"""One claim in full: what it says, when, what was found, and what wrong versions it rejects.

Of a claim that ships, what its quick panel finds depends on nothing but the sources of this package
and on what lies beneath it. So it may be kept for the next command, under the hash of both.
"""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

from stemtheory.claims.base import Claim
from stemtheory.claims.casefiles import case_files
from stemtheory.claims.checking import check, row_json, subjects
from stemtheory.claims.finding import OWN
from stemtheory.claims.language import spoken_of
from stemtheory.claims.ledger import Packs, of_pack, one
from stemtheory.claims.rules import versions_of
from stemtheory.runtime import UsageError, cache_folder, package_fingerprint, truth, write_whole

Rows = list[dict[str, Any]]


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
    keep, claim = truth("keep", keep), one(name, packs)
    ours = claim.pack is not None and claim.pack.folder.is_relative_to(OWN)
    return told(claim, kept_rows(claim) if keep and ours else judged_rows(claim))


def judged_rows(claim: Claim) -> Rows:
    """Return the rows of a claim that is put to its quick panel now, as the ledger has them."""
    return [row_json(row) for row in check(claim)]


def kept_rows(claim: Claim) -> Rows:
    """Return the rows of a claim that ships: those that are kept, or else kept from now on.

    A file that is damaged, or cannot be written, is as good as none.
    """
    file, key = cache_folder() / "verdicts" / f"{claim.id}.json", package_fingerprint()
    if (rows := _read(file, key)) is None:
        # through JSON at once, so that what is shown does not depend on who shows it
        found = {"key": key, "rows": judged_rows(claim)}
        text = json.dumps(found, default=lambda value: value.item())
        with contextlib.suppress(OSError, UsageError):
            file.parent.mkdir(parents=True, exist_ok=True)
            write_whole(file, text)
        rows = json.loads(text)["rows"]
    return rows


def _read(file: Path, key: str) -> Rows | None:
    """Return the rows that are kept under a key; None if there are none."""
    try:
        found = json.loads(file.read_text("utf-8"))
        rows: Rows = found["rows"]
        return rows if found["key"] == key else None
    except (OSError, ValueError, TypeError, KeyError):
        return None


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
