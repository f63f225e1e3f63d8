r"""Geman-McClure: f(x) = (1/2) sum_j c_j x_j^2 / (1 + x_j^2), flat tails, nonconvex.

With r = 1/(1 + x^2): phi = x^2 r/2, phi' = x r^2, phi'' = (1 - 3x^2) r^3. phi'' is largest at 0,
where it is 1 (so L_f = c, attained at 0), and least at |x| = 1, where it is -1/4: there
phi''' = 12 x (x^2 - 1) r^4 changes sign. f* = 0 at x = 0 and f < (1/2) sum_j c_j.
"""

from __future__ import annotations

from typing import Any

from stemtheory.oracles import Family


def loss(x: Any, weight: Any, one: Any) -> Any:
    """Return weight x^2 / (2 (1 + x^2))."""
    square = x * x
    return weight * square / (1 + square) / 2


def slope(x: Any, weight: Any, one: Any) -> Any:
    """Return weight x / (1 + x^2)^2."""
    r = one / (one + x * x)
    return weight * x * r * r


def curvature(x: Any, weight: Any, one: Any) -> Any:
    """Return weight (1 - 3 x^2) / (1 + x^2)^3."""
    square = x * x
    r = one / (one + square)
    return weight * (1 - 3 * square) * r * r * r


ENTRY = Family(
    name="geman_mcclure",
    summary="nonconvex with flat tails: x^2/(1+x^2)",
    formula=r"f(x) = \frac{1}{2} \sum_j c_j \frac{x_j^2}{1 + x_j^2}",
    loss=loss,
    slope=slope,
    curvature=curvature,
    shape=lambda c, own: (1.0,),
    dip=lambda one: 1.0,
    height=0.5,
    visible=(
        "Flat tails: far away the gradient falls like 1/x^3, so ||grad f||^2 is small there "
        "although f is not; the first problem to try."
    ),
)
