"""Lines between numbers are proved for all reals; numbers break their wrong versions."""

from __future__ import annotations

from fractions import Fraction

import pytest

from stemtheory.certificates.lemmas import scalars
from stemtheory.certificates.lemmas.proofs import facts, versions
from stemtheory.certificates.lemmas.scalars import UnprovedError
from stemtheory.certificates.lemmas.statement import Cut, Fact
from stemtheory.claims import claims
from stemtheory.claims.language import Line, Q, Relation, checked, equal, expr
from stemtheory.claims.language.letters import I, K, a, b, c, exp, maximum, sqrt, t

pytest.importorskip("z3")
flint = pytest.importorskip("flint")
EVERY = list(facts().values())
NAMES = list(facts())
NEVER = Relation(expr(1), "<=", expr(0))


def line_of(fact: Fact) -> Line:
    line = claims()[fact.claim].line
    assert line is not None
    return line


def test_at_least_25_lines_between_numbers_are_proved() -> None:
    assert len(EVERY) >= 25


@pytest.mark.parametrize("fact", EVERY, ids=NAMES)
def test_the_line_is_proved(fact: Fact) -> None:
    assert scalars.prove(fact, line_of(fact)) >= len(line_of(fact).steps)


@pytest.mark.parametrize("fact", EVERY, ids=NAMES)
def test_the_premises_can_be_met(fact: Fact) -> None:
    """From what contradicts itself anything would follow."""
    for _, within in scalars.parts_of(fact).values():
        premises = scalars.together((*scalars.premises_of(fact).values(), within))
        assert scalars.refuted(NEVER, premises) is not None


@pytest.mark.parametrize("fact", EVERY, ids=NAMES)
def test_its_mutant_is_refused_with_numbers(fact: Fact) -> None:
    wrong = versions(line_of(fact), fact.mutant)
    broken = next((line for line in wrong if scalars.counterexample(fact, line)), None)
    assert broken is not None
    with pytest.raises(UnprovedError):
        scalars.prove(fact, broken)


@pytest.mark.parametrize("fact", EVERY, ids=NAMES)
def test_units_may_be_chosen(fact: Fact) -> None:
    """L = sigma = 1 is no loss where every line is homogeneous; wrong ones are refused."""
    for _, within in scalars.parts_of(fact).values():
        cuts = [cut.line for cut in fact.cuts.values()]
        for line in (line_of(fact), *scalars.premises_of(fact).values(), *cuts, within):
            assert checked(line) == line


def test_nothing_is_taken_for_granted_of_the_momentum() -> None:
    """SCH7 says that it is positive: that must not be proved from itself."""
    assert scalars.refuted((a[t] >= 0).steps[0], None) is not None


@pytest.mark.parametrize("line", [1 / (I - 1) >= 0, (1 - 1 / K) ** Q("1/2") >= 0, 1 / a[t] >= 0])
def test_a_denominator_that_may_be_0_is_refused(line: Line) -> None:
    with pytest.raises(UnprovedError, match="denominator or root that may be 0"):
        scalars.refuted(line.steps[0], None)


def test_a_false_line_comes_with_numbers_that_break_it() -> None:
    with pytest.raises(UnprovedError, match=r"false at I = .*, K = "):
        scalars.ask((I <= K).steps[0], ())
    assert scalars.refuted((I <= K).steps[0], I <= K) is None


def test_cuts_are_proved_and_not_believed() -> None:
    (claim,) = [fact for fact in EVERY if fact.claim == "SCH4"]
    wrong = Fact(
        "SCH4",
        "",
        premises=claim.premises,
        cuts={"wish": scalars_cut(c <= 64)},
        uses={0: ("wish",)},
    )
    with pytest.raises(UnprovedError, match="false at"):
        scalars.prove(wrong, line_of(claim))


def scalars_cut(line: Line) -> Cut:
    return Cut(line, ("kbar", "c"))


@pytest.mark.parametrize(
    ("line", "holds"),
    [
        (sqrt(I) <= I, True),
        (I <= sqrt(I), False),
        (maximum(I, K) >= K, True),
        (maximum(I, K) <= K, False),
        (equal(I ** Fraction(1, 3) * I ** Fraction(2, 3), I), True),
        (1 / (b * K) <= 1, True),
        (1 / b + 1 / K <= 1, False),
        ((1 / b - 1 / K) ** 2 <= 1, True),
        (I ** Q("-1/2") <= 1, True),
        (exp(Q("33/32")) <= Q("2.8046"), True),
        (exp(Q("33/32")) <= Q("2.8040"), False),
    ],
)
def test_what_a_line_says_in_the_reals(line: Line, holds: bool) -> None:
    assert (scalars.refuted(line.steps[0], None) is None) is holds
