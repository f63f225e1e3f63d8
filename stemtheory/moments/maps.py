"""One step of an algorithm on a linear problem, as a map of all second moments.

Workers that are alike are exchangeable, so a group of n of them is described by its mean z_g of
(x, x_prev, d) and by how far its members are from that mean, in the mean over members. Where their
offsets differ, how far an offset is from its mean counts among those variables: (o, x, x_prev, d).
With z = (1, z_1, ..., z_G) the state
is E[z z'], the within-group covariance D_g of every group, and the running sum of
E||grad f(xbar)||^2. A step z -> A z has A = A_0 + eta A_1 + a A_2, and independent noise whose
variance is a quadratic form of the state: the map of the state is a polynomial in (eta, a) whose
six matrices, of 1, eta, a, eta^2, eta a and a^2, are found once. Models whose groups have the same
sizes share all but numbers: ``...`` in a shape stands for the axis that counts them, or for none.

Three things keep the digits of rates such as 1 - a with a = 1e-12 in powers of 1e12: maps are kept
as *increments*, map minus identity; d is stored as its error e = d - grad f^(k)(x_prev), which
follows e -> (1 - a) e + noise without a difference of large numbers; and groups are stored as their
mean and the differences from it, as the mean of e is far smaller than what groups differ by.

Paper: Algorithm (Algo_DR-STORM_batch), Algorithm (Algo_FedAvg).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from stemtheory.moments.layout import StateLayout, half, layout, upper
from stemtheory.moments.linear_model import Coefficients
from stemtheory.moments.rows import ROWS, VARIABLES, StepRows, WorkerGradient
from stemtheory.runtime import Floats

ROUNDING = 16 * np.finfo(float).eps  # of a product of three small matrices
FIRST, SECOND = np.triu_indices(3)  # the factors of every monomial among (1, eta, a)


@dataclass(frozen=True)
class StepMap:
    """The map of the state: ``still`` without noise and ``noise`` of one sample, [6, ..., m, m]."""

    still: Floats
    noise: Floats

    def increment(self, eta: ArrayLike, a: ArrayLike, samples: ArrayLike) -> Floats:
        """Return map - identity, those of eta in front of ``...``; ``samples`` is b, or m b."""
        eta, a, samples = np.broadcast_arrays(
            *(np.asarray(v, dtype=np.float64) for v in (eta, a, samples))
        )
        # A state is quadratic in z, and a step linear in (1, eta, a): six monomials, six matrices
        powers = np.stack([np.ones_like(eta), eta, a], axis=-1)
        flat = powers[..., FIRST] * powers[..., SECOND]
        total = flat @ self.still.reshape(6, -1)
        # a mean of b samples has 1/b of the variance, whatever b: the only place where b enters
        total += (flat / samples[..., None]) @ self.noise.reshape(6, -1)
        return np.asarray(total.reshape(*eta.shape, *self.still.shape[1:]))

    @property
    def links(self) -> Any:
        """Whether a moment (column) enters another (row), at some eta, a and b, shape [m, m]."""
        return np.any([self.still, self.noise], axis=tuple(range(self.still.ndim - 1)))

    def part(self, at: Any) -> StepMap:
        """Return the map of the moments ``at`` alone, which no others enter."""
        rows, columns = np.ix_(at, at)
        return StepMap(self.still[..., rows, columns], self.noise[..., rows, columns])


def step_map(
    model: Coefficients, algorithm: str, sync: str, synchronises: bool, *, bounded: bool = False
) -> StepMap:
    """Return the map of one step; ``sync`` is STEM's reading of the synchronisation.

    ``bounded`` is for stability: positions are counted from xbar, which then stands alone in z[1],
    and what Assumption 2 bounds at xbar, the differences (H_k - mean H) xbar and the noise L_n xbar
    in STEM's term a g(x; xi), is left out: by the assumption it is a forcing and no feedback.

    Paper: Ass: Unbiased_Var_Grad.
    """
    form, V = layout(model, algorithm), VARIABLES[algorithm]
    rows_of, mean_H = ROWS[algorithm], model.mean_gradient[0]
    averaged = _averaged(algorithm, sync) if synchronises else ()
    into, back = basis(form, model, from_mean=bounded)
    # e belongs to a gradient at the worker's own point, so averages are taken of d, before ``into``
    post = into @ _mean_post(form, model.shares, averaged)
    m, pairs, several = form.size, half(form.N), model.slope.shape
    still, noise = np.zeros((6, *several, m, m)), np.zeros((6, *several, m, m))
    A = np.zeros((3, *several, form.N, form.N))
    A[0, ..., 0, 0] = 1
    for g, (H, o, size) in enumerate(zip(model.H, model.o, model.sizes, strict=True)):
        worker = WorkerGradient(H, o, H - mean_H, 1.0) if bounded else WorkerGradient(H, o)
        rows = rows_of(form.view(g, model.shares), worker, sync, synchronises)
        A[..., form.place(g), :] = np.stack(rows.new, axis=-2)
        slope = (rows.slope[..., None, :] @ back)[..., 0, :]
        variance = _variance(form, rows._replace(slope=slope), model)
        if g in form.covariance:
            own = form.covariance[g]
            view, known = form.deviation_view(g), int(g in form.offset)
            apart = rows_of(view, WorkerGradient(H, 0 * o + known), sync, synchronises)
            moved = np.zeros((3, *several, V + known, V + known))
            moved[0, ..., :known, :known] = 1
            moved[..., known:, :] = np.stack(apart.new, axis=-2)
            inward, outward = _deviation_basis(V, H, known)
            # what is averaged is the same in all workers: nothing of it is left within a group
            after = np.diag([1.0] * known + [float(v not in averaged) for v in range(V)])
            still[..., own, own] = _congruence(inward @ after @ moved @ outward)
            slope = (apart.slope[..., None, :] @ outward)[..., 0, :]
            variance[..., own] = model.slope[..., None] ** 2 * _form(slope)
            # n independent draws have 1/n of their variance in the mean, and the rest around it
            received = _half_outer((inward @ after)[..., -1]) * (1 - 1 / size)
            noise[..., own, :] += received[..., None] * variance[..., None, :]
        received = _half_outer(post[..., form.place(g).stop - 1]) / size
        noise[..., :pairs, :] += received[..., None] * variance[..., None, :]
    still[..., :pairs, :pairs] = _congruence(_without_rounding(post, A, back))
    # The increment: 1 - 1e-12 would keep four digits of the rate. The last row only adds up.
    still[0] -= np.eye(m)
    still[0, ..., -1, :] = gradient_form(form, model)
    return StepMap(still, noise)


def basis(
    form: StateLayout, model: Coefficients, *, from_mean: bool = False
) -> tuple[Floats, Floats]:
    """Return the change of z from d to e = d - H x_prev - o, and its inverse.

    The first group then stands for the mean over all workers and the others for how far they are
    from it: e_g is as large as zeta, and its mean, of which E||grad f||^2 is made, may be 1e-6.
    With ``from_mean`` positions are counted from xbar first instead, and xbar itself is z[1].
    """
    centre, error = np.eye(form.N), np.zeros((*model.slope.shape, form.N, form.N))
    error += np.eye(form.N)
    for g, (H, o) in enumerate(zip(model.H, model.o, strict=True)):
        at = form.place(g)
        if from_mean:
            ends = [form.place(h).start for h in range(form.groups)]
            centre[at.start : max(at.stop - 1, at.start + 1), ends] -= model.shares
        if form.variables == 3:
            error[..., at.stop - 1, 0], error[..., at.stop - 1, at.stop - 2] = -o, -H
    if from_mean:
        centre[1] = 0
        centre[1, [form.place(h).start for h in range(form.groups)]] = model.shares
    # the inverse of ``error`` only flips signs: exact
    restore = 2 * np.eye(form.N) - error
    if from_mean:
        return error @ centre, np.linalg.inv(centre) @ restore
    into, back = _means_and_differences(form, model.shares)
    return into @ error, restore @ back


def _means_and_differences(form: StateLayout, shares: Floats) -> tuple[Floats, Floats]:
    """The change of z_1, ..., z_G to their mean and z_g - mean (g > 1), and its inverse."""
    mixed, apart = np.eye(form.groups), np.eye(form.groups)
    # the mean stands for the first group, whose own distance follows from those of the others
    mixed[1:] -= shares
    mixed[0] = shares
    apart[:, 0] = 1
    apart[0, 1:] = -shares[1:] / shares[0]
    into, back = np.eye(form.N), np.eye(form.N)
    into[1:, 1:], back[1:, 1:] = (np.kron(m, np.eye(form.variables)) for m in (mixed, apart))
    return into, back


def _without_rounding(into: Floats, A: Floats, back: Floats) -> Floats:
    """into A back, where what is 0 but for rounding is 0: the mean must not see the differences."""
    # what the product could be without cancellation: below its rounding nothing is told from 0
    scale = abs(into) @ abs(A) @ abs(back)
    product = into @ A @ back
    return np.asarray(np.where(abs(product) > ROUNDING * scale, product, 0.0))


def gradient_form(form: StateLayout, model: Coefficients) -> Floats:
    """Return the row of the state that is E||grad f(xbar)||^2, shape [..., m]."""
    H, o = model.mean_gradient
    gradient = np.zeros((*H.shape, form.N))
    gradient[..., 0] = o
    for g, share in enumerate(model.shares):
        gradient[..., form.place(g).start] = H * share
    gradient = (gradient[..., None, :] @ basis(form, model)[1])[..., 0, :]
    row = np.zeros((*H.shape, form.size))
    row[..., : half(form.N)] = _symmetric(gradient, gradient)
    return row


def first_state(model: Coefficients, algorithm: str, x1: Floats | float, B: ArrayLike) -> Floats:
    """Return the state at t = 1, those of B first: x_1 common, d_1 a mean of B samples per worker.

    ``x1`` is a number, or one for each of several models.
    """
    form = layout(model, algorithm)
    H, o = model.mean_gradient
    samples, into = np.asarray(B, dtype=np.float64), basis(form, model)[0]
    own = [x1] if algorithm == "fedavg" else [x1, x1, H * x1 + o]
    z = np.stack(np.broadcast_arrays(np.ones_like(H), *own * form.groups), axis=-1)
    state = np.zeros((*samples.shape, *H.shape, form.size))
    state[..., : half(form.N)] = _half_outer((into @ z[..., None])[..., 0])
    for g in form.offset:
        inward, _ = _deviation_basis(form.variables, model.H[g], 1)
        state[..., form.covariance[g]] = model.spread[g, ..., None] ** 2 * _half_outer(
            inward[..., 0]
        )
    if algorithm == "stem":
        # d_1 is the mean over workers of B samples each: one error, common to all of them
        d = _half_outer(into[..., 3::3].sum(axis=-1))
        variance = (model.slope * x1) ** 2 + model.level**2
        counted = samples.reshape(samples.shape + (1,) * H.ndim) * model.K
        state[..., : half(form.N)] += (variance / counted)[..., None] * d
    return state


def compose(later: Floats, earlier: Floats) -> Floats:
    """Return the increment of (1 + later)(1 + earlier)."""
    return np.asarray(later + earlier + later @ earlier)


def powers_of_two(increment: Floats, count: int) -> list[Floats]:
    """Return the increments of the 1st, 2nd, 4th, ... power, ``count`` of them."""
    found = [increment]
    while len(found) < count:
        found.append(compose(found[-1], found[-1]))
    return found


def power(increment: Floats, n: int) -> Floats:
    """Return the increment of the n-th power, n >= 0."""
    total = np.zeros_like(increment)
    # Powers of one map commute, so the order of factors is free; the increments of a contraction
    # grow to -1 and never through a difference of large numbers.
    while n:
        if n & 1:
            total = compose(increment, total)
        n >>= 1
        if n:
            increment = compose(increment, increment)
    return total


def _averaged(algorithm: str, sync: str) -> tuple[int, ...]:
    """The variables that are averaged at a synchronisation, and then equal in all workers."""
    if algorithm == "fedavg":
        return (0,)
    return (0, 2) if sync == "literal" else (0, 1, 2)


def _mean_post(form: StateLayout, shares: Floats, averaged: tuple[int, ...]) -> Floats:
    """The averaging as a matrix on z."""
    post = np.eye(form.N)
    for v in averaged:
        at = 1 + v + form.variables * np.arange(form.groups)
        post[np.ix_(at, at)] = shares
    return post


def _deviation_basis(V: int, H: Floats, known: int) -> tuple[Floats, Floats]:
    """The same change from d to e, for a deviation from a group's mean; o comes first if known."""
    into = np.zeros((*np.shape(H), V + known, V + known)) + np.eye(V + known)
    if V == 3:
        into[..., -1, -2] = -H
        into[..., -1, :known] = -1
    return into, 2 * np.eye(V + known) - into


