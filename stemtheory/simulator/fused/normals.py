"""Philox4x32-10 and Box-Muller for compiled kernels: the numbers of ``stemtheory.runtime.philox``.

Sixteen lanes go through the ten rounds side by side, so that a compiler fills vector registers.
No division of a word by 2^32 is rounded away from where it matters: close to u = 1 the logarithm
starts from u - 1, which a signed word gives exactly, and the angle is reduced in whole numbers.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from stemtheory.runtime import MULTIPLIERS, WEYL
from stemtheory.simulator.fused.elementary import (
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
    TWO_D,
    ZERO_I,
    ZERO_L,
    D,
    F,
    compile_elementary,
    cos_poly,
    cos_poly_d,
    double_of_long,
    float_of_int,
    fma,
    int_of_float,
    long_of_double,
    sin_poly,
    sin_poly_d,
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


TO_UNIT, TO_ANGLE = F(2.0**-32), F(math.pi / 2 * 2.0**-32)
TO_MIDDLE = F(2.0**-33)
TO_UNIT_D, TO_ANGLE_D = D(2.0**-32), D(math.pi / 2 * 2.0**-32)
LN2 = F(math.log(2))
ROOT_HALF = INT(0x3F3504F3)  # the bits of sqrt(1/2): mantissas lie around 1, not above it
MANTISSA = INT(0x007FFFFF)
ROOT_HALF_D, MANTISSA_D = LONG(0x3FE6A09E667F3BCD), LONG(0x000FFFFFFFFFFFFF)
TWO_BITS, THIRTY_BITS, EIGHTH = WORD(2), WORD(30), WORD(1 << 29)
ONE_W, TWO_W, ZERO_W = WORD(1), WORD(2), WORD(0)
THIRTY_TWO_L, THIRTY_ONE_L = LONG(32), LONG(31)
L1, L2, L3 = F(7.0376836292e-2), F(-1.1514610310e-1), F(1.1676998740e-1)
L4, L5, L6 = F(-1.2420140846e-1), F(1.4249322787e-1), F(-1.6668057665e-1)
L7, L8, L9 = F(2.0000714765e-1), F(-2.4999993993e-1), F(3.3333331174e-1)


@compile_elementary
def radius32(word: Any, factor: Any) -> Any:
    """Return sqrt(factor log u), u = (word + 1/2)/2^32 < 1; ``factor`` is -2 for a normal."""
    u = fma(F(word), TO_UNIT, TO_MIDDLE)
    bits = INT(int_of_float(u) - ROOT_HALF)
    k = INT(bits >> MANTISSA_BITS)
    close = fma(F(INT(word)), TO_UNIT, TO_MIDDLE)  # u - 1, where the word's sign bit is set
    f = close if k == ZERO_I else float_of_int(INT((bits & MANTISSA) + ROOT_HALF)) - ONE
    z = f * f
    p = fma(fma(fma(fma(L1, f, L2), f, L3), f, L4), f, L5)
    p = fma(fma(fma(fma(p, f, L6), f, L7), f, L8), f, L9)
    log = fma(F(k), LN2, fma(p * f, z, fma(-HALF, z, f)))
    return np.float32(math.sqrt(factor * log))  # both negative


@compile_elementary
def box_muller32(first: Any, second: Any, factor: Any) -> Any:
    """Return two normals times a scale; ``factor`` is -2 scale^2."""
    r = radius32(first, factor)
    angle = F(INT(second << TWO_BITS)) * TO_ANGLE  # within an eighth of a turn of q quarters
    q = WORD(second + EIGHTH) >> THIRTY_BITS
    s, c = sin_poly(angle), cos_poly(angle)
    odd = (q & ONE_W) != ZERO_W
    x = s if odd else c
    y = c if odd else s
    x = float_of_int(INT(int_of_float(x) ^ INT(WORD((q + ONE_W) & TWO_W) << THIRTY_BITS)))
    y = float_of_int(INT(int_of_float(y) ^ INT(WORD(q & TWO_W) << THIRTY_BITS)))
    return r * x, r * y


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


@compile_elementary
def box_muller64(first: Any, second: Any, factor: Any) -> Any:
    """Return two normals times a scale; ``factor`` is -2 scale^2."""
    r = radius64(first, factor)
    angle = D(INT(second << TWO_BITS)) * TO_ANGLE_D
    q = LONG(WORD(second + EIGHTH) >> THIRTY_BITS)
    s, c = sin_poly_d(angle), cos_poly_d(angle)
    odd = (q & LONG(1)) != ZERO_L
    x = s if odd else c
    y = c if odd else s
    x = double_of_long(long_of_double(x) ^ (((q + LONG(1)) & LONG(2)) << LONG(62)))
    y = double_of_long(long_of_double(y) ^ ((q & LONG(2)) << LONG(62)))
    return r * x, r * y


BOX_MULLER = {"float32": box_muller32, "float64": box_muller64}
