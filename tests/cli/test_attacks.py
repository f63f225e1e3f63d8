"""Every numeric option of every command at breaking values: done, or one sentence, never more.

Also every numeric key of a sweep's file and of a case file. Of the commands that compute, a third
of the pairs of option and value is tried by default, and the rest in tests that are marked slow.

No traceback, no "the work failed", no warning of NumPy; what cannot run is refused before it runs.
"""

from __future__ import annotations

import functools
import itertools
import json
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from stemtheory.claims.casefiles import shipped
from stemtheory.cli.app import app, main
from stemtheory.experiment import shared_workers
from tests.helpers.sources import ROOT

VALUES = (
    *("0", "-1", "1e-400", "1e-310", "1e-150", "1e300", str(2**63), str(2**70)),
    *("nan", "inf", "x", ""),
)
DIGITS = re.compile(r"\d{61}")
SMALL = ("--T", "8", "--replicates", "2", "--K", "2", "--dim", "2")
CHEAP: dict[str, tuple[str, ...]] = {
    "bound": ("bound", "stem-theorem"),
    "bound of FedAvg": ("bound", "fedavg-theorem"),
    "bound to epsilon": ("bound", "stem-repaired", "--epsilon", "1"),
    "bound of Theorem R*": ("bound", "stem-rstar-b"),
    "bound of Theorem R* to epsilon": ("bound", "stem-rstar-d", "--epsilon", "1"),
    "sweep": ("sweep", "tiny.toml", "--dry-run"),
    "figure": ("figure", "tradeoff_curve", "--quick"),
    "results": ("results", "none.sqlite"),
    "explain": ("explain", "M1"),
}
DEAR: dict[str, tuple[str, ...]] = {
    "run": ("run", "geman_mcclure", "stem", *SMALL),
    "check": ("check", "cosine", "--K", "2", "--dim", "2", "--quick"),
    "constants": ("constants", "cosine", "--K", "2", "--dim", "2", "--T", "8"),
    "advise": ("advise", "--epsilon", "0.5"),
    "advise on a problem": (
        *("advise", "--epsilon", "0.2", "--problem", "cosine", "--dim", "2"),
        *("--replicates", "2"),
    ),
    "advise with a share of the workers on a problem": (
        *("advise", "--epsilon", "0.2", "--problem", "cosine", "--dim", "2"),
        *("--replicates", "2", "--participation", "0.5"),
    ),
    "verify": ("verify", "P3", "--quick", "--jobs", "1"),
    "hunt": ("hunt", "M1", "--sync", "overwrite", "--budget", "0.05"),
    "hunt for a certificate": (
        *("hunt", "--budget", "0.05", "--certificate"),
        str(ROOT / "tests/data/round-of-two.json"),
    ),
    "probe": ("probe", "M1"),
    "certify": ("certify", "stem", "--I", "2", "--K", "2"),
    "tighten": ("tighten",),
    "slack": ("slack", "--I", "9", "--K", "1"),
}
BASES = CHEAP | DEAR
# of a kind that is no number: names, files, switches
WORDS = {
    *(
        "--pack",
        "--noise",
        "--heterogeneity",
        "--set",
        "--schedule",
        "--sync",
        "--backend",
        "--engine",
    ),
    *("--dtype", "--plot", "--out", "--format", "--store", "--replay", "--problem"),
    *(
        "--dask",
        "--where",
        "--export",
        "--tex",
        "--markdown",
        "--reading",
        "--check",
        "--certificate",
        "--mode",
    ),
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
    fine = fine and DIGITS.search(err) is None  # nobody reads three hundred
    if code == 2:
        fine = fine and out == "" and len(lines) == 1
    return "" if fine else f"{' '.join(argv)}: {code}, {err}"


@pytest.fixture(scope="module", autouse=True)
def one_worker() -> Iterator[None]:
    """Let every forecast of a dry run be measured in one process, which hundreds would start."""
    with shared_workers(1):
        yield


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write(SETTINGS)


def write(settings: dict[str, str]) -> None:
    lines = [f"{key} = {value}" for key, value in settings.items()]
    text = "\n".join(["[settings]", *lines, "[grids.g]", "sync = ['literal', 'overwrite']"])
    Path("tiny.toml").write_text(text, encoding="utf-8")


def attacks(name: str, third: int | None = None) -> list[tuple[str, ...]]:
    """Return a command with each of its numeric options at each value, or a third of these."""
    base = BASES[name]
    found = [(*base, option, value) for option in numeric(base[0]) for value in VALUES]
    return found if third is None else found[third::3]


def test_every_command_with_a_numeric_option_is_attacked() -> None:
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    assert {c for c in commands if numeric(c)} <= {base[0] for base in BASES.values()}


@pytest.mark.parametrize("name", CHEAP)
def test_no_number_breaks_what_only_reads_it(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert [said for argv in attacks(name) if (said := complaint(argv, capsys))] == []


@pytest.mark.parametrize("third", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in (1, 2))])
@pytest.mark.parametrize("name", DEAR)
def test_no_number_breaks_what_computes(
    name: str, third: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert [said for argv in attacks(name, third) if (said := complaint(argv, capsys))] == []


# Keys of a sweep that hold numbers; "1e9" is finite and large, which a dry run has to survive.
KEYS = (
    *("K", "dim", "L", "sigma", "zeta", "T", "b", "I", "nu", "B", "epsilon", "sync_batch", "x1"),
    *("replicates", "seed", "record", "precision", "dials.curvature", "dials.spectrum"),
    *("dials.noise_smoothness", "schedule_options.eta", "algorithm_options.sync_batch"),
)
IN_TOML = (*(v for v in VALUES if v not in ("x", "")), '"x"', '""', "[]", "1e9", "9" * 80)


@pytest.mark.parametrize("third", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in (1, 2))])
def test_no_number_in_a_sweep_breaks_its_dry_run(
    third: int, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = []
    for key, value in list(itertools.product(KEYS, IN_TOML))[third::3]:
        write({**SETTINGS, key: value})
        if said := complaint(BASES["sweep"], capsys):
            wrong.append(f"{key} = {value}: {said}")
    assert wrong == []


IN_JSON: tuple[Any, ...] = (
    0,
    -1,
    1e-310,
    1e-150,
    1e300,
    2**63,
    2**70,
    math.nan,
    math.inf,
    "x",
    "",
    None,
    [],
    {},
)


def test_no_number_in_a_case_file_breaks_its_replay(capsys: pytest.CaptureFixture[str]) -> None:
    sound = json.loads(shipped()["M1-literal"].read_text(encoding="utf-8"))
    wrong, replay = [], ("verify", "--replay", "case.json")
    for key, value in itertools.product((*sound, *sound["case"], "sigma", "zeta"), IN_JSON):
        case = sound["case"]
        if key in sound:
            changed = {**sound, key: value}
        elif key in case:
            changed = {**sound, "case": {**case, key: value}}
        else:
            changed = {**sound, "case": {**case, "dials": {**case["dials"], key: value}}}
        Path("case.json").write_text(json.dumps(changed), encoding="utf-8")
        if said := complaint(replay, capsys):
            wrong.append(f"{key} = {value!r}: {said}")
    assert "\n".join(wrong) == ""


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
