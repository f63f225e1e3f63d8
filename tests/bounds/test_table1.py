"""Table 1's exponents: exact, for every nu, and consistent with the curves."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from stemtheory.bounds import table1_exponents
from stemtheory.bounds.table1 import TableRow
from stemtheory.runtime.errors import UsageError

NUS = [Fraction(0), Fraction(1, 7), Fraction(1, 3), Fraction(1, 2), Fraction(3, 4), Fraction(1)]


def rows(nu: Any) -> dict[str, TableRow]:
    return {row.algorithm: row for row in table1_exponents(nu)}


@pytest.mark.parametrize("nu", NUS)
def test_this_papers_rows_are_the_printed_exponents(nu: Fraction) -> None:
    at = rows(nu)
    assert at["FedAvg"][1:] == (
        Fraction(-2),
        Fraction(-3, 2),
        -2 * (1 - nu) / (4 - nu),
        -3 * nu / (2 * (4 - nu)),
        True,
    )
    assert at["STEM"][1:] == (
        Fraction(-3, 2),
        Fraction(-1),
        -3 * (1 - nu) / (2 * (3 - nu)),
        -nu / (3 - nu),
        True,
    )
    assert all(isinstance(value, Fraction) for row in at.values() for value in row[1:5])


@pytest.mark.parametrize("nu", NUS)
def test_b_times_I_is_the_same_everywhere_on_either_curve(nu: Fraction) -> None:
    for name in ("FedAvg", "STEM", "Fed STEM", "Minibatch STEM"):
        row = rows(nu)[name]
        assert row.b + row.I == Fraction(-1, 2)
        assert row.samples - row.rounds == Fraction(-1, 2)


def test_the_two_named_variants_are_the_ends_of_the_curve() -> None:
    assert rows(1)["STEM"][1:] == rows(Fraction(1, 2))["Fed STEM"][1:]
    assert rows(0)["STEM"][1:] == rows(Fraction(1, 2))["Minibatch STEM"][1:]
    assert rows(1)["FedAvg"][1:5] == rows(1)["FedAvg (Yu et al.)"][1:5]


def test_quoted_rows() -> None:
    at = rows(Fraction(1, 2))
    quoted = {name: row[1:5] for name, row in at.items() if not row.here}
    assert quoted == {
        "FedAvg (Yu et al.)": (-2, Fraction(-3, 2), 0, Fraction(-1, 2)),
        "FedAvg (Karimireddy, Yang et al.)": (-2, -2, 0, 0),
        "SCAFFOLD": (-2, -2, 0, 0),
        "FedPD/FedProx": (-2, -1, 0, -1),
        "MIME/FedGLOMO": (Fraction(-3, 2), Fraction(-3, 2), 0, 0),
    }


def test_a_wrong_curve_is_rejected() -> None:
    """With b = T^{(1-nu)/3} on STEM's T, samples would no longer be eps^{-3/2} at every nu."""
    mutant = {nu: -3 / (3 - nu) * (1 + (1 - nu) / 3) for nu in NUS}
    assert {nu for nu in NUS if mutant[nu] == rows(nu)["STEM"].samples} == {Fraction(1)}


def test_a_float_nu_gives_floats() -> None:
    stem = rows(0.3)["STEM"]
    assert stem.samples == pytest.approx(-1.5)
    assert stem.I == pytest.approx(-0.3 / 2.7)


@pytest.mark.parametrize("nu", [-1, 1.01, Fraction(9, 8), float("nan")])
def test_nu_outside_its_range_is_refused(nu: Any) -> None:
    with pytest.raises(UsageError, match="nu"):
        table1_exponents(nu)
