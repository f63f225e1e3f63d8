"""complexity, tuned, speedup, drift and synchronisation: every column again, by another way."""

import math
from functools import lru_cache
from typing import Any

import numpy as np
import pytest

from stemtheory import load_problem, simulate
from stemtheory.bounds import Setting, evaluate
from stemtheory.figures import complexity, drift, speedup, synchronisation, tuned
from stemtheory.moments import moments, stability
from stemtheory.moments.linear_model import linear_model
from stemtheory.report.drawing import Figure
from stemtheory.report.figure_table import FigureTable
from tests.figures.columns import (
    QUIET,
    Faults,
    Held,
    bar_faults,
    drawn,
    look_faults,
    panel_faults,
    print_faults,
    survivors,
)

FIGURES: dict[str, Any] = {
    "complexity": complexity,
    "tuned": tuned,
    "speedup": speedup,
    "drift": drift,
    "synchronisation": synchronisation,
}


@lru_cache
def table(name: str) -> FigureTable:
    found: FigureTable = FIGURES[name].table("quick", None, QUIET)
    return found


def bowl(K: int) -> Any:
    return load_problem("quadratic", K=K, dim=1, curvature=1.0, noise="additive", sigma=1.0, zeta=0)


# A figure's mutants are held to the same numbers, computed once.
@lru_cache
def exact_mean(algorithm: str, K: int, T: int, **place: float) -> float:
    """Return the exact E of the running average of a run on the bowl."""
    found = moments(bowl(K), algorithm, T=T, **place)  # type: ignore[arg-type]
    return float(found.mean_grad_sq)


@lru_cache
def simulated() -> Any:
    """Return the averages of 32 replicates of a run on the bowl."""
    return simulate(bowl(4), "stem", T=1024, nu=1.0, replicates=32, seed=0).grad_sq


@lru_cache
def counted(algorithm: str, K: int, T: int, **place: float) -> tuple[float, float]:
    """Return samples per worker and rounds, as a run counts them."""
    counts = simulate(bowl(K), algorithm, T=T, replicates=1, **place).counts  # type: ignore[arg-type]
    return counts.samples_per_worker, counts.rounds


def complexity_faults(t: FigureTable) -> list[str]:
    held, K = Held(), 4
    exact = t.where(kind="exact")
    for name, nu, T in (("stem", 0.0, 1024), ("stem", 1.0, 1024), ("fedavg", 0.0, 2048),
                        ("fedavg", 1.0, 1024), ("sgd", 0.0, 512)):  # fmt: skip
        algorithm = "fedavg" if name == "sgd" else name
        place: Any = {"b": T / (81 * K), "I": 1} if name == "sgd" else {"nu": nu}
        row = exact.where(algorithm=name, nu=nu, T=float(T))
        held.same("epsilon", row["epsilon"], [exact_mean(algorithm, K, T, **place)])
        held.same("samples, rounds", [*row["samples"], *row["rounds"]],
                  counted(algorithm, K, T, **place))  # fmt: skip
    for name, bound in (("stem", "stem-intermediate"), ("fedavg", "fedavg-theorem")):
        rows = t.where(kind="bound", algorithm=name, nu=0.0)
        for i in (0, 9):
            T, epsilon = rows["T"][i], rows["epsilon"][i]
            # the theorems' own minibatches at nu = 0, and the gap 1/2
            b = math.sqrt(T) / K if name == "stem" else (T / K**3) ** (1 / 3)
            at = [
                evaluate(bound, Setting(x, K, b, 1, 1.0, 1.0, 0.0, 0.5)).value for x in (T, T - 1)
            ]
            held.true(
                "bound: T, epsilon", at[0] <= epsilon * (1 + 1e-9) and at[1] > epsilon * 0.999
            )
            per_step = 2 if name == "stem" else 1
            held.same("bound: samples", rows["samples"][i], per_step * b * T, rtol=0.01)
            held.same("bound: rounds", rows["rounds"][i], T)
    held.same("bound: epsilon", rows["epsilon"][[0, -1]], [3e-2, 1e-8])
    run = t.where(kind="simulated", algorithm="stem", nu=1.0, T=1024.0)
    M = simulated()
    want = M.mean(), M.std(ddof=1) / math.sqrt(32), exact_mean("stem", K, 1024, nu=1.0)
    got = [run[name][0] for name in ("epsilon", "epsilon_stderr", "epsilon_exact")]
    held.same("simulated: epsilon, error, exact", got, want)
    held.same("simulated: samples, rounds", [run["samples"][0], run["rounds"][0]],
              counted("stem", K, 1024, nu=1.0))  # fmt: skip
    for of in ("samples", "rounds"):
        (equal,) = t.where(kind=f"equal {of}").records()
        both = [_interpolated(exact.where(algorithm=name, nu=0.0), of, equal["epsilon"])
                for name in ("stem", "fedavg")]  # fmt: skip
        held.same(f"equal {of}", [equal[of]] * 2, both, rtol=2e-3)
    return held.found


