"""Exact second moments of STEM and FedAvg on linear problems: E||grad f(xbar_a)||^2 for any T.

Nothing is drawn. While eta_t and a_t are constant a run of T steps is a power of the map of one
round, so that T = 1e12 takes milliseconds; where they vary the recursion is followed step by step.

Paper: Algorithm (Algo_DR-STORM_batch), Algorithm (Algo_FedAvg), Thm: PR_Convergence_Main_App.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from stemtheory.algorithms import ALGORITHMS, Counts, Entry, load_algorithm
from stemtheory.moments.linear_model import Coordinate, LinearModel, coordinates
from stemtheory.moments.maps import powers_of_two
from stemtheory.moments.recursion import ConstantRun, Recursion, apply, averages, constant_until
from stemtheory.moments.rows import VARIABLES
from stemtheory.oracles import Problem
from stemtheory.runtime import (
    Floats,
    UsageError,
    one_blas_thread,
    own_errors,
    real,
    several,
    truth,
    whole,
)
from stemtheory.schedules import Schedule, Theorem
from stemtheory.simulator import (
    DEFAULT,
    DIVERGED,
    Run,
    Sizes,
    resolve_schedule,
    resolve_sizes,
    spelled,
    start_of,
    with_sync_batch,
)

MOST_VARYING = 1e9  # iterations of steps that vary, one after the other: minutes or hours
ABREAST = 64  # coordinates that are computed side by side: their maps stay in the cache
STABLE = 1e-10  # growth per round up to which a neutral direction counts as stable: rounding


@dataclass(frozen=True)
class Moments:
    """Exact second moments of a run.

    ``running`` (n,) is (1/t) sum_{s<=t} E||grad f(xbar_s)||^2 at ``times`` (n,), infinite where it
    left the finite numbers. ``label`` is ``exact``, or says that the model is a linearised one.

    Paper: Thm: PR_Convergence_Main_App, Def: StationaryPt.
    """

    sizes: Sizes
    schedule: Schedule
    label: str
    counts: Counts
    times: np.ndarray[Any, np.dtype[np.int64]]
    running: Floats

    @property
    def mean_grad_sq(self) -> float:
        """E||grad f(xbar_a)||^2, the average over all T iterations."""
        return float(self.running[-1])

    @property
    def status(self) -> str:
        """``ok``, or ``diverged`` if the average left the finite numbers."""
        return "ok" if self.mean_grad_sq <= DIVERGED else "diverged"


@own_errors
@one_blas_thread()
def moments(
    problem: str | Problem | LinearModel | Run,
    algorithm: str = "stem",
    *,
    T: float = DEFAULT.T,
    b: float | None = None,
    I: int | None = None,
    nu: float | None = None,
    B: float | None = None,
    schedule: str = DEFAULT.schedule,
    schedule_options: Mapping[str, Any] | None = None,
    sync: str | None = None,
    sync_batch: int | None = None,
    x1: float | Sequence[float] | Floats = DEFAULT.x1,
    record_at: Sequence[int] = (),
) -> Moments:
    """Return the exact second moments of ``algorithm`` on a linear problem.

    The parameters are those of ``simulate``; T may be 1e18 where the steps are constant. Steps that
    vary take 0.2 to 1 microsecond each where they are many and numba is installed, which gives the
    same numbers to rounding, and 2 to 3 where not. A ``LinearModel`` stands for a problem in one
    dimension.

    Raises
    ------
    UsageError
        For bad input, for a problem whose gradients or noise are not linear, and for more than 1e9
        iterations of steps that vary.
    """
    if isinstance(problem, LinearModel):
        entry, start = load_algorithm(algorithm), np.full(1, start_of(x1, 1))
        given = {"T": T, "b": b, "I": I, "nu": nu, "B": B}
        sizes = resolve_sizes(entry, problem.K, problem.L, **given)
        steps = resolve_schedule(
            entry, schedule, sizes, problem.L, problem.noise_level, schedule_options
        )
        options = with_sync_batch(entry, spelled(entry, None, sync, sync_batch), steps)
        method = entry.make(options, problem.L)
        model: Problem | LinearModel = problem
    else:
        run = problem if isinstance(problem, Run) else Run.of(
            problem, algorithm, T=T, b=b, I=I, nu=nu, B=B, schedule=schedule,
            schedule_options=schedule_options, sync=sync, sync_batch=sync_batch, x1=x1,
        )  # fmt: skip
        entry, start, sizes = run.algorithm.entry, run.start, run.sizes
        method, steps, model = run.method, run.steps, run.problem.load()
    base, sync = _base(entry), getattr(method, "sync", "literal")
    _feasible(steps, sizes.T)
    asked = (whole("record_at", t) for t in several("record_at", record_at))
    times = sorted({sizes.T, *(t for t in asked if t <= sizes.T)})
    running, labels = np.zeros(len(times)), set()
    # coordinates of a quadratic do not meet: ||grad f||^2 is the sum over them, those alike once
    for lines, x, copies in _side_by_side(coordinates(model, start)):
        labels |= {line.label for line in lines}
        running += copies @ averages(
            Recursion(lines, base, method, sync),
            steps, x1=np.array(x), b=sizes.b, I=sizes.I, B=sizes.B, times=times,
        ).T  # fmt: skip
    return Moments(
        sizes=sizes,
        schedule=steps,
        label=max(labels),
        counts=method.costs.counts(
            sizes.T, b=sizes.b, I=sizes.I, B=sizes.B, K=sizes.K, dim=start.size
        ),
        times=np.array(times, dtype=np.int64),
        running=running,
    )


class Stability(NamedTuple):
    """Growth of the second moments per round: the spectral radius of a round's map, minus 1."""

    growth: float

    @property
    def stable(self) -> bool:
        """Whether no second moment grows, up to rounding."""
        return self.growth <= STABLE


