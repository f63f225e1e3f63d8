"""A local step and the end of a round on a device, by algorithm.

The recursions themselves are the processor's, element by element: those of ``systems``.
Here they are told which of a thread's elements to take, and what is averaged between them.

The names above the line are given a meaning by ``build``.

Paper: Algorithm (Algo_DR-STORM_batch), Algorithm (Algo_FedAvg), Table: Comparison.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Size, Scalar = np.uint64, np.float32
ZERO, NOTHING = Size(0), Scalar(0)
L = PER = U = ACROSS = STRIDE = D = SHIFT = SERVER = Size(1)
AVERAGE_FIRST = OVERWRITE = AVERAGE_BOTH = FULL = False  # STEM's readings, SCAFFOLD's option I
later: Any = None
stem_step = fedavg_step = scaffold_step = refresh = correct = negate_gradients = later
fma = average = hand_out = draw = later
step_unit = later  # step_stem, step_fedavg or step_scaffold
# ---- everything below this line is what the kernel calls


def step_stem(S: Any, s: Any, Z: Any, W: Any, P: Any, eta: Any, keep: Any) -> None:
    """Advance one unit of STEM."""
    stem_step(S, s, Z, W, s, P, U, eta, keep)


def step_fedavg(S: Any, s: Any, Z: Any, W: Any, P: Any, eta: Any, keep: Any) -> None:
    """Advance one unit of FedAvg."""
    fedavg_step(S, s, Z, W, s, P, U, eta)


def step_scaffold(S: Any, s: Any, Z: Any, W: Any, P: Any, eta: Any, keep: Any) -> None:
    """Advance one unit of SCAFFOLD."""
    scaffold_step(S, s, Z, W, s, P, U, eta)


def local_step(memory: Any, P: Any, here: Any, noise: Any, eta: Any, keep: Any) -> None:
    """Advance the thread's units over one iteration."""
    S, W, Z, _, _, _ = memory
    address, factor = noise
    for p in range(PER):
        draw(Z, here[0] + L * p, here, address, factor)
        step_unit(S, U * p, Z, W, P, eta, keep)


def close_stem(
    memory: Any, P: Any, here: Any, turn: Any, noise: Any, keep: Any, travel: Any, server_step: Any
) -> Any:
    """Average x, and d, as the reading says; return the buffer of the next mean.

    X holds the mean of x_t. Where d waits for the mean of x', x has only moved, and a step of
    length zero at the mean makes up for it.
    """
    S, W, _, X, Y, sums = memory
    turn = average(S, ZERO, Y, sums, turn, here)
    if AVERAGE_BOTH:
        hand_out(S, ZERO, X)
        refresh(S, ZERO, W, ZERO, P, STRIDE)
    hand_out(S, ZERO, Y)
    if OVERWRITE:
        refresh(S, ZERO, W, ZERO, P, STRIDE)
    if AVERAGE_FIRST or AVERAGE_BOTH:
        local_step(memory, P, here, noise, NOTHING, keep)
    turn = average(S, D, Y, sums, turn, here)
    hand_out(S, D, Y)
    return turn


def close_fedavg(
    memory: Any, P: Any, here: Any, turn: Any, noise: Any, keep: Any, travel: Any, server_step: Any
) -> Any:
    """Average x; return the buffer of the next mean."""
    S, _, _, _, Y, sums = memory
    turn = average(S, ZERO, Y, sums, turn, here)
    hand_out(S, ZERO, Y)
    return turn


def close_scaffold(
    memory: Any, P: Any, here: Any, turn: Any, noise: Any, keep: Any, travel: Any, server_step: Any
) -> Any:
    """Renew c - c_k, less its mean, and move to x + eta_g (ybar - x); return the next buffer.

    ``travel`` is the sum of the round's step sizes.
    """
    S, W, _, X, Y, sums = memory
    turn = average(S, ZERO, Y, sums, turn, here)
    if FULL:
        negate_gradients(S, ZERO, W, ZERO, P, STRIDE)
    else:
        correct(S, ZERO, STRIDE, travel)
    turn = average(S, SHIFT, X, sums, turn, here)
    for e in range(STRIDE):
        S[e + SHIFT] = S[e + SHIFT] - X[e % ACROSS]
        x = fma(server_step, Y[e % ACROSS] - S[e + SERVER], S[e + SERVER])
        S[e], S[e + SERVER] = x, x
    return turn
