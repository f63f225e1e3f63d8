"""The command line in process: exit codes, JSON, files, and what is printed for people."""

import csv
import json
import math
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stemtheory import bounds, load_problem, simulate
from stemtheory.bounds.verdicts import document, margins
from stemtheory.cli.app import main
from stemtheory.runtime.jsontext import to_json
from stemtheory.simulator.trace import Trace
from tests.helpers.sources import ROOT

RUN_KEYS = """
    problem algorithm sync T T_requested K b I B dim dtype engine backend seed version constants
    exact dials grad_sq_start mean_grad_sq stderr ci95 mean_grad_sq_finite status
    diverged_replicates samples_per_worker samples_total draws_per_worker rounds exchanges
    vectors_up vectors_down bounds margins schedule
"""
SMALL = ("--T", "60", "--replicates", "4", "--dim", "2")
DIVERGING = ("--schedule", "constant", "--set", "schedule.eta=1e3", "--set", "schedule.a=1")


def ask(capsys: pytest.CaptureFixture[str], *argv: str, code: int = 0) -> Any:
    """Run a command with --json and return its document; nothing else may be printed."""
    assert main([*argv, "--json"]) == code
    out, err = capsys.readouterr()
    assert err == ""
    return json.loads(out, parse_constant=pytest.fail)


def nulls(value: Any, path: str = "") -> Iterator[str]:
    """Yield the dotted path of every null."""
    if value is None:
        yield path
    items = value.items() if isinstance(value, dict) else ()
    for key, item in items:
        yield from nulls(item, f"{path}.{key}" if path else key)


