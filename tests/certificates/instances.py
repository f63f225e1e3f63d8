"""Random nonlinear workers over a finite probability space, run by the algorithm's own words.

Worker k has the gradient h x + c_k sin(w_k x + s_k) + o_k, and a sample adds the noise
+-(beta_k sin x + tau_k); the mean of b signs has b + 1 values. A past F_0 of a few outcomes draws
the start. Every expectation is a finite sum, so that what must hold holds to rounding.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from stemtheory.certificates.statement import Statement
from stemtheory.runtime import Floats, Ints

PAST = 3  # outcomes of F_0
LARGEST = 4_000  # outcomes in all


@dataclass(frozen=True)
class Workers:
    """K workers, their constants and the random start; arrays of shape (K,) and (outcomes, K)."""

    h: float
    c: Floats
    w: Floats
    s: Floats
    o: Floats
    beta: Floats
    tau: Floats

    def value(self, x: Floats) -> Floats:
        return self.h * x * x / 2 - self.c / self.w * np.cos(self.w * x + self.s) + self.o * x

    def gradient(self, x: Floats) -> Floats:
        return self.h * x + self.c * np.sin(self.w * x + self.s) + self.o

    def noise(self, x: Floats) -> Floats:
        return self.beta * np.sin(x) + self.tau

    @property
    def sigma(self) -> float:
        """The least constant of A2 that is seen without a search."""
        return float(np.max(np.abs(self.beta) + np.abs(self.tau)))

    @property
    def zeta(self) -> float:
        """As sigma, over pairs of workers."""
        pairs = [(k, l) for k in range(len(self.o)) for l in range(k)]
        c = np.abs(self.c)
        return max((abs(self.o[k] - self.o[l]) + c[k] + c[l] for k, l in pairs), default=0.0)


@dataclass
class Trajectory:
    """What one round does in every outcome: probabilities, and vectors by name, (outcomes, K)."""

    p: Floats
    vectors: dict[str, Floats] = field(default_factory=dict)
    values: dict[str, float] = field(default_factory=dict)
    largest: float = 0.0  # function value met

    def M(self, u: Floats, v: Floats) -> float:
        return float(self.p @ (u.mean(axis=1) * v.mean(axis=1)))

    def D(self, u: Floats, v: Floats) -> float:
        apart = [x - x.mean(axis=1, keepdims=True) for x in (u, v)]
        return float(self.p @ (apart[0] * apart[1]).mean(axis=1))


def workers(K: int, rng: np.random.Generator) -> Workers:
    """Return workers with A1 at L = 1: (|h| + |c_k w_k|)^2 + beta_k^2 <= 1."""
    angle = rng.uniform(0, math.pi / 2, size=K)
    h = rng.uniform(-1, 1) * math.cos(angle.max())
    w = rng.uniform(0.3, 3, size=K)
    c = rng.choice([-1, 1], size=K) * (np.cos(angle) - abs(h)) / w
    o, s, tau = rng.normal(size=(3, K))
    return Workers(h, c, w, s, o * rng.choice([0, 1, 3]), np.sin(angle), tau * rng.choice([0, 1]))


def outcomes(s: Statement) -> int:
    """Return the size of the probability space."""
    return PAST * math.prod(int((s.batch(j) + 1) ** s.K) for j in s.draws)


def space(s: Statement, rng: np.random.Generator) -> tuple[Floats, list[Floats], Ints]:
    """Return probabilities, the mean signs of every draw, (outcomes, K), and the past's outcome."""
    p, past = rng.dirichlet(np.ones(PAST)), np.arange(PAST)
    signs: list[Floats] = []
    for j in s.draws:
        b = s.batch(j)
        of_sign = np.array([math.comb(b, n) / 2**b for n in range(b + 1)])
        sign = np.array([2 * n / b - 1 for n in range(b + 1)])
        grid = np.indices((b + 1,) * s.K).reshape(s.K, -1)
        count = grid.shape[1]
        signs = [np.repeat(z, count, axis=0) for z in signs]
        signs.append(np.tile(sign[grid].T, (len(p), 1)))
        past = np.repeat(past, count)
        p = np.repeat(p, count) * np.tile(np.prod(of_sign[grid], axis=0), len(p))
    return p, signs, past


def mean(x: Floats) -> Floats:
    """Return the mean over workers, at every worker."""
    return np.broadcast_to(x.mean(axis=1, keepdims=True), x.shape)


def play(s: Statement, f: Workers, rng: np.random.Generator) -> Trajectory:
    """Run one round from a random start, and name what the round's vectors mean."""
    p, signs, past = space(s, rng)
    p = p.astype(np.longdouble) / p.astype(np.longdouble).sum()  # so that rounding is out of sight
    noise = dict(zip(s.draws, signs, strict=True))
    start = rng.normal(size=(PAST, s.K)).astype(np.longdouble) * rng.choice([0.1, 1, 4])
    x = start[past] if s.literal else mean(start[past])
    d = mean(f.gradient(start)[past]) + rng.normal(size=(PAST, 1))[past] * rng.choice([0, 0.1, 1])
    d = np.broadcast_to(d, x.shape)
    xs, ds, t = [x], [d], Trajectory(p)
    for j in range(1, s.I + 1):
        if not s.stem:
            z = noise[j - 1]
            d = f.gradient(x) + z * f.noise(x)
            t.vectors[f"P{j - 1}"] = z * f.noise(x)
        new = x - float(s.eta) * d
        if j == s.averaged:
            new = mean(new)
        if s.stem:
            z = noise[j]
            old = f.gradient(x) + z * f.noise(x)
            d = f.gradient(new) + z * f.noise(new) + (1 - float(s.a)) * (d - old)
            t.vectors[f"P{j}"] = z * f.noise(new)
            t.vectors[f"D{j}"] = z * (f.noise(new) - f.noise(x))
        x = new
        xs.append(x)
        ds.append(d)
    _name(s, f, t, xs, ds)
    return t


def _name(s: Statement, f: Workers, t: Trajectory, xs: list[Floats], ds: list[Floats]) -> None:
    v, origin = t.vectors, mean(xs[0])
    for j, x in enumerate(xs):
        v[f"x{j}"], v[f"xbar{j}"] = x - origin, mean(x) - origin
        v[f"G{j}"], v[f"B{j}"] = f.gradient(x), f.gradient(mean(x))
        v[f"U{j}"] = v[f"G{j}"] - v[f"B{j}"]
        if j:
            v[f"H{j}"] = v[f"B{j}"] - v[f"B{j - 1}"]
        for point, at in ((f"m{j}", mean(x)), (f"l{j}", x)):
            rise = f.value(at) - f.value(origin) - f.gradient(origin) * (at - origin)
            t.values[point] = float(t.p @ rise.mean(axis=1))
    v["g0"], v["X0"] = v["B0"], v["x0"]
    v["e0"], v["ebar"] = mean(ds[0] - v["G0"]), mean(ds[-1] - v[f"G{s.I}"])
    t.largest = max(float(np.abs(f.value(x)).max()) for x in (*xs, origin))
    gain = float(t.p @ (f.value(mean(xs[-1])) - f.value(origin)).mean(axis=1))
    squares = sum(t.M(v[f"B{j}"], v[f"B{j}"]) for j in range(s.I))
    t.values["descent"] = gain + (1 - float(s.delta)) * float(s.eta) / 2 * squares
