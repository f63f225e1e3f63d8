"""Documents that show code run it: the notebook, the guides, and how results show themselves."""

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stemtheory
from stemtheory.algorithms import Entry
from stemtheory.claims import check_problem
from stemtheory.claims.checking import check
from stemtheory.claims.contract.rows import ContractRow
from stemtheory.claims.ledger import one
from stemtheory.cli import options
from stemtheory.oracles import catalogue
from stemtheory.oracles.heterogeneity import HETEROGENEITIES
from stemtheory.oracles.noise import NOISES
from stemtheory.report.drawing import draw_figures
from stemtheory.runtime import notebook
from stemtheory.schedules import SCHEDULES, Conditions, check_options
from stemtheory.simulator.trace import Trace
from tests.docs.test_commands import SHOWN, write_files
from tests.helpers import example_algorithm, example_figure
from tests.helpers.example_heterogeneity import LOCAL
from tests.helpers.example_noise import SETTLING
from tests.helpers.example_schedule import INVERSE_ROOT

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"


@pytest.mark.parametrize(
    ("guide", "example"),
    [
        ("add_an_algorithm.md", "tests/helpers/example_algorithm.py"),
        ("add_a_figure.md", "tests/helpers/example_figure.py"),
        ("add_a_heterogeneity.md", "tests/helpers/example_heterogeneity.py"),
        ("add_a_noise.md", "tests/helpers/example_noise.py"),
        ("add_a_schedule.md", "tests/helpers/example_schedule.py"),
    ],
)
def test_a_guide_shows_the_example_that_is_tested(guide: str, example: str) -> None:
    text = (DOCS / guide).read_text(encoding="utf-8")
    shown = text.split(f"<!-- {example} -->\n```python\n", 1)[1].split("```", 1)[0]
    assert shown == (ROOT / example).read_text(encoding="utf-8")
    named = re.findall(r"`((?:stemtheory|figures)/[\w/]+\.py)`", text)
    assert named
    assert all((ROOT / name).is_file() for name in named)


