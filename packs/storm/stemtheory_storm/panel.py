"""What the pack's claims are put to: runs of one worker with one local step, and a wrong one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from stemtheory.algorithms import Stem, StemState
from stemtheory.bounds import Premise
from stemtheory.claims import Case, dials
from stemtheory.claims.base import resting
from stemtheory.claims.evidence.measured import MeasuredRun, measure
from stemtheory.claims.repaired.runs import transition

LENGTHS = {"quick": (12, 4096), "default": (24, 32_768), "full": (96, 262_144)}


def of_storm(problem: str, b: float, steps: int, dim: int = 2, R: int = 8, **own: Any) -> Case:
    """Return a run with the decreasing steps of the toolkit's schedule ``theorem``."""
    made = dials(zeta=0.0, **own)
    return Case(problem, 1, dim, b, 1, steps, made, algorithm="storm", replicates=R)


def constant(case: Case, step: float, c: float = 1.4) -> Case:
    """Return the case, of a problem with L = 1, with eta = step and a = c eta^2/b."""
    own = (("a", min(1.0, c * step**2 / case.b)), ("eta", step))
    return replace(case, schedule="constant", options=own)


def at_minimum(b: float, steps: int, **more: Any) -> Case:
    """Return a run from the minimum of x^2/2 with sigma = 1: its first error and noise are all."""
    return replace(resting(1, b, 1, steps, **more), algorithm="storm")


# The first direction is exact: the new noise must carry it.
QUIET = at_minimum(3, 6, dim=2, B=1e12)
# Almost no noise, but a steep one: the movement must.
STEEP = of_storm("quadratic", 1, 6, 1, sigma=1e-4, h=0.25, noise_smoothness=0.9375**0.5)
# One first sample, then large minibatches: the first error is forgotten slowly, x goes where d
# is almost 0, and there, e = -grad f, what the error loses must pay for the whole descent.
FORGETTING = at_minimum(100, 40, B=1.0, replicates=64)


def recorded(level: str) -> tuple[Case, ...]:
    """Return runs with and without noise, of every kind of it, and late ones with small steps."""
    steps, names = LENGTHS[level][0], ("cosine", "quadratic", "welsch", "corridor")
    made = [of_storm(name, b, steps, sigma=s) for name in names for b in (1, 4) for s in (0, 0.5)]
    made += [of_storm("quadratic", 2, steps, noise=n) for n in ("additive", "modulated")]
    late = of_storm("cosine", 1, steps, 3, sigma=0.5, rotate=True)
    return (*made, replace(late, clock=1e6), QUIET, STEEP, FORGETTING)


# Many replicates, which meet many pairs of d and e; and runs of the constant steps' potential.
MANY = (of_storm("quadratic", 4, 6, 1, 2000, sigma=0.5, L=1.0, noise="additive"),)
FEW = (*(of_storm(name, 2, 24, sigma=0.5, L=1.0) for name in ("cosine", "welsch")), FORGETTING)


def stepped(cases: tuple[Case, ...], *steps: float) -> Callable[[str], tuple[Case, ...]]:
    """Return the cases with each of the constant steps, at every level."""
    return lambda level: tuple(constant(case, step) for case in cases for step in steps)


def decreasing(case: Case) -> tuple[Premise, ...]:
    """Return the premise that the steps are the decreasing ones."""
    return (Premise("the steps are the decreasing ones", case.schedule == "theorem"),)


def at_most(longest: float, coupled: bool = True) -> Callable[[Case], tuple[Premise, ...]]:
    """Return the premise of constant steps on a problem with L = 1, and of c = 7 L^2/(5 b)."""

    def premises(case: Case) -> tuple[Premise, ...]:
        own = {"eta": np.inf, "a": np.inf, **dict(case.options)}
        c = abs(own["a"] * case.b / own["eta"] ** 2 - 1.4) < 1e-9
        fits = Premise(f"eta <= {longest:g}/L", own["eta"] <= longest)
        return (fits, Premise("c = 7 L^2/(5 b)", c)) if coupled else (fits,)

    return premises


def whole_runs(level: str, decreasing: bool) -> tuple[Case, ...]:
    """Return long runs, plain ones and one whose first error is all, with ST10's steps or ST9's."""
    T = LENGTHS[level][1]
    plain = [of_storm(name, 1, T, 2, 32, L=1.0, sigma=0.05) for name in ("cosine", "quadratic")]
    runs = (at_minimum(50 if decreasing else 1, T, B=1.0), *plain)
    return runs if decreasing else stepped(runs, T ** (-1 / 3) / 4)(level)


def measured(case: Case) -> MeasuredRun:
    """Return the exact mean from the minimum of x^2/2, where moments close; else measure runs."""
    if case.x1 != 0.0:
        return measure(case)
    steps, moments = case.run.steps, np.array([0.0, 0.0, 1 / float(case.B or 1), 1.0, 0.0])
    every = np.arange(1.0, case.T + 1)
    for eta, a in zip(steps.eta(every), steps.momentum(every + 1), strict=True):
        moments = transition(1.0, float(eta), float(a), 1.0, case.b) @ moments
    return MeasuredRun(float(moments[4]) / case.T, error=0.0, dof=0, standstill=np.nan)


class HeavyBall(Stem):
    """STORM without its correction, d <- (1 - a) d + a g: ordinary momentum."""

    def local_step(self, problem: Any, state: StemState, step: Any, minibatch: Any) -> StemState:
        """Return x_{t+1}, and the moving average of the gradients."""
        x = state.x - step.eta * state.d
        here = problem.evaluate(x)
        d = (1 - step.a) * state.d + step.a * problem.combine(here, minibatch)
        return StemState(x, d, here)
