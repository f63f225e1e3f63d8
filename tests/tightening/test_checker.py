"""The checker: it knows the claims' lines, accepts what it should, and refuses every mutant."""

from __future__ import annotations

import copy
import json
import math
import subprocess
import sys
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from stemtheory.bounds import RSTAR
from stemtheory.certificates import Weights
from stemtheory.claims.rstar.coefficients import RSTAR_PARTS
from stemtheory.tightening import Covered, evaluated, tightened
from stemtheory.tightening import checker as checker_module
from stemtheory.tightening.checker import above_exp, check, parse, read, sides

Document = dict[str, Any]
IN_FILE = {"p_0": "p", "A_s": "A_sigma", "A_z": "A_zeta"}


def of_part(name: str) -> Document:
    """Return the file that the page's constants of a part of Theorem R* make."""
    part, least = RSTAR_PARTS[name], RSTAR[name]
    h, c_0, Lam = part["h_0"], part["c_0"], part["Lam"]
    alpha = c_0 * h**2
    c = {
        "c_D": 2 / h,
        "c_S": 2 / (Lam * h**2) + 2 * c_0 * alpha * part["A_s"],
        "c_Z": 2 * c_0 * alpha * part["A_z"],
    }
    names = ("p_0", "p_A", "p_C", "p_D", "tau", "Lam", "A_s", "A_z")
    constants = {IN_FILE.get(n, n): str(part[n]) for n in names}
    return {
        "format": "tightened-theorem",
        "version": 1,
        "statement": {
            "reading": "literal" if part["kappa"] else "average-first",
            "ratio": int(part["M"]),
            "least_I": 1,
            **{n: str(v) for n, v in {"h": h, "c_0": c_0, **c}.items()},
        },
        "constants": {**constants, "Lam_1": str(least.lam_one)},
    }


@pytest.fixture(scope="module")
def found() -> Document:
    return tightened(Covered(8), Weights()).document


@pytest.mark.parametrize("part", "bcde")
def test_the_parts_of_theorem_r_star_are_proofs_and_equality_passes(part: str) -> None:
    document = of_part(part)
    assert check(document)["ratio"] == RSTAR_PARTS[part]["M"]
    slacks = {name: right - left for name, left, right in sides(*read(document))}
    assert slacks["c_S"] == 0  # exact equality is no violation
    if part == "d":
        assert slacks["(6)"] == 0


@pytest.mark.parametrize("part", "bcde")
def test_the_checker_and_the_claims_lines_have_the_same_sides(part: str) -> None:
    s, n = read(of_part(part))
    told = {name: float(right / left - 1) for name, left, right in sides(s, n)}
    letters = {letter: float(n[name]) for letter, name in IN_FILE.items()}
    letters |= {name: float(n[name]) for name in ("p_A", "p_C", "p_D", "tau", "Lam", "Lam_1")}
    letters |= {"h_0": float(s["h"]), "c_0": float(s["c_0"])}
    C, slack = evaluated(Covered(s["ratio"], s["reading"]), Weights(1, 2, 3), letters)
    assert math.isclose(C, s["c_D"] + 2 * s["c_S"] + 3 * s["c_Z"], rel_tol=1e-12)
    names = [name for name in told if name not in ("c_D", "c_S", "c_Z")]
    assert len(names) == len(slack)
    assert sorted(told[name] for name in names) == pytest.approx(sorted(slack), abs=1e-12)


def test_the_exponential_is_bounded_from_above_and_closely() -> None:
    for x in (Fraction(0), Fraction(1, 3), Fraction(1), Fraction(4)):
        assert Fraction(math.exp(x)) * (1 - Fraction(1, 10**15)) < above_exp(x)
        assert float(above_exp(x)) == pytest.approx(math.exp(x), rel=1e-13)


def scaled(where: str, name: str, factor: str, d: Document) -> None:
    d[where][name] = str(Fraction(d[where][name]) * Fraction(factor))


def put(where: str, name: str, value: object, d: Document) -> None:
    d[where][name] = value


def mutants() -> Iterator[tuple[str, Callable[[Document], object]]]:
    worse: dict[str, dict[str, tuple[str, ...]]] = {
        "constants": {
            "p": ("11/10", "1/2"), "p_A": ("11/10", "9/10"), "p_C": ("11/10", "9/10"),
            "p_D": ("11/10", "9/10"), "tau": ("1/10", "20"), "Lam": ("101/100", "9/10"),
            "Lam_1": ("101/100", "1/2"), "A_sigma": ("99/100", "101/100"),
            "A_zeta": ("99/100", "101/100"),
        },
        "statement": {
            "h": ("101/100", "99/100"), "c_0": ("101/100", "99/100"), "c_D": ("999/1000",),
            "c_S": ("999/1000",), "c_Z": ("999/1000",),
        },
    }  # fmt: skip
    for where, names in worse.items():
        for name, factors in names.items():
            for factor in factors:
                yield f"{name} times {factor}", partial(scaled, where, name, factor)
    yield "a larger ratio", partial(put, "statement", "ratio", 9)
    for name, value in (("ratio", 0), ("ratio", 8.0), ("ratio", True), ("least_I", 3),
                        ("reading", "overwrite"), ("h", 0.29), ("h", "1/0"), ("h", "-1/4"),
                        ("h", "1e-1"), ("h", "9" * 500), ("h", "100"), ("c_S", None)):  # fmt: skip
        yield f"{name} = {value!r:.9}", partial(put, "statement", name, value)
    yield "tau negative", partial(put, "constants", "tau", "-1/10")
    yield "an extra field", lambda d: d.update(more=1)
    yield "an extra constant", partial(put, "constants", "q", "1")
    yield "a constant missing", lambda d: d["constants"].pop("tau")
    yield "another version", lambda d: d.update(version=2)
    yield "version true", lambda d: d.update(version=True)


@pytest.mark.parametrize("name", dict(mutants()))
def test_a_mutant_is_refused(name: str, found: Document) -> None:
    changed = copy.deepcopy(found)
    dict(mutants())[name](changed)
    with pytest.raises(ValueError, match=r"\S"):
        check(changed)


@pytest.mark.parametrize("text", ['{"a": 1, "a": 2}', "{", "[" * 10**5, '"x"', " " * 10**6])
def test_a_broken_file_is_refused(text: str) -> None:
    with pytest.raises((ValueError, RecursionError)):
        check(parse(text.encode()))


def test_a_valid_file_of_another_theorem_is_refused(found: Document) -> None:
    assert check(found, ratio=8, reading="literal", h="29/100")
    for key, value in (("ratio", 7), ("reading", "average-first"), ("h", "1/4"), ("K", "4")):
        with pytest.raises(ValueError, match=key):
            check(found, **{key: value})


def test_a_file_of_literal_also_proves_average_first(found: Document) -> None:
    """Each side grows with kappa, so that average-first needs less."""
    changed = copy.deepcopy(found)
    changed["statement"]["reading"] = "average-first"
    assert check(changed)


def test_it_runs_alone_on_the_standard_library(found: Document, tmp_path: Path) -> None:
    file = tmp_path / "theorem.json"
    file.write_text(json.dumps(found), encoding="utf-8")
    command = [sys.executable, "-I", "-S", str(Path(checker_module.__file__)), str(file)]
    done = subprocess.run([*command, "ratio=8"], capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert done.stdout.startswith("proved:")
    done = subprocess.run([*command, "ratio=9"], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == "refused: ratio is 8, but 9 was asked for\n"
