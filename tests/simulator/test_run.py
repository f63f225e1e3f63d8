"""A run: one type, one place where it is made; equal exactly where its numbers are."""

from __future__ import annotations

import dataclasses
import inspect
import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stemtheory import load_problem, simulate
from stemtheory.algorithms import ALGORITHMS, Entry
from stemtheory.algorithms.fedavg import ENTRIES
from stemtheory.moments import moments
from stemtheory.runtime import UsageError
from stemtheory.simulator import DEFAULT, Run, Trace
from stemtheory.simulator.run import Asked

SMALL: dict[str, Any] = {"K": 2, "dim": 2, "T": 16, "b": 1, "I": 4, "replicates": 3}
SPELLED: dict[str, Any] = {name: str(value) for name, value in SMALL.items()}
OWN = dataclasses.replace(ENTRIES[0], name="mine", bounds=())


def test_every_default_is_that_of_the_one_place() -> None:
    for function in (simulate, moments):
        shown = inspect.signature(function).parameters
        for field in dataclasses.fields(DEFAULT):
            # None stands for them: nu yields to b and I, and a chain has a start of its own
            if field.name in shown and field.name not in ("nu", "x1"):
                assert shown[field.name].default == getattr(DEFAULT, field.name)
    plain = Run.of("cosine")
    assert (plain.sizes.T, plain.sizes.nu) == (4098, DEFAULT.nu)  # rounded up, I = 3
    assert (plain.replicates, plain.seed, plain.x1) == (32, 0, 1.0)
    assert vars(plain.numerics) == {
        n: getattr(DEFAULT, n) for n in ("dtype", "engine", "backend", "noise_source", "per_sample")
    }


def test_spellings_of_one_run_are_one_run() -> None:
    one = Run.of("cosine", "stem", **SMALL)
    twins = [
        Run.of("cosine", "stem", **SPELLED),
        Run.of("cosine", "stem", **SMALL, sync="literal", sync_batch=1),
        Run.of("cosine", "stem", **SMALL, algorithm_options={"sync": "literal"}),
        Run.of("cosine", "stem", **SMALL, dials={"sigma": 0.5, "noise": "phase"}, seed=0),
        Run.of("cosine", ALGORITHMS["stem"], **SMALL, x1=np.float64(1)),
        Run.from_json(json.loads(json.dumps(one.to_json()))),
    ]
    assert {twin.text for twin in twins} == {one.text}
    assert all(twin == one and hash(twin) == hash(one) for twin in twins)


CHANGES: dict[str, dict[str, Any]] = {
    "K": {"K": 3},
    "dim": {"dim": 3},
    "dials": {"dials": {"spectrum": 2.0}},
    "sync": {"sync": "overwrite"},
    "sync_batch": {"sync_batch": 2},
    "algorithm_options": {"algorithm_options": {"sync": "average-first"}},
    "T": {"T": 20},
    "b": {"b": 1.5},
    "I": {"I": 2},
    "nu": {"b": None, "I": None, "nu": 1.0},
    "B": {"B": 5},
    "schedule": {"schedule": "practical"},
    "schedule_options": {"schedule": "practical", "schedule_options": {"kappa": 0.2}},
    "x1": {"x1": [1.0, 2.0]},
    "replicates": {"replicates": 4},
    "seed": {"seed": 1},
    "dtype": {"dtype": "float32"},
    "engine": {"engine": "array"},
    "backend": {"backend": "numpy"},
    "noise_source": {"noise_source": "host"},
    "per_sample": {"per_sample": True},
}


@pytest.mark.parametrize("name", Asked.__annotations__)
def test_every_setting_makes_another_run(name: str) -> None:
    one, other = Run.of("cosine", **SMALL), Run.of("cosine", **SMALL | CHANGES[name])
    assert one != other
    assert one.text != other.text
    assert Run.from_json(json.loads(json.dumps(other.to_json()))) == other


names = st.text(st.characters(codec="ascii", categories=("L", "N", "P", "S")), min_size=1)
values = st.one_of(names, st.booleans(), st.integers(), st.floats(allow_nan=False, width=32))


@given(st.dictionaries(names, values, max_size=3), st.dictionaries(names, values, max_size=3))
@settings(max_examples=300, derandomize=True, deadline=None)
def test_the_text_is_injective(one: dict[str, Any], other: dict[str, Any]) -> None:
    """Whatever stands in names and values: `a=1;b` is no pair of settings."""
    from stemtheory.runtime import canonical

    finite = [v for v in (*one.values(), *other.values()) if isinstance(v, float)]
    if any(np.isinf(v) for v in finite):
        return
    typed = [
        {k: (isinstance(v, bool), isinstance(v, str), v) for k, v in d.items()}
        for d in (one, other)
    ]
    assert (canonical(one) == canonical(other)) == (typed[0] == typed[1])


