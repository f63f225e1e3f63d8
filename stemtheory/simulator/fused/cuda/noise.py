"""The noise on a device: the numbers of ``stemtheory.runtime.philox``, one unit at a time.

A unit's normals are numbers q = i M + m, element i and field m, and lie in the groups of sixteen
that follow the unit's first one. RUN of them, 1, 2 or 4, share the words of one call.

The names above the line are given a meaning by ``build``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from stemtheory.runtime import MULTIPLIERS, ROUNDS, WEYL

Size, Word, Long = np.uint64, np.uint32, np.uint64
ZERO, ONE, TWO, THREE, FOUR, GROUP = Size(0), Size(1), Size(2), Size(3), Size(4), Size(16)
M0, M1, W0, W1 = (Long(word) for word in (*MULTIPLIERS, *WEYL))
HALF_WORD = Long(32)
M = RUN = DRAWS = STRIDE = ONE
later: Any = None
box_muller = worker = coordinate = later
draw_run = later  # draw_four, draw_two or draw_one
# ---- everything below this line is what the kernel calls


def philox(c0: Any, c1: Any, c2: Any, c3: Any, k0: Any, k1: Any) -> Any:
    """Return the four words of one counter: products of words, which a device has in one go."""
    for _ in range(ROUNDS):
        left, right = M0 * Long(c0), M1 * Long(c2)
        c0, c1 = Word(Word(right >> HALF_WORD) ^ c1 ^ k0), Word(right)
        c2, c3 = Word(Word(left >> HALF_WORD) ^ c3 ^ k1), Word(left)
        k0, k1 = Word(Long(k0) + W0), Word(Long(k1) + W1)
    return c0, c1, c2, c3


def draw(Z: Any, unit: Any, here: Any, address: Any, factor: Any) -> None:
    """Fill Z, M rows of a unit's elements, with normals times a scale; ``factor`` is -2 scale^2.

    ``address`` holds t, the replicate, the purpose and the words of the key.
    """
    _, column, _, dim = here
    e = worker(unit, ZERO) * dim + coordinate(column, ZERO)
    for i in range(DRAWS):
        draw_run(Z, RUN * i, e // GROUP * M + RUN * i, e % GROUP, address, factor)


def place(q: Any) -> Any:
    """Return where number q of a unit's normals lies in Z: field q mod M of element q div M."""
    return q // M + q % M * STRIDE


def words(group: Any, within: Any, address: Any) -> Any:
    """Return the words for element ``within`` of a group of sixteen, and of those beside it."""
    t, who, purpose, k0, k1 = address
    return philox(Word(group // FOUR * GROUP + within), t, who, purpose, k0, k1)


def draw_four(Z: Any, q: Any, group: Any, within: Any, address: Any, factor: Any) -> None:
    """Draw for four groups, whose normals share all words."""
    w0, w1, w2, w3 = words(group, within, address)
    Z[place(q)], Z[place(q + ONE)] = box_muller(w0, w1, factor)
    Z[place(q + TWO)], Z[place(q + THREE)] = box_muller(w2, w3, factor)


def draw_two(Z: Any, q: Any, group: Any, within: Any, address: Any, factor: Any) -> None:
    """Draw for two groups, whose normals share two words."""
    w0, w1, w2, w3 = words(group, within, address)
    late = group % FOUR >= TWO
    Z[place(q)], Z[place(q + ONE)] = box_muller(w2 if late else w0, w3 if late else w1, factor)


def draw_one(Z: Any, q: Any, group: Any, within: Any, address: Any, factor: Any) -> None:
    """Draw for one group; its neighbour in the pair is thrown away."""
    w0, w1, w2, w3 = words(group, within, address)
    late = group % FOUR >= TWO
    x, y = box_muller(w2 if late else w0, w3 if late else w1, factor)
    Z[place(q)] = x if group % TWO == ZERO else y
