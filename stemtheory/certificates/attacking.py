"""The worst legal instance of a certified round that is found, by exact second moments.

Workers f_k = H_k x^2/2 + o_k x, the sample noise (l_k x + s_k) xi + r_k xi', H_k^2 + l_k^2 <= 1.
The state (x, d, o, s, r) moves linearly, so each expectation is a quadratic form of the start, by
the recursion W <- A' W A + sum B' W B, and for given (H, l) the worst start is an eigenvector.
A ratio above 1 would refute the certificate, since that is proved for these instances too.

The certificate's proof uses the mean over workers of the variance at the two points of a draw, and
the mean over pairs of the squared difference of gradients at xbar_j; so may the attack.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import eigh
from scipy.optimize import Bounds, differential_evolution

from stemtheory.certificates.statement import Statement
from stemtheory.runtime import Floats, UsageError, generator

MOST_WORKERS = 16  # the state has five numbers a worker
TINY = 1e-10  # of the start's size, on the right: else rounding makes 0/0 look like a violation
# H of two groups, their l as shares of what A1 allows, and the share of half of the workers that is
# of the second group.
BOX = np.array([(-1, 1), (-1, 1), (0, 1), (0, 1), (0, 1)], dtype=float)
CORNERS = [np.array([first, second, 0.0, 0.0, 1.0]) for first in (-1, 1) for second in (-1, 0, 1)]
REWEIGHTED = 6  # times that the weights of the draws are moved towards the largest


class Worst(NamedTuple):
    """The largest left over right, the slopes H and l there, and how many were tried."""

    ratio: float
    H: list[float]
    l: list[float]
    evaluations: int


def attack(certificate: Mapping[str, Any], seed: int = 0, generations: int = 25) -> Worst:
    """Return the worst instance found by a search over two groups of equal workers.

    Raises
    ------
    UsageError
        For more workers than it can follow.
    """
    told = certificate["statement"]
    if told["K"] > MOST_WORKERS:
        raise UsageError(
            f"K is {told['K']}, but an attack follows every worker and takes at most"
            f" {MOST_WORKERS}: give a certificate for fewer."
        )
    s = Statement(
        told["algorithm"],
        told["reading"],
        *(told[name] for name in ("I", "K", "b", "m")),
        *(Fraction(told[name]) for name in ("eta", "a", "delta")),
    )
    round_ = _Moments(s, told, certificate["multipliers"])

    def badness(point: Floats) -> float:
        return -round_.ratio(*_slopes(s.K, point))

    found = differential_evolution(
        badness,
        Bounds(*np.transpose(BOX)),
        x0=min(CORNERS, key=badness),
        rng=generator([seed, s.I, s.K]),
        maxiter=generations,
        popsize=6,
        tol=1e-6,
        polish=False,
    )
    H, l = _slopes(s.K, found.x)
    return Worst(-float(found.fun), H.tolist(), l.tolist(), int(found.nfev) + len(CORNERS))


def _slopes(K: int, point: Floats) -> tuple[Floats, Floats]:
    """Return H and l of all workers, of which a share is of the second group."""
    first, second, one, other, share = map(float, point)
    there = np.arange(K) < round(share * (K // 2))
    H = np.where(there, second, first)
    return H, np.sqrt(1 - H * H) * np.where(there, other, one)


class _Moments:
    """The expectations of one round as quadratic forms of its start."""

    def __init__(self, s: Statement, told: Mapping[str, Any], y: Mapping[str, str]) -> None:
        self.s, K = s, s.K
        self.eta, self.a = float(s.eta), float(s.a)
        self.lam, self.mu, self.C_sigma, self.C_zeta = (
            float(Fraction(told[name])) for name in ("lambda", "mu", "C_sigma", "C_zeta")
        )
        self.y = {name: float(Fraction(text)) for name, text in y.items()}
        self.x, self.d, self.o, self.s_, self.r = np.eye(5 * K).reshape(5, K, 5 * K)
        self.J = np.full((K, K), 1 / K)
        start = [self.x if s.literal else self.x.sum(axis=0)[None], self.o, self.s_, self.r]
        start += [self.d.sum(axis=0)[None]] if s.stem else []
        self.start = np.concatenate(start).T

    def ratio(self, H: Floats, l: Floats) -> float:
        """Return left over right at the worst start that is found for these slopes.

        The right side takes the largest variance and heterogeneity of all draws. Any weighted mean
        of them is at most that, and has an eigenvector; the weights are moved to what is large.
        """
        left, *families = self.forms(H, l)
        size = TINY * np.eye(len(left))
        constants = (self.C_sigma, self.C_zeta)
        weights = [self._weights(forms, C) for forms, C in zip(families, constants, strict=True)]
        best = 0.0
        for _ in range(REWEIGHTED):
            right = size.copy()
            for forms, w in zip(families, weights, strict=True):
                right += sum(w[name] * W for name, W in forms.items())
            z = eigh(left, right, subset_by_index=[len(left) - 1] * 2)[1][:, 0]
            whole = float(z @ size @ z)
            for forms, w, C in zip(families, weights, constants, strict=True):
                met = {name: max(float(z @ W @ z), 0.0) for name, W in forms.items()}
                most = max(met.values(), default=0.0)
                whole += C * most
                for name, value in met.items():
                    w[name] *= 0.1 + (value / most if most > 0 else 1.0)
                scale = C / sum(w.values()) if sum(w.values()) > 0 else 1.0
                w.update({name: scale * value for name, value in w.items()})
            best = max(best, float(z @ left @ z) / whole)
        return best

    def _weights(self, forms: Mapping[str, Floats], C: float) -> dict[str, float]:
        """Return the certificate's multipliers of these rows, and a little for every row."""
        found = {name: self.y.get(name, 0.0) + 1e-3 * C for name in forms}
        total = sum(found.values())
        return {name: C * value / total for name, value in found.items()} if total else found

    def forms(self, H: Floats, l: Floats) -> tuple[Any, dict[str, Floats], dict[str, Floats]]:
        """Return what (C) bounds, every draw's variances, and the heterogeneity at every mean."""
        s, I = self.s, self.s.I
        noise = l[:, None] * self.x + self.s_
        variance = (noise.T @ noise + self.r.T @ self.r) / s.K
        at_mean = H[:, None] * (self.J @ self.x) + self.o
        apart = at_mean - self.J @ at_mean
        zeta = 2 * s.K / (s.K - 1) * apart.T @ apart / s.K if s.K > 1 else 0 * variance
        slope = at_mean.mean(axis=0)
        stage = (1 - float(s.delta)) * self.eta / 2 * np.outer(slope, slope)
        V = self._potential(H)
        left = V
        for j in range(I, 0, -1):
            left = self._back(left, j, H, l) + stage
        sigmas: dict[str, Floats] = {}
        for j in s.draws:
            sigmas[f"var:{j}"] = self._to_start(variance, j, H, l)
            if s.stem:
                sigmas[f"var-old:{j}"] = self._to_start(variance, j - 1, H, l)
        zetas = {f"het:{j}": self._to_start(zeta, j, H, l) for j in range(I + 1)} if s.K > 1 else {}
        return self.start.T @ (left - V) @ self.start, sigmas, zetas

    def _potential(self, H: Floats) -> Any:
        """Return V as a form of the state."""
        xbar, o = self.x.mean(axis=0), self.o.mean(axis=0)
        f = H.mean() / 2 * np.outer(xbar, xbar) + (np.outer(xbar, o) + np.outer(o, xbar)) / 2
        if not self.s.stem:
            return f
        e = (self.d - H[:, None] * self.x - self.o).mean(axis=0)
        apart = self.x - self.J @ self.x
        return f + self.lam * np.outer(e, e) + self.mu / self.s.K * apart.T @ apart

    def _to_start(self, W: Any, j: int, H: Floats, l: Floats) -> Any:
        for step in range(j, 0, -1):
            W = self._back(W, step, H, l)
        return self.start.T @ W @ self.start

    def _back(self, W: Any, j: int, H: Floats, l: Floats) -> Any:
        """Return the form before step j whose value is E of W after it."""
        s, a = self.s, self.a
        gradient = H[:, None] * self.x + self.o
        new = self.x - self.eta * (self.d if s.stem else gradient)
        mean = self.J if j == s.averaged else np.eye(s.K)
        new = mean @ new
        if s.stem:
            d = H[:, None] * new + self.o + (1 - a) * (self.d - gradient)
            noise = l[:, None] * (new - (1 - a) * self.x) + a * self.s_
            own, into, b = a * self.r, self.d, s.batch(j)
        else:
            d, noise, own = self.d, l[:, None] * self.x + self.s_, self.r
            into, b = -self.eta * (mean @ self.x), s.batch(j - 1)
        A = np.concatenate([new, d, self.o, self.s_, self.r])
        reach = np.einsum("ki,ij,kj->k", into, W, into) / b
        return A.T @ W @ A + (noise * reach[:, None]).T @ noise + (own * reach[:, None]).T @ own
