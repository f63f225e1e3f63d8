"""Every random number has an address: no global generator, no order of calls to depend on.

The *noise key* is a hash of (seed, dim, K, T, b, I, address version, replicate, purpose).
The algorithm, its schedule, the reading and every dial are left out on purpose: what is compared
shares its noise (common random numbers), while other T, b, I or K are independent points.
On the host each replicate owns a generator, so that what is drawn is used, and results do not
depend on how replicates are spread over arrays, threads or processes. On a device, where a draw is
a launch and a generator takes memory, a block of ``REPLICATE_BLOCK`` replicates shares one, and is
drawn whole. Which of the two it is says ``Backend.replicates_per_stream``.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from stemtheory.runtime.arrays import Floats

STREAM_VERSION = 2  # raised where a seed gives other numbers anywhere: results are stored with it
# Part of what is hashed: raised where no address may give what it gave. Stream version 2 only cut
# the host's blocks into replicates, so walks, image runs, Philox and devices keep their numbers.
ADDRESS_VERSION = 1
REPLICATE_BLOCK = 8  # of a device: another value is another stream version
PAIRS = 2**14  # of normals made together: a call costs little beside them, and the cache holds them


@dataclass(frozen=True)
class TextSeed:
    """BLAKE2b of a text, as many words as a bit generator asks for.

    A ``SeedSequence`` of the hash takes ten times as long, longer than making the generator.
    """

    text: str

    def generate_state(self, n_words: int, dtype: Any = np.uint32) -> Any:
        """Return ``n_words`` words of the hash, which has at most 64 bytes."""
        words = np.dtype(dtype).newbyteorder("<")
        size = n_words * words.itemsize
        digest = hashlib.blake2b(self.text.encode(), digest_size=size).digest()
        return np.frombuffer(digest, words).astype(dtype)


@dataclass(frozen=True)
class NoiseKey:
    """What a stream of noise depends on, besides the replicate and the purpose."""

    seed: int
    dim: int
    K: int
    T: int
    b: float
    I: int

    def replicate_seeds(self, who: range, purpose: str) -> list[TextSeed]:
        """Return the seed of each of the replicates for one ``purpose``.

        Purposes are ``initial`` (the batch of B samples), ``steps`` and whatever an algorithm adds.
        """
        # Not its base: naming that imports numpy.random, which most commands do without.
        np.random.bit_generator.ISeedSequence.register(TextSeed)
        text = canonical({**vars(self), "version": ADDRESS_VERSION}, purpose)
        return [TextSeed(f"{text};replicate={i}") for i in who]

    def seed_sequence(self, block: int, purpose: str) -> np.random.SeedSequence:
        """Return the seed of ``block`` for one ``purpose``.

        A block is that of a device's replicates, or the iteration of a walk, or 0.
        """
        text = canonical({**vars(self), "version": ADDRESS_VERSION, "block": block}, purpose)
        words = np.frombuffer(hashlib.blake2b(text.encode(), digest_size=16).digest(), "<u4")
        return np.random.SeedSequence(entropy=self.seed, spawn_key=tuple(int(w) for w in words))

    def philox_key(self) -> tuple[int, int]:
        """Return the two key words of the counter-based stream: 64 bits of BLAKE2b.

        Replicate, iteration and purpose are not in the key: they are words of the counter.
        """
        text = canonical({**vars(self), "version": ADDRESS_VERSION}, "philox")
        words = np.frombuffer(hashlib.blake2b(text.encode()).digest()[:8], "<u4")
        return int(words[0]), int(words[1])


class SideBySide:
    """Generators of several replicates in the place of one: each fills its own part of an array."""

    def __init__(self, seeds: Iterable[TextSeed]) -> None:
        self.streams = [generator(seed) for seed in seeds]

    def standard_normal(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
        """Return normals of shape (n, replicates, ...) for n iterations, however they are cut."""
        if dtype == np.float32:
            return self._singles(*shape)
        n, replicates, *tail = shape
        drawn = np.empty(shape, dtype)
        if 1 in (n, replicates):  # what one of them fills lies in one piece
            for i, stream in enumerate(self.streams):
                stream.standard_normal(out=drawn[:, i], dtype=dtype)
            return drawn
        spare = np.empty((n, *tail), dtype)
        for i, stream in enumerate(self.streams):
            drawn[:, i] = stream.standard_normal(out=spare, dtype=dtype)
        return drawn

    def _singles(self, n: int, replicates: int, *tail: int) -> Any:
        """Return them in float32, from words of the same generators.

        NumPy's own take as long as in float64, two and a half times what vectors do. An iteration
        has words of its own: the last of an odd number of normals leaves its fellow unused.
        """
        size = math.prod(tail)
        half = -(-size // 2)
        drawn = np.empty((n, replicates, size), np.float32)
        each = drawn.swapaxes(0, 1)
        together = max(1, PAIRS // max(n * half, 1))
        for i in range(0, replicates, together):
            streams = self.streams[i : i + together]
            words = np.stack([s.bit_generator.random_raw((n, half)) for s in streams])
            first, second = single_normals(words)
            each[i : i + together, :, :half] = first
            each[i : i + together, :, half:] = second[..., : size - half]
        return drawn.reshape(n, replicates, *tail)

    def random(self, shape: tuple[int, ...]) -> Floats:
        """Return uniform numbers of shape (replicates, ...)."""
        drawn = np.empty(shape)
        for i, stream in enumerate(self.streams):
            stream.random(out=drawn[i : i + 1])
        return drawn


def single_normals(words: Any) -> tuple[Any, Any]:
    """Return two arrays of standard normals in float32, by Box and Muller, from words of 64 bits.

    R = sqrt(-2 log u) with u = (w + 1/2)/2^32, w the word's lower half and 2 pi times the rest the
    angle: |z| < 6.77. Shape [..., h] as ``words``. What float32 loses near u = 1, of probability
    1e-7, is where both normals are below 4e-4.
    """
    halves = words.astype("<u8", copy=False).view("<u4")  # of a row: lower, upper, lower, ...
    n = words.shape[-1]
    radius, angle = halves[..., :n].astype(np.float32), halves[..., n:].astype(np.float32)
    radius += 0.5
    radius *= 2.0**-32
    np.log(radius, out=radius)
    radius *= -2
    np.sqrt(radius, out=radius)
    angle *= 2 * math.pi * 2.0**-32
    across = np.sin(angle)
    np.cos(angle, out=angle)
    across *= radius
    angle *= radius
    return angle, across


def canonical(fields: dict[str, int | float], purpose: str) -> str:
    """Return one text for one address: sorted keys, whole numbers as ints, floats by ``repr``."""
    parts = [f"{name}={_shown(value)}" for name, value in sorted(fields.items())]
    return ";".join([*parts, f"purpose={purpose}"])


def _shown(value: int | float) -> str:
    number = float(value)
    return repr(int(value)) if number.is_integer() else repr(number)


def generator(
    address: np.random.SeedSequence | TextSeed | int | Sequence[int],
) -> np.random.Generator:
    """Return the generator of an address: the one place where one is made on the host."""
    seed: Any = address  # NumPy takes any ISeedSequence, its annotations only its own
    return np.random.Generator(np.random.SFC64(seed))


def blocks(replicates: int, size: int) -> list[int]:
    """Return how many replicates each block of ``size`` holds: full blocks, then the rest."""
    full, rest = divmod(replicates, size)
    return [size] * full + ([rest] if rest else [])
