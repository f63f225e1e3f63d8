"""One vocabulary of verdicts, with one rule for several of them."""

from __future__ import annotations

import json
import pickle

import pytest

from stemtheory.runtime import DECIDING, Verdict, combine


def test_a_verdict_is_the_string_that_documents_hold() -> None:
    for verdict in Verdict:
        assert Verdict(verdict.value) is verdict is pickle.loads(pickle.dumps(verdict))
        assert json.loads(json.dumps({"verdict": verdict})) == {"verdict": verdict.value}
        assert {verdict.value: 1}[verdict] == 1
        assert verdict.meaning
    with pytest.raises(ValueError, match="premise unmet"):
        Verdict("premise unmet: I >= 2")


def test_every_verdict_has_a_place_in_the_rule() -> None:
    assert sorted(DECIDING) == sorted(Verdict)
    assert {verdict for verdict in Verdict if verdict.failed} == {"violated", "not attained"}


def test_combine_follows_the_row_rule() -> None:
    V = Verdict
    assert combine([V.HOLDS, V.VIOLATED, V.UNDECIDED]) == V.VIOLATED
    assert combine([V.HOLDS, V.UNDECIDED]) == V.UNDECIDED
    assert combine([V.VACUOUS, V.HOLDS]) == V.HOLDS
    assert combine([V.VACUOUS, V.INAPPLICABLE]) == V.VACUOUS
    assert combine([V.INAPPLICABLE]) == V.INAPPLICABLE
    assert combine([V.EXACT, V.NOT_ATTAINED, V.HOLDS]) == V.NOT_ATTAINED
    assert combine([V.CONSISTENT, V.SLOWER]) == V.SLOWER
    assert combine([]) == V.NOT_CHECKABLE
