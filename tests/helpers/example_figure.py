"""A figure of one's own: the printed bound against T, and where it says something.

Paper: Thm: PR_Convergence_Main_App.
"""

from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure as Canvas
from numpy.typing import NDArray

from stemtheory.bounds import Setting, evaluate
from stemtheory.report.drawing import Figure, Progress

K, b, I = 4, 4, 4


@dataclass(frozen=True)
class Bound:
    """The bound at every T, what it must beat, and the T from which it does."""

    T: NDArray[np.float64]
    value: NDArray[np.float64]
    reference: float
    informative: int | None


def prepare(mode: str, progress: Progress) -> Bound:
    """Return the bound on a grid of T: nothing here knows of matplotlib."""
    progress("evaluating the bound")
    T = I * np.round(np.geomspace(1e2, 1e9, {"quick": 20}.get(mode, 60)))
    found = [evaluate("stem-theorem", Setting(t, K, b, I, 1.0, 0.5, 1.0, 1.0)) for t in T]
    last = found[-1]
    return Bound(T, np.array([f.value for f in found]), last.reference, last.vacuous_below_T)


def draw(data: Bound, figure: Canvas) -> None:
    """Draw the bound, and the level below which it says something."""
    ax = figure.subplots()
    ax.set(xscale="log", yscale="log", xlabel="iterations $T$", ylabel="bound")
    ax.plot(data.T, data.value, label="printed theorem")
    ax.axhline(data.reference, linestyle="--", color="0.3", label="2 L gap")
    ax.legend()


def caption(data: Bound) -> str:
    """Return what is seen and what is not claimed."""
    return (
        f"The printed bound on E||grad f(xbar_a)||^2 (K = {K}, b = {b}, I = {I}, L = 1, sigma ="
        " 0.5, zeta = 1, gap = 1). Below the dashed line it is better than standing still: from T ="
        f" {data.informative:,}. Not claimed: that STEM is as slow as its bound."
    )


ENTRY = Figure("bound", "the printed bound against T", prepare, draw, caption, size=(5.2, 4.0))
