"""The numeric options of bound and run at breaking values: done, or one sentence, never more.

No traceback, no "the work failed", no warning of NumPy; what cannot run is refused before it runs.
"""

from __future__ import annotations

import functools
import math
from pathlib import Path

import pytest
import typer

from stemtheory.cli.app import app, main

VALUES = ("-1", "1e-400", "1e300", "nan", "x")
SMALL = ("--T", "8", "--replicates", "2", "--K", "2", "--dim", "2")
BASES: dict[str, tuple[str, ...]] = {
    "bound": ("bound", "stem-theorem"),
    "bound of FedAvg": ("bound", "fedavg-theorem"),
    "run": ("run", "geman_mcclure", "stem", *SMALL),
}
# of a kind that is no number: names, files, switches
WORDS = {
    *("--noise", "--heterogeneity", "--set", "--schedule", "--sync", "--backend", "--engine"),
    *("--dtype", "--plot", "--out", "--format", "--store", "--replay", "--problem"),
    *("--dask", "--where", "--export"),
}
SETTINGS = {"problem": '"cosine"', "T": "8", "K": "2", "dim": "2", "replicates": "2"}


def numeric(command: str) -> list[str]:
    """Return the options of a command that take a number, as the program declares them."""
    made = typer.main.get_command(app).commands[command]  # type: ignore[attr-defined]
    valued = [p for p in made.params if p.param_type_name == "option" and not p.is_flag]
    return [p.opts[0] for p in valued if p.opts[0] not in WORDS]


def complaint(argv: tuple[str, ...], read: pytest.CaptureFixture[str]) -> str:
    """Return what is wrong with how a command ended, nothing where that is one of three ways."""
    code = main(list(argv))
    out, err = read.readouterr()
    lines = [line for line in err.splitlines() if line.startswith("error: ")]
    fine = code in (0, 1, 2) and "the work failed" not in err and "Warning" not in err
    if code == 2:
        fine = fine and out == "" and len(lines) == 1
    return "" if fine else f"{' '.join(argv)}: {code}, {err}"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write(SETTINGS)


def write(settings: dict[str, str]) -> None:
    lines = [f"{key} = {value}" for key, value in settings.items()]
    text = "\n".join(["[settings]", *lines, "[grids.g]", "sync = ['literal', 'overwrite']"])
    Path("tiny.toml").write_text(text, encoding="utf-8")


@pytest.mark.parametrize("name", BASES)
def test_no_number_on_the_command_line_breaks_a_command(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    base = BASES[name]
    assert complaint(base, capsys) == ""
    attacks = [(*base, o, value) for o in numeric(base[0]) for value in VALUES]
    assert [said for argv in attacks if (said := complaint(argv, capsys))] == []


@pytest.mark.parametrize("key", ["T", "replicates", "K"])
def test_a_sweep_that_cannot_run_is_refused_with_its_line(
    key: str, capsys: pytest.CaptureFixture[str]
) -> None:
    write({**SETTINGS, key: str(2**70)})
    assert main(["sweep", "tiny.toml"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error: tiny.toml, line ")
    assert not Path("results").exists()


def test_an_absent_backend_is_refused_with_its_line(capsys: pytest.CaptureFixture[str]) -> None:
    from stemtheory.runtime import unavailable

    if unavailable() is None:
        pytest.skip("this machine has a CUDA device")
    write({**SETTINGS, "backend": '"cupy"'})
    assert main(["sweep", "tiny.toml"]) == 2
    assert "line 8: grids.g: backend cupy" in capsys.readouterr().err
    assert not Path("results").exists()


def test_the_judge_notices_a_traceback_of_ours(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import stemtheory.bounds

    ours = functools.partial(math.exp, 1e9)  # it takes no such arguments, and is nobody's module
    monkeypatch.setattr(stemtheory.bounds, "bound_document", ours)
    assert "the work failed" in complaint(BASES["bound"], capsys)
