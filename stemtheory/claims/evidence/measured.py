"""Run-level claims: a measured E||grad f(xbar_a)||^2 beside a bound of ``stemtheory.bounds``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from stemtheory.bounds import BOUNDS, Premise, Setting
from stemtheory.claims.base import Case, Compare, Comparison
from stemtheory.claims.evidence.recorded import setting_of
from stemtheory.runtime import UsageError
from stemtheory.simulator import simulate

Terms = dict[str, float]


@dataclass(frozen=True)
class MeasuredRun:
    """The mean over replicates of (1/T) sum_t ||grad f(xbar_t)||^2, and its standard error.

    The mean is NaN if any replicate diverged; ``standstill`` is ||grad f(x_1)||^2.
    """

    mean: float
    error: float
    dof: int
    standstill: float


@lru_cache(maxsize=512)
def measure(case: Case) -> MeasuredRun:
    """Return what the runs of a case measure; cached, so that claims share their runs.

    Raises
    ------
    UsageError
        If the case shifts the schedule's clock, which a whole run cannot.

    Paper: Thm: PR_Convergence_Main_App; Thm: Flexible_FedAvg.
    """
    if case.clock:
        raise UsageError(f"clock is {case.clock:g}, but a run starts at t = 1: leave it out.")
    trace = simulate(case.run)
    mean = trace.mean_grad_sq
    return MeasuredRun(
        mean=float("nan") if mean is None else mean,
        error=trace.stderr or 0.0,
        dof=trace.replicates - 1,
        standstill=trace.circumstances.grad_sq_start,
    )


def against(name: str, value: Callable[[Terms, Setting], float] | None = None) -> Compare:
    """Return the comparison of a measured run with the bound ``name``.

    ``value`` makes the right side from the bound's terms; left out, it is their sum. The bound is
    vacuous where it is no better than standing still: min(||grad f(x_1)||^2, 2 L gap). Mutants
    multiply a term by a factor that depends on the setting.
    """

    def compare(case: Case, **factors: Callable[[Setting], float]) -> Comparison:
        found, s = measure(case), setting_of(case)
        terms = BOUNDS[name].terms(s)
        terms |= {term: terms[term] * factor(s) for term, factor in factors.items()}
        right = sum(terms.values()) if value is None else value(terms, s)
        return Comparison(
            np.array([found.mean]),
            np.array([right]),
            t=case.T,
            spread=found.error,
            dof=found.dof,
            trivial=min(found.standstill, 2 * s.L * s.gap),
        )

    return compare


def premises(name: str) -> Callable[[Case], tuple[Premise, ...]]:
    """Return the premises of the bound ``name`` as a function of a case."""
    return lambda case: BOUNDS[name].premises(setting_of(case))
