"""How the elements of a replicate are shared out to the blocks and threads of a device.

A call of Philox draws four normals: for the M fields of elements e, e + 16, .. of one minibatch. A
thread that owns all of these, a *unit*, draws each number once. Sixteen divides what lies between
two elements of a unit, so they are

- U coordinates of one worker, where 16 U divides dim (``across`` = U), or
- U workers at one coordinate, where dim divides 16 (``down`` = U; ``spread`` = 16/dim workers
  share a group of 16 elements).

Elsewhere a unit is one element. With M = 1, 2 or 4 a call serves U M of its four normals: all of
them where 64/M divides dim, or where dim divides 16 and 64/M divides K dim, with up to 512 workers
(and for most other K that are large, where dim divides 16: the cheapest U is taken). With M = 1 two
of four are thrown away for dim = 32, and three of four for dim = 48, or for dim = 16 and K = 1.

A layout depends on the problem's sizes alone, never on the card: with it goes the order of sums
over workers, and so the last bit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

NORMALS = 4  # of one call of Philox
GROUP = 16
MOST_LANES = 64  # parts of a mean that one thread adds, unless there are too many workers
MOST_THREADS = 512  # of a block, each with up to 128 registers
USUAL_THREADS = 128
MOST_COLUMNS = 64
MOST_ELEMENTS = 16  # of a thread
MOST_WORDS = 64  # registers for a thread's rows; the arithmetic takes about a hundred


@dataclass(frozen=True)
class ThreadLayout:
    """A block of J columns and L lanes, whose threads own ``per`` units each."""

    J: int
    L: int
    per: int
    across: int
    down: int
    spread: int
    columns: int

    @property
    def unit(self) -> int:
        """Elements of a unit."""
        return self.across * self.down

    @property
    def elements(self) -> int:
        """Elements of a thread."""
        return self.per * self.unit

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return self.J * self.L

    @property
    def tiles(self) -> int:
        """Blocks of a replicate."""
        return -(-self.columns // self.J)


def make_layout(K: int, dim: int, terms: int, rows: int, itemsize: int) -> ThreadLayout | None:
    """Return the cheapest layout, or None where K workers are too many for a block.

    ``rows`` are the numbers that a thread keeps of every element, of so many bytes each.
    """
    held = max(1, min(MOST_ELEMENTS, 4 * MOST_WORDS // (rows * itemsize)))
    fit = [
        unit
        for unit in _units(K, dim, terms)
        if unit.size <= held and unit.workers <= held // unit.size * MOST_THREADS
    ]
    if not fit:
        return None
    unit = min(fit, key=lambda u: (u.cost, -u.size))
    per = min(-(-unit.workers // MOST_LANES), held // unit.size)
    L = -(-unit.workers // per)
    most = max(1, min(MOST_COLUMNS, USUAL_THREADS // L))
    J = -(-unit.columns // -(-unit.columns // most))  # as many for every block
    return ThreadLayout(J, L, per, unit.across, unit.down, unit.spread, unit.columns)


@dataclass(frozen=True)
class _UnitShape:
    """A shape of units: how many lie below each other (``workers``) and beside (``columns``)."""

    across: int
    down: int
    spread: int
    workers: int
    columns: int

    @property
    def size(self) -> int:
        return self.across * self.down

    @property
    def cost(self) -> int:
        """Return what a step takes: a call of Philox is about as much as the rest of an element."""
        return self.workers * self.columns * (1 + self.size)


def _units(K: int, dim: int, terms: int) -> Iterator[_UnitShape]:
    sizes = [u for u in (1, 2, 4) if u == 1 or NORMALS % (u * max(1, terms)) == 0]
    for u in sizes:
        if u == 1 or dim % (GROUP * u) == 0:
            yield _UnitShape(u, 1, 1, K, dim // u)
        if u > 1 and GROUP % dim == 0:
            spread = GROUP // dim
            yield _UnitShape(1, u, spread, spread * -(-K // (spread * u)), dim)
