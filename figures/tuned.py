"""Samples to epsilon with the best constant step and momentum for each epsilon.

The theorem's schedule prescribes its own exponent; here eta and a are free, so what is seen belongs
to the algorithms: I = b = K = 1, all by exact moments. Mean-squared smoothness must bind through
the noise (L_noise = 1): with additive noise (L_noise = 0) STEM merely estimates a mean, at
eps^(-1).

Paper: Ass: Lip_Smoothness, Thm: PR_Convergence_Main, Table: Comparison.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from stemtheory.algorithms import ALGORITHMS
from stemtheory.figures._exact import (
    FEDAVG_COLOUR,
    STEM_COLOUR,
    exponent,
    local_exponents,
    tail_exponent,
)
from stemtheory.moments import Recursion, steps_to
from stemtheory.moments.linear_model import linear_model
from stemtheory.report import Figure, Progress
from stemtheory.runtime import Floats

EPSILONS = 4.0 ** -np.arange(3, 13)
GRID = 17  # points per direction of a search; each level is a quarter as wide
LEVELS = 6
X1 = 1.0


class Tuned(NamedTuple):
    """The least samples at every epsilon, and the step and momentum that attain them."""

    label: str
    reference: float
    samples: Floats
    eta: Floats
    a: Floats

    @property
    def exponent(self) -> float:
        """The exponent over all epsilons."""
        return exponent(EPSILONS, self.samples)

    @property
    def tail(self) -> float:
        """The exponent over the smallest third."""
        return tail_exponent(EPSILONS, self.samples)


@dataclass(frozen=True)
class Tunings:
    """STEM without and with mean-squared smoothness that binds, and SGD."""

    stem_additive: Tuned
    stem: Tuned
    sgd: Tuned

    @property
    def rows(self) -> tuple[Tuned, Tuned, Tuned]:
        """All three, the steepest first."""
        return self.sgd, self.stem, self.stem_additive


def prepare(mode: str, progress: Progress) -> Tunings:
    """Return the tuned costs; exact and quick, so that every mode gives the same."""
    progress("tuning constants per epsilon by exact moments")
    return Tunings(
        tuned("STEM, additive noise ($L_n$ = 0)", "stem", 0.0, -1.0),
        tuned("STEM, $L_n$ = 1", "stem", 1.0, -1.5),
        tuned("SGD, $L_n$ = 1", "fedavg", 1.0, -2.0),
    )


def tuned(label: str, algorithm: str, noise_slope: float, reference: float) -> Tuned:
    """Return the least samples over constant (eta, a) at every epsilon."""
    model = linear_model([1.0], noise_slope=noise_slope, noise_level=1.0)
    recursion = Recursion(model, algorithm, ALGORITHMS[algorithm].make())
    found = np.array([best(recursion, float(epsilon)) for epsilon in EPSILONS])
    return Tuned(label, reference, *found.T)


def best(recursion: Recursion, epsilon: float) -> tuple[float, float, float]:
    """Return (samples, eta, a): the least samples B + 2T (STEM, B = ceil(2/a)) or T (SGD).

    The search is a grid in (log eta, log a) that closes in on its best point.
    """
    log = math.log(epsilon)
    low, high = np.array([1.2 * log - 3, 1.3 * log - 4]), np.array([math.log(1.99), 0.0])
    momentum = recursion.base == "stem"
    limit, answer = high.copy(), (math.inf, math.nan, math.nan)
    for _ in range(LEVELS):
        eta = np.exp(np.linspace(low[0], high[0], GRID))[:, None]
        a = np.exp(np.linspace(low[1], high[1], GRID)) if momentum else np.ones(1)
        B = np.ceil(2 / a)
        T = steps_to(recursion, epsilon, eta=eta, a=a, b=1.0, I=1, B=B, x1=X1, doublings=60)
        samples = B + 2 * T if momentum else T
        i, j = np.unravel_index(np.argmin(samples), samples.shape)
        answer = float(samples[i, j]), float(eta[i, 0]), float(a[j])
        centre, half = np.log([eta[i, 0], a[j]]), (high - low) / 8
        low, high = centre - half, np.minimum(centre + half, limit)
    return answer


COLOURS = (FEDAVG_COLOUR, STEM_COLOUR, "#56B4E9")
MARKERS = ("s", "o", "^")


def draw(data: Tunings, figure: Canvas) -> None:
    """Draw the samples, and their local exponents."""
    left, right = figure.subplots(1, 2)
    _draw_samples(data, left)
    _draw_exponents(data, right)


def _draw_samples(data: Tunings, ax: Axes) -> None:
    ax.set(xscale="log", yscale="log", xlim=(EPSILONS[0] * 2, EPSILONS[-1] / 2))
    for row, colour, marker in zip(data.rows, COLOURS, MARKERS, strict=True):
        ax.plot(EPSILONS, row.samples, marker, color=colour, label=row.label)
        slope = row.samples[-1] * (EPSILONS / EPSILONS[-1]) ** row.reference
        ax.plot(EPSILONS, slope, color=colour, linewidth=1.2, linestyle="--")
    ax.plot([], [], color="0.3", linewidth=1.2, linestyle="--", label="slopes -2, -3/2 and -1")
    ax.set_xlabel("$\\epsilon$ (harder to the right)")
    ax.set_ylabel("samples, one worker")
    ax.set_title("a  Samples with the best constants for each $\\epsilon$")
    ax.legend(loc="upper left")


def _draw_exponents(data: Tunings, ax: Axes) -> None:
    ax.set(xscale="log", xlim=(EPSILONS[0] * 2, EPSILONS[-1] / 2), ylim=(0.9, 2.1))
    for row, colour, marker in zip(data.rows, COLOURS, MARKERS, strict=True):
        middle, local = local_exponents(EPSILONS, row.samples)
        ax.axhline(-row.reference, color=colour, linestyle="--", linewidth=1.2)
        ax.plot(middle, -local, marker=marker, color=colour, linewidth=1.0)
    ax.set_yticks([1, 1.5, 2], ["1", "3/2", "2"])
    ax.set_xlabel("$\\epsilon$ (harder to the right)")
    ax.set_ylabel("local exponent $p$ in samples $\\propto \\epsilon^{-p}$")
    ax.set_title("b  Their local exponents")


def caption(data: Tunings) -> str:
    """Return what is seen and what is not claimed."""
    fits = "; ".join(
        f"{name} {row.exponent:.3f} over all, {row.tail:.3f} over the last third ({what})"
        for name, row, what in (
            ("SGD", data.sgd, "theory -2"),
            ("STEM with L_noise = 1", data.stem, "theory -3/2"),
            ("STEM with L_noise = 0", data.stem_additive, "estimating a mean: -1"),
        )
    )
    steps = exponent(EPSILONS, data.stem.eta), exponent(EPSILONS, data.stem.a)
    return (
        "Least samples until E||grad f(xbar_a)||^2 is at most epsilon, over constant step eta and"
        " momentum a chosen for each epsilon (I = b = K = 1, quadratic with h = 1, sigma = 1, x1 ="
        " 1; noise L_n xi_1 x + xi_2; the first batch of ceil(2/a) samples is counted). All by"
        f" exact moments, no random number. Exponents: {fits}. STEM's best step and momentum scale"
        f" as eps^{steps[0]:.2f} and eps^{steps[1]:.2f} for L_noise = 1. With additive noise"
        " Assumption 1 is not met through the noise and STEM is faster than the theory: that case"
        " must not be read as a confirmation. Not claimed: a lower bound or optimality over"
        " schedules that vary, the exponent on nonconvex problems, or that tuning is possible"
        " without knowing the problem; multiplicative noise has unbounded variance, so Assumption 2"
        " holds near the minimum only."
    )


ENTRY = Figure(
    name="tuned",
    summary="samples with the best constants per epsilon: STEM against SGD, exact",
    prepare=prepare,
    draw=draw,
    caption=caption,
    size=(10.4, 4.2),
)
