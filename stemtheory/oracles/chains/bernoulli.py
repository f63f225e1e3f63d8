"""Noise that is a coin: a sample shows something with probability p, and then 1/p times of it.

The mean of b samples of z/p - 1 is one binomial number over b p, so b costs nothing, as with the
Gaussian models; but it is no sum of normals, and b must be whole.

Paper: Assumption (Ass: Unbiased_Var_Grad).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from stemtheory.runtime import UsageError


@dataclass(frozen=True)
class Bernoulli:
    """A coin that shows with probability p; a sample's weight is z/p - 1, of mean 0."""

    p: float

    @property
    def variance(self) -> float:
        """Return (1 - p)/p, the variance of a sample's weight."""
        return (1 - self.p) / self.p

    def draw(self, stream: Any, shape: tuple[int, ...], b: float, dtype: np.dtype[Any]) -> Any:
        """Return means of b weights, of the given shape, from a stream of any backend.

        Raises
        ------
        UsageError
            For a real b.
        """
        if not float(b).is_integer():
            raise UsageError(
                f"b is {b:g}, but a coin is thrown for whole samples: round b (and B)."
            )
        if hasattr(stream, "binomial"):
            shown = stream.binomial(int(b), self.p, size=shape)
        else:  # a device generator without it: throw the coins and count them
            shown = (stream.random((*shape, int(b))) < self.p).sum(axis=-1)
        return shown.astype(dtype) * dtype.type(1 / (b * self.p)) - dtype.type(1)
