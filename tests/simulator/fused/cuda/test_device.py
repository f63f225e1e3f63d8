"""The device's text by other means: its noise compiled for the processor, all of it simulated."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("numba", reason="the text is compiled by numba")

from numba import njit

from stemtheory import load_problem
from stemtheory.algorithms.stem import READINGS
from stemtheory.runtime.philox import normals
from stemtheory.simulator.fused.cuda import device
from stemtheory.simulator.fused.cuda import engine as device_engine
from stemtheory.simulator.fused.cuda.build import TargetMachine, Variant, assemble
from stemtheory.simulator.fused.cuda.layout import ThreadLayout
from stemtheory.simulator.fused.elementary import fma
from stemtheory.simulator.fused.normals import BOX_MULLER
from stemtheory.simulator.fused.parts import OPTIONS
from stemtheory.simulator.fused.recipe import make_recipe
from tests.helpers.sources import ROOT

KEY, T, REPLICATE, PURPOSE, B = (0x12345678, 0x9ABCDEF0), 70_001, 13, 1, 4.0
ERRORS = {"float64": 1e-14, "float32": 1e-6}


def drawn(noise: str, layout: ThreadLayout, K: int, dim: int, dtype: str) -> Any:
    """Return what the units of a layout draw, shape (M, K, dim), and how often each element is."""
    recipe = replace(make_recipe(load_problem("cosine", K=K, dim=dim, noise=noise)), rows=())  # type: ignore[arg-type]
    names = {"cuda": None, "fma": fma, "box_muller": BOX_MULLER[dtype]}
    compiled = njit(**OPTIONS)
    machine = TargetMachine(names, compiled, compiled)
    text = assemble(recipe, Variant("fedavg", 0, dtype), layout, machine)
    draw, worker, coordinate = text["draw"], text["worker"], text["coordinate"]
    M, U = recipe.terms, layout.unit
    address = tuple(np.uint32(word) for word in (T, REPLICATE, PURPOSE, *KEY))
    found, seen = np.full((M, K, dim), np.nan), np.zeros((K, dim), int)
    Z = np.empty(M * layout.elements, dtype)
    for unit in range(layout.per * layout.L):
        for column in range(layout.columns):
            here = (np.uint64(0), np.uint64(column), np.uint64(K), np.uint64(dim))
            draw(Z, np.uint64(unit), here, address, text["Scalar"](-2 / B))
            for i in range(U):
                k = int(worker(np.uint64(unit), np.uint64(i)))
                j = int(coordinate(np.uint64(column), np.uint64(i)))
                if k < K and j < dim:
                    found[:, k, j] = Z[i :: layout.elements]
                    seen[k, j] += 1
    return found, seen


@pytest.mark.parametrize(
    ("noise", "shape", "layout", "dtype"),
    [
        ("modulated", (3, 64), ThreadLayout(16, 3, 1, 4, 1, 1, 16), "float32"),
        ("modulated", (3, 32), ThreadLayout(16, 2, 2, 2, 1, 1, 16), "float64"),
        ("modulated", (9, 8), ThreadLayout(8, 4, 1, 1, 4, 2, 8), "float64"),
        ("modulated", (5, 3), ThreadLayout(3, 5, 1, 1, 1, 1, 3), "float32"),
        ("phase", (3, 32), ThreadLayout(16, 3, 1, 2, 1, 1, 16), "float64"),
        ("phase", (5, 4), ThreadLayout(4, 8, 1, 1, 2, 4, 4), "float32"),
        ("phase", (5, 5), ThreadLayout(5, 5, 1, 1, 1, 1, 5), "float64"),
    ],
)
def test_every_shape_of_unit_draws_the_numbers_of_the_array_engine(
    noise: str, shape: tuple[int, int], layout: ThreadLayout, dtype: str
) -> None:
    K, dim = shape
    found, seen = drawn(noise, layout, K, dim, dtype)
    expected = normals(KEY, T, REPLICATE, PURPOSE, found.shape) / np.sqrt(B)
    assert (seen == 1).all()
    assert np.abs(found - expected).max() < ERRORS[dtype] * np.abs(expected).max()
    other = normals(KEY, T, REPLICATE + 1, PURPOSE, found.shape) / np.sqrt(B)
    assert np.abs(found - other).min(axis=0).max() > 0.1


def test_numbas_own_simulator_of_cuda_agrees() -> None:
    """Every reading and algorithm in another process, which must be told before numba is loaded."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.simulator.fused.cuda.numba_simulator"],
        env={**os.environ, "NUMBA_ENABLE_CUDASIM": "1"},
        cwd=ROOT, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    if "No module named 'numba.cuda" in done.stderr:
        pytest.skip("this numba has no simulator of CUDA")
    assert done.returncode == 0, done.stderr
    found = dict(line.split("\t") for line in done.stdout.splitlines())
    assert len(found) == len(READINGS) + 4
    for name, difference in found.items():
        assert float(difference) < (2e-6 if name == "fedavg" else 1e-13), name


