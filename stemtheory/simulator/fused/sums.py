"""The sums of a kernel: over workers, chunk by chunk, and over coordinates, for ||grad f||^2.

This text is copied, below the line, behind that of ``kernel``.
"""

from __future__ import annotations

from typing import Any

from stemtheory.simulator.fused.names import (
    EIGHT,
    FOUR,
    GROUP,
    GROUP_LESS,
    NOTHING,
    ONE,
    ROWS,
    STRIDE,
    THREE,
    TWO,
    ZERO,
    C,
    Size,
    compile_hot,
    compile_once,
    least,
    slope_at,
)


# ---- everything below this line is copied
@compile_hot
def add_workers(S: Any, s: Any, A: Any, a: Any, j: Any, n: Any, dim: Any) -> None:
    """Add n elements, the first of coordinate j, to the sums over workers A[a], .., A[a + dim]."""
    i = ZERO
    while i < n:
        if j == ZERO and n - i >= FOUR * dim:  # four workers at once
            p, q, r = dim, TWO * dim, THREE * dim
            for l in range(dim):
                e = s + i + l
                A[a + l] = A[a + l] + ((S[e] + S[e + p]) + (S[e + q] + S[e + r]))
            i = i + FOUR * dim
        else:
            run = least(dim - j, n - i)
            for l in range(run):
                A[a + j + l] = A[a + j + l] + S[s + i + l]
            i, j = i + run, ZERO


@compile_hot
def spread(S: Any, s: Any, A: Any, a: Any, j: Any, n: Any, dim: Any) -> None:
    """Hand A[a], .., A[a + dim] to every worker of n elements, the first of coordinate j."""
    i = ZERO
    while i < n:
        run = least(dim - j, n - i)
        for l in range(run):
            S[s + i + l] = A[a + j + l]
        i, j = i + run, ZERO


@compile_hot
def clear(A: Any, n: Any) -> None:
    """Set n numbers to zero."""
    for i in range(n):
        A[i] = NOTHING


@compile_hot
def divide(A: Any, a: Any, n: Any, divisor: Any) -> None:
    """Divide n numbers from A[a] on."""
    for i in range(n):
        A[a + i] = A[a + i] / divisor


@compile_once
def add_all(S: Any, row: Any, A: Any, a: Any, K: Any, dim: Any) -> None:
    """Add one row of all workers, chunk by chunk, to A[a], .., A[a + dim]."""
    for c in range((K * dim + C - ONE) // C):
        n = least(C, K * dim - c * C)
        add_workers(S, c * ROWS * STRIDE + row, A, a, c * C % dim, n, dim)


@compile_once
def spread_all(S: Any, row: Any, A: Any, a: Any, K: Any, dim: Any) -> None:
    """Hand A[a], .., A[a + dim] to every worker's row."""
    for c in range((K * dim + C - ONE) // C):
        n = least(C, K * dim - c * C)
        spread(S, c * ROWS * STRIDE + row, A, a, c * C % dim, n, dim)


@compile_hot
def copy_worker(S: Any, A: Any, dim: Any) -> None:
    """Copy the first worker's x to A."""
    for c in range((dim + C - ONE) // C):
        n, s = least(C, dim - c * C), c * ROWS * STRIDE
        for i in range(n):
            A[c * C + i] = S[s + i]


@compile_hot
def copy_mean(A: Any, a: Any, B: Any, dim: Any) -> None:
    """Copy A[a], .., A[a + dim] to B[dim], .., B[2 dim]."""
    for j in range(dim):
        B[dim + j] = A[a + j]


@compile_once
def squared_norms(A: Any, m: Any, V: Any, P: Any, dim: Any) -> None:
    """Put ||grad f||^2 at the point A[i dim], .., A[i dim + dim] into A[i dim], for i < m.

    What a row holds is halved until sixteen numbers are left: an order of its own.
    """
    for i in range(m):
        a = i * dim
        for j in range(dim):
            g = slope_at(A[a + j], P, V, j, dim)
            A[a + j] = g * g
    for i in range(m):
        a, n = i * dim, dim
        while n > GROUP:
            half = ((n + ONE) // TWO + GROUP_LESS) // GROUP * GROUP
            for l in range(n - half):
                A[a + l] = A[a + l] + A[a + half + l]
            n = half
        A[a] = sum_of_sixteen(A, a) if n == GROUP else sum_of_few(A, a, n)


@compile_hot
def sum_of_few(A: Any, a: Any, n: Any) -> Any:
    """Return the sum of n numbers from A[a] on, one after the other."""
    total = A[a]
    for l in range(ONE, n):
        total = total + A[a + l]
    return total


@compile_hot
def sum_of_four(A: Any, a: Any) -> Any:
    """Return the sum of four numbers, four apart."""
    return (A[a] + A[a + EIGHT]) + (A[a + FOUR] + A[a + Size(12)])


@compile_hot
def sum_of_sixteen(A: Any, a: Any) -> Any:
    """Return the sum of sixteen numbers from A[a] on, pair by pair."""
    even = sum_of_four(A, a) + sum_of_four(A, a + TWO)
    return even + (sum_of_four(A, a + ONE) + sum_of_four(A, a + THREE))
