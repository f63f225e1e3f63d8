"""Exponents of a sweep: what its rules declare, fitted, and held against the theory.

M is E||grad f(xbar_a)||^2 and samples are those of one worker. Every point that a fit is about is
used or counted under the reason why not. Diverged points never enter.

Paper: Thm: PR_Convergence_Main, Thm: Flexible_FedAvg, Rem: Tradeoff.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from stemtheory.algorithms import load_algorithm
from stemtheory.experiment.design.cells import Cell
from stemtheory.experiment.design.points import Point
from stemtheory.experiment.design.rules import Rule, rules
from stemtheory.experiment.design.spec import Spec
from stemtheory.experiment.design.where import condition
from stemtheory.experiment.fits.regression import LEAST, FittedLine, fit_line
from stemtheory.experiment.fits.targets import Results, Target, draws
from stemtheory.experiment.fits.tuning import tuned
from stemtheory.experiment.store import tables
from stemtheory.runtime import Floats, Verdict, choice

# Exponents of competing statements differ by this: 3/2 and 2 of samples, 1 and 3/2 of rounds.
RIVAL = 0.5


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
    line: FittedLine | None
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
        line, ends, tail = self.line, self.ci95, None
        if line is not None:  # the limit lies at small epsilon, at large anything else
            tail = line.head if self.rule.x == "epsilon" else line.tail
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
            "tail": tail if tail is not None and math.isfinite(tail) else None,
            "scatter": line.scatter if line else None,
        }


class _Row(NamedTuple):
    """A point or target: its columns, and the numbers that a y may be with their resamples.

    ``rows`` reported points are behind it; those of one ``identity`` are one measurement.
    """

    record: Mapping[str, Any]
    status: str
    values: Mapping[str, float]
    resampled: Mapping[str, Callable[[], Floats]]
    rows: int
    identity: Any


class _Entry(NamedTuple):
    """What one rule keeps of a row, which may be one of very many; ``x`` and ``y`` if it is ok."""

    status: str
    x: float | None
    y: float | None
    resampled: Callable[[], Floats] | None
    rows: int
    identity: Any


_Groups = dict[tuple[tuple[Any, ...], float], list[_Entry]]


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
    groups: dict[str, _Groups] = {}
    if of_points := [rule for rule in declared if rule.y == "M"]:
        groups |= _grouped(of_points, _point_rows(points, results), known)
    for name in {rule.best_of for rule in declared if rule.y != "M"}:
        best = found if name is None else [t.target for t in tuned(points, results, name)]
        of_targets = [rule for rule in declared if rule.y != "M" and rule.best_of == name]
        groups |= _grouped(of_targets, _target_rows(best, results), known)
    return tuple(
        _fit(rule, *key, group) for rule in declared for key, group in groups[rule.name].items()
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


def _point_rows(points: Sequence[Point], results: Results) -> Iterable[_Row]:
    for point, record in zip(points, tables.each_record(points, results), strict=True):
        id_, status = point.cell.id, record["status"]
        values: dict[str, float] = {}
        resampled = {}
        if status == "ok":
            grad_sq = results[id_].grad_sq
            values = {"M": tables.mean_of(grad_sq)}
            resampled = {"M": partial(_redrawn, point.cell, grad_sq)}
        yield _Row(_with_products(point, record), status, values, resampled, 1, id_)


def _redrawn(cell: Cell, grad_sq: Floats) -> Floats:
    """Resampled means of a cell, made when its line is fitted: those of all would fill memory."""
    (means,) = draws(cell, grad_sq[None, :])
    return np.asarray(means)


def _target_rows(found: Sequence[Target], results: Results) -> Iterable[_Row]:
    records = tables.each_record([target.point for target in found], results)
    for i, (target, record) in enumerate(zip(found, records, strict=True)):
        record = record | {"T": target.costs.get("steps"), "epsilon": target.epsilon}
        if target.on_curve:
            record |= {"b": None, "I": None}
        status = "ok" if target.status == Verdict.REACHED else target.status
        columns = _with_products(target.point, record)
        resampled = {name: partial(target.resampled.__getitem__, name) for name in target.resampled}
        yield _Row(columns, status, target.costs, resampled, target.points, i)


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


def _grouped(
    declared: Sequence[Rule], rows: Iterable[_Row], columns: set[str]
) -> dict[str, _Groups]:
    """Sort the rows, seen once, by the columns and theory of each rule that they are about."""
    groups: dict[str, _Groups] = {rule.name: {} for rule in declared}
    keep = {
        rule.name: condition(rule.where, columns) for rule in declared if rule.where and columns
    }
    for row in rows:
        label, grid = row.record["label"], row.record["grid"]
        for rule in declared:
            if label not in rule.algorithms or grid not in rule.grids:
                continue
            if rule.name in keep and not keep[rule.name](row.record):
                continue
            values = tuple(_comparable(row.record.get(name)) for name in rule.by)
            y, resampled = row.values.get(rule.y), row.resampled.get(rule.y)
            entry = _Entry(row.status, row.record.get(rule.x), y, resampled, row.rows, row.identity)
            groups[rule.name].setdefault((values, rule.theory[label]), []).append(entry)
    return groups


def _comparable(value: Any) -> Any:
    """NaN equals nothing, not even itself: as a key it would make every row a group of its own."""
    return None if isinstance(value, float) and math.isnan(value) else value


def _fit(rule: Rule, values: tuple[Any, ...], theory: float, rows: Sequence[_Entry]) -> Fit:
    """Fit one group, after putting aside what has no number and what stands there twice."""
    left_out: Counter[str] = Counter()
    kept: dict[Any, _Entry] = {}
    for row in rows:
        out = "" if row.status == "ok" else row.status
        if not out and row.x is None:
            out = f"without {rule.x}"
        if not out and row.identity in kept:
            out = "repeated"
        if out:
            left_out[out] += row.rows
        else:
            kept[row.identity] = row
    used = list(kept.values())
    xs = tuple(float(row.x) for row in used if row.x is not None)
    ys = tuple(float(row.y) for row in used if row.y is not None)
    line, reason = _line(xs, ys, [row.resampled for row in used if row.resampled is not None])
    verdict, reason = _verdict(rule, theory, line, reason, left_out)
    group = dict(zip(rule.by, values, strict=True))
    return Fit(
        name=", ".join([rule.name, *(_shown(k, v) for k, v in group.items())]),
        rule=rule,
        group=group,
        theory=theory,
        verdict=verdict,
        reason=reason,
        rows=sum(row.rows for row in rows),
        used=sum(row.rows for row in used),
        left_out=dict(left_out),
        line=line,
        xs=xs,
        ys=ys,
    )


def _line(
    xs: Sequence[float], ys: Sequence[float], resampled: Sequence[Callable[[], Floats]]
) -> tuple[FittedLine | None, str]:
    """Return the line, or None and why there is none."""
    for letter, values in (("x", xs), ("y", ys)):
        if bad := [v for v in values if not math.isfinite(v) or v <= 0]:
            return None, f"{len(bad)} of {len(values)} points have {letter} = {bad[0]}, not above 0"
    if (distinct := len(set(xs))) < LEAST:
        return None, f"{distinct} distinct points, fewer than {LEAST}"
    means = [redraw() for redraw in resampled]
    width = min(map(len, means))
    drawn = np.stack([values[:width] for values in means])
    if not np.all(np.isfinite(drawn) & (drawn > 0)):
        return None, "a resample of the replicates is not above 0"
    return fit_line(np.array(xs), np.array(ys), drawn), ""


def _verdict(
    rule: Rule, theory: float, line: FittedLine | None, reason: str, left_out: Mapping[str, int]
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
    ends = (line.low, line.high)
    if (open_ := agreement(line.exponent, ends, theory, rule.tolerance)) is not None:
        return open_, f"{open_} with {theory:g}" if open_ != Verdict.INCONCLUSIVE else (
            f"the interval is wider than {RIVAL:g}, the distance to a rival exponent"
        )
    smaller = (line.exponent > theory) if rule.x == "epsilon" else (line.exponent < theory)
    if smaller:
        reason = "faster than the bound on this family (the bound is not contradicted)"
        return Verdict.FASTER, reason
    return Verdict.SLOWER, (
        "slower than the bound's exponent over this range: pre-asymptotic or violated, and the"
        " trend of bound over measurement says which"
    )


def agreement(
    exponent: float, ci95: tuple[float, float], theory: float, tolerance: float
) -> Verdict | None:
    """Return what a fit says for its theory; None where it excludes it and tolerance too.

    An interval that holds the theory and a rival says nothing, and a tolerance is no evidence: both
    are told apart from an interval that holds the theory alone.
    """
    if ci95[1] - ci95[0] > RIVAL:
        return Verdict.INCONCLUSIVE
    if ci95[0] <= theory <= ci95[1]:
        return Verdict.CONSISTENT
    return Verdict.WITHIN_TOLERANCE if abs(exponent - theory) <= tolerance else None


def _shown(column: str, value: Any) -> str:
    """Text speaks for itself; a number needs the name of its column."""
    if isinstance(value, str):
        return value
    return f"{column} {value:g}" if isinstance(value, float) else f"{column} {value}"
