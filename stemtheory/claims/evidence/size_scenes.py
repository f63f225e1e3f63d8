"""Sizes as a scene: lines between numbers, over a whole grid of K, b, I, T, L, sigma and t at once.

The steps are the theorem's; sums over all t have closed forms.

Paper: Thm: PR_Convergence_Main_App, eq. (eq: Step-Size).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from fractions import Fraction
from typing import Any

import numpy as np

from stemtheory.bounds import Setting
from stemtheory.claims.language import (
    EPS,
    At,
    Evaluation,
    Over,
    Symbol,
    Times,
    letters,
)
from stemtheory.claims.panel import SizeGrid
from stemtheory.runtime import Floats
from stemtheory.schedules import theorem_c_b, theorem_eta, theorem_sum_eta_cubed

BESIDE = {"gap": 1.0, "unit_step": 1.0, "B": 1.0, "m": 1.0, "zeta": 1.0}  # where a grid has none


class SizeScene:
    """Letters as columns [n] of one length."""

    def __init__(self, columns: Mapping[str, Any]) -> None:
        self.columns = {**BESIDE, **columns}
        self.evaluation = Evaluation(self)
        at = {name: np.atleast_1d(self.columns[name]) for name in ("t", "T") if name in columns}
        self.times = Times(at)

    def number(self, value: Fraction) -> float:
        """Return the nearest float."""
        return float(value)

    def letter(self, symbol: Symbol, times: Times) -> Any:
        """Return a column, or what the theorem's schedule is at a time."""
        if symbol.name in self.columns:
            return _column(self.columns[symbol.name])
        at = times[symbol.at[0]] if symbol.at else None
        return _column(getattr(self, f"_{symbol.name}")(at))

    def _eta(self, t: Any) -> Floats:
        """eta_t of the three-branch minimum, in which sigma has cancelled."""
        g = self.columns
        return np.asarray(theorem_eta(np.asarray(t, float), g["L"], g["K"], g["b"], g["I"]))

    def _a(self, t: Any) -> Floats:
        """a_{t+1} = c eta_t^2."""
        return self._c() * self._eta(np.asarray(t) - 1) ** 2

    def _kbar(self, t: Any = None) -> Floats:
        """kappa-bar = (bK)^{2/3} sigma^{2/3}/L."""
        g = self.columns
        return np.asarray(np.cbrt((g["b"] * g["K"] * g["sigma"]) ** 2) / g["L"])

    def _c(self, t: Any = None) -> Floats:
        """c = 64 L^2/(bK) + sigma^2/(24 kbar^3 L I)."""
        g = self.columns
        late = g["sigma"] ** 2 / (24 * self._kbar() ** 3 * g["L"] * g["I"])
        return np.asarray(64 * g["L"] ** 2 / (g["b"] * g["K"]) + late)

    def _w(self, t: Any) -> Floats:
        """w_t, the maximum of the paper's three entries."""
        g, kbar = self.columns, self._kbar()
        cap = 4096 * g["L"] ** 3 * g["I"] ** 3
        late = (self._c() * kbar) ** 3 / cap
        entries = (2 * g["sigma"] ** 2, cap * kbar**3 - g["sigma"] ** 2 * t, late)
        return np.asarray(np.maximum(np.maximum(entries[0], entries[1]), entries[2]))

    def total(self, node: Over, times: Times) -> Any:
        """Return the sum of eta_t^3 over all t, exactly; no other is known."""
        if node != letters.sum_t(node.index, 1, letters.T, letters.eta[node.index] ** 3):
            return None
        g = self.columns
        rows = zip(*np.broadcast_arrays(*(g[n] for n in ("T", "L", "K", "b", "I"))), strict=True)
        return _column([theorem_sum_eta_cubed(*map(float, row)) for row in rows])

    def apply(self, node: At, point: Any, times: Times) -> Any:
        """Refuse: sizes have no points."""
        raise TypeError(node)

    def there(self, place: str, times: Times) -> Any:
        """Refuse: sizes have no places."""
        raise TypeError(place)

    def rounding(self, node: Symbol | At, value: Any) -> Any:
        """Powers, roots and their quotients: a few units each."""
        return 8 * EPS * np.abs(value)

    def slope(self, node: At, value: Any) -> Any:
        """Refuse: sizes have no points."""
        raise TypeError(node)


def scene_of_sizes(subject: SizeGrid | Iterable[Setting]) -> SizeScene:
    """Return the scene of a grid, or of a panel of settings."""
    if isinstance(subject, SizeGrid):
        return SizeScene({field.name: getattr(subject, field.name) for field in fields(subject)})
    panel = tuple(subject)
    names = ("T", "K", "b", "I", "L", "sigma", "zeta", "gap")
    columns = {name: np.array([float(getattr(s, name)) for s in panel]) for name in names}
    B = np.array([float(s.initial_batch) for s in panel])
    m = np.array([float(s.sync_batch) for s in panel])
    # sigma cancels from c; where it is 0 no other way is left
    c_b = theorem_c_b(columns["K"], columns["b"], columns["I"])
    c = c_b * columns["L"] ** 2 / (columns["b"] * columns["K"])
    own = {"c_b": c_b, "c": c, "S": columns["T"] / columns["I"], "t": columns["T"]}
    return SizeScene({**columns, "B": B, "m": m, **own})


def _column(values: Any) -> Any:
    return np.atleast_1d(np.asarray(values, dtype=float))[:, None, None, None]
