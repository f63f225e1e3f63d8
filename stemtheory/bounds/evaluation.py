"""Bounds evaluated term by term, and inverted to T(eps), samples and rounds.

Paper: Thm: PR_Convergence_Main_App, eq. (Eq: Grad_Norm_Sum); Thm: Flexible_FedAvg;
Def: ComputationComplexity; Def: CommunicationComplexity.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypedDict, Unpack

from stemtheory.algorithms import ALGORITHMS, Costs, Counts
from stemtheory.bounds.fedavg import FEDAVG_BOUNDS
from stemtheory.bounds.formulas import BoundFormula, Premise, Setting
from stemtheory.bounds.inversion import LONGEST, first_fixed, first_on_curve
from stemtheory.bounds.rstar import RSTAR_BOUNDS
from stemtheory.bounds.stem import STEM_BOUNDS
from stemtheory.bounds.table1 import TableRow, table1_exponents
from stemtheory.runtime import UsageError, choice, notebook, real, whole
from stemtheory.schedules import Curve, Theorem, check_nu

__all__ = [
    "BOUNDS",
    "Bound",
    "BoundFormula",
    "Inversion",
    "Premise",
    "Setting",
    "TableRow",
    "bound_curve",
    "counts_of",
    "evaluate",
    "invert",
    "promised",
    "samples_per_worker",
    "table1_exponents",
]

BOUNDS: dict[str, BoundFormula] = {
    formula.name: formula for formula in (*STEM_BOUNDS, *RSTAR_BOUNDS, *FEDAVG_BOUNDS)
}


@dataclass(frozen=True)
class Bound:
    """A bound's value at a setting, with what it is made of.

    ``vacuous_below_T`` is the smallest multiple of I from which the bound applies and is below
    ``reference``, b and I held (None if none is); ``reference_name`` says whether that is the given
    ||grad f(x1)||^2 or 2 L gap, which is never smaller.
    """

    name: str
    value: float
    terms: dict[str, float]
    premises: tuple[Premise, ...]
    vacuous_below_T: int | None
    reference: float
    reference_name: str
    setting: Setting

    @property
    def applies(self) -> bool:
        """Whether every premise is met."""
        return all(premise.ok for premise in self.premises)

    def vacuous(self, grad_sq: float | None = None) -> bool:
        """Whether the bound is no better than standing still (``grad_sq``, else ``reference``)."""
        return not self.value < (self.reference if grad_sq is None else grad_sq)

    def _repr_html_(self) -> str:
        """Return what a notebook shows: every term with its share, the sum, premises not met."""
        unmet = ", ".join(premise.name for premise in self.premises if not premise.ok)
        title = f"{self.name}{f', not met: {unmet}' if unmet else ''}"
        shares = [(name, term, f"{term / self.value:.1%}") for name, term in self.terms.items()]
        return notebook.table(title, ("term", "value", "share"), [*shares, ("sum", self.value, "")])

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "name": self.name,
            "value": self.value,
            "terms": self.terms,
            "premises": [premise._asdict() for premise in self.premises],
            "vacuous_below_T": self.vacuous_below_T,
            "vacuous_reference": {"name": self.reference_name, "value": self.reference},
        }


class Place(TypedDict, total=False):
    """Where a bound is turned round: nu along a curve, or fixed b and I; B and the sync batch."""

    nu: float | None
    b: float | None
    I: int | None
    B: float | None
    sync_batch: int


@dataclass(frozen=True)
class Inversion:
    """T(eps) with what it costs: samples (oracle calls, Definition 2) and rounds.

    ``bound`` is the bound there, with its premises; ``clipped`` marks a run too short for the
    linear speed-up of the curve.
    """

    T: int
    samples_per_worker: float
    samples_total: float
    rounds: int
    b: float
    I: int
    bound: Bound
    clipped: bool

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form: the bound's keys and the costs."""
        costs = {
            "T": self.T,
            "samples_per_worker": self.samples_per_worker,
            "samples_total": self.samples_total,
            "rounds": self.rounds,
            "b": self.b,
            "I": self.I,
        }
        return self.bound.to_dict() | costs


