"""The problem where nothing is said: every default of its size and its constants stands here."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Usual:
    """K workers, dim coordinates, the constants of the assumptions, and gap = f(x_1) - f*.

    zeta is 0 with one worker. ``gap`` is for bounds alone: a problem has its own.
    """

    K: int = 4
    dim: int = 8
    L: float = 1.0
    sigma: float = 0.5
    zeta: float = 1.0
    gap: float = 1.0
    noise: str = "phase"
    heterogeneity: str = "sinusoid"


USUAL = Usual()
MOST_NUMBERS = 10**9  # of one array, such as K dim of a state: 8 GB
