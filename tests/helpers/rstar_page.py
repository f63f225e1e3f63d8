"""Theorem R* written a second time, from docs/theorem-rstar.md alone: its table and its (2)."""

from __future__ import annotations

from typing import NamedTuple

from stemtheory.bounds import Setting


class Row(NamedTuple):
    """A row of the table of section 2, and Lambda of I = 1 from section 5."""

    h: float
    c0: float
    M: int
    lam: float
    A_s: float
    A_z: float
    lam_1: float


PAGE = {
    "a": Row(1 / 4, 6, 8, 20.86, 0.181, 0.0752, 19.5),
    "b": Row(1 / 4, 6, 8, 20.81, 0.0989, 0.0472, 19.5),
    "c": Row(1 / 4, 6, 32, 20.69, 0.1240, 0.1307, 19.5),
    "d": Row(1 / 3, 9 / 2, 16, 14.69, 0.1521, 0.1053, 13.5),
    "e": Row(1 / 5, 10, 100, 35.36, 0.0559, 0.0743, 32),
}
# C of the corollary: what L Delta_f, sigma^2 and zeta^2 are taken by, and sigma^2 at I = 1.
CURVE = {
    "a": (8, 2.35, 0.34, 1.88),
    "b": (8, 1.99, 0.22, 1.88),
    "c": (8, 2.11, 0.59, 1.88),
    "d": (6, 1.91, 0.48, 1.67),
    "e": (10, 1.87, 0.60, 1.82),
}


def printed(part: str, s: Setting) -> dict[str, float]:
    """Return the right side of (2), term by term, with S = T/I."""
    r, S, bK = PAGE[part], s.T / s.I, s.b * s.K
    B = s.b * s.I if s.B is None else s.B
    lam, A_s, A_z = (r.lam_1, 1 / r.lam_1, 0.0) if s.I == 1 else (r.lam, r.A_s, r.A_z)
    a = r.c0 * r.h**2 / (bK * s.I**2)
    beta = s.b * s.I / B if part == "a" and s.I > 1 else max(s.b * s.I / B, a * s.I)
    last = 2 * r.c0**2 * r.h**2 / (s.I * bK) ** 2
    return {
        "gap": 2 / r.h * s.L * s.gap / S,
        "initial_batch": 2 * beta / (lam * r.h**2) * s.sigma**2 / S,
        "variance": last * A_s * s.sigma**2,
        "heterogeneity": last * A_z * s.zeta**2,
    }
