"""Every option of every command changes the document, or is refused: none is accepted and ignored.

The options are those of the program itself, so that a new one fails until it has a row. What is
compared leaves out the option's own echo and the times, and takes in the files that were written.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest
import typer

from stemtheory.cli.app import app, main
from tests.helpers.sources import ROOT

SMALL = ("--T", "8", "--replicates", "2", "--K", "2", "--dim", "2")
RUN = ("run", "cosine", "stem", *SMALL)
ON_A_CURVE = ("bound", "stem-theorem", "--T", "64")
BOUND = (*ON_A_CURVE, "--b", "1", "--I", "4")
CHECK = ("check", "cosine", "--K", "2", "--dim", "2")
CONSTANTS = ("constants", "cosine", "--K", "2", "--dim", "2", "--T", "8")
ADVISE = ("advise", "--epsilon", "0.5")
LINKED = (*ADVISE, "--model-size", "1MB", "--bandwidth", "1Mbit", "--sample-time", "1ms")
ADVISE_ON = ("advise", "--epsilon", "0.2", "--problem", "cosine", "--dim", "2", "--replicates", "2")
ALONE = (*ADVISE_ON, "--epsilon", "0.05", "--K", "1", "--dim", "1", "--sigma", "1")
VERIFY = ("verify", "P3", "--quick", "--jobs", "1")
REPLAY = ("verify", "--replay", "M1-literal")
HUNT = ("hunt", "M1", "--sync", "overwrite", "--budget", "0.05", "--out", "h")
ROUNDS = [ROOT / "tests/data" / f"round-of-{K}.json" for K in ("two", "three")]
ATTACK = ("hunt", "--certificate", str(ROUNDS[0]), "--budget", "0.05")
PROBE = ("probe", "M3")
FIGURE = ("figure", "tradeoff_curve", "--quick")
SWEEP = ("sweep", "tiny.toml", "--store", "s.sqlite")
RESULTS = ("results", "s.sqlite")
CERTIFY = ("certify", "stem", "--I", "2", "--K", "2")
TIGHTEN = ("tighten",)
SLACK = ("slack", "--I", "9", "--K", "1")
NEW = ("new", "problem", "fresh")
TINY = """
[settings]
problem = "cosine"
T = 8
K = 2
dim = 2
replicates = 2
[grids.g]
b = [1, 2]
[quick.settings]
T = 4
[full.settings]
T = 12
"""
Row = tuple[tuple[str, ...], tuple[str, ...]]  # a command, and what is added to it

# By command and option: that which must show. The last of an option given twice is taken.
CHANGES: dict[str, dict[str, Row]] = {
    "list": {"KIND": (("list", "problems"), ())},
    "bound": {
        "NAME": (BOUND, ()),
        "--T": (BOUND, ("--T", "128")),
        "--K": (BOUND, ("--K", "2")),
        "--b": (BOUND, ("--b", "2")),
        "--I": (BOUND, ("--I", "8")),
        "--nu": (ON_A_CURVE, ("--nu", "1")),
        "--B": (BOUND, ("--B", "7")),
        "--sync-batch": (BOUND, ("--sync-batch", "2")),
        "--L": (BOUND, ("--L", "2")),
        "--sigma": (BOUND, ("--sigma", "2")),
        "--zeta": (BOUND, ("--zeta", "2")),
        "--gap": (BOUND, ("--gap", "2")),
        "--grad-sq": (BOUND, ("--grad-sq", "9")),
        "--epsilon": (("bound", "stem-theorem", "--epsilon", "1"), ("--epsilon", "2")),
    },
    "run": {
        "PROBLEM": (RUN, ()),
        "ALGORITHM": (RUN, ()),
        "--K": (RUN, ("--K", "3")),
        "--dim": (RUN, ("--dim", "3")),
        "--L": (RUN, ("--L", "2")),
        "--sigma": (RUN, ("--sigma", "1")),
        "--zeta": (RUN, ("--zeta", "2")),
        "--noise": (RUN, ("--noise", "additive")),
        "--heterogeneity": (RUN, ("--heterogeneity", "tilt")),
        "--set": (RUN, ("--set", "spectrum=2")),
        "--T": (RUN, ("--T", "16")),
        "--b": (RUN, ("--b", "2")),
        "--I": (RUN, ("--I", "4")),
        "--nu": (RUN, ("--nu", "1")),
        "--B": (RUN, ("--B", "7")),
        "--schedule": (RUN, ("--schedule", "practical")),
        "--sync": ((*RUN, "--I", "2"), ("--sync", "overwrite")),
        "--sync-batch": ((*RUN, "--I", "2"), ("--sync-batch", "3")),
        "--replicates": (RUN, ("--replicates", "3")),
        "--x1": (RUN, ("--x1", "2")),
        "--seed": (RUN, ("--seed", "1")),
        "--dtype": (RUN, ("--dtype", "float32")),
        "--record-every": ((*RUN, "--out", "x.csv"), ("--record-every", "3")),
        "--plot": (RUN, ("--plot", "x.svg")),
        "--out": (RUN, ("--out", "x.csv")),
    },
    "figure": {
        "NAMES": (FIGURE, ()),
        "--quick": (("figure", "tradeoff_curve"), ("--quick",)),
        "--full": (("figure", "tradeoff_curve"), ("--full",)),
        "--store": (FIGURE, ("--store", "s.sqlite")),
        "--out": (FIGURE, ("--out", "other")),
        "--format": (FIGURE, ("--format", "svg")),
        "--width": (FIGURE, ("--width", "column")),
    },
    "reproduce": {
        "--quick": (("reproduce",), ("--quick",)),
        "--full": (("reproduce",), ("--full",)),
        "--out": (("reproduce",), ("--out", "other")),
        "--format": (("reproduce",), ("--format", "svg")),
    },
    "verify": {
        "NAMES": (VERIFY, ("F1",)),
        "--quick": (("verify", "A1", "--jobs", "1"), ("--quick",)),
        "--full": (("verify", "A1", "--quick", "--jobs", "1"), ()),
        "--mutants": (VERIFY, ("--mutants",)),
        "--replay": (REPLAY, ()),
        "--out": (VERIFY, ("--out", "ledger")),
        "--tex": (VERIFY, ("--tex", "x.tex")),
        "--markdown": (VERIFY, ("--markdown", "x.md")),
        "--seed": (VERIFY, ("--seed", "1")),
    },
    "explain": {
        "NAME": (("explain", "M1"), ()),
        "--tex": (("explain", "M1"), ("--tex", "x.tex")),
    },
    "probe": {
        "NAME": (PROBE, ()),
        "--set": (PROBE, ("--set", "I=3")),
        "--sync": (PROBE, ("--sync", "average-first")),
        "--schedule": ((*PROBE, "--schedule", "practical"), ("--schedule", "theorem")),
        "--eta": ((*PROBE, "--schedule", "coupled", "--eta", "0.1"), ("--eta", "0.2")),
        "--plot": (PROBE, ("--plot", "x.svg")),
        "--out": (PROBE, ("--out", "found")),
    },
    "hunt": {
        "NAME": (HUNT, ()),
        "--sync": (HUNT, ("--sync", "literal")),
        "--seed": (HUNT, ("--seed", "1")),
        "--out": (HUNT, ("--out", "other")),
        "--certificate": (ATTACK, ("--certificate", str(ROUNDS[1]))),
    },
    "check": {
        "NAME": (CHECK, ()),
        "--K": (CHECK, ("--K", "3")),
        "--dim": (CHECK, ("--dim", "1")),
        "--L": (CHECK, ("--L", "2")),
        "--sigma": (CHECK, ("--sigma", "2")),
        "--zeta": (CHECK, ("--zeta", "2")),
        "--noise": (CHECK, ("--noise", "additive")),
        "--heterogeneity": (CHECK, ("--heterogeneity", "tilt")),
        "--set": (CHECK, ("--set", "spectrum=2")),
        "--seed": (CHECK, ("--seed", "1")),
        "--quick": (CHECK, ("--quick",)),
    },
    "constants": {
        "NAME": (CONSTANTS, ()),
        "--K": (CONSTANTS, ("--K", "3")),
        "--dim": (CONSTANTS, ("--dim", "3")),
        "--L": (CONSTANTS, ("--L", "2")),
        "--sigma": (CONSTANTS, ("--sigma", "2")),
        "--zeta": (CONSTANTS, ("--zeta", "2")),
        "--noise": (CONSTANTS, ("--noise", "additive")),
        "--heterogeneity": (CONSTANTS, ("--heterogeneity", "tilt")),
        "--set": (CONSTANTS, ("--set", "spectrum=2")),
        "--T": (CONSTANTS, ("--T", "9")),
        "--x1": (CONSTANTS, ("--x1", "2")),
        "--seed": (CONSTANTS, ("--seed", "1")),
    },
    "sweep": {
        "NAME": (SWEEP, ()),
        "--quick": (SWEEP, ("--quick",)),
        "--full": (SWEEP, ("--full",)),
        "--store": (SWEEP, ("--store", "t.sqlite")),
        "--dry-run": (SWEEP, ("--dry-run",)),
    },
    "results": {
        "STORE": (RESULTS, ()),
        "--where": (RESULTS, ("--where", "b == 1")),
        "--export": (RESULTS, ("--export", "rows.csv")),
        "--plot": (RESULTS, ("--plot", "b,mean_grad_sq")),
        "--out": ((*RESULTS, "--plot", "b,mean_grad_sq"), ("--out", "other.svg")),
    },
    "explore": {"--out": (("explore",), ("--out", "other.html"))},
    "certify": {
        "NAME": (CERTIFY, ()),
        "--reading": (CERTIFY, ("--reading", "average-first")),
        "--K": (CERTIFY, ("--K", "3")),
        "--I": (CERTIFY, ("--I", "3")),
        "--b": (CERTIFY, ("--b", "2")),
        "--m": (CERTIFY, ("--m", "2")),
        "--h": (CERTIFY, ("--h", "1/8")),
        "--alpha": (CERTIFY, ("--alpha", "1/8")),
        "--weights": (CERTIFY, ("--weights", "1,1,9")),
        "--out": (CERTIFY, ("--out", "x.json")),
        "--tex": (CERTIFY, ("--tex", "x.tex")),
    },
    "tighten": {
        "--reading": (TIGHTEN, ("--reading", "average-first")),
        "--ratio": (TIGHTEN, ("--ratio", "32")),
        "--weights": (TIGHTEN, ("--weights", "1,2,1")),
        "--mode": ((*TIGHTEN, "--I", "2", "--K", "2"), ("--mode", "certificate")),
        "--K": (TIGHTEN, ("--K", "3")),
        "--I": (TIGHTEN, ("--I", "3")),
        "--b": (TIGHTEN, ("--b", "2")),
        "--h": (TIGHTEN, ("--h", "1/5")),
        "--out": (TIGHTEN, ("--out", "x.json")),
    },
    "slack": {
        "--reading": (("slack", "--I", "9", "--K", "2"), ("--reading", "average-first")),
        "--weights": (SLACK, ("--weights", "1,2,1")),
        "--K": (SLACK, ("--K", "2")),
        "--I": (SLACK, ("--I", "10")),
        "--b": (SLACK, ("--b", "2")),
    },
    "new": {
        "KIND": (NEW, ()),
        "NAME": (NEW, ()),
        "--out": (NEW, ("--out", "elsewhere")),
    },
    "advise": {
        "--epsilon": (ADVISE, ("--epsilon", "0.4")),
        "--problem": (ADVISE, ("--problem", "cosine")),
        "--K": (ADVISE, ("--K", "2")),
        "--dim": (ADVISE_ON, ("--dim", "3")),
        "--L": (ADVISE, ("--L", "2")),
        "--sigma": (ADVISE, ("--sigma", "2")),
        "--zeta": ((*ADVISE, "--round-cost", "100", "--epsilon", "0.3"), ("--zeta", "2")),
        "--gap": (ADVISE, ("--gap", "2")),
        "--noise": (ADVISE_ON, ("--noise", "additive")),
        "--heterogeneity": (ADVISE_ON, ("--heterogeneity", "tilt")),
        "--set": (ADVISE_ON, ("--set", "spectrum=2")),
        "--x1": (ALONE, ("--x1", "2")),
        "--replicates": (ALONE, ("--replicates", "3")),
        "--seed": (ALONE, ("--seed", "1")),
        "--sample-cost": (ADVISE, ("--sample-cost", "2")),
        "--round-cost": (ADVISE, ("--round-cost", "100")),
        "--model-size": (LINKED, ("--model-size", "2GB")),
        "--bandwidth": (LINKED, ("--bandwidth", "1kbit")),
        "--sample-time": (LINKED, ("--sample-time", "1h")),
        "--participation": (ADVISE, ("--participation", "0.5")),
        "--plot": (ADVISE, ("--plot", "x.svg")),
    },
}
# Where a positional argument takes its second value: its place in the command, and the value.
PLACES = {
    ("list", "KIND"): (1, "bounds"),
    ("bound", "NAME"): (1, "stem-repaired"),
    ("run", "PROBLEM"): (1, "welsch"),
    ("run", "ALGORITHM"): (2, "fedavg"),
    ("figure", "NAMES"): (1, "tradeoff_surface"),
    ("verify", "--full"): (2, "--full"),
    ("verify", "--replay"): (2, "M2-literal"),
    ("explain", "NAME"): (1, "M2"),
    ("hunt", "NAME"): (1, "M2"),
    ("check", "NAME"): (1, "welsch"),
    ("probe", "NAME"): (1, "M2"),
    ("constants", "NAME"): (1, "welsch"),
    ("sweep", "NAME"): (1, "other.toml"),
    ("results", "STORE"): (1, "t.sqlite"),
    ("certify", "NAME"): (1, "fedavg"),
    ("new", "KIND"): (1, "claim"),
    ("new", "NAME"): (2, "ours"),
}
# Their effect is not in the document.
ELSEWHERE = {
    "--json": "it makes the document",
    "--csv": "it takes the document's place, and is refused beside --json (tests/report/plots)",
    "--pack": "whose claims are meant (tests/claims/test_packs)",
    "--jobs": "how many processes, which changes no number (test_verify_cli, test_sweeps)",
    "run --backend": "auto is the one that is here; another is refused, see REFUSED",
    "run --engine": "auto is array at this size; another is refused, see REFUSED",
    "verify --trust": "which case files are run (test_casefiles)",
    "hunt --budget": "how long is searched (test_hunt)",
    "certify --schedule": "theorem is the one there is, and refused beside --h, see REFUSED",
    "certify --check": "another job, which takes what it expects (test_certify)",
    "certify --force": "whether what takes minutes is begun (test_certify)",
    "tighten --check": "another job, which takes what it expects (test_tighten)",
    "sweep --dask": "who runs the cells, which changes no number (test_executors)",
    "sweep --retry-failed": "what runs where a cell failed (test_sweep)",
}
# Given where they could change nothing, and what the sentence names.
REFUSED: list[tuple[tuple[str, ...], str]] = [
    ((*ADVISE, "--participation", "0.5", "--plot", "x.svg"), "--plot"),
    *(((*REPLAY, *more), more[0]) for more in (
        ("--quick",), ("--full",), ("--mutants",), ("--out", "x"), ("--seed", "garbage"),
        ("--seed", "0"), ("--jobs", "1"), ("--tex", "x"),
        ("--markdown", "x"),
    )),
    ((*REPLAY, "F1"), "a name"),
    ((*ATTACK, "M1"), "a name"),
    *(((*ATTACK, *more), more[0]) for more in (("--sync", "literal"), ("--out", "x"))),
    ((*VERIFY, "--trust"), "--trust"),
    *(((*ADVISE, *more), more[0]) for more in (
        ("--dim", "3"), ("--x1", "2"), ("--x1", "1"), ("--seed", "0"), ("--seed", "x"),
        ("--replicates", "2"), ("--noise", "additive"), ("--heterogeneity", "tilt"),
        ("--set", "spectrum=2"),
    )),
    ((*ADVISE_ON, "--gap", "2"), "--gap"),
    ((*LINKED, "--round-cost", "2"), "leave one out"),
    ((*ADVISE, "--bandwidth", "1Mbit"), "--model-size is missing"),
    ((*RUN, "--record-every", "3"), "--record-every"),
    ((*CERTIFY, "--schedule", "theorem", "--h", "1"), "--schedule"),
    (("certify", "--check", "empty", "--schedule", "theorem"), "--schedule"),
    (("certify", "--check", "empty", "--force"), "--force"),
    (("tighten", "--check", "empty", "--K", "2"), "--K"),
    ((*TIGHTEN, "--mode", "certificate", "--h", "1/5"), "--h"),
    ((*TIGHTEN, "--mode", "certificate", "--ratio", "8"), "--ratio"),
    (("results", "s.sqlite", "--csv"), "--csv and --json"),
    (("results", "s.sqlite", "--out", "x.png"), "--plot"),
    (("list", "bounds", "--csv"), "--csv and --json"),
    ((*RUN, "--backend", "cupy"), "backend cupy"),
    (("run", "logistic", "fedpd", *SMALL, "--engine", "fused"), "engine fused"),
    (("verify", "--replay", "empty"), "holds no case file"),
]  # fmt: skip
SWITCHES = ("--quick", "--full", "--mutants", "--dry-run")
TIMES = ("seconds", "evaluations", "files", "store")


def parameters() -> Iterator[tuple[str, str]]:
    """Yield (command, option or METAVAR) of the program as it stands."""
    for command, made in typer.main.get_command(app).commands.items():  # type: ignore[attr-defined]
        for parameter in made.params:
            option = parameter.param_type_name == "option"
            yield command, parameter.opts[0] if option else str(parameter.name).upper()


def without(value: Any, echo: tuple[str, ...]) -> Any:
    """Return a document without the keys in ``echo``, at any depth."""
    if isinstance(value, dict):
        return {k: without(v, echo) for k, v in value.items() if k not in echo}
    return [without(v, echo) for v in value] if isinstance(value, list) else value


class Folder:
    """Runs commands, each in a fresh folder with a small sweep, two stores and no case file."""

    def __init__(self, home: Path, patch: pytest.MonkeyPatch, read: pytest.CaptureFixture[str]):
        self.home, self.patch, self.read, self.count = home, patch, read, 0
        self.known: dict[tuple[str, ...], Any] = {}

    def enter(self, command: str) -> None:
        """Make a folder and go there."""
        stores = self.stores if command == "results" else self.home
        self.count += 1
        here = self.home / str(self.count)
        (here / "empty").mkdir(parents=True)
        (here / "tiny.toml").write_text(TINY, encoding="utf-8")
        (here / "other.toml").write_text(TINY.replace("[1, 2]", "[1, 2, 4]"), encoding="utf-8")
        self.patch.chdir(here)
        if command == "results":
            for store in ("s.sqlite", "t.sqlite"):
                shutil.copy(stores / store, store)

    @cached_property
    def stores(self) -> Path:
        """The folder of two stores."""
        self.enter("sweep")
        for file, store in (("tiny.toml", "s.sqlite"), ("other.toml", "t.sqlite")):
            assert main(["sweep", file, "--store", store]) == 0
        self.read.readouterr()
        return Path.cwd()

    def effect(self, argv: tuple[str, ...], option: str) -> Any:
        """Return what a command did: its document without the echo of an option, and its files."""
        if argv not in self.known:
            self.known[argv] = self._run(argv)
        document, files = self.known[argv]
        echo = () if option in SWITCHES else (option.strip("-").replace("-", "_"),)
        return without(document, (*echo, *TIMES)), files

    def _run(self, argv: tuple[str, ...]) -> Any:
        self.enter(argv[0])
        before = {path.name for path in Path().iterdir()}
        code = main([*argv, "--json"])
        out, err = self.read.readouterr()
        assert code in (0, 1), err
        return json.loads(out), {
            str(path): "" if path.suffix.startswith(".sqlite") else digest(path)
            for path in sorted(Path().rglob("*"))
            if path.is_file() and path.parts[0] not in before
        }


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture
def folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Folder:
    """Figures and the report take minutes: what is asked of them stands in the document instead."""

    def draw(names: list[str], **asked: Any) -> list[dict[str, Any]]:
        del asked["progress"]
        return [{"figures": names, **{f"asked {key}": str(v) for key, v in asked.items()}}]

    def reproduce(mode: str, out: Path, formats: object, **_: object) -> dict[str, Any]:
        asked = {"asked mode": mode, "asked out": str(out), "asked formats": str(formats)}
        return {"verify": {}, **asked}

    import stemtheory.report.reproduction

    monkeypatch.setattr(sys.modules["stemtheory.report"], "draw_figures", draw)
    monkeypatch.setattr(stemtheory.report.reproduction, "reproduce", reproduce)
    return Folder(tmp_path, monkeypatch, capsys)


def test_every_parameter_has_a_row() -> None:
    rows = {(command, option) for command, table in CHANGES.items() for option in table}
    listed = {pair for pair in parameters() if pair[1] in ELSEWHERE or " ".join(pair) in ELSEWHERE}
    there = set(parameters())
    assert sorted(there - rows - listed) == []
    assert sorted(rows - there) == []  # a row of an option that is gone
    assert sorted(rows & listed) == []


@pytest.mark.parametrize("command", CHANGES)
def test_an_option_shows(command: str, folder: Folder) -> None:
    ignored = []
    for option, (base, more) in CHANGES[command].items():
        second = [*base, *more]
        if (command, option) in PLACES:
            at, value = PLACES[command, option]
            second[at] = value
        assert second != [*base]
        if folder.effect(base, option) == folder.effect(tuple(second), option):
            ignored.append(option)
    assert ignored == []


@pytest.mark.parametrize(("argv", "named"), REFUSED, ids=lambda value: str(value)[-40:])
def test_what_would_change_nothing_is_refused(
    argv: tuple[str, ...], named: str, folder: Folder
) -> None:
    folder.enter(argv[0])
    assert main([*argv, "--json"]) == 2
    out, err = folder.read.readouterr()
    assert out == ""
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert named in err


def test_the_comparison_notices_an_ignored_option(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A seed that is read and thrown away: the document echoes it, and nothing else changes."""
    from stemtheory.runtime import streams

    real = streams.NoiseKey
    monkeypatch.setattr(
        sys.modules["stemtheory.simulator.plan"], "NoiseKey", lambda seed, *rest: real(0, *rest)
    )
    base, more = CHANGES["run"]["--seed"]
    assert folder.effect(base, "--seed") == folder.effect((*base, *more), "--seed")
