"""A loss of one's own: log cosh, smooth near its minimum and almost straight far away.

phi = log cosh x, phi' = tanh x, phi'' = 1/cosh(x)^2 in (0, 1], largest at 0: L_f = c is attained
there. f* = 0 at x = 0, because cosh >= 1. Convex.
"""

import math
from typing import Any

import numpy as np

from stemtheory.oracles.separable import Family


def loss(x: Any, weight: Any) -> Any:
    """Return weight log cosh x, without overflow; np.log(2) would widen float32."""
    return weight * (np.logaddexp(x, -x) - math.log(2))


def slope(x: Any, weight: Any) -> Any:
    """Return weight tanh x."""
    return weight * np.tanh(x)


def curvature(x: Any, weight: Any) -> Any:
    """Return weight (1 - tanh(x)^2)."""
    t = np.tanh(x)
    return weight * (1 - t * t)


ENTRY = Family(
    name="log_cosh",
    summary="a bowl with straight walls",
    formula=r"f(x) = \sum_j c_j \log \cosh x_j",
    loss=loss,
    slope=slope,
    curvature=curvature,
)
