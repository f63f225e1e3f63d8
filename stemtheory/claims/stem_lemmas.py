"""STEM's main lemmas: accumulation, descent, contraction, potential, consensus.

Paper: Lemma (lem: ErrorAccumulation_Batch_App), Lemma (lem: Descent_Batch_App),
Lemma (lem: ErrorContraction_BatchGradients_App).
"""

from __future__ import annotations

import numpy as np

from stemtheory.claims.base import ALL_READINGS, SCALED, Claim, Comparison, Mutant, Verdict
from stemtheory.claims.path import EPS, Path, square

SECTION = "stem-lemmas"


def contraction(path: Path) -> Comparison:
    """E||ebar_{t+1}||^2 - (1-a)^2 ||ebar_t||^2 against the last three terms, given F_t."""
    s, t = path.setting, path.t
    a, eta = path.a[t + 1][:, None], path.eta[t][:, None]
    keep2 = (1 - a) ** 2
    cross = 2 * (1 - a) * (path.ebar[t] * path.bias[t]).sum(axis=-1)
    left = path.noise_power[t] + square(path.bias[t]) + cross
    right = (
        8 * keep2 * s.L**2 / (s.b * s.K**2) * (s.I - 1) / s.I * eta**2 * path.Dl[t]
        + 4 * keep2 * s.L**2 * eta**2 / (s.b * s.K) * path.q2[t]
        + 2 * a**2 * s.sigma**2 / (s.b * s.K)
    )
    where = path.where(t, "either")[:, None]
    floor = 64 * EPS * (1 + square(path.G[t])) * 1e-3
    return Comparison(left, right, np.broadcast_to(where, left.shape), t[:, None], floor=floor)


CLAIMS = (
    Claim(
        id="M3",
        label="lem: ErrorContraction_BatchGradients_App",
        section=SECTION,
        kind="conditional",
        statement="The mean error of the direction contracts, up to movement and noise.",
        formula=r"E\|\bar e_{t+1}\|^2 \leq (1-a_{t+1})^2 E\|\bar e_t\|^2 + ...",
        compare=contraction,
        readings=ALL_READINGS,
        expected={(reading, "sync"): Verdict.VIOLATED for reading in ALL_READINGS},
        mutants=(SCALED,),
    ),
)
