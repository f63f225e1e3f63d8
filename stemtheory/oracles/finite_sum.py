r"""Finite sums f = (1/N) sum_i f_i over data that all workers share, sampled for real or by law.

    f_i(x) = s [ ell(a_i . r x) + alpha sum_j q(r x_j) ]

Two oracles with the same mean and covariance, and so the same L and sigma:

    minibatch   b of the N summands, uniformly with replacement: b is a whole number
    gaussian    grad f + (N b)^(-1/2) sum_i xi_i (grad f_i - grad f), xi_i ~ N(0, 1): b may be real

Both are a set of weights on the summands (counts/b, or 1/N + (xi_i - mean xi)/sqrt(N b); the
centring changes nothing, because the deviations add up to zero), so the same minibatch can be
evaluated at two points, and the mean of b single samples is again a minibatch.

Constants, with 0 <= ell'' <= p, |ell'| <= m, q'' <= q_0, and ell''(0) = p, q''(0) = q_0:

    L      grad f_i(x) - grad f_i(y) = (w_i a_i a_i' + D)(x - y) with 0 <= w_i <= p and D diagonal,
           |D| <= alpha q_0, so by Minkowski's inequality in the mean over i
           L <= s r^2 [ p sqrt(lmax((1/N) sum |a_i|^2 a_i a_i')) + alpha q_0 ] + Z   (declared);
           two points close to 0 attain
           L >= s r^2 sqrt(lmax((1/N) sum (p a_i a_i' + (alpha q_0 + Z/(s r^2)) I)^2))  (witness).
           The two meet iff alpha q_0 = Z = 0, or all |a_i| are equal and aligned.
    sigma  E|grad f_i - grad f|^2 <= mean |s r a_i ell'|^2 <= (s r m)^2 mean |a_i|^2   (declared).
    zeta   from the push, as everywhere: attained.
    f*     0 is a lower bound, because ell >= 0 and q >= 0.

r and s follow from the targets: L - Z = s r^2 L_1 and sigma = s r S_1, with L_1 and S_1 the bounds
at r = s = 1. Without noise (sigma = 0) r = 1, and L = s r^2 [p lmax((1/N) sum a_i a_i') + alpha
q_0] + Z is attained.

Paper: eq. (Eq: Problem), Assumption (Ass: Lip_Smoothness), Assumption (Ass: Unbiased_Var_Grad).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from stemtheory.oracles.dials import refuse_unknown, resolve_zeta
from stemtheory.oracles.finite_sum_constants import declare, solve, square_at_zero, waves
from stemtheory.oracles.heterogeneity import HETEROGENEITIES, Push, make_push, placed
from stemtheory.oracles.own_data import RowLoss, refuse_without
from stemtheory.oracles.problem import Constants, ProblemEntry, Witness
from stemtheory.oracles.row_problem import RowSum
from stemtheory.oracles.usual import MOST_NUMBERS, USUAL
from stemtheory.runtime import Backend, Floats, Portable, UsageError, choice, real, whole

SAMPLINGS = ("gaussian", "minibatch")
STEP = 2e-5  # distance of the two points of the witness of L, in units of the smallest length
FAR = 1e4  # margins this large switch the loss off, so that only the penalty curves


@dataclass(frozen=True)
class Model(ProblemEntry):
    """A unit summand: ell of the margin a.x and a penalty q per coordinate, all elementwise.

    ``bend`` is p = sup ell'' = ell''(0), ``steepest`` m = sup |ell'|, ``penalty_bend`` q_0 =
    sup |q''| = q''(0). ``dip`` is a coordinate at which q'' < 0. ``data`` returns the rows a_i,
    shape (N, dim), from (N, dim, seed). ``visible`` tells a reader what the loss is good for;
    ``own_rows`` makes the problem where the dial ``data`` names a file.
    """

    name: str
    summary: str
    formula: str
    loss: Callable[[Any], Any]
    slope: Callable[[Any], Any]
    penalty: Callable[[Any], Any]
    penalty_slope: Callable[[Any], Any]
    bend: float
    steepest: float
    penalty_bend: float
    dip: float
    data: Callable[[int, int, int], Floats]
    visible: str = ""
    own_rows: RowLoss | None = None

    @property
    def own_dials(self) -> dict[str, Any]:
        """The dials of finite sums and their defaults, those of a user's own rows among them."""
        return {**self._dials, **(self.own_rows.own_dials if self.own_rows else {})}

    @property
    def _dials(self) -> dict[str, Any]:
        return dict(_build.__kwdefaults__ or {})

    def __call__(
        self, K: int = USUAL.K, dim: int | None = None, **dials: Any
    ) -> FiniteSum | RowSum:
        """Return the problem of this model that meets the given dials.

        Raises
        ------
        UsageError
            For unknown dials and for dials that do not add up.
        """
        refuse_unknown(self.name, dials, self.own_dials)
        if self.own_rows is not None and dials.get("data") is not None:
            return self.own_rows(K, dim, **dials)
        refuse_without(self.name, dials, self._dials)
        own = {name: value for name, value in dials.items() if name in self._dials}
        return _build(self, whole("K", K), whole("dim", USUAL.dim if dim is None else dim), **own)


