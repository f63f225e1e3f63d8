"""The hunt: search problems, sizes and starts for the largest left/right of a claim.

scipy's differential evolution walks over one box of dials: curvature, sigma, zeta, the phase of the
heterogeneity, the start, K, b and I. What violates the claim is shrunk to the simplest case that
still does, one field at a time, and written as a case file that ``verify --replay`` runs again.
For a claim that holds, the tightest ratio found is reported: none found, not none exist.

Lemmas speak of expectations. So both sides are averaged over replicates before they
are compared (a single lucky path is no counterexample), and what is found is confirmed on
``CONFIRM`` fresh replicates.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path as FilePath
from typing import Any

import numpy as np

from stemtheory.claims.base import Case, Claim, dials
from stemtheory.claims.casefiles import Found, worst, write
from stemtheory.claims.checking import subjects
from stemtheory.claims.ledger import Packs, one, reference
from stemtheory.claims.panel import run_by
from stemtheory.runtime import (
    UsageError,
    callback,
    choice,
    file_path,
    one_blas_thread,
    real,
    rounded,
    whole,
)

HUNTED = ("pathwise", "conditional")
PROBLEMS = ("quadratic", "cosine", "geman_mcclure")
WORKERS = (2, 4, 8, 16)
LOCAL_STEPS = (2, 3, 4, 8, 12, 16, 32, 64)
SEARCH, CONFIRM = 16, 400  # replicates
CLEAR = 1.5  # a shrunk counterexample keeps at least this left/right
MOST_SECONDS = 1e7  # of a search: four months
MOST_STEPS = 200  # of one run: longer ones make the search blind within its budget
# shares of L for c and L_n, log10 sigma, log10 zeta, phase, log10 |x1|, and three sizes
BOX = [(0, 1), (0, 1), (-5, 0.5), (-1, 1), (0, 1), (-5, 1), (0, 1), (0, 1), (0, 1), (0, 1)]


def decode(point: Any, reading: str, rounds: int = 3) -> Case:
    """Return the case at a point of the box; its dials always add up."""
    c, n, sigma, zeta, phase, start, problem, K, b, I = (float(v) for v in point)
    local = LOCAL_STEPS[int(I * 0.999 * len(LOCAL_STEPS))]
    sigma = 0.0 if sigma < -4 else 10**sigma
    L_n = 0.0 if sigma == 0 else 0.95 * n
    L_f = math.sqrt(1 - L_n**2)
    turn = round(2 * math.pi * phase, 3)
    own = dials(
        L=1.0,
        sigma=sigma,
        zeta=10**zeta,
        curvature=L_f * (0.01 + 0.98 * c),
        het_phase=turn if problem < 1 / 3 else 0.0,
        noise_smoothness=L_n,
    )
    return Case(
        problem=PROBLEMS[int(problem * 0.999 * len(PROBLEMS))],
        K=WORKERS[int(K * 0.999 * len(WORKERS))],
        dim=1,
        b=float(round(4 ** (4 * b))),
        I=local,
        rounds=max(1, min(rounds, MOST_STEPS // local)),
        dials=own,
        reading=reading,
        x1=10**start,
        replicates=1 if sigma == 0 else SEARCH,
    )


def like(template: Case, case: Case) -> Case:
    """Return the case run as the claim's own panel is: its algorithm, schedule and options.

    The sizes that the algorithm fixes give way to its own. A constant step size is set to FedAvg's
    longest, 1/(9 L I), L = 1, whatever the panel has.
    """
    own = replace(case, algorithm_options=template.algorithm_options, schedule=template.schedule)
    fitted = run_by(own, template.algorithm)
    options = dict(template.options)
    if template.schedule == "constant":
        options["eta"] = 1 / (9 * fitted.I)
    return replace(fitted, options=tuple(sorted(options.items())))


def fitted(claim: Claim, panel: Sequence[Case], point: Any, reading: str) -> Case:
    """Return the case at a point as ``like`` does, with steps and b of the panel where it must.

    A claim may have premises that tie a step or a momentum to b; then the point's b chooses among
    the cases of the panel.
    """
    made = like(panel[0], decode(point, reading))
    if made.schedule != "constant" or _applies(claim, made):
        return made
    own = panel[int(float(point[-2]) * 0.999 * len(panel))]
    return replace(made, b=own.b, options=own.options)


def _applies(claim: Claim, case: Case) -> bool:
    return all(premise.ok for premise in claim.premises(case))


@one_blas_thread()
def hunt(
    name: str,
    *,
    reading: str | None = None,
    budget: float = 60.0,
    seed: int = 0,
    out: FilePath | None = None,
    progress: Callable[[str], None] = lambda text: None,
    packs: Packs = (),
) -> dict[str, Any]:
    """Return the largest left/right found within ``budget`` seconds, and its case file.

    Raises
    ------
    UsageError
        For an unknown claim, or one that is not decided path by path.
    """
    claim, seed = one(name, packs), whole("seed", seed, 0)
    out = None if out is None else file_path("out", out)
    callback("progress", progress)
    if claim.kind not in HUNTED and claim.hunted is None:
        raise UsageError(
            f"claim {name} is {claim.kind}, but only {' and '.join(HUNTED)} claims, and bounds that"
            " say what their runs are, can be hunted: use verify for it."
        )
    chosen = choice("sync", claim.readings[0] if reading is None else reading, claim.readings)
    seconds = real("budget", budget, positive=True)
    if seconds > MOST_SECONDS:
        raise UsageError(
            f"budget is {seconds:g} seconds, but at most {MOST_SECONDS:g} are searched: lower it."
        )
    best, evaluations, idle = _search(claim, chosen, seconds, seed, progress)
    if best and best.violated:
        best = confirm(claim, shrink(claim, best))
    known_as = reference(name, packs)
    file = write(best, known_as, out / f"{claim.id}-{chosen}.json") if best and out else None
    return {
        "claim": known_as,
        "reading": chosen,
        "best_ratio": best.ratio if best and math.isfinite(best.ratio) else None,
        "unbounded": bool(best and best.ratio == math.inf),
        "violated": bool(best and best.violated),
        "evaluations": evaluations,
        "idle": None if best or not idle else idle.most_common(1)[0][0],
        "case": best.subject.to_json() if best else None,
        **{name: getattr(best, name, None) for name in ("t", "where", "left", "right")},
        "case_file": str(file) if file else None,
        "packs": [str(pack) for pack in packs],
    }


class _EnoughError(Exception):
    """The budget is spent, or a plain violation was found."""


def _search(
    claim: Claim, reading: str, budget: float, seed: int, progress: Callable[[str], None]
) -> tuple[Found | None, int, Counter[str]]:
    """Run differential evolution until the budget is spent or the claim is broken by 2x.

    The last that is returned counts, by reason, the runs that say nothing about the claim.
    """
    from scipy.optimize import Bounds, differential_evolution

    best: list[Found] = []
    idle: Counter[str] = Counter()
    panel = subjects(claim, reading, "quick")
    count, end = 0, time.monotonic() + budget
    box = [(0, 1)] * len(BOX) if claim.hunted else BOX

    def made(point: Any) -> Case:
        if claim.hunted:
            return claim.hunted(point, reading)
        return fitted(claim, panel, point, reading)

    def badness(point: Any) -> float:
        nonlocal count
        if time.monotonic() > end:
            raise _EnoughError
        count += 1
        try:
            case = made(point)
            found = worst(claim, case)
        except UsageError as error:  # a corner of the box where the dials do not add up
            idle[str(error)] += 1
            return 1e3
        if found is None:
            idle[_silent(claim, case)] += 1
            return 1e3
        if not best or found.ratio > best[0].ratio:
            best[:] = [found]
            progress(
                f"{claim.id} {reading}: left/right {rounded(found.ratio, 4)} after {count} runs"
            )
        if found.violated and found.ratio > 2:
            raise _EnoughError
        return -math.log(max(found.ratio, 1e-300)) if found.ratio < math.inf else -1e3

    try:
        while True:  # a converged population starts again elsewhere
            differential_evolution(
                badness,
                Bounds(*np.transpose(box).astype(float)),
                rng=np.random.default_rng([seed, count]),  # noqa: TID251 - found cases keep their bits
                maxiter=60,
                popsize=8,
                polish=False,
                tol=1e-6,
            )
    except _EnoughError:
        pass
    return (best[0] if best else None), count, idle


def _silent(claim: Claim, case: Case) -> str:
    """Return why a run says nothing about a claim: a premise that it doesn't meet, or its sides."""
    unmet = [premise.name for premise in claim.premises(case) if not premise.ok]
    if unmet:
        return f"the premise {' and '.join(unmet)} is not met"
    return "the left side stays at or below 0, or what floats resolve"


