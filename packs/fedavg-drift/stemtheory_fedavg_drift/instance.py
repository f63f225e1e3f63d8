"""Two workers that hold local SGD off the minimum: the drift's cost from below, in closed form.

    f^(1) = L x^2/2 + (zeta/2) x,   f^(2) = -(zeta/2) x,   so f = L x^2/4,  x* = 0,

in one dimension, with additive noise of variance sigma^2. At x* the two gradients differ by zeta.
With u = eta L the round map of I steps is x -> (y_1 + y_2)/2, y_1 = q x - (1 - q) zeta/(2 L),
q = (1 - u)^I, y_2 = x + u I zeta/(2 L). So, from one round to the next,

    x - x_fix  ->  (1 + q)/2 (x - x_fix) + noise,   x_fix = (zeta/(2 L)) (u I/(1 - q) - 1),

and the noise has the variance (eta^2 sigma^2/(4 b)) (I + (1 - q^2)/(1 - (1 - u)^2)).

The curvatures differ, so gradients differ by zeta + L |x|, without a bound on all of R: zeta is
that at the minimum. In the spirit of B. Woodworth, K. K. Patel, N. Srebro (2020) and M. Glasgow,
H. Yuan, T. Ma (2022); the instance and its moments are derived here, and are not theirs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np

from stemtheory.oracles import Constants, ProblemMaker, Witness
from stemtheory.runtime import Floats, UsageError, real


@dataclass(frozen=True)
class TwoWorkers:
    """The instance as a problem; every member is a closed form."""

    L: float = 1.0
    zeta: float = 1.0
    sigma: float = 0.0
    name: str = field(default="two-workers", init=False)
    K: ClassVar[int] = 2
    dim: ClassVar[int] = 1
    nonconvex: ClassVar[bool] = False
    separable: ClassVar[bool] = False
    noisy: ClassVar[bool] = True  # it draws, if only zeros

    @property
    def dials(self) -> Mapping[str, Any]:
        """L, zeta at the minimum, and sigma."""
        return {"L": self.L, "zeta": self.zeta, "sigma": self.sigma}

    def constants(self, start: Floats | None = None) -> Constants:
        """Return the constants; zeta has no bound, since the curvatures differ."""
        gap = np.inf if start is None else float(self.value(np.asarray(start, float)))
        exact = {"L": True, "sigma": True, "zeta": "unbounded", "f_star": True}
        return Constants(self.L, self.sigma, np.inf, 0.0, gap, exact)  # type: ignore[arg-type]

    def witnesses(self) -> tuple[Witness, ...]:
        """Return where L, sigma and f* are attained."""
        ends, zero = np.array([[0.0], [1.0]]), np.zeros((1, 1))
        return (
            Witness("L", ends, (0,), "f^(1)'' = L"),
            Witness("sigma", zero, (0,), "noise is additive"),
            Witness("f_star", zero, (0, 1), "f'(0) = 0"),
        )

    def place(self, backend: Any, dtype: Any) -> Self:
        """Return the problem: it has numbers alone."""
        return self

    def value(self, x: Any) -> Any:
        """Return L x^2/4."""
        return self.L * (x * x).sum(axis=-1) / 4

    def full_gradient(self, x: Any) -> Any:
        """Return L x/2."""
        return self.L * x / 2

    def gradient(self, x: Any) -> Any:
        """Return L x + zeta/2 and -zeta/2."""
        first = np.array([[1.0], [0.0]], x.dtype)
        return first * x * self.L + (first - 0.5) * self.zeta

    def draw(self, stream: Any, shape: tuple[int, ...], b: float, dtype: Any) -> Any:
        """Return the mean noise of b samples for each worker."""
        return stream.standard_normal((*shape, self.K, 1), dtype=dtype) / b**0.5 * self.sigma

    def evaluate(self, x: Any) -> Any:
        """Return the gradients: the noise does not depend on x."""
        return self.gradient(x)

    def combine(self, evaluation: Any, minibatch: Any) -> Any:
        """Return gradients and noise."""
        return evaluation + minibatch

    def stochastic_gradient(self, x: Any, minibatch: Any) -> Any:
        """Return the minibatch gradients."""
        return self.combine(self.evaluate(x), minibatch)

    def noise_variance(self, x: Any) -> Any:
        """Return sigma^2."""
        return np.full(x.shape[:-1], self.sigma**2)

    def noise_change(self, x: Any, y: Any, keep: float = 1.0) -> Any:
        """Return (1 - keep)^2 sigma^2."""
        return (1 - keep) ** 2 * self.noise_variance(x)


def two_workers(K: int, dim: int | None, **dials: Any) -> TwoWorkers:
    """Return the instance, which has K = 2 and one dimension."""
    if K != 2 or dim not in (None, 1):
        raise UsageError(f"two-workers has K = 2 and dim = 1: give them, not K = {K}, dim = {dim}.")
    return TwoWorkers(**{name: real(name, value, minimum=0) for name, value in dials.items()})


ENTRY = ProblemMaker(two_workers)


def fixed_point(u: Any, I: Any) -> Any:
    """Return L x_fix/zeta."""
    return (u * I / -np.expm1(I * np.log1p(-u)) - 1) / 2


def grad_sq(u: float, I: int, rounds: int, noise: float) -> Floats:
    """Return E f'(x)^2 at the start of rounds 1..rounds, from x* = 0, at L = zeta = 1.

    ``noise`` is sigma^2/b.
    """
    q, centre = (1 - u) ** I, float(fixed_point(u, I))
    keep = ((1 + q) / 2) ** np.arange(rounds)
    new = u**2 * noise / 4 * (I + (1 - q**2) / (1 - (1 - u) ** 2))
    spread = new * (1 - keep**2) / (1 - ((1 + q) / 2) ** 2)
    return np.asarray((((1 - keep) * centre) ** 2 + spread) / 4)
