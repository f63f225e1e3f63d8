"""docs/repaired-theorem.md: two inequalities that are no claims, and what the page admits."""

from __future__ import annotations

import re
from fractions import Fraction

from tests.helpers.sources import ROOT

TEXT = (ROOT / "docs/repaired-theorem.md").read_text(encoding="utf-8")
WORST = {"I": 2, "bK": 1}  # both fall as I or bK grows


def test_the_largest_quotient_of_two_steps_of_a_round() -> None:
    """r^3 <= 1 + 1/(4096 I^2 (bK)^2), exactly, so r <= 1.0000204, and r^4 <= 1.0001."""
    stated = re.findall(r"\$r\\le([\d.]+)\$", TEXT)
    assert set(stated) == {"1.0000204"}
    cube = 1 + Fraction(1, 4096 * WORST["I"] ** 2 * WORST["bK"] ** 2)
    assert cube <= Fraction(stated[0]) ** 3
    assert Fraction(stated[0]) ** 4 <= Fraction("1.0001")
    assert cube > Fraction("1.0000203") ** 3


def test_the_offset_of_the_constant_phase() -> None:
    """c_b^3/(4096 bK I^3) <= 8.1, c_b = 64 + 1/(24 bK I)."""
    I, bK = WORST["I"], WORST["bK"]
    c_b = 64 + Fraction(1, 24 * bK * I)
    assert Fraction(8) < c_b**3 / (4096 * bK * I**3) <= Fraction("8.1")
    assert "\\le8.1" in TEXT


def test_who_refereed_it_is_said() -> None:
    for page in ("docs/repaired-theorem.md", "docs/findings.md"):
        text = " ".join((ROOT / page).read_text(encoding="utf-8").split())
        assert "refereed within this project only" in text
