"""What a proof consists of, as expressions of the claims' language: nothing here is computed.

Of a one-step lemma the parts of an identity,

    right - left = sum multiplier (given >= 0) + sum multiplier (square) + sum anything (given = 0),

whose multipliers are never negative; of a line between numbers the premises that it needs and the
lines on the way.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from stemtheory.claims.language import Expr, Index, Line

PACKS = ("stem",)  # whose claims are proved here
Parts = tuple[tuple[Expr, Any], ...]  # multipliers, each with what it is of
Meaning = dict[Expr, Expr]  # what letters are short for
Spans = Mapping[tuple[Index, Index], Expr]
NORMAL, JUMP = "every other step", "the jump"


Choice = tuple[Mapping[str, Expr], Line]  # letters by name, and the range in which they serve


@dataclass(frozen=True)
class Given:
    """What is assumed of a step: ``value`` >= 0 in expectation, or = 0 where it is ``exactly``."""

    name: str
    why: str
    value: Expr
    exactly: bool = False


@dataclass(frozen=True)
class Lemma:
    """The proof of one comparison of a claim, for every dimension, K, I and all functions.

    ``step`` is which comparison of the claim's line; ``definitions`` put for a letter what it is,
    ``at`` those that differ between the jump and every other step; ``premises`` are what the signs
    of multipliers need, ``names`` what is printed for long parts. ``mutant`` names a wrong version
    of the line, made by rule.
    """

    claim: str
    mutant: str
    givens: Parts = ()
    squares: Parts = ()
    definitions: Meaning = field(default_factory=dict)
    at: Mapping[str, Meaning] = field(default_factory=lambda: {"": {}})
    spans: Spans = field(default_factory=dict)
    premises: Line | None = None
    step: int = 0
    says: str = ""
    glue: str = ""
    names: Mapping[str, Expr] = field(default_factory=dict)


@dataclass(frozen=True)
class Cut:
    """A line on the way, proved from the premises and earlier cuts that ``uses`` names."""

    line: Line
    uses: tuple[str, ...]


@dataclass(frozen=True)
class Fact:
    """The proof of a claim between numbers, for all real values that its premises allow.

    ``uses`` names for a comparison of the line what it is proved from, else that is every premise;
    ``since`` is the least t; ``atoms`` are positive expressions that the comparisons need not look
    into; ``values`` are put into the line, one proof each, with what is then known of the range.
    ``mutant`` names a wrong version of the line, made by rule, or is one.
    """

    claim: str
    mutant: str | Line
    premises: Mapping[str, Line] = field(default_factory=dict)
    cuts: Mapping[str, Cut] = field(default_factory=dict)
    uses: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    atoms: tuple[Expr, ...] = ()
    values: Mapping[str, Choice] = field(default_factory=dict)
    since: int = 1
    says: str = ""
