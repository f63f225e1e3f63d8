"""Between which numbers expressions are known to lie: never narrower than the truth."""

from __future__ import annotations

from math import inf

import pytest

from stemtheory.claims.language import Expr, Q
from stemtheory.claims.language.letters import (
    I,
    K,
    a,
    eta,
    f,
    inner,
    log,
    maximum,
    minimum,
    norm2,
    rise,
    start,
    t,
    x,
    xbar,
)
from stemtheory.claims.language.ranges import at_most_one, nonnegative, span


@pytest.mark.parametrize(
    ("node", "ends"),
    [
        (I - 1, (0, inf)),
        (I - 2, (-1, inf)),
        (1 - a[t], (0, 1)),
        ((1 - a[t]) ** 2 / K, (0, 1)),
        ((1 - a[t]) ** -1, (1, inf)),
        (1 / (1 + I), (0, 0.5)),
        (-2 * eta[t], (-inf, 0)),
        (Q("0.25") - Q("0.5"), (-0.25, -0.25)),
        ((I - K) ** 2, (0, inf)),
        ((I - K) ** 3, (-inf, inf)),
        (maximum(I, a[t]), (1, inf)),
        (minimum(I, a[t]), (0, 1)),
        (log(I), (0, inf)),
        (log(eta[t]), (-inf, inf)),
        (norm2(xbar[t]), (0, inf)),
        (inner(xbar[t], xbar[t + 1]), (-inf, inf)),
        (rise(norm2(xbar[t]), t, start, t), (-inf, inf)),
    ],
)
def test_ends_enclose_all_values(node: Expr, ends: tuple[float, float]) -> None:
    assert span(node) == ends


def test_signs_are_read_off_the_ends() -> None:
    assert nonnegative(I - 1)
    assert not nonnegative(I - 2)
    assert not nonnegative(f(xbar[t]))
    assert not nonnegative(x[t, t])
    assert at_most_one(1 - a[t])
    assert not at_most_one(I - 1)
