"""Both sides of (C) on quadratic workers, as exact quadratic forms of the start.

f_k = H_k x^2/2 + o_k x with stochastic gradient H_k x + o_k + (l_k x + s_k) xi + r_k xi', where xi
and xi' are independent of mean 0 and variance 1, obeys A1 iff H_k^2 + l_k^2 <= 1. The state
(x, d, o, s, r) moves linearly, so second moments follow backwards: W <- stage + A'WA + sum B'WB.

Workers come in classes of equal (H, l) and equal start. What noise does to a worker is then split
into its class's mean and the deviation from it, so that a class of a thousand costs as much as one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stemtheory.certificates.statement import Statement
from stemtheory.runtime import Floats


class Classes(NamedTuple):
    """How many workers each class has, their Hessian H, and l, by which noise grows with x."""

    sizes: Floats
    H: Floats
    l: Floats


class Forms(NamedTuple):
    """Quadratic forms of the start: left side; sigma^2 and zeta^2 at each point where A2 speaks.

    ``start`` maps the free numbers of a start, in which the forms are written, to the state.
    """

    left: Floats
    sigma: Floats
    zeta: Floats
    start: Floats


class _State:
    """The state's parts as linear functionals, one row for each class, and what follows of them."""

    def __init__(self, s: Statement, of: Classes) -> None:
        self.s, self.of, self.share = s, of, of.sizes / s.K
        self.x, self.d, self.o, self.noise, self.r = np.split(np.eye(5 * len(of.H)), 5)
        self.H, self.l = of.H[:, None], of.l[:, None]
        self.xbar = self.mean(self.x)
        self.at_mean = self.H * self.xbar + self.o  # gradients of the workers at xbar
        self.gradient = self.mean(self.at_mean)
        self.error = self.mean(self.d - self.H * self.x - self.o)

    def mean(self, rows: Floats) -> Floats:
        """Return the mean over workers of what has one row for each class."""
        return np.asarray(self.share @ rows)

    def all(self, row: Floats) -> Floats:
        """Return the same row for every class."""
        return np.tile(row, (len(self.share), 1))

    def squares(self, rows: Floats) -> Floats:
        """Return the mean over workers of the squares of rows, as a form."""
        return np.asarray((rows.T * self.share) @ rows)


def forms(s: Statement, lam: float, mu: float, of: Classes) -> Forms:
    """Return both sides of (C) for the worst start to be chosen: exact up to rounding.

    The origin is xbar_0, since quadratics may be moved. sigma_j^2 is the mean over workers of the
    variance at x_j^k, zeta_j^2 the mean over pairs of workers of their gradients' squared
    difference at xbar_j, both in expectation: the proof uses no more of A2.
    """
    z = _State(s, of)
    last = s.I if s.stem else s.I - 1  # the last point at which noise is drawn
    W = np.zeros((1 + 2 * (s.I + 1), *z.xbar.shape * 2))
    V = np.zeros((len(W), len(of.H), 2, 2))  # of deviations within a class, in x and d
    potential, apart = _potential(z, lam, mu)
    pairs = 2 * s.K / max(s.K - 1, 1)
    for j in range(s.I, -1, -1):
        if j < s.I:
            W, V = _back(z, j + 1, W, V)
            W[0] += float((1 - s.delta) * s.eta / 2) * np.outer(z.gradient, z.gradient)
        if j in (0, s.I):
            sign = 1 if j == s.I else -1
            W[0] += sign * potential
            V[0, :, 0, 0] += sign * apart
        if j <= last:
            W[1 + j] += z.squares(z.l * z.x + z.noise) + z.squares(z.r)
            V[1 + j, :, 0, 0] += z.share * of.l**2
        W[2 + s.I + j] += pairs * z.squares(z.at_mean - z.gradient)
    E = _starts(z)
    found = E.T @ W @ E
    return Forms(found[0], found[1 : 2 + last], found[2 + s.I :], E)


def _potential(z: _State, lam: float, mu: float) -> tuple[Floats, Floats]:
    """Return f(xbar) + lam |ebar|^2 + mu X/K as a form, and its part on deviations in x."""
    line = np.outer(z.xbar, z.mean(z.at_mean + z.o)) / 4  # f = <xbar, H xbar/2 + o>
    potential = line + line.T + lam * np.outer(z.error, z.error)
    return potential + mu * z.squares(z.x - z.xbar), mu * z.share


def _back(z: _State, j: int, W: Floats, V: Floats) -> tuple[Floats, Floats]:
    """Return forms of the state after step j as forms of that before it, in expectation."""
    s, eta, keep = z.s, float(z.s.eta), 1 - float(z.s.a)
    old, grad = z.x, z.H * z.x + z.o
    within = np.zeros((len(z.share), 2, 2))  # how deviations (x, d) move
    meets, last = j == s.averaged, j == s.I
    if s.stem:
        new = old - eta * z.d
        new = z.all(z.mean(new)) if meets else new
        d = z.H * new + z.o + keep * (z.d - grad)
        d = z.all(z.mean(d)) if last else d
        c, own = z.l * (new - keep * old) + (1 - keep) * z.noise, (1 - keep) * z.r
        within[:, 0] = [0, 0] if meets else [1, -eta]
        c_within = z.l * (within[:, 0] - [keep, 0])
        if not last:
            within[:, 1] = z.H * (within[:, 0] - [keep, 0]) + [0, keep]
        enters, factor, together = z.d, 1.0, last
    else:
        new, d = old - eta * grad, z.d
        new = z.all(z.mean(new)) if last else new
        c, own = z.l * old + z.noise, z.r
        c_within = z.l * [1, 0]
        within[:, 0, 0] = 0 if last else 1 - eta * z.of.H
        enters, factor, together = z.x, -eta, last
    A = np.vstack([new, d, z.o, z.noise, z.r])
    N = z.share[:, None] * enters.sum(axis=0) if together else enters
    alone = 0.0 if together else V[:, :, int(s.stem), int(s.stem)]
    n = z.of.sizes
    draws = s.batch(j) if s.stem else s.b
    gain = np.einsum("gi,fik,gk->fg", N, W, N) / n + (1 - 1 / n) * alone
    gain *= factor**2 / draws
    noisy = np.einsum("gi,gk->gik", c, c) + np.einsum("gi,gk->gik", own, own)
    back = A.T @ W @ A + np.tensordot(gain, noisy, axes=1)
    deviating = np.einsum("gi,gk->gik", c_within, c_within)
    V = within.transpose(0, 2, 1) @ V @ within + gain[:, :, None, None] * deviating
    return back, V


def _starts(z: _State) -> Floats:
    """Return the legal starts: o, s, r of each class, ebar_0 and, literal, x_0 of mean 0.

    Offsets are their mean and deviations from it. The last class makes up for the others.
    """
    zero = np.zeros_like(z.x)
    apart = np.eye(len(z.share))[:-1] - np.outer(
        z.share[:-1] / z.share[-1], np.eye(len(z.share))[-1]
    )
    columns = [z.o.sum(axis=0), *(apart @ z.o), *z.noise, *z.r]
    if z.s.stem:
        columns.append(zero[0])
    if z.s.literal:
        columns += list(apart @ z.x)
    E = np.array(columns).T
    if z.s.stem:  # d_0 = ebar_0 + the mean of local gradients
        d = z.mean(z.H * z.x + z.o) @ E
        d[1 + len(apart) + 2 * len(z.share)] = 1.0
        E += np.outer(z.d.sum(axis=0), d)
    return E
