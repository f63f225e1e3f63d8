"""Philox4x32-10 and Box-Muller for compiled kernels: the numbers of ``stemtheory.runtime.philox``.

Sixteen lanes go through the ten rounds side by side, so that a compiler fills vector registers.
No division of a word by 2^32 is rounded away from where it matters: close to u = 1 the logarithm
starts from u - 1, which a signed word gives exactly, and the angle is reduced in whole numbers.
"""

from __future__ import annotations

import math
from types import FunctionType
from typing import Any

import numpy as np

from stemtheory.runtime import MULTIPLIERS, WEYL
from stemtheory.simulator.fused.elementary import (
    DOUBLE,
    HALF,
    HALF_D,
    INT,
    LN2_A_D,
    LN2_B_D,
    LONG,
    MANTISSA_BITS,
    MANTISSA_BITS_D,
    ONE,
    ONE_D,
    SINGLE,
    TWO_D,
    D,
    F,
    compile_elementary,
    double_of_long,
    float_of_int,
    fma,
    int_of_float,
    long_of_double,
    polynomial,
)

WORD, LONG_WORD = np.uint32, np.uint64
M0, M1 = LONG_WORD(MULTIPLIERS[0]), LONG_WORD(MULTIPLIERS[1])
W0, W1 = LONG_WORD(WEYL[0]), LONG_WORD(WEYL[1])
HALF_WORD, LOWER = LONG_WORD(32), LONG_WORD(0xFFFFFFFF)


@compile_elementary
def philox_round(c0: Any, c1: Any, c2: Any, c3: Any, k0: Any, k1: Any) -> Any:
    """Return the counter after one round, in 64 bits a word, whose upper halves mean nothing.

    A vector multiplication of 32-bit words takes and leaves them 64 bits apart: to pack them into
    32 after every round would double the work.
    """
    left, right = M0 * (c0 & LOWER), M1 * (c2 & LOWER)
    return (right >> HALF_WORD) ^ c1 ^ k0, right, (left >> HALF_WORD) ^ c3 ^ k1, left


@compile_elementary
def philox(c0: Any, c1: Any, c2: Any, c3: Any, k0: Any, k1: Any) -> Any:
    """Return the four words of one lane; written out, because loops keep vector code away."""
    c0, c1, c2, c3 = LONG_WORD(c0), LONG_WORD(c1), LONG_WORD(c2), LONG_WORD(c3)
    k0, k1 = LONG_WORD(k0), LONG_WORD(k1)
    c0, c1, c2, c3 = philox_round(c0, c1, c2, c3, k0, k1)
    k0, k1 = (k0 + W0) & LOWER, (k1 + W1) & LOWER
    c0, c1, c2, c3 = philox_round(c0, c1, c2, c3, k0, k1)
    k0, k1 = (k0 + W0) & LOWER, (k1 + W1) & LOWER
    c0, c1, c2, c3 = philox_round(c0, c1, c2, c3, k0, k1)
    k0, k1 = (k0 + W0) & LOWER, (k1 + W1) & LOWER
    c0, c1, c2, c3 = philox_round(c0, c1, c2, c3, k0, k1)
    k0, k1 = (k0 + W0) & LOWER, (k1 + W1) & LOWER
    c0, c1, c2, c3 = philox_round(c0, c1, c2, c3, k0, k1)
    k0, k1 = (k0 + W0) & LOWER, (k1 + W1) & LOWER
    c0, c1, c2, c3 = philox_round(c0, c1, c2, c3, k0, k1)
    k0, k1 = (k0 + W0) & LOWER, (k1 + W1) & LOWER
    c0, c1, c2, c3 = philox_round(c0, c1, c2, c3, k0, k1)
    k0, k1 = (k0 + W0) & LOWER, (k1 + W1) & LOWER
    c0, c1, c2, c3 = philox_round(c0, c1, c2, c3, k0, k1)
    k0, k1 = (k0 + W0) & LOWER, (k1 + W1) & LOWER
    c0, c1, c2, c3 = philox_round(c0, c1, c2, c3, k0, k1)
    k0, k1 = (k0 + W0) & LOWER, (k1 + W1) & LOWER
    c0, c1, c2, c3 = philox_round(c0, c1, c2, c3, k0, k1)
    return WORD(c0), WORD(c1), WORD(c2), WORD(c3)


