"""The algebra of a round: every vector of it as a combination of a few, in two blocks.

A vector is a K-tuple of square integrable random vectors. It is kept as the deviations from its
mean over workers and as that mean, since by symmetry only the Gram matrices D of deviations and M
of means matter, and K is only a number (Colla and Hendrickx 2024).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from stemtheory.certificates.statement import Statement
from stemtheory.runtime import Floats

Part = Mapping[str, Fraction]
NamePair = tuple[str, str]


@dataclass(frozen=True)
class Vector:
    """Coefficients in the basis, of the deviations and of the mean."""

    deviations: Part
    mean: Part

    def __add__(self, other: Vector) -> Vector:
        return Vector(_sum(self.deviations, other.deviations), _sum(self.mean, other.mean))

    def __sub__(self, other: Vector) -> Vector:
        return self + (-1) * other

    def __rmul__(self, factor: Fraction | int) -> Vector:
        parts = (
            {name: Fraction(factor) * c for name, c in part.items()}
            for part in (self.deviations, self.mean)
        )
        return Vector(*parts)

    def averaged(self) -> Vector:
        """Return the vector that has the mean at every worker."""
        return Vector({}, self.mean)


class Round(NamedTuple):
    """The basis in file order, every vector by its name, and the points of interpolation.

    A point is the names of a place and of the gradients there.
    """

    statement: Statement
    basis: tuple[str, ...]
    vectors: Mapping[str, Vector]
    points: Mapping[str, NamePair]


def unroll(s: Statement) -> Round:
    """Return one round of an algorithm, as its file in ``algorithms/`` moves.

    B_j are the gradients at xbar_j, G_j at the points x_j^k in use, H_j and U_j what they add; D_j
    and P_j the noise of draw j, of the difference and of the new gradient; xbar_0 is the origin.
    """
    basis = _basis(s)
    v = {name: Vector({name: Fraction(1)}, {name: Fraction(1)}) for name in basis}
    nothing = Vector({}, {})
    v["B0"] = v["g0"]
    for j in range(1, s.I + 1):
        v[f"B{j}"] = v[f"B{j - 1}"] + v[f"H{j}"]
    for j in range(s.I + 1):
        v[f"G{j}"] = v[f"B{j}"] + v.get(f"U{j}", nothing)
    v["x0"] = v["X0"] if s.literal else nothing
    # r_j = d_j - G_j: every worker starts with mean(G_0) + ebar_0, or FedAvg with fresh noise.
    r = v["e0"] - (v["G0"] - v["G0"].averaged()) if s.stem else v["P0"]
    for j in range(1, s.I + 1):
        moved = v[f"x{j - 1}"] - s.eta * (v[f"G{j - 1}"] + r)
        v[f"x{j}"] = moved.averaged() if j == s.averaged else moved
        if s.stem:
            r = (1 - s.a) * (r + v[f"D{j}"]) + s.a * v[f"P{j}"]
        elif j < s.I:
            r = v[f"P{j}"]
    if s.stem:
        v["ebar"] = r.averaged()
    for j in range(s.I + 1):
        v[f"xbar{j}"] = v[f"x{j}"].averaged()
    points = {f"m{j}": (f"xbar{j}", f"B{j}") for j in range(s.I + 1)}
    points |= {f"l{j}": (f"x{j}", f"G{j}") for j in range(s.I + 1) if f"U{j}" in v}
    return Round(s, basis, v, points)


def vanishing(u: str, v: str) -> bool:
    """Return whether <u, v> is 0 in both blocks: noise against what its draw does not change.

    Noise of draw j has mean 0 given all that is known before it: the start, gradients at points
    with index at most j, and noise of other draws. Assumption: A2, independent draws.
    """
    (one, when), (other, then) = ((name[0] in "DP", int(name[1:])) for name in (u, v))
    if one and other:
        return when != then
    return (one and then <= when) or (other and when <= then)


def linked(u: str, v: str) -> bool:
    """Return whether D(u, v) = (K - 1) M(u, v): noise of one draw, independent over workers."""
    return u[0] in "DP" and v[0] in "DP" and u[1:] == v[1:]


def still(name: str, block: str) -> bool:
    """Return whether a basis vector has no part in block D or M."""
    return name == ("e0" if block == "D" else "X0")


def coordinates(r: Round) -> tuple[dict[str, int], Floats, Floats]:
    """Return the names' places and the floats of all vectors, deviations and means."""
    place = {name: n for n, name in enumerate(r.vectors)}
    blocks = np.zeros((2, len(place), len(r.basis)))
    for name, vector in r.vectors.items():
        for block, part in zip(blocks, (vector.deviations, vector.mean), strict=True):
            for n, basic in enumerate(r.basis):
                block[place[name], n] = part.get(basic, 0)
    return place, blocks[0], blocks[1]


def _basis(s: Statement) -> tuple[str, ...]:
    """Return the basis in file order."""
    names = ["e0"] * s.stem + ["g0"] + ["X0", "U0"] * s.literal
    for j in range(1, s.I + 1):
        names += [f"H{j}"] + [f"U{j}"] * (j in s.apart)
    for j in s.draws:
        names += [f"D{j}"] * s.stem + [f"P{j}"]
    return tuple(names)


def _sum(one: Part, other: Part) -> Part:
    return {name: one.get(name, Fraction(0)) + other.get(name, 0) for name in {**one, **other}}
