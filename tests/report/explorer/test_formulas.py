"""Formulas as trees: they say what Python computes, a branch is refused, errors are noticed."""

import math
import operator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.special import digamma

from stemtheory.bounds import BOUNDS, Setting
from stemtheory.report.explorer.formulas import DIALS, LETTERS, formulas
from stemtheory.report.explorer.symbols import TracedNumber, Tree, traced, tree
from stemtheory.schedules import RSTAR_STEPS, FedAvgTheorem, RStar, Theorem

OPERATIONS: dict[str, Any] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv,
    "%": operator.mod, "//": operator.floordiv, "**": operator.pow, "||": operator.or_,
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq,
    "min": min, "max": max, "sqrt": math.sqrt, "cbrt": np.cbrt, "log1p": math.log1p,
    "floor": math.floor, "digamma": digamma,
    "isclose": lambda x, y, r: math.isclose(x, y, rel_tol=r),
}  # fmt: skip
DATA = formulas()


def value(of: Tree, at: dict[str, float]) -> Any:
    """Return a tree's value, evaluated by Python."""
    if isinstance(of, str):
        return at[of]
    if isinstance(of, list):
        return OPERATIONS[of[0]](*(value(part, at) for part in of[1:]))
    return of


def draw(rng: np.random.Generator) -> dict[str, float]:
    """Return a setting from the whole range of the dials, (b, I) free, T whole rounds."""
    at: dict[str, float] = {}
    for name, dial in DIALS.items():
        number = float(np.exp(rng.uniform(np.log(dial.low or 1e-3), np.log(dial.high))))
        at[name] = round(number) if dial.whole else number
        if dial.zero and rng.random() < 0.05:
            at[name] = 0.0
    at["I"] = int(at["I"])
    at["T"] = int(at["I"] * max(1, round(at["T"] / at["I"])))
    at["zeta"] = 0.0 if at["K"] == 1 else at["zeta"]
    return at


def setting(at: dict[str, Any]) -> dict[str, Any]:
    return {name: at[name] for name in LETTERS if name in at} | {"sync_batch": 1}


@pytest.mark.parametrize("name", BOUNDS)
def test_a_bounds_tree_is_the_bound(name: str) -> None:
    rng, formula, data = np.random.default_rng(7), BOUNDS[name], DATA["bounds"][name]
    for _ in range(50):
        given = setting(draw(rng))
        at, s = {**given, "B": given["b"] * given["I"]}, Setting(**given)
        found = {term: value(part, at) for term, part in data["terms"].items()}
        assert found == pytest.approx(formula.terms(formula.settle(s)), rel=1e-14, abs=0)
        held = [value(ok, at) for _, ok in data["premises"]]
        assert held == [premise.ok for premise in formula.premises(s)]
        assert value(data["shortest"], at) == pytest.approx(formula.shortest(s), rel=1e-14, abs=0)
        settled = setting(at) | {"sync_batch": formula.settle(s).sync_batch}
        fits = [value(ok, {**at, **settled}) for _, ok in data["premises"]]
        assert fits == [premise.ok for premise in formula.premises(Setting(**settled))]
        for letter, part in data["settle"].items():
            assert value(part, at) == getattr(formula.settle(s), letter)


def test_the_schedules_are_the_theorems() -> None:
    rng, data = np.random.default_rng(8), DATA["schedules"]
    for _ in range(50):
        at = draw(rng)
        L, K, b, I, T = at["L"], int(at["K"]), at["b"], int(at["I"]), at["T"]
        steps = Theorem(L, K, b, I)
        made: dict[str, Any] = {"theorem": steps, "fedavg": FedAvgTheorem(T, K, b, I, L)}
        made |= {part: RStar(L, K, b, I, part) for part in RSTAR_STEPS}
        assert set(made) == set(data)
        for name, own in made.items():
            found = {key: value(part, {**at, "t": T}) for key, part in data[name].items()}
            a = 0.0 if name == "fedavg" else float(own.momentum(T + 1))
            end = steps.constant_phase_end if name == "theorem" else None
            assert found["eta"] == pytest.approx(float(own.eta(T)), rel=1e-14, abs=0)
            assert found["a"] == pytest.approx(a, rel=1e-14, abs=0)
            assert found["end"] == (end and pytest.approx(end, rel=1e-14, abs=0))
            assert found["m"] == getattr(own, "sync_batch", 1)


def branching(s: Any) -> Any:
    return s.T / 2 if s.T > s.I else s.I


def test_a_branch_is_refused() -> None:
    letters = SimpleNamespace(T=TracedNumber("T"), I=TracedNumber("I"))
    with pytest.raises(TypeError, match="branches on"):
        traced(branching)(letters)


def test_a_wrong_constant_is_noticed() -> None:
    """The comparison above tells 64 from 63."""
    at = {**setting(draw(np.random.default_rng(9))), "B": 12.0, "sigma": 1.0}
    terms = DATA["bounds"]["stem-theorem"]["terms"]
    text = str(terms["variance"])
    assert "4096.0" in text
    wrong = eval(text.replace("4096.0", "3969.0"))
    assert value(wrong, at) != pytest.approx(value(terms["variance"], at), rel=1e-14, abs=0)


def test_arithmetic_becomes_a_tree() -> None:
    x: Any = TracedNumber("x")
    assert tree(-(-x // 3)) == ["*", -1.0, ["//", ["*", -1.0, "x"], 3.0]]
    assert tree(2**x % 5) == ["%", ["**", 2.0, "x"], 5.0]
    assert tree(np.float64(2) * x) == ["*", 2.0, "x"]
    assert tree((x == 1) | (x > 8)) == ["||", ["==", "x", 1.0], [">", "x", 8.0]]
