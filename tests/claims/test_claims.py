"""Every claim under every reading shows the verdict the ledger expects; mutants are rejected."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

import stemtheory
from stemtheory.claims.base import Claim
from stemtheory.claims.checking import (
    Cells,
    judged,
    ledger_rows,
    row_json,
    rows_of,
    surprising,
    try_mutants,
)
from stemtheory.claims.explanation import explain
from stemtheory.claims.finding import chosen
from stemtheory.claims.judge import INSTANCES
from stemtheory.claims.ledger import claims, select
from stemtheory.runtime import Verdict
from stemtheory.runtime.errors import UsageError

LEDGER = claims()
CHECKABLE = [c for c in LEDGER.values() if c.compare is not None]

REQUIRED = """
A1 A1p A2i A2ii A2iii A2p A2pp D1 D2 D3 ALG-1 ALG-2 ALG-3 ALG-4
SCH0 SCH1 SCH2 SCH3 SCH4 SCH5 SCH6 SCH7 SCH8 SCH9 SCH10 SCH11
P1 P2 P2p P3 M1 M1-L M1a M2 M2b M2c M3 M3-R M3a M3b M3c M4 M4a M5 M5-R M5a M5b
M6 M6a M6b M6c M6d M6e M7a M7b M7c M7d M7e M7f M7g M7 T1 C1 C2 RMK1 RMK2 RMK3 RMK4 SP1 SP2
F1 F2 F2a F2b F2c F3 F4 F5 F6 F7 F8 U1 U2 U3 TB1 TB2 TB3 FG1 EX
REP1 REP2 REP3 REP4 REP5 REP6 REP7 R1 R2 R3 Ra Rb Rc Ri Rii Riii Riv E1 E2 E3 LOGFREE
RS1 RS2 RS2e RS3 RS4 RS5 RS6 RS7 RS8 RS9 RS10 RS11 RS12 RS13 RS14 RS15 RS16 RS17
RSa RSb RSc RSd RSe RSb-I1 RSd-I1 RSe-I1 RSa-m1 RSb-m1 RSc-m1
FL1 FL2 FL3
"""


@cache
def cells(name: str) -> dict[str, Cells]:
    """Every reading of a claim, judged once for all tests here."""
    return judged(LEDGER[name])


def test_the_ledger_holds_every_line() -> None:
    for name in REQUIRED.split():
        claim = LEDGER[name]
        assert claim.statement, name
        assert claim.formula, name
        assert claim.compare is not None or claim.reason, name


@pytest.mark.parametrize("claim", CHECKABLE, ids=lambda c: c.id)
def test_a_claim_is_judged_as_expected_and_rejects_its_mutants(claim: Claim) -> None:
    rows = ledger_rows(claim, cells(claim.id))
    assert {row.reading for row in rows} == set(claim.readings)
    for row in rows:
        found = row_json(row)
        assert not surprising(found), found
        assert row.n > 0 or row.verdict == Verdict.INAPPLICABLE
    survivors = [m.mutant for m in try_mutants(claim, honest=cells(claim.id)) if not m.rejected]
    assert survivors == []


def test_what_cannot_be_checked_has_no_mutants_to_reject() -> None:
    assert try_mutants(LEDGER["D1"]) == []


def test_every_claim_can_fail() -> None:
    """A claim without a mutant is a line, whose mutants are made, or must be violated, and is."""
    toothless = {c.id for c in CHECKABLE if not c.mutants and (c.by_hand or not c.line)}
    assert toothless <= {"F5-K3", "SP1", "SP2", "T1-K2", "U2"}
    assert all(Verdict.VIOLATED in LEDGER[name].expected.values() for name in toothless)


def test_the_share_of_the_false_alarm_rate_covers_every_instance() -> None:
    """Bonferroni: the statistical instances of a quick verify are no more than were allowed for."""
    statistical = [c for c in CHECKABLE if c.kind == "expectation"]
    instances = (row.n for c in statistical for row in ledger_rows(c, cells(c.id)))
    assert sum(instances) <= INSTANCES


def test_unknown_names_are_refused() -> None:
    with pytest.raises(UsageError, match="matches nothing"):
        select(["M77"])


def test_sections_and_globs() -> None:
    assert {c.id for c in select(["ALG*"])} == {"ALG-1", "ALG-2", "ALG-3", "ALG-4"}
    assert {c.section for c in select(["schedule"])} == {"schedule"}


def test_a_section_is_its_module() -> None:
    """The section that ``explain`` names has a module, and the claim is written there."""
    root = Path(stemtheory.__file__).parents[1]
    sections = {claim.section for claim in LEDGER.values()}
    assert len(sections) == sum(len(pack.sections) for pack in chosen())
    for claim in LEDGER.values():
        assert claim.pack is not None
        module = claim.pack.place(claim.section)
        assert f'"{claim.id}"' in (root / module).read_text(), (claim.id, module)
    found = explain("M3c")
    assert (found["section"], found["module"]) == (
        "stem-contraction",
        "stemtheory/claims/paper/stem/contraction.py",
    )


def test_a_row_is_violated_if_any_cell_is() -> None:
    rows = ledger_rows(LEDGER["U2"], cells("U2"))
    assert rows[0].verdict == Verdict.VIOLATED
    assert rows_of(LEDGER["U2"], "literal", [])[0].verdict == Verdict.NOT_CHECKABLE
