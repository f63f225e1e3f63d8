"""A figure's table: columns that are declared, rows by kind, ends of intervals, files in full."""

import csv
import io
import math

import numpy as np
import pytest

from stemtheory.report.figure_table import FigureTable, Quantity

COLUMNS = (
    *(Quantity("kind"), Quantity("I"), Quantity("x", "steps $T$")),
    Quantity("y", "rounds", ("y_low", "y_high")),
    *(Quantity("y_low"), Quantity("y_high")),
)
TABLE = FigureTable.of(
    COLUMNS,
    [
        {"kind": "run", "I": 1, "x": [1, 2], "y": [0.1 + 0.2, 2], "y_low": [0.1, 1], "y_high": 3},
        {"kind": "run", "I": 4, "x": [2], "y": math.inf},
        {"kind": "bound", "I": 1, "x": [1, 2], "y": [8.0, 9.0]},
    ],
    K=4,
)


def test_parts_become_rows_and_what_is_missing_is_nan() -> None:
    assert len(TABLE) == 5
    assert TABLE.facts["K"] == 4
    np.testing.assert_array_equal(TABLE["y"], [0.1 + 0.2, 2, np.inf, 8, 9])
    np.testing.assert_array_equal(TABLE["y_high"], [3, 3, np.nan, np.nan, np.nan])
    assert TABLE.label("y") == "rounds"
    low, high = TABLE.where(kind="run", I=1).interval("y")
    assert (low.tolist(), high.tolist()) == ([0.1, 1.0], [3.0, 3.0])
    assert np.isnan(TABLE.interval("x")).all()


def test_rows_are_picked_grouped_and_sorted() -> None:
    assert TABLE.where(kind=("run", "bound"), I=4)["x"].tolist() == [2]
    assert [(*key, len(rows)) for key, rows in TABLE.groups("kind", "I")] == [
        ("run", 1, 2), ("run", 4, 1), ("bound", 1, 2)
    ]  # fmt: skip
    assert TABLE.distinct("kind") == ["run", "bound"]
    assert TABLE.one("y", kind="bound", x=2) == 9
    with pytest.raises(ValueError, match="unpack"):
        TABLE.one("y", kind="bound")
    assert TABLE.sorted("x")["y"].tolist() == [0.1 + 0.2, 8, 2, np.inf, 9]
    assert TABLE.sorted("kind", ("bound", "run")).frame["kind"].tolist()[:2] == ["bound", "bound"]
    assert TABLE.at(("kind", "x"), [("bound", 2), ("bound", 1)])["y"].tolist() == [9, 8]


def test_the_file_gives_every_number_back() -> None:
    rows = list(csv.DictReader(io.StringIO(TABLE.csv())))
    assert list(rows[0]) == [column.name for column in COLUMNS]
    assert float(rows[0]["y"]) == 0.1 + 0.2
    assert (rows[0]["I"], rows[2]["y"], rows[2]["y_low"]) == ("1", "inf", "")


@pytest.mark.parametrize("part", [{"kind": "run", "z": 1}])
def test_a_column_that_is_not_declared_is_refused(part: dict[str, object]) -> None:
    with pytest.raises(KeyError, match="is no column"):
        FigureTable.of(COLUMNS, [part])
    with pytest.raises(KeyError, match="is no column"):
        FigureTable.of((Quantity("y", "rounds", ("low", "high")),), [{"y": 1}])
