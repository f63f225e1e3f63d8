"""What SCAFFOLD adds to the kernel: a step, and the server's move, where every worker takes part.

This text is copied, below the line, behind that of ``kernel``, whose names it uses. An element has
three rows: y, c - c_k and the server's x. With all workers present c is the mean of all c_k, so
that c' - c_k' is, less its mean over the workers,

    option II   c - c_k + (y_k - x) / (sum of the round's eta)
    option I    -grad f_k(x)

To take the mean off keeps it at zero: left to rounding, in float32, it would wander and bias every
step.

Paper: Table: Comparison.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from stemtheory.simulator.fused.kernel import compile_hot, compile_once

Size, Scalar = np.uint64, np.float32
C = STRIDE = ROWS = ROW_ARGUMENTS = Size(0)
NOTHING, ZERO, ONE, TWO = Scalar(0), Size(0), Size(1), Size(2)
later: Any = None
evaluate = combine = fma = add_all = divide = least = later


# ---- everything below this line is copied
SHIFT, SERVER = STRIDE, TWO * STRIDE


@compile_hot
def scaffold_step(S: Any, s: Any, Z: Any, W: Any, w: Any, P: Any, n: Any, eta: Any) -> None:
    """y' = y - eta (g(y) - c_k + c)."""
    for i in range(n):
        e = s + i
        here = evaluate(S[e], P, W, w + i)
        S[e] = fma(-eta, combine(here, Z, i) + S[e + SHIFT], S[e])


@compile_once
def renew_variates(
    S: Any, W: Any, B: Any, P: Any, K: Any, dim: Any, full: Any, travel: Any, server_step: Any
) -> None:
    """Renew c - c_k by option I if ``full``, else II, and move to x + eta_g (ybar - x).

    B[0], .., B[dim] hold ybar; ``travel`` is the sum of the round's step sizes.
    """
    for c in range((K * dim + C - ONE) // C):
        n, s = least(C, K * dim - c * C), c * ROWS * STRIDE
        if full:
            negate_gradients(S, s, W, c * ROW_ARGUMENTS * STRIDE, P, n)
        else:
            correct(S, s, n, travel)
    for j in range(dim):
        B[dim + j] = NOTHING
    add_all(S, SHIFT, B, dim, K, dim)
    divide(B, dim, dim, Scalar(K))
    for c in range((K * dim + C - ONE) // C):
        n, s = least(C, K * dim - c * C), c * ROWS * STRIDE
        centre_and_follow(S, s, B, c * C % dim, n, dim, server_step)


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
