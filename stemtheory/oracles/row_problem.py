r"""Finite sums over rows of a user's own, split over the workers.

    f = (1/K) sum_k f^(k),   f^(k)(x) = (1/n_k) sum_i s ell(a_i . x - o_i) + alpha sum_j q(x_j)

with the n_k rows i of worker k. A minibatch lists b of the worker's own rows, drawn uniformly with
replacement, as whole numbers of shape [..., K, b]; the same list can be evaluated at two points.
Workers may hold different numbers of rows, and f is the mean over workers: a row of a worker with
few counts for more.

L, sigma and zeta are bounds proved in ``row_constants``, f* >= 0 because ell and q are.

Paper: eq. (Eq: Problem), Assumption (Ass: Lip_Smoothness), Assumption (Ass: Unbiased_Var_Grad).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, Protocol, Self

import numpy as np

from stemtheory.oracles.problem import Constants, Witness
from stemtheory.oracles.regulariser import DIP, PENALTY_BEND, penalty, penalty_slope
from stemtheory.oracles.row_constants import Slopes, distance, noise, parts, smoothness
from stemtheory.runtime import Backend, Floats, Portable, UsageError

FAR = 1e4  # margins this large switch a loss off, so that only the regulariser curves
LEAST_BEND = 1e-9  # of L: what rounding leaves of a difference of gradients may be as large
COLUMNS = 8  # in which a direction of negative curvature is looked for


class Summand(Protocol):
    """What a sum needs to know of its loss: ell and ell' of the residual, elementwise."""

    @property
    def name(self) -> str:
        """The catalogue name."""

    @property
    def slopes(self) -> Slopes:
        """The ranges of ell' and ell''."""

    @property
    def loss(self) -> Callable[[Any], Any]:
        """Return ell, elementwise."""

    @property
    def slope(self) -> Callable[[Any], Any]:
        """Return ell', elementwise."""


@dataclass(frozen=True)
class RowSum(Portable):
    """The sum: rows [N, dim] and offsets [N], one worker's after another's, ``counts`` of each."""

    model: Summand
    rows: Any
    offsets: Any
    counts: tuple[int, ...]
    alpha: float
    height: float
    dials: Mapping[str, Any]
    declared: Constants
    found: tuple[Witness, ...] = ()
    xp: Any = field(default=np, repr=False)

    separable = False
    whole_batches = True  # a minibatch lists rows: it cannot be averaged with another

    @property
    def name(self) -> str:
        """The catalogue name."""
        return self.model.name

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the rows and the constants."""
        return self.constants().table(f"{self.name}, {self.dials['rows']}")

    @property
    def K(self) -> int:
        """How many workers."""
        return len(self.counts)

    @property
    def dim(self) -> int:
        """How many columns, the target left out."""
        return int(self.rows.shape[1])

    @property
    def size(self) -> int:
        """N, how many rows all workers hold together."""
        return int(self.rows.shape[0])

    @property
    def noisy(self) -> bool:
        """Whether a worker has two rows to choose from."""
        return max(self.counts) > 1

    @property
    def nonconvex(self) -> bool:
        """Whether a direction of negative curvature is known."""
        return any(witness.constant == "nonconvex" for witness in self.found)

    def place(self, backend: Backend, dtype: np.dtype[Any]) -> Self:
        """Return the same problem with its arrays on the backend's device, in ``dtype``."""
        arrays = {"rows": self.rows.astype(dtype), "offsets": self.offsets.astype(dtype)}
        if not backend.on_host:
            arrays = {name: backend.from_host(value) for name, value in arrays.items()}
        return replace(self, **arrays, xp=backend.xp)

    def value(self, x: Any) -> Any:
        """Return f(x): shape [..., dim] to [...]."""
        total = sum(self.model.loss(self._residuals(x, part)).mean(axis=-1) for part in self._parts)
        return self.height / self.K * total + self.alpha * penalty(x).sum(axis=-1)

    def full_gradient(self, x: Any) -> Any:
        """Return grad f(x): shape [..., dim] to the same."""
        total = sum(self._pull(x, part) for part in self._parts) / self.K
        return total + self.alpha * penalty_slope(x)

    def gradient(self, x: Any) -> Any:
        """Return grad f^(k)(x_k) for every worker: shape [..., K, dim]."""
        pulls = [self._pull(x[..., k, :], part) for k, part in enumerate(self._parts)]
        return self.xp.stack(pulls, axis=-2) + self.alpha * penalty_slope(x)

    def draw(self, stream: Any, shape: tuple[int, ...], b: float, dtype: np.dtype[Any]) -> Any:
        """Return minibatches of b rows of each worker: whole numbers of shape [*shape, K, b].

        Raises
        ------
        UsageError
            If b is no whole number: a row cannot be divided.
        """
        if not float(b).is_integer():
            raise UsageError(
                f"b is {b:g}, but {self.name} on rows of your own draws whole rows: give whole b"
                " and I (and B), such as b = 4 and I = 4."
            )
        at = stream.random((*shape, self.K, int(b)))  # on the stream's side, which may be the host
        for k, held in enumerate(self.counts):
            at[..., k, :] *= held
        listed = at.astype(np.int64)  # below held for every float below 1
        for k, part in enumerate(self._parts):
            listed[..., k, :] += part.start
        return listed

    def evaluate(self, x: Any) -> Any:
        """Return x: without a minibatch there is nothing to compute."""
        return x

    def combine(self, evaluation: Any, minibatch: Any) -> Any:
        """Return the minibatch gradients, shape [..., K, dim]."""
        x = evaluation
        a = self.rows[minibatch]
        residuals = (a @ x[..., None])[..., 0] - self.offsets[minibatch]
        slopes = self.model.slope(residuals)
        pull = (slopes[..., None, :] @ a)[..., 0, :] / slopes.shape[-1]
        return self.height * pull + self.alpha * penalty_slope(x)

    def stochastic_gradient(self, x: Any, minibatch: Any) -> Any:
        """Return the minibatch gradients at x, shape [..., K, dim]."""
        return self.combine(x, minibatch)

    def noise_variance(self, x: Any) -> Any:
        """Return E||noise||^2 of one sample per worker at x: shape [..., K]."""
        return self.noise_change(x, x, keep=0.0)

    def noise_change(self, x: Any, y: Any, keep: float = 1.0) -> Any:
        """Return E||n(x) - keep n(y)||^2 of one sample per worker: shape [..., K].

        With q_i = ell'_i(x) - keep ell'_i(y) it is the variance of s q_i a_i over a worker's rows.
        """
        found = []
        for k, part in enumerate(self._parts):
            q = self.model.slope(self._residuals(x[..., k, :], part))
            if keep:
                q = q - keep * self.model.slope(self._residuals(y[..., k, :], part))
            a = self.rows[part]
            mean = (q[..., None, :] @ a)[..., 0, :] / len(a)
            second = (q * q * (a * a).sum(axis=-1)).mean(axis=-1)
            found.append(second - (mean * mean).sum(axis=-1))
        return self.height**2 * np.maximum(self.xp.stack(found, axis=-1), 0)  # 0 may round to below

    def constants(self, start: Floats | None = None) -> Constants:
        """Return bounds of L, sigma and zeta, f* >= 0 and an upper bound f(start) of the gap."""
        if start is None:
            return self.declared
        gap = float(self.value(np.asarray(start, dtype=np.float64)))
        return replace(self.declared, gap=gap, exact={**self.declared.exact, "gap": False})

    def witnesses(self) -> tuple[Witness, ...]:
        """Return where f curves down, if such a place is known: no bound is attained for sure."""
        return self.found

    @cached_property
    def _parts(self) -> tuple[slice, ...]:
        """Where each worker's rows stand."""
        return tuple(slice(a, b) for a, b in pairwise(np.cumsum([0, *self.counts]).tolist()))

    def _residuals(self, x: Any, part: slice) -> Any:
        """Return a_i . x - o_i of some rows: shape [..., dim] to [..., n].

        Point by point, so that a result does not depend on which points stand beside it.
        """
        return (x[..., None, :] @ self.rows[part].T)[..., 0, :] - self.offsets[part]

    def _pull(self, x: Any, part: slice) -> Any:
        """Return the gradient of the mean loss of some rows: shape [..., dim] to the same."""
        slopes = self.model.slope(self._residuals(x, part))
        total = (slopes[..., None, :] @ self.rows[part])[..., 0, :]
        return self.height / slopes.shape[-1] * total


