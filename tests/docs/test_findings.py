"""docs/findings.md is what the code computes, and the commands that it names show it."""

from __future__ import annotations

import math
import re
import shlex

import pytest

from docs.build import findings
from docs.build.templates import fill
from stemtheory.cli.app import main
from tests.docs.test_readme import commands
from tests.helpers.sources import ROOT

PAGE = ROOT / "docs/findings.md"
TEMPLATE = ROOT / "docs/findings.template.md"
TEXT = PAGE.read_text(encoding="utf-8")
COMMANDS = sorted(
    {" ".join(found.split()) for found in re.findall(r"`(stemtheory [^`]+)`", TEXT)}
    - {"stemtheory verify --replay"}
)
# README and tour show these with their output, to which test_readme.py holds them.
SHOWN = {f"stemtheory {shlex.join(shown.argv)}" for shown in commands() if not shown.marked}
LABELS = (ROOT / "tests/data/paper_labels.txt").read_text(encoding="utf-8").splitlines()


@pytest.fixture(scope="module")
def values() -> dict[str, str]:
    """Return the values as they are computed now."""
    return findings.values()


@pytest.mark.slow
def test_no_number_is_stale(values: dict[str, str]) -> None:
    template = TEMPLATE.read_text(encoding="utf-8")
    assert fill(template, values) == TEXT, "run: python -m docs.build"


def test_names_and_values_must_meet() -> None:
    assert fill("a {{b}} c", {"b": "1"}) == "a 1 c"
    with pytest.raises(ValueError, match=r"\['b'\]"):
        fill("a {{b}} c", {})
    with pytest.raises(ValueError, match=r"\['d'\]"):
        fill("a {{b}} c", {"b": "1", "d": "2"})


@pytest.mark.slow
@pytest.mark.parametrize("command", sorted({*COMMANDS} - SHOWN))
def test_the_commands_of_the_page_run(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(shlex.split(command)[1:]) == 0
    out, err = capsys.readouterr()
    assert out
    assert err == ""


def test_a_command_that_takes_minutes_is_run_once() -> None:
    assert "stemtheory verify synchronisation" in SHOWN & {*COMMANDS}


def test_the_page_names_labels_of_the_paper() -> None:
    named = re.findall(r"`((?:cor|Cor|lem|Lem|Thm|Eq|eq|Rem|App|Def|Ass): ?[^`]+)`", TEXT)
    assert len(named) > 8
    assert [name for name in named if name not in LABELS] == []


def test_the_steps_multiply_to_the_quotient_of_the_bounds() -> None:
    """findings.looseness_values raises if they do not; a wrong step is noticed."""
    good = findings.looseness(4, 1, 4, 1e6)
    assert math.prod(good.values()) > 500
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(findings, "theorem_c_b", lambda K, b, I: 65.0)
        with pytest.raises(ValueError, match="multiply"):
            findings.looseness_values()


def test_what_was_found_does_not_stand_in_the_template() -> None:
    """Ranges and thresholds are filled in; what stands by hand is named at the top of the page."""
    template = TEMPLATE.read_text(encoding="utf-8")
    for number in ("40000", "86", "318", "144", "160", "66.8", "9.2e"):
        assert re.search(rf"(?<![\d.]){re.escape(number)}(?![\d])", template) is None, number
    assert template.count("2^19") == 2
    assert findings.printed_longest() == 86


def test_minus_zero_is_no_exponent() -> None:
    assert findings.exponent(-0.0014) == "0.00"
    assert findings.exponent(-1.000006) == "-1.00"
