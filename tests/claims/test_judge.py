"""The five checkers on sides whose verdict is known, and on sides that must not pass."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import norm
from scipy.stats import t as t_distribution

from stemtheory.claims.base import Case, Claim, Comparison, Kind, dials
from stemtheory.claims.checking import check, opened, rows_of
from stemtheory.claims.evidence.path import record
from stemtheory.claims.judge import ALPHA, INSTANCES, critical, detectable, instances, judge
from stemtheory.claims.ledger import claims
from stemtheory.runtime import Verdict
from stemtheory.runtime.errors import UsageError


def verdict(kind: Kind, left: Any, right: Any, **more: Any) -> tuple[Any, Any]:
    claim = Claim("X", "eq: Step-Size", kind, "s", "f", compare=lambda subject: subject)
    cell = judge(claim, Comparison(np.atleast_1d(left), np.atleast_1d(right), **more), "literal")[0]
    return cell.verdict, cell.margin


@pytest.mark.parametrize("kind", ["arithmetic", "pathwise", "conditional"])
def test_exact_kinds(kind: Kind) -> None:
    assert verdict(kind, 1.0, 2.0) == (Verdict.HOLDS, pytest.approx(2.0))
    assert verdict(kind, 1.0, 1.0)[0] == Verdict.HOLDS
    assert verdict(kind, 1.0, 1 - 1e-8)[0] == Verdict.VIOLATED
    assert verdict(kind, [1.0, 3.0], [2.0, 2.0]) == (Verdict.VIOLATED, pytest.approx(2 / 3))
    assert verdict(kind, 1e-18, 0.0, floor=1e-17)[0] == Verdict.HOLDS


def test_the_worst_place_is_told_with_both_of_its_own_sides() -> None:
    claim = Claim("X", "eq: Step-Size", "pathwise", "s", "f", compare=lambda subject: subject)
    sides = Comparison(np.array([1.0, 3.0, 5.0]), np.array([8.0, 4.0, 7.0]), t=np.array([2, 3, 4]))
    (cell,) = judge(claim, sides, "literal")
    assert cell.worst == {"t": 3, "left": 3.0, "right": 4.0}


@pytest.mark.parametrize("kind", ["arithmetic", "pathwise", "conditional", "expectation", "rate"])
@pytest.mark.parametrize("sides", [(np.nan, 1.0), (1.0, np.nan), (np.nan, np.nan), (np.inf, 1.0)])
def test_nan_never_passes(kind: Kind, sides: tuple[float, float]) -> None:
    more = {"spread": 0.1, "dof": 9} if kind in ("expectation", "rate") else {}
    assert verdict(kind, *sides, **more)[0] == Verdict.VIOLATED


def test_expectation_is_decided_by_its_limits() -> None:
    limit = critical(99)
    assert verdict("expectation", 1.0, 1 + 1.01 * limit, spread=1.0, dof=99)[0] == Verdict.HOLDS
    assert verdict("expectation", 1.0, 1.0, spread=1.0, dof=99)[0] == Verdict.UNDECIDED
    assert verdict("expectation", 1.0, 1 - 1.01 * limit, spread=1.0, dof=99)[0] == Verdict.VIOLATED


def test_equality_in_expectation_is_two_sided() -> None:
    limit = critical(99, two_sided=True)
    for sign in (-1, 1):
        kept = verdict("expectation", 0.99 * sign * limit, 0.0, spread=1.0, dof=99, two_sided=True)
        lost = verdict("expectation", 1.01 * sign * limit, 0.0, spread=1.0, dof=99, two_sided=True)
        assert kept[0] == Verdict.HOLDS
        assert lost[0] == Verdict.VIOLATED
    assert (
        verdict("expectation", 1.0, 0.0, spread=0.0, dof=9, two_sided=True)[0] == Verdict.VIOLATED
    )
    assert verdict("expectation", 0.0, 0.0, spread=0.0, dof=9, two_sided=True)[0] == Verdict.HOLDS


def test_rate() -> None:
    assert verdict("rate", -1.02, -1.0, spread=0.03) == (Verdict.HOLDS, pytest.approx(1.5))
    assert verdict("rate", -1.10, -1.0, spread=0.03)[0] == Verdict.VIOLATED


def test_a_true_bound_above_the_trivial_value_is_vacuous() -> None:
    for bound, expected in [(2.0, Verdict.VACUOUS), (0.5, Verdict.HOLDS), (0.05, Verdict.VIOLATED)]:
        got = verdict("expectation", 0.1, bound, spread=1e-6, dof=50, trivial=1.0)[0]
        assert got == expected


def test_false_alarm_rate_is_shared() -> None:
    """A fair z-test at an instance's share of ALPHA: the quantile is that of ALPHA / INSTANCES."""
    for two_sided, tail in ((False, 1), (True, 2)):
        normal = critical(10**9, two_sided)
        assert norm.sf(normal) == pytest.approx(ALPHA / INSTANCES / tail, rel=1e-3)
        assert t_distribution.sf(critical(9, two_sided), 9) == pytest.approx(
            ALPHA / INSTANCES / tail, rel=1e-9
        )


