"""What a row of the ledger says beside its verdict: counts, instability, what would be noticed."""

from __future__ import annotations

from typing import Any

import pytest

from stemtheory.claims import claims
from stemtheory.claims.checking import check, row_json
from stemtheory.report.ledger_rows import counts, lines, matrix, noticed, unstable
from stemtheory.runtime import Verdict


def rows(name: str) -> dict[str, dict[str, Any]]:
    """Return the rows of a claim by reading."""
    return {row.reading: row_json(row) for row in check(claims()[name])}


def test_a_bound_that_holds_says_in_how_many_cells_it_is_vacuous() -> None:
    found = rows("M7")
    assert found["literal"]["cells"] == {"holds": 3, "vacuous": 4}
    assert counts(found["literal"]) == "holds in 3, vacuous in 4; "
    assert counts(found["overwrite"]).startswith("violated in 2, ")
    row = {"claims": [found["literal"]]}
    assert (
        matrix(row, claims(), {"M7": "theorem"}).printed[0][2]["literal"]
        == "holds in 3, vacuous in 4"
    )
    shown = lines([found["literal"]], claims())
    assert "holds in 3, vacuous in 4" in shown[0].reason
    assert counts({"verdict": "holds", "cells": {"holds": 3}}) == ""


@pytest.mark.parametrize(("margin", "said"), [(1.0, True), (1 - 1e-7, True), (2.0, False)])
def test_a_line_that_is_attained_says_so(margin: float, said: bool) -> None:
    (row,) = (row_json(row) for row in check(claims()["M2b"])[:1])
    (shown,) = lines([row | {"margin": margin, "verdict": "holds"}], claims())
    assert ("attained, " in shown.reason) == said


def test_a_violated_vacuous_bound_is_called_an_instability() -> None:
    row = {"worst": {"right": 92.5, "standstill": 0.0056}, "verdict": Verdict.VIOLATED}
    assert "standing still: 0.0056): an instability, the factor depends on T" in unstable(row)
    assert unstable({"worst": {"right": 0.001, "standstill": 0.0056}}) == ""
    assert unstable({"worst": {"right": 1.0}}) == ""


def test_an_equality_says_what_it_would_notice() -> None:
    assert noticed({"detectable": {"median": 0.0573, "least": 0.05}}).startswith(
        "an error of 0.057 would be noticed"
    )
    assert noticed({"detectable": None}) == ""
