"""Problems, entries, runs and traces are pickled and copied, and the copy has the same bits."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stemtheory import UsageError, load_problem, simulate
from stemtheory.algorithms import ALGORITHMS
from stemtheory.algorithms.fedavg import FedAvg
from stemtheory.oracles import ChainEntry, names
from stemtheory.oracles.catalogue import problem_entry
from stemtheory.oracles.noise import NOISES
from stemtheory.problems import quadratic
from stemtheory.simulator import Trace
from tests.experiment import faulty
from tests.helpers import example_algorithm, example_loss
from tests.helpers.rows import write_rows
from tests.helpers.sources import ROOT

COPIES: dict[str, Callable[[Any], Any]] = {
    "pickle": lambda thing: pickle.loads(pickle.dumps(thing)),
    "deepcopy": copy.deepcopy,
    "copy": copy.copy,
}
SMALL: dict[str, Any] = {"T": 8, "b": 1, "I": 2, "replicates": 2, "backend": "numpy"}
PROBLEMS: dict[str, dict[str, Any]] = {name: {"dim": 3} for name in names("problems")}
PROBLEMS |= {
    name: {"train": 4, "test": 2}
    for name in sorted(set(names("problems", data=True)) - {*PROBLEMS, "robust_regression"})
}
PROBLEMS |= {f"cosine {noise}": {"dim": 3, "noise": noise, "rotate": True} for noise in NOISES}
PROBLEMS |= {
    "tests.helpers.example_loss:ENTRY": {"dim": 3},
    "tests.experiment.faulty:ENTRY": {"dim": 3},
}
OWN_CHAIN = ChainEntry(name="own", summary="a chain", formula="f", visible="links")


def bits(trace: Trace) -> tuple[bytes, ...]:
    return trace.grad_sq.tobytes(), trace.last.tobytes(), trace.best.tobytes()


@pytest.mark.parametrize("how", COPIES)
@pytest.mark.parametrize("name", PROBLEMS)
def test_a_copy_of_a_problem_has_the_same_bits(name: str, how: str) -> None:
    same_bits(load_problem(name.split()[0], K=2, **PROBLEMS[name]), how)


@pytest.mark.parametrize("how", COPIES)
@pytest.mark.parametrize("name", ["logistic", "robust_regression"])
def test_a_copy_of_a_problem_on_rows_has_the_same_bits(name: str, how: str, tmp_path: Path) -> None:
    same_bits(load_problem(name, K=2, data=str(write_rows(tmp_path / "x.csv"))), how)


def same_bits(problem: Any, how: str) -> None:
    again = COPIES[how](problem)
    assert bits(simulate(again, **SMALL)) == bits(simulate(problem, **SMALL))
    assert again.dials == problem.dials
    assert again.constants() == problem.constants()
    x = np.full((1, problem.K, problem.dim), 0.3)
    np.testing.assert_array_equal(again.gradient(x), problem.gradient(x))


TRACES: dict[str, tuple[Any, Any]] = {
    "by name": ("cosine", "stem"),
    "a problem": (load_problem("logistic", K=2, dim=2), "scaffold"),
    "an entry": ("cosine", example_algorithm.ENTRY),
    "names of one's own": (
        "tests.helpers.example_loss:ENTRY",
        "tests.helpers.example_algorithm:ENTRY",
    ),
}


@pytest.mark.parametrize("how", COPIES)
@pytest.mark.parametrize("case", TRACES)
def test_a_copy_of_a_trace_is_that_trace_and_runs_again(case: str, how: str) -> None:
    trace = simulate(*TRACES[case], **SMALL)
    again = COPIES[how](trace)
    assert bits(again) == bits(trace)
    assert bits(simulate(again.run)) == bits(trace)
    assert again.bounds() == trace.bounds()
    assert again.settings == trace.settings
    # a problem that was made is equal to itself alone, and what is read is another object
    assert (again.run == trace.run) is ((case, how) != ("a problem", "pickle"))


@pytest.mark.parametrize("how", COPIES)
def test_an_entry_is_its_own_copy(how: str) -> None:
    entries = [*ALGORITHMS.values(), example_algorithm.ENTRY, example_loss.ENTRY, faulty.ENTRY]
    entries += [problem_entry(name) for name in names("problems", data=True)]
    if how != "copy":
        assert all(COPIES[how](entry) is entry for entry in [*entries, *NOISES.values()])


def test_an_entry_without_functions_of_its_module_is_found_by_its_name() -> None:
    entry = OWN_CHAIN
    assert entry.share.__module__ != __name__
    function, arguments = entry.__reduce__()
    assert function(*arguments) is entry
    assert arguments == (__name__, "OWN_CHAIN")
    with pytest.raises(UsageError, match=r"no module has it under a name: write NAME = \.\.\. at"):
        pickle.dumps(replace(entry))


def test_a_pickle_is_read_by_another_process(tmp_path: Path) -> None:
    trace = simulate("tests.helpers.example_loss:ENTRY", example_algorithm.ENTRY, **SMALL)
    (tmp_path / "trace").write_bytes(pickle.dumps(trace))
    code = (
        "import pickle, stemtheory; t = pickle.load(open('trace', 'rb'));"
        " print(stemtheory.simulate(t.run).grad_sq.tobytes() == t.grad_sq.tobytes())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT), "PATH": ""},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "True\n"


def test_what_has_no_name_is_refused_in_one_sentence_and_copied() -> None:
    nameless = replace(quadratic.ENTRY, name="nameless")
    problem = nameless(K=2, dim=2)
    with pytest.raises(UsageError, match="this Family cannot be pickled, because no module has"):
        pickle.dumps(problem)
    assert bits(simulate(copy.deepcopy(problem), **SMALL)) == bits(simulate(problem, **SMALL))
    own = replace(example_algorithm.ENTRY, name="another", build=lambda options: FedAvg())
    trace = simulate("cosine", own, **SMALL)
    with pytest.raises(UsageError, match="this Entry cannot be pickled"):
        pickle.dumps(trace)
    assert bits(simulate(copy.deepcopy(trace).run)) == bits(trace)


def test_an_object_that_holds_a_lambda_is_refused_in_one_sentence() -> None:
    made = load_problem("tests.experiment.faulty:ENTRY", K=2, dim=2)
    wrong: Any = faulty.Faulty(made, "none", "")
    object.__setattr__(wrong, "extra", lambda: None)
    with pytest.raises(UsageError, match=r"this Faulty cannot be pickled \(.*give it by its name"):
        pickle.dumps(simulate(wrong, **SMALL))
