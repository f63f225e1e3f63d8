"""SCAFFOLD's steps in a kernel, where every worker takes part. Q: 1 for option I, eta_g.

Rows: y, c - c_k and the server's x. With all workers present c is the mean of all c_k, so that
c' - c_k' is, less its mean over the workers,

    option II   c - c_k + (y_k - x) / (sum of the round's eta)
    option I    -grad f_k(x)

To take the mean off keeps it at zero: left to rounding, in float32, it would wander and bias every
step.

Paper: Table: Comparison.
"""

from __future__ import annotations

from typing import Any

from stemtheory.simulator.fused.moves import mean_of
from stemtheory.simulator.fused.names import (
    NOTHING,
    ONE,
    ROW_ARGUMENTS,
    ROWS,
    STRIDE,
    TWO,
    ZERO,
    C,
    combine,
    compile_hot,
    compile_once,
    evaluate,
    fma,
    least,
)

# ---- everything below this line is copied
SHIFT, SERVER = STRIDE, TWO * STRIDE
STARTS = (ZERO, SERVER)


@compile_hot
def scaffold_step(S: Any, s: Any, Z: Any, W: Any, w: Any, P: Any, n: Any, eta: Any) -> None:
    """y' = y - eta (g(y) - c_k + c)."""
    for i in range(n):
        e = s + i
        here = evaluate(S[e], P, W, w + i)
        S[e] = fma(-eta, combine(here, Z, i) + S[e + SHIFT], S[e])


@compile_hot
def system_step(
    S: Any, s: Any, Z: Any, W: Any, w: Any, P: Any, Q: Any, n: Any, eta: Any, keep: Any, fresh: Any
) -> None:  # fmt: skip
    """y' = y - eta (g(y) - c_k + c)."""
    scaffold_step(S, s, Z, W, w, P, n, eta)


@compile_hot
def close_round(S: Any, W: Any, B: Any, P: Any, Q: Any, K: Any, dim: Any, told: Any) -> None:
    """Renew c - c_k by option I or II, and move to x + eta_g (ybar - x).

    ``told`` is the sum of the round's step sizes.
    """
    mean_of(S, ZERO, B, ZERO, K, dim)
    renew_variates(S, W, P, K, dim, Q[0] > NOTHING, told)
    mean_of(S, SHIFT, B, dim, K, dim)
    for c in range((K * dim + C - ONE) // C):
        n, s = least(C, K * dim - c * C), c * ROWS * STRIDE
        centre_and_follow(S, s, B, c * C % dim, n, dim, Q[1])


@compile_once
def renew_variates(S: Any, W: Any, P: Any, K: Any, dim: Any, full: Any, travel: Any) -> None:
    """Renew c - c_k by option I if ``full``, else II, up to its mean."""
    for c in range((K * dim + C - ONE) // C):
        n, s = least(C, K * dim - c * C), c * ROWS * STRIDE
        if full:
            negate_gradients(S, s, W, c * ROW_ARGUMENTS * STRIDE, P, n)
        else:
            correct(S, s, n, travel)


@compile_hot
def negate_gradients(S: Any, s: Any, W: Any, w: Any, P: Any, n: Any) -> None:
    """Set the row SHIFT of n elements to -grad f_k(x)."""
    for i in range(n):
        S[s + i + SHIFT] = -evaluate(S[s + i + SERVER], P, W, w + i)[0]


@compile_hot
def correct(S: Any, s: Any, n: Any, travel: Any) -> None:
    """Add (y_k - x) / travel to the row SHIFT of n elements."""
    for i in range(n):
        e = s + i
        S[e + SHIFT] = S[e + SHIFT] + (S[e] - S[e + SERVER]) / travel


@compile_hot
def centre_and_follow(S: Any, s: Any, B: Any, j: Any, n: Any, dim: Any, server_step: Any) -> None:
    """Take its mean off the row SHIFT of n elements and hand them x + eta_g (ybar - x).

    The first element has coordinate j; B holds ybar and, from dim on, the mean of SHIFT.
    """
    i = ZERO
    while i < n:
        run = least(dim - j, n - i)
        for l in range(run):
            e = s + i + l
            S[e + SHIFT] = S[e + SHIFT] - B[dim + j + l]
            x = fma(server_step, B[j + l] - S[e + SERVER], S[e + SERVER])
            S[e], S[e + SERVER] = x, x
        i, j = i + run, ZERO
