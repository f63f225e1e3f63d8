"""The kernel on a processor: the recursion of one replicate over a span of iterations.

This text is copied, below the line, into one module per (loss, push, noise, algorithm, dtype),
where ``compile_kernel`` compiles it and the names above the line are what ``source`` put there.

A replicate's state is cut into chunks of C elements e = k dim + j; a chunk holds its rows
(x, d, gradient, n_1, .., n_M) side by side, STRIDE apart: a constant, from which the compiler sees
that rows do not overlap. SCAFFOLD's rows are told in ``variates``; FedAvg has x alone. Between
synchronisations workers are independent, so a chunk advances over all local steps before the next
one is touched and stays in the first-level cache; sum_k x is accumulated step by step for
||grad f(xbar_t)||^2. Sizes are unsigned: a negative index would have to be tested for, element by
element.

Paper: Algorithm (Algo_DR-STORM_batch), Algorithm (Algo_FedAvg), Table: Comparison.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Scalar = np.float32  # or float64
STEM = True
SCAFFOLD = False  # FedAvg where both are false
TERMS = 1  # M, fields of the noise
ARGUMENTS = 0  # rows of arguments that vary from element to element
CAPACITY = 1024  # C
evaluate: Any = (
    None  # (gradient, n_1, .., n_M) at x: the family's slope, the push, the noise's fields
)
slope_at: Any = None  # the family's slope alone, at coordinate j
sample: Any = None  # gradient + sum_m xi_m n_m of an evaluation
before: Any = None  # the same of the cached one
remember: Any = None  # caches an evaluation
fma: Any = None  # a b + c, rounded once
philox: Any = None
box_muller: Any = None
scaffold_step: Any = None  # these two where SCAFFOLD is true
renew_variates: Any = None


def compile_kernel(function: Any) -> Any:
    """Return the function as it is; the copies compile it."""
    return function


# ---- everything below this line is copied
Size, Word = np.uint64, np.uint32
C, STRIDE = Size(CAPACITY), Size(CAPACITY + 64)
ROWS = Size(3 + TERMS if STEM else 3 if SCAFFOLD else 1)
D, GRADIENT = STRIDE, Size(2) * STRIDE
ROW_ARGUMENTS = Size(ARGUMENTS)
M = Size(TERMS)
ZERO, ONE, TWO, THREE, FOUR = Size(0), Size(1), Size(2), Size(3), Size(4)
GROUP, GROUP_LESS, BLOCK = Size(16), Size(15), Size(64)
NOTHING = Scalar(0)
LITERAL, AVERAGE_FIRST, OVERWRITE, AVERAGE_BOTH = Size(0), Size(1), TWO, Size(3)


@compile_kernel
def place(q: Any) -> Any:
    """Return where group q of 16 normals lies: field q mod M of elements 16 (q div M) on."""
    return (q % M) * STRIDE + (q // M) * GROUP


@compile_kernel
def draw(Z: Any, n: Any, block: Any, t: Any, who: Any, purpose: Any, key: Any, scale: Any) -> None:
    """Fill Z, M rows of n elements, with normals times ``scale``; ``block`` is the first of 64.

    Two blocks at once: ten rounds are a long chain, and a processor works on two chains together.
    """
    when, k0, k1 = Word(t), key[0], key[1]
    factor = Scalar(-2) * scale * scale
    blocks = ((n + GROUP_LESS) // GROUP * M + FOUR - ONE) // FOUR
    for pair in range((blocks + ONE) // TWO):
        b = TWO * pair
        q, lane, next_lane = FOUR * b, Word((block + b) * GROUP), Word((block + b + ONE) * GROUP)
        z0, z1, z2, z3 = place(q), place(q + ONE), place(q + TWO), place(q + THREE)
        q = q + FOUR
        y0, y1, y2, y3 = place(q), place(q + ONE), place(q + TWO), place(q + THREE)
        for i in range(GROUP):
            w0, w1, w2, w3 = philox(Word(lane + Word(i)), when, who, purpose, k0, k1)
            v0, v1, v2, v3 = philox(Word(next_lane + Word(i)), when, who, purpose, k0, k1)
            Z[z0 + i], Z[z1 + i] = box_muller(w0, w1, factor)
            Z[z2 + i], Z[z3 + i] = box_muller(w2, w3, factor)
            Z[y0 + i], Z[y1 + i] = box_muller(v0, v1, factor)
            Z[y2 + i], Z[y3 + i] = box_muller(v2, v3, factor)


@compile_kernel
def stem_step(S: Any, s: Any, Z: Any, W: Any, w: Any, P: Any, n: Any, eta: Any, keep: Any) -> None:
    """x' = x - eta d and d' = g(x') + (1 - a)(d - g(x)), one evaluation; ``keep`` is 1 - a."""
    for i in range(n):
        e = s + i
        x = fma(-eta, S[e + D], S[e])
        here = evaluate(x, P, W, w + i)
        S[e] = x
        S[e + D] = fma(keep, S[e + D] - before(S, e, Z, i), sample(here, Z, i))
        remember(S, e, here)


@compile_kernel
def fedavg_step(S: Any, s: Any, Z: Any, W: Any, w: Any, P: Any, n: Any, eta: Any) -> None:
    """x' = x - eta g(x)."""
    for i in range(n):
        here = evaluate(S[s + i], P, W, w + i)
        S[s + i] = fma(-eta, sample(here, Z, i), S[s + i])


@compile_kernel
def move(S: Any, s: Any, n: Any, eta: Any) -> None:
    """x' = x - eta d, and d waits for the mean of x'."""
    for i in range(n):
        S[s + i] = fma(-eta, S[s + i + D], S[s + i])


@compile_kernel
def refresh(S: Any, s: Any, W: Any, w: Any, P: Any, n: Any) -> None:
    """Cache the evaluation at x: x becomes the previous point of the next difference."""
    for i in range(n):
        remember(S, s + i, evaluate(S[s + i], P, W, w + i))


@compile_kernel
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
            run = min(dim - j, n - i)
            for l in range(run):
                A[a + j + l] = A[a + j + l] + S[s + i + l]
            i, j = i + run, ZERO


@compile_kernel
def spread(S: Any, s: Any, A: Any, a: Any, j: Any, n: Any, dim: Any) -> None:
    """Hand A[a], .., A[a + dim] to every worker of n elements, the first of coordinate j."""
    i = ZERO
    while i < n:
        run = min(dim - j, n - i)
        for l in range(run):
            S[s + i + l] = A[a + j + l]
        i, j = i + run, ZERO


@compile_kernel
def clear(A: Any, n: Any) -> None:
    """Set n numbers to zero."""
    for i in range(n):
        A[i] = NOTHING


@compile_kernel
def divide(A: Any, a: Any, n: Any, divisor: Any) -> None:
    """Divide n numbers from A[a] on."""
    for i in range(n):
        A[a + i] = A[a + i] / divisor


@compile_kernel
def add_all(S: Any, row: Any, A: Any, a: Any, K: Any, dim: Any) -> None:
    """Add one row of all workers, chunk by chunk, to A[a], .., A[a + dim]."""
    for c in range((K * dim + C - ONE) // C):
        n = min(C, K * dim - c * C)
        add_workers(S, c * ROWS * STRIDE + row, A, a, c * C % dim, n, dim)


@compile_kernel
def spread_all(S: Any, row: Any, A: Any, a: Any, K: Any, dim: Any) -> None:
    """Hand A[a], .., A[a + dim] to every worker's row."""
    for c in range((K * dim + C - ONE) // C):
        n = min(C, K * dim - c * C)
        spread(S, c * ROWS * STRIDE + row, A, a, c * C % dim, n, dim)


@compile_kernel
def refresh_all(S: Any, W: Any, P: Any, K: Any, dim: Any) -> None:
    """Cache the evaluation at x for every worker."""
    for c in range((K * dim + C - ONE) // C):
        n = min(C, K * dim - c * C)
        refresh(S, c * ROWS * STRIDE, W, c * ROW_ARGUMENTS * STRIDE, P, n)


@compile_kernel
def local_steps(
    S: Any, Z: Any, W: Any, A: Any, P: Any, key: Any, who: Any, shape: Any,
    first: Any, at: Any, m: Any, fresh: Any, waits: Any, still: Any, tables: Any,
) -> None:  # fmt: skip
    """Advance every chunk over m local steps from iteration ``first`` on, row ``at`` of tables.

    A collects sum_k x before each step, but for a ``fresh`` start, where workers agree. Where d
    ``waits`` for the mean of x', the last step only moves x; it is made up for by a ``still`` step,
    of length zero, at the mean.
    """
    K, dim = shape
    eta, keep, scale, purpose, _ = tables
    for c in range((K * dim + C - ONE) // C):
        n, j = min(C, K * dim - c * C), c * C % dim
        s, w = c * ROWS * STRIDE, c * ROW_ARGUMENTS * STRIDE
        for i in range(m):
            if not fresh or i > ZERO:
                add_workers(S, s, A, i * dim, j, n, dim)
            if STEM and waits and i + ONE == m:
                move(S, s, n, eta[at + i])
            else:
                if TERMS > 0:
                    block = c * C // BLOCK * M
                    draw(Z, n, block, first + i, who, purpose[at + i], key, scale[at + i])
                if STEM:
                    length = NOTHING if still else eta[at + i]
                    stem_step(S, s, Z, W, w, P, n, length, keep[at + i])
                elif SCAFFOLD:
                    scaffold_step(S, s, Z, W, w, P, n, eta[at + i])
                else:
                    fedavg_step(S, s, Z, W, w, P, n, eta[at + i])


@compile_kernel
def synchronise(
    S: Any, Z: Any, W: Any, A: Any, B: Any, P: Any, key: Any, who: Any, shape: Any,
    reading: Any, server_step: Any, t: Any, at: Any, mean: Any, tables: Any,
) -> None:  # fmt: skip
    """Average x, and for STEM d, as ``reading`` says; A[mean] on holds that of x_t.

    SCAFFOLD's reading is its option: 0 is II, 1 is I.
    """
    K, dim = shape
    clear(B, dim)
    add_all(S, ZERO, B, ZERO, K, dim)
    divide(B, ZERO, dim, Scalar(K))
    if SCAFFOLD:
        renew_variates(S, W, B, P, K, dim, reading == ONE, tables[4][at], server_step)
        return
    if not STEM:
        spread_all(S, ZERO, B, ZERO, K, dim)
        return
    if reading in (LITERAL, OVERWRITE):
        spread_all(S, ZERO, B, ZERO, K, dim)
        if reading == OVERWRITE:
            refresh_all(S, W, P, K, dim)
    else:
        if reading == AVERAGE_BOTH:
            spread_all(S, ZERO, A, mean, K, dim)
            refresh_all(S, W, P, K, dim)
        spread_all(S, ZERO, B, ZERO, K, dim)
        local_steps(S, Z, W, A, P, key, who, shape, t, at, ONE, True, False, True, tables)
    average_direction(S, B, K, dim)


@compile_kernel
def average_direction(S: Any, B: Any, K: Any, dim: Any) -> None:
    """Hand the mean of d to every worker; it is left in B[dim], .., B[2 dim]."""
    for j in range(dim):
        B[dim + j] = NOTHING
    add_all(S, D, B, dim, K, dim)
    divide(B, dim, dim, Scalar(K))
    spread_all(S, D, B, dim, K, dim)


@compile_kernel
def squared_norm(A: Any, a: Any, V: Any, P: Any, dim: Any, B: Any) -> Any:
    """Return ||grad f||^2 at the point A[a], .., A[a + dim].

    Sixteen partial sums, kept behind the two means in B, then halved: an order of its own.
    """
    lanes = TWO * dim
    for l in range(GROUP):
        B[lanes + l] = NOTHING
    for j in range(dim // GROUP):
        first = j * GROUP
        for l in range(GROUP):
            g = slope_at(A[a + first + l], P, V, first + l, dim)
            B[lanes + l] = B[lanes + l] + g * g
    first = dim // GROUP * GROUP
    for l in range(dim - first):
        g = slope_at(A[a + first + l], P, V, first + l, dim)
        B[lanes + l] = B[lanes + l] + g * g
    for l in range(Size(8)):
        B[lanes + l] = B[lanes + l] + B[lanes + l + Size(8)]
    for l in range(FOUR):
        B[lanes + l] = B[lanes + l] + B[lanes + l + FOUR]
    return np.float64((B[lanes] + B[lanes + TWO]) + (B[lanes + ONE] + B[lanes + THREE]))


@compile_kernel
def record(book: Any, t: Any, value: Any, times: Any, series: Any, running: Any) -> bool:
    """Book ||grad f(xbar_t)||^2; return whether it is finite.

    ``book`` holds the sum, the last and the best value, where the replicate diverged, and how many
    of the recorded ``times`` have passed.
    """
    if not np.isfinite(value):
        book[3] = np.float64(t)
        return False
    book[0] += value
    book[1] = value
    book[2] = min(book[2], value)
    row = Size(book[4])
    if row < Size(len(times)) and times[row] == t:
        series[row], running[row] = value, book[0] / np.float64(t)
        book[4] += np.float64(1)
    return True


@compile_kernel
def advance(
    S: Any, Z: Any, W: Any, V: Any, A: Any, B: Any, P: Any, key: Any, who: Any, shape: Any,
    I: Any, span: Any, reading: Any, server_step: Any, first: Any, tables: Any,
    book: Any, times: Any, series: Any, running: Any,
) -> None:  # fmt: skip
    """Advance one replicate over the iterations of ``tables``, at most ``span`` at a stretch.

    Iteration 0 sets the state from the common start B[0], .., B[dim]: d_1 is the mean over workers
    of what a step of length zero with a = 1 computes there.
    """
    K, dim = shape
    if first == ZERO:
        spread_all(S, ZERO, B, ZERO, K, dim)
        if SCAFFOLD:
            spread_all(S, GRADIENT, B, ZERO, K, dim)  # the row of the server's x
        if STEM:
            local_steps(S, Z, W, A, P, key, who, shape, ZERO, ZERO, ONE, True, False, True, tables)
            average_direction(S, B, K, dim)
        return
    steps, at = Size(len(tables[0])), ZERO
    while at < steps:
        t = first + at
        m = min(min(span, steps - at), I - (t - ONE) % I)
        fresh, closes = (t - ONE) % I == ZERO, (t + m - ONE) % I == ZERO
        waits = closes and reading in (AVERAGE_FIRST, AVERAGE_BOTH)
        clear(A, m * dim)
        if fresh:
            copy_worker(S, A, dim)
        local_steps(S, Z, W, A, P, key, who, shape, t, at, m, fresh, waits, False, tables)
        skip = dim if fresh else ZERO
        divide(A, skip, m * dim - skip, Scalar(K))
        for i in range(m):
            value = squared_norm(A, i * dim, V, P, dim, B)
            if not record(book, t + i, value, times, series, running):
                return
        if closes:
            last, mean = m - ONE, (m - ONE) * dim
            synchronise(
                S, Z, W, A, B, P, key, who, shape, reading, server_step, t + last, at + last, mean,
                tables,
            )  # fmt: skip
        at += m


@compile_kernel
def copy_worker(S: Any, A: Any, dim: Any) -> None:
    """Copy the first worker's x to A."""
    for c in range((dim + C - ONE) // C):
        n, s = min(C, dim - c * C), c * ROWS * STRIDE
        for i in range(n):
            A[c * C + i] = S[s + i]
