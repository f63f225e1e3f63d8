"""L, sigma and zeta as a short run meets them, beside what the problem declares.

    L      sqrt(E||g(x) - g(y)||^2)/||x - y||, between neighbours of the run, and between each point
           of it and a random one nearby
    sigma  sqrt(E||g(x) - E g(x)||^2), of one sample of the worst worker
    zeta   ||grad f^(k)(x) - grad f^(l)(x)|| of the worst pair

at points x of a run of FedAvg: the largest values met. They are lower bounds of the constants of
the assumptions, so that they bound nothing; one above what is declared shows that the declaration
is wrong.

Paper: Assumption (Ass: Lip_Smoothness), Assumption (Ass: Unbiased_Var_Grad).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from stemtheory.algorithms import load_algorithm
from stemtheory.claims.contract.constants import RTOL
from stemtheory.claims.contract.probes import apart, disagreement, noise_level, steepness
from stemtheory.oracles import EXACTNESS, Problem
from stemtheory.runtime import Floats, UsageError, generator, one_blas_thread, whole
from stemtheory.schedules import Constant
from stemtheory.simulator import gaussian_draw, start_of, walk

POINTS = 32  # of a run are looked at, neighbours among them
LOCAL_STEPS = 4
LONGEST = 10**6
NEARBY = 1e-2  # the distance of a random point, in units of 1 + ||x||
NOTE = "the largest values met along one run: they lie below the constants, and bound nothing"


@one_blas_thread()
def estimate_constants(
    problem: Problem, *, T: object = 64, x1: Any = None, seed: object = 0
) -> dict[str, Any]:
    """Return the estimates of L, sigma and zeta beside their declared values, JSON-ready.

    Parameters
    ----------
    problem
        Any problem that is made already.
    T
        Iterations of FedAvg, b = 1, I = 4, with step size 1/(2 L).
    x1
        The start: one number, or dim of them; by default 1, and a problem's own start where it has
        one.
    seed
        Of the run and of the points nearby.

    Returns
    -------
    dict
        ``constants`` has for each name ``estimate``, ``at`` (the iteration), ``declared`` and
        ``exactness`` (attained, bound, unbounded or estimate), and whether it is ``exceeded``.

    Raises
    ------
    UsageError
        For a wrong T, x1 or seed, and for a run that leaves the finite numbers.

    Examples
    --------
    >>> from stemtheory import estimate_constants, load_problem
    >>> found = estimate_constants(load_problem("cosine", K=2, dim=2))["constants"]
    >>> found["L"]["estimate"] <= found["L"]["declared"]
    True
    """
    T, seed = whole("T", T), whole("seed", seed, 0)
    if T > LONGEST:
        raise UsageError(
            f"T is {T:.3g}, but a short run is meant, of at most {LONGEST:g}: lower T."
        )
    own = getattr(problem, "start", None)
    start = own() if x1 is None and own else start_of(1.0 if x1 is None else x1, problem.dim)
    with np.errstate(all="ignore"):  # the gap of a start far away, which nothing here looks at
        declared = problem.constants(np.broadcast_to(np.asarray(start, float), (problem.dim,)))
    estimated = bool(getattr(problem, "estimated", False))
    points = list(_points(problem, T, start, seed, declared.L))
    with np.errstate(all="ignore"):  # squares beyond the floats are told as such
        largest = list(_largest(problem, points, seed))
    if math.inf in [value for value, _ in largest]:
        raise UsageError(
            "what the run meets leaves the range of floats when it is squared: give L, sigma and"
            " zeta nearer to 1."
        )
    found = dict(zip(("L", "sigma", "zeta"), largest, strict=True))
    constants: dict[str, dict[str, Any]] = {}
    for name, (value, at) in found.items():
        stated, exact = getattr(declared, name), declared.exact.get(name, False)
        constants[name] = {
            "estimate": value,
            "at": at,
            "declared": stated if math.isfinite(stated) else None,
            "exactness": "estimate" if estimated else EXACTNESS[exact],
            # written so that NaN exceeds
            "exceeded": not (estimated or value <= stated * (1 + RTOL) + RTOL),
        }
    unbounded = [name for name, row in constants.items() if row["declared"] is None]
    rows = problem.dials.get("rows")
    return {
        "problem": problem.name, "K": problem.K, "dim": problem.dim, "T": T, "b": 1,
        "I": LOCAL_STEPS, "seed": seed, "points": len(points), "constants": constants,
        **({} if rows is None else {"rows": rows}), "note": NOTE,
        "reasons": {f"constants.{name}.declared": "it is unbounded" for name in unbounded},
    }  # fmt: skip


def _points(
    problem: Problem, T: int, start: Any, seed: int, L: float
) -> Iterator[tuple[int, Floats]]:
    """Yield (t, xbar_t) of a run of FedAvg: pairs of neighbours, spread over the whole of it."""
    algorithm = load_algorithm("fedavg").make({}, L)
    schedule = Constant(1 / (2 * L))
    firsts = np.unique(np.linspace(1, T, min(T, POINTS // 2)).astype(int))
    wanted = {int(t) for t in firsts} | {int(t) + 1 for t in firsts}
    visits = walk(
        problem, algorithm, schedule, T=T, I=LOCAL_STEPS, x1=start, seed=seed,
        draw=gaussian_draw(problem, seed),
    )  # fmt: skip
    with np.errstate(all="ignore"):  # a run that leaves the finite numbers is told as such
        for visit in visits:
            ahead = [(1, visit.before)] if visit.step.t == 1 else []
            for t, state in [*ahead, (visit.step.t + 1, visit.after)]:
                x = state.x[0].mean(axis=0)
                if not np.isfinite(x).all():
                    raise UsageError(
                        f"the run left the finite numbers at t = {t}: give a smaller x1, or see"
                        " stemtheory check, for its L may be wrong."
                    )
                if t in wanted:
                    yield t, x


def _largest(
    problem: Problem, points: list[tuple[int, Floats]], seed: int
) -> Iterator[tuple[float, int]]:
    """Yield (value, t) of the largest L, sigma and zeta at the points."""
    stream = generator([seed, 4])
    pairs = []
    for i, (t, x) in enumerate(points):
        away = stream.standard_normal(problem.dim)
        reach = NEARBY * (1 + float(np.linalg.norm(x)))
        pairs.append((t, x, x + reach * away / np.linalg.norm(away)))
        if i and points[i - 1][0] == t - 1:
            pairs.append((t - 1, points[i - 1][1], x))
    yield _most(lambda x, y: steepness(problem, x, apart(x, y)), pairs)
    yield _most(lambda x: noise_level(problem, x), points)
    yield _most(lambda x: disagreement(problem, x), points)


def _most(measure: Callable[..., Floats], places: Sequence[Any]) -> tuple[float, int]:
    """Return the largest value over (t, *points), and its t; NaN is larger than any.

    One place at a time: a network at all of them would fill the memory.
    """
    found = [(float(np.max(measure(*points))), t) for t, *points in places]
    return max(found, key=lambda pair: math.inf if math.isnan(pair[0]) else pair[0])
