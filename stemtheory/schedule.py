"""Schedules by name, and the trade-off curves of (b, I).

Paper: Thm: PR_Convergence_Main, eq. (eq: Step-Size); Thm: Flexible_FedAvg.
"""

from __future__ import annotations

from typing import Protocol

from numpy.typing import ArrayLike

from stemtheory.curves import Curve, fedavg_curve, round_up, stem_curve
from stemtheory.errors import UsageError, choice, real
from stemtheory.fedavg_stepsizes import FedAvgCalibrated, FedAvgTheorem
from stemtheory.stepsizes import Calibrated, Constant, FloatArray, Practical, Theorem

__all__ = [
    "Calibrated",
    "Constant",
    "Curve",
    "FedAvgCalibrated",
    "FedAvgTheorem",
    "Practical",
    "Schedule",
    "Theorem",
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
}


class Schedule(Protocol):
    """A rule for the step size eta_t (t >= 0) and the momentum a_t (t >= 1), vectorised over t."""

    @property
    def name(self) -> str:
        """The name that `make_schedule` knows it by."""
        ...

    def eta(self, t: ArrayLike) -> FloatArray:
        """Return eta_t, same shape as t, for t >= 0."""
        ...

    def momentum(self, t: ArrayLike) -> FloatArray:
        """Return a_t, same shape as t, for t >= 1; a_{t+1} = c eta_t^2."""
        ...

    def parameters(self) -> dict[str, float]:
        """Return every number that fixes the schedule, for JSON."""
        ...


def make_schedule(
    name: str,
    *,
    algorithm: str,
    T: float,
    K: int,
    b: float,
    I: int,
    L: float,
    sigma: float,
    **options: object,
) -> Schedule:
    """Return the schedule ``name`` (theorem, calibrated, practical or constant).

    Options: ``C1 C2 C3`` (calibrated; FedAvg: ``C1 C3``), ``kappa cbar`` (practical; STEM only),
    ``eta a`` (constant; ``a`` is STEM's alone).

    Raises
    ------
    UsageError
        For an unknown name, algorithm or option, or a value out of range.
    """
    choice("algorithm", algorithm, ("stem", "fedavg"))
    choice("schedule", name, _OPTIONS)
    allowed = _OPTIONS[name][algorithm]
    if allowed is None:
        raise UsageError(f"schedule '{name}' is STEM's alone: give calibrated or constant.")
    for key in options:
        if key not in allowed:
            known = ", ".join(allowed) or "none"
            msg = (
                f"schedule option '{key}' is unknown for {algorithm} {name}; known are {known}:"
                " drop it or choose another schedule."
            )
            raise UsageError(msg)
    given = {key: real(key, value) for key, value in options.items()}
    if name == "constant":
        if missing := [key for key in allowed if key not in given]:
            raise UsageError(f"schedule 'constant' needs {' and '.join(missing)}: give a value.")
        return Constant(given["eta"], given.get("a", 1.0))
    if name == "practical":
        return Practical(sigma=sigma, **given)
    if algorithm == "fedavg":
        if name == "theorem":
            return FedAvgTheorem(T, K, b, I, L)
        return FedAvgCalibrated(T, K, b, I, L, **given)
    return Theorem(L, K, b, I) if name == "theorem" else Calibrated(L, K, b, I, **given)
