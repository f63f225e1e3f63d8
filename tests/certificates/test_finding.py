"""Certificates found again: the reference constants, and the theorem that they give."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import NamedTuple

import pytest

from stemtheory.certificates import (
    Weights,
    beside,
    constants,
    find,
    refuse_the_large,
    size,
    stated,
    why_not,
)
from stemtheory.runtime import UsageError

AVERAGE, LITERAL, slow = "average-first", "literal", pytest.mark.slow


class Reference(NamedTuple):
    reading: str
    sizes: tuple[int, int, int, int]  # I, K, b, m
    steps: tuple[str, str] | None  # h and alpha; the printed ones if None
    c_S: float
    c_Z: float


# Reference numbers of a second implementation, found at the same steps.
REFERENCES = [
    Reference(AVERAGE, (1, 4, 1, 1), None, 2.1942, 0),
    Reference(AVERAGE, (2, 4, 1, 1), None, 2.1421, 0),
    Reference(AVERAGE, (4, 4, 1, 1), None, 2.1340, 0.0013),
    Reference(AVERAGE, (4, 1000, 1, 1), None, 2.1311, 0.0016),
    Reference(AVERAGE, (4, 4, 1, 4), None, 2.1089, 0.0009),
    Reference(LITERAL, (4, 1, 1, 1), None, 2.1397, 0),
    Reference(LITERAL, (2, 4, 1, 1), None, 2.1510, 0.0019),
    Reference(LITERAL, (4, 4, 1, 1), None, 2.1383, 0.0032),
    Reference(LITERAL, (4, 1000, 1, 1), None, 2.1363, 0.0039),
    Reference(LITERAL, (4, 4, 1, 4), None, 2.1114, 0.0029),
    Reference(AVERAGE, (4, 4, 1, 1), ("0.8214", "1.001"), 1.6740, 0.0883),
    Reference(AVERAGE, (4, 64, 4, 1), ("0.8547", "1.0004"), 1.5706, 0.1551),
    Reference(LITERAL, (2, 2, 1, 1), ("0.725", "0.981"), 1.7950, 0.0999),
    Reference(LITERAL, (4, 4, 1, 1), ("0.63", "0.69"), 1.7687, 0.1997),
    Reference(LITERAL, (4, 100, 4, 1), ("0.60", "0.69"), 1.4339, 0.2251),
]
LONG = [
    Reference(AVERAGE, (8, 100, 8, 1), None, 2.1300, 0.0042),
    Reference(LITERAL, (8, 4, 1, 1), None, 2.1345, 0.0045),
    Reference(LITERAL, (8, 4, 1, 1), ("0.55", "0.60"), 1.6526, 0.3152),
]


@pytest.mark.parametrize("row", [*REFERENCES, *(pytest.param(row, marks=slow) for row in LONG)])
def test_the_constants_are_those_of_the_reference(row: Reference) -> None:
    I, K, b, m = row.sizes
    h, alpha = (None, None) if row.steps is None else map(Fraction, row.steps)
    s = stated("stem", row.reading, I=I, K=K, b=b, m=m, h=h, alpha=alpha)
    found = find(s)
    c = constants(found.certificate["statement"])
    assert c["c_D"] == 2 / (s.eta * I)
    assert float(sum(c.values())) == pytest.approx(float(c["c_D"]) + row.c_S + row.c_Z, rel=1e-3)
    assert float(c["c_Z"]) == pytest.approx(row.c_Z, rel=0.2, abs=1e-4)
    assert len(found.data) < 200_000
    if row.steps is None:  # where Theorem R chose 240
        own = b * K / (s.eta * Fraction(found.certificate["statement"]["lambda"]))
        assert own > 240


FEDAVG = {
    (2, 2, 1): (1.588e-3, 2.27, 1.75e-5, 49),
    (4, 4, 1): (4.281e-4, 2.70, 3.72e-5, 52),
    (4, 4, 4): (1.074e-4, 5.39, 3.64e-5, 53),
    (8, 16, 1): (7.84e-5, 4.10, 6.22e-5, 42),
}


@pytest.mark.parametrize("sizes", FEDAVG)
def test_fedavg_has_the_constants_of_the_reference_and_the_factors_over_the_paper(
    sizes: tuple[int, int, int],
) -> None:
    I, K, b = sizes
    sigma, over_sigma, zeta, over_zeta = FEDAVG[sizes]
    s = find(stated("fedavg", "none", I=I, K=K, b=b)).certificate["statement"]
    assert float(Fraction(s["C_sigma"])) == pytest.approx(sigma, rel=1e-3)
    assert float(Fraction(s["C_zeta"])) == pytest.approx(zeta, rel=0.02)
    factors = [row["factor"] for row in beside(s)]
    assert factors == pytest.approx([over_sigma, over_zeta], rel=0.02)


def test_fedavg_with_one_local_step_is_known_in_closed_form() -> None:
    s = find(stated("fedavg", "none", I=1, K=4, b=2)).certificate["statement"]
    assert float(Fraction(s["C_sigma"])) == pytest.approx((1 / 9) ** 2 / (2 * 8), rel=1e-5)
    assert float(Fraction(s["C_zeta"])) < 1e-8


@pytest.mark.parametrize(
    ("weight", "reading", "c_S", "c_Z"),
    [
        (Weights(1, 0.01, 1), AVERAGE, 2.1495, 0.00023),
        (Weights(1, 1, 0.01), LITERAL, 2.1377, 0.0046),
    ],
)
def test_weights_trade_the_constants(weight: Weights, reading: str, c_S: float, c_Z: float) -> None:
    c = constants(find(stated("stem", reading, I=4, K=4, b=1), weight).certificate["statement"])
    assert float(c["c_S"]) == pytest.approx(c_S, rel=1e-3)
    assert float(c["c_Z"]) == pytest.approx(c_Z, rel=0.2)


def test_equal_inputs_give_equal_files() -> None:
    s = stated("stem", LITERAL, I=2, K=3, b=1)
    assert find(s).data == find(s).data


def test_the_bounds_by_hand_stand_beside_it() -> None:
    s = find(stated("stem", LITERAL, I=4, K=4, b=1)).certificate["statement"]
    printed, repaired = beside(s)
    assert printed["value"] == pytest.approx(844802.87, rel=1e-6)
    assert repaired["value"] == pytest.approx(34.42, rel=1e-3)
    assert repaired["factor"] == pytest.approx(34.42 / 34.1415, rel=1e-3)
    assert repaired["unmet"] == []


def test_what_takes_minutes_says_so_first() -> None:
    s = stated("stem", LITERAL, I=16, K=4, b=1)
    assert size(s) == (67, 33 * 32 + 3 * 16 + 17)
    with pytest.raises(
        UsageError, match=r"side 67 and 1121 rows take about .* minutes: add --force"
    ):
        refuse_the_large(s)
    refuse_the_large(s, force=True)
    refuse_the_large(stated("stem", LITERAL, I=12, K=4, b=1))


def test_steps_that_allow_no_certificate_are_refused_with_what_was_tried() -> None:
    s = stated("stem", LITERAL, I=2, K=2, b=1, h=Fraction(40), alpha=Fraction(1))
    with pytest.raises(UsageError, match=r"no certificate was found at eta = 20.* margins 1e-08"):
        find(s)


def test_a_statement_out_of_range_is_refused() -> None:
    for sizes in (
        {"I": 33},
        {"K": 10**9 + 1},
        {"b": 0},
        {"h": Fraction(0)},
        {"alpha": Fraction(99)},
    ):
        with pytest.raises(UsageError):
            stated("stem", LITERAL, **{"I": 4, "K": 2, "b": 1, **sizes})  # type: ignore[arg-type]


def test_the_file_says_what_was_asked_for() -> None:
    s = stated("stem", AVERAGE, I=3, K=2, b=2, m=3, h=Fraction("0.3"), alpha=Fraction("0.7"))
    data = find(s).data
    wanted = {"I": 3, "K": 2, "b": 2, "m": 3, "eta": "1/10", "a": str(Fraction("0.7") / 36)}
    assert why_not(data, **wanted, reading=AVERAGE) == ""
    assert json.loads(data)["statement"]["mu"] == "0"
