"""The assumptions and definitions, measured on the problems at the points that runs visit.

Paper: Assumption (Ass: Lip_Smoothness), Assumption (Ass: Unbiased_Var_Grad),
Def: StationaryPt, Def: ComputationComplexity, Def: CommunicationComplexity.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from stemtheory.algorithms import mean_over_workers
from stemtheory.bounds import Premise
from stemtheory.claims.base import SCALED, Case, Claim, Comparison, Mutant, dials, wrong
from stemtheory.claims.evidence.path import Path, record
from stemtheory.claims.evidence.recorded import EPS, square
from stemtheory.claims.panel import path_cases
from stemtheory.runtime import Floats
from stemtheory.simulator import gaussian_draw

FAR = 50.0  # the points of a run are few and close: look this many times farther out, too


def _points(path: Path) -> Floats:
    """Return the points x_t^(k) of a run and the same, blown up; shape [2 T, R, K, dim]."""
    near = path.p[1 : path.T + 1]
    return np.concatenate([near, FAR * near])


FRESH = 4000  # minibatches that are averaged


def smoothness(path: Path, noise: float = 0.0) -> Comparison:
    """||grad f^(k)(x) - grad f^(k)(y)||^2 <= L^2 ||x - y||^2, without or with the noise."""
    x = _points(path)
    y = np.roll(x, 1, axis=0)  # each beside its successor, and near beside far
    left = square(path.problem.gradient(x) - path.problem.gradient(y))
    left = left + noise * path.problem.noise_change(x, y)
    floor = 64 * EPS * (square(x) + square(y) + 1)
    return Comparison(left, path.setting.L**2 * square(x - y), floor=floor)


def mean_squared_smoothness(path: Path, declared: float = 1.0) -> Comparison:
    """E||g(x; xi) - g(y; xi)||^2 = ||grad diff||^2 + E||noise diff||^2 <= L^2 ||x - y||^2."""
    return smoothness(path, noise=1.0).scaled(declared**2)


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


def bounded_variance(path: Path, declared: float = 1.0) -> Comparison:
    """E||g(x; xi) - grad f^(k)(x)||^2 <= sigma^2."""
    left = path.problem.noise_variance(_points(path))
    return Comparison(left, np.full(left.shape, path.setting.sigma**2 * declared**2), floor=EPS)


def inter_worker(path: Path, declared: float = 1.0) -> Comparison:
    """max over pairs of ||grad f^(k)(x) - grad f^(l)(x)||^2 <= zeta^2, at common points."""
    g = _common(path)
    pairs = square(g[..., :, None, :] - g[..., None, :, :]).max(axis=(-1, -2))
    right = np.full(pairs.shape, path.setting.zeta**2 * declared**2)
    return Comparison(pairs, right, floor=_floor(g))


def alike(path: Path) -> Comparison:
    """Workers that draw from one distribution have equal gradients: zeta = 0."""
    return inter_worker(path, declared=0.0)


def inter_worker_mean(path: Path) -> Comparison:
    """sum_k ||grad f^(k)(x) - grad f(x)||^2 <= K zeta^2."""
    g, s = _common(path), path.setting
    left = square(g - mean_over_workers(g)[..., None, :]).sum(axis=-1)
    return Comparison(left, np.full(left.shape, s.K * s.zeta**2), floor=_floor(g))


def _common(path: Path) -> Floats:
    """Return every worker's gradient at one point common to all: [2 T, R, K, dim]."""
    x = mean_over_workers(_points(path))[..., None, :]
    return np.asarray(path.problem.gradient(np.broadcast_to(x, _points(path).shape)))


def _floor(g: Floats) -> Floats:
    return np.asarray(64 * EPS * square(g).sum(axis=-1))


def _noisy(level: str) -> tuple[Case, ...]:
    return tuple(c for c in path_cases(level) if dict(c.dials).get("sigma", 0.5) > 0)


def is_alike(case: Case) -> bool:
    """Whether all workers draw from one distribution."""
    return bool(dict(case.dials).get("zeta", 1.0) == 0.0)


def _unlike(level: str) -> tuple[Case, ...]:
    return tuple(c for c in path_cases(level) if not is_alike(c))


