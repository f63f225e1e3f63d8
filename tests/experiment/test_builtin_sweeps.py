"""The sweeps of the catalogue: sound at every size, and what their quick runs show.

Quick runs are small, so exponents are held to three half-widths of their 95 % interval, or to their
tolerance: an honest fit fails with probability below 3e-3. Seeds are fixed.
"""

import math
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

from stemtheory.experiment.design.points import Machine, points
from stemtheory.experiment.design.rules import rules
from stemtheory.experiment.design.spec import MODES, load_spec
from stemtheory.experiment.execute.workers import shared_workers
from stemtheory.experiment.fits.exponents import Fit, check_columns
from stemtheory.experiment.stored import stored_sweep
from stemtheory.experiment.sweep import SweepResult, run_sweep
from stemtheory.figures._tradeoff import K
from stemtheory.oracles import catalogue
from stemtheory.report.drawing import figure_entry, full_caption, picture
from stemtheory.runtime.errors import UsageError

NAMES = ("tradeoff", "complexity", "speedup", "heterogeneity", "margins", "slack")
FIGURES = {
    "tradeoff_surface": "tradeoff",
    "tradeoff_curve": "tradeoff",
    "suboptimal": "tradeoff",
    "heterogeneity": "heterogeneity",
    "margins": "margins",
}


def test_all_are_there() -> None:
    assert set(NAMES) <= set(catalogue.names("sweeps"))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", NAMES)
def test_every_size_is_sound(name: str, mode: str) -> None:
    """Grids, settings and fits add up; every fit names grids that are there."""
    spec = load_spec(name, mode)
    assert spec.summary
    found = list(points(spec, Machine("numpy")))
    assert len({point.cell.id for point in found}) > 10
    grids = {grid.name for grid in spec.grids}
    for rule in rules(spec):
        assert set(rule.grids) <= grids
    assert check_columns(spec, found) > {"label", "curve", "rate"}


def run_length(b: float, I: int, epsilon: float) -> int:
    """Return a T that is long enough: the sum of both branches, with constants seen in runs.

    They only decide how long a run is; too small a T shows as "not reached". The constant of the
    left branch falls towards its limit like 1 + 29 sqrt(eps): the gap is paid for early.
    """
    left: float = (1 + 29 * math.sqrt(epsilon)) / (K * b * I * epsilon**1.5)
    return I * math.ceil(1.15 * (2 / epsilon + left))


@pytest.mark.parametrize("mode", MODES)
def test_trade_off_runs_are_as_long_as_they_say(mode: str) -> None:
    spec = load_spec("tradeoff", mode)
    for grid in spec.grids:
        axes = dict(grid.axes)
        if grid.algorithms == ("stem",):
            (epsilon,) = axes["epsilon"]
            for b, I, T in zip(axes["b"], axes["I"], axes["T"], strict=True):
                assert run_length(b, I, epsilon) == T
        if grid.name.startswith("curve"):
            (epsilon,) = axes["epsilon"]
            for b, I in zip(axes["b"], axes["I"], strict=True):
                assert max(1.0, epsilon**-0.5 / K / I) == pytest.approx(b)


def agrees(fit: Fit) -> bool:
    """Whether a fit is within its tolerance or three half-widths of the theory."""
    if fit.exponent is None or fit.ci95 is None:
        return False
    half = (fit.ci95[1] - fit.ci95[0]) / 2
    return abs(fit.exponent - fit.theory) <= max(fit.rule.tolerance, 3 * half)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return one store that holds the quick size of every sweep."""
    return tmp_path_factory.mktemp("sweeps") / "all.sqlite"


@pytest.fixture(scope="module")
def swept(store: Path) -> Iterator[Callable[[str], SweepResult]]:
    """Yield what runs the quick size of a sweep into the store, once; all in the same processes."""
    with shared_workers(2):
        yield cache(lambda name: run_sweep(name, mode="quick", store=store))


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_quick_runs_show_the_exponents(name: str, swept: Callable[[str], SweepResult]) -> None:
    found = swept(name)
    assert found.count("ok") == found.cells_total
    for fit in found.fits:
        assert agrees(fit), fit.to_dict()
        assert fit.rows == fit.used + sum(fit.left_out.values())
    SHOWN[name](found)


def two_sided_momentum_does_not_drift(found: SweepResult) -> None:
    """At I = 1 nobody feels zeta; STEM never does; FedAvg drifts with zeta^2."""
    by_name = {fit.name: fit for fit in found.fits}
    for label in ("stem", "fedavg"):
        assert by_name[f"one_step, {label}, I 1"].exponent == pytest.approx(0, abs=1e-9)
    assert by_name["stem, stem, I 16"].exponent == pytest.approx(0, abs=1e-3)
    assert by_name["drift, fedavg, I 16"].exponent == pytest.approx(2, abs=0.05)


def bounds_stand_above(found: SweepResult) -> None:
    """No bound promises fewer samples or rounds than are measured."""
    reached = [target for target in found.targets if target.status == "reached"]
    assert reached
    for target in reached:
        assert target.bounds
        for cost in target.bounds.values():
            assert cost.samples > target.costs["samples"]
            assert cost.rounds > target.costs["rounds"]


def a_wrong_L_costs_a_constant(found: SweepResult) -> None:
    """A larger L is a smaller step: M at the largest T grows with the declared L."""
    frame = found.frame
    last = frame[frame["T"] == frame["T"].max()].set_index("label")["mean_grad_sq"]
    assert last["stem_half"] < last["stem"] < last["stem_double"]


def nothing_more(found: SweepResult) -> None:
    """The fits say all."""
    assert found.points


SHOWN = {
    "tradeoff": nothing_more,
    "speedup": nothing_more,
    "margins": nothing_more,
    "complexity": bounds_stand_above,
    "heterogeneity": two_sided_momentum_does_not_drift,
    "slack": a_wrong_L_costs_a_constant,
}


@pytest.mark.slow
@pytest.mark.parametrize("figure", FIGURES)
def test_figures_are_drawn_from_a_store(
    figure: str, store: Path, swept: Callable[[str], SweepResult]
) -> None:
    """The same bytes from the same store, without running anything."""
    swept(FIGURES[figure])
    entry = figure_entry(figure)
    assert entry.sweep == FIGURES[figure]
    data = entry.table("quick", store, lambda _: None)
    image = picture(entry, data, "svg")
    assert image == picture(entry, entry.table("quick", store, lambda _: None), "svg")
    assert "Not claimed" in entry.caption(data)
    assert f"figure {figure} --quick --store all.sqlite;" in full_caption(
        entry, data, "quick", store
    )


def test_a_store_that_lacks_cells_says_what_adds_them(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    with pytest.raises(UsageError, match=r"does not exist: stemtheory sweep slack --quick"):
        stored_sweep("slack", "quick", path)
    run_sweep("slack", mode="quick", store=path, dry_run=True)
    assert not path.exists()
    entry = figure_entry("heterogeneity")
    with pytest.raises(UsageError, match="sweep heterogeneity --store"):
        entry.table("default", path, lambda _: None)
