"""Random assignments of the letters."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

# The letters that are numbers, with the range from which they are drawn, and those with t and k.
NUMBERS = {
    "L sigma zeta beta c kbar gap fstar step theta h alpha kappa cb Q V": (0.5, 2.5),
    "b B m phi mu M lam w_drift A_s A_z calls": (1.25, 5),
    "p_0 tau h_0 c_0 Lam": (0.5, 2.5),
}
VECTORS = "x d g gm gs gs_old gx gx_old"


def random_run(seed: int) -> SimpleNamespace:
    """Return letters drawn at random: no run has them, and no two are tied but by definition.

    A bar is a mean over workers, ebar = dbar - gbar, G = mean_k gm by (1), and X, Dl are what they
    abbreviate. All else is independent: a_{t+1} is not c eta_t^2, nor x_{t+1} - x_t the step.
    """
    rng = np.random.default_rng(seed)
    K, I, T, S, dim = 3, 4, 12, 3, 2

    def row(n: int, low: float = 0.1, high: float = 0.9) -> Any:
        return rng.uniform(low, high, n)

    r = SimpleNamespace(K=K, I=I, T=T, S=S, start=lambda t: (t - 1) // I * I + 1)
    for letters, (low, high) in NUMBERS.items():
        for letter in letters.split():
            setattr(r, letter, float(rng.uniform(low, high)))
    if seed % 2:  # then other members of the schedule's maxima are the largest
        r.b, r.L = r.b / 1000, r.L / 100
    r.eta, r.a, r.w, r.f = row(T + 2), row(T + 2), row(T + 2, 1, 3), row(T + 2, -2, 2)
    r.v, r.U, r.spread = row(T + 2), row(T + 2), row(T + 2)
    r.seq, r.q, r.Y, r.Z, r.D = row(T + 1), row(I), row(I), row(S + 1), row(S + 1)
    for letter in VECTORS.split():
        setattr(r, letter, rng.normal(size=(T + 2, K, dim)))
    r.gp, r.gp2, r.gsp, r.gsp2 = rng.normal(size=(4, K, dim))
    r.x1v, r.x2v = rng.normal(size=(2, dim))
    r.xbar, r.dbar, r.gbar, r.gsbar, r.G = (v.mean(axis=1) for v in (r.x, r.d, r.g, r.gs, r.gm))
    r.ebar = r.dbar - r.gbar
    r.X, r.Dl = (np.sum((v - v.mean(1, keepdims=True)) ** 2, axis=(1, 2)) for v in (r.x, r.d))
    r.jump = bool(rng.integers(2))
    return r
