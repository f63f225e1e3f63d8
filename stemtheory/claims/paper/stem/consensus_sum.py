"""STEM's consensus error added up over a round, and the arithmetic of its proof.

Paper: Lemma (lem: GradientError_PotentialFn_App), eq. (Eq: GradientError_t_App),
eq. (Eq: GradientError_Recursive).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from stemtheory.claims.base import (
    ALL_READINGS,
    SCALED,
    Case,
    Claim,
    Comparison,
    Mutant,
    arithmetic,
    wrong,
)
from stemtheory.claims.evidence.counterexamples import DRIFTED, QUIET, far, tilted
from stemtheory.claims.evidence.path import Path, record
from stemtheory.claims.evidence.sums import (
    drift_sum,
    momentum_constant,
    per_t,
    since,
    theorem_schedule,
)
from stemtheory.claims.panel import SizeGrid, path_cases
from stemtheory.claims.paper.schedule import c_of, eta
from stemtheory.claims.paper.stem.contraction import cases, sides
from stemtheory.claims.paper.stem.potential import round_sides

LEMMA, STEP = "lem: GradientError_PotentialFn_App", "Eq: GradientError_t_App"
UNROLLED = "Eq: GradientError_Recursive"


def replicated(level: str) -> tuple[Case, ...]:
    """Return the panel's runs that drift, with enough replicates for a mean."""
    many = {"quick": 64, "default": 128, "full": 512}[level]
    runs = (*path_cases(level), QUIET, far(8))
    chosen = [case for case in runs if case.K > 1 and case.I > 1]
    return tuple(replace(case, replicates=many) for case in chosen)