def declare(
    model: Summand, rows: Floats, counts: tuple[int, ...], height: float, alpha: float
) -> Constants:
    """Return the bounds of row_constants; zeta of one worker and sigma of one row are 0, exactly.

    Raises
    ------
    UsageError
        Where the rows are so large or so small that no number holds the bounds.
    """
    workers = parts(rows, counts)
    with np.errstate(all="ignore"):
        try:
            L = smoothness(workers, model.slopes, height, alpha * PENALTY_BEND)
            sigma = noise(workers, model.slopes, height)
            zeta = distance(workers, model.slopes, height)
        except np.linalg.LinAlgError:
            L = sigma = zeta = math.nan
    if not all(map(math.isfinite, (L, sigma, zeta))) or L <= 0:
        raise UsageError(
            f"the rows give L = {L:.3g}, sigma = {sigma:.3g}, zeta = {zeta:.3g}, which no theorem"
            " takes: set standardise=true, or give rows of a usual size."
        )
    exact = {"L": False, "sigma": sigma == 0, "zeta": zeta == 0, "f_star": False}
    return Constants(L, sigma, zeta, 0.0, math.inf, {**exact, "gap": "unbounded"})


def dip(problem: RowSum) -> tuple[Witness, ...]:
    """Return the lowest curvature along a column where the others are far away, if it is below 0.

    Far away every residual is large, the loss is straight and only the regulariser curves.
    """
    e = np.eye(problem.dim)[: min(problem.dim, COLUMNS)]
    size = float(np.sqrt((problem.rows * problem.rows).mean())) or 1.0
    far = FAR / size * (1 + np.arange(problem.dim) / (math.pi * problem.dim))  # generic
    points = np.where(e > 0, DIP, far)
    h = 1e-4
    up, down = (problem.full_gradient(points + t * e) for t in (h, -h))
    bend = ((up - down) * e).sum(axis=1) / (2 * h)
    at = int(bend.argmin())
    if bend[at] >= -LEAST_BEND * problem.declared.L:
        return ()
    how = f"where the residuals switch the loss off, along column {at + 1}"
    return (Witness("nonconvex", np.stack([points[at], e[at]]), (), how),)
