"""Is a file of ``tighten`` a proof? Exact fractions and the standard library, nothing else.

    python checker.py theorem.json ratio=8 reading=literal

The statement: constant steps eta = h/(LI), a = c_0 h^2/(bK I^2), a sync batch m = ceil(I/ratio), a
first batch of b I samples and S <= (I b K)^2 rounds give

    E||grad f(xbar_a)||^2 <= (c_D L gap + c_S sigma^2 + c_Z zeta^2)/S

for every I >= least_I and all b, K >= 1; ``literal`` holds for average-first as well. The proof is
that of Theorem R* (identity version): its inequalities (4), (6) and (7), written here a second
time, at the two corners that cover all I and m. See docs/tighten.md.
"""

from __future__ import annotations

import json
import re
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

FORMAT, VERSION = "tightened-theorem", 1
READINGS = ("literal", "average-first")
NUMBERS = ("h", "c_0", "c_D", "c_S", "c_Z")
CONSTANTS = ("p", "p_A", "p_C", "p_D", "tau", "Lam", "Lam_1", "A_sigma", "A_zeta")
STATEMENT = ("reading", "ratio", "least_I", *NUMBERS)
LARGEST_RATIO, LARGEST_FILE = 10**9, 10**5
ONE, HALF = Fraction(1), Fraction(1, 2)
Side = tuple[str, Fraction, Fraction]  # a name, and what must be at most what


def need(condition: object, why: str) -> None:
    """Refuse, with the reason, unless the condition is met."""
    if not condition:
        raise ValueError(why)


def above_exp(x: Fraction) -> Fraction:
    """Return a number above e^x, 0 <= x <= 4: thirty terms, the rest below twice the next."""
    need(0 <= x <= 4, "h is too large")
    total, term = Fraction(0), ONE
    for n in range(1, 31):
        total, term = total + term, term * x / n
    return total + 2 * term


def drift(n: dict[str, Fraction], reading: str, longest: Fraction) -> tuple[Fraction, Fraction]:
    """Return G and rho where (I - 1)/I^2 is at most ``longest``."""
    G = above_exp((1 + n["c_0"] * n["h"] ** 2 * longest) * n["h"])
    return G, G * n["h"] if reading == "literal" else Fraction(0)


def step_seven(n: dict[str, Fraction], reading: str, ratio: int, batched: bool) -> list[Side]:
    """Return the three lines of (7), for m = 1 or for m >= 2."""
    M, tau, Lam, h = Fraction(ratio), n["tau"], n["Lam"], n["h"]
    if batched:  # I >= M + 1
        of_m, of_I, longest = HALF, 1 / (M + 1), M / (M + 1) ** 2
        jump, noise = 1 + tau, 1 + 1 / (M * tau)
    else:
        of_m, of_I, longest = ONE, HALF, Fraction(1, 4)
        jump, noise = ONE, ONE
    G, rho = drift(n, reading, longest)
    need(rho < 1, "h is too large")
    w = HALF * (1 + 1 / n["p"])
    spent = 1 / Lam + w * h**2 / 2
    parts = 4 if reading == "literal" else 3
    left = G**2 * h**2 / (Lam * (1 - rho))
    e = parts * G**2 * h**2 * Lam * spent if reading == "literal" else Fraction(0)
    within = parts * spent * G**2 * h**2
    where = "m >= 2" if batched else "m = 1"
    at_jump = jump * M + e
    noise_left = (jump * of_m + e * of_I) * 4 * left / (9 * n["p_D"]) + within * of_I / 2
    return [
        (f"(7) of dbar, {where}", at_jump * left / (3 * n["p_A"]) + within / 2,
         HALF - h * of_I / 2 - 1 / Lam),
        (f"(7) of zeta, {where}", at_jump * left / (8 * n["p_C"]) + within / 6, n["A_zeta"]),
        (f"(7) of sigma, {where}", noise / Lam + noise_left, n["A_sigma"]),
    ]  # fmt: skip


