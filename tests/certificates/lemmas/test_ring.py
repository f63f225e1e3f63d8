"""The ring says of a line what the line says of vectors: both are evaluated at random ones."""

from __future__ import annotations

import pytest

from stemtheory.certificates.lemmas.proofs import lemmas
from stemtheory.certificates.lemmas.ring import Ring
from stemtheory.certificates.lemmas.statement import JUMP, Lemma
from stemtheory.claims import claims
from tests.certificates.lemmas.world import World

pytest.importorskip("sympy")
EVERY = [
    pytest.param(lemma, where, id=f"{lemma.claim} {lemma.step} {where}")
    for proofs in lemmas().values()
    for lemma in proofs
    for where in lemma.at
]


@pytest.mark.parametrize(("lemma", "where"), EVERY)
def test_the_line_in_the_ring_is_the_claims_line(lemma: Lemma, where: str) -> None:
    line = claims()[lemma.claim].line
    assert line is not None
    K = 1 if lemma.claim == "M3c" else 3  # that one is said of a single worker, without a sum
    step, world = line.steps[lemma.step], World(lemma, where, K=K)
    ring = Ring({**lemma.definitions, **lemma.at[where]}, where == JUMP, lemma.spans)
    at = {"k": 0} if K == 1 else {}
    parts = [given.value for _, given in lemma.givens] + [square for _, square in lemma.squares]
    for side in (step.left, step.right, *dict.fromkeys(parts)):
        polynomial = ring.residual(side)
        known = {
            symbol: world.gram(ring, symbol) if symbol in ring.grams else world.letter(str(symbol))
            for symbol in polynomial.free_symbols
        }
        assert float(polynomial.subs(known)) == pytest.approx(
            world.value(side, at), rel=1e-9, abs=1e-12
        )
