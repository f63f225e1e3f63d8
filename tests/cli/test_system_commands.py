"""Options of an algorithm on the command line, and the list of algorithms."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from stemtheory import load_problem, simulate
from stemtheory.algorithms import ALGORITHMS
from stemtheory.cli.app import main
from stemtheory.runtime.errors import UsageError
from stemtheory.simulator.sizes import resolve_sizes

RUN = ["run", "cosine", "scaffold", "--T", "8", "--b", "1", "--I", "4", "--json"]


def test_options_reach_the_algorithm(capsys: pytest.CaptureFixture[str]) -> None:
    more = ["--set", "algorithm.option=I", "--set", "algorithm.participation=0.5"]
    assert main([*RUN, *more, "--set", "schedule.eta=0.1", "--schedule", "constant"]) == 0
    found = json.loads(capsys.readouterr().out)
    wanted = {"option": "I", "participation": 0.5, "server_step": 1.0}
    assert found["algorithm_options"] == wanted
    assert found["bounds"] == {}
    assert found["floats_up"] == 8 * found["vectors_up"] == 8 * 2


@pytest.mark.parametrize(
    ("pair", "said"),
    [
        ("algorithm.opton=I", "known are option, participation, server_step"),
        ("algorithm.option=III", "I, II"),
        ("algorithm.option", "key=value"),
    ],
)
def test_bad_options_exit_with_2(pair: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*RUN[:-1], "--set", pair]) == 2
    error = " ".join(capsys.readouterr().err.split())
    assert said in error
    assert error.count("error:") == 1


OPTIONS = [(name, option) for name, entry in ALGORITHMS.items() for option in entry.options]


@pytest.mark.parametrize(("name", "option"), OPTIONS)
def test_an_option_of_another_type_is_one_sentence(name: str, option: str) -> None:
    """Also from Python, where anything can be given."""
    settled = ALGORITHMS[name].settle({})
    assert ALGORITHMS[name].settle(settled) == settled
    for value in ("half", [1], {}, (1, 2), 1j, object(), np.array([0.5, 0.5])):
        with pytest.raises(UsageError, match=option):
            ALGORITHMS[name].make(options={option: value})


GROUPS = {"algorithm_options": "algorithm option", "schedule_options": "schedule option"}


@pytest.mark.parametrize("group", GROUPS)
def test_options_map_names_to_values(group: str) -> None:
    problem = load_problem("quadratic", K=4, dim=2)
    odd: tuple[Any, ...] = ("participation=0.5", 5, ["participation"], [("participation", 0.5)])
    for given in (*odd, {3: 1}, {None: 1}):
        with pytest.raises(UsageError, match=f"{group} is .* must map names to values"):
            simulate(problem, "fedavg", T=4, b=1, I=1, **{group: given})
    # those of other arguments inside (mutant: they were passed on)
    for name in ("T", "sigma", "algorithm", "coupling"):
        more: dict[str, Any] = {"schedule": "calibrated", group: {name: 1}}
        with pytest.raises(UsageError, match=f"{GROUPS[group]} '{name}' is unknown for fedavg"):
            simulate(problem, "fedavg", T=4, b=1, I=1, **more)


def test_an_option_called_like_an_argument_exits_with_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "cosine", "stem", "--set", "schedule.T=3"]) == 2
    assert "schedule option 'T' is unknown for stem theorem" in capsys.readouterr().err


@pytest.mark.parametrize("name", ALGORITHMS)
def test_a_run_has_a_first_batch_where_it_draws_one(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """B is null elsewhere, with the reason; the sizes of the run (mutant) always hold one."""
    worker = ["--K", "1"] if ALGORITHMS[name].pin("K") else []
    run = ["run", "cosine", name, *worker, "--T", "8", "--b", "2", "--replicates", "2"]
    assert main([*run, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    starts = ALGORITHMS[name].make().costs.initial_batch
    assert (found["B"] is not None) == ("B" not in found["reasons"]) == starts
    assert main(run) == 0
    assert ("B=" in capsys.readouterr().out) == starts
    sizes = resolve_sizes(name, 4 if not worker else 1, 1.0, T=8, b=2)
    assert sizes.B == 2 * sizes.I


def test_a_bound_on_fedavg_has_no_first_batch(capsys: pytest.CaptureFixture[str]) -> None:
    for name, B in (("fedavg-theorem", None), ("stem-theorem", 12.0)):
        assert main(["bound", name, "--T", "4096", "--json"]) == 0
        found = json.loads(capsys.readouterr().out)
        assert (found["B"], "B" in found["reasons"]) == (B, B is None)
        assert main(["bound", name, "--T", "4096"]) == 0
        assert ("B=" in capsys.readouterr().out) == (B is not None)


def test_the_list_says_what_each_needs_and_promises(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "algorithms", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["algorithms"]
    assert [row["name"] for row in rows] == list(ALGORITHMS)
    assert all(row["needs"] and row["promises"] for row in rows)
    scaffold = next(row for row in rows if row["name"] == "scaffold")
    assert (scaffold["vectors_up"], scaffold["vectors_down"]) == (2, 2)
    assert main(["list", "algorithms"]) == 0
    shown = capsys.readouterr().out
    assert "needs" in shown
    assert "promises" in shown


def test_bounds_do_not_speak_of_a_sample_of_workers(capsys: pytest.CaptureFixture[str]) -> None:
    """FedAvg's theorem has all workers: a sampled run above it violates nothing."""
    setting = ["--K", "16", "--zeta", "8", "--heterogeneity", "tilt", "--I", "1", "--b", "1"]
    run = ["run", "quadratic", "fedavg", *setting, "--T", "8192", "--replicates", "4", "--json"]
    assert main([*run, "--set", "algorithm.participation=0.0625"]) == 0
    sampled = json.loads(capsys.readouterr().out)
    assert sampled["mean_grad_sq"] > sampled["bounds"]["fedavg-theorem"]
    assert sampled["verdicts"]["fedavg-theorem"] == "inapplicable"
    assert sampled["unmet"]["fedavg-theorem"] == "every worker takes part"
    assert main(run) == 0
    assert json.loads(capsys.readouterr().out)["verdicts"]["fedavg-theorem"] == "holds"


def test_what_was_chosen_and_sent_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    sizes = ["--T", "60", "--b", "1", "--I", "2", "--replicates", "2"]
    more = ["--set", "algorithm.compression=quantise"]
    assert main(["run", "geman_mcclure", "fedglomo", *sizes, *more]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "fedglomo (compression quantise)" in shown
    assert "no bound here is about fedglomo" in shown
    assert "sent per worker: 120 floats up, 480 down" in shown
