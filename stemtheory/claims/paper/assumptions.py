"""The assumptions and definitions, measured on the problems at the points that runs visit.

Paper: Assumption (Ass: Lip_Smoothness), Assumption (Ass: Unbiased_Var_Grad),
Def: StationaryPt, Def: ComputationComplexity, Def: CommunicationComplexity.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from stemtheory.algorithms import mean_over_workers
from stemtheory.bounds import Premise
from stemtheory.claims.base import SCALED, Case, Claim, Comparison, Mutant, dials, wrong
from stemtheory.claims.evidence.path import EPS, Path, record, square
from stemtheory.claims.panel import path_cases
from stemtheory.runtime import Floats
from stemtheory.simulator import gaussian_draw

FAR = 50.0  # the points of a run are few and close: look this many times farther out, too


def _points(path: Path) -> Floats:
    """Return the points x_t^(k) of a run and the same, blown up; shape [2 T, R, K, dim]."""
    near = path.p[1 : path.T + 1]
    return np.concatenate([near, FAR * near])


def _pairs(path: Path) -> tuple[Floats, Floats]:
    """Return pairs of points: each with its successor, and near with far."""
    x = _points(path)
    return x, np.roll(x, 1, axis=0)


def mean_squared_smoothness(path: Path) -> Comparison:
    """E||g(x; xi) - g(y; xi)||^2 = ||grad diff||^2 + E||noise diff||^2 <= L^2 ||x - y||^2."""
    x, y = _pairs(path)
    change = path.problem.gradient(x) - path.problem.gradient(y)
    left = square(change) + path.problem.noise_change(x, y)
    floor = 64 * EPS * (square(x) + square(y) + 1)
    return Comparison(left, path.setting.L**2 * square(x - y), floor=floor)


def smoothness(path: Path) -> Comparison:
    """||grad f^(k)(x) - grad f^(k)(y)||^2 <= L^2 ||x - y||^2 without the noise."""
    x, y = _pairs(path)
    left = square(path.problem.gradient(x) - path.problem.gradient(y))
    floor = 64 * EPS * (square(x) + square(y) + 1)
    return Comparison(left, path.setting.L**2 * square(x - y), floor=floor)


def unbiased(case: Case, shrink: float = 1.0) -> Comparison:
    """The mean of fresh minibatch gradients is the gradient, coordinate by coordinate."""
    path, R = record(case), 400
    x = np.broadcast_to(path.p[path.T, 0], (R, *path.p.shape[2:]))
    draw = gaussian_draw(path.problem, path.case.seed + 1, R)
    g = shrink * path.problem.stochastic_gradient(x, draw(0, path.case.b))
    gradient = path.problem.gradient(path.p[path.T, 0])
    spread = g.std(axis=0, ddof=1) / np.sqrt(R)
    return Comparison(g.mean(axis=0), gradient, spread=spread, dof=R - 1, two_sided=True)


def bounded_variance(path: Path) -> Comparison:
    """E||g(x; xi) - grad f^(k)(x)||^2 <= sigma^2."""
    left = path.problem.noise_variance(_points(path))
    return Comparison(left, np.full(left.shape, path.setting.sigma**2), floor=EPS)


def inter_worker(path: Path) -> Comparison:
    """max over pairs of ||grad f^(k)(x) - grad f^(l)(x)||^2 <= zeta^2, at common points."""
    g = _common(path)
    pairs = square(g[..., :, None, :] - g[..., None, :, :]).max(axis=(-1, -2))
    return Comparison(pairs, np.full(pairs.shape, path.setting.zeta**2), floor=_floor(g))


def alike(path: Path) -> Comparison:
    """Workers that draw from one distribution have equal gradients: zeta = 0."""
    c = inter_worker(path)
    return Comparison(c.left, np.zeros(np.shape(c.left)), floor=c.floor)


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


def _alike(level: str) -> tuple[Case, ...]:
    return tuple(c for c in path_cases(level) if is_alike(c))


def _unlike(level: str) -> tuple[Case, ...]:
    return tuple(c for c in path_cases(level) if dict(c.dials).get("zeta", 1.0) > 0.0)


def _with_zeta(case: Case) -> Case:
    return replace(case, K=max(case.K, 2), dials=dials(**{**dict(case.dials), "zeta": 1.0}))


def _declare(name: str, factor: float) -> Mutant:
    """Return a mutant that declares one constant ``factor`` times too small."""
    compare: Any = {"L": mean_squared_smoothness, "sigma": bounded_variance, "zeta": inter_worker}[
        name
    ]
    return Mutant(
        f"{name} declared {1 / factor:g} times too small",
        compare=lambda path: compare(path).scaled(factor**2),
    )


def _definition(name: str, label: str, statement: str, formula: str, reason: str) -> Claim:
    return Claim(
        id=name,
        label=label,
        kind="not-checkable",
        statement=statement,
        formula=formula,
        reason=reason,
    )


SMOOTH, NOISE = "Ass: Lip_Smoothness", "Ass: Unbiased_Var_Grad"

pathwise = partial(Claim, label=NOISE, kind="pathwise")
CLAIMS = (
    pathwise(
        id="A1",
        label=SMOOTH,
        statement="The stochastic gradients are mean-squared Lipschitz with constant L.",
        formula=r"E\|\nabla f^{(k)}(x;\xi)-\nabla f^{(k)}(y;\xi)\|^2 \leq L^2 \|x-y\|^2",
        compare=mean_squared_smoothness,
        mutants=(SCALED, _declare("L", 0.25)),
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
        mutants=(SCALED, _declare("sigma", 0.9)),
    ),
    pathwise(
        id="A2iii",
        statement="The gradients of two workers differ by at most zeta, at every x.",
        formula=r"\|\nabla f^{(k)}(x)-\nabla f^{(l)}(x)\|^2 \leq \zeta^2",
        compare=inter_worker,
        cases=_unlike,
        mutants=(SCALED, _declare("zeta", 0.9)),
        reason="It must hold on all of R^d: workers with different Hessians have zeta = infinity.",
    ),
    pathwise(
        id="A2p",
        statement="Identical distributions give zeta = 0.",
        formula=r"\mathcal{D}^{(k)}=\mathcal{D}^{(l)} \Rightarrow \zeta = 0",
        compare=alike,
        cases=_alike,
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
    _definition(
        "D1",
        "Def: StationaryPt",
        "x is eps-stationary iff its squared gradient norm is <= eps.",
        r"\|\nabla f(x)\|^2 \leq \epsilon",
        "A definition; note that the norm is squared.",
    ),
    _definition(
        "D2",
        "Def: ComputationComplexity",
        "Samples are the oracle calls of all workers.",
        r"K (B + 2bT)",
        "A definition; ALG-3 checks that the simulator counts them.",
    ),
    _definition(
        "D3",
        "Def: CommunicationComplexity",
        "A round is one exchange with the server.",
        r"T/I",
        "A definition; ALG-3 checks that the simulator counts them.",
    ),
)
