"""Table 1 with measured exponents: within what is asked, every row there, three file forms."""

import csv
import dataclasses
import io
import re
from pathlib import Path

import pytest
from stemtheory.figures._table1_tuned import LAWS, NOT_MEASURED, TunedRow, cell, premises

from stemtheory.figures import table1
from stemtheory.figures.table1 import Exponents, Measured
from stemtheory.report.drawing import draw_figures, figure_entry, render


@pytest.fixture(scope="module")
def data() -> Exponents:
    return table1.prepare("quick", lambda _: None)


def faults(data: Exponents) -> list[str]:
    """Return the curves whose exact exponents are not those of the paper."""
    wanted = {"STEM": ((-1.5, 6e-3), (-1.0, 2e-3)), "FedAvg": ((-2.0, 4e-3), (-1.5, 1.2e-2))}
    found = []
    for (name, nu), measured in data.measured.items():
        for value, (exponent, tolerance) in zip(measured, wanted[name], strict=True):
            if not abs(value - exponent) <= tolerance:
                found.append(f"{name} at nu = {nu}: {value}")
    return found


def test_measured_exponents_are_the_papers(data: Exponents) -> None:
    assert len(data.measured) == 10
    assert faults(data) == []
    assert table1.deviation(data) < 4e-3


def test_a_wrong_exponent_is_rejected(data: Exponents) -> None:
    key = ("STEM", table1.NUS[2])
    for wrong in (Measured(-1.52, -1.0), Measured(-1.5, -1.01), Measured(float("nan"), -1.0)):
        mutant = dataclasses.replace(data, measured={**data.measured, key: wrong})
        assert len(faults(mutant)) == 1


def test_the_table_has_every_row_of_the_paper(data: Exponents) -> None:
    rows = table1.table(data).rows
    assert {row[0] for row in rows} == {row.algorithm for row in data.paper[table1.NUS[0]]}
    assert len(rows) == 17
    for row in rows:
        assert (row[1] is None) == (row[3] is None) == (row[5] is None)
    fed_stem = next(row for row in rows if row[0] == "Fed STEM")
    assert (fed_stem[2], fed_stem[4], fed_stem[6], fed_stem[7]) == ("-3/2", "-1", "0", "-1/2")


def test_it_is_written_in_every_form(
    data: Exponents, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = dataclasses.replace(figure_entry("table1"), prepare=lambda mode, progress: data)
    monkeypatch.setattr("stemtheory.report.drawing.figure_entry", lambda name: entry)
    (figure,) = draw_figures(["table1"], out=tmp_path, formats=("svg",))
    names = [Path(file).name for file in figure["files"]]
    assert names == [f"table1.{ending}" for ending in ("svg", "csv", "md", "tex", "txt")]
    rows = list(csv.DictReader(io.StringIO((tmp_path / "table1.csv").read_text())))
    assert float(rows[0]["measured samples"]) == pytest.approx(-1.5, abs=6e-3)
    text = (tmp_path / "table1.tex").read_text()
    cells = [line for line in text.splitlines() if line.endswith(r"\\")]
    assert {len(re.findall(r"(?<!\\)&", line)) for line in cells} == {10}
    assert "Table 1 of the paper" in (tmp_path / "table1.txt").read_text()


def tuned_rows(**change: float | None) -> tuple[TunedRow, ...]:
    """Return planted exponents of every system that Table 1 asks for, on two problems."""
    found = []
    for law, labels in set(LAWS.values()):
        for label in labels:
            for cost, value in (("samples", -1.9), ("rounds", -1.4)):
                for problem, shift in (("cosine", 0.0), ("quadratic", -0.1)):
                    v = change.get(label, value + shift)
                    ends = None if v is None else (v - 0.2, v + 0.2)
                    reason = "2 distinct points, fewer than 3" if v is None else ""
                    verdict = "consistent" if v else "not-estimable"
                    found.append(
                        TunedRow(law, cost, label, problem, -2.0, v, ends, verdict, reason)
                    )
    return tuple(found)


def test_every_row_has_tuned_exponents_and_its_assumption(data: Exponents) -> None:
    planted = dataclasses.replace(data, tuned=tuned_rows())
    rows = table1.table(planted).rows
    for row in rows:
        run = row[1] in (None, "0", "1")  # a nu in between is exact only
        assert (row[8] is not None) == (row[9] is not None) == run
        ours = row[0] in ("STEM", "FedAvg", "Fed STEM", "Minibatch STEM")
        assert ("not covered by our claims" in str(row[10])) == (not ours)
    by_name = {row[0]: row for row in rows}
    assert by_name["SCAFFOLD"][8:10] == ("-2.00 to -1.90 ± 0.2", "-1.50 to -1.40 ± 0.2")
    mime = by_name["MIME/FedGLOMO"]
    assert mime[8] == "MimeMVR -2.00 to -1.90 ± 0.2; FedGLOMO -2.00 to -1.90 ± 0.2"
    assert "bounded Hessian dissimilarity" in str(mime[10])
    assert "similar gradients" in premises("FedPD/FedProx", here=False)


def test_what_is_not_estimable_says_so_and_why(data: Exponents) -> None:
    planted = dataclasses.replace(data, tuned=tuned_rows(fedpd=None))
    text = str({row[0]: row for row in table1.table(planted).rows}["FedPD/FedProx"][8])
    assert text == "FedPD not-estimable; FedProx -2.00 to -1.90 ± 0.2"
    assert "FedPD on cosine: 2 distinct points, fewer than 3" in table1.caption(planted)
    assert "0.00" not in text  # the mutant counts a missing exponent as 0


def test_a_quick_table_says_what_would_measure_the_rest(data: Exponents) -> None:
    assert cell((), "SCAFFOLD", None, "samples") == NOT_MEASURED
    assert "stemtheory sweep systems" in table1.caption(data)


def test_the_picture_has_the_tuned_exponents_where_there_are_any(data: Exponents) -> None:
    entry = figure_entry("table1")
    planted = dataclasses.replace(data, tuned=tuned_rows(fedpd=None))
    with_them, without = (render(entry, d, "svg").decode() for d in (planted, data))
    for text in ("tuned, cosine", "the row's claim", "FedProx, "):
        assert text in with_them
        assert text not in without