def accumulated(case: Case, mean: float = 1.0, noise: float = 1.0, zeta: float = 1.0) -> Comparison:
    """The mean over replicates of (33/(256K)) ((I-1)/I) sum eta_t Dl_t against the three sums."""
    path = record(case)
    s, t, c = path.setting, path.t, momentum_constant(path)
    cubed = since(path, per_t(path.eta**3))[t]
    drift = 33 / (256 * s.K) * (s.I - 1) / s.I * since(path, per_t(path.eta) * path.Dl)[t]
    allowed = (
        mean * since(path, per_t(path.eta) / 64 * path.q2)[t]
        + noise * s.sigma**2 * c**2 / (64 * s.b * s.L**2) * cubed
        + zeta * s.zeta**2 * c**2 / (32 * s.L**2) * (s.I - 1) / s.I * cubed
    )
    R = case.replicates
    half_or_whole = np.isin((t - 1) % case.I, (case.I // 2, case.I - 1))  # few sums say it all
    spread = (drift - allowed).std(axis=1, ddof=1) / np.sqrt(R)
    left, right, where, at, spread = (
        np.asarray(values)[half_or_whole]
        for values in (drift.mean(axis=1), allowed.mean(axis=1), round_sides(path)[:, 0], t, spread)
    )
    return Comparison(left, right, where, at, spread=spread, dof=R - 1)


def one_step(path: Path, mean: float = 1.0, noise: float = 1.0, zeta: float = 1.0) -> Comparison:
    """E[Dl_t | F_{t-1}] at beta = 1/I, with every eta^2 that can be turned into 1/(16 L I)."""
    s, u, c = path.setting, path.t, momentum_constant(path)
    step = per_t(path.eta[u])
    right = (
        (1 + 33 / (32 * s.I)) * path.Dl[u]
        + mean * s.K * s.L / 2 * step * path.q2[u]
        + noise * s.K * s.sigma**2 * c**2 / (2 * s.b * s.L) * step**3
        + zeta * s.K * s.zeta**2 * c**2 / s.L * step**3
        + 64 * s.L**2 * s.I**2 * c**2 * step**4 * drift_sum(path)[u]
    )
    return Comparison(path.expected_drift[u], right, sides(path), per_t(u + 1))


# --- arithmetic -----------------------------------------------------------------------------


def coefficient(g: SizeGrid, growth: float = 33 / 32) -> Comparison:
    """(1-a)^2 (1 + 1/I) + 4 L^2 (I+1) eta^2 <= 1 + 1/I + (I+1)/(64 I^2) <= 1 + 33/(32 I).

    The ones are cancelled.
    """
    step = eta(g)
    a = c_of(g) * step**2
    shrink = -2 * a + a**2  # (1 - a)^2 - 1
    first = shrink * (1 + 1 / g.I) + 1 / g.I + 4 * g.L**2 * (g.I + 1) * step**2
    middle = 1 / g.I + (g.I + 1) / (64 * g.I**2)
    left, right = np.stack([first, middle]), np.stack([middle, growth / g.I])
    return Comparison(left, right, t=g.t)


def compounded(g: SizeGrid, growth: float = 33 / 32) -> Comparison:
    """(1 + 33/(32 I))^I <= e^{33/32} < 3."""
    power = np.exp(g.I * np.log1p(growth / g.I))
    limit = np.full_like(power, np.exp(33 / 32))
    return Comparison(np.stack([power, limit]), np.stack([limit, np.full_like(power, 3.0)]), t=g.t)


def self_term(g: SizeGrid, factor: float = 192.0) -> Comparison:
    """192 L^2 I^4 c^2/(16 L I)^6 <= 1 - 4/5, with the true c and with c <= 128 L^2/(bK)."""
    c = np.stack([c_of(g), 128 * g.L**2 / (g.b * g.K)])
    left = factor * g.L**2 * g.I**4 * c**2 / (16 * g.L * g.I) ** 6
    return Comparison(left, np.full_like(left, 1 - 4 / 5), t=g.t)


def final_constants(g: SizeGrid, shrink: float = 4 / 5) -> Comparison:
    """(5/4) (33/256) (3/32) <= 1/64 and (5/4) (33/256) (3/16) <= 1/32."""
    front = 33 / 256 / shrink
    return Comparison(np.array([front * 3 / 32, front * 3 / 16]), np.array([1 / 64, 1 / 32]))


CLAIMS = (
    Claim(
        id="M6",
        label=LEMMA,
        kind="expectation",
        statement="Over a round the consensus error is paid for by movement, noise and zeta.",
        formula=r"\tfrac{33}{256K} \tfrac{I-1}{I} \sum_{t=\bar t_{s-1}}^{\bar t} \eta_t"
        r" \sum_k E\|d_t^{(k)} - \bar d_t\|^2 \leq \sum \tfrac{\eta_t}{64} E\|\bar d_t\|^2"
        r" + \tfrac{\sigma^2c^2}{64bL^2} \sum \eta_t^3"
        r" + \tfrac{\zeta^2c^2}{32L^2} \tfrac{I-1}{I} \sum \eta_t^3",
        compare=accumulated,
        cases=replicated,
        premises=theorem_schedule,
        readings=ALL_READINGS,
        reason="Proved for average-first and overwrite. Literal: the first step of a round inherits"
        " drift from the last one, which the proof leaves out; the constants have room for it.",
        repair="REP2 accounts for the inherited drift.",
        mutants=(
            # A scaled right side would drown in the replicates' spread where there is noise.
            Mutant("right side over 1000", compare=lambda c: accumulated(c).scaled(1e-3)),
            wrong("without zeta", zeta=0.0),
            wrong("without ||dbar||^2 and the noise", mean=0.0, noise=0.0),
        ),
    ),
    arithmetic(
        "M6a",
        LEMMA,
        "The drift's growth factor over one step at beta = 1/I.",
        r"(1-a_t)^2(1+\tfrac1I) + 4L^2(I+1)\eta_{t-1}^2 \leq 1 + \tfrac1I + \tfrac{I+1}{64I^2}"
        r" \leq 1 + \tfrac{33}{32I}",
        coefficient,
        SCALED,
        wrong("1 + 1/I", growth=1.0),
    ),
    Claim(
        id="M6b",
        label=STEP,
        kind="conditional",
        statement="The consensus error over one step, with beta = 1/I and the step size's cap.",
        formula=r"\sum_k E\|d_t^{(k)} - \bar d_t\|^2 \leq (1+\tfrac{33}{32I})"
        r" \sum_k E\|d_{t-1}^{(k)} - \bar d_{t-1}\|^2"
        r" + \tfrac{KL}{2} \eta_{t-1} E\|\bar d_{t-1}\|^2"
        r" + \tfrac{K\sigma^2c^2}{2bL} \eta_{t-1}^3 + \tfrac{K\zeta^2c^2}{L} \eta_{t-1}^3"
        r" + 64L^2I^2c^2\eta_{t-1}^4 \sum_{\ell=\bar t_{s-1}}^{t-1} \eta_\ell^2"
        r" \sum_k E\|d_\ell^{(k)} - \bar d_\ell\|^2",
        compare=one_step,
        cases=cases,
        premises=theorem_schedule,
        readings=ALL_READINGS,
        counterexamples=(tilted("literal", 8), tilted("average-first", 16), DRIFTED),
        reason="It inherits the failure of M5 under the literal reading, but only at a number of"
        " local steps beyond this panel: on f^k = x^2/2 +- x from about I = 70000 (I = 131072:"
        " left 1.71e-15, right 8.88e-16).",
        mutants=(
            SCALED,
            wrong("without zeta and ||dbar||^2", mean=0.0, zeta=0.0),
            wrong("without the noise and ||dbar||^2", mean=0.0, noise=0.0),
        ),
    ),
    arithmetic(
        "M6c",
        UNROLLED,
        "The growth factor over a round.",
        r"(1+\tfrac{33}{32I})^I \leq e^{33/32} < 3",
        compounded,
        SCALED,
        wrong("3/(2I) as printed", growth=1.5),
        reason="The printed 3/(2I) in the zeta term is a slip for 33/(32I).",
    ),
    arithmetic(
        "M6d",
        LEMMA,
        "The drift's feedback on itself is at most a fifth.",
        r"1 - 192 L^2 I^4 c^2 (\tfrac{1}{16LI})^6 \geq \tfrac45",
        self_term,
        SCALED,
        wrong("256 for 192", factor=256.0),
    ),
    arithmetic(
        "M6e",
        LEMMA,
        "The constants that the lemma ends with.",
        r"\tfrac54 \tfrac{33}{256} \tfrac{3}{32} \leq \tfrac{1}{64},"
        r" \tfrac54 \tfrac{33}{256} \tfrac{3}{16} \leq \tfrac{1}{32}",
        final_constants,
        SCALED,
        wrong("3/4 for 4/5", shrink=3 / 4),
    ),
)
