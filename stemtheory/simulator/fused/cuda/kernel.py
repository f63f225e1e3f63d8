"""The kernel on a device: many iterations of one replicate's tile of coordinates, in one launch.

Coordinates do not interact, so a block of threads owns some of them outright and meets no other
block. Its threads stand in J columns and L lanes; a thread owns PER units (``layout``) of
its column, numbers lane, lane + L, .. The rows of their elements lie STRIDE apart, as in a chunk
of the processor's kernel, whose elementwise functions are used as they are; loops have constant
lengths, so that a compiler unrolls them and the rows are registers.

Threads meet where a mean over workers is taken: each puts its part of the sum where its column can
read it, and the parts are added in the order of the lanes, so that bits never change. Two buffers
take turns: who fills one again has met all others since they read it, and one ``syncthreads`` a
mean is enough. Elements beyond the last worker or coordinate are computed and count nowhere.

The names above the line are given a meaning by ``build``.

Paper: Algorithm (Algo_DR-STORM_batch), Algorithm (Algo_FedAvg), Table: Comparison.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Size, Word, Scalar = np.uint64, np.uint32, np.float32
ZERO, ONE, GROUP, NOTHING = Size(0), Size(1), Size(16), Scalar(0)
J = L = PER = U = ACROSS = DOWN = SPREAD = ROWS = ARGUMENTS = STRIDE = ONE
PARTS = ONE  # numbers in one buffer of sums
OWN = ROW_OWN = NOISE = PART_MEANS = ALL_PARTS = NORMS = 1  # lengths of arrays
STRETCH = Size(16)  # iterations whose norms wait to be added over the columns
AVERAGE_FIRST = AVERAGE_BOTH = False
later: Any = None
cuda = fma = slope_at = move = record = local_step = later
close_round = later  # close_stem, close_fedavg or close_scaffold
# ---- everything below this line is what the kernel calls


def worker(unit: Any, i: Any) -> Any:
    """Return the worker of element i of a unit."""
    return unit // SPREAD * SPREAD * DOWN + unit % SPREAD + SPREAD * (i % DOWN)


def coordinate(column: Any, i: Any) -> Any:
    """Return the coordinate of element i of a unit in this column."""
    return column // GROUP * GROUP * ACROSS + column % GROUP + GROUP * (i % ACROSS)


def load(S: Any, rows: Any, source: Any, first: Any, here: Any) -> None:
    """Load ``rows`` rows of the thread's elements, and zeros where there is no such element."""
    lane, column, K, dim = here
    for p in range(PER):
        for i in range(U):
            k, j = worker(lane + L * p, i), coordinate(column, i)
            there = k < K and j < dim
            for r in range(rows):
                e = first + r * K * dim + k * dim + j
                S[STRIDE * r + U * p + i] = source[e] if there else NOTHING


def store(S: Any, target: Any, first: Any, here: Any) -> None:
    """Store the rows of the thread's elements."""
    lane, column, K, dim = here
    for p in range(PER):
        for i in range(U):
            k, j = worker(lane + L * p, i), coordinate(column, i)
            if k < K and j < dim:
                for r in range(ROWS):
                    target[first + r * K * dim + k * dim + j] = S[STRIDE * r + U * p + i]


def share(S: Any, row: Any, sums: Any, turn: Any, here: Any) -> None:
    """Put the thread's parts of the sums of a row over workers where its column can read them."""
    lane, column, K, _ = here
    for a in range(ACROSS):
        total = NOTHING
        for p in range(PER):
            for b in range(DOWN):
                x = S[row + U * p + a + b]
                total = total + (x if worker(lane + L * p, b) < K else NOTHING)
        sums[turn * PARTS + (L * a + lane) * J + column % J] = total


def collect(X: Any, sums: Any, turn: Any, here: Any) -> None:
    """Set X to the means over workers at the column's coordinates."""
    _, column, K, _ = here
    for a in range(ACROSS):
        total = NOTHING
        for l in range(L):
            total = total + sums[turn * PARTS + (L * a + l) * J + column % J]
        X[a] = total / Scalar(K)


def average(S: Any, row: Any, X: Any, sums: Any, turn: Any, here: Any) -> Any:
    """Set X to the means of a row over workers; return the buffer of the next mean."""
    share(S, row, sums, turn, here)
    cuda.syncthreads()
    collect(X, sums, turn, here)
    return ONE - turn


def hand_out(S: Any, row: Any, X: Any) -> None:
    """Hand the means X to all of the thread's elements."""
    for e in range(STRIDE):
        S[row + e] = X[e % ACROSS]


