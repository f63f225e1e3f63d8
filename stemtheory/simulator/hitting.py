"""T(epsilon): the iteration from which the running average of ||grad f(xbar_t)||^2 stays below.

M(T) = (1/T) sum_{t<=T} E||grad f(xbar_t)||^2 need not be monotone, so T(epsilon) is the *last*
crossing. It is found on the recorded grid by interpolation in log-log coordinates and is never
extrapolated: where the record ends above epsilon, or starts below it, there is no hitting time.

Paper: Definition (Def: StationaryPt), Definition (Def: CommunicationComplexity).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from stemtheory.runtime import Floats, Ints, UsageError, Verdict, generator, real, whole

RESAMPLES = 400


@dataclass(frozen=True)
class HittingTime:
    """T(epsilon) in iterations with its 95 % interval over replicates.

    ``T``, ``low`` and ``high`` are NaN unless ``status`` is ``reached``; ``high`` is infinite where
    more than 2.5 % of the resamples did not reach epsilon within the record. ``resampled`` holds
    T(epsilon) of every resample, infinite where it was not reached.
    """

    epsilon: float
    T: float
    low: float
    high: float
    status: Verdict
    resampled: Floats

    @property
    def reached(self) -> bool:
        """Whether there is a hitting time."""
        return self.status == Verdict.REACHED


def last_crossing(times: ArrayLike, average: ArrayLike, epsilon: float) -> Floats:
    """Return T(epsilon) of every column of ``average``, shape (n, ...) to (...), in iterations.

    ``times`` (n,) increases. A column is +inf where it ends above epsilon or holds a value that is
    not finite, and -inf where all of it is at or below epsilon.

    Raises
    ------
    UsageError
        Unless epsilon is above 0, and times are positive, increasing and as many as the averages.
    """
    epsilon = real("epsilon", epsilon, positive=True)
    t, m = _checked(times, average)
    columns = m.reshape(len(t), -1)
    return _cross(t, columns, epsilon).reshape(m.shape[1:])


def hitting_time(
    times: ArrayLike,
    running: ArrayLike,
    epsilon: float,
    *,
    resamples: int = RESAMPLES,
    seed: int = 0,
    key: tuple[int, ...] = (),
) -> HittingTime:
    """Return T(epsilon) of the mean over replicates, with a bootstrap interval.

    ``running`` (n, R) is the running average of every replicate (``Trace.running``). Replicates are
    drawn again with replacement, ``resamples`` times; ``seed`` and ``key`` give the address of
    those draws, so that cells with different keys are resampled independently. The interval holds
    the middle 95 % of the resamples, and is NaN for fewer than two replicates.

    Raises
    ------
    UsageError
        As ``last_crossing``; also unless ``running`` has two axes.
    """
    t, m = _checked(times, running)
    if m.ndim != 2:
        raise UsageError(
            f"running has {m.ndim} axes, but it must have two, (times, replicates): give"
            " Trace.running."
        )
    T = float(last_crossing(t, m.mean(axis=1), epsilon))
    status = _status(T)
    if status != Verdict.REACHED or m.shape[1] < 2:
        value = T if status == Verdict.REACHED else np.nan
        return HittingTime(epsilon, value, np.nan, np.nan, status, np.empty(0))
    means = resampled_means(m, whole("resamples", resamples), whole("seed", seed, 0), key)
    drawn = last_crossing(t, means, epsilon)
    low, high = _middle(drawn)
    return HittingTime(epsilon, T, low, high, status, drawn)


def interval(resampled: ArrayLike) -> tuple[float, float]:
    """Return the middle 95 % of resampled values; an end is infinite where that many are."""
    return _middle(np.asarray(resampled, dtype=np.float64))


def resampled_means(running: Floats, n: int, seed: int, key: tuple[int, ...]) -> Floats:
    """Return means over replicates drawn with replacement: (times, R) to (times, n).

    Every time draws the same replicates: they are one run. ``seed`` and ``key`` are the address.
    """
    R = running.shape[1]
    means: Floats = running @ _counts(R, n, seed, key).T / R
    return means


@lru_cache(64)  # cells whose noise is the same are many, and drawing takes longer than averaging
def _counts(R: int, n: int, seed: int, key: tuple[int, ...]) -> Ints:
    """Return how often each of R replicates is drawn, n times over."""
    stream = generator(np.random.SeedSequence(seed, spawn_key=key))
    counts = stream.multinomial(R, np.full(R, 1 / R), size=n)
    counts.flags.writeable = False
    return counts


def _cross(t: Floats, columns: Floats, epsilon: float) -> Floats:
    """T(epsilon) of every column: interpolate log M over log t behind the last point above."""
    above = columns > epsilon
    last = len(t) - 1 - np.argmax(above[::-1], axis=0)
    found = np.where(above.any(axis=0), np.inf, -np.inf)
    inside = above.any(axis=0) & ~above[-1]
    j, i = np.flatnonzero(inside), last[inside]
    # an average of 0 has no logarithm: with epsilon in its place T is the later end, a certain one
    after = np.where(columns[i + 1, j] > 0, columns[i + 1, j], epsilon)
    share = np.log(columns[i, j] / epsilon) / np.log(columns[i, j] / after)
    found[j] = np.exp(np.log(t[i]) + share * np.log(t[i + 1] / t[i]))
    found[~np.all(np.isfinite(columns), axis=0)] = np.inf
    return np.asarray(found)


def _status(T: float) -> Verdict:
    if np.isfinite(T):
        return Verdict.REACHED
    return Verdict.NOT_REACHED if T > 0 else Verdict.BEFORE_RECORD


def _middle(values: Floats) -> tuple[float, float]:
    """Order statistics, so that infinite values stay infinite instead of turning into NaN."""
    if len(values) == 0 or np.any(np.isnan(values)):
        return np.nan, np.nan
    low, high = np.quantile(values, [0.025, 0.975], method="inverted_cdf")
    return float(low), float(high)


def _checked(times: ArrayLike, average: ArrayLike) -> tuple[Floats, Floats]:
    t, m = np.asarray(times, dtype=np.float64), np.asarray(average, dtype=np.float64)
    if t.ndim != 1 or len(t) == 0 or m.ndim == 0 or len(m) != len(t):
        raise UsageError(
            f"times has shape {t.shape} and the averages {m.shape}, but there must be one average"
            " per time: record both together."
        )
    if not (t[0] > 0 and np.all(np.diff(t) > 0)):
        raise UsageError("times must be above 0 and increase: sort them and drop repeats.")
    return t, m
