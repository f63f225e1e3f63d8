r"""The links of the chain that no first-order method passes quickly: two bumps and their slopes.

    Psi(x) = exp(1 - 1/(2x - 1)^2) above 1/2, else 0;  Phi(x) = sqrt(e) int_{-inf}^x e^(-t^2/2) dt
    F(z) = -Psi(1) Phi(z_1) + sum_{i>=2} (Psi(-z_{i-1}) Phi(-z_i) - Psi(z_{i-1}) Phi(z_i))

A coordinate has a slope only where the one before it is beyond 1/2, so from 0 on the coordinates
are found one after the other; and the gradient is longer than 1 until z_n is beyond 1. Of every
sign only one term of a link is there, so both signs share one formula in |z_{i-1}|, and every
partial derivative is at most 0.

Y. Carmon, J. C. Duchi, O. Hinder, A. Sidford. Lower bounds for finding stationary points I.
Mathematical Programming 184 (2020), Lemmas 1 to 4.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

ROOT_E = math.sqrt(math.e)  # sup Phi'
PHI_TOP = math.sqrt(2 * math.pi * math.e)  # sup Phi
PSI_TOP = math.e  # sup Psi; Psi(1) = 1
PSI_SLOPE = math.sqrt(54 / math.e)  # sup Psi', at 1/2 + 1/sqrt(6)
DROP = PSI_TOP * PHI_TOP  # of f along one link more, where all z are far: 11.23, below 12
# Of the Hessian's norm. |Psi''| Phi is at most 133.9 and bends against Psi Phi'', and beside it
# stand twice Psi' Phi', at most 7.35 each: a row's sum is below 149.
SMOOTHNESS = 152.0
# Below, Psi is less than e^-2498, which is 0 in any precision, and 1/t^2 stays in float32.
EDGE = 0.02


@functools.cache
def _coefficients() -> tuple[float, ...]:
    """Return the Chebyshev series of log(erfc(z) e^(z^2)/t), t = 2/(2 + z), over 2t - 1."""
    from scipy.special import erfcx

    def smooth(y: Any) -> Any:
        t = (y + 1) / 2
        return np.log(erfcx(2 / t - 2) / t)

    return tuple(np.polynomial.chebyshev.chebinterpolate(smooth, 31).tolist())


def below(x: Any) -> Any:
    """Return the normal distribution function of arrays on the host."""
    from scipy.special import ndtr  # takes longer to load than numpy, and to list chains needs none

    return ndtr(x)


def below_by_hand(x: Any) -> Any:
    """Return the normal distribution function, to 1e-15, by a series of Clenshaw's."""
    z = np.abs(x) * math.sqrt(0.5)
    t = 2 / (2 + z)
    y, d, dd = 2 * t - 1, 0 * t, 0 * t
    first, *others = _coefficients()
    for c in reversed(others):
        d, dd = 2 * y * d - dd + c, d
    tail = t * np.exp(y * d - dd + first - z * z) / 2
    return 0.5 + np.sign(x) * (0.5 - tail)


def psi(x: Any) -> Any:
    """Return Psi, elementwise."""
    t = np.maximum(x + x - 1, EDGE)
    return np.exp(1 - 1 / (t * t))


def psi_slope(x: Any, height: Any) -> Any:
    """Return Psi' where ``height`` is Psi: 4 Psi/(2x - 1)^3."""
    t = np.maximum(x + x - 1, EDGE)
    return 4 * height / (t * t * t)


def phi_slope(x: Any) -> Any:
    """Return Phi'."""
    return ROOT_E * np.exp(-x * x / 2)


def height(z: Any, below: Any) -> Any:
    """Return F at z, shape [..., n] to [...]; ``below`` is a normal's distribution function."""
    before = z[..., :-1]
    side = np.sign(before)
    links = -side * psi(np.abs(before)) * PHI_TOP * below(side * z[..., 1:])
    return links.sum(axis=-1) - PHI_TOP * below(z[..., 0])


def forward(z: Any) -> Any:
    """Return what link i adds to the derivative along z_i: shape [..., n], at most 0.

    It is what a step can discover: where |z_i| <= 1/2 nothing else is there.
    """
    start = 0 * z[..., :1] + 1  # Psi(1): the chain is held at its first link
    return -np.concatenate([start, psi(np.abs(z[..., :-1]))], axis=-1) * phi_slope(z)


def backward(z: Any, below: Any) -> Any:
    """Return what link i + 1 adds to the derivative along z_i: shape [..., n], at most 0."""
    before = z[..., :-1]
    size = np.abs(before)
    slopes = psi_slope(size, psi(size)) * PHI_TOP * below(np.sign(before) * z[..., 1:])
    return np.concatenate([-slopes, 0 * z[..., :1]], axis=-1)


def unseen(z: Any) -> Any:
    """Return Theta_i = 1 - max_{k>=i} ramp(|z_k|), shape [..., n]: 1 where nothing is beyond 1/4.

    ramp rises from 0 at 1/4 to 1 at 1/2. The maximum of all behind is taken over twice as many at
    a time, in ufuncs alone.
    """
    seen = np.minimum(np.maximum(4 * np.abs(z) - 1, 0), 1)
    n, span = z.shape[-1], 1
    while span < n:
        seen = np.concatenate(
            [np.maximum(seen[..., :-span], seen[..., span:]), seen[..., -span:]], axis=-1
        )
        span *= 2
    return 1 - seen
