"""Rows, zeros, links and the goal's form on legal instances, with exact expectations.

This is the test that catches a wrong derivation: nothing here knows how a certificate is made.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from stemtheory.certificates import Statement, checker, find, stated
from stemtheory.certificates.constraints import (
    Form,
    Row,
    descent,
    drift_growth,
    error_growth,
    rows,
    total,
)
from stemtheory.certificates.rounding import expand
from stemtheory.certificates.vectors import coordinates, linked, still, unroll, vanishing
from stemtheory.runtime import Floats
from tests.certificates.instances import LARGEST, Trajectory, outcomes, play, workers

EXACT = 1e-14
KINDS = (("stem", "average-first"), ("stem", "literal"), ("fedavg", "none"))
RUNS = 105  # of each kind


def random_statement(kind: tuple[str, str], rng: np.random.Generator) -> Statement:
    """Return a small statement of a kind, with any legal steps."""
    stem, literal = kind[0] == "stem", kind[1] == "literal"
    while True:
        I, K, b = rng.integers(1 + literal, 6), rng.integers(1, 4), rng.integers(1, 3)
        m = rng.integers(1, 3) if stem and I > 1 else 1
        a = Fraction(int(rng.integers(0, 9)), 8) if stem else Fraction(1)
        eta, delta = Fraction(int(rng.integers(1, 9)), 8), Fraction(int(rng.integers(0, 2)), 3)
        s = Statement(*kind, int(I), int(K), int(b), int(m), eta, a, delta)
        if outcomes(s) <= LARGEST:
            return s


class Instance:
    """A statement, legal workers, a run, and the Gram matrices of all vectors by name."""

    def __init__(
        self, kind: tuple[str, str], seed: int, statement: Statement | None = None
    ) -> None:
        rng = np.random.default_rng(seed)
        self.s = statement or random_statement(kind, rng)
        self.f = workers(self.s.K, rng)
        self.run: Trajectory = play(self.s, self.f, rng)
        self.round = unroll(self.s)
        basis = np.stack([self.run.vectors[name] for name in self.round.basis])
        means = basis.mean(axis=2)
        p, apart = self.run.p, basis - means[:, :, None]
        self.M = (means * p) @ means.T
        self.D = sum((one * p) @ one.T for one in np.moveaxis(apart, 2, 0)) / self.s.K
        self.place, deviations, mean = coordinates(self.round)
        self.by_name = {"M": mean @ self.M @ mean.T, "D": deviations @ self.D @ deviations.T}
        # Of the terms that are summed, the largest: rounding is relative to it.
        self.size = 1 + max(np.abs(basis).max() ** 2, self.run.largest)

    def form(self, form: Form, block: str) -> float:
        gram = self.by_name[block]
        at = self.place
        return float(sum(float(w) * gram[at[u], at[v]] for (u, v), w in form.items()))

    def left(self, row: Row) -> float:
        values = sum(float(c) * self.run.values[p] for p, c in row.values.items())
        return values + self.form(row.form("M"), "M") + self.form(row.form("D"), "D")

    def right(self, row: Row) -> float:
        return row.sigma * self.f.sigma**2 + row.zeta * self.f.zeta**2


def faults(x: Instance) -> list[str]:
    """Return what a legal instance breaks: rows, zeros, links, vectors, the goal's form."""
    s, run, tolerance = x.s, x.run, EXACT * x.size
    found = [row.id for row in rows(x.round) if x.left(row) > x.right(row) + tolerance]
    for (i, u), (j, v) in product(enumerate(x.round.basis), repeat=2):
        zeros = {
            "M": vanishing(u, v) or still(u, "M") or still(v, "M"),
            "D": vanishing(u, v) or still(u, "D") or still(v, "D") or s.K == 1,
        }
        large = {"M": abs(x.M[i, j]) > tolerance, "D": abs(x.D[i, j]) > tolerance}
        found += [f"{block}({u},{v})" for block in "MD" if zeros[block] and large[block]]
        if linked(u, v) and abs(x.D[i, j] - (s.K - 1) * x.M[i, j]) > tolerance:
            found.append(f"link({u},{v})")
    known = {(n, mean): centred(v, mean) for n, v in run.vectors.items() for mean in (False, True)}
    for name, vector in x.round.vectors.items():
        if name == "ebar" and not s.stem:
            continue
        for is_mean, part in ((False, vector.deviations), (True, vector.mean)):
            rest = -known[name, is_mean]
            for basic, c in part.items():
                rest = rest + float(c) * known[basic, is_mean]
            found += [name] * bool(np.abs(rest).max() > tolerance)
    goal = x.left(descent(s)) - run.values["descent"]
    return found + ["goal"] * bool(abs(goal) > tolerance)


def centred(v: Floats, mean: bool) -> Floats:
    average = v.mean(axis=1, keepdims=True)
    return np.broadcast_to(average, v.shape) if mean else v - average


