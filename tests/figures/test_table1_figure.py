"""Table 1 with measured exponents: within what is asked, every row there, every column held."""

import csv
import dataclasses
import io
import re
from functools import lru_cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from matplotlib.collections import LineCollection

from stemtheory import load_problem
from stemtheory.experiment import Fit
from stemtheory.figures import table1
from stemtheory.figures._table1_view import LAWS, NOT_MEASURED, premises, tuned_cell, view
from stemtheory.moments import moments
from stemtheory.report.drawing import draw_figures, figure_entry, picture
from stemtheory.report.figure_table import FigureTable
from tests.figures.columns import (
    Held,
    changed,
    drawn,
    places,
    print_faults,
    survivors,
)


@pytest.fixture(scope="module")
def data() -> FigureTable:
    return table1.table("quick", None, lambda _: None)


def faults(data: FigureTable) -> list[str]:
    """Return the curves whose exact exponents are not those of the paper."""
    wanted = {
        ("STEM", "samples"): (-1.5, 6e-3),
        ("STEM", "rounds"): (-1.0, 2e-3),
        ("FedAvg", "samples"): (-2.0, 4e-3),
        ("FedAvg", "rounds"): (-1.5, 1.2e-2),
    }
    found = []
    for row in data.where(kind="exact").records():
        exponent, tolerance = wanted[row["algorithm"], row["cost"]]
        if not abs(row["exponent"] - exponent) <= tolerance:
            found.append(f"{row['algorithm']} at nu = {row['nu']}: {row['exponent']}")
    return found


def test_measured_exponents_are_the_papers(data: FigureTable) -> None:
    assert len(data.where(kind="exact")) == 20
    assert faults(data) == []
    assert table1.deviation(data) < 4e-3


def test_a_wrong_exponent_is_rejected(data: FigureTable) -> None:
    at = [(data.frame[name] == value).to_numpy() for name, value in
          (("kind", "exact"), ("algorithm", "STEM"), ("nu", 0.5))]  # fmt: skip
    for cost, wrong in (("samples", -1.52), ("rounds", -1.01), ("samples", float("nan"))):
        one = np.logical_and.reduce([*at, (data.frame["cost"] == cost).to_numpy()])
        assert one.sum() == 1
        mutant = changed(data, exponent=np.where(one, wrong, data["exponent"]))
        assert len(faults(mutant)) == 1


def test_the_table_has_every_row_of_the_paper(data: FigureTable) -> None:
    rows = view(data).rows
    assert {row[0] for row in rows} >= {"STEM", "FedAvg", "SCAFFOLD", "MIME/FedGLOMO", "Fed STEM"}
    assert len(rows) == 17
    for row in rows:
        assert (row[1] is None) == (row[3] is None) == (row[5] is None)
    fed_stem = next(row for row in rows if row[0] == "Fed STEM")
    assert (fed_stem[2], fed_stem[4], fed_stem[6], fed_stem[7]) == ("-3/2", "-1", "0", "-1/2")


