"""Theorem R*, parts (a) to (e), on whole runs, and what becomes of it without a sync batch.

The proof is in docs/theorem-rstar.md; its constants are in ``constants``, its steps in ``steps``.

Paper: Thm: PR_Convergence_Main_App, eq. (Eq: Grad_Norm_Sum).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

from stemtheory.bounds import RSTAR, Premise, whole_rounds
from stemtheory.claims.base import (
    ALL_READINGS,
    RIGHT_READINGS,
    SCALED,
    Case,
    Claim,
    dials,
    quadratic,
    resting,
)
from stemtheory.claims.evidence.recorded import setting_of
from stemtheory.claims.language import Exact, Expr, Line, Q
from stemtheory.claims.language.letters import (
    B,
    E,
    I,
    K,
    L,
    S,
    b,
    gap,
    grad,
    maximum,
    norm2,
    sigma,
    xbar_a,
    zeta,
)
from stemtheory.claims.repaired.coefficients import SUM, THEOREM
from stemtheory.claims.repaired.runs import FIRST_SAMPLE, LENGTHS
from stemtheory.claims.rstar.coefficients import CURVE
from stemtheory.claims.rstar.exact_runs import LONG, SMALL, angle, exact_or_measured
from stemtheory.claims.rstar.runs import stepped
from stemtheory.claims.rstar.scenes import part_of
from stemtheory.claims.stating import whole_run
from stemtheory.runtime import Verdict
from stemtheory.schedules import RSTAR_STEPS

# --- the bound ------------------------------------------------------------------------------------


def printed(number: Fraction) -> Exact:
    """Return a number as the page prints it, a decimal where it is one."""
    return Q(f"{float(number):g}")


def bound(part: str) -> Line:
    """Return (2)."""
    steps, stated = RSTAR_STEPS[part], RSTAR[part]
    h, c_0 = Exact(steps.h), Exact(steps.c_0)
    first: Expr = b * I / B
    if part != "a":
        first = maximum(first, c_0 * h**2 / (b * K * I))
    return E(norm2(grad(xbar_a))) <= (
        2 / h * L * gap / S
        + 2 * first / (printed(stated.lam) * h**2) * sigma**2 / S
        + 2
        * c_0**2
        * h**2
        * (printed(stated.A_s) * sigma**2 + printed(stated.A_z) * zeta**2)
        / (I * b * K) ** 2
    )


def bound_of_one_step(part: str) -> Line:
    """Return (2) at I = 1, where A_sigma is 1/Lambda and A_zeta is 0."""
    steps, lam = RSTAR_STEPS[part], printed(RSTAR[part].lam_one)
    h, c_0 = Exact(steps.h), Exact(steps.c_0)
    first = maximum(b / B, c_0 * h**2 / (b * K))
    return E(norm2(grad(xbar_a))) <= (
        2 / h * L * gap / S
        + 2 * first / (lam * h**2) * sigma**2 / S
        + 2 * c_0**2 * h**2 * sigma**2 / (lam * (b * K) ** 2)
    )


def on_the_curve(part: str) -> Line:
    """Return the corollary, C/S with B = bI."""
    C = CURVE[part]
    return (
        E(norm2(grad(xbar_a)))
        <= (
            printed(C["C_L"]) * L * gap + printed(C["C_s"]) * sigma**2 + printed(C["C_z"]) * zeta**2
        )
        / S
    )


# --- what it is put to ----------------------------------------------------------------------------

# On the curve, B = bI and S = (IbK)^2, by noise alone.
NOISE_ALONE = resting(1, 4, 8, 1024)
# Equal quadratics pushed apart, noise that is nearly all slope, a start at the minimum, on the
# curve: the jump's variance L^2 X/(bK) grows like I/m.
STEEP: dict[str, Any] = {"h": 0.182, "sigma": 20.0, "noise_smoothness": math.sqrt(1 - 0.182**2)}
APART = quadratic(2, 1, 1000, 4_000_000, x1=0.0, zeta=200.0, heterogeneity="tilt", **STEEP)
WORKERS, LOCAL_STEPS = (1, 2, 4, 16), (2, 3, 8, 9, 17, 33, 64, 101, 256, 1000)


def whole_runs(part: str, level: str) -> tuple[Case, ...]:
    """Return runs long enough for the bound to say something, and the sharp ones."""
    rounds, R = LENGTHS[level]
    quiet, plain = dials(sigma=0.05, zeta=0.2), dials(sigma=0.2, zeta=1.0)
    long = RSTAR_STEPS[part].M + 1
    cases = (
        Case("cosine", 2, 2, 1, 2, rounds, quiet, replicates=R),
        Case("geman_mcclure", 4, 2, 2, 4, rounds, plain, replicates=R),
        Case("quadratic", 3, 2, 2.5, 8, rounds // 2, plain, replicates=R),
        Case("quadratic", 2, 1, 1, long, rounds // 4, plain, replicates=R),
        FIRST_SAMPLE,  # attains the first batch's term up to Lam/(4 c_0), 0.867 in (b)
        NOISE_ALONE,
        replace(APART, I=RSTAR_STEPS[part].M, rounds=(2 * RSTAR_STEPS[part].M) ** 2),
        APART,
    )
    return tuple(stepped(case, part) for case in cases)


def single_steps(part: str, level: str) -> tuple[Case, ...]:
    """Return runs with one local step: simulated ones, and those at the minimum."""
    rounds, R = LENGTHS[level]
    cases = (
        Case("cosine", 2, 2, 4, 1, rounds, dials(sigma=0.05, zeta=0.2), replicates=R),
        quadratic(1, 1, 1, rounds, dim=2, replicates=R, sigma=0.2, zeta=0.0),
        replace(FIRST_SAMPLE, I=1),
        replace(NOISE_ALONE, b=16, I=1, rounds=256),
    )
    return tuple(stepped(case, part) for case in cases)


def hunted(point: Any, reading: str, part: str) -> Case:
    """Return a legal run at a point of the unit box, L = 1, whose exact moments are known.

    Equal quadratics, pushed apart, with additive noise or, started at the minimum, with noise that
    is all slope; rounds and first batch about those of the curve. m is the theorem's.
    """
    H, noise, zeta, start, rounds, first, K, I, b, steep = (float(u) for u in point)
    own: dict[str, Any] = {"h": 10 ** (-3 * H), "sigma": 10 ** (4 * noise - 2)}
    workers, local = WORKERS[int(K * 3.999)], LOCAL_STEPS[int(I * (len(LOCAL_STEPS) - 0.001))]
    own |= {"zeta": 10 ** (5 * zeta - 2) if workers > 1 else 0.0, "heterogeneity": "tilt"}
    samples = 4.0 ** int(3.999 * b)
    S = max(1, round(10 ** (4 * rounds - 2) * (local * samples * workers) ** 2))
    x1 = 10 ** (4 * start - 2) if start > 0.2 else 0.0
    if steep > 0.5 and S * local > LONG:
        x1, own["noise_smoothness"] = 0.0, math.sqrt(1 - own["h"] ** 2)
    else:
        own |= {"noise": "additive", "L": 1.0, "slack": True}
    B = max(1.0, samples * local * 10 ** (6 * first - 3))
    return stepped(quadratic(workers, samples, local, S, B=B, x1=x1, reading=reading, **own), part)


def stays_small(case: Case) -> Premise:
    """Return the premise under which exact moments are those of phase noise."""
    return Premise("noise is linear where the run is", angle(case) <= SMALL)


def steps_of(case: Case, part: str) -> tuple[Premise, ...]:
    """Return the premise that a run takes the steps of a part."""
    return (Premise(f"the steps of part {part}", part_of(case) == part),)


def premises(part: str) -> Callable[[Any], tuple[Premise, ...]]:
    """Return the premises: the part's steps and readings, T = S I, and its m."""
    steps = RSTAR_STEPS[part]

    def of(case: Case) -> tuple[Premise, ...]:
        s = setting_of(case)
        fits = (
            s.I <= steps.M * s.sync_batch if part == "a" else s.sync_batch == steps.sync_batch(s.I)
        )
        return (
            whole_rounds(s),
            *steps_of(case, part),
            Premise("a reading of the part", case.reading in steps.readings),
            Premise("I >= 2", s.I >= 2),
            stays_small(case),
            Premise(f"I/m <= {steps.M}" if part == "a" else f"m = ceil(I/{steps.M})", fits),
        )

    return of


