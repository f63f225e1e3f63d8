"""Elementary functions that a compiler can turn into vector code: polynomials without branches.

A loss is written in NumPy ufuncs. Compiled as they are, ``np.sin`` and ``np.exp`` call a scalar
library routine, element by element: ten times the price of everything else in a step. ``compiled``
therefore compiles a copy of the *same code object* in which the name ``np`` stands for a module
that is NumPy except for a few functions of this file.

Accuracy, tested: 2 units in the last place for |x| <= 100; absolutely 2e-7 (float32, |x| <= 1e4)
and 3e-16 (float64, |x| <= 1e6). A sine of something far beyond, where a float's own spacing nears
a radian, is some number in [-1, 1]; infinite and NaN arguments give NaN.

S. L. Moshier. Cephes mathematical library, 1989-2000 (float32). K. C. Ng et al. fdlibm, Sun
Microsystems, 1993 (float64).
"""

from __future__ import annotations

import importlib
import math
import types as python_types
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core.errors import TypingError
from numba.extending import intrinsic

# No "fast" arithmetic: a sum may not be reordered, nor a product and a sum joined where it suits a
# compiler. So bits depend on no compiler, history or vector width; ``fma`` is written where meant.
OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
Function = TypeVar("Function", bound=Callable[..., Any])


def compile_elementary(function: Function) -> Function:
    """Return the function compiled, to be put in place of its calls: a call keeps a loop scalar."""
    made: Function = njit(forceinline=True, **OPTIONS)(function)
    return made


F, D = np.float32, np.float64
INT, LONG = np.int32, np.int64
ONE, HALF = F(1), F(0.5)
ONE_D, HALF_D = D(1), D(0.5)


