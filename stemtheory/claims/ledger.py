"""The ledger: every claim by its id, in sections, and how claims are named.

A section is a module: that of ``paper/stem/contraction.py`` is ``stem-contraction``, that of
``repaired/costs.py`` is ``repaired-costs``; the folder ``paper`` goes without saying.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import cache

from stemtheory.claims.base import Claim
from stemtheory.claims.naming import meant, nearest
from stemtheory.oracles import user_entry
from stemtheory.runtime import UsageError, several

STEM_LINES = ("descent", "contraction", "potential", "consensus", "consensus_sum", "theorem")
MODULES = (
    *("paper.assumptions", "paper.algorithm", "paper.schedule", "paper.preliminary"),
    *(f"paper.stem.{name}" for name in (*STEM_LINES, "constants", "rates")),
    *("paper.special_cases", "paper.fedavg", "paper.fedavg_rates"),
    *("paper.useful_lemmas", "paper.table1"),
    *("repaired.elementary", "repaired.theorem", "repaired.range", "repaired.costs"),
    *("rstar.steps", "rstar.constants", "rstar.theorem"),
)
# Names for claims that belong to one question, beside the sections.
ALIASES = {
    "synchronisation": (
        *("M1", "M2", "M3", "M5", "M7b", "M7"),
        *("M1-L", "M2b", "M3-R", "M5-R", "REP*", "R1", "R2", "R3", "R[abc]", "Ri*", "E[123]"),
        "LOGFREE",
    )
}


def section_of(module: str) -> str:
    """Return the section of a module of ``MODULES``: its path without ``paper``, by hyphens."""
    return module.removeprefix("paper.").replace(".", "-").replace("_", "-")


def module_of(section: str) -> str | None:
    """Return the file that holds the claims of a section; None if it is none of the ledger's."""
    found = (module for module in MODULES if section_of(module) == section)
    return next((f"stemtheory/claims/{name.replace('.', '/')}.py" for name in found), None)


def claims() -> dict[str, Claim]:
    """Return every claim by id, in the order of the sections."""
    return dict(_loaded())


@cache
def _loaded() -> dict[str, Claim]:
    found: dict[str, Claim] = {}
    for module in MODULES:
        for claim in importlib.import_module(f"stemtheory.claims.{module}").CLAIMS:
            if claim.id in found:
                raise ValueError(f"two claims are called {claim.id}")
            found[claim.id] = replace(claim, section=section_of(module))
    return found


def select(patterns: Sequence[str]) -> list[Claim]:
    """Return the claims that the patterns name (all without any), in the order of the ledger.

    A pattern is an id, a section or an alias, with * and ? if wanted, what else a person may call a
    claim (``naming.meant``), or a user's own ``package.module:NAME``, which is a claim or a
    sequence of claims.

    Raises
    ------
    UsageError
        If a pattern matches nothing.
    """
    known, patterns = claims(), [_text("claim", name) for name in several("patterns", patterns)]
    if not patterns:
        return list(known.values())
    users = [p for p in patterns if ":" in p and not meant(p, known.values())]
    own = {c.id: c for pattern in users for c in _users(pattern)}
    chosen = {
        c.id for pattern in patterns if pattern not in users for c in _matching(known, pattern)
    }
    return [*(c for c in known.values() if c.id in chosen), *own.values()]


def one(name: str) -> Claim:
    """Return the claim that ``name`` means (``naming.meant``), or a user's ``package.module:NAME``.

    Of several claims about one line of the paper it is the first.

    Raises
    ------
    UsageError
        If there is no such claim, the name means several lines, or the user's NAME holds several.
    """
    if found := meant(_text("claim", name), claims().values()):
        return _first(name, found)
    if ":" not in name:
        raise UsageError(f"claim {name!r} is unknown: {_advice(name)}.")
    found = _users(name)
    if len(found) != 1:
        raise UsageError(f"{name} holds {len(found)} claims, but one is needed: name a Claim.")
    return found[0]


def _text(what: str, name: object) -> str:
    if isinstance(name, str):
        return name
    raise UsageError(f"{what} is {name!r:.60}, but it must be a name in quotes: see list claims.")


def reference(name: str) -> str:
    """Return what finds the same claim in a file: its id, or the user's ``package.module:NAME``."""
    claim = one(name)
    return claim.id if claim.id in claims() else name


def _first(name: str, found: list[Claim]) -> Claim:
    """Return the first of claims that are about one line of the paper."""
    lines = {claim.label: claim for claim in reversed(found)}
    if len(lines) == 1:
        return found[0]
    listed = ", ".join(f"{c.id} ({c.number})" for c in found[:8])
    more = f" and {len(found) - 8} more" if len(found) > 8 else ""
    raise UsageError(f"{name!r} may be {listed}{more}: name one of them.")


def _advice(name: str) -> str:
    near = nearest(name, claims().values())
    listed = "stemtheory list claims shows every one"
    return f"did you mean {near}? {listed}" if near else listed


def _matching(known: dict[str, Claim], pattern: str) -> list[Claim]:
    wanted = ALIASES.get(pattern, (pattern,))
    hits = [
        claim
        for claim in known.values()
        if any(fnmatchcase(name, part) for part in wanted for name in (claim.id, claim.section))
    ] or meant(pattern, known.values())
    if not hits:
        sections = ", ".join(sorted({c.section for c in known.values()} | set(ALIASES)))
        raise UsageError(
            f"claim {pattern!r} matches nothing; sections are {sections}: {_advice(pattern)}."
        )
    return hits


def _users(reference: str) -> list[Claim]:
    """Return a user's own claims; their section is their module's name if they give none."""
    entry = user_entry(reference)
    found = entry if isinstance(entry, tuple | list) else [entry]
    if not found or not all(isinstance(claim, Claim) for claim in found):
        raise UsageError(
            f"{reference} is {type(entry).__name__}, but it must be a Claim or a sequence of them:"
            " see stemtheory.claims.base.Claim."
        )
    module = reference.partition(":")[0].rpartition(".")[-1]
    return [replace(claim, section=claim.section or module) for claim in found]