@dataclass(frozen=True)
class FiniteSum(Portable):
    """A finite sum scaled to its targets: f(x) = s F(r x), plus the workers' pushes."""

    model: Model
    K: int
    dim: int
    rows: Any
    alpha: float
    height: float
    stretch: float
    sampling: str
    declared: Constants
    dials: Mapping[str, Any]
    push: Push | None
    found: tuple[Witness, ...] = ()
    xp: Any = field(default=np, repr=False)

    separable = False

    @property
    def name(self) -> str:
        """The catalogue name."""
        return self.model.name

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the sizes and the constants."""
        return self.constants().table(f"{self.name}, K = {self.K}, dim = {self.dim}")

    @property
    def noisy(self) -> bool:
        """Whether the oracle draws anything."""
        return self.declared.sigma > 0

    @property
    def nonconvex(self) -> bool:
        """Whether a direction of negative curvature is known."""
        return any(witness.constant == "nonconvex" for witness in self.found)

    @property
    def size(self) -> int:
        """N, how many summands."""
        return int(self.rows.shape[0])

    def place(self, backend: Backend, dtype: np.dtype[Any]) -> Self:
        """Return the same problem with its arrays on the backend's device, in ``dtype``."""
        return replace(
            self,
            rows=placed(backend, dtype, self.rows),
            push=self.push and self.push.place(backend, dtype),
            xp=backend.xp,
        )

    def value(self, x: Any) -> Any:
        """Return f(x): shape [..., dim] to [...]."""
        z = self.stretch * x
        loss = self.model.loss(self._margins(z)).mean(axis=-1)
        return self.height * (loss + self.alpha * self.model.penalty(z).sum(axis=-1))

    def full_gradient(self, x: Any) -> Any:
        """Return grad f(x): shape [..., dim]; the pushes add up to zero over the workers."""
        z = self.stretch * x
        pull = self._weighted(self.model.slope(self._margins(z)) / self.size)
        return pull + self._penalty_slope(z)

    def gradient(self, x: Any) -> Any:
        """Return grad f^(k)(x_k) for every worker: shape [..., K, dim]."""
        slopes, rest = self.evaluate(x)
        return self._weighted(slopes / self.size) + rest

    def evaluate(self, x: Any) -> tuple[Any, Any]:
        """Return (ell' of every margin, [..., K, N]; what no sampling touches, [..., K, dim])."""
        z = self.stretch * x
        rest = self._penalty_slope(z)
        if self.push is not None:
            rest = rest + self.push.function(x, *self.push.arguments)
        return self.model.slope(self._margins(z)), rest

    def draw(self, stream: Any, shape: tuple[int, ...], b: float, dtype: np.dtype[Any]) -> Any:
        """Return weights of the summands for minibatches of b: shape [*shape, K, N].

        Raises
        ------
        UsageError
            For a real b with ``sampling`` minibatch.
        """
        if not self.noisy:
            return self.xp.zeros((*shape, self.K, 0), dtype=dtype)
        if self.sampling == "minibatch":
            if not float(b).is_integer():
                raise UsageError(
                    f"b is {b:g}, but sampling minibatch draws whole samples: round b (and B),"
                    " or choose sampling gaussian."
                )
            return self._counts(stream, (*shape, self.K), int(b)).astype(dtype) / dtype.type(b)
        xi = stream.standard_normal((*shape, self.K, self.size), dtype=dtype)
        xi -= xi.mean(axis=-1)[..., None]  # then the weights add up to 1, as counts/b do
        xi *= dtype.type(1 / math.sqrt(self.size * b))
        xi += dtype.type(1 / self.size)
        return xi

    def combine(self, evaluation: tuple[Any, Any], minibatch: Any) -> Any:
        """Return the minibatch gradients: the summands' gradients, weighted."""
        slopes, rest = evaluation
        weighted = slopes * minibatch if self.noisy else slopes / self.size
        return self._weighted(weighted) + rest

    def stochastic_gradient(self, x: Any, minibatch: Any) -> Any:
        """Return the minibatch gradients at x, shape [..., K, dim]."""
        return self.combine(self.evaluate(x), minibatch)

    def noise_variance(self, x: Any) -> Any:
        """Return E||noise||^2 of one sample per worker at x: shape [..., K]."""
        return self.noise_change(x, x, keep=0.0)

    def noise_change(self, x: Any, y: Any, keep: float = 1.0) -> Any:
        """Return E||n(x) - keep n(y)||^2 of one sample per worker: shape [..., K].

        With q_i = ell'_i(x) - keep ell'_i(y) it is the variance of q_i a_i over the summands.
        """
        q = self.evaluate(x)[0] - keep * self.evaluate(y)[0]
        if not self.noisy:
            return 0 * q.sum(axis=-1)
        square = (self.rows * self.rows).sum(axis=-1)
        second = (self.height * self.stretch) ** 2 * (q * q * square).mean(axis=-1)
        mean = self._weighted(q / self.size)
        return np.maximum(second - (mean * mean).sum(axis=-1), 0)  # 0 may round to below

    def constants(self, start: Floats | None = None) -> Constants:
        """Return L, sigma, zeta, f* >= 0 and an upper bound f(start) of the gap."""
        if start is None:
            return self.declared
        gap = float(self.value(np.asarray(start, dtype=np.float64)))
        return replace(self.declared, gap=gap, exact={**self.declared.exact, "gap": False})

    def witnesses(self) -> tuple[Witness, ...]:
        """Return where zeta, the lower end of the bracket of L and a negative curvature lie."""
        return self.found

    def _margins(self, z: Any) -> Any:
        """Return a_i . z: shape [..., dim] to [..., N].

        Point by point, so that a result does not depend on which points stand beside it.
        """
        return (z[..., None, :] @ self.rows.T)[..., 0, :]

    def _weighted(self, weights: Any) -> Any:
        """Return s r sum_i weights_i a_i: shape [..., N] to [..., dim]."""
        total = (weights[..., None, :] @ self.rows)[..., 0, :]
        return self.height * self.stretch * total

    def _penalty_slope(self, z: Any) -> Any:
        return self.height * self.stretch * self.alpha * self.model.penalty_slope(z)

    def _counts(self, stream: Any, shape: tuple[int, ...], b: int) -> Any:
        """Return how often each summand is drawn in b draws: shape [*shape, N]."""
        N = self.size
        if hasattr(stream, "multinomial"):
            return stream.multinomial(b, [1 / N] * N, size=shape)
        # a device generator without multinomial: draw the indices and count them
        index = stream.integers(0, N, size=(*shape, b))
        cell = self.xp.arange(math.prod(shape)).reshape(*shape, 1) * N + index
        return self.xp.bincount(cell.ravel(), minlength=math.prod(shape) * N).reshape(*shape, N)


