"""Heterogeneity models: how worker k's gradient differs from the common one.

With the signs s = (+1, -1, +1, -1, ..., and 0 for the last worker when K is odd), which add up to
zero, f, f* and the gap stay what they are and the inter-worker bound zeta is attained.

Paper: Assumption (Ass: Unbiased_Var_Grad).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from stemtheory.oracles import sines
from stemtheory.runtime import Backend


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
    return weight * sines.sin(frequency * x + offset)


@dataclass(frozen=True)
class Push:
    """What is added to the common gradient: an elementwise function and its arguments."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]

    def place(self, backend: Backend, dtype: np.dtype[Any]) -> Push:
        """Return the same push with its arrays on the backend's device, in ``dtype``."""
        return Push(self.function, tuple(placed(backend, dtype, v) for v in self.arguments))


@dataclass(frozen=True)
class HeterogeneityModel:
    """A model of how workers differ: all that the package knows of it.

    ``function`` is what is added to the gradient, elementwise in (x, *arguments); ``arguments``
    makes them from (K, dim, zeta, w, offset). With ``waves`` the push has a frequency w: its
    curvature is largest where w x + offset = 0, is there Z = steepness zeta w/(2 sqrt d), and two
    workers are zeta apart where w x + offset = crest. Without, zeta is attained at every x.
    """

    name: str
    summary: str
    function: Callable[..., Any]
    arguments: Callable[[int, int, float, float, float], tuple[Any, ...]]
    waves: bool = True
    steepness: float = 1.0
    crest: float = math.pi / 2

    def curvature(self, zeta: float, w: float, dim: int) -> float:
        """Return Z, the curvature of the push."""
        return self.steepness * zeta * w / (2 * math.sqrt(dim))

    def frequency(self, zeta: float, Z: float, dim: int) -> float:
        """Return w, of which ``curvature`` is Z."""
        return 2 * math.sqrt(dim) * Z / (self.steepness * zeta)


def half(K: int, dim: int, zeta: float) -> Any:
    """Return s_k zeta/(2 sqrt d), shape (K, 1): at full height two workers are zeta apart."""
    return signs(K)[:, None] * (zeta / (2 * np.sqrt(dim)))


NONE = HeterogeneityModel(
    name="none",
    summary="all workers equal",
    function=tilt,
    arguments=lambda K, dim, zeta, w, offset: (np.zeros((K, dim)),),
    waves=False,
)
TILT = HeterogeneityModel(
    name="tilt",
    summary="grad f + s_k (zeta/2) u, |u| = 1: zeta at every x, no curvature",
    function=tilt,
    arguments=lambda K, dim, zeta, w, offset: (
        np.outer(signs(K), np.full(dim, 1 / np.sqrt(dim))) * (zeta / 2),
    ),
    waves=False,
)
SINUSOID = HeterogeneityModel(
    name="sinusoid",
    summary="grad f_j + s_k zeta/(2 sqrt d) sin(w x_j + phase): Z = zeta w/(2 sqrt d)",
    function=sinusoid,
    arguments=lambda K, dim, zeta, w, offset: (half(K, dim, zeta), w, offset),
)

HETEROGENEITIES = {model.name: model for model in (NONE, TILT, SINUSOID)}


def make_push(
    kind: str, K: int, dim: int, zeta: float, frequency: float, offset: float
) -> Push | None:
    """Return the push of one heterogeneity model, or None if the workers are equal."""
    if kind == NONE.name or zeta == 0:
        return None
    # Workers with s = +1 and -1 differ by twice a push: its norm is zeta/2, for zeta as a whole;
    # the crests of all coordinates coincide at w x + offset = crest: there the norm is zeta/2.
    model = HETEROGENEITIES[kind]
    return Push(model.function, model.arguments(K, dim, zeta, frequency, offset))
