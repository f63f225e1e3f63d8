"""Counter-based noise: every normal is a pure function of its address, in plain NumPy.

    (w_0, .., w_3) = Philox4x32-10(counter = (lane, t, replicate, purpose), key)

with the key of ``NoiseKey.philox_key``; each pair of words gives two normals by Box and Muller.
The compiled engine draws the same numbers inside its kernels, so the two engines can be compared
on identical noise (``noise_source="philox"``); here they are slow and portable.

The elements of one minibatch, shape (M, K, dim), are found in groups of 16: element e = k dim + j
of field m is number 16 M (e // 16) + 16 m + e % 16, and number v is word (v // 16) % 4 of lane
16 (v // 64) + v % 16. Sixteen lanes fill a vector register, and the fields of an element share a
lane's block.

J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw. Parallel random numbers: as easy as 1, 2, 3.
SC 2011.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from stemtheory.runtime.arrays import Floats
from stemtheory.runtime.streams import NoiseKey

ROUNDS = 10
MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
WEYL = (0x9E3779B9, 0xBB67AE85)
WORD = 0xFFFFFFFF
GROUP = 16  # lanes whose normals lie side by side
PURPOSES = {"initial": 0, "steps": 1, "jump": 2}
MOST_ITERATIONS = WORD  # t is one word of the counter
Words = np.ndarray[Any, np.dtype[np.uint64]]


def philox(counter: tuple[Any, Any, Any, Any], key: tuple[int, int]) -> tuple[Words, ...]:
    """Return the four words of Philox4x32-10: arrays of the counters' common shape, below 2^32."""
    c0, c1, c2, c3 = (np.asarray(word, dtype=np.uint64) for word in counter)
    low, half = np.uint64(WORD), np.uint64(32)
    for i in range(ROUNDS):
        k0, k1 = (np.uint64((k + i * w) & WORD) for k, w in zip(key, WEYL, strict=True))
        left, right = c0 * np.uint64(MULTIPLIERS[0]), c2 * np.uint64(MULTIPLIERS[1])
        c0, c1, c2, c3 = (
            (right >> half) ^ c1 ^ k0,
            right & low,
            (left >> half) ^ c3 ^ k1,
            left & low,
        )
    return c0, c1, c2, c3


def box_muller(first: Words, second: Words) -> tuple[Floats, Floats]:
    """Return two independent standard normals from two words.

    R = sqrt(-2 log u) with u = (w + 1/2)/2^32 never 0, so |z| < 6.77 (missing: 2e-11 of the law).
    """
    radius = np.sqrt(-2 * np.log((first.astype(np.float64) + 0.5) * 2.0**-32))
    angle = second.astype(np.float64) * (2 * np.pi * 2.0**-32)
    return radius * np.cos(angle), radius * np.sin(angle)


def lane_blocks(elements: int, terms: int) -> int:
    """Return how many blocks of 16 lanes hold ``terms`` fields of so many elements."""
    return -(-(-(-elements // GROUP) * terms) // 4)


def normals(
    key: tuple[int, int], t: Any, replicate: Any, purpose: int, shape: tuple[int, int, int]
) -> Floats:
    """Return minibatches of shape [..., M, K, dim] at iterations t and replicates, broadcast."""
    M, K, dim = shape
    elements = K * dim
    lanes = np.arange(GROUP * lane_blocks(elements, M))
    when, who = np.broadcast_arrays(np.asarray(t), np.asarray(replicate))
    words = philox((lanes, when[..., None], who[..., None], purpose), key)
    drawn = np.stack([*box_muller(*words[:2]), *box_muller(*words[2:])], axis=-1)
    drawn = drawn.reshape(*when.shape, -1, GROUP, 4).swapaxes(-1, -2)
    groups = -(-elements // GROUP)
    drawn = drawn.reshape(*when.shape, -1, GROUP)[..., : groups * M, :]
    fields = drawn.reshape(*when.shape, groups, M, GROUP).swapaxes(-2, -3)
    found: Floats = fields.reshape(*when.shape, M, -1)[..., :elements]
    return found.reshape(*when.shape, M, K, dim)


@dataclass
class PhiloxStream:
    """The noise of replicates from ``first`` on for one purpose, in the order of iterations.

    It takes the place of a generator: ``standard_normal`` hands out the iterations from ``t`` on.
    """

    key: NoiseKey
    first: int
    purpose: str
    t: int = field(default=0)

    def standard_normal(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
        """Return normals of shape (n, replicates, M, K, dim) for n iterations."""
        n, replicates, *tail = shape
        t = np.arange(self.t, self.t + n)[:, None]
        who = self.first + np.arange(replicates)
        self.t += n
        M, K, dim = tail
        drawn = normals(self.key.philox_key(), t, who, PURPOSES[self.purpose], (M, K, dim))
        return drawn.astype(dtype)
