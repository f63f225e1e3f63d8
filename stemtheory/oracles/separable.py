"""Separable problems: one elementwise loss, with dials for L, sigma and zeta, in any dimension.

    grad f^(k)(x; xi)_j = c_j phi'(x_j) + push_k(x_j) + sum_m xi_m n_m(x_j)

with phi''(0) = 1 the peak curvature of the family's unit loss and c_j = c spectrum^(-j/(d-1)).
``rotate`` replaces x by Qx, Q = I - 2vv' a Householder reflection: every constant stays, the
separability goes.

Paper: eq. (Eq: Problem), Assumption (Ass: Lip_Smoothness), Assumption (Ass: Unbiased_Var_Grad).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Self

import numpy as np

from stemtheory.oracles.dials import AskedDials, Dials, refuse_unknown, resolve_dials
from stemtheory.oracles.heterogeneity import HETEROGENEITIES, Push, make_push, placed
from stemtheory.oracles.noise import NOISES, NoiseModel
from stemtheory.oracles.problem import Constants, Exactness, ProblemEntry, Witness
from stemtheory.oracles.usual import USUAL
from stemtheory.runtime import Backend, Floats, UsageError, real

# Distance of the two points of a witness of L, in units of the problem's smallest length: the
# curvature bends by about STEP^2/8 of itself, and the difference loses about 1e-16/STEP.
STEP = 2e-5


@dataclass(frozen=True)
class Family(ProblemEntry):
    """A unit loss phi with phi(0) = phi'(0) = 0 and phi''(0) = 1 its largest curvature.

    ``loss``, ``slope`` and ``curvature`` are elementwise in ufuncs of (x, weight, *shape); the
    slope has no numbers of its own (a compiler would widen float32 with them). ``shape`` turns
    (curvatures c_j, family dials) into the shape arguments; ``weights`` may lower the c_j of some
    coordinates, never that of the first; ``aliases`` renames dials. ``length`` is the smallest
    distance, given the shape, over which the curvature changes (1 if not given).
    ``dip`` is a coordinate at which the curvature is negative (None: convex), given the shape.
    ``height`` is sup phi (infinite if unbounded). ``flat`` says that the curvature is c everywhere.
    ``visible`` tells a reader what the loss is good for.
    """

    name: str
    summary: str
    formula: str
    loss: Callable[..., Any]
    slope: Callable[..., Any]
    curvature: Callable[..., Any]
    shape: Callable[[Floats, Mapping[str, float]], tuple[Any, ...]] = lambda c, own: ()
    weights: Callable[[Floats, Mapping[str, float]], Floats] = lambda c, own: c
    own_dials: Mapping[str, float | None] = field(default_factory=dict)
    aliases: Mapping[str, str] = field(default_factory=dict)
    dip: Callable[..., float | None] = lambda *shape: None
    length: Callable[..., float] = lambda *shape: 1.0
    height: float = math.inf
    flat: bool = False
    visible: str = ""

    def __call__(self, K: int = USUAL.K, dim: int = USUAL.dim, **dials: Any) -> Separable:
        """Return the problem of this family that meets the given dials."""
        return build(self, K, dim, dials)


ORACLE = ("full_gradient", "gradient", "evaluate", "draw", "combine", "stochastic_gradient")
"""The methods that tell what the family's and the noise's formulas say: others read these."""


@dataclass(frozen=True)
class Separable:
    """A problem whose coordinates do not interact (before ``rotate``)."""

    family: Family
    K: int
    dim: int
    settings: Dials
    own: Mapping[str, float]
    slope_arguments: tuple[Any, ...]
    push: Push | None
    noise: NoiseModel
    field_arguments: tuple[Any, ...]
    mirror: Any = None

    @property
    def name(self) -> str:
        """The catalogue name."""
        return self.family.name

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the sizes and the constants."""
        return self.constants().table(f"{self.name}, K = {self.K}, dim = {self.dim}")

    @property
    def noisy(self) -> bool:
        """Whether the oracle draws anything."""
        return self.settings.sigma > 0 or not self.noise.bounded

    @property
    def separable(self) -> bool:
        """Whether coordinates do not interact."""
        return self.mirror is None

    @property
    def overridden(self) -> str | None:
        """A method of the oracle that a class of one's own has; None where formulas say it all."""
        return next((name for name in ORACLE if self.has_own(name)), None)

    def has_own(self, name: str) -> bool:
        """Return whether a method of that name is not the one of this class."""
        return getattr(getattr(self, name), "__func__", None) is not getattr(Separable, name)

    @property
    def nonconvex(self) -> bool:
        """Whether f has a direction of negative curvature somewhere."""
        return self.family.dip(*self.slope_arguments[1:]) is not None

    @property
    def dials(self) -> dict[str, Any]:
        """All dials, given and derived."""
        return {**asdict(self.settings), **self.own}

    def place(self, backend: Backend, dtype: np.dtype[Any]) -> Self:
        """Return the same problem with its arrays on the backend's device, in ``dtype``."""
        slope, fields, mirror = (
            tuple(placed(backend, dtype, v) for v in values)
            for values in (self.slope_arguments, self.field_arguments, (self.mirror,))
        )
        push = self.push and self.push.place(backend, dtype)
        return replace(
            self, slope_arguments=slope, field_arguments=fields, push=push, mirror=mirror[0]
        )

    def value(self, x: Any) -> Any:
        """Return f(x): shape [..., dim] to [...]."""
        return self.family.loss(self._turn(x), *self.slope_arguments).sum(axis=-1)

    def full_gradient(self, x: Any) -> Any:
        """Return grad f(x): shape [..., dim]; the pushes add up to zero over the workers."""
        return self._turn(self.family.slope(self._turn(x), *self.slope_arguments))

    def gradient(self, x: Any) -> Any:
        """Return grad f^(k)(x_k) for every worker: shape [..., K, dim]."""
        return self._turn(self.evaluate(x)[0])

    def evaluate(self, x: Any) -> tuple[Any, ...]:
        """Return (gradient, n_1, ..., n_M) at x, shape [..., K, dim], in the unrotated frame."""
        y = self._turn(x)
        force = self.family.slope(y, *self.slope_arguments)
        if self.push is not None:
            force = force + self.push.function(y, *self.push.arguments)
        if not self.noisy:
            return (force,)
        return (force, *self.noise.fields(y, *self.field_arguments))

    def draw(self, stream: Any, shape: tuple[int, ...], b: float, dtype: np.dtype[Any]) -> Any:
        """Return minibatches: normals over sqrt(b), shape [*shape, M, K, dim] (M fields)."""
        terms = self.noise.terms if self.noisy else 0
        xi = stream.standard_normal((*shape, terms, self.K, self.dim), dtype=dtype)
        if b != 1:
            xi *= dtype.type(1 / math.sqrt(b))
        return xi

    def combine(self, evaluation: tuple[Any, ...], minibatch: Any) -> Any:
        """Return the minibatch gradients: gradient + sum_m xi_m n_m."""
        total = evaluation[0]
        for m, n in enumerate(evaluation[1:]):
            total = total + minibatch[..., m, :, :] * n
        return self._turn(total)

    def stochastic_gradient(self, x: Any, minibatch: Any) -> Any:
        """Return the minibatch gradients at x, shape [..., K, dim]."""
        return self.combine(self.evaluate(x), minibatch)

    def noise_variance(self, x: Any) -> Any:
        """Return E||noise||^2 of one sample per worker at x: shape [..., K]."""
        return self.noise_change(x, x, keep=0.0)

    def noise_change(self, x: Any, y: Any, keep: float = 1.0) -> Any:
        """Return E||n(x) - keep n(y)||^2 of one sample per worker: shape [..., K].

        The fields are independent, so it is the sum of their squared changes: a closed form.
        """
        total = x * 0  # shape [..., K, dim]: a constant field is a scalar
        for new, old in zip(self.evaluate(x)[1:], self.evaluate(y)[1:], strict=True):
            total = total + (new - keep * old) ** 2
        return total.sum(axis=-1)

    def constants(self, start: Floats | None = None) -> Constants:
        """Return L, sigma, zeta, f* and the gap f(start) - f* (its supremum without a start)."""
        dials, bounded, height = self.settings, self.noise.bounded, self.family.height
        exact: dict[str, Exactness] = {
            "L": math.isclose(dials.L, dials.attained, rel_tol=1e-9) and self._aligned(),
            "sigma": True if bounded else "unbounded",
            "zeta": True,
            "f_star": True,
            "gap": "unbounded" if start is None and height == math.inf else start is not None,
        }
        # f* = 0 for every family, so the gap is f itself, or its supremum over all starts
        if start is not None:
            gap = float(self.value(np.asarray(start, dtype=np.float64)))
        else:
            gap = float(np.sum(np.broadcast_to(self.slope_arguments[0], self.dim))) * height
        sigma = dials.sigma if bounded else math.inf
        return Constants(dials.L, sigma, dials.zeta, 0.0, gap, exact)

    def witnesses(self) -> tuple[Witness, ...]:
        """Return where each exact constant is attained, in the original coordinates."""
        dials, w, e = self.settings, self.settings.het_frequency, np.eye(self.dim)[0]
        shape = self.slope_arguments[1:]

        def at(name: str, points: list[Any], workers: tuple[int, ...], how: str) -> Witness:
            turned = np.stack([np.asarray(self._turn(p), dtype=np.float64) for p in points])
            return Witness(name, turned, workers, how)

        found = [at("f_star", [0 * e], (), "the minimiser")]
        if self._aligned():
            # all curvatures peak at 0, or where the sinusoid does; a chord across the peak bends
            # by about step^2/8 less, so it is short against the fastest wave and the shortest bend
            peak = -dials.het_phase / w if w else 0.0
            fastest = max(1.0, dials.noise_frequency, w)
            step = STEP * min(1 / fastest, self.family.length(*shape)) / 2
            pair = [peak * e - step * e, peak * e + step * e]
            found.append(at("L", pair, (0,), "two points at the peak of the curvature"))
        if self.noise.bounded and self.noisy:
            loud = np.full(self.dim, self.noise.loudest(dials.noise_frequency))
            found.append(at("sigma", [loud], (0,), "where the noise is loudest"))
        if dials.zeta > 0:
            push = HETEROGENEITIES[dials.heterogeneity]
            crest = (push.crest - dials.het_phase) / w if w else 0.0
            how = f"the crest of the {push.name}" if w else "any point"
            found.append(at("zeta", [np.full(self.dim, crest)], (0, 1), how))
        if (dip := self.family.dip(*shape)) is not None:
            found.append(at("nonconvex", [dip * e, e], (), "a point and a direction"))
        return tuple(found)

    def _aligned(self) -> bool:
        """Whether the peaks of the parts of L coincide, so that their sum is attained."""
        dials = self.settings
        shifted = HETEROGENEITIES[dials.heterogeneity].waves and dials.het_phase != 0
        return not shifted or (self.family.flat and self.noise.uniform)

    def _turn(self, x: Any) -> Any:
        """Return Qx, Q = I - 2vv' (its own inverse), or x without ``rotate``."""
        v = self.mirror
        if v is None:
            return x
        return x - (v + v) * (x * v).sum(axis=-1)[..., None]


