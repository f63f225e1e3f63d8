"""The theorem's step sizes: every inequality about eta_t, a_t, c and w_t, over a wide grid.

Paper: Thm: PR_Convergence_Main_App, eq. (eq: Step-Size), eq. (Eq: Step_Difference).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from stemtheory.claims.base import Comparison, Mutant, arithmetic, wrong
from stemtheory.claims.panel import SizeGrid
from stemtheory.runtime import Floats
from stemtheory.schedules import theorem_c_b, theorem_eta, theorem_offset

ULP = float(np.finfo(float).eps)
APP, STEP, DIFFERENCE = "Thm: PR_Convergence_Main_App", "eq: Step-Size", "Eq: Step_Difference"


def eta(g: SizeGrid, t: Any = None) -> Floats:
    """Return eta_t of the three-branch minimum, in which sigma has cancelled."""
    return np.asarray(theorem_eta(g.t if t is None else t, g.L, g.K, g.b, g.I))


def kbar(g: SizeGrid) -> Floats:
    """Return kappa-bar = (bK)^{2/3} sigma^{2/3} / L."""
    return np.cbrt((g.b * g.K * g.sigma) ** 2) / g.L


def c_of(g: SizeGrid) -> Floats:
    """Return c = 64 L^2/(bK) + sigma^2/(24 kbar^3 L I)."""
    return np.asarray(64 * g.L**2 / (g.b * g.K) + g.sigma**2 / (24 * kbar(g) ** 3 * g.L * g.I))


def w(g: SizeGrid, t: Any = None) -> Floats:
    """Return w_t, the maximum of the paper's three entries."""
    t = g.t if t is None else t
    cap = 4096 * g.L**3 * g.I**3 * kbar(g) ** 3
    last = (c_of(g) * kbar(g)) ** 3 / (4096 * g.L**3 * g.I**3)
    return np.asarray(np.maximum(np.maximum(2 * g.sigma**2, cap - g.sigma**2 * t), last))


def printed_step(g: SizeGrid, shift: int = 0) -> Comparison:
    """SCH0: kbar/(w_t + sigma^2 t)^{1/3} is the minimum without sigma."""
    printed = kbar(g) / np.cbrt(w(g) + g.sigma**2 * (g.t + shift))
    return _identity(printed, eta(g), 64)


def c_forms(g: SizeGrid, power: int = 1) -> Comparison:
    """SCH1: c = L^2 (64/(bK) + 1/(24 (bK)^2 I)), and sigma is not in it."""
    return _identity(c_of(g), g.L**2 * theorem_c_b(g.K, g.b, g.I) / (g.b * g.K**power), 64)


def non_increasing(g: SizeGrid, sign: int = 1) -> Comparison:
    """SCH2: eta_t <= eta_{t-1}, and w_t <= w_{t-1}."""
    steps = eta(g) - eta(g, g.t - 1)
    weights = w(g) - w(g, g.t - 1)
    left = sign * np.concatenate([steps, weights])
    floor = 8 * ULP * np.concatenate([eta(g), w(g)])
    return Comparison(left, np.zeros_like(left), floor=floor)


def cap(g: SizeGrid) -> Comparison:
    """SCH3: eta_t <= 1/(16 L I), at t = 0 too."""
    left = np.concatenate([eta(g), eta(g, 0.0)])
    return Comparison(left, np.tile(1 / (16 * g.L * g.I), 2))


def c_bound(g: SizeGrid) -> Comparison:
    """SCH4: c <= 128 L^2/(bK)."""
    return Comparison(c_of(g), 128 * g.L**2 / (g.b * g.K))


def w_bound(g: SizeGrid) -> Comparison:
    """SCH5: w_t <= sigma^2 max{2, 4096 I^3 (bK)^2 - t, 512/(bK I^3)}."""
    entries = (2.0, 4096 * g.I**3 * (g.b * g.K) ** 2 - g.t, 512 / (g.b * g.K * g.I**3))
    right = g.sigma**2 * np.maximum.reduce(np.broadcast_arrays(*entries))
    # at w_0: the cap itself, of which sigma^2 t is subtracted with its rounding
    return Comparison(w(g), right, floor=16 * ULP * 4096 * g.I**3 * (g.b * g.K * g.sigma) ** 2)


