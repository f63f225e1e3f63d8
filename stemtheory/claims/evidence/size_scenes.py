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
from stemtheory.claims.evidence.sequences import SequenceScene
from stemtheory.claims.language import (
    EPS,
    At,
    Exact,
    Over,
    Raised,
    Scene,
    Sum,
    Symbol,
    Times,
    column,
    letters,
)
from stemtheory.claims.panel import SizeGrid
from stemtheory.runtime import Floats, UsageError
from stemtheory.schedules import (
    theorem_c_b,
    theorem_eta,
    theorem_offset,
    theorem_sum_eta_cubed,
)

MINUS, CUBE = Exact(Fraction(-1)), Exact(Fraction(3))
BESIDE = {"gap": 1.0, "unit_step": 1.0, "B": 1.0, "m": 1.0}  # where a grid has none


class SizeScene(Scene):
    """Letters as columns [n] of one length."""

    def __init__(self, columns: Mapping[str, Any]) -> None:
        super().__init__()
        given = {**BESIDE, **columns}
        self.columns = {name: np.asarray(values, dtype=float) for name, values in given.items()}
        at = {name: np.atleast_1d(self.columns[name]) for name in ("t", "T") if name in columns}
        self.times = Times(at)

    def letter(self, symbol: Symbol, times: Times) -> Any:
        """Return a column, or what the theorem's schedule is at a time."""
        if symbol.name in self.columns:
            return column(self.columns[symbol.name])
        at = times[symbol.at[0]] if symbol.at else None
        if not hasattr(self, f"_{symbol.name}"):
            known = ", ".join(sorted(self.columns))
            raise UsageError(f"letter {symbol.name} has no value here: give one of {known}.")
        return column(getattr(self, f"_{symbol.name}")(at))

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
        g = self.columns
        late = (self._c() * self._kbar()) ** 3 / (4096 * g["L"] ** 3 * g["I"] ** 3)
        entries = (2 * g["sigma"] ** 2, self._cap() - g["sigma"] ** 2 * t, late)
        return np.asarray(np.maximum(np.maximum(entries[0], entries[1]), entries[2]))

    def _cap(self) -> Floats:
        """w_t + sigma^2 t while steps are constant."""
        g = self.columns
        return np.asarray(4096 * (g["L"] * g["I"] * self._kbar()) ** 3)

    def total(self, node: Sum | Over, times: Times) -> Any:
        """Return a sum of eta_t^3 over times, and 1/eta_t - 1/eta_{t-1}, exactly.

        Over times no other sum is known: there may be 10^15 of them.
        """
        match node:
            case Sum():
                return self._slowed(node, times)
            case Over(_, index, Raised(Symbol("eta", (at,)), power), first, last) if (
                power == CUBE and at.name == index.name and first is not None and last is not None
            ):
                ends = (times[first] + at.shift - 1, times[last] + at.shift)
                return column(self._cubes(ends[1]) - self._cubes(ends[0]))
        return np.nan

    def _cubes(self, t: Any) -> Floats:
        """The sum of eta_l^3 over 1 <= l <= t; at t = -1 what is lacking to that from l = 0."""
        g = self.columns
        found = theorem_sum_eta_cubed(np.maximum(t, 0), g["L"], g["K"], g["b"], g["I"])
        return np.where(np.asarray(t) < 0, -(self._eta(0) ** 3), found)

    def _slowed(self, node: Sum, times: Times) -> Any:
        """Return 1/eta_t - 1/eta_{t-1} without cancellation: by u^3 - v^3 where steps decay."""
        match node.terms:
            case (Raised(Symbol("eta", (at,)), minus) as now, _) if minus == MINUS:
                before = letters.eta[at - 1]
                if node == now - Raised(before, minus):
                    return column(self._growth_of_inverse(times[at]))
        return None

    def _growth_of_inverse(self, t: Any) -> Floats:
        g = self.columns
        offset = theorem_offset(g["K"], g["b"], g["I"])
        unit, cap = g["L"] / np.cbrt((g["b"] * g["K"]) ** 2), 16 * g["L"] * g["I"]
        start = (cap / unit) ** 3  # where the phases meet
        now, before = np.maximum(t + offset, start), np.maximum(t - 1 + offset, start)
        u, v = np.cbrt(now), np.cbrt(before)
        return np.asarray(unit * (now - before) / (u * u + u * v + v * v))

    def rounding(self, node: Symbol | At, value: Any) -> Any:
        """Return a few units; w_t may be what is left of the cap after sigma^2 t is taken."""
        size = super().rounding(node, value)
        is_w = isinstance(node, Symbol) and node.name == "w"
        return size + column(16 * EPS * self._cap()) if is_w else size


NumberScene = SizeScene | SequenceScene


def scene_of_sizes(
    subject: SizeGrid | Iterable[Setting] | NumberScene,
) -> NumberScene:
    """Return the scene of a grid, or of a panel of settings; a scene is its own."""
    if isinstance(subject, SizeScene | SequenceScene):
        return subject
    if isinstance(subject, SizeGrid):
        grid = {field.name: getattr(subject, field.name) for field in fields(subject)}
        # below a large sigma and above a small one, so that an exchange shows
        return SizeScene({**grid, "zeta": 1e-3 / subject.sigma})
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
