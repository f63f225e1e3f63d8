"""The vocabulary: every letter of a line with its sign in print, its units and what is known of it.

Scaling x by s and f by r scales L by r/s^2, sigma and zeta by r/s, and eta by s^2/r; the units of a
letter are these two powers. A letter that is never negative, or never below one, says so: mutants
are ordered by it.

Paper: Algorithm (Algo_DR-STORM_batch), Section (Sec: Prelims); docs/repaired-theorem.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
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
    Rise,
    Symbol,
    Young,
    expr,
)

Units = tuple[Fraction, Fraction]  # the powers of s and of r
Range = Literal["any", "nonnegative", "from one", "to one"]
NUMBER: Units = (Fraction(0), Fraction(0))
GRADIENT: Units = (Fraction(-1), Fraction(1))


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

    def __getitem__(self, at: Any) -> Symbol:
        given = at if isinstance(at, tuple) else (at,)
        if len(given) != len(self.indices):
            raise ValueError(
                f"{self.name} stands at {len(given)} indices, but has {len(self.indices)}"
                f" ({', '.join(self.indices) or 'none'})."
            )
        places = tuple(Index("", i) if type(i) is int else i for i in given)
        return Symbol(self.name, places, self.vector)


LETTERS: dict[str, Letter] = {}


def letter(
    name: str, latex: str, units: tuple[Any, Any] = NUMBER, indices: str = "", **more: Any
) -> Letter:
    """Add a letter to the vocabulary.

    Raises
    ------
    ValueError
        If there is one of the name already.
    """
    if name in LETTERS:
        raise ValueError(f"letter {name} is already in the vocabulary.")
    power = (Fraction(units[0]), Fraction(units[1]))
    LETTERS[name] = Letter(name, latex, power, indices, **more)
    return LETTERS[name]


def constant(name: str, latex: str, units: tuple[Any, Any] = NUMBER, **more: Any) -> Symbol:
    """Add a letter without indices; return it as an expression."""
    return letter(name, latex, units, **more)[()]


def vector(
    name: str, latex: str, units: tuple[Any, Any], indices: str = "t", lag: int = 0
) -> Letter:
    """Add a vector that stands at times, and at workers where ``indices`` is tk."""
    return letter(name, latex, units, indices, range="any", vector=True, lag=lag)


# Times and workers. ``start`` is the paper's tbar_{s-1}, the start of the round that holds t,
# and ``end`` its tbar_s.
t, l, k, j = Index("t"), Index("l"), Index("k"), Index("j")
T, start, end = Index("T"), Index("start"), Index("end")
# Two samples of a minibatch.
xi, xi2 = Index("xi"), Index("xi'")

# Sizes and constants.
K, I, b, B, m = (constant(name, name, range="from one") for name in ("K", "I", "b", "B", "m"))
L = constant("L", "L", (-2, 1))
sigma, zeta = constant("sigma", r"\sigma", GRADIENT), constant("zeta", r"\zeta", GRADIENT)
nu = constant("nu", r"\nu", range="to one")
gap = constant("gap", r"(f(\bar x_1) - f^*)", (0, 1))
c = constant("c", "c", (-4, 2))
epsilon = constant("epsilon", r"\epsilon", (-2, 2))
kbar = constant("kbar", r"\bar\kappa", (Fraction(4, 3), Fraction(-1, 3)))
# FedAvg's printed step sqrt(bK/T) has no units: it is read in a unit of the step, which is 1.
unit_step = constant("unit_step", "", (2, -1))

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
eta = letter("eta", r"\eta", (2, -1), "t")
a = letter("a", "a", NUMBER, "t", range="to one")
w = letter("w", "w", (-2, 2), "t")
step = constant("step", r"\eta", (2, -1))

# The terms of any sequence, which the paper calls a_0, a_1, ..., a_T as well.
seq = letter("seq", "a", NUMBER, "t")

# Points and directions.
x, xbar = vector("x", "x", (1, 0), "tk"), vector("xbar", r"\bar x", (1, 0))
d, dbar = vector("d", "d", GRADIENT, "tk"), vector("dbar", r"\bar d", GRADIENT)
ebar = vector("ebar", r"\bar e", GRADIENT)
# xbar_t at a time a that is drawn evenly from 1..T: E is over the draw too.
xbar_a = constant("xbar_a", r"\bar x_a", (1, 0), range="any", vector=True)
# Any two points, own ones of every worker, and one that is common to all workers.
p, p2 = (constant(n, s, (1, 0), range="any", vector=True) for n, s in (("p", "x"), ("p2", "y")))
pbar = constant("pbar", "x", (1, 0), range="any", vector=True)
# The points of another run that is put beside this one.
y, ybar = vector("y", "y", (1, 0), "tk"), vector("ybar", r"\bar y", (1, 0))
# The two points of the estimate d_t^(k): the paper calls them x_t^(k) and x_{t-1}^(k). Where an
# own point is replaced by the mean, these are the points that the estimate was made at.
fresh = vector("fresh", "x", (1, 0), "tk")
stale = vector("stale", "x", (1, 0), "tk", lag=-1)

# Closed forms: E||ebar_{t+1}||^2 given F_t without (1 - a_{t+1})^2 ||ebar_t||^2; E of the consensus
# error of t + 1; the variance of one sample's bracket at t + 1.
growth = letter("growth", r"\Gamma", (-2, 2), "t", range="any")
next_drift = letter("next_drift", r"\Lambda", (-2, 2), "t")
bracket_noise = letter("bracket_noise", r"\Xi", (-2, 2), "tk")
moved_gradients = letter("moved_gradients", r"\Upsilon", (-2, 2), "t")
apart_gradients = letter("apart_gradients", r"\Psi", (-2, 2), "t")
# Samples of the minibatch of d_{t+1}: b, or m b where the estimate spans an averaging.
batch = letter("batch", "b", NUMBER, "t", range="from one")


# The repaired theorem. theta is Young's; kappa is 1 where a jump reaches into the next round. Of
# the round that holds t: h is eta at its start, alpha = c h^2, and t is i after its start. q_t and
# Y_t are roots of the means of ||dbar_t||^2 and of the drift; Z_s that of the consensus error at
# the jump that ends round s, D_s the sum of eta times the drift in it, Q_s that of q^2.
theta = constant("theta", r"\theta", range="to one")
beta = constant("beta", r"\beta")  # Young's as well, in lines that say it of any number
kappa = constant("kappa", r"\kappa", range="to one")
h, alpha = constant("h", "h", (2, -1)), constant("alpha", r"\alpha", range="to one")
q, Y = letter("q", "q", GRADIENT, "t"), letter("Y", "Y", GRADIENT, "t")
i, s, end = constant("i", "i", range="from one"), Index("s"), Index("end")
Z, D = letter("Z", "Z", (1, 0), "s"), letter("D", "D", (0, 1), "s")
Q_s = letter("Q", "Q", (-2, 2), "s")
# The variance of one sample's gradient at p and at p2, and of its change from p to p2; of FedAvg
# E||dbar_t - its mean||^2 and E f(xbar_{t+1}), both given x_1..x_t.
sample_noise = constant("sample_noise", r"\Xi(x)", (-2, 2))
sample_noise2 = constant("sample_noise2", r"\Xi(y)", (-2, 2))
sample_change = constant("sample_change", r"\Xi(x, y)", (-2, 2))
direction_noise = letter("direction_noise", r"\Xi", (-2, 2), "t")
next_value = letter("next_value", r"F", (0, 1), "t", range="any")
# Its constants: c_b = c bK/L^2; the weights that split the square of Z_s; A_sigma, and A_zeta as
# A_0 + A_1 I/m; by phi the steps of E2 are smaller, by mu the c of E3 is larger. V is the variance
# of the workers' curvatures, M the largest I/m, S = T/I the number of rounds.
c_b, phi, mu, M, S = (
    constant(name, sign, range="from one")
    for name, sign in (
        *(("c_b", "c_b"), ("phi", r"\varphi"), ("mu", r"\mu")),
        *(("M", "M"), ("S", "S")),
    )
)
p_A, p_C, p_D = (constant(f"p_{n}", f"p_{n}", range="to one") for n in "ACD")
A_s, A_0, A_1 = (
    constant(name, sign, range="to one")
    for name, sign in (("A_s", r"A_\sigma"), ("A_0", "A_0"), ("A_1", "A_1"))
)
V = constant("V", "V", (-4, 2))


def norm2(v: Expr) -> Expr:
    """||v||^2."""
    return Inner(v, v)


def inner(u: Expr, v: Expr) -> Expr:
    """<u, v>."""
    return Inner(u, v)


def sum_k(body: Expr) -> Expr:
    """The sum over the workers k."""
    return Over("sum", k, body)


def mean_k(body: Expr) -> Expr:
    """(1/K) times the sum over the workers k."""
    return Over("mean", k, body)


def mean_j(body: Expr) -> Expr:
    """(1/K) times the sum over the workers j, inside of a sum over k."""
    return Over("mean", j, body)


def max_kj(body: Expr) -> Expr:
    """The largest over all pairs of workers."""
    return Over("max", k, Over("max", j, body))


def sum_xi(body: Expr) -> Expr:
    """The sum over the samples of a minibatch."""
    return Over("sum", xi, body)


def sum_t(index: Index, first: Any, last: Any, body: Expr) -> Expr:
    """The sum over times from ``first`` to ``last``, both included."""
    ends = (Index("", end) if type(end) is int else end for end in (first, last))
    return Over("sum", index, body, *ends)


def E(body: Expr) -> Expr:
    """E[body]."""
    return Expected(body)


def drift(at: Index) -> Expr:
    """sum_k ||d^(k) - dbar||^2 at a time: the consensus error of the directions."""
    return sum_k(norm2(d[at, k] - dbar[at]))


def apart(at: Index) -> Expr:
    """sum_k ||x^(k) - xbar||^2 at a time: how far the points are apart."""
    return sum_k(norm2(x[at, k] - xbar[at]))


def rise(body: Expr, index: Index, first: Index, last: Index) -> Expr:
    """E[body at last + 1 minus body at first]; ``body`` is written at ``index``."""
    return Rise(body, index, first, last)


def young(one: Expr, other: Expr) -> Expr:
    """(1 + beta) one + (1 + 1/beta) other."""
    return Young(one, other)


def at_jump(there: Expr, elsewhere: Expr) -> Expr:
    """One side at the step whose estimate spans an averaging, another at every other step."""
    return Either("jump", there, elsewhere)


def f(point: Expr) -> Expr:
    """f(point)."""
    return At("f", point)


def grad(point: Expr) -> Expr:
    """The gradient of f."""
    return At("grad", point)


def grad_k(point: Expr, worker: Index = k) -> Expr:
    """The gradient of f^(k)."""
    return At("grad_k", point, worker.name)


def noise_k(point: Expr, worker: Index = k, sample: Index = xi) -> Expr:
    """The noise of one sample's gradient of worker k at a point: its mean is zero."""
    return At("noise_k", point, worker.name, sample.name)


