"""Bad input: one clear sentence on stderr, nothing on stdout, exit code 2, and no traceback."""

import sys
from pathlib import Path

import pytest

from stemtheory.cli.app import main

RUN = ("run", "geman_mcclure", "stem", "--T", "60", "--replicates", "2", "--dim", "2")

# argv, and words the sentence must contain: what was given, what is allowed, what to do.
CASES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "K 0": ((*RUN, "--K", "0"), ("K is '0'", "whole number of at least 1", "give K=1")),
    "K -3": ((*RUN, "--K", "-3"), ("K is '-3'", "at least 1")),
    "K 2.5": ((*RUN, "--workers", "2.5"), ("K is '2.5'", "whole number")),
    "b 0.5": ((*RUN, "--b", "0.5"), ("b is '0.5'", "at least 1")),
    "b nan": ((*RUN, "--b", "nan"), ("b is 'nan'", "finite number")),
    "b inf": ((*RUN, "--batch", "inf"), ("b is 'inf'", "finite number")),
    "b list": ((*RUN, "--b", "1,2,4"), ("b is '1,2,4'", "finite number")),
    "I 0": ((*RUN, "--I", "0"), ("I is '0'", "at least 1")),
    "I 1.5": ((*RUN, "--local-steps", "1.5"), ("I is '1.5'", "whole number")),
    "T 0": ((*RUN, "--T", "0"), ("T is '0'", "at least 1")),
    "T 1.5": ((*RUN, "--steps", "1.5"), ("T is '1.5'", "whole number")),
    "T inf": ((*RUN, "--T", "1e999"), ("T is '1e999'", "whole number")),
    "T huge": ((*RUN, "--T", "9" * 400), ("T is '9", "...", "below 1e308")),
    "K huge": ((*RUN, "--K", "9" * 5000), ("K is '9", "...", "below 1e308")),
    "seed huge": ((*RUN, "--seed", "9" * 400), ("seed is '9", "below 1e308")),
    "b huge": ((*RUN, "--b", "9" * 400), ("b is '9", "finite number")),
    "B infinite": ((*RUN, "--b", "1e308", "--I", "3"), ("B is inf", "finite number")),
    "L huge": ((*RUN, "--L", "1e300"), ("L is 1e+300", "at most 1e+100", "lower L")),
    "name too long": ((*RUN, "--out", "x" * 300 + ".npz"), ("name too long", "another name")),
    "T word": ((*RUN, "--T", "many"), ("T is 'many'", "whole number")),
    "T empty": ((*RUN, "--T", ""), ("T is ''", "whole number")),
    "B of fedavg": (("run", "cosine", "fedavg", "--B", "7"), ("no initial batch", "leave B out")),
    "T 1e15": ((*RUN, "--T", "1e15"), ("years", "lower one")),
    "replicates 1e15": ((*RUN, "--replicates", "1e15"), ("years", "lower one")),
    "K 1e15": ((*RUN, "--K", "1e15"), ("at most 1e+09", "lower K or dim")),
    "B 0": ((*RUN, "--B", "0"), ("B is '0'", "at least 1")),
    "replicates 0": ((*RUN, "--replicates", "0"), ("replicates is '0'", "at least 1")),
    "replicates 2.5": ((*RUN, "--replicates", "2.5"), ("replicates is '2.5'", "whole number")),
    "dim 0": ((*RUN, "--dim", "0"), ("dim is '0'", "at least 1")),
    "seed -1": ((*RUN, "--seed", "-1"), ("seed is '-1'", "at least 0")),
    "sync batch 0": ((*RUN, "--sync-batch", "0"), ("sync_batch is '0'", "at least 1")),
    "record every": (
        (*RUN, "--record-every", "0.5", "--out", "x.csv"),
        ("record_every is '0.5'", "whole number"),
    ),
    "nu 2": ((*RUN, "--nu", "2"), ("nu is 2", "[0, 1]")),
    "nu -0.1": ((*RUN, "--nu", "-0.1"), ("nu is '-0.1'", "at least 0")),
    "nu nan": ((*RUN, "--nu", "nan"), ("nu is 'nan'", "finite")),
    "nu and b": ((*RUN, "--nu", "0.5", "--b", "2"), ("nu is 0.5 together with b or I", "give nu")),
    "nu and I": ((*RUN, "--nu", "0.5", "--I", "2"), ("nu is 0.5 together with b or I", "give nu")),
    "nu pinned": (("run", "cosine", "fed-stem", "--nu", "0.5"), ("fed-stem fixes it", "choose")),
    "I pinned": (("run", "cosine", "storm", "--I", "2"), ("I is 2", "storm has I = 1")),
    "K pinned": (("run", "cosine", "storm", "--K", "4"), ("K is 4", "one worker", "choose stem")),
    "sigma negative": ((*RUN, "--sigma", "-1"), ("sigma is '-1'", "at least 0")),
    "sigma nan": ((*RUN, "--sigma", "nan"), ("sigma is 'nan'", "finite number")),
    "L 0": ((*RUN, "--L", "0"), ("L is '0'", "above 0")),
    "L infinite": ((*RUN, "--L", "inf"), ("L is 'inf'", "finite number above 0")),
    "zeta negative": ((*RUN, "--zeta", "-1"), ("zeta is", "at least 0")),
    "zeta of one": ((*RUN, "--K", "1", "--zeta", "1"), ("zeta is 1 with K = 1", "set zeta=0")),
    "zeta of none": (
        (*RUN, "--heterogeneity", "none", "--zeta", "1"),
        ("zeta is 1 with heterogeneity none", "choose tilt or sinusoid"),
    ),
    "c above L_f": (
        (*RUN, "--set", "curvature=2"),
        ("do not add up", "sqrt(L^2 - L_n^2) = 0.707107", "Z = -1.29289", "raise L"),
    ),
    "L_n above L": (
        (*RUN, "--set", "noise_smoothness=2"),
        ("L_n is 2", "must not exceed L = 1", "lower L_n or raise L"),
    ),
    "L below its parts": (
        (*RUN, "--L=1", "--set=curvature=1", "--set=het_frequency=1", "--set=noise_smoothness=0.5"),
        ("L is 1", "sqrt((c + Z)^2 + L_n^2) =", "raise L"),
    ),
    "L_n without noise": (
        (*RUN, "--sigma", "0", "--set", "noise_smoothness=0.5"),
        ("noise_smoothness is 0.5 with sigma = 0", "set sigma above 0"),
    ),
    "dial unknown": ((*RUN, "--set", "colour=2"), ("no dial colour", "known are", "spectrum")),
    "dial no number": ((*RUN, "--set", "spectrum=wide"), ("spectrum is 'wide'", "at least 1")),
    "own dial no number": (
        ("run", "cosine", "stem", "--set", "bowl=deep"),
        ("bowl is 'deep'", "finite number"),
    ),
    "dial fades": (
        (*RUN, "--set", "bowl=1e-400"),
        ("--set bowl: 1e-400 would be read as 0", "range"),
    ),
    "dial beyond": ((*RUN, "--set", "spectrum=1e400"), ("1e400 would be read as inf", "range")),
    "dial nan": ((*RUN, "--set", "curvature=nan"), ("curvature is nan", "above 0")),
    "dial no truth": ((*RUN, "--set", "rotate=perhaps"), ("rotate is 'perhaps'", "true or false")),
    "dial twice": ((*RUN, "--L", "1", "--set", "L=2"), ("L was given twice", "leave one out")),
    "set no pair": ((*RUN, "--set", "rotate"), ("--set rotate", "key=value", "write")),
    "set a flag": ((*RUN, "--set", "K=2"), ("--set K=2", "write --K 2")),
    "schedule option": (
        (*RUN, "--set", "schedule.kappa=1"),
        ("schedule option 'kappa' is unknown", "drop it"),
    ),
    "schedule option of a check": (
        ("check", "cosine", "--set", "schedule.eta=1"),
        ("schedule.eta is for the command run alone", "leave it out"),
    ),
    "algorithm option of a check": (
        ("check", "cosine", "--set", "algorithm.mu=1"),
        ("algorithm.mu is for the command run alone", "leave it out"),
    ),
    "schedule option of an advice": (
        ("advise", "--epsilon", "0.1", "--problem", "cosine", "--set", "schedule.eta=1"),
        ("schedule.eta is for the command run alone", "leave it out"),
    ),
    "schedule lacks": ((*RUN, "--schedule", "constant"), ("needs eta and a", "give a value")),
    "schedule part": (
        (*RUN, "--schedule", "rstar", "--set", "schedule.part=z"),
        ("schedule option 'part' 'z' is unknown; known are a, b, c, d, e", "choose one"),
    ),
    "schedule part of FedAvg": (
        ("run", "cosine", "fedavg", "--schedule", "rstar"),
        ("'rstar' is STEM's alone", "give calibrated"),
    ),
    "floor of constant steps": (
        ("bound", "stem-rstar-b", "--epsilon", "1e-9", "--b", "1", "--I", "2"),
        ("stays above", "raise epsilon, b or I"),
    ),
    "schedule": ((*RUN, "--schedule", "fast"), ("'fast' is unknown", "calibrated, constant")),
    "schedule not fedavg's": (
        ("run", "cosine", "fedavg", "--schedule", "practical"),
        ("STEM's alone", "give calibrated"),
    ),
    "problem": (("run", "nope"), ("problem 'nope' is unknown", "cosine", "geman_mcclure")),
    "problem misprint": (("run", "quadratik"), ("did you mean quadratic?",)),
    "user problem": (("run", "no_such_module:X"), ("cannot be loaded", "package.module:NAME")),
    "user problem empty": (("run", ":X"), ("cannot be loaded", "package.module:NAME")),
    "algorithm": (("run", "cosine", "adam"), ("'adam' is unknown", "fedavg", "stem")),
    "noise": ((*RUN, "--noise", "pink"), ("noise 'pink' is unknown", "additive", "phase")),
    "heterogeneity": ((*RUN, "--heterogeneity", "x"), ("'x' is unknown", "sinusoid", "tilt")),
    "sync": ((*RUN, "--sync", "never"), ("'never' is unknown", "average-first", "literal")),
    "sync of fedavg": (
        ("run", "cosine", "fedavg", "--sync", "overwrite"),
        ("fedavg has one reading only", "choose stem"),
    ),
    "dtype": ((*RUN, "--dtype", "float16"), ("'float16' is unknown", "float32, float64")),
    "backend": ((*RUN, "--backend", "tpu"), ("'tpu' is unknown", "cupy", "numpy")),
    "engine": ((*RUN, "--engine", "steam"), ("'steam' is unknown", "array", "auto")),
    "x1 word": ((*RUN, "--x1", "far"), ("x1 is 'far'", "finite number")),
    "x1 nan": ((*RUN, "--start", "1,nan"), ("x1 is 'nan'", "finite number")),
    "x1 length": ((*RUN, "--x1", "1,2,3"), ("x1 has shape (3,)", "2 of them")),
    "out ending": ((*RUN, "--out", "trace.txt"), ("trace.txt", ".npz, .json, .csv", "choose")),
    "plot ending": ((*RUN, "--plot", "plot.gif"), ("plot.gif", ".png, .pdf, .svg", "choose")),
    "bound": (("bound", "nope"), ("'nope' is unknown", "fedavg-theorem", "stem-theorem")),
    "epsilon 0": (("bound", "stem-theorem", "--epsilon", "0"), ("epsilon is '0'", "above 0")),
    "epsilon nan": (("bound", "stem-theorem", "--epsilon", "nan"), ("epsilon is 'nan'",)),
    "epsilon and T": (
        ("bound", "stem-theorem", "--epsilon", "1e-3", "--T", "5"),
        ("T is 5 together with epsilon 1e-3", "leave one of them out"),
    ),
    "bound without B": (
        ("bound", "fedavg-theorem", "--B", "5"),
        ("B or sync_batch was given", "FedAvg, which has neither", "leave them out"),
    ),
    "bound without sync batch": (
        ("bound", "fedavg-theorem", "--sync-batch", "2"),
        ("FedAvg, which has neither",),
    ),
    "bound that sets b": (
        ("bound", "minibatch-sgd", "--b", "2", "--I", "1"),
        ("sets I = 1 and b = T/(81 K L^2) itself", "choose fedavg-theorem"),
    ),
    "bound K": (("bound", "stem-theorem", "--K", "0"), ("K is '0'", "at least 1")),
    "bound T": (("bound", "stem-theorem", "--T", "1.5"), ("T is '1.5'", "whole number")),
    "bound nu and b": (
        ("bound", "stem-theorem", "--nu", "0.5", "--b", "2"),
        ("nu is 0.5 together with b or I",),
    ),
    "bound nu": (("bound", "stem-theorem", "--nu", "1.5"), ("nu is 1.5", "[0, 1]")),
    "bound zeta": (
        ("bound", "stem-theorem", "--K", "1", "--zeta", "1"),
        ("zeta is 1 with K = 1", "set zeta=0"),
    ),
    "bound gap": (("bound", "stem-theorem", "--gap", "-1"), ("gap is '-1'", "at least 0")),
    "bound L": (("bound", "fedavg-theorem", "--L", "nan"), ("L is 'nan'", "above 0")),
    "bound grad": (("bound", "fedavg-theorem", "--grad-sq", "-1"), ("grad_sq is '-1'",)),
    "bound overflow": (
        ("bound", "stem-theorem", "--L", "1e300", "--gap", "1e300"),
        ("not finite", "smaller"),
    ),
    "list": (("list", "birds"), ("'birds' is unknown", "algorithms", "problems")),
    "figure": (("figure", "nope"), ("figure 'nope' is unknown", "known are")),
    "figure none": (("figure",), ("no figure was named", "known are")),
    "figure modes": (("figure", "all", "--quick", "--full"), ("exclude each other", "give one")),
    "reproduce modes": (("reproduce", "--quick", "--full"), ("exclude each other", "give one")),
    # what the parser itself finds
    "command": (("ruin",), ("No such command 'ruin'", "known are", "run", "see stemtheory --help")),
    "option": ((*RUN, "--colour", "red"), ("--colour", "see stemtheory run --help")),
    "argument": (("run",), ("Missing argument 'PROBLEM'", "see stemtheory run --help")),
    "value": (("run", "cosine", "--T"), ("--T", "requires an argument", "--help")),
    "too many": (("run", "cosine", "stem", "more"), ("more", "see stemtheory run --help")),
}


