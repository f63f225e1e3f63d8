"""A measured run against every bound that speaks of its algorithm: margins and verdicts.

Paper: Thm: PR_Convergence_Main_App; Thm: Flexible_FedAvg.
"""

from __future__ import annotations

import math
from dataclasses import asdict, fields
from typing import Any

import numpy as np

from stemtheory.bounds.evaluation import BOUNDS, Bound, BoundFormula, Setting, evaluate
from stemtheory.oracles import Constants
from stemtheory.runtime import UsageError, Verdict
from stemtheory.simulator import Margin, Run, Trace

EVERYBODY = "every worker takes part"
PRINTED = ("stem-theorem", "stem-intermediate")


def margins(trace: Trace) -> tuple[Margin, ...]:
    """Return the margin of every bound that the algorithm of ``trace`` declares.

    They come in the order of ``BOUNDS``. A bound that is not declared is about something else, and
    so is one about other steps, unless the steps of the run are nobody's.

    Paper: Thm: PR_Convergence_Main_App, eq. (Eq: Grad_Norm_Sum); Thm: Flexible_FedAvg.
    """
    met = trace.circumstances
    start = met.grad_sq_start if math.isfinite(met.grad_sq_start) else None
    interval = _interval(trace)
    return tuple(
        _margin(trace.run, met.constants, met.estimated, name, start, interval)
        for name in _declared(trace.run)
    )


def prospects(run: Run) -> tuple[Margin, ...]:
    """Return every bound that the algorithm of ``run`` declares, before anything is measured."""
    problem = run.problem.load()
    constants, gradient = problem.constants(run.start), problem.full_gradient(run.start)
    estimated = bool(getattr(problem, "estimated", False))
    start = float(np.sum(gradient * gradient))
    return tuple(_margin(run, constants, estimated, name, start, None) for name in _declared(run))


Run.judge, Trace.judge = prospects, margins


def spoken(run: Run) -> list[str]:
    """Return the bounds on the algorithm of a run that speak of its steps."""
    declared, schedule = run.algorithm.entry.bounds, run.schedule.name
    return [
        name
        for name, formula in BOUNDS.items()
        if name in declared and formula.speaks_of(schedule, run.steps)
    ]


def _declared(run: Run) -> list[str]:
    """Return what is held against a run: where no bound speaks of its steps, the theorem's."""
    declared = run.algorithm.entry.bounds
    others = [n for n, formula in BOUNDS.items() if n in declared and formula.part is None]
    return spoken(run) or others


def document(trace: Trace, found: tuple[Margin, ...]) -> dict[str, Any]:
    """Return what a run was and measured, with the JSON keys of the command ``run``.

    Wherever a value is None, ``reasons`` says why, by its dotted path; wherever a bound is
    inapplicable, ``unmet`` names the premise.
    """
    settings, counts = dict(trace.settings), trace.counts
    diverged = trace.diverged_at[trace.diverged_at > 0]
    result: dict[str, Any] = {
        **settings,
        "replicates": trace.replicates,
        "mean_grad_sq": trace.mean_grad_sq,
        "stderr": trace.stderr,
        "ci95": trace.ci95,
        "mean_grad_sq_finite": trace.mean_grad_sq_finite,
        "status": trace.status,
        "diverged_replicates": trace.diverged_replicates,
        "diverged_at": int(diverged.min()) if len(diverged) else None,
        **asdict(counts),
        "samples_total": counts.samples_per_worker * settings["K"],
        "bounds": {m.name: m.value for m in found},
        "margins": {m.name: m.margin for m in found},
        "verdicts": {m.name: m.verdict for m in found},
        "unmet": {m.name: m.unmet for m in found if m.unmet},
        "unstable": [m.name for m in found if _unstable(trace, m)],
        **_progress(trace),
    }
    return {**result, "reasons": _reasons(result, found)}


def _progress(trace: Trace) -> dict[str, Any]:
    """Return what was found of a chain by the end, on the average, and when the first was done."""
    if not len(trace.progress):
        return {}
    arrived = trace.arrived_at[trace.arrived_at > 0]
    found = {
        "links": trace.circumstances.dials.get("links", int(trace.progress.max())),
        "found": float(trace.progress[-1].mean()),
        "arrived_replicates": len(arrived),
        "arrived_at": int(arrived.min()) if len(arrived) else None,
    }
    return {"chain": found}


def _unstable(trace: Trace, found: Margin) -> bool:
    """Whether a bound is violated that is no better than standing still: the run left its start."""
    start = trace.circumstances.grad_sq_start
    return found.verdict == Verdict.VIOLATED and found.value is not None and found.value >= start


Interval = tuple[float | None, float | None]
CONSTANTS = tuple(f.name for f in fields(Constants) if f.name != "exact")


