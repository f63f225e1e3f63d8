"""The seed that a text is, for generators that are made by the thousand.

It stands alone because naming its base imports ``numpy.random``, which most commands do without.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from numpy.random.bit_generator import ISeedSequence


class TextSeed(ISeedSequence):
    """BLAKE2b of a text, as many words as a bit generator asks for.

    A ``SeedSequence`` of the hash takes ten times as long, longer than making the generator.
    """

    def __init__(self, text: str) -> None:
        self.text = text

    def generate_state(self, n_words: int, dtype: Any = np.uint32) -> Any:
        """Return ``n_words`` words of the hash, which has at most 64 bytes."""
        words = np.dtype(dtype).newbyteorder("<")
        size = n_words * words.itemsize
        digest = hashlib.blake2b(self.text.encode(), digest_size=size).digest()
        return np.frombuffer(digest, words).astype(dtype)