@pytest.mark.parametrize("two_sided", [False, True])
def test_a_limit_is_crossed_as_often_as_its_share_says(
    two_sided: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """2000 true lines of eight normal values at a share of 5 %: 100 convictions, +- 9.7.

    Outside of 100 +- 45 at a rate of 4e-6; twice the share, or half of it, brings 200 or 50.
    """
    monkeypatch.setattr("stemtheory.claims.judge.ALPHA", 0.05 * INSTANCES)
    values = np.random.default_rng(5).normal(0.0, 3.0, size=(2000, 8))
    left, spread = values.mean(axis=1), values.std(axis=1, ddof=1) / np.sqrt(8)
    claim = Claim("X", "eq: Step-Size", "expectation", "s", "f", compare=lambda subject: subject)
    sides = Comparison(left, np.zeros(2000), spread=spread, dof=7, two_sided=two_sided)
    convicted = np.sum(instances(claim, sides).verdicts == Verdict.VIOLATED)
    assert abs(convicted - 100) < 45


def test_the_detectable_error_is_rejected_half_of_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """2000 lines that are off by what is said to be noticed: 1000 are convicted, +- 5 x 22.

    At a share of 5 % for each, where the limit of eight values does not yet drown in their spread.
    """
    monkeypatch.setattr("stemtheory.claims.judge.ALPHA", 0.05 * INSTANCES)
    claim = Claim("X", "eq: Step-Size", "expectation", "s", "f", compare=lambda subject: subject)
    target, sd = 7.0, 3.0
    known = Comparison(
        np.array([target]), np.array([target]), spread=sd / 8, dof=63, two_sided=True
    )
    error = detectable(claim, known)[0]
    assert error == pytest.approx(critical(63, two_sided=True) * sd / 8 / target)
    values = np.random.default_rng(6).normal(target * (1 + error), sd, size=(2000, 64))
    left, spread = values.mean(axis=1), values.std(axis=1, ddof=1) / 8
    sides = Comparison(left, np.full(2000, target), spread=spread, dof=63, two_sided=True)
    convicted = np.sum(instances(claim, sides).verdicts == Verdict.VIOLATED)
    assert abs(convicted - 1000) < 112
    scaled = Comparison(np.zeros(1), np.zeros(1), spread=1.0, dof=63, two_sided=True, scale=10.0)
    assert detectable(claim, scaled) == pytest.approx(critical(63, two_sided=True) / 10)
    assert np.isnan(detectable(claim, Comparison(left, left, spread=spread, dof=63))).all()


def test_an_equality_that_notices_little_is_undecided() -> None:
    """By the median over the row: 1/20 of it blind is no reason, most of it is."""
    claim = Claim("X", "eq: Step-Size", "expectation", "s", "f", compare=lambda subject: subject)
    for spread, expected in [(1e-3, Verdict.HOLDS), (1.0, Verdict.UNDECIDED)]:
        spreads = np.array([spread] * 19 + [1e3])
        sides = Comparison(np.ones(20), np.ones(20), spread=spreads, dof=63, two_sided=True)
        cells = [(cell, None) for cell in judge(claim, sides, "literal")]
        row = rows_of(claim, "literal", cells)[0]
        assert row.verdict == expected
        assert row.detectable is not None
        assert row.detectable["median"] == pytest.approx(critical(63, True) * spread)


@pytest.mark.parametrize("name", ["A2i", "P1", "P2", "P2p", "P3", "M3b", "F1", "F2a"])
def test_every_equality_of_the_ledger_notices_ten_per_cent(name: str) -> None:
    for row in check(claims()[name]):
        assert row.detectable is not None
        assert row.detectable["median"] < 0.1


def test_case_survives_json() -> None:
    case = Case("cosine", 3, 2, 1.5, 4, 3, dials(sigma=0.1, rotate=True), x1=(1.0, 2.0))
    import json

    assert Case.from_json(json.loads(json.dumps(case.to_json()))) == case
    with pytest.raises(UsageError, match="not readable"):
        Case.from_json({"problem": "cosine", "speed": 3})


@pytest.mark.parametrize(("algorithm", "own"), [("scaffold", "c_k"), ("mime", "m")])
def test_no_other_algorithm_is_recorded_as_stem(algorithm: str, own: str) -> None:
    run = opened(
        Claim("X", "eq: Step-Size", "pathwise", "s", "f"),
        Case("quadratic", 2, 1, 1, 2, 1, algorithm=algorithm),
    )
    assert np.shape(run[own])[0] == 4  # T + 2 times
    with pytest.raises(UsageError, match=f"d is asked for, but a run of {algorithm} keeps"):
        run["d"]


@pytest.mark.parametrize("reading", ["literal", "average-first", "overwrite", "average-both"])
def test_conditional_moments_against_resampling(reading: str) -> None:
    """E||N||^2 and E[Dl | F_t] in closed form equal what fresh minibatches give (|z| < 4.5)."""
    from stemtheory.algorithms.base import mean_over_workers
    from stemtheory.simulator.stepwise import gaussian_draw

    path = record(Case("cosine", 3, 2, 2, 3, 2, dials(sigma=0.7), reading, replicates=1, x1=0.8))
    R = 20_000
    for t in range(1, path.T + 1):
        draw = gaussian_draw(path.problem, 100 + t, R)
        minibatch = draw(0, float(path.batch[t]))
        wide = (R, *path.p.shape[2:])
        new = path.problem.stochastic_gradient(
            np.broadcast_to(path.fresh[t + 1, 0], wide), minibatch
        )
        old = path.problem.stochastic_gradient(
            np.broadcast_to(path.stale[t + 1, 0], wide), minibatch
        )
        a = path.a[t + 1]
        d = new + (1 - a) * (path.d[t, 0] - old)
        e = mean_over_workers(d) - mean_over_workers(path.g[t + 1, 0])
        N = ((e - (1 - a) * path.ebar[t, 0]) ** 2).sum(-1)
        exact = path.noise_power[t, 0] + (path.bias[t, 0] ** 2).sum()
        assert abs(N.mean() - exact) < 4.5 * N.std() / np.sqrt(R)
        if t % 3:
            drift = ((d - mean_over_workers(d)[:, None]) ** 2).sum((-1, -2))
            assert abs(drift.mean() - path.expected_drift[t, 0]) < 4.5 * drift.std() / np.sqrt(R)