class Recorder:
    """A kernel that notes how it is launched, and on which of its cards."""

    def __init__(self, cards: dict[int, Card]) -> None:
        self.cards, self.launches = cards, list[tuple[Any, ...]]()

    def __getitem__(self, configuration: Any) -> Any:
        on = [number for number, card in self.cards.items() if card.entered]
        return lambda *arguments: self.launches.append((on, configuration, arguments))


class Card:
    """A device that is current in a ``with``."""

    entered = False

    def __enter__(self) -> None:
        self.entered = True

    def __exit__(self, *error: object) -> None:
        self.entered = False


def cupy_on(card: int, pointer: int = 0) -> Any:
    """Return what stands for CuPy, with this device and this stream as the current ones."""
    cuda = SimpleNamespace(
        Device=lambda: SimpleNamespace(id=card),
        get_current_stream=lambda: SimpleNamespace(ptr=pointer),
    )
    return SimpleNamespace(cuda=cuda)


def test_launches_take_arrays_of_cupy_on_its_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    """Arrays are wrapped without waiting for their stream: the launch is queued on it.

    The device is the one that is CuPy's at the launch, and no longer numba's afterwards.
    """
    cards = {number: Card() for number in range(2)}
    numba_cuda = SimpleNamespace(
        gpus=cards,
        as_cuda_array=lambda x, sync: ("wrapped", x, sync),
        external_stream=lambda pointer: ("stream", pointer),
    )
    monkeypatch.setattr(device, "_cuda", lambda: numba_cuda)
    array, scalar = SimpleNamespace(__cuda_array_interface__={}), np.float32(2)
    layout = ThreadLayout(4, 3, 1, 1, 1, 1, 4)
    for card, pointer, stream in ((0, 0, 0), (1, 7, ("stream", 7))):
        cupy = cupy_on(card, pointer)
        advancing, booking = Recorder(cards), Recorder(cards)
        kernels = device.CudaKernels(layout, cupy, advancing, booking)
        kernels.advance(5, array, (scalar,))
        kernels.keep_book(65, array, scalar)
        wrapped = ("wrapped", array, False)
        assert advancing.launches == [([card], (5, (4, 3), stream), (wrapped, (scalar,)))]
        assert booking.launches == [([card], (2, 64, stream), (wrapped, scalar))]
        assert not any(card.entered for card in cards.values())


def test_two_cards_of_one_name_have_kernels_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "load_kernels", lambda *arguments: object())
    monkeypatch.setattr(device_engine, "_kernels", {})
    problem: Any = load_problem("cosine", K=3, dim=4)
    recipe, variant = make_recipe(problem), Variant("stem", 0, "float32")
    layout = variant.layout(recipe, 3, 4)
    assert layout is not None

    def loaded(number: int) -> Any:
        backend = SimpleNamespace(device="card", xp=cupy_on(number))
        plan: Any = SimpleNamespace(backend=backend)
        return device_engine._load(recipe, variant, layout, plan)

    assert loaded(0) is loaded(0)
    assert loaded(0) is not loaded(1)
