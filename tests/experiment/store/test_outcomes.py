"""Outcomes of many cells: packed, and the same as what was stored; their table and their draws."""

import math
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from stemtheory.experiment.design.points import Machine, points
from stemtheory.experiment.design.spec import parse_spec
from stemtheory.experiment.execute.work import CellResult, failed, run_cell
from stemtheory.experiment.store import tables
from stemtheory.experiment.store.outcomes import Outcomes
from stemtheory.experiment.store.results import Store
from stemtheory.runtime import UsageError, generator
from stemtheory.simulator import hitting

SPEC = """
[settings]
K = 2
dim = 2
b = 1
I = 2
replicates = 3
record = 2
[grids.g]
T = [4, 8]
sigma = [0.5, 1.0]
"""


@pytest.fixture
def stored(tmp_path: Path) -> tuple[dict[str, CellResult], Outcomes]:
    """What was put into a store, three runs and a failure, and what it hands back."""
    cells = [p.cell for p in points(parse_spec(SPEC, "packed"), Machine("numpy"))]
    given = {cell.id: run_cell(cell) for cell in cells[:3]}
    given[cells[3].id] = failed(cells[3], "nothing came of it")
    with Store.writing(tmp_path / "s.sqlite") as store:
        store.add((cell, given[cell.id]) for cell in cells)
        return given, store.outcomes([*given, "another"])


def test_outcomes_are_those_that_were_stored(
    stored: tuple[dict[str, CellResult], Outcomes],
) -> None:
    given, found = stored
    assert list(found) == list(given)
    assert "another" not in found
    assert found.get("another") is None
    for id_, result in given.items():
        for field in fields(CellResult):
            left, right = getattr(found[id_], field.name), getattr(result, field.name)
            if isinstance(right, np.ndarray):
                np.testing.assert_array_equal(left, right)
                assert left.dtype == right.dtype
            else:
                assert left == right, field.name


def test_what_is_changed_in_an_outcome_stays_there(
    stored: tuple[dict[str, CellResult], Outcomes],
) -> None:
    _, found = stored
    first, second, *_ = found
    found[first].facts["rounds"] = -1
    assert found[second].facts["rounds"] > 0
    assert found[first].facts["rounds"] > 0


def test_texts_that_are_alike_are_kept_once() -> None:
    """Of a thousand cells with the same facts there is one tuple of texts and one of sizes."""
    numbers = np.arange(3.0).tobytes()
    row: dict[str, Any] = dict.fromkeys(("grad_sq", "last", "best", "diverged_at"), numbers)
    row |= dict.fromkeys(("mean_grad_sq", "stderr", "mean_grad_sq_finite"), 1.0)
    row |= {"status": "ok", "reason": "", "provenance": "{}", "trace": None}
    row |= {"wall_seconds": 0.1, "cpu_seconds": 0.1}
    rows = [{**row, "id": str(i), "facts": f'{{"rounds": {10 // 2}}}'} for i in range(1000)]
    found = Outcomes(rows)
    assert len({id(packed.texts) for packed in found._rows.values()}) == 1
    assert len({id(packed.sizes) for packed in found._rows.values()}) == 1
    other = Outcomes([*rows, {**row, "id": "x", "facts": '{"rounds": 6}'}])
    assert len({id(packed.texts) for packed in other._rows.values()}) == 2
    assert other["x"].facts == {"rounds": 6}


RECORDS: list[dict[str, Any]] = [
    {"i": 1, "gap": None, "f": 1.5, "on": True, "s": "a", "none": None, "l": [1], "n": None},
    {
        "i": 2,
        "gap": 3,
        "f": None,
        "on": None,
        "s": None,
        "none": None,
        "l": None,
        "n": 2,
        "late": 1,
    },
    {"i": 3, "gap": 4, "f": math.nan, "on": False, "s": "b", "none": None, "l": [2], "text": "x"},
]


def test_a_table_of_columns_is_that_of_records() -> None:
    """Names in their order, types and values, also of columns that some records lack."""
    found, expected = tables.frame(iter(RECORDS)), pd.DataFrame.from_records(RECORDS)
    pd.testing.assert_frame_equal(found, expected)
    assert list(found) == [*RECORDS[0], "late", "text"]
    assert tables.frame([]).empty


def test_draws_are_those_of_their_address(monkeypatch: pytest.MonkeyPatch) -> None:
    """To the last bit those of one call of the generator; asked for again, nothing is drawn."""
    values = np.exp(np.random.default_rng(1).standard_normal((4, 33)))
    for key in ((1, 2), (1, 3)):
        stream = generator(np.random.SeedSequence(0, spawn_key=key))
        counts = stream.multinomial(33, np.full(33, 1 / 33), size=50)
        for rows in (values[:1], values):
            found = hitting.resampled_means(rows, 50, 0, key)
            np.testing.assert_array_equal(found, rows @ counts.T / 33)
    first = hitting.resampled_means(values, 50, 0, (1, 2))

    def refuse(*_: object) -> None:
        raise AssertionError("drawn again")

    monkeypatch.setattr(hitting, "generator", refuse)
    np.testing.assert_array_equal(hitting.resampled_means(values, 50, 0, (1, 2)), first)
    with pytest.raises(AssertionError, match="drawn again"):
        hitting.resampled_means(values, 50, 0, (1, 4))


def test_draws_that_are_kept_are_bounded() -> None:
    kept = hitting._Draws(most=10 * 8 * 50)
    for seed in range(30):
        assert kept.counts(8, 50, seed, ()).sum() == 8 * 50
    assert kept.bytes == sum(counts.nbytes for counts in kept.kept.values()) == 10 * 8 * 50
    assert [address[2] for address in kept.kept] == list(range(20, 30))
    kept.counts(8, 50, 20, ())  # asked for again it is the last to go
    kept.counts(8, 50, 30, ())
    assert [address[2] for address in kept.kept] == [*range(22, 30), 20, 30]
    huge = hitting._Draws(most=1)
    assert huge.counts(300, 50, 0, ()).dtype == np.uint16
    assert len(huge.kept) == 1


def test_records_of_a_store_are_read_anew(tmp_path: Path) -> None:
    """The same as a list of them and a filter, each time; none is kept."""
    cells = [p.cell for p in points(parse_spec(SPEC, "packed"), Machine("numpy"))]
    with Store.writing(tmp_path / "s.sqlite") as store:
        store.add((cell, run_cell(cell)) for cell in cells)
        all_of_them = tables.cell_records(store.rows())
        assert list(tables.CellRecords(store)) == all_of_them
        some = tables.CellRecords(store, "T == 8")
        for _ in range(2):
            assert list(some) == [record for record in all_of_them if record["T"] == 8]
        with pytest.raises(UsageError, match="no column Q"):
            list(tables.CellRecords(store, "Q == 1"))


def test_columns_differ_also_where_some_records_lack_them() -> None:
    rows: list[dict[str, Any]]
    rows = [{"T": 1, "K": 2}, {"T": 1, "K": 2, "late": None, "new": 1}, {"T": 1, "x": 0}]
    assert tables.swept_columns(iter(rows)) == ["K", "new", "x"]
    assert tables.swept_columns(iter(rows[:1])) == []


def test_a_csv_in_parts_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = tables.export_records(RECORDS, tmp_path / "whole.csv").read_bytes()
    assert whole == tables.frame(map(tables._plain, RECORDS)).to_csv(index=False).encode()
    monkeypatch.setattr(tables, "ROWS", 2)
    assert tables.export_records(RECORDS, tmp_path / "parts.csv").read_bytes() == whole
