"""Heterogeneity models: how worker k's gradient differs from the common one.

With the signs s = (+1, -1, +1, -1, ..., and 0 for the last worker when K is odd), which add up to
zero, f, f* and the gap stay what they are and the inter-worker bound zeta is attained.

Paper: Assumption (Ass: Unbiased_Var_Grad).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from stemtheory.runtime import Backend

HETEROGENEITIES = {
    "none": "all workers equal",
    "tilt": "grad f + s_k (zeta/2) u, |u| = 1: zeta at every x, no curvature",
    "sinusoid": "grad f_j + s_k zeta/(2 sqrt d) sin(w x_j + phase): Z = zeta w/(2 sqrt d)",
}


def placed(backend: Backend, dtype: np.dtype[Any], value: Any) -> Any:
    """Return an array on the backend's device; a Python float stays: it does not widen float32."""
    return backend.from_host(value.astype(dtype)) if isinstance(value, np.ndarray) else value


def signs(K: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return s, shape (K,): +1, -1, ... and 0 for the last worker when K is odd; the sum is 0."""
    s = np.where(np.arange(K) % 2 == 0, 1.0, -1.0)
    if K % 2:
        s[-1] = 0.0  # or the pushes would move f and its minimiser
    return s


def tilt(x: Any, shift: Any) -> Any:
    """Return the constant push ``shift``, shape (K, dim)."""
    return shift


def sinusoid(x: Any, weight: Any, frequency: Any, offset: Any) -> Any:
    """Return weight * sin(frequency x + offset); ``weight`` has shape (K, 1)."""
    return weight * np.sin(frequency * x + offset)


@dataclass(frozen=True)
class Push:
    """What is added to the common gradient: an elementwise function and its arguments."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]

    def place(self, backend: Backend, dtype: np.dtype[Any]) -> Push:
        """Return the same push with its arrays on the backend's device, in ``dtype``."""
        return Push(self.function, tuple(placed(backend, dtype, v) for v in self.arguments))


def make_push(
    kind: str, K: int, dim: int, zeta: float, frequency: float, offset: float
) -> Push | None:
    """Return the push of one heterogeneity model, or None if the workers are equal."""
    if kind == "none" or zeta == 0:
        return None
    # Workers with s = +1 and -1 differ by twice a push: its norm is zeta/2, for zeta as a whole.
    if kind == "tilt":
        direction = np.full(dim, 1 / np.sqrt(dim))
        return Push(tilt, (np.outer(signs(K), direction) * (zeta / 2),))
    # The crests of all coordinates coincide at w x + phase = pi/2: there the norm is zeta/2.
    weight = signs(K)[:, None] * (zeta / (2 * np.sqrt(dim)))
    return Push(sinusoid, (weight, frequency, offset))
