"""The kernel on a processor: the recursion of one replicate over a span of iterations.

This text is copied, below the line, into one module per (loss, push, noise, algorithm, dtype),
where the names above the line are what ``source`` put there: ``compile_kernel`` makes the function
that Python calls, ``compile_hot`` one that stands in the place of its calls, and ``compile_once``
one that is called, so that a compiler sees one copy of it.

A replicate's state is cut into chunks of C elements e = k dim + j; a chunk holds its rows (x, d,
gradient, n_1, .., n_M) side by side, STRIDE apart: a constant, from which the compiler sees that
rows do not overlap. SCAFFOLD's rows are told in ``variates``; FedAvg has x alone. Between
synchronisations workers are independent, so a chunk advances over all local steps before the next
one is touched and stays in the first-level cache; sum_k x is accumulated step by step for ||grad
f(xbar_t)||^2. A chunk that is small draws the noise of several steps at once: what a loop has to
make ready costs as much as a few elements. Sums are told in ``sums``. Sizes are unsigned: a
negative index would have to be tested for, element by element.

Names, the same in ``sums`` and ``variates``: S the state, s where a chunk begins in it; Z the
noise; W and w the arguments that vary from element to element; V those per coordinate; P the
others; A the sums over workers, a row of dim numbers a step, a where one begins; B two means; t an
iteration, at its row of the tables. ``A[a], .., A[a + dim]`` leaves out its end, as slices do.

Paper: Algorithm (Algo_DR-STORM_batch), Algorithm (Algo_FedAvg), Table: Comparison.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from stemtheory.simulator.limits import DIVERGED

Scalar = np.float32  # or float64
STEM, SCAFFOLD = True, False  # FedAvg where both are false
TERMS = 1  # M, fields of the noise
ARGUMENTS = 0  # rows of arguments that vary from element to element
CAPACITY = 1024  # C
later: Any = None  # what ``source`` puts in the place of all these
# Of the problem: (gradient, n_1, .., n_M) at x, from the family's slope, the push and the noise;
# the slope alone, at coordinate j; gradient + sum_m xi_m n_m of an evaluation, and of the one that
# ``remember`` cached
evaluate = slope_at = combine = before = remember = later
fma = philox = box_muller = later  # a b + c, rounded once; and the noise
scaffold_step = renew_variates = later  # of ``variates``, where SCAFFOLD is true
add_workers = clear = divide = add_all = spread_all = later  # of ``sums``
copy_worker = copy_mean = squared_norms = later


def compile_kernel(function: Any) -> Any:
    """Return the function as it is; the copies compile it, or put it in place of its calls."""
    return function


compile_hot = compile_once = compile_kernel
# ---- everything below this line is copied
Size, Word = np.uint64, np.uint32
C, STRIDE = Size(CAPACITY), Size(CAPACITY + 64)
ROWS = Size(3 + TERMS if STEM else 3 if SCAFFOLD else 1)
D, GRADIENT = STRIDE, Size(2) * STRIDE
ROW_ARGUMENTS = Size(ARGUMENTS)
M = Size(TERMS)
ZERO, ONE, TWO, THREE, FOUR = Size(0), Size(1), Size(2), Size(3), Size(4)
EIGHT, GROUP, GROUP_LESS, BLOCK = Size(8), Size(16), Size(15), Size(64)
ROOM = Size(16 if TERMS % 4 == 0 else 32 if TERMS % 2 == 0 else 64)  # elements of whole blocks
NOTHING = Scalar(0)
YES, NO = np.bool_(True), np.bool_(False)  # literals would compile what takes them twice
LITERAL, AVERAGE_FIRST, OVERWRITE, AVERAGE_BOTH = ZERO, ONE, TWO, THREE  # as in READINGS


@compile_hot
def least(a: Any, b: Any) -> Any:
    """Return the smaller of two sizes; ``min`` would be a function more for numba to compile."""
    return a if a < b else b  # noqa: FURB136


@compile_hot
def place(q: Any) -> Any:
    """Return where group q of 16 normals lies: field q mod M of elements 16 (q div M)."""
    return (q % M) * STRIDE + (q // M) * GROUP


@compile_hot
def after(step: Any, b: Any, blocks: Any) -> Any:
    """Return the step and the number of the next block."""
    if b + ONE == blocks:
        return step + ONE, ZERO
    return step, b + ONE


@compile_once
def draw(
    Z: Any, room: Any, block: Any, first: Any, m: Any, who: Any, key: Any, purpose: Any,
    scale: Any, at: Any,
) -> None:  # fmt: skip
    """Fill Z with the normals of m steps, M rows of ``room`` elements each, times their scale.

    A step's normals begin ``room`` behind those of the step before, a multiple of ROOM, so that
    blocks of 64 lie side by side; ``block`` is the first of each step.
    Two blocks at once, of one step or of two: ten rounds are a long chain, and a processor works on
    two chains together. Where the number of all is odd, the last falls behind what is used.
    """
    k0, k1 = key[0], key[1]
    blocks = room * M // BLOCK
    step, b, q = ZERO, ZERO, ZERO
    for _ in range((m * blocks + ONE) // TWO):  # one loop: what is constant is made ready once
        lane, when, why = (block + b) * GROUP, Word(first + step), purpose[at + step]
        factor = Scalar(-2) * scale[at + step] * scale[at + step]
        step, b = after(step, b, blocks)
        row = at + least(step, m - ONE)
        other_lane, then, what = (block + b) * GROUP, Word(first + step), purpose[row]
        other = Scalar(-2) * scale[row] * scale[row]
        step, b = after(step, b, blocks)
        z0, z1, z2, z3 = place(q), place(q + ONE), place(q + TWO), place(q + THREE)
        q = q + FOUR
        y0, y1, y2, y3 = place(q), place(q + ONE), place(q + TWO), place(q + THREE)
        q = q + FOUR
        for i in range(GROUP):
            w0, w1, w2, w3 = philox(Word(lane + i), when, who, why, k0, k1)
            v0, v1, v2, v3 = philox(Word(other_lane + i), then, who, what, k0, k1)
            Z[z0 + i], Z[z1 + i] = box_muller(w0, w1, factor)
            Z[z2 + i], Z[z3 + i] = box_muller(w2, w3, factor)
            Z[y0 + i], Z[y1 + i] = box_muller(v0, v1, other)
            Z[y2 + i], Z[y3 + i] = box_muller(v2, v3, other)


@compile_hot
def stem_step(S: Any, s: Any, Z: Any, W: Any, w: Any, P: Any, n: Any, eta: Any, keep: Any) -> None:
    """x' = x - eta d and d' = g(x') + (1 - a)(d - g(x)), one evaluation; ``keep`` is 1 - a."""
    for i in range(n):
        e = s + i
        x = fma(-eta, S[e + D], S[e])
        here = evaluate(x, P, W, w + i)
        S[e] = x
        S[e + D] = fma(keep, S[e + D] - before(S, e, Z, i), combine(here, Z, i))
        remember(S, e, here)


@compile_hot
def fedavg_step(S: Any, s: Any, Z: Any, W: Any, w: Any, P: Any, n: Any, eta: Any) -> None:
    """x' = x - eta g(x)."""
    for i in range(n):
        here = evaluate(S[s + i], P, W, w + i)
        S[s + i] = fma(-eta, combine(here, Z, i), S[s + i])


@compile_hot
def move(S: Any, s: Any, n: Any, eta: Any) -> None:
    """x' = x - eta d, and d waits for the mean of x'."""
    for i in range(n):
        S[s + i] = fma(-eta, S[s + i + D], S[s + i])


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
def local_steps(
    S: Any, Z: Any, W: Any, A: Any, P: Any, key: Any, who: Any, shape: Any,
    first: Any, at: Any, m: Any, fresh: Any, waits: Any, still: Any, held: Any, tables: Any,
) -> Any:  # fmt: skip
    """Advance every chunk over m local steps from iteration ``first`` on, row ``at`` of tables.

    A collects sum_k x before each step, but for a ``fresh`` start, where workers agree. Where d
    ``waits`` for the mean of x', the last step only moves x; it is made up for by a ``still`` step,
    of length zero, at the mean.

    Where there is one chunk, Z keeps the noise of the rows of ``held``, first and end, so that it
    is drawn for as many as there is room for, whatever a round has; what is held is returned.
    """
    K, dim = shape
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
                S, s, Z[(row - begin) * room :], room, W, w, P, n, A, i * dim, j, dim, eta, keep,
                row, stretch, fresh and i == ZERO, still,
            )  # fmt: skip
            i += stretch
        if STEM and waits:
            if not fresh or i > ZERO:
                add_workers(S, s, A, i * dim, j, n, dim)
            move(S, s, n, eta[at + i])
    return begin, end