def sample_k(point: Expr, worker: Index = k) -> Expr:
    """One sample's gradient of worker k at a point."""
    return At("sample_k", point, worker.name)


def mean_noise_k(point: Expr, worker: Index = k) -> Expr:
    """The noise of a minibatch's mean gradient at a point of the estimate it was drawn for."""
    return At("mean_noise_k", point, worker.name)


def sampled_k(point: Expr, worker: Index = k) -> Expr:
    """A minibatch's mean gradient of worker k at a point."""
    return At("sampled_k", point, worker.name)


def about_mean(gradient: Callable[[Expr, Index], Expr], point: Letter, at: Index) -> Expr:
    """gradient at point_at^(k) minus its mean over workers."""
    return gradient(point[at, k], k) - mean_j(gradient(point[at, j], j))


def maximum(*values: Any) -> Expr:
    """The largest."""
    return Call("max", tuple(map(expr, values)))


def minimum(*values: Any) -> Expr:
    """The smallest."""
    return Call("min", tuple(map(expr, values)))


def log(value: Any) -> Expr:
    """The natural logarithm."""
    return Call("log", (expr(value),))


def exp(value: Any) -> Expr:
    """e to the value."""
    return Call("exp", (expr(value),))


def sqrt(value: Any) -> Expr:
    """The square root."""
    return Raised(expr(value), expr(Fraction(1, 2)))


def spoken_of(line: Line) -> list[str]:
    """Return the names of the letters in a line, those that its evidence must give, sorted."""
    sides = (side for step in line.steps for side in (step.left, step.right))
    return sorted({part.name for side in sides for part in side.walk() if isinstance(part, Symbol)})
