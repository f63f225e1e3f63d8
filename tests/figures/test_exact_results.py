"""What the exact figures show: their numbers, and what their pieces do.

Nothing here is random but the runs on top of figure complexity, which are seeded.
"""

import math

import numpy as np
import pytest

from stemtheory.algorithms import ALGORITHMS
from stemtheory.figures import _exact as exact
from stemtheory.figures import complexity, drift, speedup, synchronisation, tuned
from stemtheory.moments.exact import stability, steps_to
from stemtheory.moments.linear_model import linear_model
from stemtheory.moments.recursion import Recursion
from stemtheory.report.drawing import full_caption
from stemtheory.report.figure_table import FigureTable
from tests.figures.columns import changed, drawn, places
from tests.figures.test_exact_figures import FIGURES, table


def curve(name: str, nu: float, kind: str = "exact") -> exact.ExactCosts:
    """Return one curve of figure complexity."""
    rows = table("complexity").where(kind=kind, algorithm=name, nu=nu)
    return exact.ExactCosts(*(rows[of] for of in exact.ExactCosts._fields))


# The shared pieces.


def test_a_planted_exponent_is_found() -> None:
    epsilon = np.geomspace(1e-2, 1e-8, 9)
    bent = epsilon**-1.5 * (1 + 30 * np.sqrt(epsilon))
    assert exact.exponent(epsilon, 7 * epsilon**-1.5) == pytest.approx(-1.5)
    assert exact.tail_exponent(epsilon, bent) < exact.exponent(epsilon, bent) + 0.2
    middle, local = exact.local_exponents(epsilon, 7 * epsilon**-2)
    np.testing.assert_allclose(local, -2)
    np.testing.assert_allclose(middle, np.sqrt(epsilon[1:] * epsilon[:-1]))


def test_a_planted_crossover_is_found() -> None:
    epsilon = np.geomspace(1e-1, 1e-7, 13)
    first = exact.ExactCosts(epsilon, epsilon**-1.5, epsilon**-1, epsilon**-1)
    second = exact.ExactCosts(epsilon, 0.01 * epsilon**-2, 10 * epsilon**-1, epsilon**-1)
    assert exact.crossover(first, second, "samples") == pytest.approx(1e-4)
    assert math.isnan(exact.crossover(first, second, "rounds"))
    assert first.at("samples", 1e-4) == pytest.approx(1e6)


@pytest.mark.parametrize("algorithm", ["stem", "fedavg"])
@pytest.mark.parametrize("nu", [0.5, 1.0])
def test_local_steps_are_whole_on_the_lengths(algorithm: str, nu: float) -> None:
    curve = exact.TRADE_OFFS[algorithm]
    lengths = [T for T in exact.whole_lengths(algorithm, 3, nu, 8, 1e12) if T >= 3**curve.w]
    assert len(lengths) > 5
    for T in lengths:
        unrounded = (T / 3**curve.w) ** (nu / curve.p)
        assert unrounded == pytest.approx(curve.point(T, 3, nu).I, rel=1e-3)
        assert T % curve.point(T, 3, nu).I == 0 or nu == 0.5


# Figure complexity.


def test_stem_s_exponents() -> None:
    """Samples within .006 of -3/2, rounds within .002 of -1, at every nu."""
    for nu in complexity.NUS:
        rows = table("complexity").where(kind="exact", algorithm="stem", nu=nu)
        samples, rounds = complexity.exponents(rows)
        assert samples == pytest.approx(-1.5, abs=0.006)
        assert rounds == pytest.approx(-1, abs=0.002)
        assert rows["epsilon"].min() <= 1e-8


def test_fedavg_s_and_sgd_s_exponents() -> None:
    """Samples within .004 of -2, rounds -1.488 to -1.506; SGD -2 and -1."""
    rows = table("complexity").where(kind="exact")
    for nu in complexity.NUS:
        samples, rounds = complexity.exponents(rows.where(algorithm="fedavg", nu=nu))
        assert samples == pytest.approx(-2, abs=0.004)
        assert -1.506 < rounds < -1.488
    assert complexity.exponents(rows.where(algorithm="sgd")) == pytest.approx((-2, -1), abs=1e-3)


def test_crossovers() -> None:
    """Exact constants 66 eps^-1.5/K against eps^-2/K, and rounds near 10.4/eps against eps^-1.5."""
    pair = curve("stem", 0.0), curve("fedavg", 0.0)
    assert exact.crossover(*pair, "samples") == pytest.approx(66**-2, rel=0.03)
    # the limit's constants put it at 10.4^-2 = .0092; the exact ones of such short runs, here
    both = exact.crossover(*pair, "rounds")
    assert both == pytest.approx(0.0113, abs=0.0002)
    assert pair[0].at("rounds", both) == pytest.approx(pair[1].at("rounds", both), rel=1e-3)
    for one, constant in ((pair[0], 66), (pair[1], 1)):
        power = -1.5 if constant == 66 else -2
        expected = constant / complexity.K * 1e-6**power
        assert one.at("samples", 1e-6) == pytest.approx(expected, rel=0.02)
    found = table("complexity").where(kind=("equal samples", "equal rounds"))
    assert found["epsilon"].tolist() == [exact.crossover(*pair, of) for of in ("samples", "rounds")]


