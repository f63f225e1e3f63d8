"""Every lemma's identity holds, needs each of its parts, and refuses wrong versions of its line."""

from __future__ import annotations

from dataclasses import replace

import pytest

from stemtheory.certificates.lemmas import identities
from stemtheory.certificates.lemmas.proofs import lemmas, versions
from stemtheory.certificates.lemmas.scalars import UnprovedError
from stemtheory.certificates.lemmas.statement import Lemma, Parts
from stemtheory.claims import claims, wrong_versions
from stemtheory.claims.language import Line, Q, checked, equal, expr, letters
from stemtheory.claims.language.letters import I, ebar, eta, inner, norm2, t, xbar

pytest.importorskip("sympy")
pytest.importorskip("z3")
EVERY = [
    pytest.param(lemma, id=f"{lemma.claim} {lemma.step}")
    for proofs in lemmas().values()
    for lemma in proofs
]


def line_of(lemma: Lemma) -> Line:
    line = claims()[lemma.claim].line
    assert line is not None
    return line


def test_at_least_eight_lemmas_have_an_identity() -> None:
    wanted = "M1 M2 M2b M2c M3-R M3b M3c M5-R M5a M5b R1 REP1 F1-C F2b F3 U1 U3"
    assert set(wanted.split()) <= set(lemmas())


@pytest.mark.parametrize("lemma", EVERY)
def test_the_identity_holds(lemma: Lemma) -> None:
    identities.prove(lemma, line_of(lemma))  # raises where something is left over
    assert set(identities.residuals(lemma, line_of(lemma)).values()) == {"0"}


@pytest.mark.parametrize("lemma", EVERY)
def test_no_part_can_be_left_out(lemma: Lemma) -> None:
    *_, where = lemma.at  # the jump, where there are two: there every part counts
    lemma = replace(lemma, at={where: lemma.at[where]})
    without = [replace(lemma, givens=_without(lemma.givens, i)) for i in range(len(lemma.givens))]
    without += [
        replace(lemma, squares=_without(lemma.squares, i)) for i in range(len(lemma.squares))
    ]
    for fewer in without:
        assert set(identities.residuals(fewer, line_of(lemma)).values()) != {"0"}


def _without(parts: Parts, i: int) -> Parts:
    return (*parts[:i], *parts[i + 1 :])


@pytest.mark.parametrize("lemma", EVERY)
def test_wrong_versions_leave_a_residual(lemma: Lemma) -> None:
    line = line_of(lemma)
    shipped = versions(line, lemma.mutant)
    assert shipped
    other = [w.line for w in wrong_versions(line) if w.rule == "constant" and not w.implied][:3]
    for version in (*shipped, *other):
        if version.steps[lemma.step] != line.steps[lemma.step]:
            with pytest.raises(UnprovedError, match="left over"):
                identities.prove(lemma, version)


def test_a_part_that_may_be_negative_is_no_square() -> None:
    with pytest.raises(UnprovedError, match="no sum of squares"):
        _with_square(expr(1), inner(ebar[t], xbar[t]))


def test_a_multiplier_that_may_be_negative_is_refused() -> None:
    """Both times the residual is 0: 2 (I/2 - 1) |e|^2 is what the square leaves of it."""
    with pytest.raises(UnprovedError, match="false at"):
        _with_square(I / 2 - 1, norm2(ebar[t]))
    with pytest.raises(UnprovedError, match="false at"):
        _with_square(1 - 17 * letters.L * eta[t], norm2(ebar[t]))
    _with_square(1 - letters.L * eta[t], norm2(ebar[t]))


def _with_square(multiplier: letters.Expr, square: letters.Expr) -> None:
    made = Lemma(
        "M2b",
        "",
        squares=((multiplier, square),),
        premises=eta[t] <= Q("1/16") / letters.L,
    )
    identities.prove(made, expr(0) <= multiplier * square)


def test_an_equality_has_no_parts_that_may_be_positive() -> None:
    (lemma,) = lemmas()["U1-exact"]
    made = replace(lemma, squares=((expr(0), norm2(xbar[t])),))
    with pytest.raises(UnprovedError, match="equality"):
        identities.prove(made, line_of(lemma))


@pytest.mark.parametrize("lemma", EVERY)
def test_units_may_be_chosen(lemma: Lemma) -> None:
    """Signs are shown at L = 1, which is no loss: premises and definitions are homogeneous."""
    definitions = [lemma.definitions, *lemma.at.values()]
    lines = [equal(letter, meant) for own in definitions for letter, meant in own.items()]
    lines += [given.value >= 0 for _, given in lemma.givens]
    lines += [lemma.premises] if lemma.premises is not None else []
    assert [checked(line) for line in lines] == lines  # a wrong power is refused