def evaluate(name: str, setting: Setting, *, grad_sq: float | None = None) -> Bound:
    """Return the bound ``name`` at ``setting``; ``grad_sq`` is ||grad f(x1)||^2 for vacuity.

    `minibatch-sgd` speaks of I = 1 and b = T/(81 K L^2), `stem-log-free` of a sync batch of at
    least I/20000 and Theorem R* of one of at least I/M, whatever ``setting`` says; the premises
    tell whether they agree.

    Raises
    ------
    UsageError
        For an unknown name, or numbers so large that the bound is not finite.
    """
    formula = BOUNDS[choice("bound", name, BOUNDS)]
    if not isinstance(setting, Setting):
        raise UsageError(f"setting is {setting!r:.60}, but it must be a Setting: make one.")
    try:
        settled = formula.settle(setting)
        terms = formula.terms(settled)
        value = math.fsum(terms.values())
    except ArithmeticError:  # beyond the floats on the way
        value = math.inf
    if not math.isfinite(value):
        msg = f"{name} is not finite at {setting}: give constants of a smaller size."
        raise UsageError(msg)
    reference, reference_name = 2 * setting.L * setting.gap, "2 L gap"
    if grad_sq is not None:
        reference, reference_name = real("grad_sq", grad_sq, minimum=0), "grad_sq"
    first = _vacuous_below(formula, settled, reference)
    premises = formula.premises(setting)
    return Bound(name, value, terms, premises, first, reference, reference_name, settled)


def invert(
    name: str,
    epsilon: float,
    *,
    K: int,
    L: float,
    sigma: float,
    zeta: float,
    gap: float,
    grad_sq: float | None = None,
    **place: Unpack[Place],
) -> Inversion:
    """Return the smallest T whose bound is at most epsilon, for fixed (b, I) or along a curve (nu).

    ``place`` is nu, or b and I; also B (default b I) and sync_batch (default 1).

    The rule: T is a whole number of rounds; along a curve (b, I) are those of T itself and T is a
    multiple of that I; a premise that a longer run meets (FedAvg's T >= 81 L^2 I^2 bK) is waited
    for, the others are reported. No smaller T qualifies; a larger one may fail again, where I jumps
    or where the step size starts to decay.

    Raises
    ------
    UsageError
        Unless epsilon is above 0 and exactly one of nu and (b, I) is given.
    """
    formula = BOUNDS[choice("bound", name, BOUNDS)]
    epsilon = real("epsilon", epsilon, positive=True)
    for key in place:
        choice("argument of invert", key, Place.__annotations__)
    nu, b, I = place.get("nu"), place.get("b"), place.get("I")
    given = (nu is not None, b is not None, I is not None)
    if given not in ((True, False, False), (False, True, True)):
        msg = "Give either nu or both b and I: nu chooses b and I along the trade-off curve."
        raise UsageError(msg)
    b, I = (1.0, 1) if b is None or I is None else (b, I)
    start = Setting(1, K, b, I, L, sigma, zeta, gap, place.get("B"), place.get("sync_batch", 1))
    clipped = False
    if nu is None:
        setting = promised(name, epsilon, start)
    else:
        meets = _condition(formula, lambda value: value <= epsilon)
        T, point = _along(formula, start, check_nu(nu), meets)
        setting = formula.settle(start.at(T=T, b=point.b, I=point.I))
        clipped = point.clipped
    bound = evaluate(name, setting, grad_sq=grad_sq)
    samples = samples_per_worker(formula.algorithm, setting, formula.readings[0])
    T = round(setting.T)
    rounds = T // setting.I
    return Inversion(T, samples, start.K * samples, rounds, setting.b, setting.I, bound, clipped)


def promised(name: str, epsilon: float, start: Setting) -> Setting:
    """Return ``start`` at the smallest T at which the bound is at most epsilon, b and I held.

    Raises
    ------
    UsageError
        If no T up to 1e44 does; constant steps leave a floor that no length of run goes below.
    """
    formula = BOUNDS[name]
    floor = formula.value(start.at(T=LONGEST * start.I)) if formula.part is not None else 0.0
    if floor > epsilon:
        raise UsageError(
            f"{name} stays above {floor:.4g} with b = {start.b:g} and I = {start.I:.6g}, however"
            " long the run, since its steps are constant: raise epsilon, b or I, or give nu."
        )
    meets = _condition(formula, lambda value: value <= epsilon)
    T = _first_fixed(formula, start, meets, epsilon)
    return formula.settle(start.at(T=T))


