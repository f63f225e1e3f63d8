"""What tighten finds: better than the page's parts, short, proved; refused where nothing is."""

from __future__ import annotations

from fractions import Fraction

import pytest

from stemtheory.certificates import Weights
from stemtheory.claims.rstar.coefficients import RSTAR_PARTS
from stemtheory.runtime import UsageError
from stemtheory.tightening import Covered, evaluated, latex, proposed, tightened, told
from stemtheory.tightening.checker import check
from stemtheory.tightening.rounding import WORSE, above, below, near

EVEN = Weights()


@pytest.mark.parametrize(
    ("ratio", "reading", "most"),
    [(8, "literal", 10.21), (32, "literal", 10.70), (100, "literal", 12.47),
     (16, "average-first", 8.40)],
)  # fmt: skip
def test_it_is_a_little_better_than_the_page(ratio: int, reading: str, most: float) -> None:
    found = tightened(Covered(ratio, reading), EVEN)
    assert check(found.document, ratio=ratio, reading=reading)
    assert 0.9 * most < found.C(EVEN) <= most
    assert found.C(EVEN) <= (1 + WORSE) * found.least


@pytest.mark.parametrize("weights", [(100, 1, 1), (1, 100, 1), (1, 1, 100)])
def test_other_weights_give_other_constants_that_are_better_for_them(
    weights: tuple[float, float, float],
) -> None:
    wanted = Weights(*weights)
    found, even = (tightened(Covered(8), w) for w in (wanted, EVEN))
    assert check(found.document)
    assert found.C(wanted) < even.C(wanted)


@pytest.mark.parametrize("ratio", [1, 1000])
def test_every_ratio_has_a_theorem_and_larger_ones_cost_more(ratio: int) -> None:
    found = tightened(Covered(ratio), EVEN)
    assert check(found.document)
    assert found.C(EVEN) < proposed(Covered(10 * ratio + 8), EVEN).C


def test_the_same_question_gives_the_same_bytes() -> None:
    assert tightened(Covered(8), EVEN).data == tightened(Covered(8), EVEN).data


def test_a_page_part_is_a_point_of_the_program_and_no_better_than_its_optimum() -> None:
    part = {name: float(value) for name, value in RSTAR_PARTS["c"].items()} | {"Lam_1": 19.5}
    C, slack = evaluated(Covered(32), EVEN, part)
    assert slack.min() >= 0
    assert proposed(Covered(32), EVEN).C < C < 10.71


@pytest.mark.parametrize(("h", "ratio"), [("1/2", 8), ("7/20", 32)])
def test_where_nothing_is_proved_the_range_is_told(h: str, ratio: int) -> None:
    with pytest.raises(UsageError, match=rf"h = {h}.*is at most 0\.[23]") as refused:
        tightened(Covered(ratio, fixed={"h_0": Fraction(h)}), EVEN)
    most = Fraction(str(refused.value).split("at most ")[1].split(";")[0])
    within = Covered(ratio, fixed={"h_0": most - Fraction(1, 1000)})
    assert check(tightened(within, EVEN).document)


def test_a_ratio_beyond_the_range_is_refused() -> None:
    with pytest.raises(UsageError, match="up to 1000000"):
        tightened(Covered(10**6 + 1), EVEN)


def test_the_steps_that_are_held_are_the_ones_proved() -> None:
    found = tightened(Covered(8, fixed={"h_0": Fraction(1, 5)}), EVEN)
    assert found.statement["h"] == Fraction(1, 5)
    assert r"\eta = \frac{0.2}{LI}" in latex(found.statement)


def test_what_is_told_compares_with_the_bounds_of_the_product() -> None:
    document = told(tightened(Covered(8), EVEN), EVEN, K=4, I=4, b=1)
    printed, repaired = document["beside"]
    assert printed["value"] == pytest.approx(844802.87, abs=0.01)
    assert repaired["value"] / document["C"] == pytest.approx(repaired["rounds"])
    assert repaired["samples"] == pytest.approx(repaired["rounds"] ** 1.5)  # I <= 8: as many
    assert min(row["slack"] for row in document["inequalities"]) >= 0


def test_rounding_goes_to_its_side() -> None:
    assert near(0.12345, 2) == Fraction("0.12")
    assert above(Fraction("0.12001"), 3) == Fraction("0.121")
    assert below(Fraction("0.12999"), 2) == Fraction("0.12")
    assert above(Fraction(12), 2) == below(Fraction(12), 2) == 12
