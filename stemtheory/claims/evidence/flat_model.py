"""The overwrite reading in a linear model without noise: two nodes about a flat mean.

Paper: Algorithm (Algo_DR-STORM_batch_App); docs/repaired-theorem.md, section 8.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from stemtheory.claims.base import Comparison
from stemtheory.schedules import theorem_c_b


@dataclass(frozen=True)
class Flat:
    """Two nodes of curvature +-sqrt(V) about a flat mean; steps ``scale`` times the theorem's."""

    I: int
    V: float
    scale: float = 1.0
    reading: str = "overwrite"


def flat_cases(level: str) -> tuple[tuple[Flat, ...], ...]:
    """Return one subject: several I, V and step sizes, L = 1."""
    lengths = (4, 8, 16) if level == "quick" else (4, 8, 16, 64, 256)
    cases = [Flat(I, V, scale) for I in lengths for V in (0.25, 1.0) for scale in (1.0, 0.5)]
    return (tuple(cases),)


def growth(flat: Flat, bKI: float) -> float:
    """Return by how much one round multiplies dbar, minus 1 (drift from a zeta left out)."""
    bK = bKI / flat.I
    eta = flat.scale / (16 * flat.I)
    a = theorem_c_b(1, bK, flat.I) / bK * eta**2
    H = np.sqrt(flat.V) * np.array([1.0, -1.0])
    d = np.ones(2)
    x = np.zeros(2)
    for step in range(flat.I):
        own = x - eta * d
        last = step == flat.I - 1 and flat.reading == "average-first"
        new = np.full(2, own.mean()) if last else own
        d = (1 - a) * (d + H * (new - x))
        x = own
    return float(d.mean() - 1)


def no_repair(flats: tuple[Flat, ...], law: float = 128, reading: str = "overwrite") -> Comparison:
    """Overwrite: dbar grows from round to round once bKI > 128 L^2/(V (1 - 1/I)), at any step.

    Left is how far the measured threshold lies from it.
    """
    from scipy.optimize import brentq

    off = []
    for flat in (replace(flat, reading=reading) for flat in flats):
        predicted = law / (flat.V * (1 - 1 / flat.I))
        low, high = growth(flat, predicted / 2), growth(flat, 2 * predicted)
        found = np.nan
        if low < 0 < high:
            found = brentq(lambda x, f=flat: growth(f, x), predicted / 2, 2 * predicted)
        off.append(abs(found / predicted - 1))
    return Comparison(np.array(off), np.full(len(off), 0.02))
