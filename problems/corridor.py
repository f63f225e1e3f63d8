r"""Corridor: f(x) = g (sqrt(x_1^2 + delta^2) - delta) + (1/2) sum_{j>=2} h_j x_j^2, delta = g/c.

A long way of constant slope g along the first coordinate, and a bowl across it. With t = x/delta:
phi = x^2/(1 + sqrt(1 + t^2)) = delta^2 (sqrt(1 + t^2) - 1), phi' = x/sqrt(1 + t^2) and
phi'' = (1 + t^2)^(-3/2); delta = infinity gives the bowl, x^2/2, so one formula with a bend 1/delta
per coordinate (0 across) serves both. phi'' is largest at 0, where it is 1: L_f = c is attained
along the first coordinate, with two points close to 0 as the witness; across, h_j <= c. Every
curvature is positive: convex. f* = 0 at x = 0; c phi' -> c delta = g far away. Dials: ``g``, the
slope (default 0.1), and ``h`` <= c, the largest curvature across (default c).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from stemtheory.oracles import Family
from stemtheory.runtime import Floats, UsageError, real


def loss(x: Any, weight: Any, one: Any, bend: Any) -> Any:
    """Return weight x^2/(1 + sqrt(1 + (bend x)^2)); ``bend`` is 1/delta, or 0 in the bowl."""
    t = bend * x
    return weight * x * x / (one + np.sqrt(one + t * t))


def slope(x: Any, weight: Any, one: Any, bend: Any) -> Any:
    """Return weight x/sqrt(1 + (bend x)^2)."""
    t = bend * x
    return weight * x / np.sqrt(one + t * t)


def curvature(x: Any, weight: Any, one: Any, bend: Any) -> Any:
    """Return weight (1 + (bend x)^2)^(-3/2)."""
    t = bend * x
    r = one / np.sqrt(one + t * t)
    return weight * r * r * r


def _weights(c: Floats, own: Mapping[str, float]) -> Floats:
    """Return the curvatures at 0: c along the corridor, at most h across."""
    h = real("h", own.get("h", c[0]), positive=True)
    if h > c[0]:
        raise UsageError(f"h is {h:g}, but it must not exceed the curvature {c[0]:g}: lower h.")
    return np.concatenate([c[:1], c[1:] * (h / c[0])])


def _shape(c: Floats, own: Mapping[str, float]) -> tuple[Any, ...]:
    bend = np.zeros(len(c))
    bend[0] = c[0] / real("g", own["g"], positive=True)
    return 1.0, bend


ENTRY = Family(
    name="corridor",
    summary="a way of constant slope g and a bowl across; convex",
    formula=(
        r"f(x) = g \left(\sqrt{x_1^2 + \delta^2} - \delta\right)"
        r" + \frac{1}{2} \sum_{j \geq 2} h_j x_j^2, \quad \delta = g/c"
    ),
    loss=loss,
    slope=slope,
    curvature=curvature,
    shape=_shape,
    weights=_weights,
    own_dials={"g": 0.1, "h": None},
    length=lambda one, bend: float(1 / max(one, bend[0])),
    visible=(
        "The term with the gap f(x_1) - f*: along the corridor every step gains the same. "
        "With the slope g = 2 sqrt(epsilon) a tuned SGD needs epsilon^-2 samples and STEM "
        "epsilon^(-3/2)."
    ),
)
