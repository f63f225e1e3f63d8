"""Steps chosen by certificates: the best of section 8 within a minute, proved at the end."""

from __future__ import annotations

import json

import pytest

from stemtheory.certificates import Weights, constants, stated, why_not
from stemtheory.runtime import UsageError
from stemtheory.tightening import best_steps, steps

pytest.importorskip("cvxpy")
pytest.importorskip("clarabel")


def total(data: bytes) -> float:
    return float(sum(constants(json.loads(data)["statement"]).values()))


@pytest.mark.slow
@pytest.mark.parametrize(("reading", "most"), [("literal", 5.2), ("average-first", 4.25)])
def test_the_steps_of_four_local_steps(reading: str, most: float) -> None:
    found = best_steps(stated("stem", reading, I=4, K=4, b=1), Weights())
    assert why_not(found.certified.data, reading=reading, I=4, K=4, b=1) == ""
    assert 0.95 * most < total(found.certified.data) <= most


def test_two_local_steps_average_first() -> None:
    found = best_steps(stated("stem", "average-first", I=2, K=4, b=1), Weights())
    assert why_not(found.certified.data) == ""
    assert total(found.certified.data) == pytest.approx(3.6975, rel=2e-3)


def test_where_no_step_has_a_certificate_it_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steps, "least_constant", lambda *_: None)
    with pytest.raises(UsageError, match=r"no steps between h = 0\.3 and 0\.9"):
        best_steps(stated("stem", "literal", I=2, K=2, b=1), Weights())