def _interpolated(rows: FigureTable, of: str, epsilon: float) -> float:
    """Return a cost at epsilon between two runs, straight in logarithms."""
    order = np.argsort(rows["epsilon"])
    x, y = np.log(rows["epsilon"])[order], np.log(rows[of])[order]
    return float(np.exp(np.interp(np.log(epsilon), x, y)))


def tuned_faults(t: FigureTable) -> list[str]:
    held = Held()
    for system, slope in (("SGD", 1.0), ("STEM", 1.0), ("STEM, additive", 0.0)):
        rows = t.where(kind="tuned", system=system)
        held.same("epsilon", rows["epsilon"], [4.0**-n for n in range(3, 13)])
        for i in (0, 1):
            step, a, epsilon = rows["eta"][i], rows["a"][i], 4.0 ** -(3 + i)
            B = 0 if system == "SGD" else math.ceil(2 / a)
            T = by_hand(step, None if system == "SGD" else a, slope, epsilon, B)
            held.same("samples", rows["samples"][i], T if system == "SGD" else B + 2 * T)
        if system == "SGD":
            held.same("a", rows["a"], np.ones(10))
        local = t.where(kind="local", system=system)
        x, y = np.log(rows["epsilon"]), np.log(rows["samples"])
        held.same("local", local["exponent"], [(y[i + 1] - y[i]) / math.log(4) for i in range(9)])
        held.same("local epsilon", np.log(local["epsilon"]), (x[1:] + x[:-1]) / 2)
    return held.found


@lru_cache
def by_hand(eta: float, a: float | None, slope: float, epsilon: float, B: int) -> int:
    """Return the last T with an average of E x_t^2 above epsilon, plus 1: plain second moments.

    SGD: x <- x - eta (x (1 + s) + n), with E s^2 = slope^2 and E n^2 = 1. STEM: the same n and s
    at both ends of a step, so d <- m + s (x' - (1 - a) x) + a n with m = x' + (1 - a)(d - x).
    """
    xx, T, total, above = 1.0, 0, 0.0, 0
    xd, dd = 1.0, 1.0 + (slope**2 + 1) / max(B, 1)
    while T < min(40 + 2 * above, 200_000):
        total, T = total + xx, T + 1
        above = T if total > epsilon * T else above
        if a is None:
            xx = (1 - eta) ** 2 * xx + eta**2 * (slope**2 * xx + 1)
            continue
        c = 1 - a - eta  # m = a x + c d, and what s multiplies is a x - eta d
        square = a * a * xx + 2 * a * c * xd + c * c * dd
        noise = slope**2 * (a * a * xx - 2 * a * eta * xd + eta * eta * dd) + a * a
        xd, xx = (
            a * xx + (c - eta * a) * xd - eta * c * dd,
            xx - 2 * eta * xd + eta * eta * dd,
        )
        dd = square + noise
    return above + 1


def speedup_faults(t: FigureTable) -> list[str]:
    held = Held()
    power = {"stem": 2, "fedavg": 3}
    for (name, nu, epsilon), rows in t.groups("algorithm", "nu", "epsilon"):
        held.same("K", rows["K"], 2.0 ** np.arange(7))
        held.same("samples promised", rows["samples_promised"], rows["samples"][0] / rows["K"])
        held.same("rounds promised", rows["rounds_promised"], np.full(7, rows["rounds"][0]))
        held.same("clipped", rows["clipped"], rows["K"] ** power[name] > rows["T"])
        if epsilon == 3e-2 and nu == 0:
            for i in (1, 5):
                K, T = int(rows["K"][i]), round(rows["T"][i])
                M = exact_mean(name, K, T, nu=0.0)
                held.same("T, epsilon", M, epsilon, rtol=0.025)
                at = rows["samples"][i], rows["rounds"][i]
                held.same("samples, rounds", at, counted(name, K, T, nu=0.0), rtol=0.02)
    held.same("epsilon", sorted(t.distinct("epsilon")), [1e-5, 3e-2])
    held.same("nu", sorted(t.distinct("nu")), [0, 1])
    small = t.where(epsilon=1e-5, algorithm="stem", nu=1.0)
    held.same(
        "samples at nu = 1", small["samples"] * small["K"], np.full(7, small["samples"][0]), 0.03
    )
    held.same("rounds at nu = 1", small["rounds"], np.full(7, small["rounds"][0]), 0.03)
    held.same("T at nu = 1", small["T"] * small["K"], np.full(7, small["T"][0]), 0.03)
    return held.found


