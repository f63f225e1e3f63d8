"""Where a chain's constants are reached, or nearly: the witnesses of ``chain_entry``.

The points of L and zeta were found by a search, and are good for every instance: in units of
lambda they do not depend on it. L reaches 134.02 of 152, the sum of moduli of a row 149.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from stemtheory.oracles.chains.chain import Chain
from stemtheory.oracles.problem import Witness
from stemtheory.runtime import Floats

STEEPEST = (0.782044, 0.760421, 10.0)  # of the last three z: where the Hessian is largest
APART = 0.92  # of every z: where two workers' gradients differ most among equal z
FAR = 1e7  # Psi is e (1 - 3e-15) there
STEP = 2e-5  # of two points of L, in units of lambda


def witnesses(chain: Chain) -> Iterator[Witness]:
    """Yield a witness of every constant that has one, in the original coordinates."""
    e = np.eye(1, chain.dim)[0]
    yield _steepest(chain)
    if chain.noisy:
        far = FAR * chain.wide * e if chain.links > 1 else 0 * e
        yield Witness("sigma", far[None], (0,), "the first z far, nothing else found: a limit")
    if chain.declared.zeta > 0:
        point = np.zeros((1, chain.dim))
        point[:, : chain.links] = APART * chain.wide
        yield Witness("zeta", point, (0, 1), "all z = 0.92: how far a search came")
    down = np.stack([-chain.wide * e, chain.wide * e])
    yield Witness("nonconvex", down, (), "a point and a direction")


def _steepest(chain: Chain) -> Witness:
    """Return two points along the direction in which a worker's gradient bends most."""
    n = min(3, chain.links)
    point, last = np.zeros(chain.dim), chain.links - n
    # the end of a chain of one link has nothing behind it: Phi'' is largest at 1
    point[last : chain.links] = np.multiply(chain.wide, STEEPEST[3 - n :] if n > 1 else (1.0,))
    k = 0 if chain.holders is None else int(np.argmax(chain.holders[:, -1]))
    axes = STEP * chain.wide * np.eye(n, chain.dim, last)
    bend = np.stack([_slope(chain, point + h, k) - _slope(chain, point - h, k) for h in axes])
    bend = bend[:, last : chain.links]
    values, ways = np.linalg.eigh(bend + bend.T)
    way = ways[:, np.argmax(np.abs(values))] @ axes / 2
    how = "the last z at 0.782, 0.760 and 10: how far a search came"
    return Witness("L", np.stack([point - way, point + way]), (k,), how)


def _slope(chain: Chain, x: Floats, k: int) -> Floats:
    found: Floats = chain.gradient(np.broadcast_to(x, (chain.K, chain.dim)))[k]
    return found
