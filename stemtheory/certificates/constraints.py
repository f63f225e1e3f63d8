"""The inequalities that every legal instance obeys, each headed by its formula and assumption.

A row reads phi_c + Q_c <= u_c sigma^2 + v_c zeta^2: phi_c is linear in the function values, Q_c in
inner products of the round's vectors. <u, v> = M(u, v) + D(u, v) is the mean over workers of
E<u^k, v^k>. To each point p belongs phi_p = mean_k E[f^k(x_p^k) - f^k(xbar_0) - <g0^k, x_p^k>].
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from stemtheory.certificates.statement import Statement
from stemtheory.certificates.vectors import NamePair, Round

Linear = Mapping[str, Fraction | int]  # a combination of the round's vectors, by name
Form = dict[NamePair, Fraction]  # inner products of the round's vectors, with weights

HALF, QUARTER = Fraction(1, 2), Fraction(1, 4)


@dataclass(frozen=True)
class Row:
    """One inequality: function values, inner products over both blocks, M alone, D alone."""

    id: str
    values: Mapping[str, int | Fraction] = field(default_factory=dict)
    both: Form = field(default_factory=dict)
    mean: Form = field(default_factory=dict)
    deviations: Form = field(default_factory=dict)
    sigma: int = 0
    zeta: int = 0

    def form(self, block: str) -> Form:
        """Return the inner products of block D or M."""
        return total((1, self.both), (1, self.mean if block == "M" else self.deviations))


def product(u: Linear, v: Linear, weight: Fraction | int = 1) -> Form:
    """Return weight <u, v>."""
    found: Form = defaultdict(Fraction)
    for one, c in u.items():
        for other, d in v.items():
            found[one, other] += weight * Fraction(c) * d
    return found


def total(*terms: tuple[Fraction | int, Form]) -> Form:
    """Return the sum of forms with factors."""
    found: Form = defaultdict(Fraction)
    for factor, form in terms:
        for pair, c in form.items():
            found[pair] += factor * c
    return found


def rows(r: Round) -> list[Row]:
    """Return all rows of a round, in one order."""
    s = r.statement
    found = list(interpolation(r))
    for j in s.draws:
        if s.stem:
            found += [smooth_differences(s, j), old_variance(s, j)]
        found.append(variance(s, j))
    return found + ([heterogeneity(s, j) for j in range(s.I + 1)] if s.K > 1 else [])


def interpolation(r: Round) -> Iterator[Row]:
    """f_p >= f_q + <(g_p+g_q)/2, x_p-x_q> + |g_p-g_q|^2/4 - |x_p-x_q|^2/4, for all p and q.

    Assumption: f^(k) is 1-smooth, from A1 by Jensen; mean over workers, where the linear part
    cancels against g0. Source: Taylor, Hendrickx and Glineur (2017), Theorem 4.
    """
    for p, (x, g) in r.points.items():
        for q, (y, h) in r.points.items():
            if p != q:
                line = {g: HALF, h: HALF}
                line["B0"] = line.get("B0", Fraction(0)) - 1
                apart, turned = {x: 1, y: -1}, {g: 1, h: -1}
                form = total(
                    (1, product(line, apart)),
                    (QUARTER, product(turned, turned)),
                    (-QUARTER, product(apart, apart)),
                )
                yield Row(f"interp:{p}:{q}", {q: 1, p: -1}, form)


def smooth_differences(s: Statement, j: int) -> Row:
    """b_j |D_j|^2 + |G_j - G_{j-1}|^2 <= |x_j - x_{j-1}|^2.

    Assumption: A1 per sample, E|difference|^2 = |mean|^2 + variance; b_j draws divide the variance.
    """
    D, dG, dx = {f"D{j}": 1}, {f"G{j}": 1, f"G{j - 1}": -1}, {f"x{j}": 1, f"x{j - 1}": -1}
    form = total(
        (s.batch(j), product(D, D)), (1, product(dG, dG)), (-1, product(dx, dx))
    )  # fmt: skip
    return Row(f"A1:{j}", both=form)


def variance(s: Statement, j: int) -> Row:
    """b_j |P_j|^2 <= sigma^2. Assumption: A2 at x_j."""
    P = {f"P{j}": 1}
    return Row(f"var:{j}", both=product(P, P, s.batch(j)), sigma=1)


def old_variance(s: Statement, j: int) -> Row:
    """b_j |P_j - D_j|^2 <= sigma^2. Assumption: A2 at x_{j-1}, by the same minibatch."""
    old = {f"P{j}": 1, f"D{j}": -1}
    return Row(f"var-old:{j}", both=product(old, old, s.batch(j)), sigma=1)


def heterogeneity(s: Statement, j: int) -> Row:
    """2K/(K-1) D(B_j, B_j) <= zeta^2.

    Assumption: A2 over pairs of workers: mean_k |B^k - mean|^2 is the mean over pairs, halved.
    """
    B = {f"B{j}": 1}
    return Row(f"het:{j}", deviations=product(B, B, Fraction(2 * s.K, s.K - 1)), zeta=1)


def descent(s: Statement) -> Row:
    """E f(xbar_I) - E f(xbar_0) + (1-delta)(eta/2) sum_j E|grad f(xbar_j)|^2, without potential."""
    form = product({"B0": 1}, {f"x{s.I}": 1})
    for j in range(s.I):
        B = {f"B{j}": 1}
        form = total((1, form), ((1 - s.delta) * s.eta / 2, product(B, B)))
    return Row("descent", {f"m{s.I}": 1}, mean=form)


def error_growth(s: Statement) -> Row:
    """E|ebar_0|^2 - E|ebar_I|^2, what lambda multiplies; nothing for FedAvg."""
    if not s.stem:
        return Row("lambda")
    e0, ebar = {"e0": 1}, {"ebar": 1}
    return Row("lambda", mean=total((1, product(e0, e0)), (-1, product(ebar, ebar))))


def drift_growth(s: Statement) -> Row:
    """(X_0 - X_I)/K, what mu multiplies; only the literal reading leaves workers apart."""
    if not s.literal:
        return Row("mu")
    start, end = {"x0": 1}, {f"x{s.I}": 1}
    return Row("mu", deviations=total((1, product(start, start)), (-1, product(end, end))))
