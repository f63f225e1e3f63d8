r"""Cosine bowl: f(x) = sum_j c_j [ rho x_j^2/2 + (1 - rho) (1 - cos w x_j)/w^2 ].

In the usual letters h = rho c and A = (1 - rho) c / w^2: f = sum h x^2/2 + A (1 - cos w x), peak
curvature h + A w^2 = c at every x with cos w x = 1, so at 0 (L_f = c, attained), least curvature
h - A w^2 = (2 rho - 1) c where cos w x = -1: nonconvex iff rho < 1/2. f* = 0 at x = 0, because
both terms are >= 0 and vanish there. Dials: ``bowl`` = rho in (0, 1] (default 1/3) and ``ripple``
= w (default 2).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from stemtheory.oracles import Family, sines
from stemtheory.runtime import UsageError, real


def loss(x: Any, weight: Any, rho: Any, ripple: Any, rest: Any) -> Any:
    """Return weight (rho x^2/2 + (1 - rho)(1 - cos w x)/w^2), with rest = (1 - rho)/w."""
    dip = sines.sin(ripple * x / 2)  # 1 - cos w x = 2 sin^2(w x/2), exact near 0
    return weight * (rho * x * x / 2 + 2 * rest * dip * dip / ripple)


def slope(x: Any, weight: Any, rho: Any, ripple: Any, rest: Any) -> Any:
    """Return weight (rho x + (1 - rho) sin(w x)/w)."""
    return weight * (rho * x + rest * sines.sin(ripple * x))


def curvature(x: Any, weight: Any, rho: Any, ripple: Any, rest: Any) -> Any:
    """Return weight (rho + (1 - rho) cos w x)."""
    return weight * (rho + rest * ripple * sines.cos(ripple * x))


def _shape(c: Any, own: Mapping[str, float]) -> tuple[float, ...]:
    rho = real("bowl", own["bowl"], positive=True)
    ripple = real("ripple", own["ripple"], positive=True)
    if rho > 1:
        raise UsageError(f"bowl is {rho:g}, but it must lie in (0, 1]: lower it.")
    return rho, ripple, (1 - rho) / ripple


def _dip(rho: float, ripple: float, rest: float) -> float | None:
    return math.pi / ripple if rho < 0.5 else None


ENTRY = Family(
    name="cosine",
    summary="bowl with ripples; nonconvex for bowl < 1/2",
    formula=(
        r"f(x) = \sum_j c_j \left[\rho \frac{x_j^2}{2}"
        r" + (1 - \rho) \frac{1 - \cos w x_j}{w^2}\right]"
    ),
    loss=loss,
    slope=slope,
    curvature=curvature,
    shape=_shape,
    own_dials={"bowl": 1 / 3, "ripple": 2.0},
    dip=_dip,
    length=lambda rho, ripple, rest: min(1.0, 1 / ripple),
    visible=(
        "The exponents of the quadratic on a nonconvex loss: the theorems need no convexity. "
        "`bowl` = 1 turns the ripples off, `bowl` < 1/2 makes it nonconvex, and a small `bowl` has "
        "many stationary points."
    ),
)
