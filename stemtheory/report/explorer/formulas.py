"""What the page computes with, as data: bounds, schedules, curves and costs of the package.

Paper: Thm: PR_Convergence_Main_App, eq. (Eq: Grad_Norm_Sum); Thm: Flexible_FedAvg.
"""

from __future__ import annotations

from dataclasses import asdict
from types import SimpleNamespace
from typing import Any, NamedTuple

from stemtheory.algorithms import ALGORITHMS, READINGS
from stemtheory.bounds import BOUNDS, NUS, OFFERED, STRIDES, BoundFormula, Setting
from stemtheory.oracles import USUAL
from stemtheory.report.explorer.symbols import TracedNumber, Tree, traced, tree
from stemtheory.schedules import RSTAR_STEPS, Curve, Theorem, fedavg_eta, theorem_eta
from stemtheory.simulator import DEFAULT
from stemtheory.tightening import CHAIN, Estimate

LETTERS = ("T", "K", "b", "I", "L", "sigma", "zeta", "gap", "B", "sync_batch")
LETTER = {name: TracedNumber(name) for name in LETTERS}
# The claim in whose entry each bound is put to the test.
CLAIM_OF = {
    "stem-theorem": "M7",
    "stem-intermediate": "M7b",
    "stem-repaired": "Ra",
    "stem-repaired-explicit": "Riii",
    "stem-log-free": "LOGFREE",
    **{f"stem-rstar-{part}": f"RS{part}" for part in RSTAR_STEPS},
    "fedavg-theorem": "F4",
    "minibatch-sgd": "F8",
}
ENTRY_OF = {claim: name for name, claim in CLAIM_OF.items()}

# What the steps are called: the printed theorem's, those of each part of Theorem R*, and FedAvg's.
STEPS = {"theorem": "printed", **{part: f"R* ({part})" for part in RSTAR_STEPS}}
STEPS["fedavg"] = "sqrt(bK/T)"


class Dial(NamedTuple):
    """A number that the page has a slider for: from ``low`` to ``high``, by orders of magnitude.

    With ``zero`` the slider's low end is 0; ``whole`` numbers alone, or any.
    """

    label: str
    low: float
    high: float
    usual: float
    whole: bool = False
    zero: bool = False


DIALS = {
    "epsilon": Dial("accuracy epsilon", 1e-8, 1, 1e-2),
    "T": Dial("iterations T", 1, 1e12, DEFAULT.T, whole=True),
    "K": Dial("workers K", 1, 1024, USUAL.K, whole=True),
    "nu": Dial("nu on the curve", 0, 1, DEFAULT.nu),
    "b": Dial("minibatch b", 1, 1e6, 4, whole=True),
    "I": Dial("local steps I", 1, 1e5, 3, whole=True),
    "L": Dial("smoothness L", 1e-2, 1e2, USUAL.L),
    "sigma": Dial("noise sigma", 1e-3, 10, USUAL.sigma, zero=True),
    "zeta": Dial("heterogeneity zeta", 1e-3, 10, USUAL.zeta, zero=True),
    "gap": Dial("gap f(x1) - f*", 1e-3, 1e5, USUAL.gap),
    "h": Dial("curvature of f over L", 1e-3, 1, 0.5),
    "sample_cost": Dial("cost of a sample", 1e-3, 1e3, 1, zero=True),
    "round_cost": Dial("cost of a vector", 1e-3, 1e6, 100, zero=True),
}


def formulas() -> dict[str, Any]:
    """Return all formulas and constants that the page needs, as JSON."""
    return {
        "dials": {name: dial._asdict() for name, dial in DIALS.items()},
        "letters": LETTERS,
        "bounds": {name: bound(formula) for name, formula in BOUNDS.items()},
        "offered": {"bounds": OFFERED, "nus": NUS, "strides": STRIDES},
        "schedules": schedules(),
        "steps": STEPS,
        "costs": {reading or name: costs(name, reading) for name, reading in runs()},
        "readings": READINGS,
        "falls": [fall(one) for one in CHAIN],
    }


def runs() -> list[tuple[str, str]]:
    """Return the algorithms whose moments the page follows, STEM once by each reading."""
    return [*(("stem", reading) for reading in READINGS), ("fedavg", "")]