def drift_faults(t: FigureTable) -> list[str]:
    held = Held()
    exact, runs = t.where(kind="exact"), t.where(kind="run")
    for (name, I, rule), rows in exact.groups("algorithm", "I", "momentum"):
        held.same("epsilon", rows["epsilon"], 2.0 ** -np.arange(5, 28, 2))
        S = np.maximum(1, np.sqrt(1 / rows["epsilon"]) / I) if rule == "curve" else 1.0
        held.same("a", rows["a"], 1 / (4 * S * I * I) * np.ones(12))
        a = None if name == "fedavg" else rows["a"][1]
        held.same("rounds", rows["rounds"][1], apart(name, int(I), rows["eta"][1], a, 2.0**-7))
        x, y = np.log(rows["epsilon"]), np.log(rows["rounds"])
        slopes = np.diff(y)[y[:-1] >= math.log(10)] / math.log(4)
        local = t.where(kind="local", algorithm=name, I=I, momentum=rule)
        held.same("exponent", local["exponent"], slopes)
        held.same("local epsilon", local["epsilon"],
                  np.exp(x[:-1] - math.log(2))[y[:-1] >= math.log(10)])  # fmt: skip
    for row in runs.records():
        line = exact.where(algorithm=row["algorithm"], I=row["I"], momentum=row["momentum"],
                           epsilon=row["epsilon"])  # fmt: skip
        held.same("run: eta, rounds_exact", [row["eta"], row["rounds_exact"]],
                  [line["eta"][0], line["rounds"][0]])  # fmt: skip
        a = None if row["algorithm"] == "fedavg" else row["a"]
        found = pulled(row["algorithm"], int(row["I"]), row["eta"], a, row["epsilon"])
        held.same("run: rounds", row["rounds"], found, rtol=1e-6)
        if a is not None:
            held.same("run: a", a, line["a"][0])
    return held.found


def two_workers(
    name: str, I: int, eta: float, a: float | None, gradient: Any, epsilon: float
) -> np.ndarray:
    """Return the running average of (0.5 xbar)^2 at synchronisations, well beyond epsilon."""
    x, t, total, found, last = np.array([1.0, 1.0]), 0, 0.0, [math.inf], 0
    d, before = np.full(2, gradient(x).mean()), gradient(x)
    while len(found) < min(30 + 1.3 * last, 5000):
        t, total = t + 1, total + (0.5 * x.mean()) ** 2
        x = x - eta * (d if name == "stem" else gradient(x))
        if name == "stem":
            now = gradient(x)
            d, before = now + (1 - a) * (d - before), now  # type: ignore[operator]
        if t % I == 0:  # as the listing prints: what is subtracted next is the local gradient
            x, d = np.full(2, x.mean()), np.full(2, d.mean())
            found.append(total / t)
            last = len(found) if found[-1] > epsilon else last
    return np.array(found[1:])


@lru_cache
def apart(name: str, I: int, eta: float, a: float | None, epsilon: float) -> float:
    """Return the rounds of the linearised pair: curvatures 1/2 +- cos/2, offsets +- sin/2."""
    h = 0.5 + 0.5 * math.cos(math.pi / 4) * np.array([1, -1])
    o = 0.5 * math.sin(math.pi / 4) * np.array([1, -1])
    average = two_workers(name, I, eta, a, lambda x: h * x + o, epsilon)
    return float(np.flatnonzero(average > epsilon)[-1] + 2)


