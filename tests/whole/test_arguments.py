"""Every parameter of every public function, given every wrong thing: it works, or is UsageError."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stemtheory
from stemtheory import Run, UsageError, bounds, claims, moments, report
from stemtheory.algorithms import ALGORITHMS
from stemtheory.experiment.design.spec import parse_spec
from stemtheory.moments.linear_model import linear_model
from stemtheory.simulator import Asked, Trace

RAGGED = [[1.0, 2.0], [3.0]]
WRONG: dict[str, Any] = {
    "text": "abc",
    "empty text": "",
    "digits": "4",
    "fraction": "0.5",
    "zero byte": "a\0b",
    "None": None,
    "nan": float("nan"),
    "inf": float("inf"),
    "minus one": -1,
    "zero": 0,
    "2**70": 2**70,
    "complex": 1 + 2j,
    "dict": {"a": 1},
    "dict of numbers": {1: 2},
    "set": {1, 2},
    "ragged": RAGGED,
    "empty list": [],
    "object": object(),
    "bytes": b"abc",
    "array of text": np.array(["qx", "zy"]),  # words of no title, or verify would check its claims
    "class": int,
}
SWEEP = parse_spec("[settings]\nT = 8\nK = 2\ndim = 2\n[grids.g]\nseed = [0]\n", "battery")
SMALL: dict[str, Any] = {"T": 8, "b": 1, "I": 2, "replicates": 2}
PROBLEM = stemtheory.load_problem("cosine", K=2, dim=2)
LINE = linear_model((1.0, 2.0), (0.0, 1.0))
# Keywords that stand behind **dials, and a name for each function: what is called, and a call that
# works, of which one argument at a time is replaced.
DIALS = (
    *("L", "sigma", "zeta", "noise", "heterogeneity", "curvature", "noise_smoothness"),
    *("noise_frequency", "het_frequency", "het_phase", "modulation", "spectrum", "rotate"),
    *("slack", "bowl"),
)
FUNCTIONS: dict[str, tuple[Callable[..., Any], dict[str, Any], tuple[str, ...]]] = {
    "simulate": (stemtheory.simulate, {"problem": PROBLEM, **SMALL}, ()),
    "Run.of": (
        Run.of,
        {"problem": "cosine", "K": 2, "dim": 2, **SMALL},
        tuple(Asked.__annotations__),
    ),
    "load_problem": (stemtheory.load_problem, {"name": "cosine", "K": 2, "dim": 2}, DIALS),
    "load_algorithm": (stemtheory.load_algorithm, {"algorithm": "stem"}, ()),
    "check_algorithm": (stemtheory.check_algorithm, {"algorithm": "fedavg"}, ()),
    "moments": (
        moments.moments,
        {"problem": "quadratic", **{k: SMALL[k] for k in ("T", "b", "I")}},
        (),
    ),
    "run_sweep": (stemtheory.run_sweep, {"sweep": SWEEP, "executor": "serial"}, ()),
    "advise": (stemtheory.advise, {"epsilon": 0.1, "K": 2}, ()),
    "advise_on": (
        bounds.advise_on,
        {"problem": PROBLEM, "epsilon": 0.3, "replicates": 2},
        (),
    ),
    "bound_document": (
        bounds.bound_document,
        {"name": "stem-theorem", "T": 64},
        (),
    ),
    "explain": (stemtheory.explain, {"name": "SCH4"}, ()),
    "verify": (stemtheory.verify, {"patterns": ["SCH4"], "jobs": 1}, ()),
    "hunt": (claims.hunt, {"name": "M2b", "budget": 0.01}, ()),
    "replay": (claims.replay, {"file": claims.shipped()["M3-overwrite"]}, ()),
    "draw_figures": (
        report.draw_figures,
        {
            "names": ["tests.helpers.example_figure:ENTRY"],
            "mode": "quick",
            "formats": ("svg",),
        },
        (),
    ),
    "check_problem": (
        stemtheory.check_problem,
        {"problem": "quadratic", "K": 2, "dim": 1, "quick": True},
        (),
    ),
    "quadratic": (
        stemtheory.load_problem,
        {"name": "quadratic", "K": 2, "dim": 2},
        ("h", "L", "sigma"),
    ),
    "corridor": (stemtheory.load_problem, {"name": "corridor", "K": 2, "dim": 2}, ("g", "h")),
    "logistic": (
        stemtheory.load_problem,
        {"name": "logistic", "K": 2, "dim": 2},
        (
            *("L", "sigma", "zeta", "heterogeneity", "het_frequency", "het_phase", "alpha"),
            *("points", "sampling", "data_seed"),
        ),
    ),
    "images": (
        stemtheory.load_problem,
        {"name": "tanh_network", "K": 2, "train": 4, "test": 2},
        (
            *("data", "folder", "shrink", "classes", "train", "test", "alpha", "data_seed"),
            "hidden",
        ),
    ),
    "fused": (
        stemtheory.simulate,
        {"problem": PROBLEM, **SMALL, "engine": "fused"},
        (),
    ),
    "evaluate": (
        bounds.evaluate,
        {"name": "stem-theorem", "setting": bounds.Setting(64, 2, 1, 2, 1, 1, 1, 1)},
        (),
    ),
    "Setting": (
        bounds.Setting,
        {**dict.fromkeys(("T", "K", "b", "I", "L", "sigma", "zeta", "gap"), 1)},
        (),
    ),
    "invert": (
        bounds.invert,
        {
            "name": "fedavg-theorem",
            "epsilon": 0.1,
            "K": 2,
            **dict.fromkeys(("L", "sigma", "zeta", "gap"), 1.0),
            "nu": 0.5,
        },
        ("nu",),
    ),
    "stability": (moments.stability, {"model": LINE, "b": 1, "I": 2}, ()),
    "moments of a line": (moments.moments, {"problem": LINE, "T": 8, "b": 1, "I": 2}, ()),
    "Trace.save": (
        stemtheory.simulate(PROBLEM, **SMALL, backend="numpy").save,
        {"path": "trace.npz"},
        (),
    ),
    "Trace.load": (Trace.load, {"path": "nothing.npz"}, ()),
    "Run.from_json": (Run.from_json, {"plain": Run.of("cosine", T=8).to_json()}, ()),
}
CASES = [
    (name, parameter)
    for name, (function, _, more) in FUNCTIONS.items()
    for parameter in (
        *(
            p.name
            for p in inspect.signature(function).parameters.values()
            if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)
        ),
        *more,
    )
]
# What works and takes long: a hunt for 2^70 seconds, the whole ledger, runs of 2^70 L gap.
LONG = {
    ("hunt", "budget", "2**70"),
    ("verify", "patterns", "empty list"),
    ("advise", "L", "2**70"),
    ("advise", "gap", "2**70"),
}
CALLBACKS = ("progress", "tell")  # what they raise, such as int("a text"), is theirs


def tried(name: str, parameter: str, what: str) -> str:
    """Return what came of it: nothing, or the exception that is none of ours."""
    function, usual, _ = FUNCTIONS[name]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            function(**{**usual, parameter: WRONG[what]})
    except UsageError as error:
        said = str(error)
        return "" if said.count("\n") == 0 and len(said) > 20 else f"says {said!r}"
    except BaseException as error:
        return f"{type(error).__name__}: {error}"
    return ""


@pytest.mark.parametrize(("name", "parameter"), CASES, ids=lambda part: str(part))
def test_a_wrong_argument_is_one_sentence(
    name: str, parameter: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found = {
        what: said
        for what in WRONG
        if (name, parameter, what) not in LONG
        and not (parameter in CALLBACKS and what == "class")
        and (said := tried(name, parameter, what))
    }
    assert found == {}


OPTIONS = [(name, option) for name, entry in ALGORITHMS.items() for option in entry.options]


@pytest.mark.parametrize(("name", "option"), OPTIONS)
def test_a_wrong_option_is_one_sentence(name: str, option: str) -> None:
    sizes = {key: value for key, value in SMALL.items() if key != "I"}
    found = {}
    for what, value in WRONG.items():
        try:
            stemtheory.simulate("cosine", name, algorithm_options={option: value}, **sizes)
        except UsageError:
            continue
        except BaseException as error:
            found[what] = f"{type(error).__name__}: {error}"
    assert found == {}


@pytest.mark.parametrize("K", ["4", 4.0, np.int8(4), np.float32(4), np.array(4), True])
def test_a_number_of_workers_works_or_is_refused_at_once(K: Any) -> None:
    """Whatever spelled 4 is 4 in everything that comes of it; true is no number."""
    if K is True:
        with pytest.raises(UsageError, match="K is True, but it must be a whole number"):
            stemtheory.load_problem("cosine", K=K)
        return
    problem = stemtheory.load_problem("cosine", K=K, dim=2)
    assert type(problem.K) is int
    trace = stemtheory.simulate(problem, **SMALL)
    run = Run.of("cosine", K=K, dim=2, **SMALL)
    assert run == Run.of("cosine", K=4, dim=2, **SMALL)
    assert stemtheory.simulate(run).grad_sq.tobytes() == trace.grad_sq.tobytes()
    assert stemtheory.advise(0.1, K)["question"]["K"] == 4


def test_a_battery_that_finds_nothing_is_no_battery() -> None:
    """What raises something else is reported, for each kind of exception."""

    def careless(x: Any = 1.0) -> float:
        return 1.0 / float(x)

    FUNCTIONS["careless"] = (careless, {}, ())
    try:
        found = {what: tried("careless", "x", what) for what in WRONG}
    finally:
        del FUNCTIONS["careless"]
    assert found["zero"].startswith("ZeroDivisionError")
    assert found["text"].startswith("ValueError")
    assert found["set"].startswith("TypeError")
    assert found["inf"] == ""