def test_a_run_is_simulated_as_its_keywords_are() -> None:
    asked = Run.of("cosine", "stem", **SMALL, sync="average-first", seed=7)
    problem = load_problem("cosine", K=2, dim=2)
    sizes = {name: SMALL[name] for name in ("T", "b", "I", "replicates")}
    one, other = (
        simulate(asked),
        simulate(problem, "stem", **sizes, sync="average-first", seed=7),
    )
    np.testing.assert_array_equal(one.grad_sq, other.grad_sq)
    assert one.counts == other.counts
    assert one.settings == other.settings
    assert one.run == asked


def test_moments_take_a_run() -> None:
    line = load_problem("quadratic", K=2, dim=1, noise="additive", heterogeneity="tilt")
    asked = Run.of("quadratic", K=2, dim=1, dials={"noise": "additive", "heterogeneity": "tilt"})
    assert moments(asked).mean_grad_sq == moments(line).mean_grad_sq


def test_a_trace_carries_its_run_to_the_disk_and_back(tmp_path: Any) -> None:
    trace = simulate(Run.of("cosine", "scaffold", **SMALL, algorithm_options={"option": "I"}))
    again = Trace.load(trace.save(tmp_path / "t.npz"))
    assert again.run == trace.run
    assert again.settings == trace.settings
    assert again.bounds() == trace.bounds()


def test_a_trace_gives_every_bound_with_margin_and_verdict() -> None:
    trace = simulate("geman_mcclure", T=512, replicates=8)
    found = {m.name: m for m in trace.bounds()}
    others = [name for name in ALGORITHMS["stem"].bounds if "rstar" not in name]
    assert list(found) == others  # those of the steps that were run
    assert {m.verdict for m in found.values()} <= {"holds", "vacuous", "undecided"}
    prospects = {m.name: m for m in trace.run.bounds()}
    for name, margin in found.items():
        assert prospects[name].value == margin.value
        assert prospects[name].margin is None
        assert (prospects[name].verdict == "vacuous") == (margin.verdict == "vacuous")


def test_a_bound_is_applied_to_what_declares_it_alone() -> None:
    trace = simulate("geman_mcclure", OWN, T=512, replicates=8)
    assert trace.bounds() == ()  # base fedavg declares nothing by itself
    declared = dataclasses.replace(OWN, bounds=("fedavg-theorem",))
    assert [m.name for m in simulate("cosine", declared, T=64).bounds()] == ["fedavg-theorem"]


@pytest.mark.parametrize("entry", [dataclasses.replace(OWN, name="fedavg"), 3, None])
def test_what_is_no_algorithm_of_ones_own_is_refused(entry: Any) -> None:
    with pytest.raises(UsageError, match=r"name of its own|Entry"):
        simulate("cosine", entry, T=16)


def test_a_live_problem_is_its_own_run_alone() -> None:
    problem = load_problem("cosine", K=2, dim=2)
    one, twin = Run.of(problem), Run.of(load_problem("cosine", K=2, dim=2))
    assert one == Run.of(problem)
    assert one != twin
    with pytest.raises(UsageError, match="made already"):
        Run.of(problem, K=3)


BAD: list[dict[str, Any]] = [
    {"T": 0},
    {"colour": 1},
    {"sync": "sideways"},
    {"sync": "overwrite", "algorithm_options": {"sync": "literal"}},
    {"x1": "one"},
    {"x1": [1.0, 2.0, 3.0]},
    {"x1": 1j},
    {"x1": {}},
    {"x1": [[1.0], [1.0, 2.0]]},
    {"x1": float("nan")},
    {"K": 1.5},
    {"seed": -1},
    {"per_sample": "yes"},
    {"dials": [1]},
    {"backend": "abacus"},
    {"schedule": "constant"},
]


@pytest.mark.parametrize("asked", BAD, ids=str)
def test_bad_input_is_one_sentence(asked: dict[str, Any]) -> None:
    with pytest.raises(UsageError) as caught:
        Run.of("cosine", **SMALL | asked)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("plain", [{}, {"problem": 1}, [], {"x1": 1.0}])
def test_what_is_no_run_is_refused(plain: Any) -> None:
    with pytest.raises(UsageError, match="not readable"):
        Run.from_json(plain)


def test_entries_keep_their_type() -> None:
    assert isinstance(Run.of("cosine", OWN).algorithm.entry, Entry)
