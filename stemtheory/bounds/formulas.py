"""What a bound on E||grad f(xbar_a)||^2 is: named terms that add up to it, and its premises."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from stemtheory.runtime import real, whole
from stemtheory.schedules import (
    BOTH,
    RSTAR_STEPS,
    STEM_TRADE_OFF,
    Curve,
    RStar,
    Schedule,
    TradeOff,
    make_schedule,
)

Terms = dict[str, float]


@dataclass(frozen=True)
class Setting:
    """What a bound is evaluated at.

    T steps, K workers, minibatch b (may be real), I local steps a round, first batch B (default
    b I), the sync batch m (m b samples for the one estimate a round that spans the averaging;
    m = 1 is Algorithm 1), the constants of the assumptions, and gap = f(xbar_1) - f*.
    """

    T: float
    K: int
    b: float
    I: int
    L: float
    sigma: float
    zeta: float
    gap: float
    B: float | None = None
    sync_batch: int = 1

    def __post_init__(self) -> None:
        numbers: dict[str, float] = {
            name: real(name, getattr(self, name), minimum=1) for name in "Tb"
        }
        numbers |= {n: whole(n, getattr(self, n)) for n in ("K", "I", "sync_batch")}
        numbers["L"] = real("L", self.L, positive=True)
        numbers |= {n: real(n, getattr(self, n), minimum=0) for n in ("sigma", "zeta", "gap")}
        if self.B is not None:
            numbers["B"] = real("B", self.B, minimum=1)
        for name, number in numbers.items():
            if not isinstance(getattr(self, name), int | float):  # a text, a number of NumPy
                object.__setattr__(self, name, number)

    def at(self, **numbers: float) -> Setting:
        """Return this setting with numbers that a formula or a search computed: not checked again.

        A search asks for about a hundred lengths of run, and a check takes as long as the bound.
        """
        other = object.__new__(Setting)
        other.__dict__.update(self.__dict__, **numbers)
        return other

    @property
    def initial_batch(self) -> float:
        """B, or b I where it was not given."""
        return self.b * self.I if self.B is None else self.B


class Premise(NamedTuple):
    """A condition under which the bound is proved, and whether it is met."""

    name: str
    ok: bool


@dataclass(frozen=True)
class BoundFormula:
    """A bound as data.

    ``settle`` is the setting the bound speaks of (some fix b or I themselves), ``adjust`` does the
    same for a point (T, K, L) of the trade-off curve, ``shortest`` is the T from which the bound
    applies, ``one_step`` marks I = 1 at every nu, ``reference`` says where the bound stands.
    ``schedule`` and, of Theorem R*, ``part`` name the steps that it speaks of, ``readings`` the
    readings of the synchronisation under which it is proved.
    """

    name: str
    algorithm: Literal["stem", "fedavg"]
    summary: str
    reference: str
    terms: Callable[[Setting], Terms]
    premises: Callable[[Setting], tuple[Premise, ...]]
    trade_off: TradeOff = STEM_TRADE_OFF
    adjust: Callable[[Curve, float, int, float], Curve] = lambda point, _T, _K, _L: point
    settle: Callable[[Setting], Setting] = lambda setting: setting
    shortest: Callable[[Setting], float] = lambda _setting: 1.0
    one_step: bool = False
    schedule: str = "theorem"
    part: str | None = None
    readings: tuple[str, ...] = BOTH

    def value(self, setting: Setting) -> float:
        """Return the sum of the terms."""
        return math.fsum(self.terms(self.settle(setting)).values())

    def speaks_of(self, schedule: str, steps: Schedule) -> bool:
        """Whether it is about the steps of this schedule: parts of Theorem R* share some."""
        if self.part is None or not isinstance(steps, RStar):
            return schedule == self.schedule
        return steps.steps.same(RSTAR_STEPS[self.part])

    def steps(self, s: Setting) -> Schedule:
        """Return the steps that the bound is about, at a setting."""
        options: dict[str, Any] = {} if self.part is None else {"part": self.part}
        return make_schedule(
            self.schedule, algorithm=self.algorithm, T=s.T, K=s.K, b=s.b, I=s.I, L=s.L,
            sigma=s.sigma, **options,
        )  # fmt: skip


def whole_rounds(s: Setting) -> Premise:
    """T = S I: the theorems speak of runs that end with a synchronisation."""
    return Premise("T is a multiple of I", s.T % s.I == 0)


def at_most_a_jump(s: Setting, most: int) -> Premise:
    """I/m at most ``most``; I = 1 needs no sync batch and meets every one of these."""
    return Premise(f"I/m <= {most}", s.I <= most * s.sync_batch)


def on_the_curve(point: Curve, T: float, K: int) -> Curve:
    """Raise b where rounding left I^3 (bK)^2 below T, which corollaries need: b >= sqrt(S)/(IK)."""
    S = -(-T // point.I)  # a run has whole rounds, so T is rounded up to them
    return point._replace(b=max(point.b, math.sqrt(S) / (point.I * K)))
