"""The assumptions and definitions, measured on the problems at the points that runs visit.

Paper: Assumption (Ass: Lip_Smoothness), Assumption (Ass: Unbiased_Var_Grad),
Def: StationaryPt, Def: ComputationComplexity, Def: CommunicationComplexity.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from stemtheory.bounds import Premise
from stemtheory.claims.base import Case, Claim, Comparison, Mutant, dials, quadratic, wrong
from stemtheory.claims.evidence.path import record
from stemtheory.claims.evidence.point_scenes import points_of
from stemtheory.claims.evidence.recorded import square
from stemtheory.claims.language import equal, latex, tex
from stemtheory.claims.language.letters import (
    B,
    E,
    I,
    K,
    L,
    T,
    b,
    epsilon,
    grad,
    grad_k,
    j,
    max_kj,
    norm2,
    p,
    p2,
    pbar,
    sample_k,
    sigma,
    sum_k,
    zeta,
)
from stemtheory.claims.panel import path_cases
from stemtheory.claims.stating import stated
from stemtheory.simulator import gaussian_draw

FRESH = 4000  # minibatches that are averaged


def unbiased(case: Case, shrink: float = 1.0) -> Comparison:
    """The mean of fresh minibatch gradients is the gradient, coordinate by coordinate."""
    path, R = record(case), FRESH
    x = np.broadcast_to(path.p[path.T, 0], (R, *path.p.shape[2:]))
    draw = gaussian_draw(path.problem, path.case.seed + 1, R)
    g = shrink * path.problem.stochastic_gradient(x, draw(0, path.case.b))
    gradient = path.problem.gradient(path.p[path.T, 0])
    spread = g.std(axis=0, ddof=1) / np.sqrt(R)
    size = np.sqrt(square(g).mean(axis=0))[..., None]  # an error is relative to a gradient's size
    return Comparison(
        g.mean(axis=0), gradient, spread=spread, dof=R - 1, two_sided=True, scale=size
    )


def _noisy(level: str) -> tuple[Case, ...]:
    return tuple(c for c in path_cases(level) if dict(c.dials).get("sigma", 0.5) > 0)


def is_alike(case: Case) -> bool:
    """Whether all workers draw from one distribution."""
    return bool(dict(case.dials).get("zeta", 1.0) == 0.0)


def _unlike(level: str) -> tuple[Case, ...]:
    more = quadratic(8, 1, 2, 3, zeta=1.0)  # K far above b, to tell them apart
    return tuple(c for c in (*path_cases(level), more) if not is_alike(c))


def _with_zeta(case: Case) -> Case:
    return replace(case, K=max(case.K, 2), dials=dials(**{**dict(case.dials), "zeta": 1.0}))


SMOOTH, NOISE = "Ass: Lip_Smoothness", "Ass: Unbiased_Var_Grad"

about_points = partial(stated, kind="pathwise", label=NOISE, opened=points_of)
definition = partial(Claim, kind="not-checkable")
UNBIASED = equal(E(sample_k(p)), grad_k(p))
CLAIMS = (
    about_points(
        E(norm2(sample_k(p) - sample_k(p2))) <= L**2 * norm2(p - p2),
        id="A1",
        label=SMOOTH,
        statement="The stochastic gradients are mean-squared Lipschitz with constant L.",
    ),
    about_points(
        norm2(grad_k(p) - grad_k(p2)) <= L**2 * norm2(p - p2),
        id="A1p",
        label=SMOOTH,
        statement="So every f^(k) is L-smooth (Jensen).",
    ),
    Claim(
        id="A2i",
        label=NOISE,
        kind="expectation",
        statement="The stochastic gradients are unbiased.",
        formula=latex(UNBIASED),
        line=UNBIASED,
        by_hand="Each coordinate is a mean over fresh minibatches, with its own spread.",
        compare=unbiased,
        cases=_noisy,
        mutants=(wrong("a clipped oracle", shrink=0.5),),
    ),
    about_points(
        E(norm2(sample_k(p) - grad_k(p))) <= sigma**2,
        id="A2ii",
        statement="The intra-node variance is at most sigma^2.",
        cases=_noisy,
    ),
    about_points(
        max_kj(norm2(grad_k(pbar) - grad_k(pbar, j))) <= zeta**2,
        id="A2iii",
        statement="The gradients of two workers differ by at most zeta, at every x.",
        cases=_unlike,
        reason="It must hold on all of R^d: workers with different Hessians have zeta = infinity.",
    ),
    about_points(
        max_kj(norm2(grad_k(pbar) - grad_k(pbar, j))) <= 0,
        id="A2p",
        statement="Identical distributions give zeta = 0.",
        cases=lambda level: tuple(filter(is_alike, path_cases(level))),
        premises=lambda case: (Premise("one distribution", is_alike(case)),),
        mutants=(Mutant("workers that differ", change=_with_zeta),),
    ),
    about_points(
        sum_k(norm2(grad_k(pbar) - grad(pbar))) <= K * zeta**2,
        id="A2pp",
        statement="The spread of the workers' gradients is at most K zeta^2.",
        cases=_unlike,
        reason="The sharp constant is K zeta^2 (K-1)/(2K): at least twice smaller.",
    ),
    definition(
        id="D1",
        label="Def: StationaryPt",
        statement="x is eps-stationary iff its squared gradient norm is <= eps.",
        formula=latex(norm2(grad(pbar)) <= epsilon),
        reason="A definition; note that the norm is squared.",
    ),
    definition(
        id="D2",
        label="Def: ComputationComplexity",
        statement="Samples are the oracle calls of all workers.",
        formula=tex(K * (B + 2 * b * T)),
        reason="A definition; ALG-3 checks that the simulator counts them.",
    ),
    definition(
        id="D3",
        label="Def: CommunicationComplexity",
        statement="A round is one exchange with the server.",
        formula=tex(T / I),
        reason="A definition; ALG-3 checks that the simulator counts them.",
    ),
)
