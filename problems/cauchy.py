r"""Cauchy: f(x) = (1/2) sum_j c_j log(1 + x_j^2), slowly growing tails, nonconvex.

With r = 1/(1 + x^2): phi = log(1 + x^2)/2, phi' = x r, phi'' = (1 - x^2) r^2,
phi''' = 2 x (x^2 - 3) r^3. phi'' is largest at 0, where it is 1 (so L_f = c, attained at 0: two
points close to 0 are the witness), and least at |x| = sqrt 3, where phi''' changes sign: -1/8;
|phi''| <= 1 at every x. f* = 0 at x = 0, because the logarithm is >= 0; f has no upper bound.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from stemtheory.oracles import Family


def loss(x: Any, weight: Any, one: Any) -> Any:
    """Return weight log(1 + x^2)/2."""
    return weight * np.log1p(x * x) / 2


def slope(x: Any, weight: Any, one: Any) -> Any:
    """Return weight x/(1 + x^2)."""
    return weight * x / (one + x * x)


def curvature(x: Any, weight: Any, one: Any) -> Any:
    """Return weight (1 - x^2)/(1 + x^2)^2."""
    square = x * x
    r = one / (one + square)
    return weight * (1 - square) * r * r


ENTRY = Family(
    name="cauchy",
    summary="nonconvex with slowly growing tails: log(1+x^2)/2",
    formula=r"f(x) = \frac{1}{2} \sum_j c_j \log(1 + x_j^2)",
    loss=loss,
    slope=slope,
    curvature=curvature,
    shape=lambda c, own: (1.0,),
    dip=lambda one: math.sqrt(3),
    visible=("Tails between flat and steep: f is unbounded, and the gradient falls like 1/x."),
)
