r"""Split chain: the links of a zero chain are shared out over K workers in turn.

    f^(k)(x) = K h (the links i of F(x/lambda) with i = k mod K),    f = (1/K) sum_k f^(k) = h F

The link after one of worker k is another's, so between two exchanges nobody passes more than one:
n links take n exchanges, whatever the local steps are. For ||grad f|| see zero_chain. A worker's
Hessian is K times that of its links, so L = K 152 h/lambda^2 is a bound, and the witness (134 K) is
what a search finds. Every link adds at most 18.42 h/lambda along z_{i-1} and e^(3/2) h/lambda along
z_i, in all of space, so no ball and no taper is needed:

    zeta = K h/lambda sqrt(N (18.42^2 + e^3)),    N = links of two workers: a bound, with a witness

(h/lambda)^2 = gap L/(D K 152), and D grows as 11.23 n: zeta^2 is near 0.42 gap L, however long the
chain is and whatever K. With K = 1 it is zero_chain. Dials: ``links`` and ``gap``.
"""

from __future__ import annotations

import numpy as np

from stemtheory.oracles import ChainEntry
from stemtheory.runtime import Floats


def in_turn(K: int, links: int) -> Floats:
    """Return who holds which link: link i is worker i mod K's alone."""
    return np.equal.outer(np.arange(K), np.arange(links) % K).astype(float)


ENTRY = ChainEntry(
    name="split_chain",
    summary="a chain shared out over the workers: a floor of communication",
    formula=(
        r"f^{(k)}(x) = K h \sum_{i \equiv k \bmod K} F_i(x/\lambda),"
        r" \quad \frac{1}{K} \sum_k f^{(k)} = h F(x/\lambda)"
    ),
    share=in_turn,
    visible=(
        "No worker alone can pass two links in a row: whatever I is, T links take T exchanges, and "
        "heterogeneity is what makes communication necessary."
    ),
)