TO_UNIT, TO_MIDDLE, TO_UNIT_D = F(2.0**-32), F(2.0**-33), D(2.0**-32)
LN2, NO_POWER = F(math.log(2)), INT(0)
ROOT_HALF = INT(0x3F3504F3)  # the bits of sqrt(1/2): mantissas lie around 1, not above it
MANTISSA = INT(0x007FFFFF)
ROOT_HALF_D, MANTISSA_D = LONG(0x3FE6A09E667F3BCD), LONG(0x000FFFFFFFFFFFFF)
TWO_BITS, THIRTY_BITS, EIGHTH = WORD(2), WORD(30), WORD(1 << 29)
LOG = polynomial(
    F, 7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1,
    -1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1,
)  # fmt: skip


@compile_elementary
def radius32(word: Any, factor: Any) -> Any:
    """Return sqrt(factor log u), u = (word + 1/2)/2^32 < 1; ``factor`` is -2 for a normal."""
    u = fma(F(word), TO_UNIT, TO_MIDDLE)
    bits = INT(int_of_float(u) - ROOT_HALF)
    k = INT(bits >> MANTISSA_BITS)
    close = fma(F(INT(word)), TO_UNIT, TO_MIDDLE)  # u - 1, where the word's sign bit is set
    f = close if k == NO_POWER else float_of_int(INT((bits & MANTISSA) + ROOT_HALF)) - ONE
    z = f * f
    log = fma(F(k), LN2, fma(LOG(f) * f, z, fma(-HALF, z, f)))
    return np.float32(math.sqrt(factor * log))  # both negative


G1, G2, G3 = D(6.666666666666735130e-01), D(3.999999999940941908e-01), D(2.857142874366239149e-01)
G4, G5, G6 = D(2.222219843214978396e-01), D(1.818357216161805012e-01), D(1.531383769920937332e-01)
G7 = D(1.479819860511658591e-01)


@compile_elementary
def radius64(word: Any, factor: Any) -> Any:
    """Return sqrt(factor log u), u = (word + 1/2)/2^32, which float64 holds exactly."""
    u = (D(word) + HALF_D) * TO_UNIT_D
    bits = long_of_double(u) - ROOT_HALF_D
    k = D(INT(bits >> MANTISSA_BITS_D))
    f = double_of_long((bits & MANTISSA_D) + ROOT_HALF_D) - ONE_D
    s = f / (TWO_D + f)
    z = s * s
    w = z * z
    p = fma(w, fma(w, fma(w, G6, G4), G2), z * fma(w, fma(w, fma(w, G7, G5), G3), G1))
    h = HALF_D * f * f
    log = fma(k, LN2_A_D, f - (h - fma(s, h + p, k * LN2_B_D)))
    return math.sqrt(factor * log)


later: Any = None
Float = Whole = TO_ANGLE = radius = near_sin = near_cos = flipped = later  # of one precision


def box_muller(first: Any, second: Any, factor: Any) -> Any:
    """Return two normals times a scale; ``factor`` is -2 scale^2."""
    r = radius(first, factor)
    angle = Float(INT(second << TWO_BITS)) * TO_ANGLE  # within an eighth of a turn of q quarters
    q = Whole(WORD(second + EIGHTH) >> THIRTY_BITS)
    s, c = near_sin(angle), near_cos(angle)
    odd = (q & Whole(1)) != Whole(0)
    return r * flipped(s if odd else c, Whole(q + Whole(1))), r * flipped(c if odd else s, q)


def _box_muller(kind: Any, radius: Any, precision: dict[str, Any]) -> Any:
    own = {"Float": kind, "radius": radius, "TO_ANGLE": kind(math.pi / 2 * 2.0**-32)}
    names = {**globals(), **precision, **own}
    return compile_elementary(FunctionType(box_muller.__code__, names, "box_muller"))


BOX_MULLER = {
    "float32": _box_muller(F, radius32, SINGLE),
    "float64": _box_muller(D, radius64, DOUBLE),
}