@lru_cache
def pulled(name: str, I: int, eta: float, a: float | None, epsilon: float) -> float:
    """Return the rounds of the pair that is pulled apart by a sinusoid, straight in logarithms."""
    s = np.array([1, -1])
    # zeta w/2 = 1/2 is the curvature that the sinusoid adds; zeta = 1
    average = two_workers(
        name, I, eta, a, lambda x: 0.5 * x + 0.5 * s * np.sin(x + math.pi / 4), epsilon
    )
    i = int(np.flatnonzero(average > epsilon)[-1])
    share = math.log(average[i] / epsilon) / math.log(average[i] / average[i + 1])
    return math.exp(math.log(i + 1) + share * math.log((i + 2) / (i + 1)))


def synchronisation_faults(t: FigureTable) -> list[str]:
    held, s = Held(), synchronisation.FLAT
    flat, benign = t.where(problem="flat"), t.where(problem="benign")
    times = flat.where(series="literal")["T"]
    for reading in ("literal", "average-first", "overwrite"):
        rows = flat.where(series=reading)
        held.same("T", rows["T"][[0, -1]], [512, 120_000])
        T = int(times[4])
        held.same("average", rows["average"][4], sixteen_workers(reading, T))
    for name, at, K, I, gap in (
        (flat, s, 16, 8, 1.0),
        (benign, synchronisation.BENIGN, 4, 4, 0.0015),
    ):
        for series, bound in (("printed", "stem-theorem"), ("before", "stem-intermediate")):
            rows = name.where(series=series)
            for i in (3, -1):
                setting = Setting(rows["T"][i], K, at.b, I, 1.0, 0.0, 2.0, gap)
                held.same(f"{series} bound", rows["average"][i], evaluate(bound, setting).value)
    held.same("benign", benign.where(series="overwrite")["average"][-1], _benign_average())
    held.same("predicted", t.one("average", series="predicted"), 6.73e-5, rtol=1e-3)
    reach = {r["series"]: r["product"] for r in t.where(problem="threshold").records()}
    held.same(
        "thresholds",
        [reach["overwrite"], reach["average-both"]],
        [128 * 8 / 7, 128 * 8 / 7 * 4 / 3],
    )
    held.same("growth there", t.where(problem="threshold")["growth"], [0, 0])
    for reading, product in (("overwrite", 128 * 8 / 7), ("average-both", 128 * 8 / 7 * 4 / 3)):
        rows = t.where(problem="linearised", series=reading)
        held.same("product", rows["product"][[0, -1]], [32, 1024])
        held.true("growth", (rows["growth"] > 0).tolist() == (rows["product"] > product).tolist())
        for i in (0, 20, 40):
            of = stability(linear_model([1.0, -1.0]), b=rows["product"][i] / 16, I=8, sync=reading)
            held.same("growth", rows["growth"][i], 1000 * of.growth)
    return held.found


@lru_cache
def sixteen_workers(reading: str, T: int) -> float:
    s = synchronisation.FLAT
    problem = load_problem("quadratic", K=16, dim=1, curvature=s.h, L=1.0, sigma=0.0, zeta=2.0)
    run = simulate(problem, T=T, b=s.b, I=s.I, sync=reading, x1=s.x1, replicates=1)
    return float(run.mean_grad_sq or math.nan)


@lru_cache
def _benign_average() -> float:
    s = synchronisation.BENIGN
    problem = load_problem("quadratic", K=4, dim=1, curvature=s.h, L=1.0, sigma=0.0, zeta=2.0,
                           het_phase=math.pi / 4)  # fmt: skip
    run = simulate(problem, T=50_000, b=s.b, I=s.I, sync="overwrite", x1=s.x1, replicates=1)
    assert run.mean_grad_sq is not None
    return run.mean_grad_sq


FAULTS: dict[str, Faults] = {
    "complexity": complexity_faults,
    "tuned": tuned_faults,
    "speedup": speedup_faults,
    "drift": drift_faults,
    "synchronisation": synchronisation_faults,
}


@pytest.mark.parametrize("name", FAULTS)
def test_every_column_is_what_it_says(name: str) -> None:
    assert FAULTS[name](table(name)) == []


@pytest.mark.parametrize("name", FAULTS)
def test_a_wrong_column_is_rejected(name: str) -> None:
    assert survivors(table(name), FAULTS[name]) == []


@pytest.mark.parametrize("name", FIGURES)
def test_axes_show_the_columns_that_they_name(name: str) -> None:
    entry: Figure = FIGURES[name].ENTRY
    axes = drawn(entry, table(name))
    assert panel_faults(table(name), axes) == []
    assert look_faults(axes) == []
    assert print_faults(entry, table(name)) == []
    assert bar_faults(table(name), axes) == []
