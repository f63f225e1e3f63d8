"""A measured run against every bound that speaks of its algorithm: margins and verdicts.

Paper: Thm: PR_Convergence_Main_App; Thm: Flexible_FedAvg.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from stemtheory.algorithms import ALGORITHMS
from stemtheory.bounds.evaluation import BOUNDS, Bound, Setting, evaluate
from stemtheory.runtime import UsageError
from stemtheory.simulator import Trace

PROVED_READINGS = ("literal", "average-first")
READING = "sync literal or average-first"
EVERYBODY = "every worker takes part"
PRINTED = ("stem-theorem", "stem-intermediate")


@dataclass(frozen=True)
class Margin:
    """One bound at the setting of a run.

    ``value`` is the bound, ``margin`` the bound over the upper end of the 95 % interval of the
    measured E||grad f(xbar_a)||^2 (below 1 the bound is not confirmed), ``verdict`` one of

    * ``holds``: the whole interval lies below the bound;
    * ``violated``: the whole interval lies above it;
    * ``vacuous``: it holds, but is no better than ||grad f(x1)||^2, standing still;
    * ``undecided``: the interval contains the bound, or there is none;
    * ``premise unmet: NAME``: the bound says nothing about this run.

    A reading of the synchronisation is no premise of the printed bounds: the paper never names one.
    Where a printed bound fails under a reading that nobody proved, it is ``violated``.

    ``reason`` says why ``value`` or ``margin`` is None.
    """

    name: str
    value: float | None
    margin: float | None
    verdict: str
    reason: str = ""


def margins(trace: Trace) -> tuple[Margin, ...]:
    """Return the margin of every bound on the algorithm of ``trace``, in the order of ``BOUNDS``.

    Paper: Thm: PR_Convergence_Main_App, eq. (Eq: Grad_Norm_Sum); Thm: Flexible_FedAvg.
    """
    base = ALGORITHMS[trace.settings["algorithm"]].base
    return tuple(_margin(trace, name) for name in BOUNDS if BOUNDS[name].algorithm == base)


def document(trace: Trace, found: tuple[Margin, ...]) -> dict[str, Any]:
    """Return what a run was and measured, with the JSON keys of the command ``run``.

    Wherever a value is None, ``reasons`` says why, by its dotted path.
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
    }
    return {**result, "reasons": _reasons(result, found)}


def _margin(trace: Trace, name: str) -> Margin:
    constants = trace.settings["constants"]
    unbounded = [key for key, value in constants.items() if value is None]
    if unbounded:
        reason = f"{unbounded[0]} is not finite on this problem"
        return Margin(name, None, None, f"premise unmet: {unbounded[0]} is finite", reason)
    if trace.settings.get("estimated"):
        reason = "L, sigma and zeta of real data are estimates from below, which bound nothing"
        return Margin(name, None, None, "premise unmet: L, sigma, zeta are known", reason)
    start = trace.settings["grad_sq_start"]
    try:
        bound = evaluate(name, setting_of(trace), grad_sq=start if math.isfinite(start) else None)
    except UsageError as error:
        return Margin(name, None, None, "undecided", str(error))
    unmet = [premise.name for premise in bound.premises if not premise.ok] + _unmet(trace)
    low, high = _interval(trace)
    margin, reason = _ratio(trace, bound, high)
    broken = low is not None and low > bound.value
    if unmet and not (broken and unmet == [READING] and name in PRINTED):
        verdict = f"premise unmet: {unmet[0]}"
    elif low is None or high is None:
        verdict = "undecided"
    elif broken:
        verdict = "violated"
    elif bound.vacuous():
        verdict = "vacuous"
    else:
        verdict = "holds" if high <= bound.value else "undecided"
    return Margin(name, bound.value, margin, verdict, reason)


def _ratio(trace: Trace, bound: Bound, high: float | None) -> tuple[float | None, str]:
    """Return bound over measurement, or None and why there is none."""
    s = trace.settings
    if bound.setting.I != s["I"] or not math.isclose(bound.setting.b, s["b"], rel_tol=1e-9):
        return None, "the bound speaks of another b or I"
    if high is None:
        return None, "the run has no confidence interval"
    return (bound.value / high, "") if high > 0 else (None, "the run measured 0")


def setting_of(trace: Trace) -> Setting:
    """Return the setting at which a bound speaks of this run."""
    s = trace.settings
    sizes = {key: s[key] for key in ("T", "K", "b", "I", "B", "sync_batch")}
    constants = {key: s["constants"][key] for key in ("L", "sigma", "zeta", "gap")}
    return Setting(**sizes, **constants)


def _unmet(trace: Trace) -> list[str]:
    """Return the premises that a bound takes for granted and this run does not meet."""
    s = trace.settings
    unmet = [] if s["schedule"]["name"] == "theorem" else ["schedule theorem"]
    stem = ALGORITHMS[s["algorithm"]].base == "stem"
    if stem and s["I"] > 1 and s["sync"] not in PROVED_READINGS:
        unmet.append(READING)
    if s.get("algorithm_options", {}).get("participation", 1) < 1:
        unmet.append(EVERYBODY)
    return unmet


def _interval(trace: Trace) -> tuple[float | None, float | None]:
    """Return the 95 % interval of the mean; a run without noise has one of width 0."""
    if trace.ci95 is None and trace.settings["constants"]["sigma"] == 0:
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
    for name in result["constants"]:
        reasons[f"constants.{name}"] = "unbounded or beyond the numbers of this machine"
    return {path: text for path, text in reasons.items() if _lookup(result, path) is None}


def _lookup(result: dict[str, Any], path: str) -> Any:
    value: Any = result
    for key in path.split("."):
        value = value[key]
    return value
