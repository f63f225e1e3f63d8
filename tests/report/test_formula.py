"""Every formula of the ledger can be drawn and read; a broken one is refused."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import pytest

from stemtheory.claims.ledger import claims
from stemtheory.report.formula import WIDEST, Typesetter, parts, plain
from stemtheory.runtime.errors import UsageError

LEDGER = claims()


@pytest.mark.parametrize("name", LEDGER)
def test_every_formula_is_drawn(name: str) -> None:
    setter = Typesetter()
    picture = ET.fromstring(setter.svg(LEDGER[name].formula))
    used = {use.attrib["href"][1:] for use in picture.iter("use")}
    assert used
    assert used == set(setter.glyphs)
    assert float(picture.attrib["width"]) < 2 * WIDEST
    assert 8 < float(picture.attrib["height"]) < 400
    assert not re.search(r"\\[A-Za-z]", plain(LEDGER[name].formula))


def test_what_mathtext_cannot_read_is_refused() -> None:
    with pytest.raises(UsageError, match="cannot be drawn"):
        Typesetter().svg(r"\frac{1")
    with pytest.raises(UsageError, match="cannot be drawn"):
        Typesetter().svg(r"\nosuchcommand x")


def test_pictures_share_their_glyphs_and_are_the_same_on_every_run() -> None:
    setter = Typesetter()
    first = setter.svg(r"x \leq x + 1")
    known = dict(setter.glyphs)
    assert setter.svg(r"x \leq x + 1") == first
    assert setter.glyphs == known
    assert all(f'id="{name}"' in setter.defs() for name in known)


def test_a_fraction_has_its_bar() -> None:
    assert "<rect" in Typesetter().svg(r"\tfrac1\beta")
    assert "<rect" not in Typesetter().svg(r"1/\beta")


def test_breaks_stand_outside_of_brackets_and_norms() -> None:
    formula = r"a + \|b - c\|^2 \leq (d + e)^{f-g} = \frac{h+i}{j}"
    assert parts(formula) == ["a ", r"+ \|b - c\|^2 ", r"\leq (d + e)^{f-g} ", r"= \frac{h+i}{j}"]
    assert "".join(parts(formula)) == formula
    long = " + ".join(["a_{t+1}^{(k)}"] * 40)
    assert len(Typesetter().lines(long)) > 1
    assert all(line.right < WIDEST * 1.1 for line in Typesetter().lines(long))


@pytest.mark.parametrize(
    ("formula", "text"),
    [
        (r"\bar e_{t+1}", "e\u0304_{t+1}"),
        (r"\frac{\sigma^2}{bK}", "σ²/(bK)"),
        (r"\tfrac1K \sum_k \|x_k\|", "1/K Σ_k ‖x_k‖"),
        (r"(1 + \frac{a+b}{c})", "(1 + (a+b)/c)"),
        (r"\sqrt{bKT} \geq \mathrm{const}", "√(bKT) ≥ const"),
    ],
)
def test_plain_text(formula: str, text: str) -> None:
    assert plain(formula) == text
