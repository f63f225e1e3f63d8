"""The random numbers of a group: drawn for those who run, and no others."""

from __future__ import annotations

from typing import Any

import pytest

from stemtheory import load_problem, simulate
from stemtheory.runtime import SideBySide
from tests.algorithms.common import HALF


@pytest.mark.parametrize(("algorithm", "draws"), [("stem", 13), ("fedavg", 12)])
@pytest.mark.parametrize(
    ("name", "source"), [("cosine", "host"), ("cosine", "philox"), ("logistic", "host")]
)
def test_what_is_drawn_is_used(
    name: str, source: str, algorithm: str, draws: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Mutant: three replicates draw the noise of eight, and throw that of five away."""
    problem, drawn = load_problem(name, K=4, dim=3), [0]
    whole = type(problem).draw

    def draw(self: Any, stream: Any, shape: tuple[int, ...], *more: Any) -> Any:
        drawn[0] += shape[0] * shape[1]
        return whole(self, stream, shape, *more)

    monkeypatch.setattr(type(problem), "draw", draw)
    simulate(problem, algorithm, T=12, b=2, I=4, replicates=3, noise_source=source, engine="array")
    assert drawn[0] == 3 * draws


def test_choices_of_a_round_are_drawn_for_those_who_run(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[int] = []
    whole = SideBySide.random

    def random(self: SideBySide, shape: tuple[int, ...]) -> Any:
        drawn.append(shape[0])
        return whole(self, shape)

    monkeypatch.setattr(SideBySide, "random", random)
    settings: dict[str, Any] = {"schedule": "constant", "schedule_options": {"eta": 0.05}}
    simulate(
        load_problem("cosine", K=4, dim=3), "fedavg", T=12, b=2, I=4, replicates=3,
        algorithm_options=HALF, **settings,
    )  # fmt: skip
    assert drawn == [3, 3, 3]
