"""The nonconvex regulariser of finite sums: q(z) = z^2/(1 + z^2) of every coordinate.

q' = 2z/(1 + z^2)^2 and q'' = 2 (1 - 3 z^2)/(1 + z^2)^3, which lies in [-1/2, 2]: 2 at 0, least at
|z| = 1.
"""

from __future__ import annotations

from typing import Any

PENALTY_BEND = 2.0  # sup |q''|, at 0
DIP = 1.0  # where q'' is least


def penalty(z: Any) -> Any:
    """Return z^2/(1 + z^2)."""
    square = z * z
    return square / (1 + square)


def penalty_slope(z: Any) -> Any:
    """Return 2 z/(1 + z^2)^2."""
    r = 1 / (1 + z * z)
    return 2 * z * r * r
