"""The names that a kernel's text is written in, for whoever reads it here.

A kernel is put together of texts, ``source`` says of which; what stands below the line of each is
copied. What stands above it here, ``source`` puts in its place: ``compile_kernel`` makes the
function that Python calls, ``compile_hot`` one that stands in the place of its calls, and
``compile_once`` one that is called, so that a compiler sees one copy of it.

In all texts S is the state, s where a chunk begins in it; Z the noise; W and w the arguments of the
problem that vary from element to element; V those per coordinate; P the others; Q the algorithm's
own numbers; A the sums over workers, a row of dim numbers a step, a where one begins; B two means;
t an iteration, at its row of the tables. ``A[a], .., A[a + dim]`` leaves out its end, as slices do.
Sizes are unsigned: a negative index would have to be tested for, element by element.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Scalar = np.float32  # or float64
SYSTEM = "stem"  # whose kernel it is
HEIGHT = 4  # rows of its state, the first is x
TERMS = 1  # M, fields of the noise
ARGUMENTS = 0  # rows of arguments that vary from element to element
CAPACITY = 1024  # C
later: Any = None  # what ``source`` puts in the place of all these
# Of the problem: (gradient, n_1, .., n_M) at x, from the family's slope, the push and the noise;
# the slope alone, at coordinate j; gradient + sum_m xi_m n_m of an evaluation, and of the one that
# ``remember`` cached in the rows from GRADIENT on
evaluate = slope_at = combine = before = remember = later
fma = philox = box_muller = later  # a b + c, rounded once; and the noise
# Of the system: a local step; what a round begins and ends with, and what the latter does to every
# element; and STEM's own
system_step = open_round = close_round = renew = later
stem_step = move = synchronise = later


def compile_kernel(function: Any) -> Any:
    """Return the function as it is; the copies compile it, or put it in place of its calls."""
    return function


compile_hot = compile_once = compile_kernel
# ---- everything below this line is copied
Size, Word = np.uint64, np.uint32
C, STRIDE = Size(CAPACITY), Size(CAPACITY + 64)
D, GRADIENT = STRIDE, Size(2) * STRIDE
ROWS, ROW_ARGUMENTS = Size(HEIGHT), Size(ARGUMENTS)
M = Size(TERMS)
ZERO, ONE, TWO, THREE, FOUR = Size(0), Size(1), Size(2), Size(3), Size(4)
EIGHT, GROUP, GROUP_LESS, BLOCK = Size(8), Size(16), Size(15), Size(64)
ROOM = Size(16 if TERMS % 4 == 0 else 32 if TERMS % 2 == 0 else 64)  # elements of whole blocks
NOTHING = Scalar(0)
# What a system's text may say otherwise:
STARTS = (ZERO,)  # the rows that begin at the common start
AGREE = True  # workers have one x at the start of every round
OPENS = False  # a round begins with ``open_round``
WARM = False  # iteration 0 is a period of one step, where Q[0] is 1
LITERAL, AVERAGE_FIRST, OVERWRITE, AVERAGE_BOTH = ZERO, ONE, TWO, THREE  # as in READINGS
YES, NO = np.bool_(True), np.bool_(False)  # literals would compile what takes them twice


@compile_hot
def least(a: Any, b: Any) -> Any:
    """Return the smaller of two sizes; ``min`` would be a function more for numba to compile."""
    return a if a < b else b  # noqa: FURB136
