"""The semidefinite program behind a certificate, by a solver that need not be trusted.

Primal: the largest E f(xbar_I) - E f(xbar_0) + (eta/2) sum_j E|grad f(xbar_j)|^2 over Gram matrices
that obey the rows. Its dual variables are the certificate; those of the two potential rows are the
best lambda and mu. Needs the extra ``certify`` (cvxpy with Clarabel), imported by the first call.
"""

from __future__ import annotations

import importlib.util
import math
import warnings
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from stemtheory.certificates.constraints import Row, descent, drift_growth, error_growth, rows
from stemtheory.certificates.statement import Statement
from stemtheory.certificates.vectors import Round, coordinates, linked, still, vanishing
from stemtheory.runtime import Floats, UsageError

TOLERANCES, TOLERANCE = ("tol_feas", "tol_gap_abs", "tol_gap_rel"), 1e-11
ACCEPTED = ("optimal", "optimal_inaccurate")  # the exact check decides


class Weights(NamedTuple):
    """What is minimised: D c_D + S c_S + Z c_Z; c_D follows from the step alone."""

    D: float = 1.0
    S: float = 1.0
    Z: float = 1.0


class Solution(NamedTuple):
    """Floats of the dual: multipliers by row, lambda, mu, the slack matrices of M and D."""

    multipliers: dict[str, float]
    lam: float
    mu: float
    slack: dict[str, Floats]
    value: float


class _Layout(NamedTuple):
    """Where the unknowns stand: entries of M, then of D, then function values.

    ``entries`` maps a block and (i, j), i >= j, to an unknown and the factor on it.
    """

    entries: dict[str, dict[tuple[int, int], tuple[int, float]]]
    values: dict[str, int]
    size: int


def solve(r: Round, weights: Weights | None = None, eps: float = 1e-7) -> Solution | None:
    """Return the dual solution, None where the solver found none.

    ``eps`` is what the slack matrices keep above 0 in scaled units, the margin that survives
    rounding; with 0 the value is best, and nothing is left to round.
    """
    s, w = r.statement, weights or Weights()
    units, layout = _units(s, r.basis, w), _layout(r)
    known = rows(r)
    sides = [row.sigma * _weighed(s, w.S) + row.zeta * _weighed(s, w.Z) for row in known]
    right = np.array([*sides, _lam(s, w), 0.0])
    A = _scaled([*known, error_growth(s), drift_growth(s), descent(s)], r, units, layout)
    size = np.abs(A).max(axis=1)
    size[size == 0] = 1.0  # a potential row that vanishes, such as X_0 with one worker
    A /= size[:, None]
    found = _maximise(A[-1], A[:-1], right / size[:-1], layout, len(r.basis), eps)
    if found is None:
        return None
    duals, slack = found
    y = np.maximum(duals, 0.0) * size[-1] / size[:-1]
    for block, S in slack.items():
        whole = size[-1] * (S + eps * np.eye(len(S)))
        slack[block] = whole / np.outer(units[block], units[block])
    names = [row.id for row in known]
    multipliers = dict(zip(names, map(float, y), strict=False))
    return Solution(multipliers, float(y[-2]), float(y[-1]), slack, float(y @ right))


def _weighed(s: Statement, weight: float) -> float:
    """Return what a constant of sigma^2 or zeta^2 costs: it is summed over (I b K)^2 rounds."""
    return weight * float(s.work) ** 2 if s.stem else weight


def _lam(s: Statement, w: Weights) -> float:
    return w.S / s.work if s.stem else 0.0


def _units(s: Statement, basis: tuple[str, ...], w: Weights) -> dict[str, Floats]:
    """Return the unit of each basis vector by block: without them entries span twelve decades."""
    eta, root = float(s.eta), math.sqrt(_weighed(s, w.S))
    by_letter = {"e": 1.0, "g": 1.0, "X": eta, "U": eta, "H": eta, "D": eta, "P": root}
    found = {}
    for block, draws in (("M", s.b * s.K), ("D", s.b)):
        noise = {letter: by_letter[letter] / math.sqrt(draws) for letter in "DP"}
        own = by_letter | noise | ({"g": root} if block == "D" else {})
        found[block] = np.array([own[name[0]] for name in basis])
    return found


