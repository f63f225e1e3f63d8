"""Whether a peer does the product's work: first number by number, then by its law.

``same_numbers`` hands a peer the very normals that the product draws (they have addresses) and
compares ||grad f(xbar_t)||^2 of every step and replicate: who leaves out an average, the second
gradient, a field of the noise or a record has other numbers. ``same_law`` looks at what a timed run
has found with noise of its own: who draws none, or one for all workers, spreads otherwise.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from _common import ETA, TERMS, A, I, problem
from _peer_runs import Work, series_of

from stemtheory import simulate
from stemtheory.runtime import PURPOSES, NoiseKey
from stemtheory.runtime.philox import normals

ROUNDS = 3
FEW = {"default": 16, "small": 16, "medium": 8, "large": 4}  # replicates that are compared
# Of 24 steps: what rounding makes. Even another reading of the synchronisation is beyond (4e-5 at
# the default shape: the loop once subtracted at averaged points, and was found out so).
TOLERANCE = {"float32": 5e-6, "float64": 1e-11}


def few(size: str, noise: str, dtype: str) -> Work:
    """Return the work that is compared number by number: some rounds of some replicates."""
    return Work(size, noise, dtype, ROUNDS * I, FEW[size])


def products_series(work: Work, engine: str) -> Any:
    """Return what the product finds with the noise that has addresses, [T, R]."""
    options = {"eta": ETA, "a": A}
    trace = simulate(
        problem(work.size, work.noise), "stem", T=work.T, b=1, I=I, replicates=work.R,
        dtype=work.dtype, engine=engine, noise_source="philox", backend="numpy", threads=1,
        schedule="constant", schedule_options=options, record_every=1,
    )  # fmt: skip
    return trace.series


def products_noise(work: Work) -> Any:
    """Return that noise, [T + 1, M, R, K, dim]; the initial batch stands first."""
    R, K, dim = work.shape
    shape, who = (TERMS[work.noise], K, dim), np.arange(R)
    key = NoiseKey(0, dim, K, work.T, 1, I).philox_key()
    found = np.empty((work.T + 1, R, *shape), work.dtype)
    found[0] = normals(key, 0, who, PURPOSES["initial"], shape) * work.initial
    for t in range(1, work.T + 1):
        found[t] = normals(key, t, who, PURPOSES["steps"], shape)
    return np.ascontiguousarray(found.swapaxes(1, 2))


def same_numbers(name: str, found: Any, right: Any, dtype: str) -> float:
    """Return the largest relative difference of two series, of as many replicates as were run.

    Raises
    ------
    AssertionError
        If it is more than rounding makes of the same work.
    """
    assert len(found) == len(right), f"{name} records {len(found)} steps of {len(right)}"
    right = right[:, : found.shape[1]]
    worst = float(np.max(np.abs(found / right - 1)))
    assert worst <= TOLERANCE[dtype], f"{name} does other work: {worst:.1e} off, noise alike"
    return worst


def compare(makers: dict[str, Callable[..., Any]], work: Work) -> dict[str, float]:
    """Return, by name, how far every maker's run and both engines are from the array engine's."""
    right, noise = products_series(work, "array"), products_noise(work)
    fused = products_series(work, "fused")
    worst = {"fused": same_numbers("fused", fused, right, work.dtype)}
    for name, make in makers.items():
        found = series_of(make(work, given=noise)(), work.T)
        worst[name] = same_numbers(name, found, right, work.dtype)
    return worst


def same_law(name: str, found: Any, right: Any) -> None:
    """Refuse a timed run whose last step is spread otherwise than the product's.

    A standard deviation is known to 1/sqrt(2 R - 2) from R replicates; two are 5 standard errors
    apart once in a million comparisons. Without noise the factor is infinite, and where K workers
    share it about sqrt(K).

    Raises
    ------
    AssertionError
        If it is spread by more or less than so much, or its mean is 6 standard errors away.
    """
    mine, theirs = found[-1], right[-1]
    spread, most = float(mine.std(ddof=1) / theirs.std(ddof=1)), np.exp(5 / np.sqrt(len(mine) - 1))
    assert 1 / most < spread < most, f"{name} spreads {spread:.2f} times as much as the product"
    error = np.sqrt(mine.var(ddof=1) / len(mine) + theirs.var(ddof=1) / len(theirs))
    apart = float(abs(mine.mean() - theirs.mean()) / error)
    assert apart < 6, f"{name} is {apart:.1f} standard errors away from the product"
