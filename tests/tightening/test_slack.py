"""The way from the printed theorem to the worst run: the page's table, and every setting."""

from __future__ import annotations

from typing import Any

import pytest
from matplotlib.patches import Rectangle

from stemtheory.bounds import Setting, evaluate
from stemtheory.certificates import Weights
from stemtheory.figures import waterfall as figure
from stemtheory.report import FigureTable
from stemtheory.runtime import UsageError
from stemtheory.tightening import waterfall
from tests.figures.columns import drawn

PAGE = {  # certificates at (I, K, b) = (4, 4, 1), all constants 1, within 1 %
    "printed theorem": 844802.87,
    "logarithm": 42.25,
    "the potential's weight": 34.42,
    "Theorem R with its constants set free": 10.69,
    "printed steps": 34.14,
    "worst run at the printed steps": 17.81,
}
TUNED = {"literal": (5.14, 2.72), "average-first": (4.20, None)}


def by_step(document: dict[str, Any]) -> dict[str, float]:
    return {row["step"]: row["value"] for row in (*document["rows"], *document["beside"])}


def test_a_setting_without_certificates_falls_from_bound_to_run() -> None:
    document = waterfall("literal", Weights(2, 3, 5), K=2, I=9, b=1)
    rows = document["rows"]
    values = [row["value"] for row in rows]
    assert values == sorted(values, reverse=True)
    assert rows[-1]["claim"] == "exact moments"
    S = (9 * 2) ** 2
    at = Setting(9 * S, 2, 1, 9, L=1.0, gap=2.0, sigma=3**0.5, zeta=5**0.5)
    assert values[0] == pytest.approx(S * evaluate("stem-theorem", at).value)
    product = 1.0
    for row in rows[1:]:
        product *= row["factor"]
    assert product == pytest.approx(values[0] / values[-1])


@pytest.mark.parametrize(("K", "I", "b"), [(1, 33, 1), (2, 100, 3), (4, 1000, 1)])
def test_any_number_of_local_steps_will_do(K: int, I: int, b: int) -> None:
    """More than a certificate holds (32), too."""
    document = waterfall("average-first", Weights(), K=K, I=I, b=b)
    values = [row["value"] for row in document["rows"]]
    assert values[0] > 1e5
    assert values[-1] < values[-2] < values[0]
    (worst,) = document["beside"]  # and no part (a), which would need a sync batch
    assert worst["step"] == "worst run at the printed steps"
    assert worst["value"] < values[4]  # the log-free bound at these steps


def test_a_run_that_is_too_long_is_refused_by_what_was_given() -> None:
    with pytest.raises(
        UsageError, match=r"^K, I and b are 100000, 32 and 100000, but .*3\.28e\+24"
    ):
        waterfall("literal", Weights(), K=100_000, I=32, b=100_000)


@pytest.mark.slow
@pytest.mark.parametrize("reading", TUNED)
def test_the_table_of_the_page_is_met_to_one_per_cent(reading: str) -> None:
    pytest.importorskip("cvxpy")
    pytest.importorskip("clarabel")
    document = waterfall(reading, Weights(), K=4, I=4, b=1)
    found = by_step(document)
    for step, value in PAGE.items():
        assert found[step] == pytest.approx(value, rel=0.01), step
    certified, worst = TUNED[reading]
    assert found["multipliers of a round"] == pytest.approx(certified, rel=0.01)
    if worst is not None:
        assert found["what no proof of this form can gain"] == pytest.approx(worst, rel=0.01)


def test_the_figure_has_a_bar_for_each_step_that_ends_at_its_value() -> None:
    values = (800.0, 40.0, 5.0, 2.0)
    rows = [
        {"reading": reading, "step": f"step {n}", "claim": "M7", "value": value, "factor": 2.0}
        for reading in figure.READINGS
        for n, value in enumerate(values)
    ]
    data = FigureTable.of(figure.COLUMNS, rows, K=4, b=1, I=4)
    for ax in drawn(figure.ENTRY, data):
        bars = [bar.get_bbox() for bar in ax.patches if isinstance(bar, Rectangle)]
        assert [bar.x0 for bar in bars] == [1.0, 40.0, 5.0, 2.0]
        assert [bar.x1 for bar in bars] == [800.0, 800.0, 40.0, 5.0]
    assert "from 800 to 5 proved" in figure.caption(data)
