"""Noise models: gradient noise that is linear in independent standard Gaussians.

The noise of one sample at x is ``sum_m xi_m * n_m(x)``, coordinate by coordinate, with xi_m fresh
for every sample, worker and step. The mean of b such samples has exactly the law of one draw
scaled by 1/sqrt(b), so b costs nothing and may be real. Each model is the gradient of a random
function. Its *fields* n_m are elementwise, use NumPy ufuncs only (CuPy arrays dispatch to them)
and take every number as an argument, so that a compiler sees typed constants.

Paper: Assumption (Ass: Lip_Smoothness), Assumption (Ass: Unbiased_Var_Grad).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

from stemtheory.oracles import sines
from stemtheory.runtime import by_name


def additive(x: Any, amplitude: Any) -> tuple[Any, ...]:
    """Return the field (amplitude): the same noise everywhere."""
    return (amplitude,)


def phase(x: Any, amplitude: Any, frequency: Any) -> tuple[Any, ...]:
    """Return the fields amplitude * (cos(w x), sin(w x)): variance amplitude^2 at every x."""
    sine, cosine = sines.sin_cos(frequency * x)
    return amplitude * cosine, amplitude * sine


def modulated(x: Any, level: Any, swing: Any, frequency: Any) -> tuple[Any, ...]:
    """Return the field level + swing * sin(w x)."""
    return (level + swing * sines.sin(frequency * x),)


def multiplicative(x: Any, slope: Any, amplitude: Any) -> tuple[Any, ...]:
    """Return the fields (slope * x, amplitude): the variance grows without bound."""
    return slope * x, amplitude


def _nothing(sigma: float, scale: float, dim: int, modulation: float) -> float:
    return 0.0


def _origin(frequency: float) -> float:
    return 0.0


def _quarter_wave(frequency: float) -> float:
    return math.pi / (2 * frequency) if frequency else 0.0


@dataclass(frozen=True)
class NoiseModel:
    """A noise model: all that the package knows of it, its fields and its constants.

    ``smooth`` tells whether L_n > 0 is possible; ``frequency`` returns w_n from
    (sigma, L_n, dim, modulation) and ``smoothness`` is its inverse; ``arguments`` returns what
    ``fields`` takes after x. ``loudest`` is a coordinate at which the variance is sigma^2, and
    ``steady`` says that it is so at every x; L_n is attained at x = 0, and with ``uniform`` at
    every x. ``waves`` says that there is a frequency, ``linear`` that the fields are linear in x.
    """

    name: str
    summary: str
    terms: int
    fields: Callable[..., tuple[Any, ...]]
    arguments: Callable[[float, float, float, int, float], tuple[float, ...]]
    smoothness: Callable[[float, float, int, float], float] = _nothing
    frequency: Callable[[float, float, int, float], float] = _nothing
    loudest: Callable[[float], float] = _origin
    smooth: bool = True
    bounded: bool = True
    steady: bool = True
    uniform: bool = True
    waves: bool = True
    linear: bool = False

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle it by its name."""
        return by_name(self, self.fields)

    def __deepcopy__(self, memo: Any) -> Self:
        """Return itself: nothing of it changes."""
        return self


ADDITIVE = NoiseModel(
    name="additive",
    summary="(sigma/sqrt d) xi: sigma everywhere, L_n = 0",
    terms=1,
    fields=additive,
    smooth=False,
    arguments=lambda sigma, L_n, w, dim, modulation: (sigma / math.sqrt(dim),),
    waves=False,
    linear=True,
)
# Two normals and not one: cos^2 + sin^2 = 1 keeps the variance sigma^2 at every x, while the noise
# at x and at y differs by sigma |2 sin(w (x - y)/2)|/sqrt(d) per coordinate. So sigma is attained
# everywhere, and L_n where x - y -> 0, whatever the point: no loss of tightness is noise's fault.
PHASE = NoiseModel(
    name="phase",
    summary="(sigma/sqrt d)(xi1 cos w x + xi2 sin w x): sigma everywhere, L_n = sigma w/sqrt d",
    terms=2,
    fields=phase,
    arguments=lambda sigma, L_n, w, dim, modulation: (sigma / math.sqrt(dim), w),
    smoothness=lambda sigma, w, dim, modulation: sigma * abs(w) / math.sqrt(dim),
    frequency=lambda sigma, L_n, dim, modulation: L_n * math.sqrt(dim) / sigma,
)
# The steepest place (sin w x = 0, where L_n is attained) is not the loudest one (sin w x = 1).
MODULATED = NoiseModel(
    name="modulated",
    summary="xi (p + q sin w x): sigma = sqrt(d)(p + q) at sin w x = 1, L_n = q w at 0",
    terms=1,
    fields=modulated,
    arguments=lambda sigma, L_n, w, dim, modulation: (
        (1 - modulation) * sigma / math.sqrt(dim),
        modulation * sigma / math.sqrt(dim),
        w,
    ),
    smoothness=lambda sigma, w, dim, modulation: modulation * sigma * abs(w) / math.sqrt(dim),
    frequency=lambda sigma, L_n, dim, modulation: L_n * math.sqrt(dim) / (modulation * sigma),
    loudest=_quarter_wave,
    steady=False,
    uniform=False,
)
# Its variance has no bound, so A2 (ii) fails; but it is linear in x, and second moments close.
MULTIPLICATIVE = NoiseModel(
    name="multiplicative",
    summary="L_n xi1 x + (sigma/sqrt d) xi2: L_n exact, variance unbounded",
    terms=2,
    fields=multiplicative,
    bounded=False,
    arguments=lambda sigma, L_n, w, dim, modulation: (L_n, sigma / math.sqrt(dim)),
    steady=False,
    waves=False,
    linear=True,
)

NOISES = {model.name: model for model in (ADDITIVE, PHASE, MODULATED, MULTIPLICATIVE)}