@pytest.mark.slow
def test_the_guide_to_algorithms_works_in_an_empty_folder(tmp_path: Path) -> None:
    """Command by command, in processes of their own; nothing of it lies in the package."""
    text = (DOCS / "add_an_algorithm.md").read_text(encoding="utf-8")
    assert write_files(text, tmp_path) == ["mine.py", "own.toml"]
    python = text.split("<!-- check -->\n```python\n", 1)[1].split("```", 1)[0]
    shown = [["-m", "stemtheory", *argv] for argv in SHOWN["add_an_algorithm.md"]]
    told = {}
    for argv in [*shown, ["-c", python]]:
        done = subprocess.run(
            [sys.executable, *argv],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, (argv, done.stderr)
        told[" ".join(argv[2:4])] = done.stdout
    assert [argv[2] for argv in shown] == ["run", "run", "check", "sweep", "results"]
    after = text.split("$ stemtheory check mine:ENTRY\n...\n", 1)[1].split("```", 1)[0]
    assert told["check mine:ENTRY"].endswith(after)
    assert "6 cells" in told["sweep own.toml"]
    assert "mine:ENTRY" in told["results results/own.sqlite"]


def run(algorithm: str | Entry, **more: Any) -> Trace:
    problem = stemtheory.load_problem("cosine", K=3, dim=2)
    return stemtheory.simulate(problem, algorithm, T=64, b=1, I=4, replicates=4, seed=1, **more)


def test_the_example_algorithm_reduces_to_fedavg() -> None:
    mine, fedavg = run(example_algorithm.ENTRY), run("fedavg")
    np.testing.assert_allclose(mine.grad_sq, fedavg.grad_sq, rtol=1e-10)
    assert mine.counts.rounds == fedavg.counts.rounds == 16
    assert mine.counts.samples_per_worker == fedavg.counts.samples_per_worker


def test_its_server_step_goes_further() -> None:
    """A mutant that ignores eta_g would be FedAvg."""
    entry = example_algorithm.ENTRY
    problem = stemtheory.load_problem("quadratic", K=2, dim=1)
    ends = {}
    for eta_g in (1.0, 2.0):
        algorithm: Any = entry.make(options={"eta_g": eta_g})
        start = algorithm.init(problem, np.ones((1, 2, 1)), 0.1, None)
        moved = start._replace(x=start.x - 0.25)
        ends[eta_g] = float(algorithm.synchronise(problem, moved).x[0, 0, 0])
    assert ends == {1.0: 0.75, 2.0: 0.5}


def broken(rows: list[ContractRow]) -> set[str]:
    """Return the rows of a contract that fail."""
    return {row.constant for row in rows if not row.ok}


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("rotate", [False, True])
def test_the_example_noise_meets_the_contract(
    K: int, rotate: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(NOISES, SETTLING.name, SETTLING)
    rows = check_problem("geman_mcclure", K=K, dim=2, noise="settling", rotate=rotate, quick=True)
    assert broken(rows) == set()


def test_a_wrong_noise_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    """L_n stated at half of what it is, and sigma where it is not."""
    wrong = replace(SETTLING, frequency=lambda *at: 2 * SETTLING.frequency(*at))
    monkeypatch.setitem(NOISES, SETTLING.name, wrong)
    assert "L" in broken(check_problem("quadratic", K=2, dim=2, noise="settling", quick=True))
    wrong = replace(SETTLING, arguments=lambda sigma, *at: SETTLING.arguments(2 * sigma, *at))
    monkeypatch.setitem(NOISES, SETTLING.name, wrong)
    assert "sigma" in broken(check_problem("quadratic", K=2, dim=2, noise="settling", quick=True))


@pytest.mark.parametrize("name", ["cosine", "logistic"])
@pytest.mark.parametrize("K", [2, 3])
def test_the_example_heterogeneity_meets_the_contract(
    name: str, K: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(HETEROGENEITIES, LOCAL.name, LOCAL)
    rows = check_problem(name, K=K, dim=2, heterogeneity="local", quick=True)
    assert broken(rows) == set()


@pytest.mark.parametrize(
    ("part", "constant"), [({"steepness": 1.0}, "L"), ({"crest": 2.0}, "zeta")], ids=str
)
def test_a_wrong_heterogeneity_is_rejected(
    part: dict[str, Any], constant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(HETEROGENEITIES, LOCAL.name, replace(LOCAL, **part))
    assert constant in broken(
        check_problem("quadratic", K=2, dim=2, heterogeneity="local", quick=True)
    )


def test_the_example_schedule_is_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without noise FedAvg multiplies x by 1 - eta_t h, with eta_t = eta/sqrt(1 + t)."""
    monkeypatch.setitem(SCHEDULES, "inverse-root", INVERSE_ROOT)
    problem = stemtheory.load_problem("quadratic", K=2, dim=1, h=1, L=1, sigma=0, zeta=0)
    trace = stemtheory.simulate(
        problem,
        "fedavg",
        T=8,
        b=1,
        I=2,
        replicates=1,
        schedule="inverse-root",
        schedule_options={"eta": 0.5},
    )
    x = np.cumprod([1.0, *(1 - 0.5 / np.sqrt(1 + np.arange(1, 8)))])
    np.testing.assert_allclose(trace.grad_sq, (x**2).mean(), rtol=1e-12)
    with pytest.raises(stemtheory.UsageError, match="needs eta"):
        check_options("inverse-root", "stem", "stem", {})


def test_the_example_schedule_couples_its_momentum() -> None:
    at = Conditions(T=64, K=4, b=1, I=4, L=1.0, sigma=0.5, coupling=8.0)
    schedule = INVERSE_ROOT["stem"].make(at, {"eta": 0.5})
    np.testing.assert_allclose(schedule.momentum([1, 4]), [1.0, 8 * 0.25 / 4])


@pytest.mark.parametrize(
    ("flag", "names"),
    [
        (options.Noise, list(NOISES)),
        (options.Heterogeneity, list(HETEROGENEITIES)),
        (options.Schedule, list(SCHEDULES)),
    ],
    ids=["noise", "heterogeneity", "schedule"],
)
def test_the_help_names_what_there_is(flag: Any, names: list[str]) -> None:
    assert re.split(r", | or ", flag.__metadata__[0].help) == names


def test_the_example_figure_is_drawn_by_its_name(tmp_path: Path) -> None:
    name = "tests.helpers.example_figure:ENTRY"
    (figure,) = draw_figures([name], mode="quick", out=tmp_path, formats=("svg",))
    assert "Not claimed" in figure["caption"]
    assert (tmp_path / "bound.svg").stat().st_size > 1000
    assert {Path(file).suffix for file in figure["files"]} == {".svg", ".csv", ".txt"}
    data = example_figure.table("quick", None, lambda _: None)
    bound = data.where(series="printed theorem")
    informative = bound["value"] < data.where(series="2 L gap")["value"][0]
    assert informative.tolist() == (data.facts["informative"] <= bound["T"]).tolist()


def test_every_figure_is_explained() -> None:
    text = (DOCS / "figures.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^## (\w+)$", text, re.MULTILINE)) == set(catalogue.names("figures"))
    parts = re.split(r"^## \w+$", text, flags=re.MULTILINE)
    assert all(len(part.split()) > 8 for part in parts)


# -- the notebook


def code_cells() -> list[str]:
    cells = json.loads((DOCS / "quickstart.ipynb").read_text(encoding="utf-8"))["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]


def shown(cell: dict[str, Any]) -> str:
    """Return what a code cell of the notebook printed when it was stored."""
    streams = [out["text"] for out in cell["outputs"] if out["output_type"] == "stream"]
    return "".join("".join(text) for text in streams)


def test_the_notebook_is_one_with_results_and_no_trace_of_a_machine() -> None:
    text = (DOCS / "quickstart.ipynb").read_text(encoding="utf-8")
    book = json.loads(text)
    assert (book["nbformat"], book["nbformat_minor"]) == (4, 5)
    assert len({cell["id"] for cell in book["cells"]}) == len(book["cells"])
    code = [cell for cell in book["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    assert all(cell["outputs"] for cell in code)
    assert not any(name in text for name in ("cores", "processor", "provenance"))


def test_the_notebook_prints_what_it_shows(capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {}
    book = json.loads((DOCS / "quickstart.ipynb").read_text(encoding="utf-8"))
    code = [cell for cell in book["cells"] if cell["cell_type"] == "code"]
    for number, cell in enumerate(code):
        source = "".join(cell["source"])
        exec(compile(source, f"quickstart.ipynb, code cell {number}", "exec"), names)
        assert capsys.readouterr().out == shown(cell)
    assert any("stem-repaired" in shown(cell) for cell in code)
    assert names["trace"].status == "ok"
    assert names["found"].bound.value <= 0.01
    assert names["ledger"]["unexpected"] == []
    assert "violated" in names["ledger"]["summary"]


def test_a_broken_cell_is_noticed() -> None:
    with pytest.raises(NameError):
        exec(compile(code_cells()[1], "cell", "exec"), {})  # without the cell before it


# -- rich results


def test_a_trace_shows_itself() -> None:
    text = run("stem")._repr_html_()
    assert text.startswith("<table>")
    assert "stem on cosine: T = 64, K = 3, b = 1, I = 4" in text
    assert "95 % interval" in text
    single = stemtheory.simulate(stemtheory.load_problem("cosine"), T=8, replicates=1)
    assert "<td>–</td>" in single._repr_html_()  # one replicate has no interval


def test_a_ledger_and_its_rows_show_themselves() -> None:
    ledger = stemtheory.verify(["U2"])
    assert isinstance(ledger, dict)
    text: str = ledger._repr_html_()
    assert text.count("<tr>") == 1 + len(ledger["claims"])
    (row,) = check(one("U2"))
    assert row.verdict.value in row._repr_html_()


def test_problems_constants_and_bounds_show_themselves() -> None:
    problem = stemtheory.load_problem("quadratic", K=3, dim=2, zeta=2.0)
    text: str = problem._repr_html_()  # type: ignore[attr-defined]
    assert "quadratic, K = 3, dim = 2" in text
    assert "<td>zeta</td><td>2</td><td>attained</td>" in text
    assert "<td>zeta</td><td>2</td><td>attained</td>" in problem.constants()._repr_html_()
    at = stemtheory.bounds.Setting(T=100, K=4, b=1, I=200, L=1, sigma=1, zeta=1, gap=1)
    bound = stemtheory.bounds.evaluate("stem-log-free", at)
    shown = bound._repr_html_()
    unmet = [premise.name for premise in bound.premises if not premise.ok]
    assert all(name in shown for name in (*bound.terms, *unmet, f"{bound.value:.4g}"))
    assert unmet


def test_a_sweep_shows_its_fits(tmp_path: Path) -> None:
    spec = tmp_path / "s.toml"
    spec.write_text(
        """
        [settings]
        problem = "quadratic"
        dim = 1
        K = 2
        b = 1
        I = 1
        replicates = 2
        [grids.g]
        T = [16, 32, 64, 128]
        [fits.rate]
        x = "T"
        y = "M"
        theory = -1.0
        """
    )
    found = stemtheory.run_sweep(str(spec), store=tmp_path / "s.sqlite")
    (fit,) = found.fits
    text = found._repr_html_()
    assert "s (default): 4 of 4 cells, 0 diverged, 0 failed" in text
    assert f"<td>{fit.exponent:.4g}</td>" in text
    assert fit.verdict in text


def test_what_is_shown_is_escaped() -> None:
    text = notebook.table(
        "<b>",
        ("a&b",),
        [
            [
                "<script>",
            ],
            [None],
            [0.123456],
        ],
    )
    assert "<script>" not in text
    assert "<b>" not in text
    assert "a&amp;b" in text
    assert "<td>–</td>" in text
    assert "0.1235" in text
