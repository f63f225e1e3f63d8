"""What a tightened theorem says: its steps, its line, what it leaves over, what it is worth."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from stemtheory.bounds import Setting, evaluate
from stemtheory.certificates import Weights
from stemtheory.runtime import Verdict
from stemtheory.tightening import checker
from stemtheory.tightening.rounding import Tightened

BESIDE = {"printed theorem": "stem-theorem", "Theorem R, log-free": "stem-log-free"}
ASSUMED = (
    "A1, A2 and A3 of the paper, samples of one law at every t, a first batch of b I samples",
    "S <= (I b K)^2 rounds: on or above the trade-off curve",
)


def told(theorem: Tightened, weights: Weights, *, K: int, I: int, b: int) -> dict[str, Any]:
    """Return the document of a theorem, with its factors over other bounds at one K, I and b."""
    s, C = theorem.statement, theorem.C(weights)
    m = -(-I // s["ratio"])
    return {
        "verdict": Verdict.PROVED,
        "statement": dict(theorem.document["statement"]),
        "constants": dict(theorem.document["constants"]),
        "steps": {
            "eta": f"{decimal(s['h'])}/(L I)",
            "a": f"{decimal(s['c_0'] * s['h'] ** 2)}/(b K I^2)",
            "m": f"ceil(I/{s['ratio']})",
        },
        "latex": latex(s),
        "weights": list(weights),
        "C": C,
        "inequalities": [
            {"name": name, "left": float(left), "right": float(right), "slack": float(right - left)}
            for name, left, right in theorem.sides
        ],
        "at": {"K": K, "I": I, "b": b, "m": m},
        "beside": [
            {"name": title, **_factors(name, weights, C, I, m, K, b)}
            for title, name in BESIDE.items()
        ],
        "assumed": list(ASSUMED),
    }


def _factors(
    name: str, weights: Weights, C: float, I: int, m: int, K: int, b: int
) -> dict[str, Any]:
    """Return S times a bound at S = (I b K)^2, and how many times more rounds and samples it takes.

    Rounds to epsilon go with C, and b with the root of C; a round takes b (I - 1 + m) samples.
    """
    S = (I * b * K) ** 2
    gap, variance, difference = weights
    at = Setting(S * I, K, b, I, L=1.0, sigma=variance**0.5, zeta=difference**0.5, gap=gap)
    found = evaluate(name, at)
    unmet = [premise.name for premise in found.premises if not premise.ok]
    value, own = S * found.value, found.setting.sync_batch
    factor = value / C
    samples = factor**1.5 * (I - 1 + own) / (I - 1 + m)
    return {"value": value, "rounds": factor, "samples": samples, "unmet": unmet}


def latex(s: dict[str, Any]) -> str:
    """Return the theorem as one line of LaTeX's mathematics."""
    D, S, Z, h = (decimal(s[name]) for name in ("c_D", "c_S", "c_Z", "h"))
    alpha, M = decimal(s["c_0"] * s["h"] ** 2), s["ratio"]
    return (
        r"E\|\nabla f(\bar x_a)\|^2 \le \frac{1}{S}\bigl["
        rf"{D}\,L\Delta_f + {S}\,\sigma^2 + {Z}\,\zeta^2\bigr],\quad"
        rf" \eta = \frac{{{h}}}{{LI}},\ a = \frac{{{alpha}}}{{bKI^2}},\ m = \lceil I/{M} \rceil,"
        rf"\ B = bI,\ I \ge {s['least_I']},\ S \le (IbK)^2"
    )


def decimal(value: Fraction) -> str:
    """Return a number in decimals where it has a short one, else as a quotient."""
    text = f"{float(value):.12g}"
    return text if Fraction(text) == value and "e" not in text else str(value)


def checked(data: bytes, **wanted: object) -> Tightened:
    """Return the theorem that a file proves; ValueError if the checker refuses it."""
    document = checker.parse(data)
    checker.check(document, **wanted)
    return Tightened(document, float("nan"))
