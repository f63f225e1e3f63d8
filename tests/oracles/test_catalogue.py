"""A user's own problem: found, made or refused in one sentence, whatever its code does."""

import sys
from pathlib import Path
from typing import Any

import pytest

from stemtheory.cli.app import main
from stemtheory.oracles.catalogue import load_problem, make_problem, user_entry
from stemtheory.oracles.problem import Problem, ProblemMaker
from stemtheory.runtime.errors import UsageError

MODULE = '''
import sys
from stemtheory import load_problem
from stemtheory.oracles import ProblemMaker
from stemtheory.problems.quadratic import ENTRY

GOOD = ENTRY
READY = load_problem("quadratic", K=2, dim=3)
NUMBER = 3
TEXT = "quadratic"


class Wrapper:
    """Made by its class, which is a callable of (K, dim, **dials) like any other."""

    def __init__(self, K, dim, **dials):
        self.inner = load_problem("quadratic", K, dim, **dials)

    def evaluate(self, x):
        return self.inner.evaluate(x)

    def __getattr__(self, name):
        return getattr(self.inner, name)


def lookup(K, dim, **dials):
    return {}["constants"]


def plain(K, dim, **dials):
    sys.exit("it was called")


Wrapped = ProblemMaker(Wrapper)
nothing = ProblemMaker(lambda K, dim, **dials: None)
no_arguments = ProblemMaker(lambda: READY)
lookup = ProblemMaker(lookup)
leaves = ProblemMaker(lambda K, dim, **dials: sys.exit(0))
'''
BROKEN_MODULES = {
    "syntax": ("x = = 1", "SyntaxError"),
    "raises": ("raise RuntimeError('boom')", "RuntimeError: boom"),
    "exits": ("import sys\nsys.exit(0)", "SystemExit: 0"),
    "imports": ("import no_such_dependency", "no_such_dependency"),
}
BROKEN_NAMES = {
    "absent": "has no attribute 'absent'",
    "NUMBER": "is no problem, it lacks K, ",
    "TEXT": "is no problem, it lacks K, ",
    "nothing": "is no problem, it lacks K, ",
    "no_arguments": "makes no problem with K = 4 and dim = 8",
    "lookup": "KeyError: 'constants'",
    "leaves": "SystemExit: 0",
    "plain": "is a function, but only what says that it makes problems is called",
    "Wrapper": "is a type, but only what says that it makes problems is called",
}


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the name of a module of one's own that lies in the current folder."""
    name = f"own_problems_{abs(hash(tmp_path))}"
    (tmp_path / f"{name}.py").write_text(MODULE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return name


@pytest.mark.parametrize(("name", "said"), BROKEN_NAMES.items(), ids=BROKEN_NAMES)
@pytest.mark.parametrize("command", [("check",), ("run",)], ids=" ".join)
def test_an_entry_that_makes_no_problem_is_bad_usage(
    command: tuple[str, ...],
    name: str,
    said: str,
    own: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main([*command, f"{own}:{name}"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"error: {own}:{name} ")
    assert err.count("\n") == 1
    assert said in err


@pytest.mark.parametrize(("text", "said"), BROKEN_MODULES.values(), ids=BROKEN_MODULES)
def test_a_module_that_cannot_be_imported_is_bad_usage(
    text: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"broken_{abs(hash(tmp_path))}"
    (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(UsageError, match="cannot be loaded") as found:
        user_entry(f"{name}:X")
    assert said in str(found.value)


def test_a_relative_module_is_refused() -> None:
    with pytest.raises(UsageError, match="cannot be loaded"):
        user_entry("..stemtheory:X")


@pytest.mark.parametrize("name", ["GOOD", "Wrapped"])
def test_what_makes_problems_gets_the_sizes_and_dials(name: str, own: str) -> None:
    problem = load_problem(f"{own}:{name}", K=3, dim=2, L=2.0)
    assert (problem.K, problem.dim, problem.constants().L) == (3, 2, 2.0)


def test_a_problem_that_is_made_already_keeps_its_sizes(
    own: str, capsys: pytest.CaptureFixture[str]
) -> None:
    problem = load_problem(f"{own}:READY")
    assert (problem.K, problem.dim) == (2, 3)
    assert main(["run", f"{own}:READY", "stem", "--T", "60", "--replicates", "2"]) == 0
    assert "K=2" in capsys.readouterr().out
    assert main(["check", f"{own}:READY", "--quick"]) == 0
    assert capsys.readouterr().out.startswith(f"{own}:READY with K=2, dim=3\n")
    with pytest.raises(UsageError, match="is a problem already, but L was given"):
        load_problem(f"{own}:READY", L=2.0)


def test_a_failure_inside_the_catalogue_is_no_bad_usage(monkeypatch: pytest.MonkeyPatch) -> None:
    from stemtheory.problems import quadratic

    def fails(*_: Any, **__: Any) -> Problem:
        raise KeyError("inside")

    monkeypatch.setattr(quadratic, "ENTRY", ProblemMaker(fails))
    with pytest.raises(KeyError, match="inside"):
        load_problem("quadratic")


def test_an_entry_says_what_it_lacks() -> None:
    with pytest.raises(UsageError, match=r"7 is no problem, it lacks .*witnesses"):
        make_problem(7, 7, 4, 8)


def test_an_entry_is_found_in_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By its path from anywhere; a second file of one name is refused, not taken for the first."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    for folder, value in (("a", 1), ("b", 2)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "entry_in_a_file.py").write_text(f"NAME = {value}\n")
    assert user_entry(f"{tmp_path}/a/entry_in_a_file.py:NAME") == 1
    monkeypatch.chdir(tmp_path / "a")
    assert user_entry("entry_in_a_file.py:NAME") == 1
    with pytest.raises(UsageError, match="is the name of"):
        user_entry(f"{tmp_path}/b/entry_in_a_file.py:NAME")
    with pytest.raises(UsageError, match="cannot be loaded"):
        user_entry("nowhere.py:NAME")
