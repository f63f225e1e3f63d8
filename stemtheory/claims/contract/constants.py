"""Checks of the declared constants: attained where they say so, exceeded nowhere.

Paper: eq. (Eq: Problem), Assumption (Ass: Lip_Smoothness), Assumption (Ass: Unbiased_Var_Grad).
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from stemtheory.claims.contract.probes import (
    apart,
    bending,
    cloud,
    disagreement,
    everyone,
    largest,
    noise_level,
    partners,
    steepness,
)
from stemtheory.claims.contract.rows import FULL, ContractRow, Effort, judge
from stemtheory.oracles import Constants, Problem, Witness
from stemtheory.runtime import Floats, Verdict

RTOL = 1e-9  # of exact constants at their witness, and of every "never exceeded"
ATOL = 1e-12


def constant_rows(
    problem: Problem, rng: np.random.Generator, effort: Effort = FULL
) -> Iterator[ContractRow]:
    """Yield a row per constant: declared, attained at the witness, largest found, verdict."""
    constants = problem.constants()
    witnesses = {w.constant: w for w in problem.witnesses()}
    dim, climbs = problem.dim, effort.climbs
    x = cloud(dim, rng, effort.points)
    extra = [w.points for w in witnesses.values() if w.constant != "nonconvex"]
    if "nonconvex" in witnesses:
        extra.append(witnesses["nonconvex"].points[:1])
    x = np.concatenate([x, *extra])
    pairs = np.concatenate([x, partners(x, rng)], axis=1)

    def attained(name: str) -> float | None:
        return _attained(problem, witnesses[name]) if name in witnesses else None

    found = largest(lambda u: steepness(problem, *_pair(u, dim)).max(axis=-1), pairs, climbs)
    yield judge("L", constants.L, constants.exact.get("L"), attained("L"), found)
    found = largest(lambda u: noise_level(problem, u).max(axis=-1), x, climbs)
    yield judge("sigma", constants.sigma, constants.exact.get("sigma"), attained("sigma"), found)
    found = largest(lambda u: disagreement(problem, u), x, climbs)
    yield judge("zeta", constants.zeta, constants.exact.get("zeta"), attained("zeta"), found)
    lowest = -largest(lambda u: -problem.value(u), x, climbs)
    yield _f_star_row(constants, attained("f_star"), lowest)
    yield from _gap_rows(problem, constants, lowest, float(problem.value(x).max()))
    down = largest(lambda u: -bending(problem, *_pair(u, dim)), pairs, climbs)
    yield _nonconvex_row(problem, attained("nonconvex"), -down, constants.L)


def _pair(u: Floats, dim: int) -> tuple[Floats, Floats]:
    """Return the points x and y that one row of u holds, far enough apart."""
    return u[:, :dim], apart(u[:, :dim], u[:, dim:])


def _attained(problem: Problem, witness: Witness) -> float:
    """Return the value of a constant at its witness."""
    p, workers = witness.points, witness.workers
    if witness.constant == "L":
        return float(steepness(problem, p[0], p[1])[workers[0]])
    if witness.constant == "sigma":
        return float(noise_level(problem, p[0])[workers[0]])
    if witness.constant == "zeta":
        g = problem.gradient(everyone(p[0], problem.K))
        return float(np.linalg.norm(g[workers[0]] - g[workers[1]]))
    if witness.constant == "nonconvex":
        step = 1e-4 * p[1]
        return float(bending(problem, p[0] + step, p[0] - step))
    return float(problem.value(p[0]))


def _f_star_row(constants: Constants, attained: float | None, lowest: float) -> ContractRow:
    """Judge f*: nothing lies below it, and an exact one is attained."""
    f_star, exact = constants.f_star, constants.exact.get("f_star")
    slack = RTOL * abs(f_star) + ATOL
    if not lowest >= f_star - slack:
        verdict = Verdict.VIOLATED
    elif exact is not True:
        verdict = Verdict.BOUND
    else:
        met = attained is not None and abs(attained - f_star) <= slack
        verdict = Verdict.EXACT if met else Verdict.NOT_ATTAINED
    return ContractRow("f_star", f_star, attained, lowest, verdict, "smallest f found", "constant")


def _gap_rows(
    problem: Problem, constants: Constants, lowest: float, highest: float
) -> Iterator[ContractRow]:
    """Judge the gap at one start, and its supremum where that is declared finite."""
    start = np.ones(problem.dim)
    there, here = problem.constants(start), float(problem.value(start))
    drop = here - min(lowest, here)
    slack = RTOL * max(abs(here), abs(there.gap)) + ATOL
    exact = there.exact.get("gap") is True
    exceeded = not drop <= there.gap + slack
    met = not exact or abs(here - there.f_star - there.gap) <= slack
    stated = Verdict.EXACT if exact else Verdict.BOUND
    verdict = Verdict.VIOLATED if exceeded else stated if met else Verdict.NOT_ATTAINED
    note = "f(1, ..., 1) - f*; largest descent found"
    yield ContractRow("gap", there.gap, here - there.f_star, drop, verdict, note, "constant")
    rise = highest - constants.f_star
    if math.isfinite(constants.gap):
        verdict = Verdict.BOUND if rise <= constants.gap * (1 + RTOL) else Verdict.VIOLATED
    else:
        verdict = Verdict.UNBOUNDED
    yield ContractRow("sup gap", constants.gap, None, rise, verdict, "over all starts", "constant")


def _nonconvex_row(problem: Problem, attained: float | None, least: float, L: float) -> ContractRow:
    """Judge convexity: a nonconvex loss has a witness, a convex one curves down nowhere."""
    if problem.nonconvex:
        met = attained is not None and attained < -RTOL * L
        verdict = Verdict.HOLDS if met else Verdict.NOT_ATTAINED
    else:
        verdict = Verdict.HOLDS if least >= -RTOL * L else Verdict.VIOLATED
    note = "curvature at the witness, and the least found"
    return ContractRow("nonconvex", problem.nonconvex, attained, least, verdict, note, "constant")
