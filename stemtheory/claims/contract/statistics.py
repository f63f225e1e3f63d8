"""Statistical checks of a stochastic oracle: mean, variance, smoothness, independence, batches.

Every check turns into z-scores at fixed seeds. A problem has fewer than 1000 of them, and each
raises a false alarm with probability below 1e-8 (a normal tail beyond ``Z_LIMIT``, times 100 for
the skewness of squared norms at these sample sizes), so a sound problem fails with probability
below 1e-5. Of what a sample shows with a small probability p, ``RARE`` must be seen for that (of
two at once p^2), so more samples are drawn; where they would be too many, nothing is said.

Paper: Assumption (Ass: Lip_Smoothness), Assumption (Ass: Unbiased_Var_Grad).
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from stemtheory.claims.contract.probes import everyone, size
from stemtheory.claims.contract.rows import FULL, ContractRow, Effort, limit
from stemtheory.oracles import Problem
from stemtheory.runtime import Floats, Verdict

Z_LIMIT = 6.5
P_LIMIT = 1e-9
BATCH = 4  # samples of the minibatches whose law is compared with single samples
RARE = 400  # so many are below z = 6.5 of their own spread with probability 1e-8 (Poisson)
MOST_DRAWN = 5_000_000  # numbers of one array of samples
FLOAT64 = np.dtype(np.float64)


def z_scores(samples: Floats, expected: Floats, scale: float) -> Floats:
    """Return (mean - expected)/standard error over axis 0; rounding of ``scale`` is forgiven."""
    error = samples.std(axis=0, ddof=1) / np.sqrt(len(samples))
    gap = np.abs(samples.mean(axis=0) - expected)
    z: Floats = np.maximum(gap - 1e-11 * scale, 0) / np.maximum(error, 1e-13 * scale)
    return z


def oracle_rows(
    problem: Problem, rng: np.random.Generator, effort: Effort = FULL
) -> Iterator[ContractRow]:
    """Yield a row per statistical property: the limit of its z-scores and the largest of them."""
    points = [rng.standard_normal(problem.dim), 30 * rng.standard_normal(problem.dim)]
    points += [w.points[0] for w in problem.witnesses() if w.constant in ("sigma", "L")]
    n, pairs = _draws(problem, effort.draws)
    note = "a sample shows too rarely for that to be sampled here"
    if not n:
        for name in (*_NOTES, "batch law"):
            yield ContractRow(name, Z_LIMIT, None, None, Verdict.INAPPLICABLE, note)
        return
    scores = oracle_scores(problem, np.stack(points), rng, n)
    for name, score in scores.items():
        if name == "independence" and not pairs:
            yield ContractRow(name, Z_LIMIT, None, None, Verdict.INAPPLICABLE, note)
        else:
            yield limit(name, Z_LIMIT, score, _NOTES[name])
    p = min(law_p_value(problem, x, rng, n) for x in points[:2])
    verdict = Verdict.HOLDS if p >= P_LIMIT else Verdict.VIOLATED
    note = "a batch of b has the law of the mean of b samples: Kolmogorov-Smirnov, p-value"
    yield ContractRow("batch law", P_LIMIT, None, p, verdict, note)


def _draws(problem: Problem, usual: int) -> tuple[int, bool]:
    """Return how many samples are drawn, 0 for too many, and whether pairs of them say something.

    What shows with probability p shows at two workers with p^2.
    """
    p = float(getattr(problem, "rarest", 1.0))
    most = max(usual, MOST_DRAWN // (problem.K * problem.dim))
    for power in (2, 1):
        n = max(usual, math.ceil(RARE / p**power))
        if n <= most:
            return n, power == 2
    return 0, False


def oracle_scores(
    problem: Problem, points: Floats, rng: np.random.Generator, n: int
) -> dict[str, float]:
    """Return the largest z-score of each property over consecutive pairs of ``points``.

    ``points`` has shape [m, dim]; ``n`` minibatches are drawn per pair.
    """
    worst: dict[str, float] = {}
    for x, y in zip(points, np.roll(points, -1, axis=0), strict=True):
        for name, z in _scores_at(problem, x, y, rng, n).items():
            score = float(np.max(np.nan_to_num(z, nan=np.inf)))  # NaN is a failure
            worst[name] = max(score, worst.get(name, 0.0))
    return worst


_NOTES = {
    "unbiased": "mean of the noise per worker and coordinate is 0: largest z-score",
    "variance": "E||noise||^2 is noise_variance: largest z-score",
    "smoothness": "E||n(x) - keep n(y)||^2 is noise_change: largest z-score",
    "batch": "b samples have mean 0 and the variance over b: largest z-score",
    "independence": "noise of two workers and of two draws is uncorrelated: largest z-score",
}


def _scores_at(
    problem: Problem, x: Floats, y: Floats, rng: np.random.Generator, n: int
) -> dict[str, Floats]:
    """Return the z-scores at one pair of points, property by property."""
    K = problem.K
    here, there = everyone(x, K), everyone(y, K)
    g_here, g_there = problem.gradient(here), problem.gradient(there)
    scale = 1.0 + float(np.abs(g_here).max() + np.abs(g_there).max())
    single = problem.draw(rng, (n,), 1, FLOAT64)
    n_here = _sample(problem, here, single) - g_here
    n_there = _sample(problem, there, single) - g_there
    batch = _sample(problem, here, problem.draw(rng, (n,), BATCH, FLOAT64)) - g_here
    variance, silent = problem.noise_variance(here), np.zeros_like(g_here)
    changed = []
    for keep in (1.0, 0.5):
        told = problem.noise_change(here, there, keep)
        changed.append(z_scores(size(n_here - keep * n_there) ** 2, told, scale**2))
    spread = z_scores(size(batch) ** 2, variance / BATCH, scale**2)
    return {
        "unbiased": z_scores(n_here, silent, scale),
        "variance": z_scores(size(n_here) ** 2, variance, scale**2),
        "smoothness": np.concatenate(changed),
        "batch": np.concatenate([spread, z_scores(batch, silent, scale).ravel()]),
        "independence": _independence(n_here, scale),
    }


def _independence(noise: Floats, scale: float) -> Floats:
    """Return z-scores of the inner products of noise across workers and across draws."""
    zero = np.zeros(1)
    follow = (noise[1:] * noise[:-1]).sum(axis=-1)[::2]  # every second: no product shares a factor
    across = [z_scores(follow, zero, scale**2)]
    for k in range(1, noise.shape[1]):
        product = (noise[:, 0] * noise[:, k]).sum(axis=-1)
        across.append(z_scores(product[:, None], zero, scale**2))
    return np.concatenate(across)


def law_p_value(problem: Problem, x: Floats, rng: np.random.Generator, n: int) -> float:
    """Return the p-value of equal laws: minibatches of b, and means of b single samples.

    A two-sample Kolmogorov-Smirnov test of the noise along one direction; conservative where the
    law has atoms.
    """
    if not problem.noisy:
        return 1.0
    here = everyone(x, problem.K)
    batch = problem.draw(rng, (n,), BATCH, FLOAT64)
    singles = problem.draw(rng, (n, BATCH), 1, FLOAT64)
    direction = rng.standard_normal(problem.dim)
    one = _sample(problem, here, batch) @ direction
    # answers are averaged, not minibatches: those may list samples
    each = [_sample(problem, here, singles[:, i]) @ direction for i in range(BATCH)]
    other = np.mean(each, axis=0)
    if not (np.isfinite(one).all() and np.isfinite(other).all()):
        return 0.0  # no law at all, and no law that two samples could share
    from scipy.stats import ks_2samp  # slow to load, and most commands need none of it

    # equal up to rounding must tie, or atoms would be told apart by their last bit
    digits = 10 - int(np.floor(np.log10(max(float(np.abs(one).max()), 1e-300))))
    first, second = (np.round(v[:, 0], min(digits, 300)).tolist() for v in (one, other))
    return float(ks_2samp(first, second, method="asymp").pvalue)


def _sample(problem: Problem, x: Floats, minibatch: Floats) -> Floats:
    """Return the oracle's answers at one point per worker: shape [n, K, dim]."""
    many = np.broadcast_to(x, (len(minibatch), *x.shape))
    answers: Floats = problem.stochastic_gradient(many, minibatch)
    return answers