@own_errors
@one_blas_thread()
def stability(
    model: LinearModel,
    algorithm: str = "stem",
    *,
    b: float,
    I: int,
    eta: float | None = None,
    a: float | None = None,
    sync: str = "literal",
    sync_batch: int = 1,
    bounded: bool = True,
) -> Stability:
    """Return how the second moments of a linear model grow per round, whatever is added to them.

    ``eta`` and ``a`` default to the constant phase of the theorem's schedule for the model's K and
    L; FedAvg takes ``eta`` alone. Where curvatures differ, so do gradients at xbar, without bound;
    Assumption 2 bounds that by zeta, and the noise by sigma. ``bounded`` therefore leaves both out
    of STEM's term a g(x; xi), where they would feed back. Along a flat mean (mean H = 0) xbar is
    then neutral and is not counted.

    Raises
    ------
    UsageError
        For bad input, or an eta without its a.
    """
    if not isinstance(model, LinearModel):
        raise UsageError(f"model is {model!r:.60}, but it must be a LinearModel: make one.")
    entry, bounded = load_algorithm(algorithm), truth("bounded", bounded)
    base = _base(entry)
    b, I = real("b", b, minimum=1), whole("I", I)
    if (eta is None) != (a is None) and base == "stem":
        raise UsageError("eta and a belong together: give both, or neither for the theorem's.")
    if eta is None:
        theorem = Theorem(model.L, model.K, b, I)
        eta, a = float(theorem.eta(0.0)), float(theorem.momentum(1.0))
    method = entry.make(spelled(entry, None, sync, sync_batch))
    recursion = Recursion(model, base, method, sync, bounded)
    at = recursion.form.linear(2 if bounded and model.mean_gradient[0] == 0 else 1)
    if len(at) == 0:
        return Stability(0.0)
    run = ConstantRun(recursion, real("eta", eta, positive=True), a or 0.0, b, I)
    change = np.linalg.eigvals(run.round(1)[np.ix_(at, at)])
    # |1 + z| - 1 without the cancellation
    growth = (2 * change.real + abs(change) ** 2) / (1 + abs(1 + change))
    return Stability(float(growth.max()))


def steps_to(
    recursion: Recursion,
    epsilon: ArrayLike,
    *,
    eta: ArrayLike,
    a: ArrayLike,
    b: ArrayLike,
    I: int,
    B: ArrayLike,
    x1: float,
    doublings: int = 48,
) -> Floats:
    """Return T(epsilon) in iterations, whole rounds, for constant steps; arrays broadcast.

    It is the last crossing among T = I 2^j refined by bisection, and infinite where the average is
    still above epsilon, or not finite, after I 2^(doublings - 1) iterations.
    """
    epsilon, eta, a, b, B = np.broadcast_arrays(
        *(np.asarray(v, dtype=np.float64) for v in (epsilon, eta, a, b, B))
    )
    run = ConstantRun(recursion, eta, a, b, I)
    with np.errstate(all="ignore"):
        start = recursion.first(x1, B)
        state = apply(run.round(0), start)
        rounds, within = np.ones(eta.shape), state[..., -1] <= epsilon * I
        doubled = powers_of_two(run.round(1), doublings)
        # above[j]: whether the average after 1 + 2^j rounds is above epsilon, or not a number
        ends = [apply(R, state)[..., -1] for R in doubled]
        above = [~(end <= epsilon * I * (1 + 2.0**j)) for j, end in enumerate(ends)]
        # The average need not fall all the time, so the last crossing is looked for from above.
        last = np.full(eta.shape, -1)
        for j, is_above in enumerate(above):
            last[is_above] = j
        for j in reversed(range(doublings)):
            further = apply(doubled[j], state)
            still_above = ~(further[..., -1] <= epsilon * I * (rounds + 2.0**j))
            go = (j == last) | ((j < last) & still_above)
            state = np.where(go[..., None], further, state)
            rounds = np.where(go, rounds + 2.0**j, rounds)
    found = np.where((last < 0) & within, 1.0, rounds + 1) * I
    return np.where(last == doublings - 1, np.inf, found)


def _side_by_side(
    found: Sequence[Coordinate],
) -> Iterator[tuple[tuple[LinearModel, ...], tuple[float, ...], tuple[int, ...]]]:
    """Yield models, starts and copies of coordinates whose groups have the same sizes, in parts."""
    alike: dict[tuple[int, ...], list[Coordinate]] = defaultdict(list)
    for coordinate in found:
        alike[tuple(group.size for group in coordinate.model.groups)].append(coordinate)
    for like in alike.values():
        for at in range(0, len(like), ABREAST):
            models, starts, copies = zip(*like[at : at + ABREAST], strict=True)
            yield models, starts, copies


def _base(entry: Entry) -> str:
    """stem or fedavg, of which ``entry`` is a setting."""
    if entry.base not in VARIABLES or entry.name not in ALGORITHMS:
        raise UsageError(
            f"exact moments of {entry.name} are not known: choose stem or fedavg, or simulate."
        )
    return entry.base


def _feasible(schedule: Schedule, T: int) -> None:
    """Refuse a T that no counter holds, and one that would take months."""
    if T > np.iinfo(np.int64).max:
        raise UsageError(f"T is {T:.3g}, but it must be below 2^63 = 9.2e18: give a smaller T.")
    if T - constant_until(schedule, T) > MOST_VARYING:
        raise UsageError(
            f"T is {T:.3g}, but the steps vary, and at most {MOST_VARYING:.0e} steps that vary are"
            " followed: give a smaller T, or a b and I with constant steps (nu gives them)."
        )
