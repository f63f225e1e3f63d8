"""What must be refused: mutants of a certificate, of its statement and of the file's format."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from typing import Any

import pytest

from stemtheory.certificates import Certified, find, stated, why_not

Document = dict[str, Any]
Change = Callable[[Document], object]
CASES = {
    "average-first": ("stem", "average-first"),
    "literal": ("stem", "literal"),
    "fedavg": ("fedavg", "none"),
}


@pytest.fixture(scope="module", params=CASES)
def found(request: pytest.FixtureRequest) -> Certified:
    return find(stated(*CASES[request.param], I=3, K=3, b=2))


def refused(document: Document, *expected: str) -> bool:
    why = why_not(json.dumps(document).encode())
    return why != "" and "\n" not in why and all(text in why for text in expected)


def with_(change: Change) -> Callable[[Document], Document]:
    """Return a mutant: a copy with one change."""

    def mutate(document: Document) -> Document:
        changed = copy.deepcopy(document)
        change(changed)
        return changed

    return mutate


def times(text: str, factor: str) -> str:
    return str(Fraction(text) * Fraction(factor))


def largest(d: Document, start: str = "") -> str:
    """Return the id of the largest multiplier of a family."""
    y: dict[str, Fraction] = {
        n: Fraction(text) for n, text in d["multipliers"].items() if n.startswith(start)
    }
    return max(y.items(), key=lambda item: item[1])[0]


def multiplied(factor: str, family: str, d: Document) -> None:
    name = largest(d, family)
    d["multipliers"][name] = times(d["multipliers"][name], factor)


def dropped(family: str, d: Document) -> None:
    del d["multipliers"][largest(d, family)]


def of_multipliers() -> Iterator[tuple[str, Change]]:
    for family in ("interp", "var"):
        yield f"{family} negated", partial(multiplied, "-1", family)
        yield f"{family} +0.1 %", partial(multiplied, "1001/1000", family)
        yield f"{family} dropped", partial(dropped, family)
    yield "two swapped", swap
    yield "no such row", lambda d: d["multipliers"].update({"A1:99": "1000000"})
    yield "another family", lambda d: d["multipliers"].update({"goal": "1"})
    yield "a large one", lambda d: d["multipliers"].update({"het:0": "1000000"})


def swap(d: Document) -> None:
    y, one, other = d["multipliers"], largest(d, "interp"), largest(d, "var")
    y[one], y[other] = y[other], y[one]


def entry(d: Document, block: str, u: str, v: str, factor: str) -> None:
    i, j = sorted((d["basis"].index(u), d["basis"].index(v)), reverse=True)
    row = d["gram"][block][i]
    assert row[j] != "0"
    row[j] = times(row[j], factor)


def of_gram() -> Iterator[tuple[str, Change]]:
    yield "a row dropped", lambda d: d["gram"]["M"].pop()
    yield "a row short", lambda d: d["gram"]["D"][-1].pop()
    yield "an entry -10 %", lambda d: entry(d, "M", "g0", "g0", "9/10")
    yield "of D -10 %", lambda d: entry(d, "D", "H1", "H1", "9/10")
    yield "noise -10 %", lambda d: entry(d, "M", "P1", "P1", "9/10")
    yield (
        "a free entry large",
        lambda d: d["gram"]["M"][-1].__setitem__(d["basis"].index("g0"), "1000000"),
    )
    yield "no D", lambda d: d["gram"].update({"D": []})
    yield "more", lambda d: d["gram"].update({"E": []})
    yield "no list", lambda d: d["gram"].update({"M": {"0": ["1"]}})
    yield "a number", lambda d: d["gram"].update({"M": 7})


def of_statement() -> Iterator[tuple[str, Change]]:
    def put(name: str, value: Any) -> Change:
        return lambda d: d["statement"].update({name: value})

    def scale(name: str, factor: str) -> Change:
        return lambda d: d["statement"].update({name: times(d["statement"][name], factor)})

    for name, value in (
        ("K", 4),
        ("b", 3),
        ("I", 4),
        ("m", 2),
        ("K", True),
        ("K", 10**30),
        ("K", 0),
    ):
        yield f"{name} = {value}", put(name, value)
    for name, text in (
        ("delta", "-1/100"),
        ("eta", "0"),
        ("a", "9/8"),
        ("lambda", "-1"),
        ("mu", "-1"),
    ):
        yield f"{name} = {text}", put(name, text)
    for name, factor in (
        ("eta", "11/10"),
        ("eta", "10/11"),
        ("C_sigma", "99/100"),
        ("C_zeta", "99/100"),
    ):
        yield f"{name} times {factor}", scale(name, factor)
    texts: tuple[Any, ...] = (
        "1e-3",
        "1/0",
        "1/00",
        " 1",
        "1\n",
        "+1",
        "0x1",
        "\u0661",
        "1/2/3",
        "",
        "9" * 4001,
        1,
        None,
    )
    for text in texts:
        yield f"eta {text!r:.12}", put("eta", text)
    yield (
        "another reading",
        lambda d: d["statement"].update(
            reading="literal" if d["statement"]["reading"] != "literal" else "average-first"
        ),
    )
    yield "another algorithm", put("algorithm", "scaffold")
    yield "no text", put("algorithm", ["stem"])
    yield "more", put("L", "1")
    yield "less", lambda d: d["statement"].pop("delta")


def of_file() -> Iterator[tuple[str, Change]]:
    def swapped(d: Document) -> None:
        d["basis"][1], d["basis"][2] = d["basis"][2], d["basis"][1]

    yield "basis swapped", swapped
    yield "version 2", lambda d: d.update(version=2)
    yield "version true", lambda d: d.update(version=True)
    yield "another format", lambda d: d.update(format="certificate")
    yield "one more field", lambda d: d.update(solver="x")
    yield "one less", lambda d: d.pop("basis")


ALL = [*of_multipliers(), *of_gram(), *of_statement(), *of_file()]


@pytest.mark.parametrize(("name", "change"), ALL, ids=[name for name, _ in ALL])
def test_a_mutant_is_refused(found: Certified, name: str, change: Change) -> None:
    assert why_not(found.data) == ""
    assert refused(with_(change)(found.certificate)), name


def test_what_only_stem_has_is_refused_when_it_is_wrong(found: Certified) -> None:
    s = found.certificate["statement"]
    if s["algorithm"] == "fedavg":
        for name, text in (("a", "1/2"), ("lambda", "1"), ("mu", "1")):

            def put(d: Document, name: str = name, text: str = text) -> None:
                d["statement"][name] = text

            assert refused(with_(put)(found.certificate))
        return

    def halved(d: Document) -> None:
        d["statement"]["lambda"] = times(s["lambda"], "1/2")

    def none(d: Document) -> None:
        d["statement"]["lambda"] = "0"
        d["multipliers"] = {n: y for n, y in d["multipliers"].items() if not n.startswith("A1")}

    def momentum(d: Document) -> None:
        d["statement"]["a"] = times(s["a"], "101/100")

    for change in (halved, none, momentum):
        assert refused(with_(change)(found.certificate))


@pytest.mark.parametrize(
    "change",
    [
        lambda t: t.replace('"I":3', '"I":3.0', 1),
        lambda t: t.replace('"I":3', '"I":NaN', 1),
        lambda t: t.replace('"I":3', '"I":3,"I":3', 1),
        lambda t: t.replace('"I":3', '"I":1e999', 1),
        lambda t: t.replace('"I":3', '"I":' + "9" * 5000, 1),
        lambda t: t[: len(t) // 2],
        lambda t: "",
        lambda t: "[" * 100_000,
        lambda t: '{"a":' * 100_000,
        lambda t: "null",
        lambda t: "[]",
        lambda t: t + t,
    ],
)  # fmt: skip
def test_a_file_that_is_none_is_refused_in_one_line(
    found: Certified, change: Callable[[str], str]
) -> None:
    why = why_not(change(found.data.decode()).encode())
    assert why != ""
    assert len(why.splitlines()) == 1


def test_bytes_that_are_no_text_or_too_many_are_refused() -> None:
    assert why_not(b"\xff\xfe") != ""
    assert "32 MB" in why_not(b" " * ((32 << 20) + 1))


def test_a_file_for_other_parameters_names_the_field(found: Certified) -> None:
    s = found.certificate["statement"]
    assert why_not(found.data, **s) == ""
    assert why_not(found.data, K="3", eta=s["eta"]) == ""
    assert why_not(found.data, K=4) == "K is 3, but 4 was asked for"
    assert why_not(found.data, eta="1/7").startswith("eta is ")
    assert why_not(found.data, k=3) == "k is no field of the statement"
    assert why_not(found.data, K="x") != ""


def test_a_larger_constant_is_allowed(found: Certified) -> None:
    def more(d: Document) -> None:
        d["statement"]["C_sigma"] = times(d["statement"]["C_sigma"], "2")

    assert why_not(json.dumps(with_(more)(found.certificate)).encode()) == ""
