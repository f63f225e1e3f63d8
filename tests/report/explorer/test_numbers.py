"""The page's numbers, computed by Node, against Python's at random settings of the whole range."""

import json
import math
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stemtheory import UsageError, load_problem
from stemtheory.bounds import BOUNDS, Setting, bound_curve, evaluate, invert, samples_per_worker
from stemtheory.bounds.advise import advise
from stemtheory.certificates import Weights
from stemtheory.moments import LinearModel, moments
from stemtheory.moments.linear_model import Group
from stemtheory.report.explorer.formulas import formulas
from stemtheory.report.explorer.page import TEMPLATES
from stemtheory.schedules import RSTAR_STEPS, RStar, Theorem
from stemtheory.simulator import simulate
from stemtheory.tightening import CHAIN, waterfall
from tests.report.explorer.test_formulas import draw, setting

NODE = shutil.which("node")
SETTINGS = 300
pytestmark = pytest.mark.skipif(NODE is None, reason="no Node, which runs the page's modules")
ONE_VALUE = 1e-10  # relative, and where Python itself has fewer digits
FEWER = 1e-6
CONTROLS = ("overwrite", "average-both")
STEPS = ("theorem", *RSTAR_STEPS)
READINGS = ("literal", "average-first", *CONTROLS, "fedavg")


def near(value: Any, relative: float) -> Any:
    """Return what a number so near compares equal to; pytest's own allows 1e-12 besides."""
    return pytest.approx(value, rel=relative, abs=0)


