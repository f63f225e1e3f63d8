"""Schedules by name: one table of how each is made, and of the options that it takes.

Paper: Thm: PR_Convergence_Main, eq. (eq: Step-Size); Thm: Flexible_FedAvg.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from numpy.typing import ArrayLike

from stemtheory.runtime import Floats, UsageError, choice, real
from stemtheory.schedules.fedavg_stepsizes import FedAvgCalibrated, FedAvgTheorem
from stemtheory.schedules.rstar import RSTAR_STEPS, RStar
from stemtheory.schedules.stepsizes import (
    Calibrated,
    Constant,
    Practical,
    Theorem,
    coupled,
    theorem_c_b,
)


class Schedule(Protocol):
    """A rule for the step size eta_t (t >= 0) and the momentum a_t (t >= 1), vectorised over t."""

    @property
    def name(self) -> str:
        """The name that `make_schedule` knows it by."""
        ...

    def eta(self, t: ArrayLike) -> Floats:
        """Return eta_t, same shape as t, for t >= 0."""
        ...

    def momentum(self, t: ArrayLike) -> Floats:
        """Return a_t, same shape as t, for t >= 1; a_{t+1} = c eta_t^2."""
        ...

    def parameters(self) -> dict[str, float]:
        """Return every number that fixes the schedule, for JSON."""
        ...


class Conditions(NamedTuple):
    """What a schedule may depend on; ``coupling`` is the algorithm's c of a = c eta^2, or None."""

    T: float
    K: int
    b: float
    I: int
    L: float
    sigma: float
    coupling: float | None


@dataclass(frozen=True)
class Maker:
    """How a named schedule is made of the conditions of a run and of its own options.

    ``options`` are the names that it takes, ``needed`` those of them that have no default, and
    ``words`` what those take that are no numbers.
    """

    make: Callable[[Conditions, Mapping[str, Any]], Schedule]
    options: tuple[str, ...] = ()
    needed: tuple[str, ...] = ()
    words: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def _coupled(at: Conditions, own: Mapping[str, Any]) -> Schedule:
    c = theorem_c_b(at.K, at.b, at.I) * at.L * at.L / (at.b * at.K)
    c = c if at.coupling is None else at.coupling
    return coupled(own["eta"], c * real("scale", own.get("scale", 1.0), positive=True))


# By name, then by the family of the algorithm: with a momentum a_t (stem) or without (fedavg).
SCHEDULES: dict[str, dict[str, Maker]] = {
    "theorem": {
        "stem": Maker(lambda at, own: Theorem(at.L, at.K, at.b, at.I)),
        "fedavg": Maker(lambda at, own: FedAvgTheorem(at.T, at.K, at.b, at.I, at.L)),
    },
    "calibrated": {
        "stem": Maker(
            lambda at, own: Calibrated(at.L, at.K, at.b, at.I, **own), ("C1", "C2", "C3")
        ),
        "fedavg": Maker(
            lambda at, own: FedAvgCalibrated(at.T, at.K, at.b, at.I, at.L, **own), ("C1", "C3")
        ),
    },
    "practical": {
        "stem": Maker(lambda at, own: Practical(sigma=at.sigma, **own), ("kappa", "cbar")),
    },
    "constant": {
        "stem": Maker(lambda at, own: Constant(own["eta"], own["a"]), ("eta", "a"), ("eta", "a")),
        "fedavg": Maker(lambda at, own: Constant(own["eta"]), ("eta",), ("eta",)),
    },
    "coupled": {
        "stem": Maker(_coupled, ("eta", "scale"), ("eta",)),
        "fedavg": Maker(_coupled, ("eta",), ("eta",)),
    },
    "rstar": {
        "stem": Maker(
            lambda at, own: RStar(at.L, at.K, at.b, at.I, **own),
            ("part",),
            words={"part": tuple(RSTAR_STEPS)},
        ),
    },
}


def make_schedule(
    name: str,
    called: str = "",
    /,
    *,
    algorithm: str,
    T: float,
    K: int,
    b: float,
    I: int,
    L: float,
    sigma: float,
    coupling: float | None = None,
    **options: object,
) -> Schedule:
    """Return the schedule ``name`` (theorem, calibrated, practical, constant, coupled or rstar).

    Options: ``C1 C2 C3`` (calibrated; FedAvg: ``C1 C3``), ``kappa cbar`` (practical; STEM only),
    ``eta a`` (constant; ``a`` is for algorithms with momentum a_t), ``eta scale`` (coupled: a
    constant eta and a = min(1, scale c eta^2), with the c that the theory of the algorithm puts
    there), ``part`` (rstar: a to e of Theorem R*, default b; STEM only). ``called`` is the
    algorithm's own name for errors, ``coupling`` its c (STEM's unless given).

    Raises
    ------
    UsageError
        For an unknown name, algorithm or option, or a value out of range.
    """
    given = check_options(name, called or algorithm, algorithm, options)
    return SCHEDULES[name][algorithm].make(Conditions(T, K, b, I, L, sigma, coupling), given)


def check_options(
    name: str, called: str, algorithm: str, options: Mapping[str, object]
) -> dict[str, Any]:
    """Return the options of a schedule, checked; the arguments are those of ``make_schedule``.

    Raises
    ------
    UsageError
        For an unknown name, algorithm or option, one that is missing, and a value it does not take.
    """
    choice("algorithm", algorithm, ("stem", "fedavg"))
    maker = SCHEDULES[choice("schedule", name, SCHEDULES)].get(algorithm)
    if maker is None:
        names = " and ".join(f"'{key}'" for key in options)
        given_with = f", so its option {names} means nothing to {called}" if options else ""
        raise UsageError(
            f"schedule '{name}' is STEM's alone{given_with}: give calibrated or constant."
        )
    for key in options:
        if key not in maker.options:
            known = ", ".join(maker.options) or "none"
            raise UsageError(
                f"schedule option '{key}' is unknown for {called} {name}; known are {known}:"
                " drop it or choose another schedule."
            )
    needed = [key for key in maker.needed if key not in options]
    if needed:
        raise UsageError(
            f"schedule '{name}' of {called} needs {' and '.join(needed)}: give a value."
        )
    return {key: _value(key, value, maker.words.get(key)) for key, value in options.items()}


def _value(key: str, value: object, words: tuple[str, ...] | None) -> Any:
    """Return one of the words that an option takes, or else a number."""
    named = f"schedule option '{key}'"
    return real(named, value) if words is None else choice(named, value, words)