def w_cap(g: SizeGrid) -> Comparison:
    """SCH6: w_t <= 4096 L^3 I^3 kbar^3 for every t >= 0."""
    right = 4096 * g.L**3 * g.I**3 * kbar(g) ** 3
    left = np.concatenate([w(g), w(g, np.zeros_like(g.t))])
    return Comparison(left, np.tile(right, 2))


def momentum_range(g: SizeGrid) -> Comparison:
    """SCH7: 0 < a_{t+1} = c eta_t^2 <= 64.05/(256 bK I^2) <= 0.2502."""
    a = c_of(g) * eta(g) ** 2
    stated = 64.05 / (256 * g.b * g.K * g.I**2)
    left = np.concatenate([a, stated, -a])
    right = np.concatenate([stated, np.full_like(a, 0.2502), -np.full_like(a, 5e-324)])
    return Comparison(left, right)


def difference(g: SizeGrid) -> Floats:
    """1/eta_t - 1/eta_{t-1} without cancellation: in the decaying phase by a^3 - b^3."""
    m = theorem_offset(g.K, g.b, g.I)
    unit, cap_ = g.L / np.cbrt((g.b * g.K) ** 2), 16 * g.L * g.I
    u, v = np.cbrt(g.t + m), np.cbrt(np.maximum(g.t - 1 + m, (cap_ / unit) ** 3))
    grown = g.t + m - np.maximum(g.t - 1 + m, (cap_ / unit) ** 3)
    return np.where(grown > 0, unit * grown / (u * u + u * v + v * v), 0.0)


def step_difference(g: SizeGrid) -> Comparison:
    """SCH8: 1/eta_t - 1/eta_{t-1} <= 2^{2/3} s^2 eta_t^2/(3 k^3) <= s^2 eta_t/(24 k^3 L I)."""
    ratio = g.sigma**2 / kbar(g) ** 3
    middle = 2 ** (2 / 3) * ratio / 3 * eta(g) ** 2
    last = ratio / (24 * g.L * g.I) * eta(g)
    left = np.concatenate([difference(g), middle])
    return Comparison(left, np.concatenate([middle, last]))


def absorbed(g: SizeGrid) -> Comparison:
    """SCH9: 1/eta_t - 1/eta_{t-1} - c eta_t <= -(64 L^2/(bK)) eta_t (the c eta_t's cancelled)."""
    u = 1 / (24 * g.b * g.K * g.I)  # c bK/L^2 - 64
    return Comparison(difference(g), g.L**2 * u / (g.b * g.K) * eta(g))


def constant_phase(g: SizeGrid) -> Comparison:
    """SCH10: eta_t = 1/(16LI) for t <= T_const, and is below it after that."""
    end = 4096 * g.I**3 * (g.b * g.K) ** 2 - theorem_offset(g.K, g.b, g.I)
    top = 1 / (16 * g.L * g.I)
    inside = np.abs(eta(g, np.minimum(g.t, np.maximum(np.floor(end), 0))) / top - 1)
    after = eta(g, np.maximum(g.t, end * (1 + 1e-6) + 1)) / top - 1
    left = np.concatenate([inside, after])
    return Comparison(left, np.concatenate([np.full_like(inside, 8 * ULP), np.zeros_like(after)]))


def on_the_curve(g: SizeGrid) -> Comparison:
    """SCH10: on the curve I^3 (bK)^2 = T, so T < T_const for every nu."""
    T = np.maximum(g.t, 2.0) * g.K**2
    I, b = (T / g.K**2) ** (g.nu / 3), (T / g.K**2) ** ((1 - g.nu) / 2)
    end = 4096 * I**3 * (b * g.K) ** 2 - theorem_offset(g.K, b, I)
    return Comparison(T, end)


def fedavg_step(g: SizeGrid, power: int = 2) -> Comparison:
    """SCH11: eta = sqrt(bK/T) <= 1/(9LI) exactly when T >= 81 L^2 I^2 bK."""
    edge = 81 * g.L**2 * g.I**power * g.b * g.K
    left = np.sqrt(g.b * g.K / (edge * (1 + g.nu * g.t)))
    below = 1 / (9 * g.L * g.I) - np.sqrt(g.b * g.K / (0.99 * edge))
    right = 1 / (9 * g.L * g.I)
    return Comparison(np.concatenate([left, below]), np.concatenate([right, np.zeros_like(below)]))