def sides(s: dict[str, Any], n: dict[str, Fraction]) -> list[Side]:
    """Return every inequality of the proof: its name, its left side, its right side."""
    h, c_0, p, Lam = s["h"], s["c_0"], n["p"], n["Lam"]
    n = {**n, "h": h, "c_0": c_0}
    alpha = c_0 * h**2
    _, rho = drift(n, s["reading"], Fraction(1, 4))
    found = [
        ("a <= 1", alpha, ONE),
        ("tau <= 1", n["tau"], ONE),
        ("(4)", Lam * (1 + p) / 2, (2 - alpha / 4) * c_0),
        ("(6)", n["p_A"] + n["p_C"] + n["p_D"], 1 - rho),
        *step_seven(n, s["reading"], s["ratio"], batched=False),
        *step_seven(n, s["reading"], s["ratio"], batched=True),
        ("c_D", 2 / h, s["c_D"]),
        ("c_S", 2 / (Lam * h**2) + 2 * c_0 * alpha * n["A_sigma"], s["c_S"]),
        ("c_Z", 2 * c_0 * alpha * n["A_zeta"], s["c_Z"]),
    ]
    if s["least_I"] == 1:
        single = n["Lam_1"]
        found += [
            ("(4) at I = 1", single / 2, (2 - alpha) * c_0),
            ("(7) at I = 1", h / 2 + 1 / single, HALF),
            ("c_S at I = 1", 2 / (single * h**2) + 2 * c_0 * alpha / single, s["c_S"]),
        ]
    return found


def rational(value: object, name: str) -> Fraction:
    """Return the positive number that a text writes as p or p/q."""
    short = isinstance(value, str) and re.fullmatch(r"[0-9]{1,400}(/[0-9]{1,400})?", value)
    need(short, f"{name} is no fraction written as text")
    top, _, bottom = str(value).partition("/")
    need(int(bottom or 1) > 0, f"{name} has the denominator 0")
    found = Fraction(int(top), int(bottom or 1))
    need(found > 0, f"{name} is not positive")
    return found


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object of JSON whose keys are all different."""
    need(len(dict(pairs)) == len(pairs), "a key is repeated")
    return dict(pairs)


def parse(data: bytes) -> Any:
    """Return the JSON document in a file."""
    need(len(data) <= LARGEST_FILE, "the file is too large")
    return json.loads(data.decode("utf-8"), object_pairs_hook=once)


def read(file: Any) -> tuple[dict[str, Any], dict[str, Fraction]]:
    """Return the statement and the proof's constants that a document writes, as numbers."""
    names = {"format", "version", "statement", "constants"}
    need(isinstance(file, dict) and file.keys() == names, "the file has other fields")
    need((file["format"], repr(file["version"])) == (FORMAT, "1"), "format or version is another")
    told, given = file["statement"], file["constants"]
    need(isinstance(told, dict) and told.keys() == set(STATEMENT), "the statement's fields differ")
    need(isinstance(given, dict) and given.keys() == set(CONSTANTS), "the constants differ")
    need(told["reading"] in READINGS, "reading is neither literal nor average-first")
    need(type(told["ratio"]) is int and 1 <= told["ratio"] <= LARGEST_RATIO, "ratio is no count")
    need(type(told["least_I"]) is int and told["least_I"] in (1, 2), "least_I is neither 1 nor 2")
    s = {**told, **{name: rational(told[name], name) for name in NUMBERS}}
    return s, {name: rational(given[name], name) for name in CONSTANTS}


def check(file: Any, **wanted: object) -> dict[str, Any]:
    """Return the statement that a document proves; ValueError if it proves none or another."""
    s, n = read(file)
    for key, value in wanted.items():
        need(key in STATEMENT, f"{key} is no field of the statement")
        text = isinstance(value, str) and key != "reading"
        need(
            s[key] == (rational(value, key) if text else value),
            f"{key} is {file['statement'][key]}, but {value} was asked for",
        )
    for name, left, right in sides(s, n):
        need(left <= right, f"{name} fails: {float(left):.9g} is above {float(right):.9g}")
    return dict(file["statement"])


if __name__ == "__main__":
    try:
        wanted = dict(pair.split("=", 1) for pair in sys.argv[2:])
        print("proved:", check(parse(Path(sys.argv[1]).read_bytes()), **wanted))  # noqa: T201
    except (OSError, IndexError, ValueError, RecursionError) as error:
        sys.exit(f"refused: {error}")
