"""What several systems do at both ends of a round: averages, and the oracle cached at a point.

This text is copied, below the line, behind that of ``sums``.
"""

from __future__ import annotations

from typing import Any

from stemtheory.simulator.fused.names import (
    NOTHING,
    ONE,
    ROW_ARGUMENTS,
    ROWS,
    STRIDE,
    ZERO,
    C,
    Scalar,
    compile_hot,
    compile_once,
    evaluate,
    least,
    remember,
    renew,
)
from stemtheory.simulator.fused.sums import add_all, divide, spread_all


# ---- everything below this line is copied
@compile_hot
def refresh(S: Any, s: Any, W: Any, w: Any, P: Any, n: Any) -> None:
    """Cache the evaluation at x: x becomes the previous point of the next difference."""
    for i in range(n):
        remember(S, s + i, evaluate(S[s + i], P, W, w + i))


@compile_once
def refresh_all(S: Any, W: Any, P: Any, K: Any, dim: Any) -> None:
    """Cache the evaluation at x for every worker."""
    for c in range((K * dim + C - ONE) // C):
        n = least(C, K * dim - c * C)
        refresh(S, c * ROWS * STRIDE, W, c * ROW_ARGUMENTS * STRIDE, P, n)


@compile_once
def mean_of(S: Any, row: Any, B: Any, b: Any, K: Any, dim: Any) -> None:
    """Put the mean over workers of a row into B[b], .., B[b + dim]."""
    for j in range(dim):
        B[b + j] = NOTHING
    add_all(S, row, B, b, K, dim)
    divide(B, b, dim, Scalar(K))


@compile_hot
def average(S: Any, row: Any, to: Any, B: Any, K: Any, dim: Any) -> None:
    """Hand the mean of a row to every worker, in the row ``to``; B[0], .., B[dim] keeps it."""
    mean_of(S, row, B, ZERO, K, dim)
    spread_all(S, to, B, ZERO, K, dim)


@compile_once
def copy_all(S: Any, row: Any, to: Any, K: Any, dim: Any) -> None:
    """Copy a row of every worker to the row ``to``."""
    for c in range((K * dim + C - ONE) // C):
        s = c * ROWS * STRIDE
        for i in range(least(C, K * dim - c * C)):
            S[s + i + to] = S[s + i + row]


@compile_once
def renew_all(S: Any, Q: Any, K: Any, dim: Any, told: Any) -> None:
    """Renew every element at the end of a round, as a system's text says."""
    for c in range((K * dim + C - ONE) // C):
        renew(S, c * ROWS * STRIDE, Q, least(C, K * dim - c * C), told)
