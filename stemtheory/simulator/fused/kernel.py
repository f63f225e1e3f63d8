"""The kernel on a processor: the recursion of one replicate over a span of iterations.

This text is copied, below the line, into one module per (loss, push, noise, system, dtype), behind
those of ``names``, which tells the letters, and ``drawing``. What a system does in a step and at
both ends of a round is its own text's, in ``systems``.

A replicate's state is cut into chunks of C elements e = k dim + j; a chunk holds its rows side by
side, STRIDE apart: a constant, from which the compiler sees that rows do not overlap. The first row
is x. Between synchronisations workers are independent, so a chunk advances over all local steps
before the next one is touched and stays in the first-level cache; sum_k x is accumulated step by
step for ||grad f(xbar_t)||^2. A chunk that is small draws the noise of several steps at once: what
a loop has to make ready costs as much as a few elements. Sums are told in ``sums``.

Paper: Algorithm (Algo_DR-STORM_batch), Algorithm (Algo_FedAvg), Table: Comparison.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from stemtheory.simulator.fused.drawing import draw
from stemtheory.simulator.fused.moves import average
from stemtheory.simulator.fused.names import (
    AGREE,
    AVERAGE_BOTH,
    AVERAGE_FIRST,
    BLOCK,
    NO,
    NOTHING,
    ONE,
    OPENS,
    ROOM,
    ROW_ARGUMENTS,
    ROWS,
    STARTS,
    STRIDE,
    SYSTEM,
    TERMS,
    WARM,
    YES,
    ZERO,
    C,
    D,
    M,
    Scalar,
    Size,
    close_round,
    compile_hot,
    compile_kernel,
    compile_once,
    least,
    move,
    open_round,
    stem_step,
    synchronise,
    system_step,
)
from stemtheory.simulator.fused.sums import (
    add_workers,
    clear,
    copy_mean,
    copy_worker,
    divide,
    spread_all,
    squared_norms,
)
from stemtheory.simulator.limits import DIVERGED

# ---- everything below this line is copied
STEM = SYSTEM == "stem"


@compile_once
def local_steps(
    S: Any, Z: Any, W: Any, A: Any, P: Any, Q: Any, key: Any, who: Any, shape: Any,
    first: Any, at: Any, m: Any, fresh: Any, waits: Any, still: Any, held: Any, tables: Any,
) -> Any:  # fmt: skip
    """Advance every chunk over m local steps from iteration ``first`` on, row ``at`` of tables.

    A collects sum_k x before each step, but for a ``fresh`` start where workers agree. Where d
    ``waits`` for the mean of x', the last step only moves x; it is made up for by a ``still`` step,
    of length zero, at the mean.

    Where there is one chunk, Z keeps the noise of the rows of ``held``, first and end, so that it
    is drawn for as many as there is room for, whatever a round has; what is held is returned.
    """
    K, dim = shape
    agree = AGREE and fresh
    eta, keep, scale, purpose, _ = tables
    begin, end = held
    for c in range((K * dim + C - ONE) // C):
        n, j = least(C, K * dim - c * C), c * C % dim
        s, w = c * ROWS * STRIDE, c * ROW_ARGUMENTS * STRIDE
        moves = m - ONE if STEM and waits else m
        room = (n + ROOM - ONE) // ROOM * ROOM
        ahead, i = C // room, ZERO
        while i < moves:
            row, stretch = at + i, least(ahead, moves - i)
            if TERMS > 0 and (K * dim > C or row < begin or row >= end):
                many = stretch if K * dim > C else least(ahead, Size(len(eta)) - row)
                block = c * C // BLOCK * M
                draw(Z, room, block, first + i, many, who, key, purpose, scale, row)
                begin, end = row, row + many
            if TERMS > 0:
                stretch = least(stretch, end - row)
            walk(
                S, s, Z[(row - begin) * room :], room, W, w, P, Q, n, A, i * dim, j, dim, eta, keep,
                row, stretch, agree and i == ZERO, fresh and i == ZERO, still,
            )  # fmt: skip
            i += stretch
        if STEM and waits:
            if not agree or i > ZERO:
                add_workers(S, s, A, i * dim, j, n, dim)
            move(S, s, n, eta[at + i])
    return begin, end


@compile_once
def walk(
    S: Any, s: Any, Z: Any, room: Any, W: Any, w: Any, P: Any, Q: Any, n: Any, A: Any, a: Any,
    j: Any, dim: Any, eta: Any, keep: Any, at: Any, m: Any, agree: Any, fresh: Any, still: Any,
) -> None:  # fmt: skip
    """Take m steps of one chunk whose noise lies in Z, adding sum_k x before each to A."""
    for i in range(m):
        if not agree or i > ZERO:
            add_workers(S, s, A, a + i * dim, j, n, dim)
        noise = Z[i * room :]
        if STEM:
            length = NOTHING if still else eta[at + i]
            stem_step(S, s, noise, W, w, P, n, length, keep[at + i])
        else:
            first = fresh and i == ZERO
            system_step(S, s, noise, W, w, P, Q, n, eta[at + i], keep[at + i], first)


@compile_hot
def record(book: Any, t: Any, value: Any, times: Any, series: Any, running: Any) -> bool:
    """Book ||grad f(xbar_t)||^2; return whether it is at most DIVERGED (NaN is not).

    ``book`` holds the sum, the last and the best value, where the replicate diverged, and how many
    of the recorded ``times`` have passed.
    """
    if not value <= DIVERGED:
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
    S: Any, Z: Any, W: Any, V: Any, A: Any, B: Any, P: Any, Q: Any, key: Any, who: Any, shape: Any,
    I: Any, span: Any, reading: Any, first: Any, tables: Any,
    book: Any, times: Any, series: Any, running: Any,
) -> None:  # fmt: skip
    """Advance one replicate over the iterations of ``tables``, at most ``span`` at a stretch.

    Iteration 0 sets the state from the common start B[0], .., B[dim]. STEM's d_1 is the mean over
    workers of what a step of length zero with a = 1 computes there.
    """
    K, dim = shape
    held = ZERO, ZERO
    if first == ZERO:
        for row in STARTS:
            spread_all(S, row, B, ZERO, K, dim)
        if STEM or (WARM and Q[0] > NOTHING):
            local_steps(
                S, Z, W, A, P, Q, key, who, shape, ZERO, ZERO, ONE, YES, NO, YES, held, tables
            )  # fmt: skip
            if STEM:
                average(S, D, D, B, K, dim)
            else:
                close_round(S, W, B, P, Q, K, dim, tables[4][ZERO])
        return
    steps, at = Size(len(tables[0])), ZERO
    while at < steps:
        t = first + at
        m = least(least(span, steps - at), I - (t - ONE) % I)
        fresh, closes = (t - ONE) % I == ZERO, (t + m - ONE) % I == ZERO
        waits = closes & ((reading == AVERAGE_FIRST) | (reading == AVERAGE_BOTH))
        clear(A, m * dim)
        if OPENS and fresh:
            open_round(S, W, B, P, Q, K, dim, (t - ONE) // I)
        if AGREE and fresh:
            copy_worker(S, A, dim)
        held = local_steps(
            S, Z, W, A, P, Q, key, who, shape, t, at, m, fresh, waits, NO, held, tables
        )  # fmt: skip
        skip = dim if AGREE and fresh else ZERO
        divide(A, skip, m * dim - skip, Scalar(K))
        if STEM and closes:
            copy_mean(A, (m - ONE) * dim, B, dim)
        squared_norms(A, m, V, P, dim)
        for i in range(m):
            if not record(book, t + i, np.float64(A[i * dim]), times, series, running):
                return
        if closes:
            last = m - ONE
            if STEM:
                held = synchronise(
                    S, Z, W, A, B, P, Q, key, who, shape, reading, t + last, at + last, held,
                    tables,
                )  # fmt: skip
            else:
                close_round(S, W, B, P, Q, K, dim, tables[4][at + last])
        at += m
