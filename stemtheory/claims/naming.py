"""What a person calls a claim: its id, the paper's label, number or title, or a word of them.

M3, m3                              the id
lem: ErrorContraction_...           the label
Lemma A.6, thm 3.1, eq. 21, (21)    the number in the PDF; lemma 6 where one lemma ends so
contraction                         a word of a title, of a section or of a statement
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from typing import NamedTuple

from stemtheory.claims.base import Claim

NUMBER = re.compile(r"(?P<kind>[a-z]*)\.? *\(?(?P<value>(?:[a-z]\.)?\d+(?:\.\d+)*|[a-z])\)?")
# How a kind of statement may be begun, and how the PDF spells it.
KINDS = ("algorithm", "assumption", "corollary", "definition", "eq", "figure", "lemma", "remark",
         "section", "table", "theorem")  # fmt: skip
SHORT = {"equation": "eq", "eqn": "eq", "thm": "theorem", "": "eq"}


class Number(NamedTuple):
    """A number as it is compared: ("lemma", "a.6")."""

    kind: str
    value: str


def number_of(words: str) -> Number | None:
    """Return the number that words spell, or None if they spell none."""
    found = NUMBER.fullmatch(words.lower().strip())
    if found is None:
        return None
    begun = SHORT.get(found["kind"], found["kind"])
    kind = next((kind for kind in KINDS if kind.startswith(begun)), None)
    return None if kind is None else Number(kind, found["value"])


def meant(words: str, claims: Iterable[Claim]) -> list[Claim]:
    """Return the claims that the words may mean, by the first way of naming that finds any."""
    every, plain = list(claims), " ".join(words.lower().split())
    asked = number_of(words)

    def spelled(claim: Claim) -> Number | None:
        return number_of(claim.number)

    def ending(claim: Claim) -> Number | None:
        own = spelled(claim)
        return own and Number(own.kind, own.value.rpartition(".")[2])

    ways: tuple[Callable[[Claim], bool], ...] = (
        lambda c: c.id.lower() == plain,
        lambda c: c.label.lower() == plain,
        lambda c: asked is not None and spelled(c) == asked,
        lambda c: asked is not None and ending(c) == asked,
        lambda c: plain in c.title.lower(),
        lambda c: plain in c.section,
        lambda c: plain in c.statement.lower(),
    )
    if not plain:
        return []
    return next((found for way in ways if (found := [c for c in every if way(c)])), [])


def nearest(words: str, claims: Iterable[Claim]) -> str | None:
    """Return the id of the claim whose id, number or title is most like the words."""
    every = list(claims)
    names: dict[str, str] = {}
    for claim in reversed(every):  # of equal titles the first claim's counts
        names |= {claim.title.lower(): claim.id, claim.number.lower(): claim.id}
    names |= {claim.id.lower(): claim.id for claim in every}
    near = get_close_matches(words.lower(), [name for name in names if name], n=1)
    return names[near[0]] if near else None