def _identity(found: Floats, wanted: Floats, ulps: float) -> Comparison:
    return Comparison(np.abs(found - wanted), ulps * ULP * np.abs(wanted))


def _longer_phase(g: SizeGrid) -> Comparison:
    top, end = 1 / (16 * g.L * g.I), 8 * 4096 * g.I**3 * (g.b * g.K) ** 2
    return Comparison(np.abs(eta(g, end) / top - 1), np.full_like(top, 8 * ULP))


CLAIMS = (
    arithmetic(
        "SCH0",
        STEP,
        "The printed eta_t, whatever sigma > 0 is, is one minimum without sigma.",
        r"\eta_t = \bar\kappa/(w_t+\sigma^2 t)^{1/3}",
        printed_step,
        wrong("t + 1 for t", shift=1),
        identity=True,
        reason="At sigma = 0 the printed form is 0/0; the minimum is what is meant.",
    ),
    arithmetic(
        "SCH1",
        APP,
        "Both printed forms of c agree, and sigma cancels from the schedule.",
        r"c = L^2\,(64/(bK) + 1/(24(bK)^2 I))",
        c_forms,
        wrong("K lost", power=0),
        identity=True,
    ),
    arithmetic(
        "SCH2",
        APP,
        "The step sizes and the weights w_t do not increase.",
        r"\eta_t \leq \eta_{t-1},\ w_t \leq w_{t-1}",
        non_increasing,
        wrong("reversed", sign=-1),
    ),
    arithmetic("SCH3", APP, "No step exceeds 1/(16LI).", r"\eta_t \leq 1/(16LI)", cap),
    arithmetic(
        "SCH4",
        APP,
        "c is at most 128 L^2/(bK).",
        r"c \leq 128 L^2/(bK)",
        c_bound,
        reason="The true maximum of c bK/L^2 is 64.0417: twice loose, so c^2 is four times loose.",
    ),
    arithmetic(
        "SCH5",
        APP,
        "The printed upper bound of w_t.",
        r"w_t \leq \sigma^2\max\{2, 4096I^3(bK)^2-t, 512/(bKI^3)\}",
        w_bound,
    ),
    arithmetic(
        "SCH6",
        "Eq: GradNorm_1stTerm",
        "w_t never exceeds its value in the constant phase.",
        r"w_t \leq 4096 L^3 I^3 \bar\kappa^3",
        w_cap,
    ),
    arithmetic(
        "SCH7",
        APP,
        "The momentum a is in (0, 0.2502].",
        r"0 < a_{t+1} \leq 64.05/(256bKI^2) \leq 0.2502",
        momentum_range,
    ),
    arithmetic(
        "SCH8",
        DIFFERENCE,
        "The chain that bounds the growth of 1/eta_t.",
        r"1/\eta_t - 1/\eta_{t-1} \leq \frac{2^{2/3}\sigma^2}{3\bar\kappa^3}\eta_t^2"
        r" \leq \frac{\sigma^2}{24\bar\kappa^3LI}\eta_t",
        step_difference,
    ),
    arithmetic(
        "SCH9",
        DIFFERENCE,
        "So c eta_t absorbs that growth and leaves 64 L^2 eta_t/(bK).",
        r"1/\eta_t - 1/\eta_{t-1} - c\,\eta_t \leq -64L^2\eta_t/(bK)",
        absorbed,
    ),
    arithmetic(
        "SCH10",
        APP,
        "The step is constant up to T_const = 4096 I^3 (bK)^2 - m.",
        r"\eta_t = 1/(16LI)\ \mathrm{for}\ t \leq 4096I^3(bK)^2-m",
        constant_phase,
        Mutant("a phase eight times longer", compare=_longer_phase),
    ),
    arithmetic(
        "SCH10-curve",
        "eq: I:b_SAMVR",
        "On the trade-off curve the step never leaves that phase.",
        r"I^3(bK)^2 = T \Rightarrow T < T_{const}",
        on_the_curve,
    ),
    arithmetic(
        "SCH11",
        "Thm: Flexible_FedAvg",
        "FedAvg's premise says exactly that eta <= 1/(9LI).",
        r"T \geq 81L^2I^2bK \Leftrightarrow \sqrt{bK/T} \leq 1/(9LI)",
        fedavg_step,
        wrong("I for I^2", power=1),
        reason="eta has no 1/L, so FedAvg's bound is not invariant to the scale of f.",
    ),
)
