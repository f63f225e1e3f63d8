r"""Quadratic: f(x) = (1/2) sum_j c_j x_j^2.

The curvature is c_j everywhere, so L_f = max c_j = c is attained at every pair of points along
that coordinate; f* = 0 at x = 0. The dial ``h`` is another name for ``curvature``. Least curvature
min c_j > 0: convex. Used for closed forms, exact moments and the synchronisation counterexamples.
"""

from __future__ import annotations

from typing import Any

from stemtheory.oracles import Family


def loss(x: Any, weight: Any) -> Any:
    """Return weight x^2 / 2."""
    return weight * x * x / 2


def slope(x: Any, weight: Any) -> Any:
    """Return weight x."""
    return weight * x


def curvature(x: Any, weight: Any) -> Any:
    """Return weight."""
    return weight + (x - x)


ENTRY = Family(
    name="quadratic",
    summary="convex bowl with constant curvature",
    formula=r"f(x) = \frac{1}{2} \sum_j c_j x_j^2",
    loss=loss,
    slope=slope,
    curvature=curvature,
    aliases={"h": "curvature"},
    flat=True,
    visible=(
        "Every exponent of the trade-off curve, the linear speed-up in K and the "
        "crossovers, because its moments are closed forms; and the counterexamples to a "
        "wrong synchronisation."
    ),
)