def test_it_is_written_in_every_form(
    data: FigureTable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = dataclasses.replace(figure_entry("table1"), table=lambda *_: data)
    monkeypatch.setattr("stemtheory.report.drawing.figure_entry", lambda name: entry)
    (figure,) = draw_figures(["table1"], out=tmp_path, formats=("svg",))
    names = [Path(file).name for file in figure["files"]]
    assert names == [f"table1.{ending}" for ending in ("svg", "csv", "md", "tex", "txt")]
    rows = list(csv.DictReader(io.StringIO((tmp_path / "table1.csv").read_text())))
    exact = [r for r in rows if (r["kind"], r["algorithm"]) == ("exact", "STEM")]
    assert exact[0]["cost"] == "samples"
    assert float(exact[0]["exponent"]) == pytest.approx(-1.5, abs=6e-3)
    assert "-1.50" in (tmp_path / "table1.md").read_text()
    text = (tmp_path / "table1.tex").read_text()
    cells = [line for line in text.splitlines() if line.endswith(r"\\")]
    assert {len(re.findall(r"(?<!\\)&", line)) for line in cells} == {10}
    assert "Table 1 of the paper" in (tmp_path / "table1.txt").read_text()


def with_parts(data: FigureTable, parts: list[dict[str, Any]]) -> FigureTable:
    """Return the table with tuned exponents behind it."""
    return FigureTable.of(table1.COLUMNS, [*data.records(), *parts])


def with_tuned(data: FigureTable, **change: float | None) -> FigureTable:
    """Return planted exponents of every system that Table 1 asks for, on two problems."""
    found = []
    for law, labels in set(LAWS.values()):
        for label in labels:
            for cost, value in (("samples", -1.9), ("rounds", -1.4)):
                for problem, shift in (("cosine", 0.0), ("quadratic", -0.1)):
                    v = change.get(label, value + shift)
                    ends = (np.nan, np.nan) if v is None else (v - 0.2, v + 0.2)
                    who = {"kind": "tuned", "algorithm": label, "law": law, "problem": problem}
                    reason = "2 distinct points, fewer than 3" if v is None else ""
                    verdict = "consistent" if v else "not-estimable"
                    fit = {"exponent": np.nan if v is None else v, "claimed": -2.0}
                    told = {"verdict": verdict, "reason": reason, "cost": cost}
                    low, high = ends
                    found.append({**who, **fit, **told, "exponent_low": low, "exponent_high": high})
    return with_parts(data, found)


def test_every_row_has_tuned_exponents_and_its_assumption(data: FigureTable) -> None:
    planted = with_tuned(data)
    rows = view(planted).rows
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


def test_what_is_not_estimable_says_so_and_why(data: FigureTable) -> None:
    planted = with_tuned(data, fedpd=None)
    text = str({row[0]: row for row in view(planted).rows}["FedPD/FedProx"][8])
    assert text == "FedPD not-estimable; FedProx -2.00 to -1.90 ± 0.2"
    assert "FedPD on cosine: 2 distinct points, fewer than 3" in table1.caption(planted)
    assert "0.00" not in text  # the mutant counts a missing exponent as 0


def test_a_quick_table_says_what_would_measure_the_rest(data: FigureTable) -> None:
    assert tuned_cell(data, "SCAFFOLD", None, "samples") == NOT_MEASURED
    assert "stemtheory sweep systems" in table1.caption(data)


def test_the_picture_has_the_tuned_exponents_where_there_are_any(data: FigureTable) -> None:
    planted = with_tuned(data, fedpd=None)
    with_them, without = (picture(table1.ENTRY, d, "svg").decode() for d in (planted, data))
    for text in ("tuned, cosine", "the row's claim", "FedProx, "):
        assert text in with_them
        assert text not in without


def test_a_table_alone_is_as_high_as_its_lines(data: FigureTable) -> None:
    (ax,) = drawn(table1.ENTRY, data)
    lowest = min(text.get_window_extent().y0 for text in ax.texts)
    assert 0 < lowest < 50  # pixels, of 100 an inch


def test_the_table_drawn_says_what_was_found_over_all_nu(data: FigureTable) -> None:
    lines = {line[0]: line[1:] for line in table1.exact_lines(data)}
    assert {name: claimed for name, (claimed, _) in lines.items()} == {
        "STEM, samples": "-3/2",
        "STEM, rounds": "-1",
        "FedAvg, samples": "-2",
        "FedAvg, rounds": "-3/2",
    }
    for name, (_, found) in lines.items():
        algorithm, cost = name.split(", ")
        exact = data.where(kind="exact", algorithm=algorithm, cost=cost)["exponent"]
        assert found == f"{exact.min():.4f} to {exact.max():.4f}"


# -- every column


def column_faults(t: FigureTable) -> list[str]:
    held = Held()
    for name, samples, rounds in (("STEM", -1.5, -1.0), ("FedAvg", -2.0, -1.5)):
        for cost, theory in (("samples", samples), ("rounds", rounds)):
            paper = t.where(kind="paper", algorithm=name, cost=cost)
            exact = t.where(kind="exact", algorithm=name, cost=cost)
            held.same("paper", paper["exponent"], np.full(5, theory))
            for rows in (paper, exact):
                held.same("nu", rows["nu"], [0, 0.25, 0.5, 0.75, 1])
            held.same("exact", exact["exponent"][0], fitted(name.lower(), cost), 5e-3)
    tuned = t.where(kind="tuned")
    for (law, label, cost, problem), (value, half) in PLANTED.items():
        row = tuned.where(law=law, algorithm=label, cost=cost, problem=problem)
        held.same("exponent", row["exponent"], [value])
        held.same("exponent_low", row["exponent_low"], [value - half])
        held.same("exponent_high", row["exponent_high"], [value + 2 * half])
        held.same("claimed", row["claimed"], [-2.0])
        held.true("verdict", row.frame["verdict"].tolist() == ["slower"])
        held.true("reason", row.frame["reason"].tolist() == [f"of {label}"])
    return held.found


@lru_cache
def fitted(algorithm: str, cost: str) -> float:
    """Return the exponent at nu = 0 by NumPy's fit, at lengths of one's own from 4096 on."""
    problem = load_problem(
        "quadratic", K=4, dim=1, curvature=1.0, noise="additive", sigma=1.0, zeta=0
    )
    runs = [moments(problem, algorithm, T=4096 * 4**n, nu=0.0) for n in range(12)]
    spent = [r.counts.samples_per_worker if cost == "samples" else r.counts.rounds for r in runs]
    return float(np.polyfit(np.log([r.mean_grad_sq for r in runs]), np.log(spent), 1)[0])


PLANTED = {
    ("", "scaffold", "samples", "cosine"): (-1.9, 0.1),
    ("_local", "stem", "rounds", "cosine"): (-1.4, 0.2),
    ("_prox", "fedpd", "samples", "quadratic"): (-1.7, 0.3),
}


def fit_of(law: str, label: str, cost: str, problem: str) -> Fit:
    """Return a fit as the sweep has it, its interval longer above."""
    value, half = PLANTED[law, label, cost, problem]
    rule = SimpleNamespace(name=f"{cost}{law}")
    found: Any = SimpleNamespace(
        rule=rule,
        group={"label": label, "problem": problem},
        exponent=value,
        ci95=(value - half, value + 2 * half),
        theory=-2.0,
        verdict="slower",
        reason=f"of {label}",
    )
    return found  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def whole(data: FigureTable) -> FigureTable:
    return with_parts(data, [table1.tuned_row(fit_of(*key)) for key in PLANTED])


def test_every_column_is_what_it_says(whole: FigureTable) -> None:
    assert column_faults(whole) == []


def test_a_wrong_column_is_rejected(whole: FigureTable) -> None:
    assert survivors(whole, column_faults) == []


def test_axes_show_the_columns_that_they_name(whole: FigureTable) -> None:
    axes = drawn(table1.ENTRY, whole)
    assert print_faults(table1.ENTRY, whole) == []
    written = [text.get_text() for text in axes[0].texts]
    for line in table1.exact_lines(whole):
        assert set(line) <= set(written)
    for ax, cost in zip(axes[1:], ("samples", "rounds"), strict=True):
        own = whole.where(kind="tuned", cost=cost)
        assert ax.get_xlabel() == whole.label("exponent")
        bars = [s[:, 0].tolist() for c in ax.collections if isinstance(c, LineCollection)
                for s in c.get_segments()]  # fmt: skip
        ends = np.column_stack(own.interval("exponent"))
        np.testing.assert_allclose(sorted(bars), sorted(ends.tolist()))
        marks = [p[0, 0] for p in places(ax) if len(p) == 1]
        assert sorted(marks) == sorted(own["exponent"].tolist())