def _layout(r: Round) -> _Layout:
    """Number the free entries; a linked entry of D is that of M, in scaled units times (K-1)/K."""
    K, places = r.statement.K, [(i, j) for i in range(len(r.basis)) for j in range(i + 1)]
    entries: dict[str, dict[tuple[int, int], tuple[int, float]]] = {"M": {}, "D": {}}
    count = 0
    for block in ("M", "D") if K > 1 else ("M",):
        for i, j in places:
            u, v = r.basis[i], r.basis[j]
            if vanishing(u, v) or still(u, block) or still(v, block):
                continue
            if block == "D" and linked(u, v):
                entries["D"][i, j] = (entries["M"][i, j][0], (K - 1) / K)
            else:
                entries[block][i, j] = (count, 1.0)
                count += 1
    values = {p: count + n for n, p in enumerate(list(r.points)[1:])}
    return _Layout(entries, values, count + len(values))


def _scaled(known: list[Row], r: Round, units: dict[str, Floats], layout: _Layout) -> Floats:
    """Return the rows' coefficients on the unknowns, (rows, unknowns)."""
    place, deviations, means = coordinates(r)
    A = np.zeros((len(known), layout.size))
    for block, vectors in (("M", means), ("D", deviations)):
        V, entries = vectors * units[block], layout.entries[block]
        i, j = np.array([*entries], dtype=int).reshape(-1, 2).T
        at = np.array([n for n, _ in entries.values()], dtype=int)
        factor = np.array([f for _, f in entries.values()]) * np.where(i == j, 0.5, 1.0)
        for n, row in enumerate(known):
            Q = np.zeros((len(r.basis), len(r.basis)))
            for (u, v), weight in row.form(block).items():
                Q += float(weight) * np.outer(V[place[u]], V[place[v]])
            np.add.at(A[n], at, factor * (Q + Q.T)[i, j])
    for n, row in enumerate(known):
        for p, c in row.values.items():
            if p in layout.values:
                A[n, layout.values[p]] = float(c) * float(r.statement.eta) ** 2
    return A


def _maximise(
    objective: Floats, A: Floats, right: Floats, layout: _Layout, n: int, eps: float
) -> tuple[Floats, dict[str, Floats]] | None:
    """Return the duals of the rows and the slack matrices of M and D, in scaled units."""
    cp = _solver()
    z = cp.Variable(layout.size)
    trace = np.zeros(layout.size)
    limits: list[Any] = [sparse.csr_array(A) @ z <= right]
    kept = {}
    for block, entries in layout.entries.items():
        if not entries:
            continue
        kept[block] = sorted({i for pair in entries for i in pair})
        at = {i: k for k, i in enumerate(kept[block])}
        side = len(at)
        spread = sparse.lil_array((side * side, layout.size))
        for (i, j), (place, factor) in entries.items():
            spread[at[i] * side + at[j], place] = spread[at[j] * side + at[i], place] = factor
            trace[place] += factor * (i == j)
        limits.append(cp.reshape(spread.tocsr() @ z, (side, side), order="C") >> 0)
    problem = cp.Problem(cp.Maximize((objective + eps * trace) @ z), limits)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an inaccurate solution is for the check to judge
        try:
            problem.solve(solver=cp.CLARABEL, **dict.fromkeys(TOLERANCES, TOLERANCE))
        except cp.error.SolverError:
            return None
    if problem.status not in ACCEPTED or not np.isfinite(problem.value):
        return None
    slack = {}
    for (block, rest), limit in zip(kept.items(), limits[1:], strict=True):
        slack[block] = np.zeros((n, n))
        slack[block][np.ix_(rest, rest)] = (limit.dual_value + limit.dual_value.T) / 2
    return np.asarray(limits[0].dual_value), slack


def solvable() -> bool:
    """Whether what finds certificates is installed; nothing of it is imported."""
    return all(importlib.util.find_spec(name) for name in ("cvxpy", "clarabel"))


def _solver() -> Any:
    """Return cvxpy with Clarabel.

    Raises
    ------
    UsageError
        If either is not installed.
    """
    try:
        import clarabel
        import cvxpy
    except ImportError as error:
        raise UsageError(
            f"a certificate is found by cvxpy with Clarabel, and {error.name} is not installed:"
            " install stemtheory[certify]; checking one needs neither."
        ) from error
    return cvxpy if clarabel else None
