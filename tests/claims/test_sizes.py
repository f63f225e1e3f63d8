"""Lines between numbers: conditions, strict signs, meanings, and the letters of a grid."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest

from stemtheory.claims.base import Claim, Comparison
from stemtheory.claims.evidence.sequences import SequenceScene
from stemtheory.claims.evidence.size_scenes import SizeScene, scene_of_sizes
from stemtheory.claims.judge import judge
from stemtheory.claims.language import Line, Q, Relation, chain, equal, excess, letters, meant
from stemtheory.claims.language.letters import (
    I,
    K,
    L,
    T,
    a,
    b,
    c,
    eta,
    kbar,
    maximum,
    seq,
    sigma,
    sum_t,
    t,
    w,
)
from stemtheory.claims.panel import grid
from stemtheory.claims.paper.schedule import CAP, CHOSEN, LAST
from stemtheory.claims.stating import sized
from stemtheory.runtime import UsageError, Verdict
from stemtheory.schedules.stepsizes import Theorem

i = letters.Index("i")
named = partial(sized, "X", "Thm: PR_Convergence_Main_App", "a line")


def columns(**values: list[float]) -> SizeScene:
    """A scene of columns, with t = T."""
    found = {name: np.array(value, dtype=float) for name, value in values.items()}
    return SizeScene({**found, "t": found["T"]})


FEW = columns(T=[1, 2, 3, 4], K=[1, 1, 2, 2], b=[4, 1, 4, 1])


def compared(claim: Claim, subject: Any = FEW) -> Comparison:
    assert claim.compare is not None
    return claim.compare(subject)


def verdict(line: Line, subject: Any = FEW, **more: Any) -> Verdict:
    """The verdict of a line on a subject."""
    claim = named(line, **more)
    return judge(claim, compared(claim, subject), "literal")[0].verdict


def test_only_what_meets_the_condition_is_asked() -> None:
    claim = named(b <= 3, provided=b <= K)
    found = compared(claim)
    assert found.t.tolist() == [2, 4]
    assert claim.formula.endswith(r"\ \mathrm{if}\ b \leq K")
    assert verdict(b <= 3) == Verdict.VIOLATED
    assert verdict(b <= 3, provided=b <= K) == Verdict.HOLDS


def test_a_condition_may_be_an_equality() -> None:
    assert compared(named(b <= 3, provided=equal(b * K, T))).t.tolist() == []
    assert compared(named(b <= 3, provided=equal(4 * K / b, T))).t.tolist() == [1]


def test_exactly_if_asks_the_opposite_elsewhere() -> None:
    assert verdict(b <= 3, provided=b <= 2, exactly=True) == Verdict.HOLDS
    assert verdict(b <= 3, provided=b * K <= 4, exactly=True) == Verdict.VIOLATED  # b = 4, K = 1
    assert verdict(b <= 5, provided=b <= 2, exactly=True) == Verdict.VIOLATED  # at b = 4 too


def test_a_strict_sign_refuses_zero() -> None:
    assert verdict(b > 0) == Verdict.HOLDS
    zero = columns(T=[1], b=[0])
    assert verdict(b > 0, zero) == Verdict.VIOLATED
    assert verdict(b >= 0, zero) == Verdict.HOLDS
    claim = named((b > 0) & (b < 5))
    assert claim.formula == r"b > 0,\quad b < 5"


def test_numbers_alone_are_compared_as_they_stand() -> None:
    found = compared(named(Q("5/4") * Q("3/32") <= Q("1/8")))
    assert found.left[0] == pytest.approx(15 / 128)
    assert found.right[0] == 1 / 8
    assert verdict(equal(Q("7/16") - Q("1/64"), Q("27/64"))) == Verdict.HOLDS
    assert verdict(equal(Q("7/16") - Q("1/64"), Q("26/64"))) == Verdict.VIOLATED


def test_a_meaning_is_multiplied_out_and_cancels() -> None:
    step = excess(
        replace(
            (eta[t] * c <= 64 * L**2 / (b * K) * eta[t]).steps[0],
            left=meant(eta[t] * c, {c: CHOSEN}),
        )
    )
    assert step == Relation(
        excess((sigma**2 / (24 * kbar**3 * L * I) * eta[t] <= 0).steps[0]).left, "<=", step.right
    )
    assert step.right == letters.expr(0)


def test_a_maximum_with_one_sign_known_stays_on_its_side() -> None:
    step = excess((w[t] <= sigma**2 * maximum(2, 5 - t)).steps[0])
    assert step.left == w[t]


def test_what_a_sum_ends_with_is_not_pulled_out_of_another() -> None:
    inner = sum_t(i, 1, t, seq[i])
    body = seq[t] / (seq[0] + inner)
    step = excess((sum_t(t, 1, T, body) <= 1).steps[0])
    scene = SequenceScene(np.ones(11))
    value = scene.evaluation.value(step.left, scene.times)
    assert value.item() == pytest.approx(sum(1 / (1 + n) for n in range(1, 11)))


def test_partial_sums_are_those_of_the_terms() -> None:
    scene = SequenceScene(np.arange(1.0, 7.0))  # a_0 = 1, ..., a_5 = 6
    evaluated = {
        sum_t(i, 1, T, seq[i]): 20,
        sum_t(i, 0, T - 1, seq[i] ** 2): 55,
        sum_t(t, 1, T, sum_t(i, t, t, seq[i])): 20,
        sum_t(t, 1, T, sum_t(i, 1, t, seq[i])): 2 + 5 + 9 + 14 + 20,
    }
    for node, wanted in evaluated.items():
        assert scene.evaluation.value(node, scene.times).item() == wanted
    assert np.isnan(scene.evaluation.value(seq[T + 1], scene.times)).all()


def test_the_letters_of_a_grid_are_the_schedule() -> None:
    """eta_t, a_t, c and w_t as the theorem's schedule and the paper's definitions have them."""
    g = grid("quick")
    chosen = np.linspace(0, len(g.t) - 1, 50).astype(int)
    scene = scene_of_sizes(g)

    def value(node: letters.Expr) -> Any:
        return np.ravel(scene.evaluation.value(node, scene.times))[chosen]

    schedules = [Theorem(g.L[n], int(g.K[n]), float(g.b[n]), int(g.I[n])) for n in chosen.tolist()]
    wanted = [
        (s.eta(t_), s.momentum(t_), s.c) for s, t_ in zip(schedules, g.t[chosen], strict=True)
    ]
    found = np.stack([value(eta[t]), value(a[t]), value(c)], axis=1)
    np.testing.assert_allclose(found, np.array(wanted, dtype=float), rtol=1e-12)
    np.testing.assert_allclose(value(c), value(CHOSEN), rtol=1e-12)
    weight = maximum(2 * sigma**2, CAP - sigma**2 * t, LAST)
    np.testing.assert_allclose(value(w[t]), value(weight), rtol=1e-12)
    assert np.all(value(letters.zeta) != value(sigma))


def test_growth_of_the_inverse_step_is_exact_at_every_t() -> None:
    """Against the derivative between the two: floats of 1/eta have no digit of it at 10^15."""
    g = columns(T=[1e6, 1e15], K=[1, 1], b=[1, 1], I=[1, 1], L=[1, 1], sigma=[1, 1])
    slowed = excess((1 / eta[t] - 1 / eta[t - 1] <= 0).steps[0]).left
    found = np.ravel(g.evaluation.value(slowed, g.times))
    m = Theorem(1.0, 1, 1.0, 1).c_b ** 3 / 4096
    derivative = [(n - 0.5 + m) ** (-2 / 3) / 3 for n in (1e6, 1e15)]
    np.testing.assert_allclose(found, derivative, rtol=1e-9)
    error = np.ravel(g.evaluation.error(slowed, g.times))
    assert np.all(error < 1e-12 * found)


def test_what_a_scene_lacks_is_named() -> None:
    with pytest.raises(UsageError, match="letter nu has no value here"):
        compared(named(letters.nu <= 1))


def test_a_chain_with_a_wrong_link_is_violated() -> None:
    assert verdict(chain(b, b + K, b + 2 * K)) == Verdict.HOLDS
    assert verdict(chain(b, b + K, b + Fraction(1, 2) * K)) == Verdict.VIOLATED
