"""Problems on a user's own rows: gradients, the oracle by enumeration, constants, mutants."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stemtheory.claims import check_problem, passed
from stemtheory.experiment import run_sweep
from stemtheory.oracles import load_problem, names, row_constants
from stemtheory.runtime import UsageError, generator, numpy_backend
from stemtheory.simulator import Run, simulate
from tests.helpers.rows import KINDS, arrays, write_rows

CASES = [("logistic", "classes"), ("logistic", "uneven")] + [
    ("robust_regression", kind) for kind in KINDS
]
SIZES: dict[str, Any] = {"T": 16, "b": 2, "I": 2, "replicates": 2, "backend": "numpy"}


def made(name: str, kind: str, folder: Path, K: int = 3, **dials: Any) -> Any:
    return load_problem(name, K, data=str(write_rows(folder / f"{kind}.csv", kind)), **dials)


def reference(problem: Any, name: str, kind: str, x: Any, share: Any) -> float:
    """Return a worker's loss written out from the file's own numbers."""
    X, y = arrays(kind)
    a, t, alpha = X[share], y[share], problem.alpha
    if name == "logistic":
        loss = np.log(1 + np.exp(-np.where(t == y.max(), 1, -1) * (a @ x))).mean()
    else:
        loss = (4 * (np.sqrt(1 + ((a @ x - t) / 2) ** 2) - 1)).mean()
    return float(loss + alpha * (x**2 / (1 + x**2)).sum())


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_values_and_gradients_are_those_of_the_rows(name: str, kind: str, tmp_path: Path) -> None:
    own: dict[str, Any] = {"delta": 2.0} if name == "robust_regression" else {}
    problem = made(name, kind, tmp_path, **own)
    shares = np.array_split(np.arange(40), 3)
    x, h = generator(0).standard_normal(3), 1e-5
    values = [reference(problem, name, kind, x, share) for share in shares]
    np.testing.assert_allclose(problem.value(x), np.mean(values), rtol=1e-12)
    slopes = [
        [
            (reference(problem, name, kind, x + e, s) - reference(problem, name, kind, x - e, s))
            / (2 * h)
            for e in h * np.eye(3)
        ]
        for s in shares
    ]
    here = np.broadcast_to(x, (3, 3))
    np.testing.assert_allclose(problem.gradient(here), slopes, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(
        problem.full_gradient(x), np.mean(slopes, axis=0), rtol=1e-6, atol=1e-7
    )


def singles(problem: Any, here: Any, k: int) -> Any:
    """Return the gradients of every row of worker k, [n_k, dim]."""
    first = int(np.cumsum([0, *problem.counts])[k])
    found = []
    for i in range(problem.counts[k]):
        lists = np.cumsum([0, *problem.counts[:-1]])[:, None]
        lists[k] = first + i
        found.append(problem.combine(here, lists)[k])
    return np.array(found)


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_the_oracle_is_unbiased_with_the_variance_it_states(
    name: str, kind: str, tmp_path: Path
) -> None:
    """Exactly, over every row of a worker; workers hold different numbers of rows."""
    problem = made(name, kind, tmp_path, split="dirichlet", concentration=0.5)
    assert len(set(problem.counts)) > 1
    x, y = generator(1).standard_normal((2, problem.K, problem.dim))
    for k in range(problem.K):
        here, there = (singles(problem, p, k) - problem.gradient(p)[k] for p in (x, y))
        np.testing.assert_allclose(here.mean(axis=0), 0, atol=1e-11)
        for keep in (0.0, 0.5, 1.0):
            exact = ((here - keep * there) ** 2).sum(axis=1).mean()
            np.testing.assert_allclose(
                problem.noise_change(x, y, keep)[k], exact, rtol=1e-9, atol=1e-10
            )
    lists = problem.draw(generator(2), (500,), 3, np.dtype(np.float64))
    ends = np.cumsum([0, *problem.counts])
    assert lists.shape == (500, problem.K, 3)
    assert [set(lists[:, k].ravel()) for k in range(problem.K)] == [
        set(range(a, b)) for a, b in pairwise(ends)
    ]


@pytest.mark.parametrize(("name", "kind"), CASES)
@pytest.mark.parametrize("split", ["in_order", "by_label"])
def test_the_contract_is_kept(name: str, kind: str, split: str, tmp_path: Path) -> None:
    """No search exceeds L, sigma or zeta, on any of the data sets."""
    rows = check_problem(made(name, kind, tmp_path, split=split), quick=True)
    assert passed(rows), [row for row in rows if not row.ok]
    assert {row.verdict for row in rows if row.constant in ("L", "sigma", "zeta")} == {"bound"}


def smaller(name: str, share: float) -> Any:
    def change(problem: Any) -> Any:
        declared = replace(problem.declared, **{name: share * getattr(problem.declared, name)})
        return replace(problem, declared=declared)

    return change


def mean_sigma(problem: Any) -> Any:
    """Sigma of the rows taken together and not of the worst worker."""
    square = (problem.rows * problem.rows).sum(axis=1).mean()
    declared = replace(problem.declared, sigma=problem.height * float(np.sqrt(square)))
    return replace(problem, declared=declared)


class Flipped:
    """One worker's labels are turned round in the oracle, and nowhere else."""

    def __init__(self, problem: Any) -> None:
        self.problem = problem

    def __getattr__(self, name: str) -> Any:
        return getattr(self.problem, name)

    def combine(self, evaluation: Any, minibatch: Any) -> Any:
        p = self.problem
        rows = np.concatenate([-p.rows[: p.counts[0]], p.rows[p.counts[0] :]])
        return replace(p, rows=rows).combine(evaluation, minibatch)

    def stochastic_gradient(self, x: Any, minibatch: Any) -> Any:
        return self.combine(self.evaluate(x), minibatch)


