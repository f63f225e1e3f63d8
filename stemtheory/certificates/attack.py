"""The attack on a certificate: the worst legal instance that a seeded search finds.

Left over right of (C), with C_sigma max_j sigma_j^2 + C_zeta max_j zeta_j^2 on the right, on
quadratic workers. For given Hessians and noises the worst start is a generalised eigenvector, so
that only these are searched. Above 1 refutes the file; near 1 says that nobody can do much better.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import eigh
from scipy.optimize import Bounds, differential_evolution

from stemtheory.certificates import checker
from stemtheory.certificates.file import read, why_not
from stemtheory.certificates.quadratics import Classes, Forms, forms
from stemtheory.certificates.statement import Statement
from stemtheory.runtime import Floats, UsageError, generator, one_blas_thread, real, rounded, whole

GUARD = 1e-10  # times |start|^2 counts on the right, else rounding makes 0/0 look like a violation
LEAST = 1e-6  # the smallest constant that the start's units are taken from
TURNS = 4  # of the weights that stand for the maximum over points
MOST_CLASSES = 4
MOST_SECONDS = 1e7  # of a search: four months
CLEAR = 1e-6  # above 1 by as much is no rounding


class Claimed(NamedTuple):
    """The inequality of a file: its round, its potential and its constants."""

    round: Statement
    lam: float
    mu: float
    sigma: float
    zeta: float


class Worst(NamedTuple):
    """The largest left/right at given Hessians and noises, its sides, and its start."""

    ratio: float
    left: float
    sigma: float
    zeta: float
    start: Floats


class _EnoughError(Exception):
    """The budget is spent."""


def claimed(data: bytes, name: str = "the file") -> Claimed:
    """Return what a file claims, whether or not it proves it.

    Raises
    ------
    UsageError
        If it has no statement that a certificate can make.
    """
    try:
        document = checker.parse(data)
        s = checker.read_statement(document["statement"])
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        why = str(error) or "nested too deeply"
        raise UsageError(
            f"{name} states nothing that can be attacked ({why}): give the file of a certificate."
        ) from error
    kind = {
        key: s[key] for key in ("algorithm", "reading", "I", "K", "b", "m", "eta", "a", "delta")
    }
    return Claimed(Statement(**kind), *(float(s[k]) for k in ("lambda", "mu", "C_sigma", "C_zeta")))


def worst(c: Claimed, of: Classes) -> Worst:
    """Return the worst start of given workers.

    The maximum over points is at least every weighted mean, whose worst start is an eigenvector;
    the weights then turn to the points where that start is largest.
    """
    f = forms(c.round, c.lam, c.mu, of)
    T = _units(c, f)
    left, sigma, zeta = (T[:, None] * M * T for M in (f.left, f.sigma, f.zeta))
    guard, last = GUARD * np.eye(len(T)), len(T) - 1
    p, q = (np.full(len(M), 1 / len(M)) for M in (sigma, zeta))
    best: Worst | None = None
    for _ in range(TURNS):
        right = np.tensordot(c.sigma * p, sigma, 1) + np.tensordot(c.zeta * q, zeta, 1) + guard
        v = eigh(left, right, subset_by_index=[last, last])[1][:, 0]
        at, difference = v @ sigma @ v, v @ zeta @ v
        side = c.sigma * at.max() + c.zeta * difference.max() + GUARD * (v @ v)
        found = Worst(float(v @ left @ v / side), float(v @ left @ v), float(at.max()),
                      float(difference.max()), f.start @ (T * v))  # fmt: skip
        best = found if best is None or found.ratio > best.ratio else best
        p, q = _turned(p, at), _turned(q, difference)
    assert best is not None
    return best


def _turned(weights: Floats, at: Floats) -> Floats:
    turned = weights * (at / max(at.max(), 1e-300)) ** 2 + 1e-9
    return np.asarray(turned / turned.sum())


def _units(c: Claimed, f: Forms) -> Floats:
    """Return the units of a start: noise and differences between workers in those of the right."""
    G = f.start.shape[0] // 5
    noise, apart = (max(value, LEAST) ** -0.5 for value in (c.sigma, c.zeta))
    units = np.ones(f.start.shape[1])
    units[1:G], units[G : 3 * G] = apart, noise
    return units


def partitions(K: int) -> list[Floats]:
    """Return how K workers are put into classes: all alike, halves, one apart, all their own."""
    found = [(K,), (K // 2, K - K // 2), (1, K - 1), *([(1,) * K] if K <= MOST_CLASSES else [])]
    return [np.array(sizes, float) for sizes in dict.fromkeys(found) if min(sizes) > 0]


def decode(sizes: Floats, point: Floats) -> Classes:
    """Return the workers at a point of the box: H in [-1, 1], and noise's share of L."""
    H, share = np.split(point, 2)
    return Classes(sizes, H, share * np.sqrt(1 - H**2))


