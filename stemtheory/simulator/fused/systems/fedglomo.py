"""FedGLOMO's steps in a kernel, without compression. Q: beta.

Rows: y, v and the oracle at y; from STALE on the same of the trajectory that starts at the server's
point of the round before; the server's w, the one before, and u. In round 1 both trajectories are
one, and 1 - a is 0: u is the mean change alone.
"""

from __future__ import annotations

from typing import Any

from stemtheory.simulator.fused.moves import average, copy_all, renew_all
from stemtheory.simulator.fused.names import (
    NOTHING,
    STRIDE,
    TERMS,
    ZERO,
    D,
    Scalar,
    Size,
    before,
    combine,
    compile_hot,
    evaluate,
    fma,
    remember,
)

# ---- everything below this line is copied
STALE = Size(3 + TERMS) * STRIDE
SERVER, PAST, U = (Size(i + 2 * TERMS) * STRIDE for i in (6, 7, 8))
STARTS = (ZERO, SERVER, PAST)
OPENS = True


@compile_hot
def open_round(S: Any, W: Any, B: Any, P: Any, Q: Any, K: Any, dim: Any, number: Any) -> None:
    """y' starts at the server's point of the round before; y is at w already."""
    copy_all(S, PAST, STALE, K, dim)


@compile_hot
def system_step(
    S: Any, s: Any, Z: Any, W: Any, w: Any, P: Any, Q: Any, n: Any, eta: Any, keep: Any, fresh: Any
) -> None:  # fmt: skip
    """Both trajectories one step on, on the same noise; the first v of a round is g(y)."""
    beta = NOTHING if fresh else Q[0]
    trail_step(S, s, Z, W, w, P, beta, n, eta)
    trail_step(S, s + STALE, Z, W, w, P, beta, n, eta)


@compile_hot
def trail_step(
    S: Any, s: Any, Z: Any, W: Any, w: Any, P: Any, beta: Any, n: Any, eta: Any
) -> None:  # fmt: skip
    """v' = g(y) + beta (v - g(y_previous)) and y' = y - eta v'."""
    for i in range(n):
        e = s + i
        here = evaluate(S[e], P, W, w + i)
        v = fma(beta, S[e + D] - before(S, e, Z, i), combine(here, Z, i))
        S[e + D] = v
        S[e] = fma(-eta, v, S[e])
        remember(S, e, here)


@compile_hot
def renew(S: Any, s: Any, Q: Any, n: Any, told: Any) -> None:
    """u' = a (w - ybar) + (1 - a) (u + (w - ybar) - (w_before - ybar')), and w' = w - u'.

    ``told`` is 1 - a; the means lie in the rows of y and of its stale companion.
    """
    for i in range(n):
        e = s + i
        moved = S[e + SERVER] - S[e]
        shift = moved - (S[e + PAST] - S[e + STALE])
        u = fma(told, S[e + U] + shift, (Scalar(1) - told) * moved)
        w = S[e + SERVER] - u
        S[e + U], S[e + PAST], S[e + SERVER], S[e] = u, S[e + SERVER], w, w


@compile_hot
def close_round(S: Any, W: Any, B: Any, P: Any, Q: Any, K: Any, dim: Any, told: Any) -> None:
    """Renew u and w."""
    average(S, ZERO, ZERO, B, K, dim)
    average(S, STALE, STALE, B, K, dim)
    renew_all(S, Q, K, dim, told)
