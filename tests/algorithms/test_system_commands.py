"""Options of an algorithm on the command line, and the list of algorithms."""

from __future__ import annotations

import json

import pytest

from stemtheory.algorithms import ALGORITHMS
from stemtheory.cli import main

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
    assert sampled["verdicts"]["fedavg-theorem"] == "premise unmet: every worker takes part"
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