def one_sentence(argv: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> str:
    """Run a command that must be refused, and return its sentence."""
    assert main(argv) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error: ")
    assert err.endswith((".\n", "?\n"))
    assert err.count("\n") == 1
    assert "Traceback" not in err
    assert "Usage" not in err
    return err


@pytest.mark.parametrize(("argv", "words"), CASES.values(), ids=CASES)
def test_bad_input_is_one_sentence(
    argv: tuple[str, ...], words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    sentence = one_sentence(argv, capsys)
    assert [word for word in words if word not in sentence] == []
    if argv[0] != "ruin":  # what the parser does not know has no --json
        assert one_sentence((argv[0], "--json", *argv[1:]), capsys) == sentence


@pytest.mark.parametrize("option", ["--out", "--plot"])
def test_an_unwritable_folder_is_found_before_the_run(
    option: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise AssertionError("the run was started")

    monkeypatch.setattr(sys.modules["stemtheory.simulator"], "simulate", fail)
    (tmp_path / "file").write_text("", encoding="utf-8")
    (tmp_path / "folder.npz").mkdir()
    ending = {"--out": "npz", "--plot": "png"}[option]
    for place in (tmp_path / "missing", tmp_path / "file"):
        sentence = one_sentence((*RUN, option, str(place / f"x.{ending}")), capsys)
        assert str(place) in sentence
        assert "cannot be written (" in sentence
    if option == "--out":
        sentence = one_sentence((*RUN, option, str(tmp_path / "folder.npz")), capsys)
        assert "is a folder" in sentence


@pytest.mark.parametrize("argv", [("figure", "all"), ("reproduce", "--quick")], ids=" ".join)
def test_an_unwritable_folder_of_results(
    argv: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    sentence = one_sentence((*argv, "--out", str(tmp_path / "file" / "out")), capsys)
    assert str(tmp_path / "file") in sentence


def test_the_judge_of_sentences_rejects_good_input(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(AssertionError):
        one_sentence(("list", "problems"), capsys)
