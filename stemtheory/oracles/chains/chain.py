"""A chain of links: problems on which what is found, and how fast, can be counted.

    f(x) = h F(x/lambda) with F of ``links``,    grad f^(k)_i = W h/lambda (links of worker k)
    g = grad f + (z/p - 1) (1 - leak) u,         u_i = Theta_i (what link i adds to grad_i f)

With all links at every worker W = 1; where each is at one of K, W = K. Theta_i is 1 where nothing
from coordinate i on is beyond lambda/4, so there the next coordinate shows with a coin's z = 1
alone, 1/p times as large. At most one u_i is not 0, so a sample's variance does not grow with the
chain. Started at 0, an algorithm that adds up what its oracle says finds one coordinate at a time.

Paper: rmk:complexity; Assumption (Ass: Lip_Smoothness); Assumption (Ass: Unbiased_Var_Grad).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from stemtheory.oracles.chains.bernoulli import Bernoulli
from stemtheory.oracles.chains.links import backward, below, below_by_hand, forward, height, unseen
from stemtheory.oracles.heterogeneity import placed
from stemtheory.oracles.problem import Constants, Witness
from stemtheory.runtime import Backend, Floats, Portable


@dataclass(frozen=True)
class Chain(Portable):
    """f(x) = h F(x/lambda), its links held by workers, its next coordinate hidden by a coin.

    ``tall`` is h, ``wide`` is lambda; ``holders`` has shape (K, links): W where a worker holds a
    link, else 0, or is None where all hold all. ``places`` are 1..links, ``shown`` is 1 - leak.
    """

    name: str
    K: int
    dim: int
    links: int
    tall: float
    wide: float
    holders: Any
    places: Any
    coin: Bernoulli | None
    shown: float
    declared: Constants
    dials: Mapping[str, Any]
    found: tuple[Witness, ...] = ()
    below: Any = below
    xp: Any = field(default=np, repr=False)

    separable = False
    nonconvex = True

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the sizes and the constants."""
        return self.constants().table(f"{self.name}, K = {self.K}, dim = {self.dim}")

    @property
    def noisy(self) -> bool:
        """Whether the oracle draws anything."""
        return self.coin is not None

    @property
    def rarest(self) -> float:
        """The probability with which a sample shows all: p of the coin."""
        return 1.0 if self.coin is None else self.coin.p

    def start(self) -> float:
        """Return where nothing is found: a run starts there unless told otherwise."""
        return 0.0

    def progress(self, x: Any) -> Any:
        """Return how many coordinates are found, the last that is not 0: [..., dim] to [...].

        What is no number, of a run that diverged, is not found.
        """
        return (self.places * (np.abs(x[..., : self.links]) > 0)).max(axis=-1)

    def place(self, backend: Backend, dtype: np.dtype[Any]) -> Self:
        """Return the same problem with its arrays on the backend's device, in ``dtype``."""
        distribution = below if backend.on_host else below_by_hand
        holders = placed(backend, dtype, self.holders)
        places = placed(backend, dtype, self.places)
        return replace(self, holders=holders, places=places, below=distribution, xp=backend.xp)

    def value(self, x: Any) -> Any:
        """Return f(x): shape [..., dim] to [...]."""
        return self.tall * height(self._scaled(x), self.below)

    def full_gradient(self, x: Any) -> Any:
        """Return grad f(x): shape [..., dim]; the workers' parts add up to it."""
        z = self._scaled(x)
        return self._filled(forward(z) + backward(z, self.below))

    def gradient(self, x: Any) -> Any:
        """Return grad f^(k)(x_k) for every worker: shape [..., K, dim]."""
        return self.evaluate(x)[0]

    def evaluate(self, x: Any) -> tuple[Any, ...]:
        """Return (gradient, and what the coin hides of it) at x, shape [..., K, dim]."""
        z = self._scaled(x)
        ahead, behind = forward(z), backward(z, self.below)
        if self.holders is not None:
            next_one = self.xp.concatenate([self.holders[:, 1:], 0 * self.holders[:, :1]], axis=-1)
            ahead, behind = self.holders * ahead, next_one * behind
        force = self._filled(ahead + behind)
        if self.coin is None:
            return (force,)
        return force, self._filled(self.shown * unseen(z) * ahead)

    def draw(self, stream: Any, shape: tuple[int, ...], b: float, dtype: np.dtype[Any]) -> Any:
        """Return minibatches: the mean weight of b coins per worker, shape [*shape, K, 1]."""
        if self.coin is None:
            return self.xp.zeros((*shape, self.K, 0), dtype=dtype)
        return self.coin.draw(stream, (*shape, self.K, 1), b, dtype)

    def combine(self, evaluation: tuple[Any, ...], minibatch: Any) -> Any:
        """Return the minibatch gradients: the gradient, and the hidden part by its weight."""
        force, *hidden = evaluation
        return force + minibatch * hidden[0] if hidden else force

    def stochastic_gradient(self, x: Any, minibatch: Any) -> Any:
        """Return the minibatch gradients at x, shape [..., K, dim]."""
        return self.combine(self.evaluate(x), minibatch)

    def noise_variance(self, x: Any) -> Any:
        """Return E||noise||^2 of one sample per worker at x: shape [..., K]."""
        return self.noise_change(x, x, keep=0.0)

    def noise_change(self, x: Any, y: Any, keep: float = 1.0) -> Any:
        """Return E||n(x) - keep n(y)||^2 of one sample per worker: shape [..., K].

        One weight multiplies all that is hidden: its variance times a squared change.
        """
        if self.coin is None:
            return (0 * x).sum(axis=-1)
        change = self.evaluate(x)[1] - keep * self.evaluate(y)[1]
        return self.coin.variance * (change * change).sum(axis=-1)

    def constants(self, start: Floats | None = None) -> Constants:
        """Return L, sigma, zeta, inf f and f(start) - inf f (its supremum without a start)."""
        if start is None:
            return self.declared
        gap = float(self.value(np.asarray(start, dtype=np.float64))) - self.declared.f_star
        return replace(self.declared, gap=gap)

    def witnesses(self) -> tuple[Witness, ...]:
        """Return where sigma is reached, and how far the search for L and zeta came."""
        return self.found

    def _scaled(self, x: Any) -> Any:
        return x[..., : self.links] / self.wide

    def _filled(self, slopes: Any) -> Any:
        """Return slopes by z as slopes by x, with 0 along the coordinates that have no link."""
        force = slopes * (self.tall / self.wide)
        idle = self.dim - self.links
        if not idle:
            return force
        nothing = np.broadcast_to(0 * force[..., :1], (*force.shape[:-1], idle))
        return np.concatenate([force, nothing], axis=-1)
