"""What a sweep is said to take, measured on each kind of its cells."""

import time

from stemtheory.experiment.design.points import Machine, points
from stemtheory.experiment.execute import forecast as module
from stemtheory.experiment.execute.forecast import Forecast, forecast, weight
from stemtheory.experiment.execute.work import run_cells
from tests.experiment.sweeps import small

TEXT = """
[settings]
K = 4
dim = 4
replicates = 16
T = 6000
[algorithms.stem]
[algorithms.mimemvr]
[grids.g]
problem = ["cosine", "corridor"]
nu = 0.5
"""


def test_a_forecast_is_what_it_takes_within_a_factor_of_three() -> None:
    """The model alone (mutant) knows neither this machine nor what another algorithm costs.

    Both are measured one after the other, so another load of the machine between them is what
    could raise a false alarm.
    """
    cells = [point.cell for point in points(small(TEXT), Machine("numpy"))]
    assert len(cells) == 4
    said = forecast(cells).seconds
    began = time.perf_counter()
    run_cells(cells)
    took = time.perf_counter() - began
    assert took / 3 < said < 3 * took


def test_probes_are_short_whatever_the_cells_are() -> None:
    long = TEXT.replace("T = 6000", "T = 600000000").replace(
        "nu = 0.5", "b = 2\nI = 6\nrecord = 50"
    )
    cells = [point.cell for point in points(small(long), Machine("numpy"))]
    for cell in cells:
        probe = module._short(cell)
        assert probe.T % probe.I == 0
        assert weight(probe) < 3 * module.PROBE_SECONDS
    began = time.perf_counter()
    assert forecast(cells).seconds > 3600
    assert time.perf_counter() - began < 60


def test_a_probe_of_one_endless_round_is_a_shorter_one() -> None:
    """Mutant: a round of 1e9 steps was run whole, and --dry-run took an hour."""
    long = TEXT.replace("T = 6000", "T = 8").replace("nu = 0.5", "b = 2\nI = 1000000000")
    cells = [point.cell for point in points(small(long), Machine("numpy"))]
    assert {cell.T for cell in cells} == {10**9}
    for cell in cells:
        probe = module._short(cell)
        assert probe.T == probe.I
        assert weight(probe) < 3 * module.PROBE_SECONDS


def test_a_cell_that_cannot_be_measured_is_forecast_by_the_model() -> None:
    text = """
    [settings]
    problem = "tests.experiment.faulty:ENTRY"
    K = 2
    dim = 2
    T = 16
    [grids.g]
    dials.fault = ["raise", "end"]
    """
    cells = [point.cell for point in points(small(text), Machine("numpy"))]
    assert forecast(cells) == Forecast(2, sum(map(module.samples, cells)), sum(map(weight, cells)))
    assert forecast([]) == Forecast(0, 0, 0.0)
