"""Exponents of a sweep: what its rules declare, fitted, and held against the theory.

M is E||grad f(xbar_a)||^2 and samples are those of one worker. Every point that a fit is about is
used or counted under the reason why not. Diverged points never enter.

Paper: Thm: PR_Convergence_Main, Thm: Flexible_FedAvg, Rem: Tradeoff.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from stemtheory.algorithms import load_algorithm
from stemtheory.experiment.design.points import Point
from stemtheory.experiment.design.rules import Rule, rules
from stemtheory.experiment.design.spec import Spec
from stemtheory.experiment.design.where import condition
from stemtheory.experiment.fits.regression import LEAST, Line, fit_line
from stemtheory.experiment.fits.targets import Results, Target, draws
from stemtheory.experiment.fits.tuning import tuned
from stemtheory.experiment.store import tables
from stemtheory.runtime import Floats, Verdict, choice


@dataclass(frozen=True)
class Fit:
    """One exponent with its verdict.

    ``rows`` points went in, ``used`` of them made ``points`` of the line, and ``left_out`` counts
    the others by reason. ``line`` is None, and ``reason`` says why, where nothing can be estimated.
    ``xs`` and ``ys`` are the points of the line.
    """

    name: str
    rule: Rule
    group: Mapping[str, Any]
    theory: float
    verdict: Verdict
    reason: str
    rows: int
    used: int
    left_out: Mapping[str, int]
    line: Line | None
    xs: tuple[float, ...]
    ys: tuple[float, ...]

    @property
    def exponent(self) -> float | None:
        """The slope of log y over log x."""
        return None if self.line is None else self.line.exponent

    @property
    def ci95(self) -> tuple[float, float] | None:
        """Its 95 % interval, the wider of two."""
        return None if self.line is None else (self.line.low, self.line.high)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form; ``tail`` is the slope of the last third towards the limit."""
        line, ends = self.line, self.ci95
        return {
            "name": self.name,
            "exponent": self.exponent,
            "ci95": list(ends) if ends else None,
            "theory": self.theory,
            "verdict": self.verdict,
            "reason": self.reason,
            "fit": self.rule.name,
            "y": self.rule.y,
            "x": self.rule.x,
            "tolerance": self.rule.tolerance,
            "group": dict(self.group),
            "rows": self.rows,
            "used": self.used,
            "left_out": dict(self.left_out),
            "points": len(self.xs),
            "interval": line.source if line else None,
            "tail": _tail(self.rule, line),
            "scatter": line.scatter if line else None,
        }


class _Observation(NamedTuple):
    """One point of a line, or the reason why it is none; ``rows`` reported points are behind it."""

    x: float | None
    y: float | None
    resampled: Floats
    rows: int
    out: str
    identity: Any


@dataclass
class _Group:
    key: Mapping[str, Any]
    label: str
    observations: list[_Observation] = field(default_factory=list)


def fits(
    spec: Spec, points: Sequence[Point], results: Results, found: Sequence[Target]
) -> tuple[Fit, ...]:
    """Return every declared fit for every group that it asks for, in the order of the points.

    ``found`` are the targets of the same points.

    Raises
    ------
    UsageError
        For a column that is not there, or a condition that compares what has no order.
    """
    declared, known = rules(spec), check_columns(spec, points)
    rows = list(_point_rows(points, results)) if any(r.y == "M" for r in declared) else []
    hits: dict[str | None, list[_Row]] = {
        name: list(_target_rows(_best(found, results, name), results))
        for name in {rule.best_of for rule in declared if rule.y != "M"}
    }
    return tuple(
        _fit(rule, group)
        for rule in declared
        for group in _groups(rule, rows if rule.y == "M" else hits[rule.best_of], known)
    )


