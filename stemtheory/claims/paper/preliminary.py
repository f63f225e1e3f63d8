"""STEM's preliminary lemmas: what is uncorrelated with what, and the first direction's error.

Statistical claims: means over replicates with Student limits. Every product below is symmetric
about zero, for which the self-normalised mean has no heavier tails than the normal; each instance
has the share of the false-alarm rate that ``judge.ALPHA`` gives it.

Paper: Lemma (Lem: InnerProduct_e_t_Grad), Lemma (Lem: InnerProd_AcrossNodes),
Lemma (Lem: e_bar_bound_Batch).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from stemtheory.algorithms import mean_over_workers
from stemtheory.claims.base import ALL_READINGS, Case, Claim, Comparison, dials, wrong
from stemtheory.claims.evidence.brackets import bracket, brackets, innovation, minibatch, single
from stemtheory.claims.evidence.path import Path, record
from stemtheory.claims.evidence.recorded import square
from stemtheory.claims.language import Expr, Index, checked, equal, latex
from stemtheory.claims.language.letters import (
    B,
    E,
    K,
    a,
    b,
    ebar,
    fresh,
    inner,
    j,
    k,
    mean_k,
    noise_k,
    norm2,
    sigma,
    stale,
    sum_xi,
    t,
    xi,
    xi2,
)
from stemtheory.claims.stating import averaged
from stemtheory.runtime import Floats

REPLICATES = {"quick": 4000, "default": 4000, "full": 16000}
EXACT_NOISES = ("phase", "additive")  # their variance is sigma^2 at every x


def noisy_cases(level: str) -> tuple[Case, ...]:
    """Return short runs with many replicates: every noise, odd K, real b, and I = 1."""
    base = Case("cosine", 2, 2, 1, 2, 3, replicates=REPLICATES[level])
    return (
        base,
        replace(base, problem="geman_mcclure", K=3, b=2.5, I=3, rounds=2),
        replace(base, K=4, dim=3, I=1, rounds=4, dials=dials(noise="additive"), x1=0.1),
        replace(base, dials=dials(noise="modulated", heterogeneity="tilt"), I=4, rounds=2, B=2),
        replace(base, B=1e6, rounds=2),  # an exact start: the noise of one step is all there is
    )


def mean_of(
    path: Path, values: Floats, right: Any = 0.0, where: Any = None, scale: Any = None
) -> Comparison:
    """Return the mean over replicates (axis 1 of [n, R, ...]), to be equal to the right side."""
    left, R = values.mean(axis=1), path.case.replicates
    spread = values.std(axis=1, ddof=1) / np.sqrt(R)
    t = path.t.reshape(-1, *[1] * (left.ndim - 1))
    where = path.where(t, "either") if where is None else where
    target = np.broadcast_to(right, left.shape)
    return Comparison(left, target, where, t, spread=spread, dof=R - 1, two_sided=True, scale=scale)


def product(path: Path, u: Floats, v: Floats) -> Comparison:
    """E <u, v> = 0 for u, v [n, R, ..., dim]; an error is relative to the two root mean squares."""
    sizes = square(u).mean(axis=1) * square(v).mean(axis=1)
    return mean_of(path, (u * v).sum(axis=-1), scale=np.sqrt(sizes))


# --- uncorrelated ---------------------------------------------------------------------------


def error_and_noise(case: Case, lag: int | None = None) -> Comparison:
    """E <(1 - a_{t+1}) ebar_t, N_{t+1}> = 0, N the mean of the workers' brackets."""
    path = record(case)
    t = path.t
    noise = innovation(path) if lag is None else brackets(path, lag)
    kept = (1 - path.a[t + 1])[:, None, None] * path.ebar[t]
    return product(path, kept, mean_over_workers(noise[t]))


def across_workers(case: Case, shared: bool = False) -> Comparison:
    """E <b bracket_k, b bracket_l> = 0 for k != l, here l = k + 1; sums over the minibatch.

    ``shared`` hands the first worker's minibatch to all of them.
    """
    path = record(case)
    total = path.batch[path.t][:, None, None, None] * innovation(path)[path.t]
    if shared:

        def same(t: int) -> Floats:
            xi = minibatch(path, t)
            return bracket(path, t, np.broadcast_to(xi[..., :1, :], xi.shape))

        total = np.stack([same(int(t)) for t in path.t])
    return product(path, total[:, :, :-1], total[:, :, 1:])


def across_samples(case: Case, other: int = 1) -> Comparison:
    """E <bracket_k(xi), bracket_k(xi')> = 0 for two samples of one minibatch."""
    path = record(case)
    first, second = (
        np.stack([bracket(path, t, single(path, t, which)) for t in map(int, path.t)])
        for which in (0, other)
    )
    return product(path, first, second)


def noise(worker: Index = k, sample: Index = xi) -> Expr:
    """Return the bracket of the proofs: the noise that one sample brings into d_t^(k)."""
    old = noise_k(stale[t, worker], worker, sample)
    return noise_k(fresh[t, worker], worker, sample) - (1 - a[t]) * old


def uncorrelated(u: Expr, v: Expr, *distinct: Index, **more: Any) -> Claim:
    """Return the claim that E <u, v> = 0."""
    line = checked(equal(E(inner(u, v)), 0), more["id"]).of(*distinct)
    why = "Noises are rebuilt from the run's minibatches, and an error is relative to both sizes."
    return Claim(
        formula=latex(line),
        line=line,
        by_hand=why,
        kind="expectation",
        cases=noisy_cases,
        readings=ALL_READINGS,
        **more,
    )


P3 = averaged(
    E(norm2(ebar[1])) <= sigma**2 / (K * B),
    at=lambda path: path.t[:1],
    id="P3",
    label="Lem: e_bar_bound_Batch",
    statement="The first direction's error is that of a mean over K B samples.",
    cases=noisy_cases,
    readings=ALL_READINGS,
)


def initial_error(case: Case, **other: Any) -> Comparison:
    """Return both sides of P3, an equality where the variance is sigma^2 everywhere."""
    assert P3.compare is not None
    exact = case.run.problem.load().dials["noise"] in EXACT_NOISES
    return replace(P3.compare(case, **other), two_sided=exact)


CLAIMS = (
    uncorrelated(
        (1 - a[t]) * ebar[t - 1],
        mean_k(1 / b * sum_xi(noise())),
        id="P1",
        label="Lem: InnerProduct_e_t_Grad",
        statement="The direction's error is uncorrelated with the noise of the next step.",
        compare=error_and_noise,
        mutants=(wrong("the minibatch of the step before", lag=1),),
    ),
    uncorrelated(
        sum_xi(noise(k)),
        sum_xi(noise(j)),
        k,
        j,
        id="P2",
        label="Lem: InnerProd_AcrossNodes",
        statement="The noises of two workers are uncorrelated.",
        compare=across_workers,
        mutants=(wrong("one minibatch for all workers", shared=True),),
    ),
    uncorrelated(
        noise(k, xi),
        noise(k, xi2),
        xi,
        xi2,
        id="P2p",
        label="eq_bound_grad_error_norm",
        statement="The noises of two samples of one minibatch are uncorrelated.",
        compare=across_samples,
        mutants=(wrong("the same sample twice", other=0),),
    ),
    replace(P3, compare=initial_error),
)
