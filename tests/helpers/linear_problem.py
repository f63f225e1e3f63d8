"""A problem in one dimension with linear gradients, equal or not: what moments are tested against.

Curvatures that differ break Assumption 2, so no problem of the catalogue may have them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from stemtheory.moments.linear_model import LinearModel, linear_model
from stemtheory.runtime import Floats


@dataclass(frozen=True)
class LinearProblem:
    """grad f^(k) = H_k x + o_k + xi_1 L_n x + xi_2 s; just what ``walk`` asks of a problem."""

    curvatures: tuple[float, ...]
    offsets: tuple[float, ...]
    noise_slope: float = 0.0
    noise_level: float = 0.0
    dim: int = 1

    @property
    def K(self) -> int:
        return len(self.curvatures)

    @property
    def model(self) -> LinearModel:
        return linear_model(
            self.curvatures,
            self.offsets,
            noise_slope=self.noise_slope,
            noise_level=self.noise_level,
        )

    def evaluate(self, x: Any) -> Any:
        H, o = np.array(self.curvatures)[:, None], np.array(self.offsets)[:, None]
        return H * x + o, self.noise_slope * x

    def draw(self, stream: Any, shape: tuple[int, ...], b: float, dtype: Any) -> Any:
        return stream.standard_normal((*shape, 2, self.K, 1)) / np.sqrt(b)

    def combine(self, evaluation: Any, minibatch: Any) -> Any:
        gradient, slope = evaluation
        noise = minibatch[..., 0, :, :] * slope + minibatch[..., 1, :, :] * self.noise_level
        return gradient + noise

    def stochastic_gradient(self, x: Any, minibatch: Any) -> Any:
        return self.combine(self.evaluate(x), minibatch)

    def full_gradient(self, x: Any) -> Floats:
        return np.asarray(np.mean(self.curvatures) * x + np.mean(self.offsets))