def _variance(form: StateLayout, rows: StepRows, model: Coefficients) -> Floats:
    """The variance of one sample's noise as a row of the state, [6, ..., m], without D_g's part."""
    found = np.zeros((6, *model.slope.shape, form.size))
    found[..., : half(form.N)] = model.slope[..., None] ** 2 * _form(rows.slope)
    for i, (p, q) in enumerate(zip(FIRST, SECOND, strict=True)):
        found[i, ..., 0] += (1 + (p != q)) * rows.level[p] * rows.level[q] * model.level**2
    return found


def _form(rows: Floats) -> Floats:
    """Quadratic forms r_i' M r_j of rows [3, ..., n], as rows on the upper triangle of M."""
    return np.stack(
        [(1 + (i != j)) * _symmetric(rows[i], rows[j]) for i, j in zip(FIRST, SECOND, strict=True)]
    )


def _congruence(A: Floats) -> Floats:
    """M -> A_i M A_j' on upper triangles, both ways: [3, ..., n, n] to [6, ..., half, half]."""
    rows, columns = upper(A.shape[-1])
    above, below = A[..., rows, :], A[..., columns, :]
    found = []
    for i, j in zip(FIRST, SECOND, strict=True):
        form = _symmetric(above[i], below[j])
        found.append(form if i == j else form + _symmetric(above[j], below[i]))
    return np.stack(found)


def _symmetric(left: Floats, right: Floats) -> Floats:
    """The form l' M r on the upper triangle of a symmetric M: off the diagonal both places."""
    p, q = upper(left.shape[-1])
    here, there = left[..., p] * right[..., q], left[..., q] * right[..., p]
    return np.asarray(here + np.where(p == q, 0.0, there))


def _half_outer(z: Floats) -> Floats:
    rows, columns = upper(z.shape[-1])
    return np.asarray(z[..., rows] * z[..., columns])
