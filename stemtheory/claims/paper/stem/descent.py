"""STEM's accumulation of errors and its descent lemma, line by line.

Paper: Lemma (lem: ErrorAccumulation_Batch_App), Lemma (lem: Descent_Batch_App).
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from stemtheory.algorithms import mean_over_workers
from stemtheory.claims.base import ALL_READINGS, SCALED, Claim, Compare, Comparison, Mutant, wrong
from stemtheory.claims.evidence.counterexamples import DRIFTED, LeavesOneOut
from stemtheory.claims.evidence.path import Path, play
from stemtheory.claims.evidence.recorded import EPS, square
from stemtheory.claims.evidence.sums import drift_sum, per_t, since, x_floor
from stemtheory.runtime import Floats, Verdict

ACCUMULATION, DESCENT = "lem: ErrorAccumulation_Batch_App", "lem: Descent_Batch_App"


def at_start(path: Path, t: Any) -> Any:
    """Rows: 'sync' where t = tbar_s, s >= 1; shape [n, 1]."""
    return path.where(t, "start")[:, None]


# --- accumulation ---------------------------------------------------------------------------


def accumulation(path: Path, factor: float | None = None, lag: int = 0) -> Comparison:
    """X_t <= (I - 1) sum_{l = tbar_{s-1}}^{t} eta_l^2 Dl_l, t in [tbar_{s-1}, tbar_s - 1]."""
    t, I = path.t, path.case.I
    total = drift_sum(path)
    count = I - 1 if factor is None else factor
    right = count * np.where(per_t(path.base(t) <= t - lag), total[t - lag], 0)
    return Comparison(path.X[t], right, at_start(path, t), per_t(t), floor=x_floor(path)[t])


def accumulation_literal(path: Path, factor: float | None = None, lag: int = 1) -> Comparison:
    """X_t <= (I - 1) sum_{l = tbar_{s-1}+1}^{t-1} eta_l^2 Dl_l, t in [tbar_{s-1}+1, tbar_s]."""
    t, I = path.t + 1, path.case.I
    first = path.base(t - 1) + 1  # the last t at which all x_t^(k) agree
    total = drift_sum(path) - drift_sum(path)[path.base(np.arange(path.T + 2))]
    count = I - 1 if factor is None else factor
    right = count * np.where(per_t(first <= t - lag), total[t - lag], 0)
    return Comparison(path.X[t], right, at_start(path, t), per_t(t), floor=x_floor(path)[t])


def unrolled(path: Path, sign: float = -1.0, lag: int = 1) -> Comparison:
    """x_t^(k) - xbar_t = - sum_l eta_l (d_l^(k) - dbar_l), l from the last common point to t - 1.

    Left is the largest error over workers, right the rounding of the additions.
    """
    own = path.case.reading == "literal"  # the common point comes one step later, at tbar_s + 1
    t = path.t + 1 if own else path.t
    first = path.base(t - own) + own
    moves = path.eta[:, None, None, None] * (path.d - path.dbar[..., None, :])
    moves[path.base(path.t)] = 0.0  # d is common at tbar_{s-1}
    total = since(path, moves)
    summed = np.where((first <= t - lag)[:, None, None, None], total[t - lag], 0)
    error = path.p[t] - path.xbar[t][..., None, :] - sign * summed
    left = np.sqrt(square(error).max(axis=-1))
    steps = since(path, path.eta[:, None] * np.abs(path.d).max(axis=(-1, -2)))[t - 1]
    size = np.abs(path.p[t]).max(axis=(-1, -2)) + np.nan_to_num(steps)
    budget = 4 * EPS * (path.case.I + path.case.K) * np.sqrt(path.case.dim) * size
    return Comparison(left, budget, at_start(path, t), per_t(t))


# --- descent --------------------------------------------------------------------------------


def descent(path: Path, drift: Floats, curved: float = 1.0, erring: float = 1.0) -> Comparison:
    """f(xbar_{t+1}) - f(xbar_t) + (eta/2) ||dbar||^2 + (eta/2) ||grad f(xbar)||^2 <= the rest."""
    t, L = path.t, path.setting.L
    eta = per_t(path.eta[t])
    G2, q2 = square(path.G[t]), path.q2[t]
    left = path.f[t + 1] - path.f[t] + eta / 2 * (q2 + G2)
    right = curved * eta**2 * L / 2 * q2 + erring * eta * square(path.ebar[t]) + eta * drift
    floor = 16 * EPS * (np.abs(path.f[t]) + np.abs(path.f[t + 1]) + eta * (q2 + G2))
    return Comparison(left, right, at_start(path, t), per_t(t), floor=floor)


def descent_printed(path: Path, **wrong: float) -> Comparison:
    """The descent lemma: drift = (L^2 (I-1)/K) sum_{l = tbar_{s-1}}^{t} eta_l^2 Dl_l."""
    s = path.setting
    return descent(path, s.L**2 * (s.I - 1) / s.K * drift_sum(path)[path.t], **wrong)


def descent_by_distance(path: Path, share: float = 1.0, **wrong: float) -> Comparison:
    """The line before it: drift = (L^2/K) X_t."""
    s = path.setting
    return descent(path, share * s.L**2 / s.K * path.X[path.t], **wrong)


def lipschitz_mean(path: Path, L: float | None = None) -> Comparison:
    """||(1/K) sum_k delta_k||^2 <= (1/K) sum_k ||delta_k||^2 <= (L^2/K) X_t.

    delta_k = grad f^(k)(x_t^(k)) - grad f^(k)(xbar_t).
    """
    t, s = path.t, path.setting
    common = np.broadcast_to(path.xbar[t][..., None, :], path.p[t].shape)
    delta = path.g[t] - path.problem.gradient(common)
    mean = square(delta).mean(axis=-1)
    left = np.stack([square(mean_over_workers(delta)), mean], axis=1)
    right = np.stack([mean, (L or s.L) ** 2 / s.K * path.X[t]], axis=1)
    size = 1 + np.abs(path.p[t]).max(axis=(-1, -2)) + np.abs(path.g[t]).max(axis=(-1, -2))
    floor = path.case.dim * (8 * EPS * size[:, None]) ** 2
    where, times = at_start(path, t)[..., None], t[:, None, None]
    return Comparison(left, right, where, times, floor=floor)


# --- mutants --------------------------------------------------------------------------------


def broken(compare: Compare) -> Mutant:
    """Return the mutant whose run averages all workers but the last."""

    def on_broken_run(path: Path) -> Comparison:
        return compare(play(path.case, LeavesOneOut(path.case.reading)))

    return Mutant("a synchronisation that leaves out the last worker", compare=on_broken_run)


pathwise = partial(Claim, kind="pathwise", readings=ALL_READINGS, counterexamples=(DRIFTED,))
CLAIMS = (
    pathwise(
        id="M1",
        label=ACCUMULATION,
        statement="Within a round the workers' points drift apart by what their directions differ.",
        formula=r"\sum_k \|x_t^{(k)} - \bar x_t\|^2 \leq (I-1)"
        r" \sum_{\ell=\bar t_{s-1}}^{t} \eta_\ell^2 \sum_k \|d_\ell^{(k)} - \bar d_\ell\|^2",
        compare=accumulation,
        expected={("literal", "sync"): Verdict.VIOLATED},
        reason="As listed, the own points are not averaged at tbar_{s-1}: the left side is positive"
        " there and the right side is zero.",
        repair="Start the round one step later (M1-L): all points agree at tbar_{s-1} + 1.",
        mutants=(
            SCALED,
            wrong("without the factor I - 1", factor=1.0),
            wrong("a sum that stops at t - 2", lag=2),
            broken(accumulation),
        ),
    ),
    Claim(
        id="M1-L",
        label=ACCUMULATION,
        kind="pathwise",
        statement="The same for the literal reading, from the last t at which all points agree.",
        formula=r"\sum_k \|x_t^{(k)} - \bar x_t\|^2 \leq (I-1) \sum_{\ell=\bar t_{s-1}+1}^{t-1}"
        r" \eta_\ell^2 \sum_k \|d_\ell^{(k)} - \bar d_\ell\|^2,"
        r"\ t \in [\bar t_{s-1}+1, \bar t_s]",
        compare=accumulation_literal,
        counterexamples=(DRIFTED,),
        mutants=(
            SCALED,
            wrong("without the factor I - 1", factor=1.0),
            wrong("a sum that stops at t - 2", lag=2),
            broken(accumulation_literal),
        ),
    ),
    pathwise(
        id="M1a",
        label=ACCUMULATION,
        statement="A point differs from the mean by the steps its direction differed.",
        formula=r"x_t^{(k)} - \bar x_t = - \sum_{\ell=\bar t_{s-1}}^{t-1}"
        r" \eta_\ell (d_\ell^{(k)} - \bar d_\ell)",
        compare=unrolled,
        identity=True,
        reason="Literal: the sum starts at tbar_{s-1} + 1 and t runs to tbar_s.",
        mutants=(
            SCALED,
            wrong("the other sign", sign=1.0),
            wrong("a sum that stops at t - 2", lag=2),
            broken(unrolled),
        ),
    ),
    pathwise(
        id="M2",
        label=DESCENT,
        statement="The loss at the mean point descends, up to the direction's error and drift.",
        formula=r"f(\bar x_{t+1}) \leq f(\bar x_t) - (\tfrac{\eta_t}{2} - \tfrac{\eta_t^2 L}{2})"
        r" \|\bar d_t\|^2 - \tfrac{\eta_t}{2} \|\nabla f(\bar x_t)\|^2"
        r" + \eta_t \|\bar e_t\|^2 + \tfrac{\eta_t L^2 (I-1)}{K}"
        r" \sum_{\ell=\bar t_{s-1}}^{t} \eta_\ell^2 \sum_k \|d_\ell^{(k)} - \bar d_\ell\|^2",
        compare=descent_printed,
        expected={("literal", "sync"): Verdict.VIOLATED},
        reason="It uses the accumulation lemma (M1), which the literal reading breaks at tbar_s.",
        repair="Keep the distance instead of the sum (M2b): (eta_t L^2/K) X_t.",
        mutants=(
            SCALED,
            wrong("without eta^2 L/2 ||dbar||^2", curved=0.0),
            wrong("without eta ||ebar||^2", erring=0.0),
        ),
    ),
    pathwise(
        id="M2b",
        label="eq: DR_Smoothness_2nd_batch",
        statement="The descent lemma with the distance of the points in place of the drift.",
        formula=r"f(\bar x_{t+1}) \leq f(\bar x_t) - (\tfrac{\eta_t}{2} - \tfrac{\eta_t^2 L}{2})"
        r" \|\bar d_t\|^2 - \tfrac{\eta_t}{2} \|\nabla f(\bar x_t)\|^2"
        r" + \eta_t \|\bar e_t\|^2 + \tfrac{\eta_t L^2}{K} \sum_k \|x_t^{(k)} - \bar x_t\|^2",
        compare=descent_by_distance,
        mutants=(
            SCALED,
            wrong("without eta^2 L/2 ||dbar||^2", curved=0.0),
            wrong("without eta ||ebar||^2", erring=0.0),
            wrong("without the distance", share=0.0),
        ),
    ),
    pathwise(
        id="M2c",
        label="eq: DR_Gradient_Ineq_Batch",
        statement="The mean gradient at own points is near the gradient at the mean point.",
        formula=r"\|\tfrac1K \sum_k \delta_k\|^2 \leq \tfrac1K \sum_k \|\delta_k\|^2"
        r" \leq \tfrac{L^2}{K} \sum_k \|x_t^{(k)} - \bar x_t\|^2,\quad"
        r" \delta_k = \nabla f^{(k)}(x_t^{(k)}) - \nabla f^{(k)}(\bar x_t)",
        compare=lipschitz_mean,
        mutants=(SCALED, Mutant("L/2 for L", compare=lambda p: lipschitz_mean(p, p.setting.L / 2))),
    ),
)
