"""Large numbers for people: one style, and digits where they are due."""

import math

import pytest

from stemtheory.runtime import counted, large, rounded


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (5160, "5,160"),
        (51_600.0, "51,600"),
        (999_999, "999,999"),
        (1_000_000, "1e+06"),
        (-51_600_000.0, "-5.16e+07"),
        (0.0123456, "0.0123456"),
        (0, "0"),
    ],
)
def test_large(value: float, text: str) -> None:
    assert large(value) == text


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (43_891.4, 4, "43,890"),
        (9_213.0, 3, "9,210"),
        (999_999.0, 4, "1e+06"),
        (51_696_882.0, 4, "5.17e+07"),
        (51_686_882.0, 4, "5.169e+07"),
        (0.0085761, 4, "0.008576"),
        (1e-7, 2, "1e-07"),
        (math.nan, 4, "nan"),
        (math.inf, 4, "inf"),
    ],
)
def test_rounded_keeps_its_digits_and_no_more(value: float, digits: int, text: str) -> None:
    assert rounded(value, digits) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (32_796, "32,796"),
        (51_696_882, "51,696,882"),
        (999_999_999.0, "999,999,999"),
        (2_944_711.9127, "2,944,712"),
        (11.25, "11.25"),
        (15_873_015_874, "1.587e+10"),
    ],
)
def test_a_count_is_in_full_while_it_can_be_read(value: float, text: str) -> None:
    assert counted(value) == text
