"""Every random number has an address: no global generator, no order of calls to depend on.

The *noise key* is a hash of (seed, dim, K, T, b, I, stream version, replicate block, purpose).
The algorithm, its schedule, the reading and every dial are left out on purpose: what is compared
shares its noise (common random numbers), while other T, b, I or K are independent points.
Replicates come in blocks of ``REPLICATE_BLOCK``; each block owns a generator, so results do not
depend on how blocks are spread over arrays, threads or processes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np

STREAM_VERSION = 1
REPLICATE_BLOCK = 8  # part of the stream's definition: another value is another stream version


@dataclass(frozen=True)
class NoiseKey:
    """What a stream of noise depends on, besides the replicate block and the purpose."""

    seed: int
    dim: int
    K: int
    T: int
    b: float
    I: int

    def seed_sequence(self, block: int, purpose: str) -> np.random.SeedSequence:
        """Return the seed of replicate block ``block`` for one ``purpose``.

        Purposes are ``initial`` (the batch of B samples), ``steps`` and whatever an algorithm adds.
        """
        text = canonical({**asdict(self), "version": STREAM_VERSION, "block": block}, purpose)
        words = np.frombuffer(hashlib.blake2b(text.encode(), digest_size=16).digest(), "<u4")
        return np.random.SeedSequence(entropy=self.seed, spawn_key=tuple(int(w) for w in words))

    def philox_key(self) -> tuple[int, int]:
        """Return the two key words of the counter-based stream: 64 bits of BLAKE2b.

        Replicate, iteration and purpose are not in the key: they are words of the counter.
        """
        text = canonical({**asdict(self), "version": STREAM_VERSION}, "philox")
        words = np.frombuffer(hashlib.blake2b(text.encode()).digest()[:8], "<u4")
        return int(words[0]), int(words[1])


def canonical(fields: dict[str, int | float], purpose: str) -> str:
    """Return one text for one address: sorted keys, whole numbers as ints, floats by ``repr``."""
    parts = [f"{name}={_shown(value)}" for name, value in sorted(fields.items())]
    return ";".join([*parts, f"purpose={purpose}"])


def _shown(value: int | float) -> str:
    number = float(value)
    return repr(int(value)) if number.is_integer() else repr(number)


def generator(address: np.random.SeedSequence | int | Sequence[int]) -> np.random.Generator:
    """Return the generator of an address: the one place where one is made on the host."""
    return np.random.Generator(np.random.SFC64(address))


def blocks(replicates: int) -> list[int]:
    """Return how many replicates each block holds: full blocks, then the rest."""
    full, rest = divmod(replicates, REPLICATE_BLOCK)
    return [REPLICATE_BLOCK] * full + ([rest] if rest else [])
