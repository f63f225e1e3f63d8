"""Conditions on tables: what they mean, and that nothing else gets through."""

from typing import Any

import pytest

from stemtheory.experiment.design.where import condition
from stemtheory.runtime.errors import UsageError

ROW: dict[str, Any] = {
    "K": 4,
    "zeta": 0.5,
    "problem": "cosine",
    "status": "ok",
    "stderr": None,
    "dials.spectrum": 10,
    "x": -1.5,
}

TRUE = (
    "K == 4",
    "K == 4.0 and zeta < 1",
    'problem in ("cosine", "welsch")',
    'problem not in ["welsch"]',
    "dials.spectrum >= 10",
    "1 < K <= 4",
    "not (K == 5) or zeta > 3",
    "x < -1 and x == -1.5",
    "stderr == None",
    "K != zeta",
    "'cos' in problem",
)
FALSE = ("K == 5", "zeta > 0.5", "stderr < 1", "stderr >= 1", "K == 4 and zeta > 1", "4 < K < 9")


@pytest.mark.parametrize("text", TRUE)
def test_what_holds(text: str) -> None:
    assert condition(text, set(ROW))(ROW)
    assert not condition(f"not ({text})", set(ROW))(ROW)


@pytest.mark.parametrize("text", FALSE)
def test_what_does_not(text: str) -> None:
    assert not condition(text, set(ROW))(ROW)


ATTACKS = (
    "__import__('os').system('true')",
    "K.__class__ == 3",
    "().__class__",
    "problem.upper() == 'COSINE'",
    "[K for K in (1, 2)]",
    "(lambda: 1)()",
    "K if K else 3",
    "K + 1 == 5",
    "9 ** 9 ** 9 == 1",
    "K := 3",
    "f'{K}' == '4'",
    "ROW",
    "K; zeta",
    "1; DROP TABLE cells",
    "K = 4",
    "K is 4",
    "K ==",
    "",
    "(" * 500 + "K" + ")" * 500,
    "b'x' == K",
    "K == 4\x00",
)


@pytest.mark.parametrize("text", ATTACKS)
def test_nothing_else_gets_through(text: str) -> None:
    with pytest.raises(UsageError, match="where: "):
        condition(text, set(ROW))


def test_an_unknown_column_lists_the_known_ones() -> None:
    with pytest.raises(UsageError, match=r"no column Q; known are K, dials\.spectrum"):
        condition("Q == 1", set(ROW))


def test_an_order_of_number_and_text_is_refused() -> None:
    with pytest.raises(UsageError, match="have no order"):
        condition("problem < 3", set(ROW))(ROW)


@pytest.mark.parametrize("number", ["1e-400", "1e400", "-1e-999"])
def test_a_number_that_a_float_cannot_hold_is_named(number: str) -> None:
    with pytest.raises(UsageError, match=f"^where: {number.lstrip('-')} would be read as"):
        condition(f"K == 4 and (sigma > {number} or zeta < 1)", {"K", "sigma", "zeta"})
    assert condition("sigma > 0.0", {"sigma"})({"sigma": 1.0})
