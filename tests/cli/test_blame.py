"""What a user's own code raises is said to be theirs: module and line, exit 1, whatever it is."""

from __future__ import annotations

import itertools
import textwrap
from pathlib import Path

import pytest

from stemtheory import UsageError, simulate
from stemtheory.cli.app import main
from stemtheory.cli.blame import theirs

RAISES = """
from dataclasses import dataclass
from typing import Any

from stemtheory import load_problem
from stemtheory.algorithms import Costs, Entry
from stemtheory.oracles import ProblemMaker
from stemtheory.schedules import fedavg_curve


class Odd(BaseException):
    pass


class Loss:
    name = "NAME:LOSS"

    def __init__(self, sound: Any) -> None:
        self.sound = sound

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "sound":
            raise AttributeError(name)
        return getattr(self.sound, name)

    def place(self, backend: Any, dtype: Any) -> Any:
        return Loss(self.sound.place(backend, dtype))

    separable = False

    def combine(self, evaluation: Any, minibatch: Any) -> Any:
        RAISED  # the loss

    def stochastic_gradient(self, x: Any, minibatch: Any) -> Any:
        return self.combine(self.evaluate(x), minibatch)


@dataclass(frozen=True)
class Method:
    costs = Costs()

    def init(self, problem: Any, x: Any, eta: float, minibatch: Any) -> Any:
        RAISED  # the method

    local_step = synchronise = init


LOSS = ProblemMaker(lambda K, dim, **dials: Loss(load_problem("quadratic", K=K, dim=dim)))
ENTRY = Entry(
    "blamed", base="fedavg", summary="", curve=fedavg_curve, build=lambda options: Method()
)
"""
RAISED = {
    "raise RuntimeError('two\\nlines')": "RuntimeError: two lines",
    "1 / 0": "ZeroDivisionError: division by zero",
    "raise SystemExit": "SystemExit",  # mutant: it ended the command with 0
    "raise SystemExit(2)": "SystemExit: 2",
    "raise Odd('no exception')": "Odd: no exception",
    "[][0]": "IndexError: list index out of range",
    "import numpy; numpy.linalg.inv(numpy.zeros((2, 2)))": "LinAlgError: Singular matrix",
}
SMALL = ("--T", "8", "--replicates", "20", "--K", "2", "--dim", "2")
PLACES = {"NAME:LOSS stem": "# the loss", "quadratic NAME:ENTRY": "# the method"}
COUNT = itertools.count()


def ends(
    monkeypatch: pytest.MonkeyPatch, folder: Path, code: str, command: str
) -> tuple[int, str, int]:
    """Run a command beside a module that raises; return exit code, module and line.

    Each module has a name of its own: problems and algorithms are kept by name.
    """
    name, text = f"blamed{next(COUNT)}", RAISES.replace("RAISED", code)
    (folder / f"{name}.py").write_text(text.replace("NAME", name), encoding="utf-8")
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(str(folder))
    line = 1 + [PLACES[command] in line for line in text.splitlines()].index(True)
    for file in folder.glob("*.toml"):
        file.write_text(file.read_text("utf-8").replace("NAME", name), encoding="utf-8")
    words = command.replace("NAME", name).split()
    argv = words if command in EVERYWHERE else ["run", *words, *SMALL]
    return main(argv), name, line


@pytest.mark.parametrize("command", PLACES)
@pytest.mark.parametrize("code", RAISED)
def test_the_module_and_the_line_are_named(
    code: str,
    command: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    ended, name, line = ends(monkeypatch, tmp_path, code, command)
    assert ended == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err == (
        f"error: your module {name}, line {line}, raised {RAISED[code]}: mend it there,"
        " it is not stemtheory that failed (STEMTHEORY_DEBUG=1 shows the traceback).\n"
    )


LOSS, METHOD = "# the loss", "# the method"
SWEEP = "[settings]\nproblem = '{0}'\n[algorithms.a]\nalgorithm = '{1}'\n[grids.g]\n{2}"
SIZES = 'K = 2\ndim = 2\nT = 8\nreplicates = 2\nalgorithms = ["a"]\n'
EVERYWHERE = {
    "check NAME:LOSS --K 2 --dim 2 --quick": LOSS,
    "check NAME:ENTRY": METHOD,
    "constants NAME:LOSS --K 2 --dim 2 --T 8": LOSS,
    "probe M1 --set problem=NAME:LOSS": LOSS,
    "advise --epsilon 0.2 --problem NAME:LOSS --K 2 --dim 2 --replicates 2": LOSS,
    "sweep loss.toml --store s.sqlite": LOSS,
    "sweep method.toml --store s.sqlite": METHOD,
}


@pytest.mark.parametrize("command", EVERYWHERE)
def test_so_it_is_in_every_command_that_runs_it(
    command: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A row of a contract and a cell of a sweep say it there, the other commands in the error."""
    monkeypatch.setitem(PLACES, command, EVERYWHERE[command])
    for file, names in (
        ("loss", ("NAME:LOSS", "fedavg")),
        ("method", ("quadratic", "NAME:ENTRY")),
    ):
        text = SWEEP.format(*names, SIZES)
        (tmp_path / f"{file}.toml").write_text(text, encoding="utf-8")
    ended, name, line = ends(monkeypatch, tmp_path, "1 / 0", command)
    assert ended == 1
    out, err = capsys.readouterr()
    if command.startswith("sweep"):
        assert main(["results", "s.sqlite", "--csv"]) == 0
        out += capsys.readouterr().out
    told = " ".join(f"{out} {err}".split())
    assert "ZeroDivisionError: division by zero" in told
    assert f"our module {name}, line {line}" in told


def test_a_problem_or_an_algorithm_that_cannot_be_made_is_named_with_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = """
        from stemtheory.algorithms import Entry
        from stemtheory.oracles import ProblemMaker
        from stemtheory.schedules import fedavg_curve
        def made(*given, **more):
            return {}["here"]
        LOSS = ProblemMaker(made)
        ENTRY = Entry("unmade", base="fedavg", summary="", curve=fedavg_curve, build=made)
    """
    (tmp_path / "unmade.py").write_text(textwrap.dedent(text), encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    for names in (("unmade:LOSS", "stem"), ("quadratic", "unmade:ENTRY")):
        with pytest.raises(UsageError, match=r"KeyError: 'here' \(your module unmade, line 6\)"):
            simulate(*names, T=8)


@pytest.mark.parametrize("code", ["raise SystemExit", "1 / 0"])
def test_the_traceback_is_shown_on_demand(
    code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("STEMTHEORY_DEBUG", "1")
    ended, name, line = ends(monkeypatch, tmp_path, code, "NAME:LOSS stem")
    assert ended == 1
    err = capsys.readouterr().err
    assert f"{code}  # the loss" in err
    assert err.splitlines()[-1].startswith(f"error: your module {name}, line {line}, ")


def test_what_this_package_raises_is_not_theirs() -> None:
    from stemtheory.runtime import whole

    with pytest.raises(UsageError) as caught:
        whole("T", "x")
    error = caught.value
    # the frame of this test is a user's own; what lies below the command is the package's alone
    assert theirs(error) is not None
    assert theirs(error.with_traceback(error.__traceback__.tb_next)) is None  # type: ignore[union-attr]