def _build(
    model: Model,
    K: int,
    dim: int,
    *,
    L: float = 1.0,
    sigma: float = 0.5,
    zeta: float | None = None,
    heterogeneity: str = "sinusoid",
    het_frequency: float | None = None,
    sampling: str = "gaussian",
    alpha: float = 0.1,
    points: int = 32,
    data_seed: int = 0,
) -> FiniteSum:
    """Solve for the stretch r and the height s, and gather what is known of the result."""
    L, sigma = real("L", L, positive=True), real("sigma", sigma, minimum=0)
    alpha, points = real("alpha", alpha, minimum=0), whole("points", points)
    zeta, heterogeneity = resolve_zeta(
        K, zeta, choice("heterogeneity", heterogeneity, HETEROGENEITIES)
    )
    Z, w = waves(L, zeta, dim, heterogeneity, het_frequency)
    if points * dim > MOST_NUMBERS:
        raise UsageError(
            f"{points:.3g} points in dim = {dim} are {points * dim:.1e} numbers, but at most"
            f" {MOST_NUMBERS:.0e} are held: lower points or dim."
        )
    rows = model.data(points, dim, whole("data_seed", data_seed, 0))
    r, s, lower = solve(model, rows, alpha, L, sigma, Z)
    settings = {
        "L": L, "sigma": sigma, "zeta": zeta, "heterogeneity": heterogeneity, "het_curvature": Z,
        "het_frequency": w, "sampling": choice("sampling", sampling, SAMPLINGS), "alpha": alpha,
        "points": points, "data_seed": int(data_seed), "stretch": r, "height": s, "L_lower": lower,
    }  # fmt: skip
    problem = FiniteSum(
        model, K, dim, rows, alpha, height=s, stretch=r, sampling=sampling,
        declared=declare(L, lower, sigma, zeta), dials=settings,
        push=make_push(heterogeneity, K, dim, zeta, w, 0.0),
    )  # fmt: skip
    return replace(problem, found=_witnesses(problem, Z, w))


