"""Kernels on disk: kept between processes, and never mistaken for another."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

pytest.importorskip("numba", reason="the fused engine is compiled by numba")

from stemtheory import load_problem
from stemtheory.runtime import cache_folder
from stemtheory.simulator.fused import source
from stemtheory.simulator.fused.fingerprint import fingerprint
from stemtheory.simulator.fused.recipe import KernelPart, make_recipe
from tests.helpers.sources import PACKAGE, ROOT

SCRIPT = """
from stemtheory import load_problem, simulate
trace = simulate(load_problem("quadratic", sigma=0, zeta=0), "fedavg", T=8, b=1, I=2,
                 engine="fused", replicates=1)
print(repr(trace.grad_sq[0]))
"""
SAID = "compiling the fused kernel of quadratic in float64, once"


def _run(cache: Path, tree: Path = ROOT) -> Any:
    """Return a process that runs SCRIPT with the package of a tree."""
    environment = {**os.environ, "STEMTHEORY_CACHE": str(cache), "PYTHONPATH": str(tree)}
    command = [sys.executable, "-c", SCRIPT]
    return subprocess.run(
        command, env=environment, cwd=tree, capture_output=True, text=True, check=True
    )


def _copied(tree: Path, **changes: tuple[str, str]) -> Path:
    """Return a copy of the package with a text exchanged in some files."""
    shutil.copytree(PACKAGE, tree / "stemtheory")
    files = {"kernel": "simulator/fused/kernel.py", "quadratic": "problems/quadratic.py"}
    for name, (old, new) in changes.items():
        path = tree / "stemtheory" / files[name]
        text = path.read_text(encoding="utf-8")
        assert text.count(old) == 1
        path.write_text(text.replace(old, new), encoding="utf-8")
    return tree


@pytest.mark.slow
def test_two_environments_share_a_kernel(tmp_path: Path) -> None:
    """Also where comments are others; a formula that is another is another kernel."""
    cache, double = tmp_path / "cache", "\n    return weight * x\n"
    first = _run(cache)
    assert SAID in first.stderr
    said = {
        "kernel": ("Book ||grad f(xbar_t)||^2;", "Other words;"),
        "quadratic": (double, f"\n #{double}"),
    }
    second = _run(cache, _copied(tmp_path / "elsewhere", **said))
    assert (second.stderr, second.stdout) == ("", first.stdout)
    assert len(list(cache.glob("kernel_*.py"))) == 1
    mutant = {"quadratic": (double, double.replace("x", "(x + x)"))}
    third = _run(cache, _copied(tmp_path / "mutant", **mutant))
    assert SAID in third.stderr
    assert third.stdout != first.stdout


def _name(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, dtype: str = "float64", **dials: Any
) -> str:
    monkeypatch.setenv("STEMTHEORY_CACHE", str(tmp_path))
    monkeypatch.setattr(source, "_loaded", {})
    recipe = make_recipe(load_problem("cosine", **dials))  # type: ignore[arg-type]
    return source.load_kernel(recipe, "stem", dtype).module.__name__


def test_dials_share_a_kernel_and_formulas_do_not(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    first = _name(monkeypatch, tmp_path)
    assert _name(monkeypatch, tmp_path, sigma=0.9, K=7, dim=3) == first
    others = {
        _name(monkeypatch, tmp_path, dtype="float32"),
        _name(monkeypatch, tmp_path, noise="additive"),
        _name(monkeypatch, tmp_path, spectrum=4.0),
        _name(monkeypatch, tmp_path, heterogeneity="tilt"),
    }
    assert len(others | {first}) == 5


def test_a_changed_source_is_another_kernel() -> None:
    """Of comments none is; a row more in a copied text is, and so is another constant."""
    recipe = make_recipe(load_problem("cosine"))  # type: ignore[arg-type]
    text = source.kernel_text(recipe, "stem", "float64", cache=True)
    before = source._digest(text, recipe)
    assert source._digest(text + "  # of no matter\n", recipe) == before
    assert source._digest(text.replace("d waits for", "d awaits"), recipe) == before
    changed = text.replace("fma(-eta, S[e + D], S[e])", "fma(eta, S[e + D], S[e])")
    assert changed != text
    assert source._digest(changed, recipe) != before
    assert source._digest(text.replace("Scalar(-2)", "Scalar(-3)"), recipe) != before


@pytest.mark.parametrize("name", ["elementary.py", "normals.py", "parts.py", "DIVERGED"])
def test_what_a_kernel_imports_is_a_part_of_it(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    before, original = source._foundations.__wrapped__(), Path.read_text

    def changed(more: str) -> Any:
        def read(self: Path, **options: Any) -> str:
            return original(self, **options) + (more if self.name == name else "")

        monkeypatch.setattr(Path, "read_text", read)
        return source._foundations.__wrapped__()

    assert changed("# a comment\n") == before
    if name == "DIVERGED":
        monkeypatch.setattr(source, "DIVERGED", 2.0)
    assert changed("more = 1\n") != before


def test_a_damaged_module_is_written_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("STEMTHEORY_CACHE", str(tmp_path))
    path = tmp_path / "kernel_x.py"
    for kept, stays in (("x = 1  # one\n", True), ("x = (\n", False), ("x = 2\n", False)):
        path.write_text(kept, encoding="utf-8")
        assert source._write("x = 1\n", path.name) == path
        assert (path.read_text(encoding="utf-8") == kept) is stays


def test_the_folder_is_the_users_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("STEMTHEORY_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "stemtheory" / "kernels"
    path = source._write("x = 1\n", "kernel_x.py")
    assert path is not None
    assert path.parent.stat().st_mode & 0o077 == 0
    stamp = path.stat().st_mtime_ns
    assert source._write("x = 1\n", "kernel_x.py") == path
    assert path.stat().st_mtime_ns == stamp  # numba would compile a touched file anew


POWER = 1.0


def _scaled(x: Any, weight: Any) -> Any:
    return weight * x * POWER


def test_a_constant_elsewhere_is_another_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    before = fingerprint(_scaled)
    assert fingerprint(_scaled) == before
    monkeypatch.setitem(globals(), "POWER", 0.25)
    assert fingerprint(_scaled) != before
    monkeypatch.setitem(globals(), "POWER", np.array([1.0]))
    assert fingerprint(_scaled) != before


def _nested(x: Any, weight: Any) -> Any:
    return sum([power * weight * x * POWER for power in (1, 2)])


def _elsewhere(x: Any, weight: Any) -> Any:
    return weight * x * constants.POWER


constants: Any = ModuleType("constants")
constants.POWER = 1.0


@pytest.mark.parametrize("formula", [_nested, _elsewhere])
def test_a_constant_in_a_nested_code_or_in_a_module(
    monkeypatch: pytest.MonkeyPatch, formula: Any
) -> None:
    before = fingerprint(formula)
    monkeypatch.setitem(globals(), "POWER", 0.25)
    monkeypatch.setattr(constants, "POWER", 0.25)
    assert fingerprint(formula) != before


def test_what_is_written_about_a_formula_is_no_part_of_it() -> None:
    prints = set()
    for said in ("one", "two"):
        names: dict[str, Any] = {}
        exec(f"def slope(x, weight):\n    '{said}'\n    return weight * x", names)
        prints.add(fingerprint(names["slope"]))
    assert len(prints) == 1


def test_a_formula_that_is_typed_in_is_not_kept() -> None:
    """One more mutant: a second formula under the name of the first."""
    prints = set()
    for formula in ("weight * x", "weight * x * x * x"):
        names: dict[str, Any] = {"__name__": "__main__"}
        exec(compile(f"def slope(x, weight): return {formula}", "<stdin>", "exec"), names)
        assert KernelPart("slope", names["slope"], ()).address is None
        prints.add(fingerprint(names["slope"]))
    assert len(prints) == 2


def test_fingerprints_of_two_processes() -> None:
    """Nested code and a jitted helper must not bring an address of memory into it."""
    script = (
        "from stemtheory.simulator.fused.fingerprint import fingerprint; "
        "from stemtheory.oracles.noise import phase;"
        "f = lambda x, y=(1, 2.5): [phase(x, z, 1.0) for z in y]; print(fingerprint(f))"
    )
    command = [sys.executable, "-c", script]
    found = {subprocess.run(command, capture_output=True, check=True).stdout for _ in range(2)}
    assert len(found) == 1


def test_a_compiler_that_is_switched_off_is_said(tmp_path: Path) -> None:
    """``auto`` takes the array engine, and to insist is one sentence."""
    script = (
        "from stemtheory import load_problem, simulate\n"
        "from stemtheory.simulator import fused\n"
        "fused.AUTO_WORK = 1\n"
        "for engine in ('auto', 'fused'):\n"
        "    print(simulate(load_problem('quadratic'), T=4, engine=engine).settings['engine'])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1", "STEMTHEORY_CACHE": str(tmp_path)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stdout == "array\n"
    assert done.stderr.count("NUMBA_DISABLE_JIT is set") == 2
    assert "engine fused cannot be used" in done.stderr.splitlines()[-1]
