"""T(epsilon): the last crossing, never extrapolated, with an interval that covers."""

from collections.abc import Callable

import numpy as np
import pytest
from numpy.random import SFC64, Generator, SeedSequence

from stemtheory.runtime import Floats
from stemtheory.runtime.errors import UsageError
from stemtheory.simulator.hitting import HittingTime, hitting_time, interval, last_crossing

Rule = Callable[[Floats, Floats, float], float]

TIMES = np.array([1.0, 2, 4, 8, 16, 32])


def replicates(R: int, seed: int, spread: float = 0.5) -> Floats:
    """Return running averages 1/t times an independent log-normal factor of mean 1."""
    generator = Generator(SFC64(SeedSequence(seed)))
    factor = np.exp(spread * generator.normal(size=R) - spread**2 / 2)
    return np.asarray(factor / TIMES[:, None])


@pytest.mark.parametrize("power", [0.5, 2 / 3, 1.0, 2.0])
@pytest.mark.parametrize("T", [1.5, 4.0, 17.0, 31.0])
def test_a_power_law_is_inverted_exactly(power: float, T: float) -> None:
    found = last_crossing(TIMES, 3 * TIMES**-power, 3 * T**-power)
    assert found == pytest.approx(T, rel=1e-12)


def _last_at_2(rule: Rule) -> bool:
    """Whether a rule finds the last of three crossings of 2, which is between 8 and 16."""
    average = np.array([5.0, 1.0, 1.0, 4.0, 1.0, 0.5])
    T = rule(TIMES, average, 2.0)
    return bool(np.isclose(T, 8 * np.sqrt(2)))


def _first_crossing(times: Floats, average: Floats, epsilon: float) -> float:
    i = int(np.flatnonzero(average <= epsilon)[0])
    share = np.log(average[i - 1] / epsilon) / np.log(average[i - 1] / average[i])
    return float(times[i - 1] * (times[i] / times[i - 1]) ** share)


def _linear(times: Floats, average: Floats, epsilon: float) -> float:
    return float(np.interp(-epsilon, -average[3:], times[3:]))


def test_the_last_crossing_counts_in_log_log_coordinates() -> None:
    assert _last_at_2(lambda t, m, e: float(last_crossing(t, m, e)))


@pytest.mark.parametrize("mutant", [_first_crossing, _linear])
def test_another_rule_is_rejected(mutant: Rule) -> None:
    assert not _last_at_2(mutant)


def test_nothing_is_extrapolated() -> None:
    average = 1 / TIMES
    assert last_crossing(TIMES, average, 1 / 32.001) == np.inf
    assert last_crossing(TIMES, average, 1 / 32) == pytest.approx(32)
    assert last_crossing(TIMES, average, 1.0) == -np.inf
    # it came below, but the record ends above: no claim
    assert last_crossing(TIMES, [3.0, 1, 1, 1, 1, 3], 2.0) == np.inf


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("position", [0, 2, 5])
def test_a_value_that_is_not_finite_never_wins(value: float, position: int) -> None:
    average = 1 / TIMES
    average[position] = value
    assert last_crossing(TIMES, average, 0.1) == np.inf


def test_a_zero_has_no_logarithm() -> None:
    assert last_crossing(TIMES, [1.0, 1, 0, 0, 0, 0], 0.1) == 4


def test_columns_are_taken_one_by_one() -> None:
    scales = np.array([[0.5, 1.0], [2.0, 100.0]])
    found = last_crossing(TIMES, scales / TIMES[:, None, None], 0.25)
    assert found.ravel().tolist() == pytest.approx([2, 4, 8, np.inf])


def test_the_mean_is_taken_before_the_crossing() -> None:
    running = np.array([1.0, 3.0]) / TIMES[:, None]
    found = hitting_time(TIMES, running, 0.25)
    assert found.reached
    assert found.T == pytest.approx(8)


@pytest.mark.parametrize(("epsilon", "status"), [(1e-3, "not-reached"), (9, "before-record")])
def test_without_a_crossing_there_is_no_time(epsilon: float, status: str) -> None:
    found = hitting_time(TIMES, replicates(16, 0), epsilon)
    assert found.status == status
    assert np.isnan([found.T, found.low, found.high]).all()


def test_one_replicate_has_no_interval() -> None:
    found = hitting_time(TIMES, 1 / TIMES[:, None], 0.1)
    assert found.T == pytest.approx(10)
    assert np.isnan([found.low, found.high]).all()


def test_an_upper_end_beyond_the_record_is_infinite() -> None:
    running = np.array([0.5, 0.6, 0.8, 1.9]) / TIMES[:, None]
    found = hitting_time(TIMES, running, 1 / 31)
    assert found.low < found.T == pytest.approx(0.95 * 31)
    assert found.high == np.inf


def test_an_interval_of_a_missing_value_is_missing() -> None:
    assert interval([1.0, 2.0, 3.0]) == (1.0, 3.0)
    assert np.isnan(interval([1.0, 2.0, np.nan])).all()


def test_resamples_have_an_address() -> None:
    running = replicates(16, 1)

    def draw(seed: int, key: tuple[int, ...]) -> HittingTime:
        return hitting_time(TIMES, running, 0.1, seed=seed, key=key)

    first = draw(0, (1,))
    np.testing.assert_array_equal(first.resampled, draw(0, (1,)).resampled)
    assert not np.array_equal(first.resampled, draw(0, (2,)).resampled)
    assert not np.array_equal(first.resampled, draw(1, (1,)).resampled)


def coverage(low: float, high: float, draws: int = 2000) -> float:
    """Return how often E M(T) = 1/T puts T(1/10) = 10 between two quantiles of the resamples."""
    found = [
        hitting_time(TIMES, replicates(64, seed), 0.1, seed=seed, resamples=200).resampled
        for seed in range(draws)
    ]
    ends = np.quantile(found, [low, high], axis=1, method="inverted_cdf")
    return float(np.mean((ends[0] <= 10) & (ends[1] >= 10)))


def test_the_interval_covers_the_truth_as_often_as_it_says() -> None:
    """2000 intervals of nominally 95 %; a bootstrap of 64 replicates covers 93 to 94 %.

    With a standard error of 0.56 %, a true 93.3 % leaves the limits with probability below 1e-3. An
    interval of 90 %, which covers 88 %, gets past the lower one with probability below 1e-4.
    """
    low, high = 0.025, 0.975
    one = hitting_time(TIMES, replicates(64, 0), 0.1, seed=0, resamples=200)
    ends = np.quantile(one.resampled, [low, high], method="inverted_cdf")
    assert (one.low, one.high) == tuple(ends)
    assert 0.915 < coverage(low, high) < 0.955


def test_an_interval_of_90_percent_is_told_apart() -> None:
    assert coverage(0.05, 0.95, draws=500) < 0.915


def test_an_interval_is_two_order_statistics() -> None:
    assert interval(np.arange(400.0, 0.0, -1.0)) == (10, 390)


@pytest.mark.parametrize(
    ("times", "running", "epsilon", "word"),
    [
        (TIMES, np.ones((6, 2)), 0.0, "epsilon"),
        (TIMES, np.ones((5, 2)), 0.1, "one average per time"),
        (TIMES, np.ones(6), 0.1, "two"),
        (TIMES[::-1], np.ones((6, 2)), 0.1, "increase"),
        (TIMES - 1, np.ones((6, 2)), 0.1, "above 0"),
    ],
)
def test_bad_input_is_refused(times: Floats, running: Floats, epsilon: float, word: str) -> None:
    with pytest.raises(UsageError, match=word):
        hitting_time(times, running, epsilon)
