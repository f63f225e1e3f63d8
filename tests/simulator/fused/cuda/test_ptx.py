"""Every separable problem compiled for a CUDA device, without one: PTX, then machine code.

No device runs here. Some of the PTX is executed in Python, instruction by instruction, against the
array engine (``ptx_machine``); the text that it is compiled from is tested at greater length in
``tests/simulator/fused/cuda/test_engine.py``.
"""

from __future__ import annotations

import functools
import gc
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pytest

pytest.importorskip(
    "numba_cuda", reason="PTX is compiled by numba-cuda: pip install 'stemtheory[ptx]'"
)

from numba.core.errors import NumbaError

from stemtheory import Trace, load_problem, simulate
from stemtheory.algorithms.stem import READINGS
from stemtheory.runtime.errors import UsageError
from stemtheory.simulator import fused
from stemtheory.simulator.fused.cuda import engine as device_engine
from stemtheory.simulator.fused.cuda.build import KERNELS, Variant
from stemtheory.simulator.fused.cuda.device import CAPABILITY, ptx
from stemtheory.simulator.fused.cuda.layout import ThreadLayout
from stemtheory.simulator.fused.recipe import KernelPart, Recipe, make_recipe
from tests.helpers.fake_device import Device, DeviceArray, fake_backend
from tests.helpers.ptx_machine import PtxKernel, UnknownInstructionError
from tests.simulator.fused.cuda.simulated import RaceError

FAMILIES = ("cauchy", "corridor", "cosine", "geman_mcclure", "quadratic", "welsch")
ALGORITHMS = ("stem", "fedavg", "scaffold")
K, DIM = 16, 64


@pytest.fixture(autouse=True)
def _no_collection() -> Iterator[None]:
    """Compilers keep what they make: looking through it again and again takes a third longer."""
    gc.disable()
    yield
    gc.enable()


def faults(text: str, dtype: str, kernel: str = "advance") -> set[str]:
    """Return what is wrong with a kernel: no symbol, a call, a stack, float64 for float32."""
    found = set()
    if not re.search(rf"^\.visible \.entry \w*{kernel}\w*\($", text, re.MULTILINE):
        found.add("no kernel")
    if not re.search(rf"^\s*fma\.rn\.f{dtype[-2:]}\s", text, re.MULTILINE):
        found.add("no arithmetic")
    if re.search(r"^\s*call[.\s]", text, re.MULTILINE):
        found.add("call")
    if "__local_depot" in text or re.search(r"\b(ld|st)\.local\b", text):
        found.add("local memory")
    if "mul.wide.u32" not in text:
        found.add("no noise")
    if not re.search(r"^\s*bar\.sync", text, re.MULTILINE):
        found.add("no meeting of threads")
    if dtype == "float32":
        found |= set(re.findall(r"\b[a-z]\w*(?:\.\w+)*\.f64(?:\.\w+)*", text))
    return found


class MachineCode(NamedTuple):
    """What an assembler made of PTX: the code, the registers of a thread, and bytes spilled."""

    code: bytes
    registers: int
    spilled: int


def machine_code(text: str) -> MachineCode:
    """Return the PTX assembled for one kind of device, which need not be there."""
    from cuda.bindings import nvjitlink

    options = [f"-arch=sm_{CAPABILITY[0]}{CAPABILITY[1]}", "-Xptxas=-v"]
    linker = nvjitlink.create(len(options), options)
    given = text.encode()
    nvjitlink.add_data(linker, nvjitlink.InputType.PTX, given, len(given), "kernel.ptx")
    nvjitlink.complete(linker)
    code = bytearray(nvjitlink.get_linked_cubin_size(linker))
    nvjitlink.get_linked_cubin(linker, code)
    log = bytearray(nvjitlink.get_info_log_size(linker))
    nvjitlink.get_info_log(linker, log)
    registers = re.search(rb"Used (\d+) registers", log)
    spilled = re.findall(rb"(\d+) bytes spill (?:stores|loads)", log)
    assert registers is not None
    assert spilled
    return MachineCode(bytes(code), int(registers[1]), sum(map(int, spilled)))


def recipe_of(family: str, K: int = K, dim: int = DIM, **dials: Any) -> Recipe:
    given = {"noise": "modulated", "zeta": 1.0, **dials}
    return make_recipe(load_problem(family, K=K, dim=dim, **given))  # type: ignore[arg-type]


def compiled(
    recipe: Recipe, variant: Variant, kernel: str = "advance", K: int = K, dim: int = DIM
) -> str:
    layout = variant.layout(recipe, K, dim)
    assert layout is not None
    return ptx(recipe, variant, layout, kernel)


