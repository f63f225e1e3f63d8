"""Every separable problem compiled for a CUDA device, without one: PTX, then machine code.

Nothing runs here. What the same text computes is tested on the processor, in
``tests/fused/test_device.py``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

pytest.importorskip(
    "numba_cuda", reason="PTX is compiled by numba-cuda: pip install 'stemtheory[ptx]'"
)

from numba.core.errors import NumbaError

from stemtheory import load_problem
from stemtheory.errors import UsageError
from stemtheory.fused.device import CAPABILITY, SYMBOL, ptx
from stemtheory.fused.recipe import Part, Recipe, make_recipe

FAMILIES = ("cauchy", "corridor", "cosine", "geman_mcclure", "quadratic", "welsch")
OTHERS = [
    ("cosine", {"noise": "phase"}, "float32"),
    ("quadratic", {"noise": "multiplicative", "heterogeneity": "tilt"}, "float64"),
]


def faults(text: str, dtype: str) -> set[str]:
    """Return what is wrong with a kernel: no symbol, a call, float64 instead of float32."""
    found = set()
    if not re.search(rf"^\.visible \.entry \w*{SYMBOL}\w*\($", text, re.MULTILINE):
        found.add("no kernel")
    if not re.search(rf"^\s*fma\.rn\.f{dtype[-2:]}\s", text, re.MULTILINE):
        found.add("no arithmetic")
    if re.search(r"^\s*call[.\s]", text, re.MULTILINE):
        found.add("call")
    if dtype == "float32":
        found |= set(re.findall(r"\b[a-z]\w*(?:\.\w+)*\.f64(?:\.\w+)*", text))
    return found


def machine_code(text: str) -> bytes:
    """Return the PTX assembled for one kind of device, which need not be there."""
    from cuda.bindings import nvjitlink

    linker = nvjitlink.create(1, [f"-arch=sm_{CAPABILITY[0]}{CAPABILITY[1]}"])
    given = text.encode()
    nvjitlink.add_data(linker, nvjitlink.InputType.PTX, given, len(given), "kernel.ptx")
    nvjitlink.complete(linker)
    code = bytearray(nvjitlink.get_linked_cubin_size(linker))
    nvjitlink.get_linked_cubin(linker, code)
    return bytes(code)


def recipe_of(family: str, **dials: Any) -> Recipe:
    return make_recipe(load_problem(family, **{"noise": "modulated", **dials}))  # type: ignore[arg-type]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("family", FAMILIES)
def test_every_problem_with_its_noise(family: str, dtype: str) -> None:
    """Modulated noise and a sinusoidal push: every part takes arguments and calls a function."""
    recipe = recipe_of(family, zeta=1.0)
    assert len(recipe.parts) == 3
    text = ptx(recipe, dtype)
    assert faults(text, dtype) == set()
    assert "mul.wide.u32" in text or "mul.hi.u32" in text  # Philox
    assert machine_code(text)[:4] == b"\x7fELF"


@pytest.mark.parametrize(("family", "dials", "dtype"), OTHERS)
def test_other_noises_and_pushes(family: str, dials: dict[str, Any], dtype: str) -> None:
    text = ptx(recipe_of(family, **dials), dtype)
    assert faults(text, dtype) == set()
    assert machine_code(text)[:4] == b"\x7fELF"


# -- mutants


def _chosen(x: Any, weight: Any) -> Any:
    return np.where(x < weight, x, weight)


def _branching(x: Any, weight: Any) -> Any:
    if (x < weight).any():
        return weight
    return weight * x


def _unknown(x: Any, weight: Any) -> Any:
    return weight * np.arctan(x)


def _widened(x: Any, weight: Any) -> Any:
    return 0.1 * weight * x


def _mutant(slope: Callable[..., Any]) -> Recipe:
    """Return a quadratic without noise or push that has another slope."""
    recipe = recipe_of("quadratic", sigma=0, zeta=0, heterogeneity="none")
    return replace(recipe, slope=Part("slope", slope, recipe.slope.where))


@pytest.mark.parametrize(("slope", "word"), [(_chosen, "where"), (_unknown, "arctan")])
def test_what_a_device_lacks_does_not_compile(slope: Callable[..., Any], word: str) -> None:
    with pytest.raises(UsageError, match=rf"{slope.__name__} uses np\.{word}, .*exp.*: write it"):
        ptx(_mutant(slope), "float32")


def test_a_branch_on_arrays_does_not_compile() -> None:
    with pytest.raises(NumbaError):
        ptx(_mutant(_branching), "float32")


def test_a_literal_is_found() -> None:
    assert "mul.f64" in faults(ptx(_mutant(_widened), "float32"), "float32")
    assert faults(ptx(_mutant(_widened), "float64"), "float64") <= {"no arithmetic"}


def test_what_the_checker_looks_for() -> None:
    text = f"\n.visible .entry _Z{SYMBOL}x(\n\tfma.rn.f32 \t%f1, %f2, %f3;\n"
    assert faults(text, "float32") == set()
    assert faults(text.replace(SYMBOL, "other"), "float32") == {"no kernel"}
    for line in (
        "cvt.f64.f32 %fd1, %f1;",
        "cvt.rn.f32.f64 %f1, %fd1;",
        "ld.global.f64 %fd1, [%r];",
    ):
        assert faults(f"{text}\t{line}\n", "float32") == {line.split()[0]}
    assert faults(f"{text}\tcall.uni (retval0), \n", "float32") == {"call"}
