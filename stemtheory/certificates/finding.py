"""A certificate found: solved, rounded, and accepted by the checker before anybody sees it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from stemtheory.certificates.file import in_file, why_not
from stemtheory.certificates.rounding import certificate
from stemtheory.certificates.solve import Weights, solve
from stemtheory.certificates.statement import Statement
from stemtheory.certificates.vectors import unroll
from stemtheory.runtime import UsageError

MARGINS = (1e-8, 1e-7, 1e-6, 1e-5, 1e-4)  # tried in turn: what survives rounding, in scaled units
LONGEST_AT_ONCE = 12  # local steps; above it the size and the time are said first
SECONDS, POWER = 40.0, 5  # on two cores at that length, and how it grows


class Certified(NamedTuple):
    """A certificate, the bytes of its file, and the margin with which it was found."""

    certificate: dict[str, Any]
    data: bytes
    eps: float


def find(
    s: Statement, weights: Weights | None = None, told: Callable[[str], None] | None = None
) -> Certified:
    """Return a certificate that the checker has accepted.

    Raises
    ------
    UsageError
        If the solver finds none at any margin, or the checker accepts none of those found.
    """
    r, tried = unroll(s), []
    for eps in MARGINS:
        if told is not None:
            told(f"solving, margin {eps:g}")
        solution = solve(r, weights, eps)
        if solution is None:
            tried.append(f"{eps:g} (not solved)")
            continue
        found = certificate(r, solution)
        data = in_file(found)
        if not (why := why_not(data)):
            return Certified(found, data, eps)
        tried.append(f"{eps:g} ({why})")
    raise UsageError(
        f"no certificate was found at eta = {s.eta}, a = {s.a}, in units of eta and sqrt(bK), with"
        f" margins {', '.join(tried)}: take smaller steps, or other weights."
    )


def least_constant(s: Statement, weights: Weights) -> float | None:
    """Return c_D w_D + c_S w_S + c_Z w_Z of a certificate of STEM in floats, None if not solved.

    Nothing is proved by it: it is what a search over steps compares.
    """
    found = solve(unroll(s), weights, 0.0)
    if found is None:
        return None
    return 2 / (float((1 - s.delta) * s.eta) * s.I) * (weights.D + found.value)


def size(s: Statement) -> tuple[int, int]:
    """Return the sides of the Gram matrices and the number of rows."""
    r = unroll(s)
    points, draws = len(r.points), 3 if s.stem else 1
    return len(r.basis), points * (points - 1) + draws * s.I + (s.I + 1) * (s.K > 1)


def refuse_the_large(s: Statement, force: bool = False) -> None:
    """Refuse what takes more than a minute or so, unless it is forced.

    Raises
    ------
    UsageError
        With the predicted size and time.
    """
    if s.I > LONGEST_AT_ONCE and not force:
        n, rows = size(s)
        minutes = SECONDS * (s.I / LONGEST_AT_ONCE) ** POWER / 60
        raise UsageError(
            f"I is {s.I}, for which two matrices of side {n} and {rows} rows take about"
            f" {minutes:.0f} minutes: add --force, or give I of at most {LONGEST_AT_ONCE}."
        )