def assert_sound(text: str, dtype: str) -> None:
    """Everything in registers: at most 255 of them for a thread, none spilled."""
    assert faults(text, dtype) == set()
    code = machine_code(text)
    assert code.code[:4] == b"\x7fELF"
    assert code.registers <= 255
    assert code.spilled == 0


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("family", FAMILIES)
def test_every_problem_with_its_noise(family: str, algorithm: str, dtype: str) -> None:
    """Modulated noise and a sinusoidal push: every part takes arguments and calls a function."""
    recipe = recipe_of(family)
    assert len(recipe.parts) == 3
    assert_sound(compiled(recipe, Variant(algorithm, 0, dtype)), dtype)


@pytest.mark.parametrize("reading", range(1, len(READINGS)))
def test_every_reading(reading: int) -> None:
    assert_sound(compiled(recipe_of("cosine"), Variant("stem", reading, "float32")), "float32")


@pytest.mark.parametrize(
    ("family", "dials", "shape", "dtype"),
    [
        ("cosine", {"noise": "phase"}, (8, 16), "float32"),
        ("quadratic", {"noise": "multiplicative", "heterogeneity": "tilt"}, (5, 3), "float64"),
        ("cosine", {"zeta": 0.0, "spectrum": 9.0}, (100, 1024), "float32"),
        ("cosine", {"zeta": 0.0}, (100, 1024), "float64"),
    ],
)
def test_other_noises_pushes_and_sizes(
    family: str, dials: dict[str, Any], shape: tuple[int, int], dtype: str
) -> None:
    recipe = recipe_of(family, *shape, **dials)
    text = compiled(recipe, Variant("stem", 0, dtype), "advance", *shape)
    assert_sound(text, dtype)


def test_option_one_of_scaffold() -> None:
    assert_sound(compiled(recipe_of("welsch"), Variant("scaffold", 1, "float32")), "float32")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_book_is_kept_in_float64(dtype: str) -> None:
    text = compiled(recipe_of("cosine"), Variant("stem", 0, dtype), "keep_book")
    assert "add.f64" in text
    assert faults(text, "float64", "keep_book") <= {
        "no noise", "no meeting of threads", "no arithmetic",
    }  # fmt: skip
    assert machine_code(text).spilled == 0


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
    """Return a quadratic without a push that has another slope."""
    recipe = recipe_of("quadratic", zeta=0, heterogeneity="none")
    return replace(recipe, slope=KernelPart("slope", slope, recipe.slope.where))


SINGLE, DOUBLE = (Variant("fedavg", 0, dtype) for dtype in ("float32", "float64"))


@pytest.mark.parametrize(("slope", "word"), [(_chosen, "where"), (_unknown, "arctan")])
def test_what_a_device_lacks_does_not_compile(slope: Callable[..., Any], word: str) -> None:
    with pytest.raises(UsageError, match=rf"{slope.__name__} uses np\.{word}, .*exp.*: write it"):
        compiled(_mutant(slope), SINGLE)


def test_a_branch_on_arrays_does_not_compile() -> None:
    with pytest.raises(NumbaError):
        compiled(_mutant(_branching), SINGLE)


def test_a_literal_is_found() -> None:
    assert "mul.f64" in faults(compiled(_mutant(_widened), SINGLE), "float32")
    assert faults(compiled(_mutant(_widened), DOUBLE), "float64") == set()


def test_what_the_checker_looks_for() -> None:
    text = (
        "\n.visible .entry _Zadvancex(\n\tfma.rn.f32 \t%f1, %f2, %f3;\n\tmul.wide.u32 \t%r;\n"
        "\tbar.sync \t0;\n"
    )
    assert faults(text, "float32") == set()
    assert faults(text.replace("advance", "other"), "float32") == {"no kernel"}
    assert faults(text.replace("bar.sync", ""), "float32") == {"no meeting of threads"}
    assert faults(text.replace("mul.wide", ""), "float32") == {"no noise"}
    for line in (
        "cvt.f64.f32 %fd1, %f1;",
        "cvt.rn.f32.f64 %f1, %fd1;",
        "ld.global.f64 %fd1, [%r];",
    ):
        assert faults(f"{text}\t{line}\n", "float32") == {line.split()[0]}
    assert faults(f"{text}\tcall.uni (retval0), \n", "float32") == {"call"}
    for line in (".local .align 8 .b8 __local_depot0[64];", "st.local.f32 [%rd1], %f1;"):
        assert faults(f"{text}\t{line}\n", "float32") == {"local memory"}


def test_what_does_not_fit_registers_is_seen() -> None:
    """The mutant: 3000 workers on 512 threads, which have 128 registers each."""
    recipe, shape = recipe_of("cosine", 3000, 64), (3000, 64)
    text = compiled(recipe, Variant("stem", 0, "float32"), KERNELS[0], *shape)
    assert machine_code(text).spilled > 0


# -- the PTX run, number by number


