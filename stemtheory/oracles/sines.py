"""Sine and cosine of whole arrays: in float64 by the tangent of half the angle.

NumPy has vector code for the sine of float32 and for the tangent of either, but its sine of float64
calls a scalar routine, element by element: that was half of a step of the array engine. With
t = tan(x/2), sin x = 2 t/(1 + t^2) and cos x = 2/(1 + t^2) - 1, a fifth of the price on a processor
with AVX-512; without it a sine alone costs a quarter more, and both together a third less.

Compiled kernels put functions of their own in the place of this module's, as they do with NumPy's.
Accuracy, tested: absolutely 4e-16 for every x, and the sine 4 units in its last place for |x| <= 1.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def sin(x: Any) -> Any:
    """Return sin x."""
    if not _doubles(x):
        return np.sin(x)
    t = np.tan(x * 0.5)
    scale = t * t
    scale += 1
    t += t
    t /= scale
    return t


def cos(x: Any) -> Any:
    """Return cos x."""
    return np.cos(x) if not _doubles(x) else sin_cos(x)[1]


def sin_cos(x: Any) -> tuple[Any, Any]:
    """Return (sin x, cos x) for the price of one of them."""
    if not _doubles(x):
        return np.sin(x), np.cos(x)
    t = np.tan(x * 0.5)
    scale = t * t
    scale += 1
    scale = 2 / scale
    t *= scale
    scale -= 1
    return t, scale


def _doubles(x: Any) -> bool:
    """Return whether x is an array of float64; a device's too: it has the numbers of the host."""
    return getattr(x, "dtype", None) == np.float64 and x.ndim > 0
