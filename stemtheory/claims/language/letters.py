"""The vocabulary: every letter of a line with its sign in print, its units and what is known of it.

Scaling x by s and f by r scales L by r/s^2, sigma and zeta by r/s, and eta by s^2/r; the units of a
letter are these two powers. A letter that is never negative, or never below one, says so: mutants
are ordered by it.

Paper: Algorithm (Algo_DR-STORM_batch), Assumption (Ass: Lip_Smoothness); docs/repaired-theorem.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, Literal

from stemtheory.claims.language.expression import (
    At,
    Call,
    Either,
    Expected,
    Expr,
    Index,
    Inner,
    Line,
    Over,
    Raised,
    Symbol,
    Young,
    expr,
)
from stemtheory.runtime import UsageError

Units = tuple[int | Fraction, int | Fraction]  # the powers of s and of r
Range = Literal["any", "nonnegative", "from one", "to one"]
NUMBER: Units = (0, 0)
GRADIENT: Units = (-1, 1)
POINT, STEP, VALUE, SQUARE = (1, 0), (2, -1), (0, 1), (-2, 2)  # SQUARE: of a gradient


@dataclass(frozen=True)
class Letter:
    """One letter: ``indices`` says what it stands at, ``t`` for a time and ``k`` for a worker."""

    name: str
    latex: str
    units: Units
    indices: str = ""
    range: Range = "nonnegative"
    vector: bool = False
    lag: int = 0  # by how much the printed time is behind
    field: str = ""  # of the algorithm's state, where it is called otherwise
    unaveraged: bool = False  # as the workers' own step leaves it, before an averaging

    def __getitem__(self, at: Any) -> Symbol:
        given = at if isinstance(at, tuple) else (at,)
        if len(given) != len(self.indices):
            raise ValueError(
                f"{self.name} stands at {len(given)} indices, but has {len(self.indices)}"
                f" ({', '.join(self.indices) or 'none'})."
            )
        return Symbol(self.name, tuple(map(_place, given)), self.vector)


def _place(at: Any) -> Any:
    """Return an integer as an index."""
    return Index("", at) if type(at) is int else at


LETTERS: dict[str, Letter] = {}


def letter(
    name: str, latex: str, units: tuple[Any, Any] = NUMBER, indices: str = "t", **more: Any
) -> Letter:
    """Add a letter to the vocabulary and return it; the same one may be added again.

    Raises
    ------
    UsageError
        If another letter of its name is there.
    """
    s, r = (power if isinstance(power, int) else Fraction(power) for power in units)
    made = Letter(name, latex, (s, r), indices, **more)
    if LETTERS.setdefault(name, made) != made:
        raise UsageError(
            f"letter {name} is in the vocabulary already, as {LETTERS[name].latex}: call it"
            " otherwise, and say by field= what the algorithm calls it."
        )
    return made


def constant(name: str, latex: str, units: tuple[Any, Any] = NUMBER, **more: Any) -> Symbol:
    """Add a letter without indices; return it as an expression."""
    return letter(name, latex, units, "", **more)[()]


def constants(signs: dict[str, str], within: Range) -> list[Symbol]:
    """Add pure numbers with their signs in print."""
    return [constant(name, sign, range=within) for name, sign in signs.items()]


# Vectors may have either sign: at times, at times and workers, or at no index.
vector = partial(letter, range="any", vector=True)
local = partial(vector, indices="tk")
anywhere = partial(constant, range="any", vector=True)

# Times and workers. ``start`` is the paper's tbar_{s-1}, the start of the round that holds t,
# and ``end`` its tbar_s; s counts rounds. xi and xi2 are two samples of a minibatch.
t, l, k, j = Index("t"), Index("l"), Index("k"), Index("j")
T, start, end, s = Index("T"), Index("start"), Index("end"), Index("s")
xi, xi2 = Index("xi"), Index("xi'")

# Sizes and constants.
K, I, b, B, m = constants({name: name for name in "KIbBm"}, "from one")
L = constant("L", "L", (-2, 1))
sigma, zeta = constant("sigma", r"\sigma", GRADIENT), constant("zeta", r"\zeta", GRADIENT)
nu = constant("nu", r"\nu", range="to one")
gap = constant("gap", r"(f(\bar x_1) - f^*)", VALUE)
c = constant("c", "c", (-4, 2))
epsilon = constant("epsilon", r"\epsilon", SQUARE)
kbar = constant("kbar", r"\bar\kappa", (Fraction(4, 3), Fraction(-1, 3)))
# FedAvg's printed step sqrt(bK/T) has no units: it is read in a unit of the step, which is 1.
unit_step = constant("unit_step", "", STEP)

# What is counted of a run: a worker's oracle calls, averagings over a run and in a round, and the
# vectors that a worker and the server send.
calls = constant("calls", r"\mathrm{calls}")
exchanges = constant("exchanges", r"\mathrm{averagings}")
each_round = constant("each_round", r"\mathrm{averagings\ a\ round}", range="from one")
sent = constant("sent", r"\mathrm{vectors\ up}")
received = constant("received", r"\mathrm{vectors\ down}")
# An accuracy, in problems whose constants are 1: so it has no units there.
accuracy = constant("accuracy", r"\epsilon", range="to one")

# Steps.
eta, step = letter("eta", r"\eta", STEP), constant("step", r"\eta", STEP)
a, w = letter("a", "a", range="to one"), letter("w", "w", SQUARE)
# Samples of the minibatch of d_{t+1}: b, or m b where the estimate spans an averaging.
batch = letter("batch", "b", range="from one")
# The terms of any sequence, which the paper calls a_0, a_1, ..., a_T as well.
seq = letter("seq", "a")

# Points and directions; y and ybar are the points of another run that is put beside this one.
x, xbar = local("x", "x", POINT), vector("xbar", r"\bar x", POINT)
y, ybar = local("y", "y", POINT), vector("ybar", r"\bar y", POINT)
d, dbar = local("d", "d", GRADIENT), vector("dbar", r"\bar d", GRADIENT)
ebar = vector("ebar", r"\bar e", GRADIENT)
# The two points of the estimate d_t^(k): the paper calls them x_t^(k) and x_{t-1}^(k). Where an
# own point is replaced by the mean, these are the points that the estimate was made at.
fresh, stale = local("fresh", "x", POINT), local("stale", "x", POINT, lag=-1)
# xbar_t at a time a that is drawn evenly from 1..T: E is over the draw too.
xbar_a = anywhere("xbar_a", r"\bar x_a", POINT)
# Any two points, own ones of every worker, and one that is common to all workers.
p, p2 = anywhere("p", "x", POINT), anywhere("p2", "y", POINT)
pbar = anywhere("pbar", "x", POINT)

# Closed forms: E||ebar_{t+1}||^2 given F_t without (1 - a_{t+1})^2 ||ebar_t||^2; E of the consensus
# error of t + 1; the variance of one sample's bracket at t + 1; the spreads of one minibatch's
# gradients over the workers.
growth = letter("growth", r"\Gamma", SQUARE, range="any")
next_drift = letter("next_drift", r"\Lambda", SQUARE)
bracket_noise = letter("bracket_noise", r"\Xi", SQUARE, "tk")
moved_gradients = letter("moved_gradients", r"\Upsilon", SQUARE)
apart_gradients = letter("apart_gradients", r"\Psi", SQUARE)
# The variance of one sample's gradient at p and at p2, and of its change from p to p2; of FedAvg
# E||dbar_t - its mean||^2 and E f(xbar_{t+1}), both given x_1..x_t.
sample_noise = constant("sample_noise", r"\Xi(x)", SQUARE)
sample_noise2 = constant("sample_noise2", r"\Xi(y)", SQUARE)
sample_change = constant("sample_change", r"\Xi(x, y)", SQUARE)
direction_noise = letter("direction_noise", r"\Xi", SQUARE)
next_value = letter("next_value", r"F", VALUE, range="any")

# The repaired theorem. theta is Young's; kappa is 1 where a jump reaches into the next round. Of
# the round that holds t: h is eta at its start, alpha = c h^2, and t is i after its start. q_t and
# Y_t are roots of the means of ||dbar_t||^2 and of the drift; Z_s that of the consensus error at
# the jump that ends round s, D_s the sum of eta times the drift in it, Q_s that of q^2.
theta, kappa, alpha = constants(
    {"theta": r"\theta", "kappa": r"\kappa", "alpha": r"\alpha"}, "to one"
)
beta = constant("beta", r"\beta")  # Young's as well, in lines that say it of any number
h, i = constant("h", "h", STEP), constant("i", "i", range="from one")
q, Y = letter("q", "q", GRADIENT), letter("Y", "Y", GRADIENT)
Z, D = letter("Z", "Z", POINT, "s"), letter("D", "D", VALUE, "s")
Q_s = letter("Q", "Q", SQUARE, "s")
# Its constants: c_b = c bK/L^2; the weights that split the square of Z_s; A_sigma, and A_zeta as
# A_0 + A_1 I/m; by phi the steps of E2 are smaller, by mu the c of E3 is larger. V is the variance
# of the workers' curvatures, M the largest I/m, S = T/I the number of rounds.
c_b, phi, mu, M, S = constants(
    {"c_b": "c_b", "phi": r"\varphi", "mu": r"\mu", "M": "M", "S": "S"}, "from one"
)
p_A, p_C, p_D = constants({name: name for name in ("p_A", "p_C", "p_D")}, "to one")
A_s, A_0, A_1 = constants({"A_s": r"A_\sigma", "A_0": "A_0", "A_1": "A_1"}, "to one")
V = constant("V", "V", (-4, 2))

# Theorem R*: h_0 = eta L I and c_0 = c bK/L^2, both constant; Lam weighs the potential, tau and p_0
# are Young's (at a jump with a sync batch, and in the descent).
h_0, tau, p_0 = constants({"h_0": "h", "tau": r"\tau", "p_0": "p"}, "nonnegative")
c_0, Lam = constants({"c_0": "c_0", "Lam": r"\Lambda"}, "from one")
A_z = constant("A_z", r"A_\zeta", range="to one")
# On the trade-off curve S rounds leave (C_L L gap + C_s sigma^2 + C_z zeta^2)/S.
C_L, C_s, C_z = constants({"C_L": "C_L", "C_s": r"C_\sigma", "C_z": r"C_\zeta"}, "nonnegative")
# Means over workers of one sample's noise: its variance at the points x_t^(k) in use, and that of
# its change between the two points of d_{t+1}. Spread is the root of the mean of apart(t).
v, U = letter("v", "v", SQUARE), letter("U", "U", SQUARE)
spread = letter("spread", r"\sqrt{X}", POINT)

# What is built of letters: E[.], <u, v>, and (1 + beta) u + (1 + 1/beta) v; one side at the step
# whose estimate spans an averaging and another elsewhere; sums, means and maxima over workers k
# and j and over the samples of a minibatch; f and its gradient at a point.
E, inner, young = Expected, Inner, Young
at_jump = partial(Either, "jump")
sum_k, mean_k, mean_j, sum_xi = (
    partial(Over, kind, at) for kind, at in (("sum", k), ("mean", k), ("mean", j), ("sum", xi))
)
f, grad = partial(At, "f"), partial(At, "grad")


def _of_worker(function: str) -> Callable[..., Expr]:
    return lambda point, worker=k, sample=xi: At(function, point, worker.name, sample.name)


# At a point, of a worker (k): the gradient of f^(k); one sample's, and its noise, of mean zero; a
# minibatch's mean gradient, and its noise at a point of the estimate that it was drawn for.
grad_k, sample_k, noise_k, sampled_k, mean_noise_k = map(
    _of_worker, ("grad_k", "sample_k", "noise_k", "sampled_k", "mean_noise_k")
)


def norm2(v: Expr) -> Expr:
    """||v||^2."""
    return Inner(v, v)


def max_kj(body: Expr) -> Expr:
    """The largest over all pairs of workers."""
    return Over("max", k, Over("max", j, body))


def sum_t(index: Index, first: Any, last: Any, body: Expr) -> Expr:
    """The sum over times from ``first`` to ``last``, both included."""
    return Over("sum", index, body, _place(first), _place(last))


def rise(body: Expr, index: Index, first: Index, last: Index) -> Expr:
    """E[body at last + 1 minus body at first]; ``body`` is written at ``index``."""
    return Over("rise", index, body, first, last)


def drift(at: Index) -> Expr:
    """sum_k ||d^(k) - dbar||^2 at a time: the consensus error of the directions."""
    return sum_k(norm2(d[at, k] - dbar[at]))


def apart(at: Index) -> Expr:
    """sum_k ||x^(k) - xbar||^2 at a time: how far the points are apart."""
    return sum_k(norm2(x[at, k] - xbar[at]))


def about_mean(gradient: Callable[..., Expr], point: Letter, at: Index) -> Expr:
    """gradient at point_at^(k) minus its mean over workers."""
    return gradient(point[at, k], k) - mean_j(gradient(point[at, j], j))


def of_numbers(function: str) -> Callable[..., Expr]:
    """Return max, min, log or exp as a function of numbers and expressions."""
    return lambda *values: Call(function, tuple(map(expr, values)))


maximum, minimum, log, exp = map(of_numbers, ("max", "min", "log", "exp"))


def sqrt(value: Any) -> Expr:
    """The square root."""
    return Raised(expr(value), expr(Fraction(1, 2)))


def spoken_of(line: Line) -> list[str]:
    """Return the names of the letters in a line, those that its evidence must give, sorted."""
    sides = (side for step in line.steps for side in (step.left, step.right))
    return sorted({part.name for side in sides for part in side.walk() if isinstance(part, Symbol)})