def shrink(claim: Claim, found: Found) -> Found:
    """Return the simplest case near ``found`` that is still plainly violated."""
    enough = min(found.ratio, CLEAR)
    changed = True
    while changed:
        changed = False
        for simpler in _simpler(found.subject):
            try:
                again = worst(claim, simpler)
            except UsageError:
                continue
            if again is not None and again.violated and again.ratio >= enough:
                found, changed = again, True
                break
    return found


def confirm(claim: Claim, found: Found) -> Found:
    """Return the same case judged on fresh replicates; a noiseless case needs none."""
    if dict(found.subject.dials).get("sigma") == 0.0:
        return replace(found, subject=replace(found.subject, replicates=1))
    again = worst(claim, replace(found.subject, replicates=CONFIRM, seed=found.subject.seed + 1))
    return again if again is not None else found


def _simpler(case: Case) -> Iterator[Case]:
    """Yield cases with one field made plainer, the boldest first."""
    own = dict(case.dials)
    if own.get("sigma"):
        quiet = {**own, "sigma": 0.0}
        quiet.pop("noise_smoothness", None)
        yield replace(case, dials=dials(**quiet))
    if own.get("het_phase"):
        yield replace(case, dials=dials(**{**own, "het_phase": 0.0}))
    if case.problem != "quadratic":
        yield replace(case, problem="quadratic")
    if case.K > 2:
        yield replace(case, K=2)
    for fewer in (1, 2):
        if case.rounds > fewer:
            yield replace(case, rounds=fewer)
    if case.b > 1:
        yield replace(case, b=1.0)
    for less in (2, case.I // 2, case.I - 1):
        if 2 <= less < case.I:
            yield replace(case, I=less)
    for name in ("zeta", "curvature", "sigma", "noise_smoothness"):
        if own.get(name):
            for digits in (1, 2, 3):
                rounded = float(f"{own[name]:.{digits}g}")
                if rounded != own[name]:
                    yield replace(case, dials=dials(**{**own, name: rounded}))
    if isinstance(case.x1, float):
        for start in (1.0, *(float(f"{case.x1:.{d}g}") for d in (1, 2, 3))):
            if len(repr(start)) < len(repr(case.x1)):
                yield replace(case, x1=start)
