"""A CUDA device in Python: blocks whose threads meet, one running at a time, and races are found.

The threads of a block run one after the other up to the next ``syncthreads``, forwards in one
block and backwards in the next. Shared memory knows who touched what since then: to read what
another thread wrote, or to write what another one read, is an error whatever the order, as it
would be on a device. Memory begins as NaN. What is left out: the widths of numbers, whatever a
compiler makes of the text, and speed.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from stemtheory.runtime.philox import box_muller
from stemtheory.simulator.fused.cuda.build import TargetMachine, Variant, assemble
from stemtheory.simulator.fused.cuda.layout import ThreadLayout
from stemtheory.simulator.fused.recipe import Recipe
from tests.helpers.fake_device import DeviceArray


class RaceError(Exception):
    """Two threads touched one number without meeting in between, or did not meet at all."""


@dataclass(frozen=True)
class Index:
    """A thread's or block's index."""

    x: int
    y: int = 0


class SharedArray:
    """Numbers that all threads of a block see."""

    def __init__(self, block: Block, n: int, dtype: Any) -> None:
        self.values, self.block = np.full(n, np.nan, dtype), block
        self.readers: dict[int, set[int]] = {}
        self.writers: dict[int, set[int]] = {}

    def __getitem__(self, i: Any) -> Any:
        me, i = self.block.running, int(i)
        if self.writers.get(i, set()) - {me}:
            raise RaceError(f"thread {me} reads number {i}, which another has just written")
        self.readers.setdefault(i, set()).add(me)
        return self.values[i]

    def __setitem__(self, i: Any, value: Any) -> None:
        me, i = self.block.running, int(i)
        if (self.writers.get(i, set()) | self.readers.get(i, set())) - {me}:
            raise RaceError(f"thread {me} writes number {i}, which another has just touched")
        self.writers.setdefault(i, set()).add(me)
        self.values[i] = value


@dataclass
class Block:
    """The threads of a block, which run in turns."""

    size: tuple[int, int]
    index: int
    running: int = -1
    shared: list[SharedArray] = field(default_factory=list)
    taken: dict[int, int] = field(default_factory=dict)
    error: BaseException | None = None

    def run(self, kernel: Callable[..., None], arguments: tuple[Any, ...]) -> None:
        """Run all threads to their end."""
        n = self.size[0] * self.size[1]
        self.turns = [threading.Semaphore(0) for _ in range(n)]
        self.back = threading.Semaphore(0)
        self.waiting: list[bool] = [False] * n
        threads = [
            threading.Thread(target=self._body, args=(i, kernel, arguments), daemon=True)
            for i in range(n)
        ]
        for thread in threads:
            thread.start()
        order = list(range(n))[:: 1 if self.index % 2 == 0 else -1]
        while True:
            for i in order:
                self.running = i
                self.turns[i].release()
                self.back.acquire()
                if self.error is not None:
                    raise self.error
            if not any(self.waiting):
                break
            if not all(self.waiting):
                raise RaceError("some threads wait for others that have ended")
            for array in self.shared:
                array.readers.clear()
                array.writers.clear()
        for thread in threads:
            thread.join()

    def _body(self, i: int, kernel: Callable[..., None], arguments: tuple[Any, ...]) -> None:
        self.turns[i].acquire()
        try:
            with np.errstate(all="ignore"):
                kernel(*arguments)
        except BaseException as error:
            self.error = error
        self.waiting[i] = False
        self.back.release()

    def wait(self) -> None:
        """Let the others run up to here."""
        me = self.running
        self.waiting[me] = True
        self.back.release()
        self.turns[me].acquire()

    def array(self, n: int, dtype: Any) -> SharedArray:
        """Return the block's next shared array: the same for every thread."""
        number = self.taken.get(self.running, 0)
        self.taken[self.running] = number + 1
        if number == len(self.shared):
            self.shared.append(SharedArray(self, n, dtype))
        return self.shared[number]


class Local:
    """A thread's own arrays."""

    def array(self, n: int, dtype: Any) -> Any:
        return np.full(n, np.nan, dtype)


class Cuda:
    """What ``numba.cuda`` is to the kernels."""

    def __init__(self) -> None:
        self.block = Block((1, 1), 0)
        self.local = Local()

    @property
    def shared(self) -> Block:
        return self.block

    @property
    def threadIdx(self) -> Index:
        columns = self.block.size[0]
        return Index(self.block.running % columns, self.block.running // columns)

    @property
    def blockIdx(self) -> Index:
        return Index(self.block.index)

    def grid(self, dimensions: int) -> int:
        assert dimensions == 1
        return self.block.index * self.block.size[0] + self.block.running

    def syncthreads(self) -> None:
        self.block.wait()

    def launch(
        self, kernel: Callable[..., None], blocks: int, size: tuple[int, int], *arguments: Any
    ) -> None:
        for index in range(blocks):
            self.block = Block(size, index)
            self.block.run(kernel, arguments)


def simulated_machine(dtype: str, cuda: Any) -> TargetMachine:
    """Return what the kernel's names mean to Python."""
    scalar: Any = getattr(np, dtype)

    def fma(a: Any, b: Any, c: Any) -> Any:
        assert {type(a), type(b), type(c)} == {scalar}
        return scalar(np.float64(a) * np.float64(b) + np.float64(c))

    def scaled(first: Any, second: Any, factor: Any) -> Any:
        assert type(factor) is scalar
        pair = box_muller(np.asarray(first), np.asarray(second))
        return tuple(scalar(z * np.sqrt(np.float64(factor) / -2)) for z in pair)

    def same(function: Callable[..., Any]) -> Any:
        return function

    return TargetMachine({"cuda": cuda, "fma": fma, "box_muller": scaled}, same, same)


@dataclass
class SimulatedKernels:
    """The two kernels in Python, on the arrays of a fake device."""

    layout: ThreadLayout
    names: dict[str, Any]
    launches: int = 0

    def advance(self, blocks: int, *arguments: Any) -> None:
        self._launch("advance", blocks, (self.layout.J, self.layout.L), arguments)

    def keep_book(self, replicates: int, *arguments: Any) -> None:
        self._launch("keep_book", -(-replicates // 2), (2, 1), arguments)

    def _launch(
        self, name: str, blocks: int, size: tuple[int, int], arguments: tuple[Any, ...]
    ) -> None:
        self.launches += 1
        bare = [x._values if isinstance(x, DeviceArray) else x for x in arguments]
        self.names["cuda"].launch(self.names[name], blocks, size, *bare)


def simulated_kernels(
    recipe: Recipe, variant: Variant, layout: ThreadLayout, xp: Any = None
) -> SimulatedKernels:
    """Return the kernels of a recipe, to take the place of a device's."""
    machine = simulated_machine(variant.dtype, Cuda())
    return SimulatedKernels(layout, assemble(recipe, variant, layout, machine))