def bound_curve(name: str, T: float, K: int, nu: float, L: float) -> Curve:
    """Return (I, b) of the trade-off curve that bound ``name`` is about.

    The paper's curve, except that the repaired theorem needs I >= 2, its log-free corollary and
    that of Theorem R* b >= sqrt(S)/(I K), and minibatch SGD has I = 1, b = T/(81 K L^2).
    """
    formula = BOUNDS[choice("bound", name, BOUNDS)]
    real("T", T, minimum=1)
    nu = 0.0 if formula.one_step else check_nu(nu)
    point = formula.trade_off.point(T, whole("K", K), nu)
    return formula.adjust(point, T, K, real("L", L, positive=True))


def samples_per_worker(algorithm: str, setting: Setting, sync: str = "literal") -> float:
    """Return one worker's oracle calls: FedAvg bT, STEM B + 2bT + 2(m-1)b per jump estimate.

    The literal reading has S - 1 jump estimates (average-first one more).

    Paper: Def: ComputationComplexity.
    """
    return counts_of(algorithm, setting, sync).samples_per_worker


def counts_of(algorithm: str, setting: Setting, sync: str = "literal") -> Counts:
    """Return what the run of a setting costs a worker, vectors uncompressed, as it is counted."""
    s = setting
    costs = _costs(algorithm, s.sync_batch, sync)
    return costs.counts(s.T, b=s.b, I=s.I, B=s.initial_batch, K=s.K, dim=1)


@lru_cache(maxsize=1024)  # a search asks for those of thousands of points
def _costs(algorithm: str, sync_batch: int, sync: str) -> Costs:
    options = {"sync_batch": sync_batch, "sync": sync} if algorithm == "stem" else {}
    return ALGORITHMS[algorithm].make(options).costs


def _condition(
    formula: BoundFormula, accepts: Callable[[float], bool]
) -> Callable[[Setting], bool]:
    """Whether the bound applies at this length of run and its value is accepted (NaN never is)."""

    def meets(setting: Setting) -> bool:
        return setting.T >= formula.shortest(setting) and accepts(formula.value(setting))

    return meets


def _first_fixed(
    formula: BoundFormula, start: Setting, meets: Callable[[Setting], bool], aim: float
) -> int:
    """Return the smallest T, b and I held, that meets a condition on the bound beside ``aim``."""
    return first_fixed(
        lambda T: meets(start.at(T=T)),
        *_phase(formula, start),
        value=lambda T: formula.value(start.at(T=T)),
        aim=aim,
    )


def _phase(formula: BoundFormula, s: Setting) -> tuple[int, float]:
    """I, and the end of the constant phase (FedAvg bounds have no phases, Theorem R* just one)."""
    if formula.algorithm == "fedavg":
        return formula.settle(s).I, 0.0
    if formula.part is not None:
        return s.I, math.inf
    return s.I, Theorem(s.L, s.K, s.b, s.I).constant_phase_end


def _along(
    formula: BoundFormula, start: Setting, nu: float, meets: Callable[[Setting], bool]
) -> tuple[int, Curve]:
    """Search the curve, that of nu = 0 where the bound has I = 1 at every nu."""
    nu = 0.0 if formula.one_step else nu
    K, L = start.K, start.L

    def point(T: int) -> Curve:
        return formula.adjust(formula.trade_off.point(T, K, nu), T, K, L)

    T = first_on_curve(
        lambda T, at: meets(start.at(T=T, b=at.b, I=at.I)),
        point,
        lambda I: formula.trade_off.longest(I, K, nu),
    )
    return T, point(T)


def _vacuous_below(formula: BoundFormula, settled: Setting, reference: float) -> int | None:
    if reference <= 0:
        return None
    meets = _condition(formula, lambda value: value < reference)
    try:
        return _first_fixed(formula, settled, meets, reference)
    except UsageError:
        return None
