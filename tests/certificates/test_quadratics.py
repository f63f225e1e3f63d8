"""Both sides of (C) on quadratic workers are those of every coin's outcome, added up."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pytest

from stemtheory.certificates.quadratics import Classes, forms
from stemtheory.certificates.statement import AVERAGE_FIRST, LITERAL, Statement, stated

KINDS = [
    ("stem", AVERAGE_FIRST, 1, 1),
    ("stem", AVERAGE_FIRST, 2, 2),
    ("stem", AVERAGE_FIRST, 3, 1),
    ("stem", LITERAL, 2, 1),
    ("stem", LITERAL, 2, 2),
    ("stem", LITERAL, 3, 1),
    ("fedavg", "none", 1, 1),
    ("fedavg", "none", 3, 1),
]
ALIKE = Classes(np.array([2.0]), np.array([0.6]), np.array([0.7]))
UNLIKE = Classes(np.array([1.0, 1.0]), np.array([0.6, -0.3]), np.array([0.7, 0.5]))
LAM, MU = 0.8, 1.3


class Sides(NamedTuple):
    """Left side, and the two variances at each point."""

    left: float
    sigma: list[float]
    zeta: list[float]


def statement(algorithm: str, reading: str, I: int, m: int) -> Statement:
    steps = {"h": Fraction(1, 2), "alpha": Fraction(3, 5) if algorithm == "stem" else None}
    return stated(algorithm, reading, I=I, K=2, b=1, m=m, **steps)


def potential(s: Statement) -> tuple[float, float]:
    return (LAM if s.stem else 0.0), (MU if s.literal else 0.0)


def enumerated(s: Statement, of: Classes, start: Any) -> Sides:
    """Return both sides by Algorithm 1 itself, over all outcomes of coins with faces -1 and 1."""
    split = np.split(start, 5)
    H, l, x, d, o, noise, r = (np.repeat(part, 2 // len(of.H)) for part in (of.H, of.l, *split))
    coins = sum(2 * s.K * s.batch(j) for j in s.draws)
    faces = np.array(list(itertools.product((-1.0, 1.0), repeat=coins)))
    ends = np.cumsum([2 * s.K * s.batch(j) for j in s.draws])[:-1]
    parts = np.split(faces, ends, axis=1)
    means = [part.reshape(len(faces), 2, s.K, -1).mean(axis=-1) for part in parts]
    xi = dict(zip(s.draws, means, strict=True))
    eta, a, (lam, mu) = float(s.eta), float(s.a), potential(s)
    sigma, zeta = [], []

    def together(z: Any) -> Any:
        return np.repeat(z.mean(axis=1, keepdims=True), s.K, axis=1)

    def g(j: int, z: Any) -> Any:
        return H * z + o + (l * z + noise) * xi[j][:, 0] + r * xi[j][:, 1]

    def value(z: Any, v: Any) -> Any:
        mean = z.mean(axis=1)
        f = H.mean() * mean**2 / 2 + o.mean() * mean
        error = (v - H * z - o).mean(axis=1)
        return np.mean(f + lam * error**2 + mu * ((z - together(z)) ** 2).mean(axis=1))

    def meet(j: int, z: Any) -> float:
        if s.stem or j < s.I:
            sigma.append(float(np.mean((l * z + noise) ** 2 + r**2)))
        apart = H * together(z) + o
        zeta.append(float(2 * s.K / (s.K - 1) * np.mean((apart - together(apart)) ** 2)))
        return float(np.mean(apart.mean(axis=1) ** 2))

    X, D = np.tile(x, (len(faces), 1)), np.tile(d, (len(faces), 1))
    left, gradient = -value(X, D), meet(0, X)
    for j in range(1, s.I + 1):
        left += eta / 2 * gradient
        if s.stem:
            new = X - eta * D
            new = together(new) if j == (1 if s.literal else s.I) else new
            D = g(j, new) + (1 - a) * (D - g(j, X))
            D = together(D) if j == s.I else D
        else:
            new = X - eta * g(j - 1, X)
            new = together(new) if j == s.I else new
        X = new
        gradient = meet(j, X)
    return Sides(float(left + value(X, D)), sigma, zeta)


def far(s: Statement, of: Classes, run: Statement) -> float:
    """Return how far the forms of s are from an enumerated run, relative to the largest side."""
    f = forms(s, *potential(s), of)
    v = np.random.default_rng(17).normal(size=len(f.left))
    sides = enumerated(run, of, f.start @ v)
    worst = abs(v @ f.left @ v - sides.left) / abs(sides.left)
    for form, there in ((f.sigma, sides.sigma), (f.zeta, sides.zeta)):
        assert len(form) == len(there)
        worst = max(worst, np.abs(v @ form @ v - there).max() / max(*there, 1.0))
    return float(worst)


@pytest.mark.parametrize("of", [ALIKE, UNLIKE], ids=["one class", "two"])
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_the_forms_are_the_expectations(kind: tuple[str, str, int, int], of: Classes) -> None:
    s = statement(*kind)
    assert far(s, of, s) < 1e-12


@pytest.mark.parametrize("of", [ALIKE, UNLIKE], ids=["one class", "two"])
def test_another_round_is_noticed(of: Classes) -> None:
    s = statement("stem", LITERAL, 2, 2)
    assert far(s, of, replace(s, m=1)) > 1e-6
    assert far(s, of, replace(s, a=s.a * Fraction(101, 100))) > 1e-6
    assert far(s, of, replace(s, eta=s.eta * Fraction(101, 100))) > 1e-6


def test_a_class_of_many_is_as_many_classes_of_one() -> None:
    s = replace(statement("stem", LITERAL, 3, 2), K=4)
    one = forms(s, LAM, MU, Classes(np.array([4.0]), np.array([0.6]), np.array([0.7])))
    four = forms(s, LAM, MU, Classes(np.ones(4), np.full(4, 0.6), np.full(4, 0.7)))
    # mean offset; s, r and ebar_0, told to all four
    same = np.zeros((len(four.left), len(one.left)))
    same[0, 0], same[4:8, 1], same[8:12, 2], same[12, 3] = 1, 1, 1, 1
    for a, b in zip(one[:3], four[:3], strict=True):
        np.testing.assert_allclose(same.T @ b @ same, a, atol=1e-13)


def test_a_start_is_legal() -> None:
    """All workers hold one direction, and positions are told from their mean."""
    s = statement("stem", LITERAL, 2, 1)
    f = forms(s, LAM, MU, UNLIKE)
    x, d, *_ = np.split(f.start @ np.random.default_rng(3).normal(size=len(f.left)), 5)
    assert abs(x.mean()) < 1e-15
    assert np.ptp(x) > 0
    assert d[0] == d[1]