def of_a_run(name: str) -> Claim:
    """Return a part of the theorem: (2)."""
    part = name[-1]
    steps = RSTAR_STEPS[part]
    return whole_run(
        bound(part),
        measured=exact_or_measured,
        id=name,
        label=SUM,
        statement=f"Part ({part}): h = {steps.h}, c_0 = {steps.c_0}, m = ceil(I/{steps.M}).",
        cases=partial(whole_runs, part),
        premises=premises(part),
        readings=steps.readings,
        mutants=(SCALED,),
        hunted=partial(hunted, part=part),
        sharp="literal" if name == "RSb" else "",
    )


def of_one_step(name: str) -> Claim:
    """Return a part of the theorem with one local step, under every reading."""
    part = name.removeprefix("RS").removesuffix("-I1")
    shared = {"b": "(a) to (c)"}.get(part, f"({part})")
    return whole_run(
        bound_of_one_step(part),
        measured=exact_or_measured,
        id=name,
        label=SUM,
        statement=f"Part {shared} with I = 1, where its Lambda is another.",
        cases=partial(single_steps, part),
        premises=lambda case: (Premise("I = 1", case.I == 1), *steps_of(case, part)),
        readings=ALL_READINGS,
    )


def without_batch(name: str) -> Claim:
    """Return the corollary of a part without a sync batch, which is false."""
    part = name.removeprefix("RS").removesuffix("-m1")
    return whole_run(
        on_the_curve(part),
        measured=exact_or_measured,
        id=name,
        label=THEOREM,
        statement=f"The corollary of part ({part}) with m = 1 at I = 1000, on the curve: false.",
        cases=lambda level: (stepped(APART, part, 1),),
        readings=RIGHT_READINGS,
        expected={(reading, "all"): Verdict.VIOLATED for reading in RIGHT_READINGS},
        counterexamples=tuple(replace(stepped(APART, part, 1), reading=r) for r in RIGHT_READINGS),
        premises=lambda case: (stays_small(case),),
        reason="The jump's variance L^2 X/(bK) is real and grows like I/m. Exact moments of the"
        " linearised phase noise; benchmarks/sync_batch.py simulates a shorter run of it.",
        repair="The sync batch m = ceil(I/M) of Theorem R*.",
        mutants=(),
    )


CLAIMS = (
    *map(of_a_run, ("RSa", "RSb", "RSc", "RSd", "RSe")),
    *map(of_one_step, ("RSb-I1", "RSd-I1", "RSe-I1")),
    *map(without_batch, ("RSa-m1", "RSb-m1", "RSc-m1")),
)
