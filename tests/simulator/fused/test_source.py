"""Kernels on disk: kept between processes, and never mistaken for another."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("numba", reason="the fused engine is compiled by numba")

from stemtheory import load_problem
from stemtheory.simulator.fused import source
from stemtheory.simulator.fused.fingerprint import fingerprint
from stemtheory.simulator.fused.recipe import KernelPart, make_recipe

SCRIPT = """
from stemtheory import load_problem, simulate
trace = simulate(load_problem("quadratic", sigma=0, zeta=0), "fedavg", T=8, b=1, I=2,
                 engine="fused", replicates=1)
print(repr(trace.grad_sq[0]))
"""


@pytest.mark.slow
def test_the_second_process_compiles_nothing(tmp_path: Path) -> None:
    runs = [
        subprocess.run(
            [sys.executable, "-c", SCRIPT],
            env={**os.environ, "STEMTHEORY_CACHE": str(tmp_path)},
            capture_output=True,
            text=True,
            check=True,
        )
        for _ in range(2)
    ]
    assert "compiling the fused kernel of quadratic in float64, once" in runs[0].stderr
    assert runs[1].stderr == ""
    assert runs[0].stdout == runs[1].stdout
    assert len(list(tmp_path.glob("kernel_*.py"))) == 1


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


def test_a_changed_source_is_another_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = make_recipe(load_problem("cosine"))  # type: ignore[arg-type]
    text = source.kernel_text(recipe, "stem", "float64", cache=True)
    before = source._digest(text, recipe)
    original = Path.read_bytes

    def touched(self: Path) -> bytes:
        return original(self) + (b" " if self.name == "cosine.py" else b"")

    monkeypatch.setattr(Path, "read_bytes", touched)
    assert source._digest(text, recipe) != before
    assert source._digest(text + " ", recipe) != source._digest(text, recipe)


def test_the_folder_is_the_users_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("STEMTHEORY_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert source.cache_folder() == tmp_path / "stemtheory" / "kernels"
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