def _witnesses(problem: FiniteSum, Z: float, w: float) -> tuple[Witness, ...]:
    """Return the witnesses: L at 0 along the top eigenvector, zeta, a direction of curving down."""
    model, dim, scale = problem.model, problem.dim, problem.height * problem.stretch**2
    flat = problem.alpha * model.penalty_bend + Z / scale
    rows = problem.rows  # without noise L is that of the mean, with it that of the summands
    matrix = square_at_zero(model, rows, flat) if problem.noisy else rows.T @ rows
    top = np.linalg.eigh(matrix)[1][:, -1]
    widest = float(np.sqrt((rows**2).sum(axis=1).max()))
    step = STEP / max(1.0, problem.stretch * max(1.0, widest), w)
    pair = np.stack([-step / 2 * top, step / 2 * top])
    found = [Witness("L", pair, (0,), "two points at 0 along the top eigenvector")]
    if problem.declared.zeta > 0:
        push = HETEROGENEITIES[problem.dials["heterogeneity"]]
        crest = push.crest / w if w else 0.0
        how = f"the crest of the {push.name}" if w else "any point"
        found.append(Witness("zeta", np.full((1, dim), crest), (0, 1), how))
    dip = _dip(problem)
    return (*found, dip) if dip is not None else tuple(found)


def _dip(problem: FiniteSum) -> Witness | None:
    """Return the lowest curvature along the first coordinate where the others are far away.

    Far away every margin is large, the loss is straight and only the penalty curves. In one
    dimension nothing can be far away, and the line is scanned instead.
    """
    dim, r = problem.dim, problem.stretch
    line = np.concatenate([[problem.model.dip], np.geomspace(0.5, 100, 200)])
    points = np.full((2 * len(line), dim), FAR)
    points *= 1 + np.arange(dim) / (math.pi * dim)  # generic: not orthogonal to the data
    points[:, 0] = np.concatenate([line, -line])
    e = np.eye(dim)[0]
    h = 1e-4
    up, down = (problem.full_gradient((points + t * e) / r)[:, 0] for t in (h, -h))
    bend = (up - down) * r / (2 * h)
    if bend.min() >= -1e-6 * problem.declared.L:
        return None
    how = "where the margins switch the loss off, along the first coordinate"
    return Witness("nonconvex", np.stack([points[bend.argmin()] / r, e]), (), how)
