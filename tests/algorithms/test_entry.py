"""What an entry says and refuses, and every step size that an algorithm's own theory gives.

Step sizes are held against their papers' formulas, typed again, at two settings each: a short run,
where the cap binds, and a long one, where the rate does.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from stemtheory import load_problem, simulate
from stemtheory.algorithms import ALGORITHMS
from stemtheory.algorithms.entry import Facts, capped, recursive
from stemtheory.bounds.table1 import table1_exponents
from stemtheory.runtime.errors import UsageError
from tests.algorithms.common import SYSTEMS

SHORT = Facts(T=60, K=4, b=2.0, I=5, L=3.0, sigma=0.5)
LONG = Facts(T=10**9, K=6, b=4.0, I=2, L=0.7, sigma=0.5)
Pair = tuple[float, float]


def of_fedavg(s: Facts, cap: float, workers: float, scale: float) -> Pair:
    """sqrt(bn/T)/L, the step of FedAvg's theorem in units of 1/L, but at most the cap; no a."""
    return min(cap, scale * math.sqrt(s.b * workers / s.T) / s.L), 1.0


def of_storm(s: Facts, eta_g: float) -> Pair:
    """h = min(1/(8L), (bK/R)^{1/3}/L) for a round, and a = 8 L^2 h^2."""
    h = min(1 / (8 * s.L), (s.b * s.K * s.I / s.T) ** (1 / 3) / s.L)
    return h / (s.I * eta_g), min(1.0, 8 * s.L**2 * h**2)


Formula = Callable[[Facts], Pair]
THEORIES: dict[str, tuple[str, dict[str, Any], Formula]] = {
    # Karimireddy et al. 2020, theorem for sampled workers: eta <= (S/N)^{2/3} / (24 K beta eta_g)
    "scaffold": ("scaffold", {}, lambda s: of_fedavg(s, 1 / (24 * s.L * s.I), s.K, 1)),
    "scaffold half": (
        "scaffold",
        {"participation": 0.5, "server_step": 1.5},
        lambda s: of_fedavg(s, 0.5 ** (2 / 3) / (24 * s.L * s.I * 1.5), s.K / 2, 1 / 1.5),
    ),
    "fedprox": (
        "fedprox",
        {"mu": 0.4},
        lambda s: of_fedavg(s, 1 / (9 * (s.L + 0.4) * s.I), s.K, 1),
    ),
    # Karimireddy et al. 2021: the drift is stable for eta <= 1/(4 L K eta_g)
    "mime": ("mime", {}, lambda s: of_fedavg(s, 1 / (4 * s.L * s.I), s.K, 1)),
    "mimelite": (
        "mimelite",
        {"server_step": 2.0, "participation": 0.5},
        lambda s: of_fedavg(s, 1 / (8 * s.L * s.I), s.K / 2, 0.5),
    ),
    "mimemvr": ("mimemvr", {"server_step": 1.5}, lambda s: of_storm(s, 1.5)),
    "fedglomo": ("fedglomo", {}, lambda s: of_storm(s, 1.0)),
    # Yu, Jin, Yang 2019: gamma <= (1 - beta)^2/((1 + beta) L), with the 9 I of FedAvg's premise
    "local-polyak": (
        "local-polyak",
        {"beta": 0.6},
        lambda s: of_fedavg(s, 0.16 / (1.6 * 9 * s.L * s.I), s.K, 0.4),
    ),
    "local-nesterov": (
        "local-nesterov",
        {},
        lambda s: of_fedavg(s, 0.01 / (1.9 * 9 * s.L * s.I), s.K, 0.1),
    ),
    # Liang et al. 2019, theorem: 72 k^2 gamma^2 L^2 <= 1
    "vrl-sgd": ("vrl-sgd", {}, lambda s: of_fedavg(s, 1 / (s.I * s.L * math.sqrt(72)), s.K, 1)),
    "slowmo": (
        "slowmo",
        {"alpha": 0.8, "beta": 0.25},
        lambda s: of_fedavg(s, 0.75 / 0.8 / (9 * s.L * s.I), s.K, 0.75 / 0.8),
    ),
    # Fang et al. 2018: 1/(2L), shortened where a minibatch is below the period
    "spider": (
        "spider",
        {"period": 20},
        lambda s: (min(1.0, math.sqrt(s.b * s.K / 20)) / (2 * s.L), 0.0),
    ),
}


def steps(variant: str, setting: Facts) -> Pair:
    """Return eta_1 and a_2 of an algorithm's own theory."""
    name, options, _ = THEORIES[variant]
    entry = ALGORITHMS[name]
    assert entry.theory is not None
    schedule = entry.theory(setting, entry.settle(options))
    return float(schedule.eta(1.0)), float(schedule.momentum(2.0))