def _with_zeta(case: Case) -> Case:
    return replace(case, K=max(case.K, 2), dials=dials(**{**dict(case.dials), "zeta": 1.0}))


SMOOTH, NOISE = "Ass: Lip_Smoothness", "Ass: Unbiased_Var_Grad"

pathwise = partial(Claim, label=NOISE, kind="pathwise")
definition = partial(Claim, kind="not-checkable")
CLAIMS = (
    pathwise(
        id="A1",
        label=SMOOTH,
        statement="The stochastic gradients are mean-squared Lipschitz with constant L.",
        formula=r"E\|\nabla f^{(k)}(x;\xi)-\nabla f^{(k)}(y;\xi)\|^2 \leq L^2 \|x-y\|^2",
        compare=mean_squared_smoothness,
        mutants=(SCALED, wrong("L declared 4 times too small", declared=0.25)),
    ),
    pathwise(
        id="A1p",
        label=SMOOTH,
        statement="So every f^(k) is L-smooth (Jensen).",
        formula=r"\|\nabla f^{(k)}(x)-\nabla f^{(k)}(y)\| \leq L \|x-y\|",
        compare=smoothness,
        mutants=(SCALED,),
    ),
    Claim(
        id="A2i",
        label=NOISE,
        kind="expectation",
        statement="The stochastic gradients are unbiased.",
        formula=r"E[\nabla f^{(k)}(x;\xi)] = \nabla f^{(k)}(x)",
        compare=unbiased,
        cases=_noisy,
        mutants=(wrong("a clipped oracle", shrink=0.5),),
    ),
    pathwise(
        id="A2ii",
        statement="The intra-node variance is at most sigma^2.",
        formula=r"E\|\nabla f^{(k)}(x;\xi)-\nabla f^{(k)}(x)\|^2 \leq \sigma^2",
        compare=bounded_variance,
        cases=_noisy,
        mutants=(SCALED, wrong("sigma declared 1.11111 times too small", declared=0.9)),
    ),
    pathwise(
        id="A2iii",
        statement="The gradients of two workers differ by at most zeta, at every x.",
        formula=r"\|\nabla f^{(k)}(x)-\nabla f^{(l)}(x)\|^2 \leq \zeta^2",
        compare=inter_worker,
        cases=_unlike,
        mutants=(SCALED, wrong("zeta declared 1.11111 times too small", declared=0.9)),
        reason="It must hold on all of R^d: workers with different Hessians have zeta = infinity.",
    ),
    pathwise(
        id="A2p",
        statement="Identical distributions give zeta = 0.",
        formula=r"\mathcal{D}^{(k)}=\mathcal{D}^{(l)} \Rightarrow \zeta = 0",
        compare=alike,
        cases=lambda level: tuple(filter(is_alike, path_cases(level))),
        premises=lambda case: (Premise("one distribution", is_alike(case)),),
        mutants=(Mutant("workers that differ", change=_with_zeta),),
    ),
    pathwise(
        id="A2pp",
        statement="The spread of the workers' gradients is at most K zeta^2.",
        formula=r"\sum_k \|\nabla f^{(k)}(x)-\nabla f(x)\|^2 \leq K \zeta^2",
        compare=inter_worker_mean,
        cases=_unlike,
        reason="The sharp constant is K zeta^2 (K-1)/(2K): at least twice smaller.",
    ),
    definition(
        id="D1",
        label="Def: StationaryPt",
        statement="x is eps-stationary iff its squared gradient norm is <= eps.",
        formula=r"\|\nabla f(x)\|^2 \leq \epsilon",
        reason="A definition; note that the norm is squared.",
    ),
    definition(
        id="D2",
        label="Def: ComputationComplexity",
        statement="Samples are the oracle calls of all workers.",
        formula=r"K (B + 2bT)",
        reason="A definition; ALG-3 checks that the simulator counts them.",
    ),
    definition(
        id="D3",
        label="Def: CommunicationComplexity",
        statement="A round is one exchange with the server.",
        formula=r"T/I",
        reason="A definition; ALG-3 checks that the simulator counts them.",
    ),
)