def build(family: Family, K: int, dim: int, dials: Mapping[str, Any]) -> Separable:
    """Return the problem of ``family`` that meets ``dials``.

    Raises
    ------
    UsageError
        For unknown dials and for dials that do not add up.
    """
    dials = _rename(family, dials)
    own = {name: dials.pop(name, default) for name, default in family.own_dials.items()}
    refuse_unknown(family.name, dials, {*(f.name for f in fields(AskedDials)), *own})
    settings = resolve_dials(K, dim, **dials)
    spread = np.arange(dim) / max(dim - 1, 1)
    values = {
        name: real(name, value)
        for name, value in own.items()
        if value is not None or family.own_dials[name] is not None
    }
    # the largest curvature stands first: the witness of L lies along that coordinate
    c = family.weights(settings.curvature * settings.spectrum**-spread, values)
    # equal curvatures are one number, which a compiled kernel keeps in a register
    weight: Any = c if np.ptp(c) else settings.curvature
    noise, v = NOISES[settings.noise], np.arange(1.0, dim + 1)
    return Separable(
        family, K, dim, settings, own=values, slope_arguments=(weight, *family.shape(c, values)),
        push=make_push(
            settings.heterogeneity, K, dim, settings.zeta, settings.het_frequency,
            settings.het_phase,
        ),
        noise=noise,
        field_arguments=noise.arguments(
            settings.sigma, settings.noise_smoothness, settings.noise_frequency, dim,
            settings.modulation,
        ),
        mirror=v / np.linalg.norm(v) if settings.rotate else None,
    )  # fmt: skip


def _rename(family: Family, dials: Mapping[str, Any]) -> dict[str, Any]:
    """Replace a family's own names for dials by the common ones."""
    renamed = dict(dials)
    for alias, name in family.aliases.items():
        if alias in renamed:
            if name in renamed:
                raise UsageError(
                    f"{alias} and {name} are the same dial of {family.name}: give one."
                )
            renamed[name] = renamed.pop(alias)
    return renamed