def _reinterpret(source: Any, target: Any, llvm: Any) -> Any:
    """Return a function that reads the bits of one type as another."""

    def bits(context: Any, x: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.bitcast(arguments[0], llvm)

        return target(source), generate

    return intrinsic(bits)


def _joined(context: Any, a: Any, b: Any, c: Any) -> Any:
    """Return a b + c rounded once: one instruction."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.fma(*arguments)

    return a(a, a, a), generate


fma: Any = intrinsic(_joined)
int_of_float = _reinterpret(types.float32, types.int32, ir.IntType(32))
float_of_int = _reinterpret(types.int32, types.float32, ir.FloatType())
long_of_double = _reinterpret(types.float64, types.int64, ir.IntType(64))
double_of_long = _reinterpret(types.int64, types.float64, ir.DoubleType())

# ---- float32: reduction to |r| <= pi/4 by a rounded multiple of pi/2 in two parts; with a product
# and a sum rounded once, the first part may have all its bits
ROUNDER = F(1.5 * 2**23)  # x + ROUNDER is rounded to a whole number, found in its low bits
TWO_OVER_PI = F(2 / math.pi)
QUARTER_A, QUARTER_B = F(math.pi / 2), F(math.pi / 2 - float(F(math.pi / 2)))
BEYOND = F(0.8)
S1, S2, S3 = F(-1.6666654611e-1), F(8.3321608736e-3), F(-1.9515295891e-4)
C1, C2, C3 = F(4.166664568298827e-2), F(-1.388731625493765e-3), F(2.443315711809948e-5)
ZERO_I, ONE_I, TWO_I, THIRTY_I = INT(0), INT(1), INT(2), INT(30)


@compile_elementary
def clamped(r: Any, limit: Any) -> Any:
    """Return r, or the nearer of -limit and limit; NaN stays NaN, by the order of comparisons."""
    r = limit if limit < r else r  # noqa: FURB136 - min and max drop NaN
    return -limit if r < -limit else r  # noqa: FURB136


@compile_elementary
def sin_poly(r: Any) -> Any:
    """Return sin r for |r| <= pi/4."""
    z = r * r
    p = fma(fma(S3, z, S2), z, S1)
    return fma(p * z, r, r)


@compile_elementary
def cos_poly(r: Any) -> Any:
    """Return cos r for |r| <= pi/4."""
    z = r * r
    p = fma(fma(C3, z, C2), z, C1)
    return fma(p * z, z, fma(-HALF, z, ONE))


@compile_elementary
def reduced(x: Any) -> Any:
    """Return (r, q): x = r + q pi/2 with |r| <= pi/4, q modulo 4 in its two low bits."""
    shifted = fma(x, TWO_OVER_PI, ROUNDER)
    n = ROUNDER - shifted
    r = fma(n, QUARTER_B, fma(n, QUARTER_A, x))
    return clamped(r, BEYOND), int_of_float(shifted)


@compile_elementary
def turned(r: Any, q: Any) -> Any:
    """Return sin(r + q pi/2)."""
    y = sin_poly(r) if (q & ONE_I) == ZERO_I else cos_poly(r)
    return float_of_int(INT(int_of_float(y) ^ INT((q & TWO_I) << THIRTY_I)))


@compile_elementary
def sin32_beside_cos(x: Any) -> Any:
    """Return sin x in float32; beside cos x the reduction and both polynomials are shared."""
    r, q = reduced(x)
    return turned(r, q)


@compile_elementary
def cos32(x: Any) -> Any:
    """Return cos x in float32."""
    r, q = reduced(x)
    return turned(r, INT(q + ONE_I))


# sin alone: reduction by multiples of pi and one polynomial, least relative error on |r| <= pi/2
ONE_OVER_PI, LIMIT = F(1 / math.pi), F(1.6)
HALF_A, HALF_B = F(math.pi), F(math.pi - float(F(math.pi)))
T1, T2 = F(-0.1666665954984491189), F(0.0083330662298139985123)
T3, T4 = F(-0.00019809601626418644855), F(2.6057776523961934236e-6)
THIRTY_ONE_I = INT(31)


@compile_elementary
def sin32(x: Any) -> Any:
    """Return sin x in float32."""
    shifted = fma(x, ONE_OVER_PI, ROUNDER)
    n = ROUNDER - shifted
    r = clamped(fma(n, HALF_B, fma(n, HALF_A, x)), LIMIT)
    z = r * r
    p = fma(fma(fma(T4, z, T3), z, T2), z, T1)
    y = fma(p * z, r, r)
    return float_of_int(INT(int_of_float(y) ^ INT(int_of_float(shifted) << THIRTY_ONE_I)))


LOG2_E, LN2_A, LN2_B = F(1 / math.log(2)), F(0.693359375), F(-2.12194440e-4)
E1, E2, E3 = F(1.9875691500e-4), F(1.3981999507e-3), F(8.3334519073e-3)
E4, E5, E6 = F(4.1665795894e-2), F(1.6666665459e-1), F(5.0000001201e-1)
LEAST, MOST, ZERO, HUGE = F(-87.3), F(88.7), F(0), F(np.inf)
MANTISSA_BITS = INT(23)
ROUNDER_BITS = INT(0x4B400000)


@compile_elementary
def exp32(x: Any) -> Any:
    """Return exp x in float32; below exp(-87.3), where denormal numbers begin, it is 0."""
    y = min(max(x, LEAST), MOST)
    shifted = fma(y, LOG2_E, ROUNDER)
    n = ROUNDER - shifted
    r = fma(n, LN2_B, fma(n, LN2_A, y))
    p = fma(fma(fma(fma(fma(E1, r, E2), r, E3), r, E4), r, E5), r, E6)
    p = fma(p * r, r, r) + ONE
    # twice half the power: 2^n itself may exceed the exponent's range
    half = INT((int_of_float(shifted) - ROUNDER_BITS) >> ONE_I)
    rest = INT(int_of_float(shifted) - ROUNDER_BITS - half)
    p = p * float_of_int(INT((half << MANTISSA_BITS) + int_of_float(ONE)))
    p = p * float_of_int(INT((rest << MANTISSA_BITS) + int_of_float(ONE)))
    p = ZERO if x < LEAST else p
    p = HUGE if x > MOST else p
    return p if x == x else x


# ---- float64
ROUNDER_D = D(1.5 * 2**52)
TWO_OVER_PI_D = D(2 / math.pi)
QUARTER_A_D, QUARTER_B_D = D(math.pi / 2), D(6.123233995736766e-17)
BEYOND_D = D(0.8)
S1_D, S2_D, S3_D = (
    D(-1.66666666666666324348e-1),
    D(8.33333333332248946124e-3),
    D(-1.98412698298579493134e-4),
)
S4_D, S5_D, S6_D = (
    D(2.75573137070700676789e-6),
    D(-2.50507602534068634195e-8),
    D(1.58969099521155010221e-10),
)
C1_D, C2_D, C3_D = (
    D(4.16666666666666019037e-2),
    D(-1.38888888888741095749e-3),
    D(2.48015872894767294178e-5),
)
C4_D, C5_D, C6_D = (
    D(-2.75573143513906633035e-7),
    D(2.08757232129817482790e-9),
    D(-1.13596475577881948265e-11),
)
ZERO_L, ONE_L, TWO_L, SIXTY_TWO_L = LONG(0), LONG(1), LONG(2), LONG(62)


@compile_elementary
def sin_poly_d(r: Any) -> Any:
    """Return sin r for |r| <= pi/4."""
    z = r * r
    p = fma(fma(fma(fma(fma(S6_D, z, S5_D), z, S4_D), z, S3_D), z, S2_D), z, S1_D)
    return fma(p * z, r, r)


@compile_elementary
def cos_poly_d(r: Any) -> Any:
    """Return cos r for |r| <= pi/4."""
    z = r * r
    p = fma(fma(fma(fma(fma(C6_D, z, C5_D), z, C4_D), z, C3_D), z, C2_D), z, C1_D)
    h = HALF_D * z
    w = ONE_D - h
    return w + fma(p * z, z, (ONE_D - w) - h)


@compile_elementary
def reduced_d(x: Any) -> Any:
    """Return (r, q): x = r + q pi/2 with |r| <= pi/4, q modulo 4 in its two low bits."""
    shifted = fma(x, TWO_OVER_PI_D, ROUNDER_D)
    n = ROUNDER_D - shifted
    r = fma(n, QUARTER_B_D, fma(n, QUARTER_A_D, x))
    return clamped(r, BEYOND_D), long_of_double(shifted)


@compile_elementary
def turned_d(r: Any, q: Any) -> Any:
    """Return sin(r + q pi/2)."""
    y = sin_poly_d(r) if (q & ONE_L) == ZERO_L else cos_poly_d(r)
    return double_of_long(long_of_double(y) ^ ((q & TWO_L) << SIXTY_TWO_L))


@compile_elementary
def sin64_beside_cos(x: Any) -> Any:
    """Return sin x in float64; beside cos x the reduction and both polynomials are shared."""
    r, q = reduced_d(x)
    return turned_d(r, q)


@compile_elementary
def cos64(x: Any) -> Any:
    """Return cos x in float64."""
    r, q = reduced_d(x)
    return turned_d(r, q + ONE_L)


ONE_OVER_PI_D, LIMIT_D = D(1 / math.pi), D(1.6)
HALF_A_D, HALF_B_D = D(math.pi), D(1.2246467991473532e-16)
T1_D, T2_D = D(-0.16666666666666665569), D(0.0083333333333331942873)
T3_D, T4_D = D(-0.0001984126984120921202), D(2.7557319211136006595e-6)
T5_D, T6_D = D(-2.5052106872682814563e-8), D(1.6058939699736906531e-10)
T7_D, T8_D = D(-7.6429913251528269458e-13), D(2.72117319540757139e-15)
SIXTY_THREE_L = LONG(63)


@compile_elementary
def sin64(x: Any) -> Any:
    """Return sin x in float64."""
    shifted = fma(x, ONE_OVER_PI_D, ROUNDER_D)
    n = ROUNDER_D - shifted
    r = clamped(fma(n, HALF_B_D, fma(n, HALF_A_D, x)), LIMIT_D)
    z = r * r
    p = fma(fma(fma(T8_D, z, T7_D), z, T6_D), z, T5_D)
    p = fma(fma(fma(fma(p, z, T4_D), z, T3_D), z, T2_D), z, T1_D)
    y = fma(p * z, r, r)
    return double_of_long(long_of_double(y) ^ (long_of_double(shifted) << SIXTY_THREE_L))


LOG2_E_D = D(1 / math.log(2))
LN2_A_D, LN2_B_D = D(6.93147180369123816490e-01), D(1.90821492927058770002e-10)
P1_D, P2_D, P3_D = (
    D(1.66666666666666019037e-01),
    D(-2.77777777770155933842e-03),
    D(6.61375632143793436117e-05),
)
P4_D, P5_D = D(-1.65339022054652515390e-06), D(4.13813679705723846039e-08)
LEAST_D, MOST_D, ZERO_D, HUGE_D = D(-708.3), D(709.7), D(0), D(np.inf)
TWO_D = D(2)
MANTISSA_BITS_D = LONG(52)


@compile_elementary
def exp64(x: Any) -> Any:
    """Return exp x in float64; below exp(-708.3), where denormal numbers begin, it is 0."""
    y = min(max(x, LEAST_D), MOST_D)
    shifted = fma(y, LOG2_E_D, ROUNDER_D)
    n = shifted - ROUNDER_D
    high, low = fma(-n, LN2_A_D, y), n * LN2_B_D
    r = high - low
    z = r * r
    p = fma(fma(fma(fma(P5_D, z, P4_D), z, P3_D), z, P2_D), z, P1_D)
    c = fma(-p, z, r)
    p = ONE_D - ((low - (r * c) / (TWO_D - c)) - high)
    whole = long_of_double(shifted) - long_of_double(ROUNDER_D)
    half = whole >> ONE_L
    p = p * double_of_long((half << MANTISSA_BITS_D) + long_of_double(ONE_D))
    p = p * double_of_long(((whole - half) << MANTISSA_BITS_D) + long_of_double(ONE_D))
    p = ZERO_D if x < LEAST_D else p
    p = HUGE_D if x > MOST_D else p
    return p if x == x else x


@compile_elementary
def root(x: Any) -> Any:
    """Return the square root, one instruction in either precision."""
    return math.sqrt(x)


@compile_elementary
def magnitude(x: Any) -> Any:
    """Return |x|."""
    return abs(x)


@compile_elementary
def squared(x: Any) -> Any:
    """Return x x."""
    return x * x


COMMON = {"sqrt": root, "abs": magnitude, "absolute": magnitude, "fabs": magnitude}
OWN: dict[str, dict[str, Any]] = {
    "float32": {"sin": sin32, "cos": cos32, "exp": exp32, "square": squared, **COMMON},
    "float64": {"sin": sin64, "cos": cos64, "exp": exp64, "square": squared, **COMMON},
}


BESIDE_COS = {"float32": sin32_beside_cos, "float64": sin64_beside_cos}


def namespace(dtype: str, names: tuple[str, ...] = ()) -> python_types.ModuleType:
    """Return a module that is NumPy, but for the functions of this file in one precision.

    ``names`` are those that the code at hand uses: a sine beside a cosine shares its reduction.
    """
    module = python_types.ModuleType(f"elementary_{dtype}")
    module.__dict__.update({**vars(np), **OWN[dtype], "__name__": module.__name__})
    if "cos" in names:
        module.__dict__["sin"] = BESIDE_COS[dtype]
    return module


def compiled(function: Callable[..., Any], dtype: str) -> Any:
    """Return the function compiled as it is, with ``np`` standing for ``namespace(dtype)``."""
    if not isinstance(function, python_types.FunctionType):
        raise TypingError(f"\n{function!r} is no plain function")
    elementary = namespace(dtype, function.__code__.co_names)
    rebound = {
        name: elementary if value is np else value for name, value in function.__globals__.items()
    }
    copy = python_types.FunctionType(
        function.__code__, rebound, function.__name__, function.__defaults__, function.__closure__
    )
    return compile_elementary(copy)


def found(module: str, name: str, dtype: str) -> Any:
    """Return the compiled copy of a function that stands at the top of a module."""
    return compiled(getattr(importlib.import_module(module), name), dtype)
