"""From floats to a proof: multipliers rounded, function values balanced, entries filled in exactly.

Whatever the solver did, the result is exact; whether it is a proof is for the checker to say.
"""

from __future__ import annotations

import math
from collections import defaultdict
from fractions import Fraction
from typing import Any

from stemtheory.certificates.constraints import (
    Form,
    Row,
    descent,
    drift_growth,
    error_growth,
    rows,
    total,
)
from stemtheory.certificates.solve import Solution
from stemtheory.certificates.statement import Statement
from stemtheory.certificates.vectors import Round, linked, still, vanishing
from stemtheory.runtime import Floats

BITS = 60  # after the point, of multipliers
DIGITS = 40  # significant bits of free entries, and of multipliers where I b K is large
LARGE = 10**4
Triangle = list[list[Fraction]]


def certificate(r: Round, found: Solution) -> dict[str, Any]:
    """Return the document of the file format, version 1, whose constants are the exact sums."""
    s, known = r.statement, {row.id: row for row in rows(r)}
    y = {name: _multiplier(s, value) for name, value in found.multipliers.items()}
    lam, mu = _multiplier(s, found.lam), _multiplier(s, found.mu)
    lam, mu = (lam if s.stem else Fraction(0)), (mu if s.literal else Fraction(0))
    balance(y, known, descent(s))
    y = {name: value for name, value in y.items() if value}
    terms = [(value, known[name]) for name, value in y.items()]
    terms += [(lam, error_growth(s)), (mu, drift_growth(s)), (Fraction(-1), descent(s))]
    blocks = ("D", "M") if s.K > 1 else ("M",)
    T = {
        block: expand(r, total(*((c, row.form(block)) for c, row in terms)), block)
        for block in blocks
    }
    M, D = fill(r, T, found.slack)
    sums = [sum((known[n].sigma * v for n, v in y.items()), Fraction(0)),
            sum((known[n].zeta * v for n, v in y.items()), Fraction(0))]  # fmt: skip
    numbers = {"eta": s.eta, "a": s.a, "delta": s.delta, "lambda": lam, "mu": mu}
    numbers |= {"C_sigma": sums[0], "C_zeta": sums[1]}
    counts = {"I": s.I, "K": s.K, "b": s.b, "m": s.m}
    return {
        "format": "round-certificate",
        "version": 1,
        "statement": {"algorithm": s.algorithm, "reading": s.reading, **counts}
        | {name: str(value) for name, value in numbers.items()},
        "basis": list(r.basis),
        "multipliers": {name: str(value) for name, value in y.items()},
        "gram": {
            "M": [[str(x) for x in row] for row in M],
            "D": [[str(x) for x in row] for row in D],
        },
    }


def balance(y: dict[str, Fraction], known: dict[str, Row], goal: Row) -> None:
    """Add to the multipliers against m0 what makes every function value cancel exactly."""
    rest: dict[str, Fraction] = defaultdict(Fraction)
    for p, one in goal.values.items():
        rest[p] -= one
    for name, value in y.items():
        for p, one in known[name].values.items():
            rest[p] += one * value
    for p, value in rest.items():
        if p != "m0" and value:
            name = f"interp:{p}:m0" if value > 0 else f"interp:m0:{p}"
            y[name] = y.get(name, Fraction(0)) + abs(value)


def expand(r: Round, form: Form, block: str) -> Triangle:
    """Return the symmetric matrix of a form in one block, as its lower triangle."""
    place = {name: i for i, name in enumerate(r.basis)}
    part = {
        name: vector.mean if block == "M" else vector.deviations
        for name, vector in r.vectors.items()
    }
    images: dict[str, dict[str, Fraction]] = defaultdict(lambda: defaultdict(Fraction))
    for (u, v), c in form.items():
        for name, d in part[v].items():
            images[u][name] += c * d
    T = [[Fraction(0)] * len(place) for _ in place]
    for u, image in images.items():
        for one, c in part[u].items():
            for other, d in image.items():
                T[place[one]][place[other]] += c * d
    return [[(T[i][j] + T[j][i]) / 2 for j in range(i + 1)] for i in range(len(T))]


def fill(r: Round, T: dict[str, Triangle], slack: dict[str, Floats]) -> tuple[Triangle, Triangle]:
    """Return S_M and S_D: entries that T decides from T, free ones from the solver."""
    K, n = r.statement.K, len(r.basis)
    S = {block: [[Fraction(0)] * (i + 1) for i in range(n)] for block in T}
    for block, triangle in S.items():
        for i, u in enumerate(r.basis):
            for j, v in enumerate(r.basis[: i + 1]):
                if still(u, block) or still(v, block):
                    triangle[i][j] = Fraction(int(i == j))
                elif vanishing(u, v) or (block == "D" and linked(u, v)):
                    triangle[i][j] = significant(slack[block][i, j])
                elif K > 1 and linked(u, v):  # D stands before M
                    triangle[i][j] = T["M"][i][j] + (K - 1) * (T["D"][i][j] - S["D"][i][j])
                else:
                    triangle[i][j] = T[block][i][j]
    return S["M"], S.get("D", [])


def significant(value: float, bits: int = DIGITS) -> Fraction:
    """Return the fraction of so many binary digits that is nearest to a float."""
    if value == 0:
        return Fraction(0)
    scale = bits - math.frexp(value)[1]
    return Fraction(round(Fraction(value) * Fraction(2) ** scale)) / Fraction(2) ** scale


def _multiplier(s: Statement, value: float) -> Fraction:
    if s.work > LARGE:
        return significant(value)
    return Fraction(round(Fraction(value) * 2**BITS), 2**BITS)
