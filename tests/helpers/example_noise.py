"""A noise model of one's own: a random direction that turns near x = 0 and settles far away.

    n(x_j) = a (xi_1 sech w x_j + xi_2 tanh w x_j),   a = sigma/sqrt d

sech^2 + tanh^2 = 1, so E||n||^2 = sigma^2 at every x. The pair (sech, tanh) runs along the unit
circle at speed w sech(w x) <= w, so E||n(x) - n(y)||^2 <= (a w)^2 ||x - y||^2, attained at x = 0:
L_n = sigma w/sqrt d. It is the gradient of a random function, as every field of one coordinate is.
"""

import math
from typing import Any

import numpy as np

from stemtheory.oracles.noise import NoiseModel


def settling(x: Any, amplitude: Any, frequency: Any) -> tuple[Any, ...]:
    """Return the fields amplitude (sech w x, tanh w x); sech from tanh, which cannot overflow."""
    far = amplitude * np.tanh(frequency * x)
    return np.sqrt((amplitude - far) * (amplitude + far)), far


SETTLING = NoiseModel(
    name="settling",
    summary="(sigma/sqrt d)(xi1 sech w x + xi2 tanh w x): sigma everywhere, L_n = sigma w/sqrt d",
    terms=2,
    fields=settling,
    smooth=True,
    bounded=True,
    arguments=lambda sigma, L_n, w, dim, modulation: (sigma / math.sqrt(dim), w),
    smoothness=lambda sigma, w, dim, modulation: sigma * abs(w) / math.sqrt(dim),
    frequency=lambda sigma, L_n, dim, modulation: L_n * math.sqrt(dim) / sigma,
    loudest=lambda w: 0.0,
    uniform=False,  # L_n is attained at x = 0 alone
)