def test_bounds_are_above_what_they_bound() -> None:
    for name, nu in complexity.exact_curves():
        for epsilon in (1e-3, 1e-5, 1e-7):
            bound, own = curve(name, nu, "bound"), curve(name, nu)
            assert bound.at("rounds", epsilon) > own.at("rounds", epsilon)


def test_runs_lie_on_the_curves() -> None:
    """Two cheap runs: honest ones exceed 4.5 standard errors with probability 2e-5."""
    cheap = (("stem", 1.0, 1024), ("fedavg", 1.0, 1024))
    for I, run in zip((4, 2), complexity.simulated(cheap, 64), strict=True):
        off = run["epsilon"] - run["epsilon_exact"]
        assert abs(off[0]) < 4.5 * run["epsilon_stderr"]
        assert run["rounds"][0] == 1024 / I


# Figure tuned.


def best_steps(system: str) -> FigureTable:
    return table("tuned").where(kind="tuned", system=system)


def test_tuned_exponents() -> None:
    """-1.000 with additive noise, -1.48 or steeper and -1.49 in the tail at L_n = 1; SGD -1.99."""
    stem = best_steps("STEM")
    over_all = {s: exact.exponent(*tuned.over(best_steps(s))) for s in tuned.SYSTEMS}
    assert over_all["STEM, additive"] == pytest.approx(-1, abs=1e-3)
    assert over_all["STEM"] < -1.48
    assert exact.tail_exponent(*tuned.over(stem)) == pytest.approx(-1.5, abs=0.01)
    assert over_all["SGD"] < -1.99
    assert exact.exponent(*tuned.over(stem, "eta")) == pytest.approx(0.5, abs=0.03)
    assert exact.exponent(*tuned.over(stem, "a")) == pytest.approx(1, abs=0.03)


def test_tuned_constants_are_a_minimum() -> None:
    """A fifth more or less of either constant costs more, at every other epsilon."""
    model = linear_model([1.0], noise_slope=1.0, noise_level=1.0)
    recursion = Recursion(model, "stem", ALGORITHMS["stem"].make())
    row = best_steps("STEM")
    for i in range(0, len(tuned.EPSILONS), 3):
        for eta, a in ((1.2, 1.0), (1 / 1.2, 1.0), (1.0, 1.2), (1.0, 1 / 1.2)):
            B = math.ceil(2 / (row["a"][i] * a))
            T = steps_to(
                recursion,
                tuned.EPSILONS[i],
                eta=row["eta"][i] * eta,
                a=row["a"][i] * a,
                b=1.0,
                I=1,
                B=B,
                x1=tuned.X1,
            )
            assert B + 2 * float(T) > row["samples"][i]


# Figure speedup.


def test_speed_up_is_linear() -> None:
    for (_, nu), row in table("speedup").where(epsilon=speedup.SMALL).groups("algorithm", "nu"):
        tolerance = 1e-3 if nu == 0 else 5e-3
        assert speedup.exponent_of(row, "samples") == pytest.approx(-1, abs=tolerance)
        assert abs(speedup.exponent_of(row, "rounds")) < 5e-3
        assert not row["clipped"].any()


def test_speed_up_ends_where_the_curve_is_clipped() -> None:
    large = table("speedup").where(epsilon=speedup.LARGE)
    for _, row in large.groups("algorithm", "nu"):
        assert row["clipped"].any()
        lost = row["samples"][-1] * 64 / row["samples"][0]
        assert lost > 2
    kept = large.where(algorithm="stem", nu=0.0)
    assert speedup.exponent_of(kept, "samples") == pytest.approx(-1, abs=0.01)
    # a fit that took clipped points for promised ones would not see it
    assert speedup.exponent_of(changed(kept, clipped=False), "samples") > -0.9


# Figure drift.


def rounds_of(algorithm: str, I: int, momentum: str = "none") -> FigureTable:
    who = {"algorithm": algorithm, "I": I, "momentum": momentum}
    return table("drift").where(kind="exact", **who)


def tail(rows: FigureTable) -> float:
    return exact.tail_exponent(rows["epsilon"], rows["rounds"])


def test_drift_costs_fedavg_rounds() -> None:
    """FedAvg's tail is -3/2 for I >= 4 and the curves coincide; I = 1 has no drift."""
    fedavg = [rounds_of("fedavg", I) for I in (4, 16, 64)]
    for one in fedavg:
        assert tail(one) == pytest.approx(-1.5, abs=0.01)
    last = [one["rounds"][-1] for one in fedavg]
    assert max(last) / min(last) < 1.35
    assert tail(rounds_of("fedavg", 1)) == pytest.approx(-1, abs=0.01)


