"""A bound at a setting, or the setting at which it reaches epsilon, as one document.

Paper: Thm: PR_Convergence_Main_App; Def: ComputationComplexity; Def: CommunicationComplexity.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from stemtheory.bounds.evaluation import (
    BOUNDS,
    Bound,
    Setting,
    bound_curve,
    evaluate,
    invert,
    samples_per_worker,
)
from stemtheory.oracles import USUAL, resolve_zeta
from stemtheory.runtime import UsageError, choice, real, whole, within_floats
from stemtheory.schedules import check_nu, round_up
from stemtheory.simulator import DEFAULT, refuse_nu_beside

ASKED = (
    *("T", "epsilon", "K", "b", "I", "nu", "B", "sync_batch"),
    *("L", "sigma", "zeta", "gap", "grad_sq"),
)


@dataclass(frozen=True)
class _Question:
    """What was asked, checked; nu is None where b or I was given, m where the bound chooses it."""

    name: str
    K: int
    b: float
    I: int
    nu: float | None
    B: float | None
    sync_batch: int | None
    constants: dict[str, float]
    grad_sq: float | None


def bound_document(name: str, **asked: object) -> dict[str, Any]:
    """Return the JSON document of the command ``bound``; numbers may be text.

    What may be asked: T or epsilon; K, b, I or nu, B, sync_batch; L, sigma, zeta, gap; grad_sq.
    T (default 4096) is rounded up to whole rounds; with ``epsilon`` it is the smallest number of
    iterations whose bound is at most epsilon. Without b and I they lie on the trade-off curve of nu
    (default 1/2). zeta is 1 by default, and 0 with one worker.

    Raises
    ------
    UsageError
        For unknown names, values out of range, or two options that exclude each other.
    """
    choice("bound", name, BOUNDS)
    for key in asked:
        choice("argument of bound_document", key, ASKED)
    with within_floats(**asked), np.errstate(over="raise", divide="raise", invalid="raise"):
        return _stated(name, asked)


def _stated(name: str, asked: Mapping[str, object]) -> dict[str, Any]:
    """Check what was asked, and answer it; a number too extreme raises an ArithmeticError."""
    T, epsilon, b, I, nu, B = (asked.get(key) for key in ("T", "epsilon", "b", "I", "nu", "B"))
    given = asdict(USUAL) | {k: v for k, v in asked.items() if v is not None}
    sync_batch = None if "sync_batch" not in given else whole("sync_batch", given["sync_batch"])
    workers = whole("K", given["K"])
    refuse_nu_beside(nu, b, I)
    _refuse_what_changes_nothing(name, b=b, I=I, B=B, sync_batch=sync_batch)
    curve = real("nu", DEFAULT.nu if nu is None else nu)
    grad_sq = asked.get("grad_sq")
    question = _Question(
        name=name,
        K=workers,
        b=1.0 if b is None else real("b", b, minimum=1),
        I=1 if I is None else whole("I", I),
        nu=check_nu(curve) if b is None and I is None else None,
        B=None if B is None else real("B", B, minimum=1),
        sync_batch=sync_batch,
        constants={
            "L": real("L", given["L"], positive=True),
            "sigma": real("sigma", given["sigma"], minimum=0),
            "zeta": _zeta(workers, asked.get("zeta")),
            "gap": real("gap", given["gap"], minimum=0),
        },
        grad_sq=None if grad_sq is None else real("grad_sq", grad_sq, minimum=0),
    )
    if epsilon is None:
        return _at(question, whole("T", DEFAULT.T if T is None else T))
    if T is not None:
        raise UsageError(
            f"T is {T} together with epsilon {epsilon}, but epsilon asks for the T that reaches"
            " it: leave one of them out."
        )
    return _reaching(question, real("epsilon", epsilon, positive=True))


def _refuse_what_changes_nothing(
    name: str, *, b: object, I: object, B: object, sync_batch: int | None
) -> None:
    """Refuse a size that the bound does not have, or sets itself: its value would ignore it."""
    formula = BOUNDS[name]
    if formula.algorithm == "fedavg" and (B is not None or sync_batch not in (None, 1)):
        raise UsageError(
            f"B or sync_batch was given, but {name} is about FedAvg, which has neither: leave them"
            " out, or choose a bound on STEM."
        )
    if formula.one_step and not (b is None and I is None):
        raise UsageError(
            f"b or I was given, but {name} sets I = 1 and b = T/(81 K L^2) itself: leave them out,"
            " or choose fedavg-theorem."
        )


def _zeta(K: int, zeta: object) -> float:
    given = None if zeta is None else real("zeta", zeta, minimum=0)
    return resolve_zeta(K, given, "sinusoid")[0]


def _at(q: _Question, T: int) -> dict[str, Any]:
    """Evaluate at T, rounded up to whole rounds."""
    b, I, clipped = q.b, q.I, False
    if q.nu is not None:
        I, b, clipped = bound_curve(q.name, T, q.K, q.nu, q.constants["L"])
    setting = _setting(q, round_up(T, I), b, I)
    bound = evaluate(q.name, setting, grad_sq=q.grad_sq)
    return _document(q, bound, setting, {"T_requested": T, "clipped": clipped})


def _reaching(q: _Question, epsilon: float) -> dict[str, Any]:
    """Find the smallest T whose bound is at most epsilon."""
    point: dict[str, Any] = {"b": q.b, "I": q.I} if q.nu is None else {"nu": q.nu}
    constants: dict[str, Any] = q.constants
    found = invert(
        q.name,
        epsilon,
        K=q.K,
        **constants,
        **point,
        B=q.B,
        sync_batch=q.sync_batch or 1,
    )
    more = {"epsilon": epsilon, "T_requested": None, "clipped": found.clipped}
    setting = _setting(q, found.T, found.b, found.I)
    return _document(q, evaluate(q.name, setting, grad_sq=q.grad_sq), setting, more)


def _setting(q: _Question, T: int, b: float, I: int) -> Setting:
    """Return the setting, with the sync batch that the bound chooses unless one was given."""
    s = Setting(T, q.K, b, I, **q.constants, B=q.B, sync_batch=q.sync_batch or 1)
    if q.sync_batch is not None:
        return s
    return s.at(sync_batch=BOUNDS[q.name].settle(s).sync_batch)


def _document(q: _Question, bound: Bound, s: Setting, more: dict[str, Any]) -> dict[str, Any]:
    """Return the bound, the setting it was asked at, and what a run there costs."""
    algorithm = BOUNDS[q.name].algorithm
    samples = samples_per_worker(algorithm, s, BOUNDS[q.name].readings[0])
    document = {
        **bound.to_dict(),
        "applies": bound.applies,
        "vacuous": bound.vacuous(),
        "T": int(s.T),
        "K": s.K,
        "b": s.b,
        "I": s.I,
        "B": s.initial_batch if algorithm == "stem" else None,
        "nu": q.nu,
        "sync_batch": s.sync_batch,
        "constants": q.constants,
        "samples_per_worker": samples,
        "samples_total": samples * s.K,
        "rounds": int(s.T) // s.I,
        **more,
    }
    reasons = {
        "nu": "b or I was given",
        "B": "FedAvg has no first batch",
        "T_requested": "epsilon was given instead",
        "vacuous_below_T": f"no T brings it below {bound.reference_name}"
        f" = {bound.reference:g} with these b and I",
    }
    empty = {key: text for key, text in reasons.items() if document[key] is None}
    return document | {"reasons": empty}
