"""``pytest --stemtheory``: claims of a pack are tests that fail where they must."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.helpers.sources import ROOT

pytest_plugins = ("pytester",)
EXAMPLE = ROOT / "tests/helpers/example_pack"

# A line that fails as printed, one that says nothing here, and one that nobody can check.
MORE = """
from stemtheory.bounds import Premise
from stemtheory.claims import Claim
from stemtheory.runtime import Verdict


CLAIMS += (
    stated(
        sum_k(norm2(d[t, k])) <= drift(t),
        id="EX-3",
        label="lem:length",
        kind="pathwise",
        statement="Taking the mean off does not shorten the directions.",
        expected={("literal", "all"): Verdict.VIOLATED},
        reason="The mean has a length.",
        repair="EX-1",
    ),
    stated(
        drift(t) <= sum_k(norm2(d[t, k])),
        id="EX-4",
        label="lem:length",
        kind="pathwise",
        statement="As EX-1, of runs that there are none of.",
        premises=lambda case: (Premise("K >= 1000", False),),
    ),
    Claim(
        id="EX-5",
        label="lem:length",
        kind="not-checkable",
        statement="Lengths are lengths.",
        formula="x",
        reason="A definition.",
    ),
)
"""


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """The plugin comes by -p alone, also where it is installed."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))


def pack(folder: Path, name: str, old: str = "", new: str = "") -> str:
    """Return a pack of five claims, with a text of its module replaced."""
    made = folder / name
    shutil.copytree(EXAMPLE, made, ignore=shutil.ignore_patterns("__pycache__"))
    module = made / "directions.py"
    text = module.read_text(encoding="utf-8") + MORE
    assert old in text
    module.write_text(text.replace(old, new, 1), encoding="utf-8")
    return str(made)


def run(pytester: pytest.Pytester, *options: str) -> pytest.RunResult:
    common = ("-p", "stemtheory_pytest", "-p", "no:cacheprovider", "-rs")
    return pytester.runpytest_subprocess(*common, *options)  # modules load on first use


def test_verdicts_as_expected_pass_and_silent_ones_are_skipped(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_own():\n    assert True\n")
    done = run(pytester, "--stemtheory", "--stemtheory-pack", pack(pytester.path, "sound"), "-v")
    assert done.ret == 0
    done.assert_outcomes(passed=4, skipped=2)
    done.stdout.fnmatch_lines(
        [
            "*collected 6 items",
            "*test_own PASSED*",
            "stemtheory:example::EX-1 PASSED*",
            "stemtheory:example::EX-3 PASSED*",
            "*EX-4: inapplicable (holds was expected): unmet is K >= 1000",
            "*EX-5: not-checkable: A definition.",
        ]
    )


MUTANTS = {
    "reversed": ("drift(t) <= sum_k(norm2(d[t, k]))", "sum_k(norm2(d[t, k])) <= drift(t)", "EX-1"),
    "halved": ("1 / (16 * L * I)", "1 / (32 * L * I)", "EX-2"),
    "mended": ("sum_k(norm2(d[t, k])) <= drift(t)", "drift(t) <= sum_k(norm2(d[t, k]))", "EX-3"),
}


@pytest.mark.parametrize("what", MUTANTS)
def test_an_unexpected_verdict_fails_with_both_sides(what: str, pytester: pytest.Pytester) -> None:
    """The mutants: a line reversed, a constant halved, and an expected failure that holds."""
    old, new, failed = MUTANTS[what]
    named = ("--stemtheory", "--stemtheory-pack", pack(pytester.path, what, old, new))
    done = run(pytester, *named)
    assert done.ret == 1
    done.assert_outcomes(passed=2, failed=1, skipped=2)
    text = done.stdout.str()
    assert re.search(rf"_ {failed} _", text)
    expected, found = ("violated", "holds") if what == "mended" else ("holds", "violated")
    assert f": {found}, but {expected} was expected" in text
    left, right = (
        float(re.findall(rf"^  {side} side +(\S+)$", text, re.MULTILINE)[0])
        for side in ("left", "right")
    )
    assert (left > right) == (found == "violated")
    assert "  at t = " in text


def test_claims_are_chosen_by_k(pytester: pytest.Pytester) -> None:
    folder = pack(pytester.path, "chosen")
    done = run(pytester, "--stemtheory", "--stemtheory-pack", folder, "-k", "EX-2 or EX-5")
    done.assert_outcomes(passed=1, skipped=1, deselected=3)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--stemtheory-pack", "stem"), "--stemtheory-pack was given without --stemtheory: add it"),
        (("--stemtheory", "--stemtheory-pack", "stam"), "pack 'stam' is unknown"),
        (("--stemtheory", "--stemtheory-pack", "."), "holds no pack.toml"),
    ],
    ids=["alone", "unknown", "no pack"],
)
def test_bad_options_are_one_sentence(
    options: tuple[str, ...], said: str, pytester: pytest.Pytester
) -> None:
    done = run(pytester, *options)
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    assert [said in line for line in done.stderr.lines if line] == [True]


def test_a_module_that_cannot_be_read_is_one_sentence(pytester: pytest.Pytester) -> None:
    folder = pack(pytester.path, "spoiled", "CLAIMS = (", "1 / 0\nCLAIMS = (")
    done = run(pytester, "--stemtheory", "--stemtheory-pack", folder)
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    assert ["cannot be imported" in line for line in done.stderr.lines if line] == [True]


def test_without_the_option_nothing_of_the_package_is_imported(tmp_path: Path) -> None:
    own = "import sys\ndef test_own():\n    assert not [n for n in sys.modules if n in LOADED]\n"
    (tmp_path / "test_own.py").write_text("LOADED = {'stemtheory', 'numpy'}\n" + own, "utf-8")
    command = [sys.executable, "-m", "pytest", "-p", "stemtheory_pytest", "-q"]
    known = {**os.environ, "PYTHONPATH": str(ROOT)}
    for more, code in (((), 0), (("--stemtheory", "--stemtheory-pack", "stem", "-k", "own"), 1)):
        done = subprocess.run([*command, *more], cwd=tmp_path, env=known, capture_output=True)
        assert done.returncode == code, done.stdout


def test_the_package_announces_the_plugin() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert settings["project"]["entry-points"]["pytest11"] == {"stemtheory": "stemtheory_pytest"}
    assert settings["tool"]["setuptools"]["py-modules"] == ["stemtheory_pytest"]