def test_stem_s_rounds_do_not_drift() -> None:
    """On the curve -1.00, and fewer rounds with more local steps; held, -1.0 to -1.2 at first."""
    for I in (4, 16, 64):
        assert tail(rounds_of("stem", I, "curve")) == pytest.approx(-1, abs=0.01)
    on_curve = [rounds_of("stem", I, "curve")["rounds"][-1] for I in (1, 4, 16, 64)]
    assert on_curve == sorted(on_curve, reverse=True)
    early = (drift.EPSILONS <= 2.0**-7) & (drift.EPSILONS >= 2.0**-15)
    held = [
        exact.exponent(drift.EPSILONS[early], rounds_of("stem", I, "fixed")["rounds"][early])
        for I in (4, 16, 64)
    ]
    assert -1.2 < held[0] < held[1] < held[2] + 0.02 < -0.95
    # in the end a momentum that is held drifts as FedAvg does
    assert tail(rounds_of("stem", 4, "fixed")) < -1.45


def test_runs_of_the_problem_follow_its_linearisation() -> None:
    runs = table("drift").where(kind="run")
    off = {
        name: rows["rounds"] / rows["rounds_exact"] for (name,), rows in runs.groups("algorithm")
    }
    assert 0.9 < min(off["stem"]) <= max(off["stem"]) < 1.1
    assert 0.6 < min(off["fedavg"]) <= max(off["fedavg"]) < 1.1


def test_the_linearisation_is_that_of_the_problem() -> None:
    problem, step = drift.sinusoid(), 1e-6
    model = drift.linearised()
    at = [problem.gradient(np.full((2, 1), x)) for x in (-step, 0.0, step)]
    curvatures = ((at[2] - at[0]) / (2 * step))[:, 0]
    np.testing.assert_allclose(curvatures, [g.curvature for g in model.groups], rtol=1e-6)
    np.testing.assert_allclose(at[1][:, 0], [g.offset for g in model.groups], rtol=1e-12)
    assert problem.constants().L == pytest.approx(1.0)


# Figure synchronisation.


def ends(bowl: synchronisation.Bowl, T: int) -> dict[str, float]:
    """Return the average, or the bound, of every series at the end."""
    return {
        part["series"]: float(part["average"][-1]) for part in synchronisation.averages(bowl, T)
    }


def test_overwrite_breaks_the_printed_theorem() -> None:
    """The counterexample: 1085.8 against 138.0 at T = 160000; literal 8.0e-4."""
    parts = {
        p["series"]: p["average"] for p in synchronisation.averages(synchronisation.FLAT, 160_000)
    }
    assert parts["overwrite"][-1] == pytest.approx(1085.8, abs=0.05)
    assert parts["printed"][-1] == pytest.approx(138.0, abs=0.05)
    for reading in ("literal", "average-first"):
        assert parts[reading][-1] == pytest.approx(8.0e-4, rel=0.01)
        assert np.all(parts[reading] < parts["before"])


def test_overwrite_is_biased_on_a_benign_problem() -> None:
    benign = ends(synchronisation.BENIGN, 100_000)
    assert benign["overwrite"] == pytest.approx(5.09e-5, rel=0.005)
    assert benign["before"] == pytest.approx(4.78e-6, rel=0.005)
    assert benign["literal"] == pytest.approx(9.6e-7, rel=0.005)
    assert synchronisation.plateau(synchronisation.BENIGN) == pytest.approx(6.73e-5, rel=0.001)


def test_growth_changes_sign_at_the_predicted_thresholds() -> None:
    pair = linear_model([1.0, -1.0])
    for reading, product in synchronisation.thresholds().items():
        below, above = (
            stability(pair, b=share * product / 16, I=8, sync=reading).growth
            for share in (0.99, 1.01)
        )
        assert below < 0 < above


@pytest.mark.parametrize("name", FIGURES)
def test_captions_say_what_is_not_claimed(name: str) -> None:
    caption = full_caption(FIGURES[name].ENTRY, table(name), "quick")
    assert "Not claimed" in caption
    assert f"stemtheory figure {name} --quick" in caption
    assert "nan" not in caption


def test_what_is_missing_is_said_and_not_drawn() -> None:
    """No crossing in the range; a run that does not get there."""
    none = table("complexity").where(kind=("exact", "bound", "simulated"))
    assert "fewer rounds nowhere in the range" in complexity.caption(none)
    lost = table("drift")
    run = (lost.frame["kind"] == "run") & (lost.frame["algorithm"] == "stem")
    never = changed(
        lost, rounds=lost.frame["rounds"].mask(run & (lost["epsilon"] < 0.01), math.inf)
    )
    left, _ = drawn(drift.ENTRY, never)
    assert all(np.isfinite(points).any() for points in places(left))
