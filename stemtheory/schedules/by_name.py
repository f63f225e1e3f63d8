"""Schedules by name, and the trade-off curves of (b, I).

Paper: Thm: PR_Convergence_Main, eq. (eq: Step-Size); Thm: Flexible_FedAvg.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from numpy.typing import ArrayLike

from stemtheory.runtime import Floats, UsageError, choice, real
from stemtheory.schedules.curves import Curve, fedavg_curve, round_up, stem_curve
from stemtheory.schedules.fedavg_stepsizes import FedAvgCalibrated, FedAvgTheorem
from stemtheory.schedules.stepsizes import (
    Calibrated,
    Constant,
    Practical,
    Theorem,
    coupled,
    theorem_c_b,
)

__all__ = [
    "Calibrated",
    "Constant",
    "Curve",
    "FedAvgCalibrated",
    "FedAvgTheorem",
    "Practical",
    "Schedule",
    "Theorem",
    "check_options",
    "fedavg_curve",
    "make_schedule",
    "round_up",
    "stem_curve",
]

_OPTIONS: dict[str, dict[str, tuple[str, ...] | None]] = {
    "theorem": {"stem": (), "fedavg": ()},
    "calibrated": {"stem": ("C1", "C2", "C3"), "fedavg": ("C1", "C3")},
    "practical": {"stem": ("kappa", "cbar"), "fedavg": None},
    "constant": {"stem": ("eta", "a"), "fedavg": ("eta",)},
    "coupled": {"stem": ("eta", "scale"), "fedavg": ("eta",)},
}


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
    """Return the schedule ``name`` (theorem, calibrated, practical, constant or coupled).

    Options: ``C1 C2 C3`` (calibrated; FedAvg: ``C1 C3``), ``kappa cbar`` (practical; STEM only),
    ``eta a`` (constant; ``a`` is for algorithms with momentum a_t), ``eta scale`` (coupled: a
    constant eta and a = min(1, scale c eta^2), with the c that the theory of the algorithm puts
    there). ``called`` is the algorithm's own name for errors, ``coupling`` its c (STEM's unless
    given).

    Raises
    ------
    UsageError
        For an unknown name, algorithm or option, or a value out of range.
    """
    given = check_options(name, called or algorithm, algorithm, options)
    if name == "constant":
        return Constant(given["eta"], given.get("a", 1.0))
    if name == "coupled":
        c = theorem_c_b(K, b, I) * L * L / (b * K) if coupling is None else coupling
        return coupled(given["eta"], c * real("scale", given.get("scale", 1.0), positive=True))
    if name == "practical":
        return Practical(sigma=sigma, **given)
    if algorithm == "fedavg":
        if name == "theorem":
            return FedAvgTheorem(T, K, b, I, L)
        return FedAvgCalibrated(T, K, b, I, L, **given)
    return Theorem(L, K, b, I) if name == "theorem" else Calibrated(L, K, b, I, **given)


def check_options(
    name: str, called: str, algorithm: str, options: Mapping[str, object]
) -> dict[str, float]:
    """Return the options of a schedule as numbers; the arguments are those of ``make_schedule``.

    Raises
    ------
    UsageError
        For an unknown name, algorithm or option, one that is missing, and one that is no number.
    """
    choice("algorithm", algorithm, ("stem", "fedavg"))
    choice("schedule", name, _OPTIONS)
    allowed = _OPTIONS[name][algorithm]
    if allowed is None:
        names = " and ".join(f"'{key}'" for key in options)
        given_with = f", so its option {names} means nothing to {called}" if options else ""
        raise UsageError(
            f"schedule '{name}' is STEM's alone{given_with}: give calibrated or constant."
        )
    for key in options:
        if key not in allowed:
            known = ", ".join(allowed) or "none"
            raise UsageError(
                f"schedule option '{key}' is unknown for {called} {name}; known are {known}:"
                " drop it or choose another schedule."
            )
    needed = [key for key in allowed if key in ("eta", "a") and key not in options]
    if needed:
        raise UsageError(
            f"schedule '{name}' of {called} needs {' and '.join(needed)}: give a value."
        )
    return {key: real(f"schedule option '{key}'", value) for key, value in options.items()}
