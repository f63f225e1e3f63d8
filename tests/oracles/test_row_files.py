"""Files of rows: what is read of each kind, and one sentence with the line for every wrong one."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stemtheory.oracles import load_problem, row_files
from stemtheory.oracles.row_files import read_rows
from stemtheory.runtime import UsageError
from tests.helpers.rows import arrays, write_rows

GOOD = {
    "named.csv": "a,b,y\n1,2,5\n3,4,6\n",
    "bare.csv": "1,2,5\n3,4,6\n",
    "semicolons.csv": "a;b;y\n1;2;5\n3;4;6\n",
    "tabs.tsv": "a\tb\ty\r\n1\t2\t5\r\n\r\n3\t4\t6\r\n",
    "quoted.csv": '\ufeff"a","b","y"\n"1","2","5"\n3,4,6\n',
    "x.libsvm": "5 1:1 2:2  # first\n\n6 1:3 2:4\n",
}


@pytest.mark.parametrize("name", GOOD)
def test_a_text_file_is_read(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(GOOD[name], encoding="utf-8")
    found = read_rows(tmp_path / name)
    np.testing.assert_array_equal(found.rows, [[1, 2], [3, 4]])
    assert found.target == (5, 6)


def test_what_libsvm_leaves_out_is_0(tmp_path: Path) -> None:
    (tmp_path / "x.svm").write_text("+1 3:2\n-1\n-1 1:4\n")
    found = read_rows(tmp_path / "x.svm")
    np.testing.assert_array_equal(found.rows, [[0, 0, 2], [0, 0, 0], [4, 0, 0]])
    assert found.target == (1, -1, -1)


def test_npz_and_csv_are_the_same_rows(tmp_path: Path) -> None:
    X, y = arrays("values")
    np.savez(tmp_path / "x.npz", X=X, y=y)
    one, other = read_rows(tmp_path / "x.npz"), read_rows(write_rows(tmp_path / "x.csv", "values"))
    np.testing.assert_array_equal(one.rows, other.rows)
    assert one.target == other.target == tuple(y)


def test_parquet_and_csv_are_the_same_rows(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    X, y = arrays("values")
    columns = {name: X[:, i] for i, name in enumerate("abc")} | {"y": y}
    parquet.write_table(pa.table(columns), tmp_path / "x.parquet")
    one, other = (
        read_rows(tmp_path / "x.parquet", "b"),
        read_rows(write_rows(tmp_path / "x.csv", "values"), "b"),
    )
    np.testing.assert_array_equal(one.rows, other.rows)
    assert one.target == other.target


def test_parquet_without_pyarrow_is_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "x.parquet").write_bytes(b"PAR1")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(UsageError, match=r"needs pyarrow.*stemtheory\[parquet\]"):
        read_rows(tmp_path / "x.parquet")


@pytest.mark.parametrize(
    ("target", "first"), [("y", [1, 2]), (3, [1, 2]), ("a", [2, 5]), (2, [1, 5]), ("2", [1, 5])]
)
def test_the_target_is_a_name_or_a_number(
    target: str | int, first: list[int], tmp_path: Path
) -> None:
    (tmp_path / "x.csv").write_text(GOOD["named.csv"])
    np.testing.assert_array_equal(read_rows(tmp_path / "x.csv", target).rows[0], first)


def test_words_in_the_target_alone_are_labels_and_no_names(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("1,2,yes\n3,4,no\n")
    found = read_rows(tmp_path / "x.csv")
    assert found.target == ("yes", "no")
    assert found.place(0, tmp_path) == f"line 1 of {tmp_path}"


WRONG: dict[str, tuple[str, str | bytes, str]] = {
    "not a number": ("x.csv", "a,y\n1,2\nred,3\n", "line 3 of .* has 'red' in column a"),
    "ragged": ("x.csv", "a,y\n1,2\n1,2,3\n", "line 3 of .* has 3 values, but the first line has 2"),
    "short": ("x.csv", "a,b,y\n1,2,3\n\n1,2\n", "line 4 of .* has 2 values"),
    "missing": ("x.csv", "a,y\n1,2\n,3\n", "line 3 of .* has no value in column a"),
    "NaN": ("x.csv", "a,y\n1,2\nnan,3\n", "line 3 of .* has no value in column a"),
    "no target": ("x.csv", "a,y\n1,2\n3,\n", "line 3 of .* has no value in column y"),
    "infinite": ("x.csv", "a,y\n1,2\n-inf,3\n", "line 3 of .* has -inf in column a"),
    "faded": ("x.csv", "a,y\n1,2\n1e-400,3\n", "line 3 of .*, column a: 1e-400 would be read as 0"),
    "faded target": ("x.csv", "a,y\n1,2\n3,-1e-400\n", "line 3 of .*, column y: -1e-400 would be"),
    "endless": ("x.csv", "a,y\n1e400,2\n", "line 2 of .*, column a: 1e400 would be read as inf"),
    "faded value": ("x.libsvm", "1 2:1e-400\n", "line 1 of .*, index 2: 1e-400 would be read as 0"),
    "faded label": ("x.libsvm", "1e-400 2:1\n", "line 1 of .*, its label: 1e-400 would be"),
    "quotes": ("x.csv", 'a,y\n"1,2\n3,4\n', "line 3 of .* is no CSV"),
    "empty": ("x.csv", "", "holds no rows"),
    "names alone": ("x.csv", "a,b\n", "holds no rows"),
    "one column": ("x.csv", "y\n1\n2\n", "has one column"),
    "no text": ("x.csv", b"a,y\n\xff\xfe,1\n", "is no text in UTF-8"),
    "zeros": ("x.csv", b"a,y\n\0,1\n", "line 2 of "),
    "empty libsvm": ("x.libsvm", "\n# nothing\n", "holds no rows"),
    "index 0": ("x.libsvm", "1 1:1\n1 0:3\n", "line 2 of .* has index 0"),
    "order": ("x.libsvm", "1 2:1 1:3\n", "line 1 of .* has index 1 after 2"),
    "twice": ("x.libsvm", "1 2:1 2:3\n", "line 1 of .* has index 2 after 2"),
    "no pair": ("x.libsvm", "1 2:1\n1 3\n", "line 2 of .* has '3', which is not of the form"),
    "no index": ("x.libsvm", "1 -2:1\n", "line 1 of .* not of the form"),
    "no value": ("x.libsvm", "1 2:\n", "line 1 of .* has no value in index 2"),
    "no label": ("x.libsvm", "1 2:1\n2:1\n", "line 2 of .* has '2:1' in its label"),
    "labels alone": ("x.libsvm", "1\n2\n", "labels alone"),
    "too wide": ("x.libsvm", "1 999999999:1\n", "is too large"),
    "no npz": ("x.npz", b"PK\3\4 and no more", "cannot be read .*savez"),
    "pickle": ("x.pkl", b"", "files of rows end in .csv"),
    "no ending": ("rows", "1,2\n", "files of rows end in .csv"),
}  # fmt: skip


@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_file_is_one_sentence(wrong: str, tmp_path: Path) -> None:
    name, content, said = WRONG[wrong]
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(UsageError, match=said) as caught:
        load_problem("robust_regression", K=1, data=str(path))
    assert "\n" not in str(caught.value)


ARRAYS: dict[str, tuple[dict[str, Any], str]] = {
    "one axis": ({"X": np.zeros(3), "y": np.zeros(3)}, r"X of shape \(3,\)"),
    "lengths": ({"X": np.zeros((3, 2)), "y": np.zeros(2)}, r"y of shape \(2,\)"),
    "no columns": ({"X": np.zeros((3, 0)), "y": np.zeros(3)}, r"X of shape \(3, 0\)"),
    "names": ({"a": np.zeros((3, 2)), "y": np.zeros(3)}, "holds a, y, but the arrays X and y"),
    "complex": ({"X": np.zeros((3, 2), complex), "y": np.zeros(3)}, "complex128"),
    "objects": ({"X": np.array([[None]]), "y": np.zeros(1)}, "holds objects"),
    "NaN": ({"X": np.array([[1.0], [np.nan]]), "y": np.zeros(2)}, "row 2 of .* no value in"),
    "NaN target": ({"X": np.ones((2, 1)), "y": np.array([1, np.nan])}, "row 2 of .* no value in y"),
    "infinite": ({"X": np.array([[np.inf]]), "y": np.zeros(1)}, "row 1 of .* not finite"),
    "infinite target": (
        {"X": np.ones((2, 1)), "y": np.array([1, np.inf])},
        "no finite",
    ),
}


@pytest.mark.parametrize("wrong", ARRAYS)
def test_wrong_arrays_are_one_sentence(wrong: str, tmp_path: Path) -> None:
    made, said = ARRAYS[wrong]
    np.savez(tmp_path / "x.npz", **made)
    with pytest.raises(UsageError, match=said):
        load_problem("robust_regression", K=1, data=str(tmp_path / "x.npz"))


def test_what_is_no_file_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "folder.csv").mkdir()
    for data, said in (
        (tmp_path / "folder.csv", "is a folder"),
        (tmp_path, "is a folder"),
        (tmp_path / "gone.csv", "No such file"),
        (5, "must be the path of a file"),
    ):
        with pytest.raises(UsageError, match=said):
            load_problem("logistic", data=data)
    path = write_rows(tmp_path / "x.csv")
    monkeypatch.setattr(row_files, "MOST_CELLS", 100)
    with pytest.raises(UsageError, match=r"too large .* at most 1e.07 rows and 1e.02 num"):
        read_rows(path)
    monkeypatch.setattr(row_files, "MOST_BYTES", 100)
    with pytest.raises(UsageError, match=r"too large .* bytes"):
        read_rows(path)


def test_a_target_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "x.csv")
    for target, said in (("z", "its columns are a, b, c, y"), (9, "a number from 1 to 4")):
        with pytest.raises(UsageError, match=said):
            read_rows(path, target)
    np.savez(tmp_path / "x.npz", X=np.ones((2, 1)), y=np.ones(2))
    with pytest.raises(UsageError, match="leave target out"):
        read_rows(tmp_path / "x.npz", "y")
    with pytest.raises(UsageError, match="must be a column"):
        load_problem("logistic", data=str(path), target=1.5)


def test_wrong_parquet_is_one_sentence(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    path = tmp_path / "x.parquet"
    path.write_bytes(b"PAR1 and no more")
    with pytest.raises(UsageError, match="cannot be read"):
        read_rows(path)
    for columns, said in (
        ({"a": [1.0, None], "y": [1, 2]}, r"row 2 of .* no value in column a"),
        ({"a": [1.0, 2.0], "y": [1, None]}, r"row 2 of .* no value in column y"),
        ({"a": [1, 2], "y": ["1", "1e-400"]}, r"row 2 of .*, column y: 1e-400 would be read as 0"),
        ({"a": ["1", "red"], "y": [1, 2]}, r"row 2 of .* has 'red' in column a"),
        ({"y": [1, 2]}, "has one column"),
        ({"a": [], "y": []}, "holds no rows"),
    ):
        parquet.write_table(pa.table(columns), path)
        with pytest.raises(UsageError, match=said):
            read_rows(path)
