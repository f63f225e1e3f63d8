"""From what the user asked for to what is run: T, b, I, nu, B and the schedule, checked once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from stemtheory.algorithms import Entry, Facts, load_algorithm
from stemtheory.runtime import UsageError, choice, mapping, real, whole
from stemtheory.schedules import (
    SCHEDULES,
    RStar,
    Schedule,
    check_options,
    make_schedule,
    round_up,
)
from stemtheory.simulator.choices import DEFAULT


@dataclass(frozen=True)
class Sizes:
    """T (a multiple of I), b, I and B; nu is None where b and I were given.

    ``clipped`` says that the curve asked for b or I below 1 (T < K^2, for FedAvg T < K^3), where
    the theorem promises no linear speed-up.
    """

    T: int
    T_requested: int
    K: int
    b: float
    I: int
    B: float
    nu: float | None
    clipped: bool


def resolve_sizes(
    algorithm: str | Entry,
    K: int,
    L: float,
    *,
    T: object = DEFAULT.T,
    b: object = None,
    I: object = None,
    nu: object = None,
    B: object = None,
) -> Sizes:
    """Return the sizes of a run; b and I come from the trade-off curve unless given.

    T is rounded up to a multiple of I.

    Raises
    ------
    UsageError
        For values out of range, nu together with b or I, or what a named setting pins.
    """
    entry = load_algorithm(algorithm)
    steps = whole("T", T)
    _check_pins(entry, K, I, nu)
    refuse_nu_beside(nu, b, I)
    batch = None if b is None else real("b", b, minimum=1)
    local = None if I is None else whole("I", I)
    nu_used, clipped = None, False
    if entry.pin("I") is not None:
        local = 1
        if batch is None and entry.batch is not None:
            batch = max(1.0, entry.batch(steps, K, L))
    elif entry.pin("nu") is not None and local is None:
        batch = 1.0 if batch is None else batch
        local = max(1, round((steps / (batch * K) ** 2) ** (1 / 3)))
    elif batch is None and local is None:
        nu_used = _nu(DEFAULT.nu if nu is None else nu)
        local, batch, clipped = entry.curve(steps, K, nu_used)
    batch = 1.0 if batch is None else batch
    local = 1 if local is None else local
    return Sizes(
        T=round_up(steps, local),
        T_requested=steps,
        K=K,
        b=batch,
        I=local,
        B=real("B", batch * local if B is None else B, minimum=1),
        nu=nu_used,
        clipped=clipped,
    )


def resolve_schedule(
    algorithm: str | Entry,
    name: str,
    sizes: Sizes,
    L: float,
    sigma: float,
    options: Mapping[str, Any] | None,
    algorithm_options: Mapping[str, Any] | None = None,
) -> Schedule:
    """Return the step sizes and momenta of a run; ``theorem`` is the algorithm's own theory.

    Raises
    ------
    UsageError
        For an unknown schedule, or options that it or the algorithm does not have.
    """
    entry, name = load_algorithm(algorithm), choice("schedule", name, SCHEDULES)
    facts = Facts(sizes.T, sizes.K, sizes.b, sizes.I, L, sigma)
    own, given = entry.settle(algorithm_options), mapping("schedule_options", options)
    if name == "theorem" and entry.theory is not None and not given:
        return entry.theory(facts, own)
    check_options(name, entry.name, entry.family, given)  # none of them is T, K, b, ... below
    return make_schedule(
        name,
        entry.name,
        algorithm=entry.family,
        T=sizes.T,
        K=sizes.K,
        b=sizes.b,
        I=sizes.I,
        L=L,
        sigma=sigma,
        coupling=None if entry.coupling is None else entry.coupling(facts, own),
        **given,
    )


def with_sync_batch(entry: Entry, options: dict[str, Any], steps: Schedule) -> dict[str, Any]:
    """Return the options of an algorithm, with the sync batch of the steps unless one is given.

    Theorem R* takes m = ceil(I/M) with its steps. Who gives a smaller one runs it, and is told that
    the bound's premise is not met.
    """
    if not isinstance(steps, RStar) or "sync_batch" not in entry.options:
        return options
    return {"sync_batch": steps.sync_batch} | options


def refuse_nu_beside(nu: object, b: object, I: object) -> None:
    """Refuse nu together with b or I, whichever of them would win."""
    if nu is not None and not (b is None and I is None):
        raise UsageError(
            f"nu is {nu} together with b or I, but nu chooses both of them: give nu, or b and I."
        )


def _nu(value: object) -> float:
    nu = real("nu", value, minimum=0)
    if nu > 1:
        raise UsageError(f"nu is {nu:g}, but it must lie in [0, 1]: 0 is minibatch, 1 is local.")
    return nu


def _check_pins(entry: Entry, K: int, I: object, nu: object) -> None:
    """Refuse what contradicts a named setting."""
    if entry.pinned and nu is not None:
        raise UsageError(
            f"nu is {nu}, but {entry.name} fixes it: leave it out, or choose {entry.base}."
        )
    if entry.pin("I") is not None and I is not None and whole("I", I) != 1:
        raise UsageError(f"I is {I}, but {entry.name} has I = 1: leave it out.")
    if entry.pin("K") is not None and K != 1:
        raise UsageError(f"K is {K}, but {entry.name} has one worker: set K=1, or choose stem.")