def _margin(
    run: Run,
    constants: Constants,
    estimated: bool,
    name: str,
    start: float | None,
    interval: Interval | None,
) -> Margin:
    """Return what one bound says; ``interval`` is None where nothing was measured."""
    unbounded = [n for n in CONSTANTS if not math.isfinite(getattr(constants, n))]
    if unbounded:
        reason = f"{unbounded[0]} is not finite on this problem"
        return Margin(name, None, None, Verdict.INAPPLICABLE, reason, f"{unbounded[0]} is finite")
    if estimated:
        reason = "L, sigma and zeta of real data are estimates from below, which bound nothing"
        known = "L, sigma, zeta are known"
        return Margin(name, None, None, Verdict.INAPPLICABLE, reason, known)
    try:
        bound = evaluate(name, setting_of(run, constants), grad_sq=start)
    except UsageError as error:
        return Margin(name, None, None, Verdict.UNDECIDED, str(error))
    unmet = [premise.name for premise in bound.premises if not premise.ok]
    unmet += _unmet(run, BOUNDS[name])
    low, high = interval or (None, None)
    margin, reason = _ratio(run, bound, high)
    broken = low is not None and low > bound.value
    if unmet and not (broken and unmet == [_reading(BOUNDS[name])] and name in PRINTED):
        return Margin(name, bound.value, margin, Verdict.INAPPLICABLE, reason, unmet[0])
    if interval is None:
        verdict = Verdict.VACUOUS if bound.vacuous() else Verdict.UNDECIDED
        reason = "nothing was measured"
    elif low is None or high is None:
        verdict = Verdict.UNDECIDED
    elif broken:
        verdict = Verdict.VIOLATED
    elif bound.vacuous():
        verdict = Verdict.VACUOUS
    else:
        verdict = Verdict.HOLDS if high <= bound.value else Verdict.UNDECIDED
    return Margin(name, bound.value, margin, verdict, reason)


def _ratio(run: Run, bound: Bound, high: float | None) -> tuple[float | None, str]:
    """Return bound over measurement, or None and why there is none."""
    sizes = run.sizes
    if bound.setting.I != sizes.I or not math.isclose(bound.setting.b, sizes.b, rel_tol=1e-9):
        return None, "the bound speaks of another b or I"
    if high is None:
        return None, "the run has no confidence interval"
    return (bound.value / high, "") if high > 0 else (None, "the run measured 0")


def setting_of(run: Run, constants: Constants) -> Setting:
    """Return the setting at which a bound speaks of a run on a problem with these constants."""
    s = run.sizes
    return Setting(
        T=s.T,
        K=s.K,
        b=s.b,
        I=s.I,
        B=s.B if run.method.costs.initial_batch else None,
        sync_batch=run.algorithm.settled.get("sync_batch", 1),
        **{name: getattr(constants, name) for name in ("L", "sigma", "zeta", "gap")},
    )


def _unmet(run: Run, formula: BoundFormula) -> list[str]:
    """Return the premises that a bound takes for granted and this run does not meet."""
    options = run.algorithm.settled
    unmet = [] if run.schedule.name == formula.schedule else [f"schedule {formula.schedule}"]
    if run.sizes.I > 1 and options.get("sync", "literal") not in formula.readings:
        unmet.append(_reading(formula))
    if options.get("participation", 1) < 1:
        unmet.append(EVERYBODY)
    return unmet


def _reading(formula: BoundFormula) -> str:
    return f"sync {' or '.join(formula.readings)}"


def _interval(trace: Trace) -> Interval:
    """Return the 95 % interval of the mean; a run without noise has one of width 0."""
    if trace.ci95 is None and trace.circumstances.constants.sigma == 0:
        return trace.mean_grad_sq, trace.mean_grad_sq
    return trace.ci95 or (None, None)


def _reasons(result: dict[str, Any], found: tuple[Margin, ...]) -> dict[str, str]:
    """Say why a value is null, for every null of the document."""
    reasons = {}
    if result["status"] == "diverged":
        lost = f"{result['diverged_replicates']} of {result['replicates']} replicates diverged"
        reasons = dict.fromkeys(("mean_grad_sq", "stderr", "ci95", "mean_grad_sq_finite"), lost)
    else:
        reasons["diverged_at"] = "no replicate diverged"
        reasons |= dict.fromkeys(("stderr", "ci95"), "one replicate has no spread")
    reasons["nu"] = "b and I were given or pinned"
    reasons["B"] = f"{result['algorithm']} has no first batch"
    for m in found:
        reasons |= {f"bounds.{m.name}": m.reason, f"margins.{m.name}": m.reason}
    if "chain" in result:
        reasons["chain.arrived_at"] = "no replicate found all links"
    for name in result["constants"]:
        reasons[f"constants.{name}"] = "unbounded or beyond the numbers of this machine"
    return {path: text for path, text in reasons.items() if _lookup(result, path) is None}


def _lookup(result: dict[str, Any], path: str) -> Any:
    value: Any = result
    for key in path.split("."):
        value = value[key]
    return value
