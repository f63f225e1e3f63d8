"""STEM's steps in a kernel, under every reading: rows x, d and the oracle at the previous point.

SPIDER runs on them: a is 1 at its restarts and 0 between them, and I = 1.

Paper: Algorithm (Algo_DR-STORM_batch).
"""

from __future__ import annotations

from typing import Any

from stemtheory.simulator.fused.kernel import local_steps
from stemtheory.simulator.fused.moves import average, mean_of, refresh_all, spread_all
from stemtheory.simulator.fused.names import (
    AVERAGE_BOTH,
    LITERAL,
    NO,
    ONE,
    OVERWRITE,
    YES,
    ZERO,
    D,
    before,
    combine,
    compile_hot,
    evaluate,
    fma,
    remember,
)

# ---- everything below this line is copied


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
def move(S: Any, s: Any, n: Any, eta: Any) -> None:
    """x' = x - eta d, and d waits for the mean of x'."""
    for i in range(n):
        S[s + i] = fma(-eta, S[s + i + D], S[s + i])


@compile_hot
def synchronise(
    S: Any, Z: Any, W: Any, A: Any, B: Any, P: Any, Q: Any, key: Any, who: Any, shape: Any,
    reading: Any, t: Any, at: Any, held: Any, tables: Any,
) -> Any:  # fmt: skip
    """Average x and d as ``reading`` says; at first B[dim], .., B[2 dim] hold the mean of x_t."""
    K, dim = shape
    mean_of(S, ZERO, B, ZERO, K, dim)
    if reading == AVERAGE_BOTH:
        spread_all(S, ZERO, B, dim, K, dim)
        refresh_all(S, W, P, K, dim)
    spread_all(S, ZERO, B, ZERO, K, dim)
    if reading == OVERWRITE:
        refresh_all(S, W, P, K, dim)
    elif reading != LITERAL:
        held = local_steps(
            S, Z, W, A, P, Q, key, who, shape, t, at, ONE, YES, NO, YES, held, tables
        )  # fmt: skip
    average(S, D, D, B, K, dim)
    return held
