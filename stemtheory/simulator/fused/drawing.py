"""The noise of a kernel: the normals of ``runtime.philox``, block by block into the rows of Z.

This text is copied, below the line, behind that of ``names``.
"""

from __future__ import annotations

from typing import Any

from stemtheory.simulator.fused.names import (
    BLOCK,
    FOUR,
    GROUP,
    ONE,
    STRIDE,
    THREE,
    TWO,
    ZERO,
    M,
    Scalar,
    Word,
    box_muller,
    compile_hot,
    compile_once,
    least,
    philox,
)


# ---- everything below this line is copied
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
