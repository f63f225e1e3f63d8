"""Unbiased compression of the vectors that workers send, and how many floats are sent.

    sparsify   keep k = keep dim coordinates, chosen uniformly, times dim/k     E||Q(x) - x||^2 =
               (dim/k - 1) ||x||^2; k floats (the places follow from a shared seed)
    quantise   ||x|| sign(x_j) floor(s |x_j| / ||x|| + u_j) / s, u_j uniform    E||Q(x) - x||^2 <=
               dim/(4 s^2) ||x||^2; the norm, and a sign and a level a coordinate

E floor(y + u) = y, so both are unbiased. A float has 32 bits.

D. Alistarh, D. Grubic, J. Li, R. Tomioka, M. Vojnovic. QSGD. NeurIPS 2017.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from stemtheory.algorithms.base import Chance, Chances
from stemtheory.runtime import Floats

KINDS = ("none", "sparsify", "quantise")
PURPOSE = "compression"
FLOAT_BITS = 32


@dataclass(frozen=True)
class Compression:
    """One kind of compression: ``keep`` is a share of the coordinates, ``levels`` is s."""

    kind: str = "none"
    keep: float = 0.25
    levels: int = 4

    def kept(self, dim: int) -> int:
        """Return k, how many of dim coordinates are kept: at least one."""
        return max(1, round(self.keep * dim))

    def floats(self, dim: int) -> float:
        """Return how many floats one compressed vector of length dim takes."""
        if self.kind == "sparsify":
            return self.kept(dim)
        if self.kind == "quantise":
            bits = 1 + math.ceil(math.log2(self.levels + 1))
            return 1 + dim * bits / FLOAT_BITS
        return dim

    def chances(self, vectors: int) -> tuple[Chance, ...]:
        """Return the random choices of a round in which a worker sends ``vectors`` vectors."""
        if self.kind == "none":
            return ()
        decide = self._mask if self.kind == "sparsify" else _as_drawn
        return (Chance(PURPOSE, lambda K, dim: (vectors, K, dim), decide),)

    def apply(self, x: Any, chance: Chances, vector: int) -> Any:
        """Return Q(x), shape [..., K, dim]; ``vector`` counts the vectors sent in a round."""
        if self.kind == "none":
            return x
        choice = chance[PURPOSE][..., vector, :, :]
        if self.kind == "sparsify":
            return x * choice
        norm = np.sqrt((x * x).sum(axis=-1))[..., None]
        safe = norm + (norm == 0)  # of a zero vector every level is 0
        level = np.floor(np.abs(x) / safe * self.levels + choice)
        return norm * np.sign(x) * level / self.levels

    def _mask(self, uniforms: Floats) -> Floats:
        dim = uniforms.shape[-1]
        rank = uniforms.argsort(axis=-1).argsort(axis=-1)
        return np.asarray((rank < self.kept(dim)) * (dim / self.kept(dim)))


def _as_drawn(uniforms: Floats) -> Floats:
    return uniforms