def check_columns(spec: Spec, points: Sequence[Point]) -> set[str]:
    """Return the columns that a fit may name, whatever the outcomes of these points will be.

    Raises
    ------
    UsageError
        For a fit that names another one, with its key and line.
    """
    kinds = list({_kind(point): point for point in points}.values())
    settings = {name for point in kinds for name in point.cell.settings()}
    records = zip(kinds, tables.point_records(kinds, {}), strict=True)
    # of a problem whose constants are estimated they come with the outcomes
    columns = {name for pair in records for name in _with_products(*pair)} | {"L", "sigma", "zeta"}
    for rule in rules(spec) if kinds else ():
        path = ("fits", rule.name)
        for name in rule.by:
            with spec.document.naming((*path, "by")):
                choice("column", name, columns)
        if rule.where:
            with spec.document.naming((*path, "where")):
                condition(rule.where, columns)
        if rule.best_of is not None:
            with spec.document.naming((*path, "best_of")):
                choice("setting", rule.best_of, settings)
    return columns


def _kind(point: Point) -> Any:
    """Points of a kind have the same columns."""
    run = point.cell.run
    groups = (run.problem.dials, run.schedule.options, run.algorithm.options)
    return (point.algorithm, *(tuple(name for name, _ in group) for group in groups))


def _best(found: Sequence[Target], results: Results, name: str | None) -> Sequence[Target]:
    """The targets themselves, or the winners among those that differ in the setting ``name``."""
    return found if name is None else [t.target for t in tuned(found, results, name)]


class _Row(NamedTuple):
    """What a rule sees of a point: its columns, and the numbers that a y may be."""

    record: Mapping[str, Any]
    status: str
    values: Mapping[str, float]
    resampled: Mapping[str, Floats]
    rows: int
    identity: Any


def _point_rows(points: Sequence[Point], results: Results) -> Iterable[_Row]:
    drawn: dict[str, Floats] = {}
    for point, record in zip(points, tables.point_records(points, results), strict=True):
        id_, status = point.cell.id, record["status"]
        values: dict[str, float] = {}
        if status == "ok":
            result = results[id_]
            if id_ not in drawn:
                drawn[id_] = draws(point.cell, result.grad_sq[None, :])[0]
            values = {"M": float(result.grad_sq.mean())}
        resampled = {"M": drawn[id_]} if id_ in drawn else {}
        yield _Row(_with_products(point, record), status, values, resampled, 1, id_)


def _target_rows(found: Sequence[Target], results: Results) -> Iterable[_Row]:
    records = tables.point_records([target.point for target in found], results)
    for i, (target, record) in enumerate(zip(found, records, strict=True)):
        record = record | {"T": target.costs.get("steps"), "epsilon": target.epsilon}
        if target.on_curve:
            record |= {"b": None, "I": None}
        status = "ok" if target.status == Verdict.REACHED else target.status
        columns = _with_products(target.point, record)
        yield _Row(columns, status, target.costs, target.resampled, target.points, i)


def _with_products(point: Point, record: Mapping[str, Any]) -> Mapping[str, Any]:
    """Add the products of T, K, b and I; None where one of them is None."""
    T, K, b, I = (record[name] for name in ("T", "K", "b", "I"))
    stem = load_algorithm(point.algorithm).family == "stem"
    bI = None if b is None or I is None else b * I
    per_round = None if T is None or I is None else T / I
    root = None if T is None or b is None else math.sqrt(b * K * T)
    products = {"bI": bI, "KbI": None if bI is None else K * bI}
    rates = {"T/I": per_round, "sqrt(bKT)": root, "rate": per_round if stem else root}
    return {**record, **products, **rates}


def _groups(rule: Rule, rows: Sequence[_Row], columns: set[str]) -> Iterable[_Group]:
    """Sort the rows that the rule is about by its columns; none gets lost on the way."""
    keep = condition(rule.where, columns) if rule.where and rows else None
    found: dict[tuple[Any, ...], _Group] = {}
    for row in rows:
        label, grid = row.record["label"], row.record["grid"]
        if label not in rule.algorithms or grid not in rule.grids:
            continue
        if keep is not None and not keep(row.record):
            continue
        values = {name: _comparable(row.record.get(name)) for name in rule.by}
        theory = rule.theory.get(label, rule.theory.get(None))
        key = (*values.values(), theory)
        group = found.setdefault(key, _Group(values, label))
        group.observations.append(_observation(rule, row))
    return found.values()


def _comparable(value: Any) -> Any:
    """NaN equals nothing, not even itself: as a key it would make every row a group of its own."""
    return None if isinstance(value, float) and math.isnan(value) else value


