"""Runs of the figure ``tightened``: what is proved at given steps, and what comes out exactly.

Paper: Thm: PR_Convergence_Main_App, Thm: Flexible_FedAvg.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

from stemtheory.bounds import Setting, evaluate
from stemtheory.certificates import shipped, weighed
from stemtheory.moments import moments
from stemtheory.oracles import Problem, load_problem

K, I = 4, 4
READING = "literal"
GAP = 1.0
CURVATURE = 0.182  # of the axis with the noise: where drift was found to cost the most
FAMILIES: dict[str, tuple[str, ...]] = {
    "printed": ("printed theorem", "Theorem R"),
    "R*": ("Theorem R*",),
    "certificate": ("certificate",),
}
BOUNDS = {
    "printed theorem": "stem-theorem",
    "Theorem R": "stem-repaired",
    "Theorem R*": "stem-rstar-b",
}


class World(NamedTuple):
    """The constants beside L = Delta_f = 1."""

    sigma: float
    zeta: float


USUAL = World(1.0, 1.0)


@lru_cache
def certificates() -> Mapping[tuple[int, int], dict[str, Any]]:
    """Return what the certificates of tuned steps state that ship for these K and reading."""
    told = [json.loads(path.read_text(encoding="utf-8"))["statement"]
            for name, path in shipped().items() if name.endswith("-tuned")]  # fmt: skip
    return {(s["I"], s["b"]): s for s in told if (s["K"], s["reading"]) == (K, READING)}


def steps(family: str, own_I: int, b: int) -> dict[str, Any]:
    """Return the schedule of a family of steps, as ``moments`` takes it."""
    if family == "printed":
        return {"schedule": "theorem"}
    if family == "R*":
        return {"schedule": "rstar", "schedule_options": {"part": "b"}}
    s = certificates()[own_I, b]
    own = {name: float(Fraction(s[name])) for name in ("eta", "a")}
    return {"schedule": "constant", "schedule_options": own}


def bound(name: str, own_I: int, b: int, world: World) -> float:
    """Return what is proved of E||grad f(xbar_a)||^2 after S = (I b K)^2 rounds."""
    S = (own_I * b * K) ** 2
    if name == "certificate":
        weights = (GAP, world.sigma**2, world.zeta**2)
        return weighed(certificates()[own_I, b], weights) / S
    at = Setting(S * own_I, K, b, own_I, L=1.0, sigma=world.sigma, zeta=world.zeta, gap=GAP)
    return evaluate(BOUNDS[name], at).value


def run(series: str, world: World, **place: Any) -> dict[str, Any]:
    """Return one exact run: an axis with the whole gap, and one with all the noise and drift."""
    of = "fedavg" if series in ("fedavg", "sgd") else "stem"
    own = place if of == "fedavg" else {"sync": READING, **place}
    gap = moments(_gap_axis(), of, x1=math.sqrt(2 * GAP), **own)
    noise = moments(noise_axis(world), of, x1=0.0, **own)
    epsilon, counts = gap.mean_grad_sq + noise.mean_grad_sq, noise.counts
    return {
        "over": "epsilon",
        "kind": "run",
        "series": series,
        "I": gap.sizes.I,
        "b": gap.sizes.b,
        "zeta2": world.zeta**2,
        "epsilon": epsilon,
        "samples": counts.samples_per_worker,
        "rounds": counts.rounds,
        "value": counts.rounds * epsilon,
        "noise": counts.rounds * noise.mean_grad_sq,
    }


def _gap_axis() -> Problem:
    return load_problem("quadratic", K=K, dim=1, curvature=1.0, sigma=0.0, zeta=0.0)


def noise_axis(world: World) -> Problem:
    """L = 1 binds through the noise; its variance is sigma^2 at the minimum, where a run starts."""
    dials: dict[str, Any] = {"h": CURVATURE, "noise_smoothness": math.sqrt(1 - CURVATURE**2)}
    own = {**dials, "noise": "multiplicative", "heterogeneity": "tilt"}
    return load_problem("quadratic", K=K, dim=1, sigma=world.sigma, zeta=world.zeta, **own)