@one_blas_thread()
def search(
    c: Claimed,
    *,
    seconds: float,
    seed: int = 0,
    runs: int | None = None,
    told: Callable[[str], None] | None = None,
) -> tuple[Worst, Classes, int]:
    """Return the worst instance found within ``seconds``, and how many sets of workers were tried.

    With ``runs`` instead of time to spare the result is the same on every machine.
    """
    best: list[tuple[Worst, Classes]] = []
    count, end = 0, time.monotonic() + seconds

    def badness(point: Any, sizes: Floats) -> float:
        nonlocal count
        if best and (time.monotonic() > end or (runs is not None and count >= runs)):
            raise _EnoughError
        count += 1
        of = decode(sizes, np.asarray(point))
        found = worst(c, of)
        if not best or found.ratio > best[0][0].ratio:
            best[:] = [(found, of)]
            if told is not None:
                told(f"left/right {rounded(found.ratio, 4)} after {count} sets of workers")
        return -found.ratio

    try:
        for place, sizes in _in_turn(c.round.K):
            G = len(sizes)
            differential_evolution(
                badness,
                Bounds(np.repeat([-1.0, 0.0], G), np.ones(2 * G)),
                args=(sizes,),
                x0=_extreme(G),
                rng=generator([seed, place]),
                maxiter=12 * G,
                popsize=8,
                polish=False,
                tol=1e-6,
            )
    except _EnoughError:
        pass
    return (*best[0], count)


def _extreme(G: int) -> Floats:
    """Return where a search begins: noise that grows like x, or workers that curve both ways."""
    return np.array([0.0, 1.0]) if G == 1 else np.append((-1.0) ** np.arange(G), np.zeros(G))


def _in_turn(K: int) -> Iterator[tuple[int, Floats]]:
    place = 0
    while True:
        for sizes in partitions(K):
            yield place, sizes
            place += 1


def attacked(
    path: Path,
    *,
    seconds: float = 60.0,
    seed: int = 0,
    runs: int | None = None,
    told: Callable[[str], None] | None = None,
) -> dict[str, Any]:
    """Return the largest left/right found for a certificate's file, and the instance.

    Raises
    ------
    UsageError
        If the file cannot be read or states nothing, or a number is outside of its range.
    """
    budget = real("budget", seconds, positive=True)
    if budget > MOST_SECONDS:
        raise UsageError(
            f"budget is {budget:g} seconds, but at most {MOST_SECONDS:g} are searched: lower it."
        )
    data = read(path)
    c, why = claimed(data, str(path)), why_not(data)
    found, of, count = search(c, seconds=budget, seed=whole("seed", seed, 0), runs=runs, told=told)
    return {
        "certificate": str(path),
        "accepted": not why,
        "why": why or None,
        "reasons": {} if why else {"why": "the file was accepted"},
        "statement": json.loads(data)["statement"],
        "ratio": found.ratio,
        "refuted": found.ratio > 1 + CLEAR,
        "left": found.left,
        "right": found.left / found.ratio if found.ratio else None,
        "sigma_sq": found.sigma,
        "zeta_sq": found.zeta,
        "instance": _instance(of, found.start),
        "evaluations": count,
    }


def _instance(of: Classes, start: Floats) -> list[dict[str, float]]:
    """Return every class of workers: its size, H, l, and its start in the state's letters."""
    x, d, o, s, r = np.split(start, 5)
    parts = {"H": of.H, "l": of.l, "o": o, "s": s, "r": r, "x0": x, "d0": d}
    return [
        {"workers": int(n), **{name: float(values[g]) for name, values in parts.items()}}
        for g, n in enumerate(of.sizes)
    ]