MUTANTS = {
    "half of L": ("L", smaller("L", 0.5)),
    "sigma of the mean row": ("sigma", mean_sigma),
    "a quarter of zeta": ("zeta", smaller("zeta", 0.25)),
    "labels flipped for one worker": ("unbiased", Flipped),
}


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_wrong_problem_is_rejected(mutant: str, tmp_path: Path) -> None:
    row, change = MUTANTS[mutant]
    name, kind = ("robust_regression", "uneven") if row == "sigma" else ("logistic", "uneven")
    found = check_problem(change(made(name, kind, tmp_path)), quick=True)
    assert row in {r.constant for r in found if not r.ok}


def test_constants_are_those_of_the_worst_worker_and_pair(tmp_path: Path) -> None:
    """By hand: two workers with one row each."""
    (tmp_path / "x.csv").write_text("3,4,1\n1,0,-1\n")
    problem = load_problem("logistic", 2, data=str(tmp_path / "x.csv"), alpha=0)
    found = problem.constants()
    np.testing.assert_allclose(found.L, 25 / 4)
    assert (found.sigma, problem.noisy) == (0, False)
    # |c| |(3, 4) - (-1, 0)| + h (5 + 1) with c = -1/2, h = 1/2
    np.testing.assert_allclose(found.zeta, np.sqrt(32) / 2 + 3)
    assert not problem.nonconvex
    assert (found.exact["L"], found.exact["zeta"], found.exact["sigma"]) == (False, False, True)
    alone = load_problem("robust_regression", 1, data=str(tmp_path / "x.csv")).constants()
    assert (alone.zeta, alone.exact["zeta"]) == (0, True)