def _observation(rule: Rule, row: _Row) -> _Observation:
    x = row.record.get(rule.x)
    y = row.values.get(rule.y)
    out = "" if row.status == "ok" else row.status
    if not out and x is None:
        out = f"without {rule.x}"
    return _Observation(x, y, row.resampled.get(rule.y, np.empty(0)), row.rows, out, row.identity)


def _fit(rule: Rule, group: _Group) -> Fit:
    """Fit one group, after putting aside what has no number and what stands there twice."""
    left_out: Counter[str] = Counter()
    kept: dict[Any, _Observation] = {}
    for o in group.observations:
        if o.out:
            left_out[o.out] += o.rows
        elif o.identity in kept:
            left_out["repeated"] += o.rows
        else:
            kept[o.identity] = o
    used = list(kept.values())
    line, reason = _line(used)
    theory = rule.theory.get(group.label, rule.theory.get(None, math.nan))
    verdict, reason = _verdict(rule, theory, line, reason, left_out)
    name = ", ".join([rule.name, *(_shown(k, v) for k, v in group.key.items())])
    return Fit(
        name=name,
        rule=rule,
        group=group.key,
        theory=theory,
        verdict=verdict,
        reason=reason,
        rows=sum(o.rows for o in group.observations),
        used=sum(o.rows for o in used),
        left_out=dict(left_out),
        line=line,
        xs=tuple(float(o.x) for o in used if o.x is not None),
        ys=tuple(float(o.y) for o in used if o.y is not None),
    )


def _line(used: Sequence[_Observation]) -> tuple[Line | None, str]:
    """Return the line, or None and why there is none."""
    for letter, values in (("x", [o.x for o in used]), ("y", [o.y for o in used])):
        bad = [v for v in values if v is None or not math.isfinite(v) or v <= 0]
        if bad:
            return None, f"{len(bad)} of {len(used)} points have {letter} = {bad[0]}, not above 0"
    distinct = len({o.x for o in used})
    if distinct < LEAST:
        return None, f"{distinct} distinct points, fewer than {LEAST}"
    width = min(len(o.resampled) for o in used)
    drawn = np.stack([o.resampled[:width] for o in used])
    if not np.all(np.isfinite(drawn) & (drawn > 0)):
        return None, "a resample of the replicates is not above 0"
    return fit_line(_array([o.x for o in used]), _array([o.y for o in used]), drawn), ""


def _array(values: Sequence[float | None]) -> Floats:
    return np.array(values, dtype=np.float64)


def _verdict(
    rule: Rule, theory: float, line: Line | None, reason: str, left_out: Mapping[str, int]
) -> tuple[Verdict, str]:
    """Return the verdict, and in words what it means.

    M, samples and rounds are costs: faster is the smaller one in the limit, which lies at a small
    epsilon and at a large anything else.
    """
    if line is None:
        lost = left_out.get(Verdict.NOT_REACHED, 0)
        if lost and rule.y != "M":
            return Verdict.NOT_REACHED, f"{lost} rows do not reach their epsilon; {reason}"
        return Verdict.NOT_ESTIMABLE, reason
    if line.low <= theory <= line.high or abs(line.exponent - theory) <= rule.tolerance:
        return Verdict.CONSISTENT, f"consistent with {theory:g}"
    smaller = (line.exponent > theory) if rule.x == "epsilon" else (line.exponent < theory)
    if smaller:
        reason = "faster than the bound on this family (the bound is not contradicted)"
        return Verdict.FASTER, reason
    return Verdict.SLOWER, (
        "slower than the bound's exponent over this range: pre-asymptotic or violated, and the"
        " trend of bound over measurement says which"
    )


def _tail(rule: Rule, line: Line | None) -> float | None:
    """The local slope where the limit is: at small epsilon, at large anything else."""
    if line is None:
        return None
    value = line.head if rule.x == "epsilon" else line.tail
    return value if math.isfinite(value) else None


def _shown(column: str, value: Any) -> str:
    """Text speaks for itself; a number needs the name of its column."""
    if isinstance(value, str):
        return value
    return f"{column} {value:g}" if isinstance(value, float) else f"{column} {value}"