@pytest.mark.parametrize("setting", [SHORT, LONG], ids=["short", "long"])
@pytest.mark.parametrize("variant", THEORIES)
def test_the_step_is_that_of_the_paper(variant: str, setting: Facts) -> None:
    assert steps(variant, setting) == pytest.approx(THEORIES[variant][2](setting), rel=1e-13)


@pytest.mark.parametrize("variant", [v for v in THEORIES if v != "spider"])
def test_the_cap_binds_in_the_short_setting_and_the_rate_in_the_long_one(variant: str) -> None:
    """Otherwise one of the two formulas would be compared with nothing."""
    longer = SHORT._replace(T=SHORT.T - 1), LONG._replace(T=2 * LONG.T)
    assert steps(variant, longer[0])[0] == steps(variant, SHORT)[0]
    assert steps(variant, longer[1])[0] < steps(variant, LONG)[0]


def test_every_theory_stands_in_the_table() -> None:
    """FedPD's steps begin anew with every round: test_fedpd.py holds them."""
    theories = {name for name, entry in ALGORITHMS.items() if entry.theory is not None}
    assert theories == {name for name, _, _ in THEORIES.values()} | {"fedpd"}


@pytest.mark.parametrize(("name", "eta_g"), [("mimemvr", 1.5), ("fedglomo", 1.0)])
def test_the_coupling_is_8_times_the_squared_length_of_a_round(name: str, eta_g: float) -> None:
    entry = ALGORITHMS[name]
    assert entry.coupling is not None
    options = {"server_step": eta_g} if name == "mimemvr" else {}
    for s in (SHORT, LONG):
        expected = 8 * s.L**2 * s.I**2 * eta_g**2
        assert entry.coupling(s, entry.settle(options)) == pytest.approx(expected, rel=1e-14)


def test_a_recursion_that_is_too_long_for_its_cap_has_a_1() -> None:
    """h = 1/L without a cap: a = 8 would step past the new sample."""
    schedule = recursive(SHORT._replace(T=1), cap=1 / SHORT.L)
    assert float(schedule.momentum(2.0)) == 1.0


def test_capped_shares_the_noise_among_those_who_take_part() -> None:
    found = capped(LONG, math.inf, workers=3, scale=2.0).eta(np.arange(1, 4))
    np.testing.assert_allclose(found, 2 * math.sqrt(4.0 * 3 / 1e9) / 0.7, rtol=1e-14)


@pytest.mark.parametrize("name", ALGORITHMS)
def test_an_entry_says_what_it_needs_and_promises(name: str) -> None:
    entry = ALGORITHMS[name]
    assert entry.summary
    assert entry.needs
    assert entry.promises
    assert entry.row in {"", *(row.algorithm for row in table1_exponents(1))}
    assert all(option.text for option in entry.options.values())


def test_every_row_of_table_1_has_an_algorithm() -> None:
    quoted = {row.algorithm for row in table1_exponents(1)}
    assert quoted - {e.row for e in ALGORITHMS.values()} == {"FedAvg (Karimireddy, Yang et al.)"}


@pytest.mark.parametrize("name", SYSTEMS)
def test_theory_gives_a_step_that_ends_well(name: str) -> None:
    for problem in ("quadratic", "geman_mcclure"):
        trace = simulate(load_problem(problem, K=4, dim=2), name, T=200, b=1, replicates=4)
        assert trace.status == "ok"


BAD: list[tuple[str, dict[str, Any], str]] = [
    ("scaffold", {"option": "III"}, "I, II"),
    ("scaffold", {"participation": 0}, "participation is 0"),
    ("scaffold", {"participation": 1.1}, "share"),
    ("scaffold", {"server_step": -1}, "server_step is -1"),
    ("scaffold", {"opton": "I"}, "known are option, participation, server_step"),
    ("fedprox", {"mu": -1}, "mu is -1"),
    ("mime", {"beta": 1}, "beta is 1"),
    ("fedpd", {"skip": 1.0}, "skip is 1"),
    ("fedpd", {"refresh": 0}, "refresh is 0"),
    ("fedglomo", {"compression": "zip"}, "none, quantise, sparsify"),
    ("fedglomo", {"local_momentum": 2}, "local_momentum is 2"),
    ("spider", {"period": 1.5}, "period is 1.5"),
    ("stem", {"participation": 0.5}, "unknown for stem; known are sync, sync_batch"),
]


@pytest.mark.parametrize(("name", "options", "said"), BAD)
def test_bad_options_are_one_sentence(name: str, options: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said) as caught:
        simulate(load_problem("quadratic"), name, T=8, algorithm_options=options)
    assert "\n" not in str(caught.value)


def test_systems_have_one_reading() -> None:
    with pytest.raises(UsageError, match="one reading"):
        simulate(load_problem("quadratic"), "scaffold", T=8, sync="overwrite")