class PtxKernels:
    """The two kernels of a device, whose PTX is run in Python on the arrays of a fake device."""

    def __init__(
        self, recipe: Recipe, variant: Variant, layout: ThreadLayout,
        change: Callable[[str], str] = str,
    ) -> None:  # fmt: skip
        self.size = (layout.J, layout.L)
        self.advancing = PtxKernel(change(ptx(recipe, variant, layout)))
        self.booking = PtxKernel(ptx(recipe, variant, layout, "keep_book"))

    def advance(self, blocks: int, *arguments: Any) -> None:
        self.advancing.launch(blocks, self.size, *map(_bare, arguments))

    def keep_book(self, replicates: int, *arguments: Any) -> None:
        self.booking.launch(replicates, (1, 1), *map(_bare, arguments))


def _bare(value: Any) -> Any:
    return value._values if isinstance(value, DeviceArray) else value


def executed(
    monkeypatch: pytest.MonkeyPatch, problem: Any, algorithm: str = "stem", **more: Any
) -> list[Trace]:
    """Return a run on PTX and one of the array engine, on identical noise."""
    change = more.pop("change", str)

    def load(recipe: Recipe, variant: Variant, layout: ThreadLayout, plan: Any) -> PtxKernels:
        return PtxKernels(recipe, variant, layout, change)

    monkeypatch.setattr(device_engine, "_load", load)
    monkeypatch.setattr(fused, "missing_for_device", lambda: None)
    steps = {"eta": 0.05, "a": 0.1} if algorithm == "stem" else {"eta": 0.05}
    options: dict[str, Any] = {
        "T": 6, "b": 2, "I": 3, "replicates": 2, "record_every": 1, "noise_source": "philox",
        "schedule": "constant", "schedule_options": steps, **more,
    }  # fmt: skip
    with np.errstate(all="ignore"):
        return [
            simulate(problem, algorithm, engine="fused", backend=fake_backend(Device()), **options),
            simulate(problem, algorithm, engine="array", backend="numpy", **options),
        ]


@pytest.mark.parametrize(
    ("algorithm", "shape", "noise", "more"),
    [
        ("stem", (5, 3), "phase", {"sync": "average-both", "dtype": "float32"}),
        ("stem", (3, 64), "modulated", {"sync": "literal", "dtype": "float32", "T": 3}),
        ("stem", (9, 8), "modulated", {"sync": "average-first"}),
        ("scaffold", (9, 4), "phase", {"dtype": "float32", "sync_batch": 1}),
        ("fedavg", (70, 2), "modulated", {}),
    ],
)
def test_what_the_compiler_made_computes_what_it_should(
    monkeypatch: pytest.MonkeyPatch, algorithm: str, shape: tuple[int, int], noise: str,
    more: dict[str, Any],
) -> None:  # fmt: skip
    problem = load_problem("cosine", K=shape[0], dim=shape[1], noise=noise, spectrum=4.0)
    try:
        ours, reference = executed(monkeypatch, problem, algorithm, **more)
    except UnknownInstructionError as error:
        pytest.skip(f"tests/helpers/ptx_machine.py does not know the instruction {error}")
    rtol = 2e-6 if "dtype" in more else 1e-12
    for name in ("series", "running", "grad_sq", "last", "best"):
        np.testing.assert_allclose(getattr(ours, name), getattr(reference, name), rtol=rtol)


def _without_meeting(number: int, text: str) -> str:
    parts = text.split("bar.sync")
    before, after = ("bar.sync".join(half) for half in (parts[: number + 1], parts[number + 1 :]))
    return f"{before}// bar.sync{after}"


def _with_another_multiplier(text: str) -> str:
    assert "-845247145" in text  # of Philox
    return text.replace("-845247145", "-845247147")


def test_spoilt_ptx_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = load_problem("cosine", K=3, dim=2)
    ours, reference = executed(monkeypatch, problem, "fedavg", change=_with_another_multiplier)
    assert np.abs(ours.grad_sq / reference.grad_sq - 1).min() > 1e-6


def test_every_meeting_in_ptx_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    """In stretches of norms that end inside of rounds, and in some that end with one."""
    compile_ptx, texts = ptx, dict[str, str]()

    def compiled_once(
        recipe: Recipe, variant: Variant, layout: ThreadLayout, kernel: str = "advance"
    ) -> str:
        if kernel not in texts:
            texts[kernel] = compile_ptx(recipe, variant, layout, kernel)
        return texts[kernel]

    monkeypatch.setitem(globals(), "ptx", compiled_once)
    problem, sizes = load_problem("cosine", K=3, dim=2), {"T": 20, "replicates": 1}

    def both_rounds(change: Callable[[str], str]) -> None:
        for I in (3, 4):
            executed(monkeypatch, problem, "fedavg", change=change, I=I, **sizes)

    both_rounds(str)
    meetings = texts["advance"].count("bar.sync")
    assert meetings >= 4
    for number in range(meetings):
        with pytest.raises(RaceError):
            both_rounds(functools.partial(_without_meeting, number))
