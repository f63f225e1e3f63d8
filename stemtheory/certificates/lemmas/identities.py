"""Proofs of one-step lemmas: right - left minus the parts of an identity expands to 0.

What is proved is read from the claim's own line. Every given and every square is checked to be
what it is called: a square is nonnegative by its form, a multiplier by the signs of its letters or
by z3 from the lemma's premises.
"""

from __future__ import annotations

from stemtheory.certificates.lemmas.ring import Ring
from stemtheory.certificates.lemmas.scalars import UnprovedError, ask
from stemtheory.certificates.lemmas.statement import JUMP, Lemma, Meaning
from stemtheory.claims.language import Expr, Line, Relation, expr, nonnegative, text


def parts(lemma: Lemma) -> Expr:
    """Return the sum that right - left is claimed to be."""
    found: Expr = expr(0)
    for multiplier, given in lemma.givens:
        found = found + multiplier * given.value
    for multiplier, square in lemma.squares:
        found = found + multiplier * square
    return found


def residuals(lemma: Lemma, line: Line) -> dict[str, str]:
    """Return what is left of right - left, expanded, at the jump and elsewhere: "0" proves it."""
    step, total = line.steps[lemma.step], parts(lemma)
    found = {}
    for where, own in lemma.at.items():
        ring = Ring({**lemma.definitions, **own}, where == JUMP, lemma.spans)
        found[where] = str(ring.residual(step.right - step.left - total))
    return found


def prove(lemma: Lemma, line: Line) -> list[Expr]:
    """Prove a comparison of a line, and return the multipliers whose sign z3 had to show.

    Raises
    ------
    UnprovedError
        If something is left over, or the sign of a part is not known.
    """
    for where, left in residuals(lemma, line).items():
        if left != "0":
            raise UnprovedError(f"{lemma.claim} {where}: what is left over is {left}.")
    if line.steps[lemma.step].sign == "=" and (lemma.squares or _inexact(lemma)):
        raise UnprovedError(f"{lemma.claim} is an equality, but has parts that may be positive.")
    return _signs(lemma)


def _inexact(lemma: Lemma) -> bool:
    return any(not given.exactly for _, given in lemma.givens)


def _signs(lemma: Lemma) -> list[Expr]:
    """Prove that squares and multipliers are not negative; return those that z3 was asked."""
    for _, square in lemma.squares:
        if not nonnegative(square):
            raise UnprovedError(f"{text(square)} is no sum of squares.")
    multipliers = [multiplier for multiplier, given in lemma.givens if not given.exactly]
    multipliers += [multiplier for multiplier, _ in lemma.squares]
    asked = [multiplier for multiplier in dict.fromkeys(multipliers) if not nonnegative(multiplier)]
    premises = [lemma.premises] if lemma.premises is not None else []
    for own in lemma.at.values():
        for multiplier in asked:
            step = Relation(expr(0), "<=", spelled(multiplier, own))
            ask(step, premises)
    return asked


def spelled(node: Expr, definitions: Meaning) -> Expr:
    """Return numbers with their letters replaced."""
    if node in definitions:
        return definitions[node]
    return node.rebuilt(lambda part: spelled(part, definitions))