def bound(formula: BoundFormula) -> dict[str, Any]:
    """Return a bound: its terms at the setting that it settles on, its premises, its curve."""
    given: Any = _setting()
    settled = traced(formula.settle)(given)
    settles = [n for n in LETTERS if getattr(settled, n) is not getattr(given, n)]
    premises = traced(formula.premises)(given)
    point = Curve(LETTER["I"], LETTER["b"], TracedNumber("clipped"))  # type: ignore[arg-type]
    moved = traced(formula.adjust)(point, LETTER["T"], LETTER["K"], LETTER["L"])
    return {
        "steps": steps_of(formula),
        "run": formula.readings[0] if formula.algorithm == "stem" else formula.algorithm,
        "spoken": spoken(formula),
        "settle": {name: tree(getattr(settled, name)) for name in settles},
        "terms": {name: tree(v) for name, v in traced(formula.terms)(settled).items()},
        "premises": [[name, tree(ok)] for name, ok in premises],
        "shortest": tree(traced(formula.shortest)(given)),
        "trade_off": asdict(formula.trade_off),
        "adjust": {"I": tree(moved.I), "b": tree(moved.b), "clipped": tree(moved.clipped)},
        "one_step": formula.one_step,
    }


def fall(one: Estimate) -> dict[str, Any]:
    """Return an estimate of the waterfall: S times its terms, its claim and the entry on that."""
    given: Any = _setting()
    value = given.T / given.I * sum(traced(one.terms)(given).values())
    told = one._asdict() | {"entry": ENTRY_OF.get(one.claim, one.claim), "value": tree(value)}
    return {name: told[name] for name in ("step", "claim", "least_I", "entry", "value")}


def steps_of(formula: BoundFormula) -> str:
    """Return which of the `schedules` a bound speaks of."""
    return "fedavg" if formula.algorithm == "fedavg" else formula.part or formula.schedule


def spoken(formula: BoundFormula) -> str:
    """Return in a few words which steps a bound speaks of, and which reading if not of both."""
    only = f", {formula.readings[0]} only" if len(formula.readings) == 1 else ""
    return STEPS[steps_of(formula)] + only


def schedules() -> dict[str, dict[str, Tree | None]]:
    """Return of all steps eta_t, the a that follows it, the sync batch, and the last constant t.

    The theorem's and those of each part of Theorem R* are STEM's; None means constant to the end.
    """
    K, b, I, L = (LETTER[name] for name in "KbIL")
    own: Any = SimpleNamespace(**LETTER)
    own.c_b = traced(getter(Theorem, "c_b"))(own)
    eta = traced(theorem_eta)(TracedNumber("t"), L, K, b, I)
    a = traced(getter(Theorem, "c"))(own) * eta**2
    theorem = _steps(eta, a, end=tree(traced(getter(Theorem, "constant_phase_end"))(own)))
    parts = {
        name: _steps(part.eta(L, I), part.momentum(K, b, I), part.sync_batch(I))  # type: ignore[arg-type]
        for name, part in RSTAR_STEPS.items()
    }
    fedavg = _steps(traced(fedavg_eta)(LETTER["T"], K, b), 0)
    return {"theorem": theorem, **parts, "fedavg": fedavg}


def _steps(eta: Any, a: Any, m: Any = 1, end: Tree | None = None) -> dict[str, Tree | None]:
    return {"eta": tree(eta), "a": tree(a), "m": tree(m), "end": end}


def costs(algorithm: str, reading: str) -> dict[str, Any]:
    """Return what a run costs a worker; ``jump`` + I is the first minibatch of m b."""
    options = {"sync": reading, "sync_batch": 2} if reading else {}
    made = ALGORITHMS[algorithm].make(options).costs
    kept = ("gradients", "vectors_up", "initial_batch", "initial_vectors", "exchanges")
    jump = next((one.first - 2 for one in made.unusual(2)), None)
    return {name: getattr(made, name) for name in kept} | {"jump": jump}


def getter(owner: type, name: str) -> Any:
    """Return the function of a property."""
    return vars(owner)[name].fget


def _setting() -> Setting:
    """Return a setting of letters, which no check has seen."""
    return Setting(1, 1, 1, 1, 1, 0, 0, 0).at(**LETTER)  # type: ignore[arg-type]