@compile_once
def walk(
    S: Any, s: Any, Z: Any, room: Any, W: Any, w: Any, P: Any, n: Any, A: Any, a: Any, j: Any,
    dim: Any, eta: Any, keep: Any, at: Any, m: Any, fresh: Any, still: Any,
) -> None:  # fmt: skip
    """Take m steps of one chunk whose noise lies in Z, adding sum_k x before each to A."""
    for i in range(m):
        if not fresh or i > ZERO:
            add_workers(S, s, A, a + i * dim, j, n, dim)
        if STEM:
            length = NOTHING if still else eta[at + i]
            stem_step(S, s, Z[i * room :], W, w, P, n, length, keep[at + i])
        elif SCAFFOLD:
            scaffold_step(S, s, Z[i * room :], W, w, P, n, eta[at + i])
        else:
            fedavg_step(S, s, Z[i * room :], W, w, P, n, eta[at + i])


@compile_hot
def synchronise(
    S: Any, Z: Any, W: Any, A: Any, B: Any, P: Any, key: Any, who: Any, shape: Any,
    reading: Any, server_step: Any, t: Any, at: Any, held: Any, tables: Any,
) -> Any:  # fmt: skip
    """Average x, and for STEM d, as ``reading`` says.

    At first B[dim], .., B[2 dim] hold the mean of x_t. SCAFFOLD's reading is its option: 0 is II, 1
    is I.
    """
    K, dim = shape
    clear(B, dim)
    add_all(S, ZERO, B, ZERO, K, dim)
    divide(B, ZERO, dim, Scalar(K))
    if SCAFFOLD:
        renew_variates(S, W, B, P, K, dim, reading == ONE, tables[4][at], server_step)
        return held
    if STEM and reading == AVERAGE_BOTH:
        spread_all(S, ZERO, B, dim, K, dim)
        refresh_all(S, W, P, K, dim)
    spread_all(S, ZERO, B, ZERO, K, dim)
    if not STEM:
        return held
    if reading == OVERWRITE:
        refresh_all(S, W, P, K, dim)
    elif reading != LITERAL:
        held = local_steps(S, Z, W, A, P, key, who, shape, t, at, ONE, YES, NO, YES, held, tables)
    average_direction(S, B, K, dim)
    return held