def test_a_wide_table_falls_back_to_the_trace(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    usual = made("logistic", "classes", tmp_path).constants()
    monkeypatch.setattr(row_constants, "WIDEST", 1)
    assert made("logistic", "classes", tmp_path).constants().L > usual.L


def test_dim_and_rows_are_the_data_s(tmp_path: Path) -> None:
    problem = made("logistic", "classes", tmp_path, K=4)
    assert (problem.dim, problem.size, problem.counts) == (3, 40, (10,) * 4)
    assert problem.dials["rows"] == (
        "40 rows of 3 columns of classes.csv, target column y (2 is -1, 4 is 1), columns as they"
        " stand; per worker 10, 10, 10, 10"
    )
    assert load_problem("logistic", 4, 3, data=str(tmp_path / "classes.csv")).dim == 3
    with pytest.raises(UsageError, match=r"dim is 8, but .* has 3 columns"):
        load_problem("logistic", 4, 8, data=str(tmp_path / "classes.csv"))


def test_standardised_columns_have_mean_0_and_variance_1(tmp_path: Path) -> None:
    rows = made("robust_regression", "uneven", tmp_path, standardise=True).rows
    np.testing.assert_allclose(rows.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(rows.std(axis=0), [1, 0, 1], atol=1e-12)  # the second is constant
    assert made("robust_regression", "uneven", tmp_path).rows[:, 1].std() == 0


def test_delta_measures_residuals(tmp_path: Path) -> None:
    wide = made("robust_regression", "values", tmp_path, delta=1e4, alpha=0)
    X, y = arrays("values")
    x = np.ones(3)
    # quadratic far below delta; workers of 14, 13 and 13 rows count alike
    squares = [((X[s] @ x - y[s]) ** 2).mean() / 2 for s in np.array_split(np.arange(40), 3)]
    np.testing.assert_allclose(wide.value(x), np.mean(squares), rtol=1e-5)
    assert wide.constants().sigma == pytest.approx(
        1e4 * made("robust_regression", "values", tmp_path).constants().sigma
    )


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "L": ({"L": 2.0}, "L is 2.0, but with data L, sigma and zeta follow"),
    "sigma": ({"sigma": 0.1}, "leave sigma out"),
    "zeta": ({"zeta": 1}, "leave zeta out"),
    "points": ({"points": 5}, "logistic on data has no dial points"),
    "sampling": ({"sampling": "gaussian"}, "has no dial sampling"),
    "heterogeneity": ({"heterogeneity": "tilt"}, "has no dial heterogeneity"),
    "split": ({"split": "random"}, "split 'random' is unknown"),
    "idle concentration": ({"concentration": 0.5}, "split in_order draws nothing"),
    "idle seed": ({"data_seed": 1, "split": "by_label"}, "split by_label draws nothing"),
    "concentration": ({"split": "dirichlet", "concentration": 1e-9}, "must lie between 0.001"),
    "negative": ({"split": "dirichlet", "concentration": -1}, "a finite number above 0"),
    "standardise": ({"standardise": "perhaps"}, "must be true or false"),
    "alpha": ({"alpha": -1}, "alpha is -1"),
    "K": ({"K": 41}, "40 rows, but there are K = 41 workers"),
    "labels": ({"target": "a"}, r"has 40 labels in column a .* the third in line 4\)"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_dials_that_make_no_sense_are_refused(case: str, tmp_path: Path) -> None:
    dials, said = REFUSED[case]
    with pytest.raises(UsageError, match=said):
        made("logistic", "classes", tmp_path, **dials)


def test_labels_must_be_two_and_values_numbers(tmp_path: Path) -> None:
    (tmp_path / "one.csv").write_text("1,yes\n2,yes\n")
    with pytest.raises(UsageError, match=r"has 1 label in column 2 \(yes\), but a logistic loss"):
        load_problem("logistic", 1, data=str(tmp_path / "one.csv"))
    with pytest.raises(UsageError, match=r"line 1 of .* has 'yes' in column 2"):
        load_problem("robust_regression", 1, data=str(tmp_path / "one.csv"))
    (tmp_path / "two.csv").write_text("1,no\n2,yes\n")
    two: Any = load_problem("logistic", 1, data=str(tmp_path / "two.csv"))
    np.testing.assert_array_equal(two.rows, [[-1], [2]])  # no is -1, yes is 1
    for text, said in (("1e200,1\n2e200,2\n", "standardise=true"), ("0,1\n0,2\n", "L = 0")):
        (tmp_path / "odd.csv").write_text(text)
        with pytest.raises(UsageError, match=said):
            load_problem("logistic", 1, data=str(tmp_path / "odd.csv"), alpha=0)


def test_without_data_its_dials_are_refused() -> None:
    with pytest.raises(
        UsageError, match="split is by_label, but logistic has rows of your own only"
    ):
        load_problem("logistic", split="by_label")
    with pytest.raises(UsageError, match="robust_regression is about rows of your own"):
        load_problem("robust_regression")
    assert "robust_regression" in names("problems", data=True)
    assert "robust_regression" not in names("problems")


@pytest.mark.parametrize("name", ["logistic", "robust_regression"])
def test_it_runs_with_bounds_that_apply(name: str, tmp_path: Path) -> None:
    data = str(write_rows(tmp_path / "x.csv"))
    asked = Run.of(name, "stem", K=2, dials={"data": data}, **SIZES)
    trace = simulate(asked)
    verdicts = {bound.name: bound.verdict for bound in trace.bounds()}
    assert verdicts["stem-repaired"] in ("vacuous", "holds")
    assert "inapplicable" not in verdicts.values()
    # the same through a live problem, replicate by replicate
    live = simulate(load_problem(name, 2, data=data), "stem", **SIZES)
    np.testing.assert_array_equal(trace.grad_sq, live.grad_sq)
    single = simulate(Run.of(name, "stem", K=2, dials={"data": data}, dtype="float32", **SIZES))
    np.testing.assert_allclose(single.grad_sq, trace.grad_sq, rtol=1e-3)


def test_a_real_batch_is_refused(tmp_path: Path) -> None:
    problem = made("logistic", "classes", tmp_path)
    with pytest.raises(UsageError, match=r"b is 1.5, but logistic on rows .* give whole b and I"):
        simulate(problem, T=8, b=1.5, I=2)


def test_a_changed_file_is_another_run(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "x.csv")
    one = Run.of("logistic", K=2, dials={"data": str(path)}, **SIZES)
    same = Run.of("logistic", K=2, dials={"data": str(path)}, **SIZES)
    assert (one.text, len(one.problem.made_of)) == (same.text, 16)
    old: Any = one.problem.load()
    path.write_text(path.read_text().replace("4.0\n", "2.0\n", 1))
    other = Run.of("logistic", K=2, dials={"data": str(path)}, **SIZES)
    assert other.problem.made_of != one.problem.made_of
    new: Any = other.problem.load()
    assert not np.array_equal(new.rows, old.rows)
    assert one.problem.here() == other.problem


@pytest.mark.parametrize("data", ["", "a\0b.csv", "gone.csv", 5, ["x.csv"]])
def test_a_run_on_no_file_is_one_sentence(data: Any) -> None:
    with pytest.raises(UsageError, match=r"^data "):
        Run.of("logistic", K=2, dials={"data": data}, **SIZES)


def test_a_sweep_takes_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_rows(tmp_path / "x.csv")
    (tmp_path / "own.toml").write_text(
        '[settings]\nproblem = "robust_regression"\nK = 2\nT = 8\nI = 2\nreplicates = 2\n'
        'dials = { data = "x.csv", delta = 2.0 }\n[grids.g]\nb = [1, 2]\n'
    )
    cells = run_sweep("own.toml", store="s.sqlite", jobs=1).frame
    assert len(cells) == 2
    assert cells["made_of"].str.len().tolist() == [16, 16]
    assert (cells["dim"] == 3).all()


def test_its_arrays_follow_the_backend(tmp_path: Path) -> None:
    placed = made("logistic", "classes", tmp_path).place(
        numpy_backend("test"), np.dtype(np.float32)
    )
    assert (placed.rows.dtype, placed.offsets.dtype) == (np.float32, np.float32)
