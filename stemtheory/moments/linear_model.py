"""Problems whose gradients are linear: what exact moments can be computed for.

    grad f^(k)(x; xi) = H_k x + o_k + xi_1 L_n x + xi_2 s        (one coordinate)

A quadratic with tilt and additive or multiplicative noise is such a problem, coordinate by
coordinate. Workers with unequal H_k break Assumption 2 (their gradients differ without bound): they
are allowed here alone, as a linearised model of workers that differ by bounded gradients.

Paper: Assumption (Ass: Lip_Smoothness), Assumption (Ass: Unbiased_Var_Grad).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from stemtheory.oracles import Problem, Separable
from stemtheory.runtime import Floats, UsageError, real, whole

LINEARISED = "linearised model (A2 does not hold)"
MOST_GROUPS = 6  # the moments of G groups are (3G + 1)(3G + 2)/2 + 6G numbers


class Group(NamedTuple):
    """Workers that are alike: the curvature H and offset o of their gradient, and how many.

    ``spread`` is the standard deviation of their offsets around o, where those differ: moments of
    workers with one curvature depend on their offsets in no other way.
    """

    curvature: float
    offset: float
    size: int
    spread: float = 0.0


@dataclass(frozen=True)
class LinearModel:
    """One coordinate of a linear problem: groups of like workers, and the noise of one sample.

    ``noise_slope`` is L_n and ``noise_level`` the standard deviation s of the additive part.
    """

    groups: tuple[Group, ...]
    noise_slope: float = 0.0
    noise_level: float = 0.0

    def __post_init__(self) -> None:
        real("noise_slope", self.noise_slope, minimum=0)
        real("noise_level", self.noise_level, minimum=0)
        if not 1 <= len(self.groups) <= MOST_GROUPS:
            raise UsageError(
                f"there are {len(self.groups)} groups of like workers, but exact moments allow 1 to"
                f" {MOST_GROUPS}: give fewer different curvatures and offsets."
            )
        for group in self.groups:
            real("curvature", group.curvature)
            real("offset", group.offset)
            whole("size", group.size)
            real("spread", group.spread, minimum=0)
            if group.spread and group.size == 1:
                raise UsageError(
                    f"spread is {group.spread}, but one worker has one offset: give 0, or a larger"
                    " size."
                )

    @property
    def K(self) -> int:
        """How many workers."""
        return sum(group.size for group in self.groups)

    @property
    def L(self) -> float:
        """The mean-squared Lipschitz constant, L^2 = max H_k^2 + L_n^2."""
        steepest = max(abs(group.curvature) for group in self.groups)
        return float(np.hypot(steepest, self.noise_slope))

    @property
    def mean_gradient(self) -> tuple[float, float]:
        """(mean H, mean o): grad f(x) = mean H x + mean o."""
        slope, offset = coefficients(self).mean_gradient
        return float(slope), float(offset)

    @property
    def label(self) -> str:
        """What kind of model this is: ``exact``, or the linearised one where H_k differ."""
        unequal = len({group.curvature for group in self.groups}) > 1
        return LINEARISED if unequal else "exact"


class Coefficients(NamedTuple):
    """The numbers of one model, or of n models whose groups have the same sizes.

    ``H``, ``o`` and ``spread`` have shape [G] or [G, n], ``slope`` (L_n) and ``level`` (s) none or
    [n].
    """

    sizes: tuple[int, ...]
    H: Floats
    o: Floats
    spread: Floats
    slope: Floats
    level: Floats

    @property
    def K(self) -> int:
        """How many workers."""
        return sum(self.sizes)

    @property
    def shares(self) -> Floats:
        """The share of every group in the mean over workers."""
        return np.array(self.sizes) / self.K

    @property
    def mean_gradient(self) -> tuple[Floats, Floats]:
        """(mean H, mean o), of every model."""
        return np.tensordot(self.shares, self.H, 1), np.tensordot(self.shares, self.o, 1)


def coefficients(model: LinearModel | Sequence[LinearModel]) -> Coefficients:
    """Return the numbers of a model, or of several whose groups have the same sizes."""
    models = [model] if isinstance(model, LinearModel) else model
    sizes = tuple(group.size for group in models[0].groups)
    rows = [
        [[group.curvature for group in each.groups] for each in models],
        [[group.offset for group in each.groups] for each in models],
        [[group.spread for group in each.groups] for each in models],
        [[each.noise_slope, each.noise_level] for each in models],
    ]
    found = [np.array(numbers, dtype=np.float64).T for numbers in rows]
    if isinstance(model, LinearModel):
        found = [numbers[:, 0] for numbers in found]
    *of_groups, noise = found
    return Coefficients(sizes, *of_groups, *noise)


def linear_model(
    curvatures: Sequence[float],
    offsets: Sequence[float] | None = None,
    *,
    noise_slope: float = 0.0,
    noise_level: float = 0.0,
) -> LinearModel:
    """Return the model of workers with these curvatures and offsets, those alike in one group.

    Raises
    ------
    UsageError
        If the lengths differ, or there are more groups than moments can be computed for.
    """
    pushes = [0.0] * len(curvatures) if offsets is None else list(offsets)
    if len(pushes) != len(curvatures):
        raise UsageError(
            f"there are {len(curvatures)} curvatures and {len(pushes)} offsets, but every worker"
            " has one of each: give as many."
        )
    workers = Counter(zip(map(float, curvatures), map(float, pushes), strict=True))
    groups = tuple(Group(H, o, size) for (H, o), size in workers.items())
    return LinearModel(groups, noise_slope, noise_level)


class Coordinate(NamedTuple):
    """A coordinate of a problem: its model, its start, and how many coordinates are alike."""

    model: LinearModel
    start: float
    copies: int


def coordinates(problem: Problem | LinearModel, x1: Floats) -> tuple[Coordinate, ...]:
    """Return the coordinates of a linear problem, those alike counted; ``x1`` has shape (dim,).

    Raises
    ------
    UsageError
        If the problem is not linear: its loss, its heterogeneity or its noise.
    """
    if isinstance(problem, LinearModel):
        return (Coordinate(problem, float(x1[0]), 1),)
    linear = _checked(problem)
    # A rotated problem is the same one in other coordinates, and so is its noise.
    v = linear.mirror
    start = x1 if v is None else x1 - 2 * v * float(x1 @ v)
    H = np.broadcast_to(np.asarray(linear.slope_arguments[0], dtype=np.float64), linear.dim)
    push = np.zeros((linear.K, linear.dim)) if linear.push is None else linear.push.arguments[0]
    slope, level = _noise(linear)
    found: Counter[tuple[LinearModel, float]] = Counter()
    for j in range(linear.dim):
        offset = float(push[:, j].mean())
        spread = float(np.sqrt(((push[:, j] - offset) ** 2).mean()))
        group = Group(float(H[j]), offset, linear.K, spread if linear.K > 1 else 0.0)
        found[LinearModel((group,), slope, level), float(start[j])] += 1
    return tuple(Coordinate(model, x, copies) for (model, x), copies in found.items())


def _noise(problem: Separable) -> tuple[float, float]:
    """L_n and s of a linear noise model; its arguments are (s) or (L_n, s)."""
    if not problem.noisy:
        return 0.0, 0.0
    *slope, level = problem.field_arguments
    return (float(slope[0]) if slope else 0.0), float(level)


def _checked(problem: Problem) -> Separable:
    if not isinstance(problem, Separable) or not problem.family.flat:
        raise UsageError(
            f"{problem.name} has gradients that are not linear, so its moments do not close: choose"
            " quadratic."
        )
    if (own := problem.overridden) is not None:
        raise UsageError(
            f"{type(problem).__name__} has its own {own}, but moments are those of the formulas of"
            f" {problem.name}: give a problem whose family says what it computes."
        )
    if problem.settings.het_frequency:
        raise UsageError(
            f"heterogeneity is {problem.settings.heterogeneity}, which is not linear, so its"
            " moments do not close: choose tilt or none, or a linear_model of unequal curvatures."
        )
    if problem.noisy and not problem.noise.linear:
        raise UsageError(
            f"noise is {problem.noise.name}, which is not linear in x, so its moments do not close:"
            " choose additive or multiplicative."
        )
    return problem