@pytest.mark.parametrize("third", range(3))
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind[1])
def test_no_legal_instance_breaks_anything(kind: tuple[str, str], third: int) -> None:
    seen = {}
    for seed in range(third, RUNS, 3):
        x = Instance(kind, seed)
        seen[seed] = (faults(x), x.s)
    assert {seed: found for seed, found in seen.items() if found[0]} == {}
    assert len(seen) == RUNS // 3


def scaled(row: Row, factor: int) -> Row:
    """Return the row with its inner products multiplied, a wrong derivation."""
    forms = ({pair: factor * c for pair, c in form.items()} for form in (row.both, row.deviations))
    both, deviations = forms
    return Row(row.id, row.values, both, row.mean, deviations, row.sigma, row.zeta)


@pytest.mark.parametrize("family", ["interp", "A1", "var", "var-old", "het"])
def test_a_wrong_row_is_broken_by_some_instance(family: str) -> None:
    """Of 40 legal instances some lies beyond half of what the row allows, or turned around."""
    factor = -1 if family in ("interp", "A1") else 8

    def breaks(x: Instance, row: Row) -> bool:
        wrong = scaled(row, factor)
        return bool(x.left(wrong) > x.right(wrong) + EXACT * x.size)

    instances = (Instance(KINDS[1], seed) for seed in range(40))
    of_family = ((x, r) for x in instances for r in rows(x.round) if r.id.split(":")[0] == family)
    assert any(breaks(x, row) for x, row in of_family)


def test_a_wrong_zero_or_link_is_broken_by_some_instance() -> None:
    later, link = 0.0, 0.0
    for seed in range(20):
        x = Instance(KINDS[1], seed)
        at = {name: i for i, name in enumerate(x.round.basis)}
        later = max(later, abs(x.M[at["P1"], at["H2"]]))
        link = max(link, abs(x.D[at["P1"], at["P1"]] - x.s.K * x.M[at["P1"], at["P1"]]))
        assert not vanishing("P1", "H2")
        assert vanishing("P2", "H2")
    assert later > 1e-3
    assert link > 1e-3


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind[1])
def test_the_checker_derives_the_same_from_the_statement(kind: tuple[str, str]) -> None:
    for seed in range(5):
        s = random_statement(kind, np.random.default_rng(seed))
        if s.I == 1 and kind[0] == "stem":
            s = Statement(*kind, 1, s.K, s.b, 1, s.eta, s.a)
        lam, mu = (Fraction(2, 7) if s.stem else Fraction(0)), Fraction(3 if s.literal else 0)
        told: dict[str, Any] = {"algorithm": s.algorithm, "reading": s.reading}
        told |= {name: getattr(s, name) for name in ("I", "K", "b", "m")}
        numbers = {"eta": s.eta, "a": s.a, "delta": s.delta, "lambda": lam, "mu": mu}
        told |= {name: str(c) for name, c in numbers.items()} | {"C_sigma": "0", "C_zeta": "0"}
        basis, vectors, theirs = checker.derive(checker.read_statement(told))
        r = unroll(s)
        goal = total_row(s, lam, mu)
        ours = {row.id: row for row in rows(r)} | {"goal": goal}
        assert tuple(basis) == r.basis
        assert theirs.keys() == ours.keys()
        for name, (values, products, sigma, zeta) in theirs.items():
            row = ours[name]
            assert (values, sigma, zeta) == (row.values, row.sigma, row.zeta)
            T = checker.matrix(products, vectors)
            for block in ("M", "D"):
                mine = expand(r, row.form(block), block)
                for row_of, one in zip(mine, basis, strict=True):
                    for entry, other in zip(row_of, basis, strict=False):
                        u, v = (block, one), (block, other)
                        if entry or T[u, v] or T[v, u]:  # most are 0, and fractions take long
                            assert T[u, v] + T[v, u] == 2 * entry


def total_row(s: Statement, lam: Fraction, mu: Fraction) -> Row:
    """Return the goal as one row."""
    terms = ((Fraction(1), descent(s)), (-lam, error_growth(s)), (-mu, drift_growth(s)))
    mean = total(*((c, row.mean) for c, row in terms))
    return Row(
        "goal", descent(s).values, {}, mean, total(*((c, row.deviations) for c, row in terms))
    )


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind[1])
def test_what_is_certified_holds_at_legal_instances(kind: tuple[str, str]) -> None:
    s = stated(*kind, I=3, K=2, b=1, h=Fraction(1, 2), alpha=Fraction(3, 4))
    said = find(s).certificate["statement"]
    numbers = {name: Fraction(said[name]) for name in ("lambda", "mu", "C_sigma", "C_zeta")}
    goal = total_row(s, numbers["lambda"], numbers["mu"])
    for seed in range(20):
        x = Instance(kind, seed, s)
        right = float(numbers["C_sigma"]) * x.f.sigma**2 + float(numbers["C_zeta"]) * x.f.zeta**2
        assert x.left(goal) <= right + EXACT * x.size
