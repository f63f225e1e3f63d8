"""The certificates that ship: which there are, and that the checker accepts every one of them."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import product
from pathlib import Path

import pytest

from stemtheory.certificates import locate, rows_of_shipped, shipped, stated, why_not
from stemtheory.runtime import UsageError, Verdict

SIZES = ((2, 1), (4, 1), (100, 1), (4, 4))
PANEL = [
    f"{reading}-I{I}-K{K}-b{b}-{steps}"
    for reading, I, (K, b), steps in product(
        ("average-first", "literal"), (2, 4, 8), SIZES, ("printed", "tuned")
    )
]


def wanted(name: str) -> dict[str, object]:
    """Return what a certificate must state, from its name."""
    *reading, I, K, b, steps = name.split("-")
    sizes = {"I": int(I[1:]), "K": int(K[1:]), "b": int(b[1:])}
    s = stated("stem", "-".join(reading), I=sizes["I"], K=sizes["K"], b=sizes["b"])
    numbers = {"eta": s.eta, "a": s.a} if steps == "printed" else {}
    told = {"reading": s.reading, "m": 1, "delta": "0", **sizes}
    return told | {key: str(number) for key, number in numbers.items()}


def test_the_panel_ships_whole_and_each_file_is_small() -> None:
    assert sorted(shipped()) == sorted(PANEL)
    assert max(path.stat().st_size for path in shipped().values()) < 200_000


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=pytest.mark.slow) if "-I8-" in n else n for n in PANEL],
)
def test_a_certificate_that_ships_is_accepted_as_what_its_name_says(name: str) -> None:
    assert why_not(shipped()[name].read_bytes(), **wanted(name)) == ""


def test_the_tuned_steps_more_than_halve_the_printed_ones_constants() -> None:
    rows = {row["name"]: row for row in rows_of_shipped(2)}
    assert len(rows) == 16
    assert {row["verdict"] for row in rows.values()} == {Verdict.PROVED}
    for name, row in rows.items():
        if name.endswith("printed"):
            tuned = rows[name.replace("printed", "tuned")]
            assert sum(tuned["constants"].values()) < sum(row["constants"].values()) / 5


def test_a_shipped_file_that_was_changed_is_not_proved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "literal-I2-K2-b1-printed"
    changed = json.loads(shipped()[name].read_bytes())
    s = changed["statement"]
    s["C_sigma"] = str(Fraction(s["C_sigma"]) * Fraction(99, 100))
    (tmp_path / f"{name}.json").write_text(json.dumps(changed), encoding="utf-8")
    monkeypatch.setattr("stemtheory.certificates.file.SHIPPED", tmp_path)
    (row,) = rows_of_shipped()
    assert row["verdict"] == Verdict.UNDECIDED
    assert row["why"] == "C_sigma is below the sum of its multipliers"


def test_a_file_is_found_by_its_path_or_its_name(tmp_path: Path) -> None:
    assert locate(PANEL[0]) == shipped()[PANEL[0]]
    assert locate(str(shipped()[PANEL[0]])) == shipped()[PANEL[0]]
    with pytest.raises(UsageError, match="is no file and no certificate that ships"):
        locate(str(tmp_path))
