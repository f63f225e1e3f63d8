"""Whole runs: what they measure of E||grad f(xbar_a)||^2, and the premises of its bounds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from stemtheory.bounds import BOUNDS, Premise
from stemtheory.claims.base import Case
from stemtheory.claims.evidence.recorded import setting_of
from stemtheory.runtime import UsageError


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
def measure(case: Case, beside: tuple[Case, ...] = ()) -> MeasuredRun:
    """Return what the runs of a case measure; cached, so that claims share their runs.

    ``beside`` are those that will be measured as well: the engine is chosen for all of them.

    Raises
    ------
    UsageError
        If the case shifts the schedule's clock, which a whole run cannot.

    Paper: Thm: PR_Convergence_Main_App; Thm: Flexible_FedAvg.
    """
    if case.clock:
        raise UsageError(f"clock is {case.clock:g}, but a run starts at t = 1: leave it out.")
    from stemtheory.simulator import simulate, together  # slow to load: the ledger needs neither

    *_, run = together(each.run for each in (*beside, case)) if beside else (case.run,)
    trace = simulate(run)
    mean = trace.mean_grad_sq
    return MeasuredRun(
        mean=float("nan") if mean is None else mean,
        error=trace.stderr or 0.0,
        dof=trace.replicates - 1,
        standstill=trace.circumstances.grad_sq_start,
    )


def premises(name: str) -> Callable[[Case], tuple[Premise, ...]]:
    """Return the premises of the bound ``name`` as a function of a case."""
    return lambda case: BOUNDS[name].premises(setting_of(case))


def theorem_schedule(case: Case) -> tuple[Premise, ...]:
    """The premise of every line that uses eta_t <= 1/(16 L I) and a_{t+1} = c eta_t^2."""
    return (Premise("the schedule is the theorem's", case.schedule == "theorem"),)