def test_no_argument_prints_the_help_and_ends_with_0(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    out, err = capsys.readouterr()
    assert "Usage: stemtheory" in out
    assert err == ""
    for command in ("doctor", "list", "bound", "run", "figure", "reproduce"):
        assert command in out
        assert main([command, "--help"]) == 0
        assert f"Usage: stemtheory {command}" in capsys.readouterr().out


def test_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("stemtheory ")


def test_doctor_says_why_there_is_no_gpu(capsys: pytest.CaptureFixture[str]) -> None:
    found = ask(capsys, "doctor")
    assert {"stemtheory", "python", "numpy", "scipy", "matplotlib"} <= found["versions"].keys()
    assert found["backend"] in ("numpy", "cupy")
    assert found["reason"]
    assert set(nulls(found)) == set(found["reasons"])


KINDS = ("problems", "algorithms", "bounds", "claims", "sweeps", "figures")


@pytest.mark.parametrize("kind", KINDS)
def test_list(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    rows = ask(capsys, "list", kind)[kind]
    assert all(row["name"] and row["summary"] for row in rows)
    assert main(["list", kind]) == 0
    out = capsys.readouterr().out
    assert all(row["name"] in out for row in rows)


def test_list_knows_the_entries(capsys: pytest.CaptureFixture[str]) -> None:
    problems = {row["name"]: row for row in ask(capsys, "list", "problems")["problems"]}
    assert problems["geman_mcclure"]["nonconvex"] is True
    assert problems["quadratic"]["nonconvex"] is False
    algorithms = {row["name"]: row for row in ask(capsys, "list", "algorithms")["algorithms"]}
    assert algorithms["storm"]["fixes"] == {"I": 1, "K": 1}


def test_bound_agrees_with_the_library(capsys: pytest.CaptureFixture[str]) -> None:
    found = ask(capsys, "bound", "stem-theorem", "--steps", "1e4", "--b", "2.5", "--I", "3")
    setting = bounds.Setting(10002, 4, 2.5, 3, 1.0, 0.5, 1.0, 1.0)
    expected = bounds.evaluate("stem-theorem", setting)
    assert (found["T"], found["T_requested"]) == (10002, 10000)
    assert found["value"] == expected.value
    assert math.fsum(found["terms"].values()) == pytest.approx(found["value"], rel=1e-12)
    assert {p["name"]: p["ok"] for p in found["premises"]} == dict(expected.premises)
    assert found["vacuous_reference"]["name"] == "2 L gap"
    assert set(nulls(found)) == set(found["reasons"])


@pytest.mark.parametrize("name", sorted(bounds.BOUNDS))
def test_bound_with_epsilon_is_the_smallest_T(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    found = ask(capsys, "bound", name, "--epsilon", "1e-3")
    assert found["value"] <= 1e-3
    assert found["T"] == found["rounds"] * found["I"]
    assert found["samples_total"] == found["K"] * found["samples_per_worker"]
    assert set(nulls(found)) == set(found["reasons"])
    again = ask(capsys, "bound", name, "--T", str(found["T"]))
    assert again["value"] == pytest.approx(found["value"], rel=1e-9)
    assert main(["bound", name, "--epsilon", "1e-3"]) == 0
    assert "smallest T" in capsys.readouterr().out


def test_bound_against_a_given_start(capsys: pytest.CaptureFixture[str]) -> None:
    found = ask(capsys, "bound", "stem-log-free", "--grad-sq", "0.25")
    assert found["vacuous_reference"] == {"name": "grad_sq", "value": 0.25}
    assert found["vacuous"] is False
    assert ask(capsys, "bound", "stem-log-free", "--grad-sq", "1e-9")["vacuous"] is True


def test_run_has_the_keys_scripts_rely_on(capsys: pytest.CaptureFixture[str]) -> None:
    found = ask(capsys, "run", "geman_mcclure", "stem", *SMALL)
    assert found.keys() >= set(RUN_KEYS.split())
    assert set(nulls(found)) == set(found["reasons"]) == {"diverged_at"}
    stem = {name for name, formula in bounds.BOUNDS.items() if formula.algorithm == "stem"}
    stem = {name for name in stem if bounds.BOUNDS[name].schedule == "theorem"}
    assert found["bounds"].keys() == found["margins"].keys() == found["verdicts"].keys() == stem
    trace = simulate(load_problem("geman_mcclure", dim=2), T=60, replicates=4)
    assert found["mean_grad_sq"] == trace.mean_grad_sq
    high = found["ci95"][1]
    assert found["margins"] == {n: pytest.approx(v / high) for n, v in found["bounds"].items()}


def test_run_says_how_many_links_of_a_chain_were_found(capsys: pytest.CaptureFixture[str]) -> None:
    run = ["run", "split_chain", "fedavg", "--K", "2", "--dim", "4", "--I", "64", "--b", "1"]
    run += ["--schedule", "constant", "--set", "schedule.eta=1", "--replicates", "2"]
    found = ask(capsys, *run, "--T", "640")
    assert (found["chain"]["links"], found["chain"]["found"]) == (4, 4)
    assert found["chain"]["arrived_replicates"] == 2
    assert 3 * 64 < found["chain"]["arrived_at"] <= 640
    assert set(found["x1"]) == {0}
    assert set(nulls(found)) == set(found["reasons"])
    short = ask(capsys, *run, "--T", "64")
    assert set(nulls(short)) == set(short["reasons"])
    assert "chain.arrived_at" in short["reasons"]
    assert main([*run, "--T", "64"]) == 0
    assert "1 of 4, the end by 0 of 2 replicates" in capsys.readouterr().out


def test_letters_and_words_are_the_same_options(capsys: pytest.CaptureFixture[str]) -> None:
    letters = ["--T", "6_0", "--K", "2", "--b", "2", "--I", "2", "--B", "3", "--x1", "-0.5"]
    words = ["--steps", "60.0", "--workers", "2e0", "--batch", "2", "--local-steps", "2"]
    words += ["--initial-batch", "3", "--start=-0.5"]
    first = ask(capsys, "run", "cosine", "stem", "--replicates", "4", *letters)
    assert first == ask(capsys, "run", "cosine", "stem", "--replicates", "4", *words)
    assert (first["K"], first["b"], first["I"], first["B"]) == (2, 2, 2, 3)
    assert set(first["x1"]) == {-0.5}


def test_defaults(capsys: pytest.CaptureFixture[str]) -> None:
    found = ask(capsys, "run", "quadratic", "--replicates", "2")
    expected = {
        "algorithm": "stem",
        "K": 4,
        "dim": 8,
        "T_requested": 4096,
        "nu": 0.5,
        "seed": 0,
        "sync": "literal",
        "dtype": "float64",
        "x1": [1.0] * 8,
    }
    assert {key: found[key] for key in expected} == expected
    assert found["schedule"]["name"] == "theorem"
    constants = found["constants"]
    assert (constants["L"], constants["sigma"], constants["zeta"]) == (1, 0.5, 1)
    assert (found["dials"]["noise"], found["dials"]["heterogeneity"]) == ("phase", "sinusoid")


def test_one_worker_has_no_heterogeneity(capsys: pytest.CaptureFixture[str]) -> None:
    assert ask(capsys, "run", "cosine", "stem", "--K", "1", *SMALL)["constants"]["zeta"] == 0
    storm = ask(capsys, "run", "cosine", "storm", *SMALL)
    assert (storm["K"], storm["I"], storm["constants"]["zeta"]) == (1, 1, 0)
    assert ask(capsys, "bound", "stem-theorem", "--K", "1")["constants"]["zeta"] == 0


def test_set_reaches_the_dials_and_the_schedule(capsys: pytest.CaptureFixture[str]) -> None:
    pairs = ("curvature=0.3", "spectrum=10", "rotate=true", "bowl=0.25", "schedule.kappa=0.2")
    argv = [part for pair in pairs for part in ("--set", pair)]
    found = ask(capsys, "run", "cosine", "stem", "--schedule", "practical", *argv, *SMALL)
    dials = found["dials"]
    assert (dials["curvature"], dials["spectrum"], dials["bowl"]) == (0.3, 10, 0.25)
    assert dials["rotate"] is True
    assert found["schedule"]["kappa"] == 0.2
    assert "schedule theorem" in found["unmet"].values()


def test_a_start_point_in_coordinates(capsys: pytest.CaptureFixture[str]) -> None:
    found = ask(capsys, "run", "cosine", "stem", "--x1", "-1,2e-1", *SMALL)
    assert found["x1"] == [-1, 0.2]


def test_run_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "geman_mcclure", "stem", "--T", "1000", "--b", "2", "--I", "3"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert "T was rounded up from 1000 to 1002, a multiple of I = 3" in out
    for text in ("measured M", "95% interval", "||grad f(x1)||^2", "stem-theorem", "vacuous"):
        assert text in out
    assert f"cost: {2 * 3 + 2 * 2 * 1002:,} samples per worker" in out


def test_a_user_problem_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "from stemtheory.problems.quadratic import ENTRY\nMINE = ENTRY\n"
    (tmp_path / "cli_test_problem.py").write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    found = ask(capsys, "run", "cli_test_problem:MINE", "fedavg", *SMALL)
    assert found["problem"] == "cli_test_problem:MINE"


@pytest.mark.parametrize("ending", ["npz", "json", "csv"])
def test_out_holds_the_trace(
    ending: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / f"trace.{ending}"
    found = ask(capsys, "run", "cosine", "stem", *SMALL, "--out", str(path))
    assert found["files"] == [str(path)]
    assert [p.name for p in tmp_path.iterdir()] == [path.name]
    if ending == "npz":
        trace = Trace.load(path)
        assert trace.mean_grad_sq == found["mean_grad_sq"]
        assert len(trace.times) > 20
    elif ending == "json":
        whole = json.loads(path.read_text())
        assert np.mean(whole["grad_sq"]) == pytest.approx(found["mean_grad_sq"], rel=1e-12)
        assert whole["record"]["times"][-1] == 60
    else:
        rows = list(csv.DictReader(path.read_text().splitlines()))
        last = [float(row["running"]) for row in rows if row["t"] == "60"]
        assert np.mean(last) == pytest.approx(found["mean_grad_sq"], rel=1e-12)


def test_record_every_is_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "trace.npz"
    ask(capsys, "run", "cosine", "stem", *SMALL, "--record-every", "25", "--out", str(path))
    assert list(Trace.load(path).times) == [25, 50, 60]


SIGNATURES = {"png": b"\x89PNG", "pdf": b"%PDF", "svg": b"<?xml"}


@pytest.mark.parametrize("ending", SIGNATURES)
def test_plot_is_a_picture_and_repeats(
    ending: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    contents = []
    for name in ("a", "b"):
        path = tmp_path / f"{name}.{ending}"
        ask(capsys, "run", "cosine", "stem", *SMALL, "--plot", str(path))
        contents.append(path.read_bytes())
    assert contents[0].startswith(SIGNATURES[ending])
    assert contents[0] == contents[1]


def test_a_diverged_run_ends_with_1_and_still_writes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, plot = tmp_path / "trace.npz", tmp_path / "plot.png"
    files = ("--out", str(out), "--plot", str(plot))
    found = ask(capsys, "run", "quadratic", "stem", "--T", "999", *DIVERGING, *files, code=1)
    assert found["status"] == "diverged"
    assert found["mean_grad_sq"] is None
    assert 1 < found["diverged_at"] < 999
    assert set(nulls(found)) == set(found["reasons"])
    assert Trace.load(out).status == "diverged"
    assert plot.stat().st_size > 0
    assert main(["run", "quadratic", "stem", "--T", "999", *DIVERGING]) == 1
    text = capsys.readouterr().out
    assert f"32 of 32 replicates diverged, the first at step {found['diverged_at']}" in text


def test_a_start_beyond_the_numbers_is_null_with_a_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plot = ("--plot", str(tmp_path / "empty.png"))
    found = ask(capsys, "run", "quadratic", "stem", "--x1", "1e200", *SMALL, *plot, code=1)
    assert found["constants"]["gap"] is None
    assert found["grad_sq_start"] is None
    assert set(nulls(found)) == set(found["reasons"])


def test_unbounded_noise_leaves_every_bound_unsaid(capsys: pytest.CaptureFixture[str]) -> None:
    found = ask(capsys, "run", "quadratic", "stem", "--noise", "multiplicative", *SMALL)
    assert set(found["verdicts"].values()) == {"inapplicable"}
    assert set(found["unmet"].values()) == {"sigma is finite"}
    assert set(found["bounds"].values()) == {None}
    assert set(nulls(found)) == set(found["reasons"])


def test_one_replicate_decides_nothing_unless_there_is_no_noise(
    capsys: pytest.CaptureFixture[str],
) -> None:
    noisy = ask(capsys, "run", "quadratic", "stem", "--replicates", "1", "--T", "60")
    assert set(noisy["verdicts"].values()) <= {"undecided", "inapplicable"}
    assert set(noisy["unmet"].values()) <= {"I >= 2"}
    assert set(nulls(noisy)) == set(noisy["reasons"])
    quiet = ("--replicates", "1", "--sigma", "0", "--T", "4096")
    assert ask(capsys, "run", "quadratic", "stem", *quiet)["verdicts"]["stem-repaired"] == "holds"


def _with_mean(trace: Trace, mean: float) -> Trace:
    """Return a trace whose replicates lie within 1 % of ``mean``."""
    spread = np.linspace(0.99, 1.01, trace.replicates)
    return Trace(**{**vars(trace), "grad_sq": mean * spread})


def test_verdicts_by_where_the_interval_lies() -> None:
    trace = simulate(load_problem("geman_mcclure"), replicates=4)
    value = next(m for m in margins(trace) if m.name == "stem-repaired").value
    assert value is not None
    for factor, verdict in ((0.5, "holds"), (1, "undecided"), (2, "violated")):
        shifted = _with_mean(trace, factor * value)
        (found,) = [m for m in margins(shifted) if m.name == "stem-repaired"]
        assert found.verdict == verdict
        assert found.margin == pytest.approx(1 / factor, rel=0.05)
    lost = _with_mean(trace, 1e9)  # above even the vacuous bounds
    assert {m.verdict for m in margins(lost)} == {"violated"}
    assert document(lost, margins(lost))["verdicts"]["stem-theorem"] == "violated"


def test_a_violated_bound_ends_with_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    trace = simulate(load_problem("geman_mcclure"), T=60, replicates=4)
    module = sys.modules["stemtheory.simulator"]
    monkeypatch.setattr(module, "simulate", lambda *_, **__: _with_mean(trace, 1e9))
    assert ask(capsys, "run", "geman_mcclure", code=1)["verdicts"]["stem-theorem"] == "violated"


def test_a_control_that_breaks_nothing_is_no_violation(capsys: pytest.CaptureFixture[str]) -> None:
    found = ask(capsys, "run", "cosine", "stem", "--sync", "overwrite", "--replicates", "2")
    assert set(found["verdicts"].values()) == {"inapplicable"}
    assert set(found["unmet"].values()) == {"sync literal or average-first"}


def test_json_text_is_strict() -> None:
    numbers = {"a": np.float64("nan"), "b": [1.0, np.inf], "c": np.int64(3), "d": np.arange(2)}
    found = json.loads(to_json({**numbers, "reasons": {"e": "kept"}}), parse_constant=pytest.fail)
    assert (found["a"], found["b"], found["c"], found["d"]) == (None, [1.0, None], 3, [0, 1])
    assert found["reasons"].keys() == {"a", "b.1", "e"}


@pytest.mark.parametrize(
    "argv",
    [("list", "problems"), ("run", "--help"), ("run", "cosine", "stem", *SMALL, "--json")],
    ids=" ".join,
)
def test_a_reader_that_leaves_early_is_no_error(argv: tuple[str, ...]) -> None:
    command = [sys.executable, "-m", "stemtheory", *argv]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_cleanly(
    number: signal.Signals, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The signal arrives while the run is under way, which the simulator itself arranges."""
    module = sys.modules["stemtheory.simulator"]
    real = module.simulate

    def interrupted(*args: Any, **options: Any) -> Trace:
        signal.raise_signal(number)
        trace: Trace = real(*args, **options)
        return trace

    monkeypatch.setattr(module, "simulate", interrupted)
    before = signal.getsignal(number)
    out = tmp_path / "trace.npz"
    assert main(["run", "cosine", "stem", *SMALL, "--out", str(out)]) == 128 + number
    assert list(tmp_path.iterdir()) == []
    assert signal.getsignal(number) is before


HOOKS = {
    "array": ("simulator.array_engine", "run_group"),
    "fused": ("simulator.fused.groups", "run_group"),
}


@pytest.mark.parametrize("engine", HOOKS)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_long_run_with_one_sentence(number: signal.Signals, engine: str) -> None:
    if engine == "fused":
        pytest.importorskip("numba")
    module, hook = HOOKS[engine]
    code = (
        "import os, sys\n"
        f"import stemtheory.{module} as engine\n"
        "from stemtheory import cli\n"
        f"real = engine.{hook}\n"
        "def started(*args, **options):\n"
        "    os.write(1, b'running\\n')\n"  # in one piece, whichever thread is first
        "    return real(*args, **options)\n"
        f"engine.{hook} = started\n"
        "sys.exit(cli.main(['run', 'cosine', 'stem', '--T', '1e7', '--replicates', '4096',"
        f" '--engine', '{engine}']))\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    ) as process:
        watchdog = threading.Timer(120, process.kill)  # a run that never starts must not hang
        watchdog.start()
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "running\n"
            process.send_signal(number)
            _, err = process.communicate()
        finally:
            watchdog.cancel()
            process.kill()
    assert process.returncode == 128 + number
    said = [line for line in err.splitlines() if not line.startswith("stemtheory: compiling")]
    assert said == [f"error: stopped by {number.name}; no half-written file was left."]


def test_main_works_outside_of_the_main_thread(capsys: pytest.CaptureFixture[str]) -> None:
    codes: list[int] = []
    thread = threading.Thread(target=lambda: codes.append(main(["list", "problems"])))
    thread.start()
    thread.join()
    assert codes == [0]
    assert "geman_mcclure" in capsys.readouterr().out


def test_a_failure_inside_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from stemtheory.cli import inventory

    def fail() -> None:
        raise RuntimeError("first line\nsecond line")

    monkeypatch.setattr(inventory, "examine", fail)
    monkeypatch.delenv("STEMTHEORY_DEBUG", raising=False)
    assert main(["doctor"]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert "RuntimeError: first line second line" in err


def test_starting_loads_neither_pictures_nor_tables() -> None:
    code = (
        "import sys, stemtheory.cli.app\n"
        "heavy = ('matplotlib', 'scipy.stats', 'pandas', 'numba', 'cupy')\n"
        "print([name for name in heavy if name in sys.modules])\n"
        "stemtheory.cli.app.main(['run', 'geman_mcclure', '--T', '60', '--json'])\n"
        "print([name for name in heavy[:3] if name in sys.modules])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True
    )
    lines = done.stdout.splitlines()
    assert (lines[0], lines[-1]) == ("[]", "[]")
