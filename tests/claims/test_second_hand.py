"""Every line against its second transcription, at random assignments of the letters.

A side that is weaker than printed, or another line than the paper's, differs from what somebody
else read in the paper. The assignments are no runs: no two terms are tied, so equal values at
several of them mean equal formulas.
"""

from typing import Any

import numpy as np
import pytest

from stemtheory.claims.base import Claim
from stemtheory.claims.ledger import claims
from tests.claims import second_hand
from tests.claims.random_scene import RandomScene

# Lines that are this project's own in the form given here, and are not printed in the paper.
OWN = {
    "M3-R": "the distance J_t at the jump is docs/repaired-theorem.md's, not the paper's",
    "M5-R": "as M3-R",
}
LINES = {name: claim for name, claim in claims().items() if claim.line}
COMPARED = [name for name in LINES if name not in {*OWN, *second_hand.LEFT_OUT}]
ASSIGNMENTS = [(seed, t) for seed in range(4) for t in (6, 7)]  # inside a round


def printed(name: str, r: Any, t: int) -> list[tuple[Any, Any]]:
    """Return the pairs of the second transcription, and the ends of its chain."""
    found = getattr(second_hand, name.replace("-", "_"))(r, t)
    pairs = found if isinstance(found, list) else [found]
    return [*pairs, (pairs[0][0], pairs[-1][1])]


def same(one: Any, other: Any) -> bool:
    """Whether two sides are one; of vectors, the transcription may have the squared norm."""
    if np.size(one) > np.size(other):
        one = np.sum(np.square(one))
    return np.shape(one) == np.shape(other) and bool(np.allclose(one, other, rtol=1e-9, atol=1e-13))


def agrees(claim: Claim, seed: int, t: int) -> bool:
    """Whether every comparison of a claim's line is one of the transcription's."""
    r = second_hand.random_run(seed)
    pairs = printed(claim.id, r, t)
    assert claim.line is not None
    sides = RandomScene(r).sides(claim.line, t)
    return all(any(same(a, x) and same(b, y) for x, y in pairs) for a, b in sides)


@pytest.mark.parametrize("name", COMPARED)
def test_line_is_what_somebody_else_read_in_the_paper(name: str) -> None:
    assert all(agrees(LINES[name], seed, t) for seed, t in ASSIGNMENTS)


def test_every_claim_is_compared_or_says_why_not() -> None:
    named = {name for name in LINES if hasattr(second_hand, name.replace("-", "_"))}
    assert named | set(OWN) | set(second_hand.LEFT_OUT) >= set(LINES)