def squared_norm(X: Any, P: Any, rows: Any, here: Any) -> Any:
    """Return the column's part of ||grad f||^2 at X, zero where there is no such column."""
    _, column, K, dim = here
    value = NOTHING
    for a in range(ACROSS):
        j = coordinate(column, a)
        if j < dim:
            g = slope_at(X[a], P, rows, j, K * dim)
            value = fma(g, g, value)
    return value


def add_columns(norms: Any, n: Any, thread: Any, squares: Any, first: Any) -> None:
    """Store the sums over columns of the n norms that wait, each added by one thread."""
    cuda.syncthreads()
    i = thread
    while i < n:
        total = NOTHING
        for c in range(J):
            total = total + norms[i * (J + ONE) + c]
        squares[first + i] = total
        i = i + J * L
    cuda.syncthreads()


def advance(
    state: Any, rows: Any, P: Any, eta: Any, keep: Any, scale: Any, purpose: Any, travel: Any,
    squares: Any, key: Any, sizes: Any, server_step: Any,
) -> None:  # fmt: skip
    """Advance a tile of one replicate over the iterations of the tables.

    ``sizes`` are K, dim, tiles of a replicate, I, the first iteration and the first replicate;
    block r tiles + c is tile c of replicate r. Iteration 0 makes d_1: it is a step of length zero
    with a = 1 that ends in a synchronisation.
    """
    K, dim, tiles, I, first, replicate = sizes
    slot, lane = Size(cuda.threadIdx.x), Size(cuda.threadIdx.y)
    block = Size(cuda.blockIdx.x)
    r, column = block // tiles, block % tiles * J + slot
    here = (lane, column, K, dim)
    S = cuda.local.array(OWN, Scalar)
    W = cuda.local.array(ROW_OWN, Scalar)
    Z = cuda.local.array(NOISE, Scalar)
    X = cuda.local.array(PART_MEANS, Scalar)
    Y = cuda.local.array(PART_MEANS, Scalar)
    sums = cuda.shared.array(ALL_PARTS, Scalar)
    norms = cuda.shared.array(NORMS, Scalar)
    memory = (S, W, Z, X, Y, sums)
    load(S, ROWS, state, r * ROWS * K * dim, here)
    load(W, ARGUMENTS, rows, ZERO, here)
    steps, turn = Size(eta.size), ZERO
    for i in range(steps):
        t = Word(first + i)
        closes = t % Word(I) == Word(0)
        if t % Word(I) == Word(1) % Word(I):  # workers agree
            for a in range(ACROSS):
                X[a] = S[a]
        else:
            share(S, ZERO, sums, turn, here)
            cuda.syncthreads()
            if lane == ZERO or (AVERAGE_BOTH and closes):
                collect(X, sums, turn, here)
            turn = ONE - turn
        waiting = i % STRETCH
        if lane == ZERO:
            norms[waiting * (J + ONE) + slot] = squared_norm(X, P, rows, here)
        noise = ((t, Word(replicate + r), purpose[i], key[0], key[1]),
                 Scalar(-2) * scale[i] * scale[i])  # fmt: skip
        if (AVERAGE_FIRST or AVERAGE_BOTH) and closes:
            move(S, ZERO, STRIDE, eta[i])
        else:
            local_step(memory, P, here, noise, eta[i], keep[i])
        if closes:
            turn = close_round(memory, P, here, turn, noise, keep[i], travel[i], server_step)
        if waiting == STRETCH - ONE or i + ONE == steps:
            begin = block * steps + i - waiting
            add_columns(norms, waiting + ONE, lane * J + slot, squares, begin)
    store(S, state, r * ROWS * K * dim, here)


def keep_book(squares: Any, sizes: Any, book: Any, times: Any, series: Any, running: Any) -> None:
    """Book the norms of a launch, one replicate a thread, in the order of tiles and iterations.

    ``sizes`` are the replicates, tiles, iterations and the first iteration. A thread goes through
    iterations x tiles numbers alone: what that costs on a device was not measured.
    """
    replicates, tiles, steps, first = sizes
    r = Size(cuda.grid(1))
    if r >= replicates or book[r, 3] > 0:
        return
    for i in range(steps):
        value = np.float64(0)
        for tile in range(tiles):
            value = value + np.float64(squares[(r * tiles + tile) * steps + i])
        if not record(book[r], first + i, value, times, series[r], running[r]):
            return
