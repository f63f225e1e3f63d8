"""Every formula of the ledger can be shown and read; a broken one is refused."""

import re
import xml.etree.ElementTree as ET

import pytest

from stemtheory.claims.ledger import claims
from stemtheory.report.formula import mathml, parts, plain
from stemtheory.runtime.errors import UsageError

LEDGER = claims()


@pytest.mark.parametrize("name", LEDGER)
def test_every_formula_is_shown(name: str) -> None:
    formula = LEDGER[name].formula
    lines = [ET.fromstring(text) for text in mathml(formula).split("<wbr>")]
    assert {line.tag for line in lines} == {"math"}
    letters = set("".join("".join(line.itertext()) for line in lines))
    asked = set(re.sub(r"\\[A-Za-z]+", "", formula)) & set("KLTIbdef0123456789=+")
    assert asked <= letters
    assert not re.search(r"\\[A-Za-z]", plain(formula))


@pytest.mark.parametrize(
    ("formula", "reason"),
    [
        (r"\frac{1", "argument is missing"),
        (r"\frac{a}", "argument is missing"),
        (r"\nosuchcommand x", "not known"),
        ("{a", "braces do not match"),
        ("a}", "braces do not match"),
        ("x^", "SuperScript"),
        (r"\left( a", "Right"),
        ("a & b", "not well-formed"),
        ("", "NoAvailableTokens"),
    ],
)
def test_what_cannot_be_read_is_refused(formula: str, reason: str) -> None:
    with pytest.raises(UsageError, match="cannot be shown") as refused:
        mathml(formula)
    assert reason in str(refused.value)


def test_markup_in_a_formula_is_text() -> None:
    text = mathml("<script>x</script>")
    assert "<script" not in text
    assert "&lt;" in text


def test_a_line_may_begin_with_a_sign_that_keeps_its_distance() -> None:
    first, second = (ET.fromstring(text) for text in mathml("-a + b").split("<wbr>"))
    minus, plus = first.find(".//mo"), second.find(".//mo")
    assert minus is not None
    assert plus is not None
    assert (minus.text, minus.get("form")) == ("\u2212", None)
    assert (plus.text, plus.get("form")) == ("+", "infix")


def test_breaks_stand_outside_of_brackets_and_norms() -> None:
    formula = r"a + \|b - c\|^2 \leq (d + e)^{f-g} = \frac{h+i}{j}"
    assert parts(formula) == ["a ", r"+ \|b - c\|^2 ", r"\leq (d + e)^{f-g} ", r"= \frac{h+i}{j}"]
    assert "".join(parts(formula)) == formula
    assert mathml(formula).count("<wbr>") == 3


@pytest.mark.parametrize(
    ("formula", "text"),
    [
        (r"\bar e_{t+1}", "e\u0304_{t+1}"),
        (r"\frac{\sigma^2}{bK}", "σ²/(bK)"),
        (r"\tfrac1K \sum_k \|x_k\|", "1/K Σ_k ‖x_k‖"),
        (r"(1 + \frac{a+b}{c})", "(1 + (a+b)/c)"),
        (r"\sqrt{bKT} \geq \mathrm{const}", "√(bKT) ≥ const"),
        (r"\Psi \leftarrow \lceil I/M \rceil, \varphi", "Ψ ← ⌈ I/M ⌉, φ"),
        (r"\underline x", "underline x"),
    ],
)
def test_plain_text(formula: str, text: str) -> None:
    assert plain(formula) == text
