"""The ledger: every claim of the packs by its id, in sections, and how claims are named.

A section is a module of a pack, under the name that ``pack.toml`` gives it. Packs are given by
their names or folders; every installed one is meant where none is given.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

from stemtheory.algorithms import load_algorithm
from stemtheory.claims.base import Claim
from stemtheory.claims.finding import chosen
from stemtheory.claims.naming import meant, nearest
from stemtheory.claims.pack import FILE, Pack
from stemtheory.oracles import user_entry
from stemtheory.runtime import UsageError, raised, several

Packs = Sequence[str]


def claims(packs: Packs = ()) -> dict[str, Claim]:
    """Return every claim of the packs by id, in the order of the packs and of their sections.

    Raises
    ------
    UsageError
        For a pack that cannot be read, and two claims or sections of one name.
    """
    return dict(_loaded(chosen(packs)))


@cache
def _loaded(packs: tuple[Pack, ...]) -> dict[str, Claim]:
    found: dict[str, Claim] = {}
    sections: dict[str, str] = {}
    for pack in packs:
        for claim in of_pack(pack):
            where = f"{pack.name} ({pack.place(claim.section)})"
            if (other := found.setdefault(claim.id, claim)) is not claim:
                assert other.pack is not None
                raise UsageError(
                    f"two claims are called {claim.id}, in {other.pack.name}"
                    f" ({other.pack.place(other.section)}) and in {where}: rename one, or name"
                    " other packs by --pack."
                )
            if sections.setdefault(claim.section, pack.name) != pack.name:
                raise UsageError(
                    f"two packs, {sections[claim.section]} and {pack.name}, call a section"
                    f" {claim.section}: rename one in {FILE}, or name other packs by --pack."
                )
    return found


@cache
def of_pack(pack: Pack) -> tuple[Claim, ...]:
    """Return the claims of a pack, in its order.

    Raises
    ------
    UsageError
        If a module cannot be imported, or has claims that are none or cite a label of no paper; if
        there is no such algorithm as the pack names.
    """
    if pack.algorithm:
        try:
            load_algorithm(pack.algorithm)
        except UsageError as error:
            raise UsageError(f"pack {pack.name}: algorithm in {FILE}: {error}") from error
    return tuple(claim for section in pack.sections for claim in _of_section(pack, section))


def uncovered(pack: Pack) -> list[str]:
    """Return the labels of a pack that no claim is about, and that no reason is given for."""
    cited = {claim.label for claim in of_pack(pack)}
    return [name for name, label in pack.labels.items() if name not in cited and not label.reason]


def _of_section(pack: Pack, section: str) -> Iterator[Claim]:
    name = pack.module(section)
    try:
        module = importlib.import_module(name)
        written = Path(module.__file__ or "").resolve()
    except (Exception, SystemExit) as error:
        raise UsageError(
            f"pack {pack.name}: {name} cannot be imported ({raised(error)}): correct it, or its"
            f" line in sections of {FILE}."
        ) from error
    if not written.is_relative_to(pack.home):
        raise UsageError(
            f"pack {pack.name}: {name} is {written}, which is not in {pack.home}: rename the folder"
            " of the pack."
        )
    listed = getattr(module, "CLAIMS", None)
    if not isinstance(listed, tuple | list) or not all(isinstance(c, Claim) for c in listed):
        raise UsageError(
            f"pack {pack.name}: {name} has no CLAIMS, a sequence of claims: write one there."
        )
    for claim in listed:
        if claim.label not in pack.labels:
            raise UsageError(
                f"pack {pack.name}: claim {claim.id} cites {claim.label!r:.80}, which is none of"
                f" the labels in {FILE}: add it there, or correct the claim."
            )
        yield claim.placed(section, pack)


def aliases(packs: Packs = ()) -> dict[str, tuple[str, ...]]:
    """Return the names for claims that belong to one question, beside the sections."""
    return {name: ids for pack in chosen(packs) for name, ids in pack.aliases.items()}


def select(patterns: Sequence[str], packs: Packs = ()) -> list[Claim]:
    """Return the claims that the patterns name (all without any), in the order of the ledger.

    A pattern is an id, a section or an alias, with * and ? if wanted, what else a person may call a
    claim (``naming.meant``), or a user's own ``package.module:NAME``, which is a claim or a
    sequence of claims.

    Raises
    ------
    UsageError
        If a pattern matches nothing.
    """
    patterns = [_text("claim", name) for name in several("patterns", patterns)]
    known, named = claims(packs), aliases(packs)
    if not patterns:
        return list(known.values())
    users = [p for p in patterns if ":" in p and not meant(p, known.values())]
    own = {c.id: c for pattern in users for c in _users(pattern)}
    chosen_ids = {c.id for p in patterns if p not in users for c in _matching(known, p, named)}
    return [*(c for c in known.values() if c.id in chosen_ids), *own.values()]


def one(name: str, packs: Packs = ()) -> Claim:
    """Return the claim that ``name`` means (``naming.meant``), or a user's ``package.module:NAME``.

    Of several claims about one line of a paper it is the first.

    Raises
    ------
    UsageError
        If there is no such claim, the name means several lines, or the user's NAME holds several.
    """
    known = claims(packs)
    if found := meant(_text("claim", name), known.values()):
        return _first(name, found)
    if ":" not in name:
        raise UsageError(f"claim {name!r} is unknown: {_advice(known, name)}.")
    found = _users(name)
    if len(found) != 1:
        raise UsageError(f"{name} holds {len(found)} claims, but one is needed: name a Claim.")
    return found[0]


def _text(what: str, name: object) -> str:
    if isinstance(name, str):
        return name
    raise UsageError(f"{what} is {name!r:.60}, but it must be a name in quotes: see list claims.")


def reference(name: str, packs: Packs = ()) -> str:
    """Return what finds the same claim in a file: its id, or the user's ``package.module:NAME``."""
    claim = one(name, packs)
    return name if claim.pack is None else claim.id


def _first(name: str, found: list[Claim]) -> Claim:
    """Return the first of claims that are about one line of a paper."""
    lines = {(claim.pack, claim.label): claim for claim in reversed(found)}
    if len(lines) == 1:
        return found[0]
    listed = ", ".join(f"{c.id} ({c.number})" for c in found[:8])
    more = f" and {len(found) - 8} more" if len(found) > 8 else ""
    raise UsageError(f"{name!r} may be {listed}{more}: name one of them.")


def _advice(known: dict[str, Claim], name: str) -> str:
    near = nearest(name, known.values())
    listed = "stemtheory list claims shows every one"
    return f"did you mean {near}? {listed}" if near else listed


def _matching(
    known: dict[str, Claim], pattern: str, named: dict[str, tuple[str, ...]]
) -> list[Claim]:
    wanted = named.get(pattern, (pattern,))
    hits = [
        claim
        for claim in known.values()
        if any(fnmatchcase(name, part) for part in wanted for name in (claim.id, claim.section))
    ] or meant(pattern, known.values())
    if not hits:
        sections = ", ".join(sorted({c.section for c in known.values()} | set(named)))
        raise UsageError(
            f"claim {pattern!r} matches nothing; sections are {sections}:"
            f" {_advice(known, pattern)}."
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
