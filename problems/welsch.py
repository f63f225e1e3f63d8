r"""Welsch: f(x) = sum_j c_j (1 - exp(-x_j^2/2)), flat tails, nonconvex.

With r = exp(-x^2/2): phi = 1 - r, phi' = x r, phi'' = (1 - x^2) r, phi''' = x (x^2 - 3) r. phi''
is largest at 0, where it is 1 (so L_f = c, attained at 0: two points close to 0 are the witness),
and least at |x| = sqrt 3, where phi''' changes sign: -2 exp(-3/2) = -0.446; |phi''| <= 1 at every
x. f* = 0 at x = 0, because r <= 1, and f < sum_j c_j, approached far away.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from stemtheory.oracles import Family


def loss(x: Any, weight: Any, rate: Any) -> Any:
    """Return weight (1 - exp(-x^2/2)); ``rate`` is -1/2."""
    return -weight * np.expm1(rate * x * x)


def slope(x: Any, weight: Any, rate: Any) -> Any:
    """Return weight x exp(-x^2/2)."""
    return weight * x * np.exp(rate * x * x)


def curvature(x: Any, weight: Any, rate: Any) -> Any:
    """Return weight (1 - x^2) exp(-x^2/2)."""
    square = x * x
    return weight * (1 - square) * np.exp(rate * square)


ENTRY = Family(
    name="welsch",
    summary="nonconvex with very flat tails: 1 - exp(-x^2/2)",
    formula=r"f(x) = \sum_j c_j \left(1 - e^{-x_j^2/2}\right)",
    loss=loss,
    slope=slope,
    curvature=curvature,
    shape=lambda c, own: (-0.5,),
    dip=lambda rate: math.sqrt(3),
    height=1.0,
    visible=(
        "The flattest tails: beyond |x| = 5 hardly a gradient is left, and a bound on ||grad "
        "f||^2 says nothing about the distance to the minimum."
    ),
)
