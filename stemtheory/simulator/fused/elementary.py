"""Elementary functions that a compiler can turn into vector code: polynomials without branches.

A loss is written in NumPy ufuncs. Compiled as they are, ``np.sin`` and ``np.exp`` call a scalar
library routine, element by element: ten times the price of everything else in a step. ``compiled``
therefore compiles a copy of the *same code object* in which the name ``np`` stands for a module
that is NumPy except for a few functions of this file; so does the name ``sines``.

What the two precisions have in common is written once and compiled twice, with the names of
``SINGLE`` and of ``DOUBLE`` for its globals.

Accuracy, tested: 2 units in the last place for |x| <= 100; absolutely 2e-7 (float32, |x| <= 1e4)
and 3e-16 (float64, |x| <= 1e6). A sine of something far beyond, where a float's own spacing nears
a radian, is some number in [-1, 1]; infinite and NaN arguments give NaN.

S. L. Moshier. Cephes mathematical library, 1989-2000 (float32). K. C. Ng et al. fdlibm, Sun
Microsystems, 1993 (float64).
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Any, TypeVar

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core.errors import TypingError
from numba.extending import intrinsic

from stemtheory.oracles import sines
from stemtheory.simulator.fused.parts import PART

Function = TypeVar("Function", bound=Callable[..., Any])


def compile_elementary(function: Function) -> Function:
    """Return the function compiled, to be put in place of its calls: a call keeps a loop scalar."""
    made: Function = njit(forceinline=True, **PART)(function)
    return made


F, D, INT, LONG = np.float32, np.float64, np.int32, np.int64
ONE, HALF, ONE_D, HALF_D, TWO_D = F(1), F(0.5), D(1), D(0.5), D(2)


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


def polynomial(kind: Any, *coefficients: float) -> Any:
    """Return z -> (.. (c_1 z + c_2) z ..) + c_n, compiled; a loop would keep vector code away."""
    names: dict[str, Any] = {f"c{i}": kind(c) for i, c in enumerate(coefficients)}
    text = "c0"
    for name in list(names)[1:]:
        text = f"fma({text}, z, {name})"
    return compile_elementary(eval(f"lambda z: {text}", {**names, "fma": fma}))


# ---- what the two precisions write alike; the names stand for those of one of them
later: Any = None
Whole = bits = from_bits = near_cos = later
TOP = ROUNDER = BEYOND = LIMIT = later
TWO_OVER_PI = QUARTER = QUARTER_REST = ONE_OVER_PI = HALF_TURN = HALF_TURN_REST = later
SIN_NEAR = SIN_FAR = later  # polynomials in r^2


def clamped(r: Any, limit: Any) -> Any:
    """Return r, or the nearer of -limit and limit; NaN stays NaN, by the order of comparisons."""
    r = limit if limit < r else r  # noqa: FURB136 - min and max drop NaN
    return -limit if r < -limit else r  # noqa: FURB136


def near_sin(r: Any) -> Any:
    """Return sin r for |r| <= pi/4."""
    z = r * r
    return fma(SIN_NEAR(z) * z, r, r)


def flipped(y: Any, q: Any) -> Any:
    """Return y, its sign turned where q has the bit of 2: q is shifted into the sign."""
    return from_bits(Whole(bits(y) ^ Whole((q & Whole(2)) << TOP)))


def reduced(x: Any) -> Any:
    """Return (r, q): x = r + q pi/2 with |r| <= pi/4, q modulo 4 in its two low bits.

    x + ROUNDER is rounded to a whole number, which stands in its low bits. pi/2 is taken off in two
    parts; a product and a sum are rounded once, so the first part may have all its bits.
    """
    shifted = fma(x, TWO_OVER_PI, ROUNDER)
    n = ROUNDER - shifted
    r = fma(n, QUARTER_REST, fma(n, QUARTER, x))
    return clamped(r, BEYOND), bits(shifted)


def turned(r: Any, q: Any) -> Any:
    """Return sin(r + q pi/2)."""
    return flipped(near_sin(r) if (q & Whole(1)) == Whole(0) else near_cos(r), q)


def sin_beside_cos(x: Any) -> Any:
    """Return sin x; beside cos x the reduction and both polynomials are shared."""
    r, q = reduced(x)
    return turned(r, q)


def cos(x: Any) -> Any:
    """Return cos x."""
    r, q = reduced(x)
    return turned(r, Whole(q + Whole(1)))


def sin_cos(x: Any) -> Any:
    """Return (sin x, cos x)."""
    return sin_beside_cos(x), cos(x)


def sin(x: Any) -> Any:
    """Return sin x, alone: by multiples of pi and one polynomial, even beyond |r| = pi/2."""
    shifted = fma(x, ONE_OVER_PI, ROUNDER)
    n = ROUNDER - shifted
    r = clamped(fma(n, HALF_TURN_REST, fma(n, HALF_TURN, x)), LIMIT)
    z = r * r
    y = fma(SIN_FAR(z) * z, r, r)
    return from_bits(Whole(bits(y) ^ Whole(bits(shifted) << Whole(TOP + Whole(1)))))


def root(x: Any) -> Any:
    """Return the square root, one instruction in either precision."""
    return math.sqrt(x)


def magnitude(x: Any) -> Any:
    """Return |x|."""
    return abs(x)


def squared(x: Any) -> Any:
    """Return x x."""
    return x * x


SHARED = (
    clamped, near_sin, flipped, reduced, turned, sin_beside_cos, cos, sin_cos, sin, root, magnitude,
    squared,
)  # fmt: skip


def _precision(kind: Any, rest: tuple[float, float], **own: Any) -> dict[str, Any]:
    """Return the names of one precision; ``rest`` is what it leaves of pi/2 and of pi."""
    names: dict[str, Any] = {
        "fma": fma, "math": math, "BEYOND": kind(0.8), "LIMIT": kind(1.6),
        "TWO_OVER_PI": kind(2 / math.pi), "QUARTER": kind(math.pi / 2),
        "ONE_OVER_PI": kind(1 / math.pi), "HALF_TURN": kind(math.pi),
        "QUARTER_REST": kind(rest[0]), "HALF_TURN_REST": kind(rest[1]), **own,
    }  # fmt: skip
    for function in SHARED:
        copy = FunctionType(function.__code__, names, function.__name__)
        names[function.__name__] = compile_elementary(copy)
    return names


# ---- float32
COS_NEAR = polynomial(F, 2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2)


@compile_elementary
def near_cos32(r: Any) -> Any:
    """Return cos r for |r| <= pi/4."""
    z = r * r
    return fma(COS_NEAR(z) * z, z, fma(-HALF, z, ONE))


SINGLE = _precision(
    F,
    (math.pi / 2 - float(F(math.pi / 2)), math.pi - float(F(math.pi))),
    Whole=INT, bits=int_of_float, from_bits=float_of_int, TOP=INT(30), ROUNDER=F(1.5 * 2**23),
    near_cos=near_cos32,
    SIN_NEAR=polynomial(F, -1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1),
    # least relative error on |r| <= pi/2
    SIN_FAR=polynomial(
        F, 2.6057776523961934236e-6, -0.00019809601626418644855, 0.0083330662298139985123,
        -0.1666665954984491189,
    ),
)  # fmt: skip
LOG2_E, LN2_A, LN2_B = F(1 / math.log(2)), F(0.693359375), F(-2.12194440e-4)
EXP = polynomial(
    F, 1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1,
    5.0000001201e-1,
)  # fmt: skip
LEAST, MOST, ZERO, HUGE = F(-87.3), F(88.7), F(0), F(np.inf)
ROUNDER32, ROUNDER_BITS, ONE_BITS, MANTISSA_BITS = (
    SINGLE["ROUNDER"],
    INT(0x4B400000),
    INT(1),
    INT(23),
)


@compile_elementary
def exp32(x: Any) -> Any:
    """Return exp x in float32; below exp(-87.3), where denormal numbers begin, it is 0."""
    y = min(max(x, LEAST), MOST)
    shifted = fma(y, LOG2_E, ROUNDER32)
    n = ROUNDER32 - shifted
    r = fma(n, LN2_B, fma(n, LN2_A, y))
    p = fma(EXP(r) * r, r, r) + ONE
    # twice half the power: 2^n itself may exceed the exponent's range
    half = INT((int_of_float(shifted) - ROUNDER_BITS) >> ONE_BITS)
    rest = INT(int_of_float(shifted) - ROUNDER_BITS - half)
    p = p * float_of_int(INT((half << MANTISSA_BITS) + int_of_float(ONE)))
    p = p * float_of_int(INT((rest << MANTISSA_BITS) + int_of_float(ONE)))
    p = ZERO if x < LEAST else p
    p = HUGE if x > MOST else p
    return p if x == x else x


# ---- float64
COS_NEAR_D = polynomial(
    D, -1.13596475577881948265e-11, 2.08757232129817482790e-9, -2.75573143513906633035e-7,
    2.48015872894767294178e-5, -1.38888888888741095749e-3, 4.16666666666666019037e-2,
)  # fmt: skip


@compile_elementary
def near_cos64(r: Any) -> Any:
    """Return cos r for |r| <= pi/4; what is lost of 1 - z/2 is added again."""
    z = r * r
    h = HALF_D * z
    w = ONE_D - h
    return w + fma(COS_NEAR_D(z) * z, z, (ONE_D - w) - h)


DOUBLE = _precision(
    D,
    (6.123233995736766e-17, 1.2246467991473532e-16),
    Whole=LONG, bits=long_of_double, from_bits=double_of_long, TOP=LONG(62),
    ROUNDER=D(1.5 * 2**52),
    near_cos=near_cos64,
    SIN_NEAR=polynomial(
        D, 1.58969099521155010221e-10, -2.50507602534068634195e-8, 2.75573137070700676789e-6,
        -1.98412698298579493134e-4, 8.33333333332248946124e-3, -1.66666666666666324348e-1,
    ),
    SIN_FAR=polynomial(
        D, 2.72117319540757139e-15, -7.6429913251528269458e-13, 1.6058939699736906531e-10,
        -2.5052106872682814563e-8, 2.7557319211136006595e-6, -0.0001984126984120921202,
        0.0083333333333331942873, -0.16666666666666665569,
    ),
)  # fmt: skip
LOG2_E_D = D(1 / math.log(2))
LN2_A_D, LN2_B_D = D(6.93147180369123816490e-01), D(1.90821492927058770002e-10)
EXP_D = polynomial(
    D, 4.13813679705723846039e-08, -1.65339022054652515390e-06, 6.61375632143793436117e-05,
    -2.77777777770155933842e-03, 1.66666666666666019037e-01,
)  # fmt: skip
LEAST_D, MOST_D, ZERO_D, HUGE_D = D(-708.3), D(709.7), D(0), D(np.inf)
ROUNDER64, ONE_BITS_D, MANTISSA_BITS_D = DOUBLE["ROUNDER"], LONG(1), LONG(52)


@compile_elementary
def exp64(x: Any) -> Any:
    """Return exp x in float64; below exp(-708.3), where denormal numbers begin, it is 0."""
    y = min(max(x, LEAST_D), MOST_D)
    shifted = fma(y, LOG2_E_D, ROUNDER64)
    n = shifted - ROUNDER64
    high, low = fma(-n, LN2_A_D, y), n * LN2_B_D
    r = high - low
    z = r * r
    c = fma(-EXP_D(z), z, r)
    p = ONE_D - ((low - (r * c) / (TWO_D - c)) - high)
    whole = long_of_double(shifted) - long_of_double(ROUNDER64)
    half = whole >> ONE_BITS_D
    p = p * double_of_long((half << MANTISSA_BITS_D) + long_of_double(ONE_D))
    p = p * double_of_long(((whole - half) << MANTISSA_BITS_D) + long_of_double(ONE_D))
    p = ZERO_D if x < LEAST_D else p
    p = HUGE_D if x > MOST_D else p
    return p if x == x else x


def _by_numpys_names(names: dict[str, Any], exp: Any) -> dict[str, Any]:
    magnitude = names["magnitude"]
    return {
        "sin": names["sin"], "cos": names["cos"], "exp": exp, "square": names["squared"],
        "sqrt": names["root"], "abs": magnitude, "absolute": magnitude, "fabs": magnitude,
    }  # fmt: skip


PRECISIONS = {"float32": SINGLE, "float64": DOUBLE}
OWN = {"float32": _by_numpys_names(SINGLE, exp32), "float64": _by_numpys_names(DOUBLE, exp64)}
OURS = {dtype: OWN[dtype] | {"sin_cos": PRECISIONS[dtype]["sin_cos"]} for dtype in OWN}


def namespace(dtype: str, names: tuple[str, ...] = ()) -> ModuleType:
    """Return a module that is NumPy, but for the functions of this file in one precision.

    ``names`` are those that the code at hand uses: a sine beside a cosine shares its reduction.
    """
    module = ModuleType(f"elementary_{dtype}")
    module.__dict__.update({**vars(np), **OURS[dtype], "__name__": module.__name__})
    if "cos" in names:
        module.__dict__["sin"] = PRECISIONS[dtype]["sin_beside_cos"]
    return module


def compiled(function: Callable[..., Any], dtype: str) -> Any:
    """Return the function compiled as it is, with ``np`` and ``sines`` for ``namespace(dtype)``."""
    if not isinstance(function, FunctionType):
        raise TypingError(f"\n{function!r} is no plain function")
    elementary = namespace(dtype, function.__code__.co_names)
    rebound = {
        name: elementary if value is np or value is sines else value
        for name, value in function.__globals__.items()
    }
    copy = FunctionType(
        function.__code__, rebound, function.__name__, function.__defaults__, function.__closure__
    )
    return compile_elementary(copy)


def found(module: str, name: str, dtype: str) -> Any:
    """Return the compiled copy of a function that stands at the top of a module."""
    return compiled(getattr(importlib.import_module(module), name), dtype)