def ask(asked: list[dict[str, Any]]) -> list[Any]:
    """Return what the page's modules answer."""
    script = Path(__file__).with_name("compute.mjs")
    done = subprocess.run(
        [str(NODE), str(script), str(TEMPLATES)],
        input=json.dumps({"data": formulas(), "asked": asked}),
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return list(json.loads(done.stdout))


def drawn(seed: int, n: int = SETTINGS) -> list[dict[str, Any]]:
    rng = np.random.default_rng(seed)
    return [draw(rng) for _ in range(n)]


@pytest.mark.parametrize("name", BOUNDS)
def test_bounds_and_costs(name: str) -> None:
    settings = [setting(at) for at in drawn(1)]
    found = ask([{"kind": "bound", "name": name, "s": s} for s in settings])
    for s, got in zip(settings, found, strict=True):
        bound = evaluate(name, Setting(**s))
        assert got["value"] == near(bound.value, ONE_VALUE)
        assert got["terms"] == near(bound.terms, ONE_VALUE)
        assert got["premises"] == [p._asdict() for p in bound.premises]
        settled = BOUNDS[name].settle(Setting(**s))
        formula = BOUNDS[name]
        samples = samples_per_worker(formula.algorithm, settled, formula.readings[0])
        assert got["counts"]["samples"] == near(samples, ONE_VALUE)


def of_slack(at: dict[str, Any]) -> dict[str, Any]:
    """Return the setting of the waterfall: L = 1, and rounds of constant steps."""
    K, b, I = (int(at[name]) for name in ("K", "b", "I"))
    return setting(at) | {"L": 1.0, "b": b, "I": I, "T": float((I * b * K) ** 2 * I)}


def test_the_waterfall() -> None:
    settings = [of_slack(at) | ({"I": 1} if i < 3 else {}) for i, at in enumerate(drawn(6))]
    found = ask([{"kind": "falls", "s": s} for s in settings])
    for s, got in zip(settings, found, strict=True):
        want = [it for it in CHAIN if s["I"] >= it.least_I]
        assert [row["claim"] for row in got] == [it.claim for it in want]
        values = [it.value(Setting(**s)) for it in want]
        assert [row["value"] for row in got] == near(values, ONE_VALUE)


def test_the_waterfall_is_the_commands() -> None:
    """What `stemtheory slack` says of the printed proof; 1 in 10^9 more noise is noticed."""
    weights = {"gap": 2.0, "sigma": 3**0.5, "zeta": 5**0.5}
    s = of_slack({"K": 2, "b": 1, "I": 9, "L": 1.0, **weights})
    wrong = s | {"sigma": s["sigma"] * (1 + 1e-9)}
    found, off = ask([{"kind": "falls", "s": one} for one in (s, wrong)])
    rows = waterfall("literal", Weights(2, 3, 5), K=2, I=9, b=1)["rows"]
    for got, other, row in zip(found[:-1], off, rows, strict=False):
        assert (got["step"], got["claim"]) == (row["step"], row["claim"])
        assert got["value"] == near(row["value"], ONE_VALUE)
        assert other["value"] != near(row["value"], ONE_VALUE)


@pytest.mark.parametrize("name", BOUNDS)
def test_the_curve(name: str) -> None:
    settings = drawn(2)
    found = ask(
        [{"kind": "curve", "name": name, "s": setting(at), "nu": at["nu"]} for at in settings]
    )
    for at, got in zip(settings, found, strict=True):
        point = bound_curve(name, at["T"], at["K"], at["nu"], at["L"])
        assert (got["I"], got["clipped"]) == (point.I, point.clipped)
        assert got["b"] == near(point.b, ONE_VALUE)


@pytest.mark.parametrize("kind", ["fixed", "along"])
def test_inversions(kind: str) -> None:
    settings = drawn(3)
    names = [list(BOUNDS)[i % len(BOUNDS)] for i in range(len(settings))]
    asked = [
        {"kind": kind, "name": name, "s": setting(at), "epsilon": at["epsilon"], "nu": at["nu"]}
        for name, at in zip(names, settings, strict=True)
    ]
    for name, at, got in zip(names, settings, ask(asked), strict=True):
        constants = {key: at[key] for key in ("K", "L", "sigma", "zeta", "gap")}
        place = {"nu": at["nu"]} if kind == "along" else {"b": at["b"], "I": at["I"]}
        try:
            want = invert(name, at["epsilon"], **constants, **place)
        except UsageError:
            assert got is None
            continue
        assert got["T"] == near(want.T, ONE_VALUE)
        assert (got["I"], got["b"]) == (want.I, near(want.b, ONE_VALUE))


def groups_of(at: dict[str, Any], opposite: bool) -> list[Group]:
    """Return like workers: pushed apart by zeta, and with unequal curvatures if ``opposite``."""
    K, h = int(at["K"]), at["L"] * at["h"]
    V, push = (at["L"] - h if opposite else 0.0), at["zeta"] / 2
    pair = [Group(h + V, push, K // 2), Group(h - V, -push, K // 2)] if K > 1 else []
    return pair + ([Group(h, 0.0, 1)] if K % 2 else [])


def exact(groups: list[Group], at: dict[str, Any], reading: str, unit: float = 1.0) -> float:
    """Return Python's exact moment; x and gradients counted in other units give the same."""
    scaled = [Group(g.curvature / unit, g.offset / unit, g.size) for g in groups]
    model = LinearModel(tuple(scaled), 0.0, at["sigma"] / unit)
    named: dict[str, Any] = {} if reading == "fedavg" else {"sync": reading}
    sizes = {"T": at["T"], "b": at["b"], "I": at["I"], "x1": at["x1"]}
    if reading != "fedavg":
        sizes["sync_batch"] = at["m"]
    name = "fedavg" if reading == "fedavg" else "stem"
    steps = {"eta": at["eta"] * unit} | ({} if reading == "fedavg" else {"a": at["a"]})
    found = moments(
        model, name, schedule="constant", schedule_options=steps, **sizes, **named
    ).mean_grad_sq
    return found * unit**2


@cache
def runs() -> tuple[list[dict[str, Any]], list[float], list[float]]:
    """Return what is asked, Python's moments, and its own error: the same, counted otherwise."""
    asked, want, error = [], [], []
    for i, at in enumerate(drawn(4)):
        reading, groups = READINGS[i % 5], groups_of(at, opposite=i % 2 == 1)
        model = LinearModel(tuple(groups), 0.0, at["sigma"])
        kind = STEPS[i // 5 % len(STEPS)]
        longest, printed = math.inf, Theorem(model.L, model.K, at["b"], at["I"])
        steps: Theorem | RStar = printed
        if kind == "theorem":
            longest = max(1.0, 0.9 * printed.constant_phase_end)
        else:
            steps = RStar(model.L, model.K, at["b"], at["I"], kind)
        at["m"] = getattr(steps, "sync_batch", 1)
        at["T"] = at["I"] * max(1, int(min(at["T"], longest) / at["I"]))
        at["x1"] = math.sqrt(2 * at["gap"] / (at["L"] * at["h"]))
        at["a"] = float(steps.momentum(2))
        fedavg = math.sqrt(at["b"] * model.K / at["T"])
        at["eta"] = fedavg if reading == "fedavg" else float(steps.eta(1))
        value = exact(groups, at, reading)
        others = (
            [
                exact(groups[::-1], at, reading),
                exact(groups[1:] + groups[:1], at, reading),
                exact(groups, at, reading, 3.0),
            ]
            if reading in CONTROLS
            else []
        )
        error.append(max((abs(o / value - 1) for o in others if value < math.inf), default=0.0))
        want.append(value)
        shown = [{"H": g.curvature, "o": g.offset, "size": g.size} for g in groups]
        s = {**setting(at), "L": model.L}
        linear = {"groups": shown, "level": at["sigma"]}
        asked.append(
            {"kind": "moments", "model": linear, "reading": reading, "s": s, "x1": at["x1"]}
            | {"steps": "fedavg" if reading == "fedavg" else kind}
        )
    return asked, want, error


def allowed(error: float) -> float:
    """Return the relative difference allowed where Python's own digits end at ``error``.

    The estimate is the largest of three differences, so a hundredfold of it is taken.
    """
    return ONE_VALUE if 100 * error <= ONE_VALUE else max(FEWER, 100 * error)


@pytest.mark.slow
def test_exact_moments() -> None:
    asked, want, error = runs()
    sure = 0
    for one, got, value, wrong in zip(asked, ask(asked), want, error, strict=True):
        number = math.inf if got == "inf" else got
        assert number == near(value, allowed(wrong)), one
        sure += allowed(wrong) == ONE_VALUE
    assert sure > 0.8 * SETTINGS


@pytest.mark.slow
def test_a_wrong_map_is_noticed() -> None:
    """A step that is a millionth off is rejected at settings where digits are sure."""
    asked, want, error = runs()
    off = [{**one, "s": {**one["s"], "L": one["s"]["L"] * (1 + 1e-6)}} for one in asked]
    far = [
        allowed(wrong) == ONE_VALUE and got != "inf" and abs(got / value - 1) > ONE_VALUE
        for got, value, wrong in zip(ask(off), want, error, strict=True)
    ]
    assert sum(far) > SETTINGS / 2


@pytest.mark.parametrize("reading", READINGS[:4])
def test_the_sync_batch(reading: str) -> None:
    """At the random settings it changes no digit that is compared, at this one the sixth does."""
    groups = [Group(0.5, push, 1) for push in (0.1, -0.1, 0.0)]
    model = LinearModel(tuple(groups), 0.0, 2.0)
    s = {"T": 4000, "K": 3, "b": 1, "I": 40, "L": model.L, "sigma": 2.0, "zeta": 0.2, "gap": 1.0}
    shown = [{"H": g.curvature, "o": g.offset, "size": g.size} for g in groups]
    one: dict[str, Any] = {"kind": "moments", "reading": reading}
    one |= {"model": {"groups": shown, "level": 2.0}}
    one |= {"s": {**s, "sync_batch": 1}, "x1": 1.0}
    sizes: dict[str, Any] = {"T": 4000, "b": 1, "I": 40, "x1": 1.0, "sync": reading}
    rstar: dict[str, Any] = {"schedule": "rstar", "schedule_options": {"part": "b"}}
    of_b, of_c = ask([{**one, "steps": part} for part in "bc"])  # m = 5 and 2, else the same steps
    want = moments(model, "stem", **sizes, **rstar).mean_grad_sq
    assert of_b == near(want, ONE_VALUE)
    assert of_c == near(moments(model, "stem", **sizes, **rstar, sync_batch=2).mean_grad_sq, 1e-10)
    assert of_c != near(want, 1e-6)


@pytest.mark.parametrize("reading", READINGS)
def test_one_run_without_noise(reading: str) -> None:
    """Sinusoidal workers, step by step: as the simulator follows them."""
    base = "fedavg" if reading == "fedavg" else "stem"
    for K, b, I, h, zeta, x1, T, part in (
        (2, 50, 2, 0.005, 2.0, 240.0, 400, None),
        (5, 1, 7, 0.3, 1.0, 4.0, 700, None),
        (5, 1, 7, 0.3, 1.0, 4.0, 700, "e"),
    ):
        named: dict[str, Any] = {} if base == "fedavg" else {"sync": reading}
        if part and named:
            named |= {"schedule": "rstar", "schedule_options": {"part": part}}
        problem = load_problem("quadratic", K=K, dim=1, h=h, L=1.0, sigma=0.0, zeta=zeta)
        trace = simulate(problem, base, T=T, b=b, I=I, x1=x1, replicates=1, **named)
        half = {"size": K // 2}
        pushes = [{**half, "push": zeta / 2}, {**half, "push": -zeta / 2}]
        pushes += [{"size": 1, "push": 0.0}] if K % 2 else []
        gradients = {"h": h, "wave": 2 * (1 - h) / zeta, "pushes": pushes}
        s = {"T": T, "K": K, "b": b, "I": I, "L": 1.0, "sigma": 0.0, "zeta": zeta, "gap": 1.0}
        kind = "fedavg" if base == "fedavg" else part or "theorem"
        one = {"kind": "run", "problem": gradients, "reading": reading, "x1": x1, "steps": kind}
        (got,) = ask([{**one, "s": {**s, "sync_batch": 1}}])
        assert got == near(trace.mean_grad_sq, 1e-9)


@pytest.mark.slow
def test_the_advisers_choice() -> None:
    keys = ("epsilon", "K", "L", "sigma", "zeta", "gap", "sample_cost", "round_cost")
    questions = []
    for at in drawn(5, 6):
        q = {key: at[key] for key in keys}
        questions.append({**q, "epsilon": min(q["epsilon"], q["L"] * q["gap"])})
    found = ask([{"kind": "advise", "q": q} for q in questions])
    for q, got in zip(questions, found, strict=True):
        choice = advise(**q)["choice"]
        kept = ("algorithm", "bound", "b", "I")
        assert {key: got["choice"][key] for key in kept} == {key: choice[key] for key in kept}
        for key in ("T", "samples", "rounds", "vectors", "cost"):
            assert got["choice"][key] == near(choice[key], ONE_VALUE)
