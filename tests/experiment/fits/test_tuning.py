"""Tuning: the step with the fewest samples wins, no diverged run ever does; the cost is told."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest

from stemtheory import load_problem, simulate
from stemtheory.experiment.design.cells import Cell
from stemtheory.experiment.design.points import Point
from stemtheory.experiment.design.rules import rules
from stemtheory.experiment.execute.work import CellResult, run_cells
from stemtheory.experiment.fits.targets import Target, targets
from stemtheory.experiment.fits.tuning import STEP, Tuned, tuned
from stemtheory.experiment.fits.tuning import winners as winners_of
from stemtheory.runtime.errors import UsageError
from stemtheory.simulator.hitting import last_crossing
from tests.experiment.planted import judged, lose, outcomes, points_of, spec_of
from tests.experiment.sweeps import small

ETAS = (0.5, 0.25, 0.125, 0.0625)
GRID = f"""
[algorithms.fedavg]
[grids.main]
schedule = "constant"
b = 1
I = 2
T = {{ from = 4, ratio = 2, count = 12 }}
schedule_options.eta = {list(ETAS)}
epsilon = [0.2, 0.05, 0.02]
"""


def law(cell: Cell) -> float:
    """M = 1/(eta T) + eta/10: a large step is fast and ends high."""
    eta = float(str(dict(cell.run.schedule.options)["eta"]))
    return 1 / (eta * cell.T) + eta / 10


def exact(eta: float, epsilon: float) -> float:
    """The T at which that law is epsilon, between the same octaves."""
    T = 4 * 2.0 ** np.arange(12)
    return float(last_crossing(T, 1 / (eta * T) + eta / 10, epsilon))


def planted() -> tuple[tuple[Point, ...], dict[str, CellResult]]:
    found = points_of(spec_of(GRID))
    return found, outcomes(found, law)


def winners(found: Sequence[Point], results: dict[str, CellResult]) -> dict[float, Tuned]:
    return {t.epsilon: t for t in tuned(found, results)}


def test_the_step_with_the_fewest_samples_wins() -> None:
    found = winners(*planted())
    for epsilon, winner in found.items():
        best = min(ETAS, key=lambda eta, e=epsilon: exact(eta, e))  # type: ignore[misc]
        assert winner.value == best
        assert winner.costs["steps"] == pytest.approx(exact(best, epsilon))
        assert winner.costs["rounds"] == pytest.approx(winner.costs["samples"] / 2)
        assert winner.tried == len(ETAS)
        assert winner.at_edge == (best in (ETAS[0], ETAS[-1]))
    assert [found[e].value for e in (0.2, 0.05, 0.02)] == [0.5, 0.25, 0.125]


Rule = Callable[[Sequence[Target], dict[str, CellResult]], float]


def step(target: Target) -> float:
    return float(target.point.cell.settings()[STEP])


def lowest_at_the_end(group: Sequence[Target], results: dict[str, CellResult]) -> float:
    """Mutant: the least M of the whole run, which the smallest steps have."""
    return step(min(group, key=lambda t: results[t.point.cell.id].grad_sq.mean()))


def largest(group: Sequence[Target], results: dict[str, CellResult]) -> float:
    """Mutant: the largest step that reaches any epsilon at all."""
    del results
    return max(step(t) for t in group)


@pytest.mark.parametrize("mutant", [lowest_at_the_end, largest])
def test_another_rule_chooses_otherwise(mutant: Rule) -> None:
    points, results = planted()
    hits = [t for t in targets(points, results) if t.epsilon == 0.05]
    assert mutant(hits, results) != winners(points, results)[0.05].value


def test_a_diverged_run_never_wins_whatever_it_measured_before() -> None:
    """The mutant looks at T(epsilon) alone: the target stands, the run it is from does not."""
    points, results = planted()
    hits = [t for t in targets(points, results) if t.epsilon == 0.05]
    best = min((t for t in hits if t.costs), key=lambda t: t.costs["samples"])
    broken = lose(results, best.point.cell)
    (winner,) = winners_of(hits, hits, broken)
    assert step(best) == 0.25
    assert winner.value == 0.125
    assert winner.diverged == 1
    # and where every cell of that step is lost there is no target of it either
    for point in points:
        if step_of(point) == 0.25:
            broken = lose(broken, point.cell)
    assert winners(points, broken)[0.05].value == 0.125


def test_the_winner_is_measured_on_replicates_that_did_not_choose_it() -> None:
    """All steps are alike, and only luck makes one the winner.

    Over 200 searches the mean log of its cost is that of all steps within three standard errors (a
    false alarm has P = 0.3 %). Measured where it was chosen (mutant) it is far below.
    """
    points = points_of(spec_of(GRID.replace("[0.2, 0.05, 0.02]", "0.02")))
    honest, flattered, every = [], [], []
    for seed in range(200):
        results = outcomes(points, lambda cell: 1 / cell.T, 0.5, seed)
        chosen, measured = (targets(points, results, slice(half, None, 2)) for half in (0, 1))
        (winner,), (mutant,) = tuned(points, results), winners_of(chosen, chosen, results)
        honest.append(np.log(winner.costs["steps"]))
        flattered.append(np.log(mutant.costs["steps"]))
        every += [np.log(target.costs["steps"]) for target in measured]
    error = np.std(honest) / np.sqrt(200)
    assert abs(np.mean(honest) - np.mean(every)) < 3 * error
    assert np.mean(flattered) < np.mean(honest) - 5 * error


def step_of(point: Point) -> float:
    return float(str(dict(point.cell.run.schedule.options)["eta"]))


def test_where_nobody_gets_there_nobody_wins() -> None:
    points = points_of(spec_of(GRID.replace("0.02]", "1e-4]")))
    winner = winners(points, outcomes(points, law))[1e-4]
    assert (winner.value, winner.reached, winner.overhead) == (None, False, None)
    assert (dict(winner.costs), winner.at_edge) == ({}, False)
    assert winner.target.status == "not-reached"
    assert "none of 4 values" in winner.target.reason


def test_the_cost_of_tuning_is_that_of_all_runs() -> None:
    points, results = planted()
    winner = winners(points, results)[0.05]
    longest = max(point.cell.T for point in points)
    assert winner.spent == len(ETAS) * longest  # b = 1: a sample a step
    assert winner.overhead == pytest.approx(winner.spent / winner.costs["samples"])


def test_of_equal_steps_the_smaller_one_is_taken_in_any_order() -> None:
    points, results = planted()
    hits = [t for t in targets(points, results) if t.epsilon == 0.05 and t.costs]
    equal = [replace(t, costs=hits[0].costs) for t in hits]
    for order in (equal, equal[::-1]):
        (winner,) = winners_of(order, order, results)
        assert winner.value == min(step(t) for t in equal)


def test_it_is_what_simulating_every_step_gives() -> None:
    """The whole way: sweep, store, records and rule against runs one by one; equal numbers."""
    etas, epsilon, T = (1.0, 0.25, 0.0625), 0.1, 256
    text = f"""
    [settings]
    problem = "quadratic"
    K = 2
    dim = 2
    T = {T}
    b = 1
    I = 4
    replicates = 4
    record = 40
    schedule = "coupled"
    [algorithms.scaffold]
    algorithm_options = {{ option = "I" }}
    [grids.g]
    epsilon = {epsilon}
    schedule_options.eta = {[*etas, 1e4]}
    """
    points = points_of(small(text))
    results = {r.id: r for r in run_cells([p.cell for p in points])}
    (winner,) = tuned(points, results)
    problem = load_problem("quadratic", K=2, dim=2)
    hits = {}
    for eta in etas:
        trace = simulate(
            problem, "scaffold", T=T, b=1, I=4, replicates=4, schedule="constant",
            schedule_options={"eta": eta}, algorithm_options={"option": "I"},
            record_at=points[0].cell.record_times(), backend="numpy", engine="array",
        )  # fmt: skip
        halves = (trace.running[:, half::2].mean(axis=1) for half in (0, 1))
        T_hits = np.array([float(last_crossing(trace.times, m, epsilon)) for m in halves])
        hits[eta] = T_hits * trace.counts.samples_per_worker / T
    assert winner.value == min(hits, key=lambda eta: hits[eta][0])
    assert winner.costs["samples"] == pytest.approx(hits[winner.value][1], rel=1e-9)
    assert winner.costs["samples"] != pytest.approx(hits[winner.value][0], rel=1e-9)
    assert winner.diverged == 1
    # option I adds a pass to every round: twice the samples of plain steps
    assert winner.costs["samples"] == pytest.approx(2 * winner.costs["steps"])
    assert winner.costs["vectors"] == pytest.approx(4 * winner.costs["rounds"])


FIT = f"""
[fits.tuned]
y = "samples"
x = "epsilon"
by = ["label"]
theory = {{ fedavg = -2 }}
best_of = "{STEP}"
[fits.all]
y = "samples"
x = "epsilon"
by = ["label"]
theory = {{ fedavg = -2 }}
"""


def test_a_fit_of_the_best_takes_the_winners_only() -> None:
    """The mutant fits all steps together: more points at every epsilon, and another exponent."""
    spec = spec_of(GRID.replace("[0.2, 0.05, 0.02]", "[0.1, 0.05, 0.025]"), FIT)
    points = points_of(spec)
    found, _ = judged(spec, outcomes(points, law))
    best, every = found
    wanted = {e: min(exact(eta, e) for eta in ETAS) for e in (0.1, 0.05, 0.025)}
    slope = np.polyfit(np.log(list(wanted)), np.log(list(wanted.values())), 1)[0]
    assert best.exponent == pytest.approx(slope)
    assert (best.rows, len(best.xs)) == (3 * 12, 3)
    assert len(every.xs) > 3
    assert every.exponent != pytest.approx(slope, abs=0.1)


def test_best_of_is_checked() -> None:
    for line in ("best_of = 3", 'y = "M"\nbest_of = "schedule_options.eta"'):
        base = 'y = "samples"\nx = "epsilon"\ntheory = -2\n'
        text = base.replace('y = "samples"\n', "") if "y =" in line else base
        with pytest.raises(UsageError, match=r"fits\.f\.best_of"):
            rules(spec_of(GRID, f"[fits.f]\n{text}{line}\n"))
