"""The free constants of Theorem R* as a program: the least C under the lines of its proof.

C = c_D w_D + c_S w_S + c_Z w_Z, where E||grad f(xbar_a)||^2 <= (c_D L gap + c_S sigma^2 +
c_Z zeta^2)/S on or above the trade-off curve, for all b and K and every I with m = ceil(I/M). The
lines are those of the claims, evaluated in floats; what is found is a proposal, and
``stemtheory.tightening.checker`` decides.

See docs/tighten.md, and docs/theorem-rstar.md for the proof.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize

from stemtheory.bounds import RSTAR
from stemtheory.certificates import Weights
from stemtheory.claims.language import Line, Program, Symbol, valued
from stemtheory.claims.language.letters import c_0, h_0, tau
from stemtheory.claims.rstar.coefficients import (
    BATCHED,
    CANCELS,
    CONTRACTS,
    EVERY,
    FROM_GAP,
    FROM_SIGMA,
    FROM_ZETA,
    IDENTITY,
    ONE_STEP,
    RSTAR_PARTS,
    WITH_BATCH,
    from_sigma_alone,
    step_seven,
)
from stemtheory.runtime import Floats

CHOSEN = ("h_0", "c_0", "p_0", "p_A", "p_C", "p_D", "tau", "Lam", "Lam_1", "A_s", "A_z")
LAM_ONE = Symbol("Lam_1")  # Lam of one local step
ONE = {"Lam_1": RSTAR["b"].lam_one}
LEAP = 4.0  # by which a ratio, a weight or a constant changes from one search to the next
NUDGE = 1e-6  # in the logarithm of a constant, for slopes
SEARCH: Any = {"maxiter": 100, "ftol": 1e-10}
FARTHEST = 20.0  # logarithms of constants stay within: no overflow on the way
MET = 1e-8  # by how much a float may miss a line and still count as a proposal

COEFFICIENTS = (FROM_GAP, FROM_SIGMA, FROM_ZETA)  # c_D, c_S and c_Z
ONE_LOCAL_STEP: Line = valued(ONE_STEP, {"Lam": LAM_ONE}) & (
    from_sigma_alone(LAM_ONE) <= FROM_SIGMA
)
MOMENTUM: Line = (c_0 * h_0**2 <= 1) & (tau <= 1)  # a <= 1; and (1 + tau)/m <= 1 for m >= 2
LINES = (
    CANCELS & CONTRACTS & step_seven(IDENTITY, EVERY) & step_seven(WITH_BATCH, BATCHED) & MOMENTUM
)
WITH_ONE = LINES & ONE_LOCAL_STEP


class Covered(NamedTuple):
    """What a theorem is for: the largest I/m, the reading, the least I, constants not free."""

    ratio: float
    reading: str = "literal"
    least_I: int = 1
    fixed: Mapping[str, Fraction | float] = {}

    @property
    def free(self) -> list[str]:
        """The constants that are chosen, in order."""
        return [name for name in CHOSEN if name not in self.fixed]


class Proposal(NamedTuple):
    """The constants found, and C; ``met`` says whether the lines hold at them, in floats."""

    constants: dict[str, float]
    C: float
    met: bool


def evaluated(
    within: Covered, weights: Weights, constants: Mapping[str, Floats | float]
) -> tuple[Floats, Floats]:
    """Return C, and by how much every line is met: right/left - 1, left being positive."""
    fixed = {name: float(value) for name, value in within.fixed.items()}
    sizes = {"M": float(within.ratio), "kappa": float(within.reading == "literal")}
    program = _program(WITH_ONE if within.least_I == 1 else LINES)
    values = program.values({**constants, **fixed, **sizes})
    sides = values[len(COEFFICIENTS) :]
    C = sum(w * c for w, c in zip(weights, values[: len(COEFFICIENTS)], strict=True))
    slack = [right / left - 1 for left, right in zip(sides[::2], sides[1::2], strict=True)]
    return np.asarray(C), np.array([np.broadcast_to(s, np.shape(C)) for s in slack])


@cache
def _program(lines: Line) -> Program:
    """Return what gives c_D, c_S and c_Z, then the left and the right side of every line."""
    return Program([*COEFFICIENTS, *(side for r in lines.steps for side in (r.left, r.right))])


def proposed(
    within: Covered,
    weights: Weights,
    margin: float = 0.0,
    *,
    longest: bool = False,
    start: Mapping[str, float] | None = None,
) -> Proposal:
    """Return the constants of least C at which every line has a share ``margin`` to spare.

    With ``longest`` those of the largest h instead, whatever C. The search is by slopes in the
    logarithms of the constants; it draws nothing. Without a ``start`` near the end it walks from
    part (b) of Theorem R*, through ratios, weights and fixed constants in between.
    """
    if start is not None:
        return _searched(within, weights, margin, longest, start)
    found = Proposal({n: float(v) for n, v in {**RSTAR_PARTS["b"], **ONE}.items()}, math.inf, False)
    stages = _stages(within, weights)
    for stage in range(1, stages + 1):
        at, wanted = _between(within, weights, stage / stages)
        next_found = _searched(at, wanted, margin, longest, found.constants)
        if next_found.met or stage == stages:
            found = next_found
    return found


def _stages(within: Covered, weights: Weights) -> int:
    """Return in how many steps a search walks: none changes anything by more than ``LEAP``."""
    begin = RSTAR_PARTS["b"]
    changes = [within.ratio / begin["M"], max(weights) / min(weights)]
    changes += [float(value / begin[name]) for name, value in within.fixed.items()]
    return 1 + math.floor(max(abs(math.log(change)) for change in changes) / math.log(LEAP))


def _between(within: Covered, weights: Weights, share: float) -> tuple[Covered, Weights]:
    """Return what stands at a share of the way, in logarithms; at 1 all is exactly as asked."""
    if share == 1:
        return within, weights
    begin = RSTAR_PARTS["b"]

    def on_the_way(first: float, last: float) -> float:
        return math.exp((1 - share) * math.log(first) + share * math.log(last))

    ratio = on_the_way(float(begin["M"]), within.ratio)
    fixed = {n: on_the_way(float(begin[n]), float(v)) for n, v in within.fixed.items()}
    return within._replace(ratio=ratio, fixed=fixed), Weights(*(w**share for w in weights))


def _searched(
    within: Covered,
    weights: Weights,
    margin: float,
    longest: bool,
    start: Mapping[str, float],
) -> Proposal:
    names, seen = within.free, dict[bytes, tuple[Floats, Floats]]()
    nudges = NUDGE * np.eye(len(names))
    moved = np.concatenate([np.zeros((1, len(names))), nudges, -nudges])

    def around(point: Floats) -> tuple[Floats, Floats]:
        """Return the goal, and the lines' slack, at a point and at its neighbours."""
        if point.tobytes() not in seen:
            seen.clear()
            at = dict(zip(names, np.exp(point + moved).T, strict=True))
            C, slack = evaluated(within, weights, at)
            seen[point.tobytes()] = (-np.log(at["h_0"]) if longest else np.log(C), slack)
        return seen[point.tobytes()]

    problem: Any = {
        "fun": lambda z: around(z)[0][0],
        "jac": lambda z: _slopes(around(z)[0]),
        "constraints": {
            "type": "ineq",
            "fun": lambda z: around(z)[1][:, 0] - margin,
            "jac": lambda z: _slopes(around(z)[1]),
        },
    }
    bounds = [(-FARTHEST, FARTHEST)] * len(names)
    with np.errstate(all="ignore"):  # a step too far on the way is not what is returned
        begin = [math.log(start[name]) for name in names]
        found = minimize(x0=begin, bounds=bounds, method="SLSQP", options=SEARCH, **problem)
        constants = dict(zip(names, np.exp(found.x), strict=True))
        C, slack = evaluated(within, weights, constants)
    met = bool(np.isfinite(slack).all() and slack.min() >= margin / 2 - MET)
    return Proposal({name: float(c) for name, c in constants.items()}, float(C), met)


def _slopes(values: Floats) -> Floats:
    """Return central differences of values at a point, those above it and those below it."""
    n = (values.shape[-1] - 1) // 2
    return np.asarray((values[..., 1 : n + 1] - values[..., n + 1 :]) / (2 * NUDGE))
