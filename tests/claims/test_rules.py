"""Versions made by rule: what becomes of them, and a record that is not stale."""

from dataclasses import replace

import pytest

from stemtheory.claims import claims, versions_of
from stemtheory.claims.checking import judged
from stemtheory.claims.language import Q
from stemtheory.claims.language.letters import I, L, eta, t
from stemtheory.claims.rules import try_rules
from stemtheory.claims.stating import sized

LINES = {c.id: c for c in claims().values() if c.line and not c.by_hand}
QUICK = ("A1", "A2pp", "ALG-1", "SCH4", "SCH7", "M7a-C")


def test_every_line_has_a_record_of_its_own_formula() -> None:
    assert {name for name, claim in LINES.items() if versions_of(claim) is None} == set()
    newer = replace(LINES["SCH4"], formula="another")
    assert versions_of(newer) is None


@pytest.mark.parametrize("name", QUICK)
def test_the_record_is_that_of_today(name: str) -> None:
    claim = LINES[name]
    found, known = try_rules(claim, judged(claim)).to_json(), versions_of(claim)
    assert known is not None
    assert {key: found[key] for key in ("refused", "rejected", "implied")} == {
        key: known[key] for key in ("refused", "rejected", "implied")
    }
    assert [s["name"] for s in found["survivors"]] == [s["name"] for s in known["survivors"]]


def test_each_version_meets_its_fate() -> None:
    """eta <= 1/(16 L I) is attained: half of it is rejected, twice it implied, L^2 refused."""
    claim = sized("MINE", "mine", "The largest step.", eta[t] <= Q("1/16") / (L * I))
    tally = try_rules(claim, judged(claim))
    alive = [version.name for version in tally.survivors]
    assert "1/16 -> 1/32" not in alive
    assert (tally.refused, tally.rejected, tally.implied) == (4, 1, 3)
    assert alive == ["eta[t] -> eta[t-1]"]  # not at t = 0 in the constant phase


def test_a_line_that_is_loose_says_by_how_much() -> None:
    claim = sized("MINE", "mine", "Ten times the largest step.", eta[t] <= Q("5/8") / (L * I))
    slacks = {s.name: s.slack for s in try_rules(claim, judged(claim)).survivors}
    assert slacks["5/8 -> 5/16"] == pytest.approx(5, rel=1e-6)