@compile_hot
def average_direction(S: Any, B: Any, K: Any, dim: Any) -> None:
    """Hand the mean of d to every worker; it is left in B[dim], .., B[2 dim]."""
    for j in range(dim):
        B[dim + j] = NOTHING
    add_all(S, D, B, dim, K, dim)
    divide(B, dim, dim, Scalar(K))
    spread_all(S, D, B, dim, K, dim)


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
    S: Any, Z: Any, W: Any, V: Any, A: Any, B: Any, P: Any, key: Any, who: Any, shape: Any,
    I: Any, span: Any, reading: Any, server_step: Any, first: Any, tables: Any,
    book: Any, times: Any, series: Any, running: Any,
) -> None:  # fmt: skip
    """Advance one replicate over the iterations of ``tables``, at most ``span`` at a stretch.

    Iteration 0 sets the state from the common start B[0], .., B[dim]: d_1 is the mean over workers
    of what a step of length zero with a = 1 computes there.
    """
    K, dim = shape
    held = ZERO, ZERO
    if first == ZERO:
        spread_all(S, ZERO, B, ZERO, K, dim)
        if SCAFFOLD:
            spread_all(S, GRADIENT, B, ZERO, K, dim)  # the row of the server's x
        if STEM:
            local_steps(S, Z, W, A, P, key, who, shape, ZERO, ZERO, ONE, YES, NO, YES, held, tables)
            average_direction(S, B, K, dim)
        return
    steps, at = Size(len(tables[0])), ZERO
    while at < steps:
        t = first + at
        m = least(least(span, steps - at), I - (t - ONE) % I)
        fresh, closes = (t - ONE) % I == ZERO, (t + m - ONE) % I == ZERO
        waits = closes & ((reading == AVERAGE_FIRST) | (reading == AVERAGE_BOTH))
        clear(A, m * dim)
        if fresh:
            copy_worker(S, A, dim)
        held = local_steps(
            S, Z, W, A, P, key, who, shape, t, at, m, fresh, waits, NO, held, tables
        )  # fmt: skip
        skip = dim if fresh else ZERO
        divide(A, skip, m * dim - skip, Scalar(K))
        if closes:
            copy_mean(A, (m - ONE) * dim, B, dim)
        squared_norms(A, m, V, P, dim)
        for i in range(m):
            if not record(book, t + i, np.float64(A[i * dim]), times, series, running):
                return
        if closes:
            last = m - ONE
            held = synchronise(
                S, Z, W, A, B, P, key, who, shape, reading, server_step, t + last, at + last,
                held, tables,
            )  # fmt: skip
        at += m
