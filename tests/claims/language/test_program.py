"""A program of expressions gives what their evaluation gives, to the bit, and asks once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pytest

from stemtheory.claims.language import Expr, Program, Scene, Symbol, Times, expr
from stemtheory.claims.language.letters import T, c_0, eta, h_0, l, log, maximum, sum_t, tau
from stemtheory.tightening.program import CHOSEN, COEFFICIENTS, WITH_ONE

NODES = [
    *COEFFICIENTS,
    *(side for step in WITH_ONE.steps for side in (step.left, step.right)),
    maximum(c_0, 2 * h_0) ** tau,
    log(c_0) / (c_0 - h_0) ** 3,
    expr(2),
]


class Numbers(Scene):
    """A scene whose letters are numbers."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        super().__init__()
        self.given = values

    def letter(self, symbol: Symbol, times: Times) -> Any:
        return self.given[symbol.name]


class Asked(Mapping[str, Any]):
    """Letters that count how often they are asked for."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.values_of, self.times = values, Counter[str]()

    def __getitem__(self, name: str) -> Any:
        self.times[name] += 1
        return self.values_of[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.values_of)

    def __len__(self) -> int:
        return len(self.values_of)


def numbers(n: int) -> dict[str, Any]:
    rng = np.random.default_rng(7)
    return {name: rng.uniform(0.1, 1.0, n) for name in (*CHOSEN, "M", "kappa")}


def test_values_are_those_of_the_evaluation_to_the_bit() -> None:
    given = numbers(23)
    scene = Numbers(given)
    for node, found in zip(NODES, Program(NODES).values(given), strict=True):
        np.testing.assert_array_equal(found, scene.evaluation.value(node, Times({})), str(node))


def test_every_letter_is_asked_for_once() -> None:
    asked = Asked(numbers(1))
    Program(NODES).values(asked)
    assert set(asked.times.values()) == {1}
    assert {"h_0", "c_0", "M"} <= set(asked.times)


@pytest.mark.parametrize("node", [sum_t(l, 1, T, eta[l]), 1 + sum_t(l, 1, T, eta[l])])
def test_what_has_times_is_no_program(node: Expr) -> None:
    with pytest.raises(TypeError):
        Program([node])
