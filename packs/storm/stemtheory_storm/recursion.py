"""STORM on one worker: its error, its descent, its potential and its theorem, derived here.

Ashok Cutkosky, Francesco Orabona. Momentum-based variance reduction in non-convex SGD. 2019. The
recursion is theirs; nothing here says that a constant is printed there.

    x_{t+1} = x_t - eta_t d_t,   d_{t+1} = g(x_{t+1}) + (1 - a_{t+1}) (d_t - g(x_t))

a_{t+1} = c eta_t^2; one fresh minibatch of b samples at both points, B for d_1; for one sample
E g = grad f, E||g - grad f||^2 <= sigma^2 and E||g(x) - g(y)||^2 <= L^2 ||x - y||^2. Bars are means
over the one worker: x, d, e = d - grad f(x) stand as xbar, dbar, ebar. Gradients have no bound.

ST1   With n = g - grad f, grad f(x_{t+1}) is taken off d_{t+1}, and the gradients of f cancel.
ST2   The noise of a fresh minibatch has mean 0 given the past, so its product with e_t has, too.
ST3   n(x') - (1-a) n(x) = a n(x') + (1-a) (n(x') - n(x)), in root mean squares at most a sigma
      and (1-a) L ||x' - x||, as a variance is at most a second moment. Minkowski.
ST4   ST1 squared: the product has mean 0, the noise is a mean of b; ST3.
ST5   f(x') <= f(x) - eta <grad f, d> + (L/2) eta^2 ||d||^2, and 2 <u, v> = ||u||^2 + ||v||^2 -
      ||v - u||^2 with u = grad f, v = d.
ST6   With u = L eta and d = grad f + e its right side less that of ST5 is eta times (3/4 - u/2)
      (||grad f||^2 + ||e||^2) + (1 - u) <grad f, e>: not negative, whatever grad f and e are,
      exactly if |1 - u| <= 3/2 - u, that is u <= 5/4.
ST7   Phi_t = f(x_t) + lam ||e_t||^2/eta_{t-1}, lam = 3 b/(16 L^2): ST5 and lam/eta times ST4 at
      beta = 1. ||d||^2 is left with -eta (1/8 - L eta/2), ||e||^2 with eta/2 - lam a (2 - a)/eta,
      below 0 as a <= 7/80 and (7/5) (2 - a) > 8/3; 2 lam c^2/b is (147/200) L^2/b^2.
ST8   The same, lam = b/(128 L^2), (1-a)^2 <= 1 - a: ||e||^2 is left with eta/2 + lam (1/eta_t -
      1/eta_{t-1} - c eta_t) <= 0 by ST11, as c = L^2 (64/b + 1/(24 b^2)); ||d||^2 with 1/64.
ST9   ST7 added up over t, Phi_{T+1} >= f*, E||e_1||^2 <= sigma^2/B; eta = 1/(4 L T^{1/3}).
ST10  ST8 added up, with eta_t >= eta_T in front of ||grad f||^2.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from stemtheory.claims import SCALED, Mutant, averaged, stated, whole_run, wrong
from stemtheory.claims.evidence.path import play
from stemtheory.claims.language import Expr, Q, equal
from stemtheory.claims.language import letters as of
from stemtheory.claims.language.letters import B, E, L, T, a, b, c, eta, grad, norm2, sigma, t
from stemtheory.claims.stating import AVERAGE
from stemtheory_storm import panel

x, d, e, f = of.xbar, of.dbar, of.ebar, of.f
keep, slope2 = 1 - a[t + 1], norm2(grad(x[t]))
new, old = of.fresh[t, of.k], of.stale[t, of.k]  # x_t, x_{t-1}
HEAVY, LIGHT = 3 * b / (16 * L**2), b / (128 * L**2)


def news(noise: Callable[[Expr], Expr]) -> Expr:
    """What is new in the error of d_t: the noise at its point, less what the correction takes."""
    return noise(new) - (1 - a[t]) * noise(old)


def rise(lam: Expr) -> Expr:
    """E Phi_{t+1} - Phi_t."""
    now, then = (f(x[at]) + lam * norm2(e[at]) / eta[at - 1] for at in (t, t + 1))
    return E(then - now)


pathwise = partial(stated, kind="pathwise", cases=panel.recorded)
conditional = partial(stated, kind="conditional", cases=panel.recorded)
theorem = partial(whole_run, label="theorem", measured=panel.measured)

CLAIMS = (
    pathwise(
        equal(e[t], (1 - a[t]) * e[t - 1] + news(of.mean_noise_k)),
        given=t - 1,
        id="ST1",
        label="error",
        statement="The error is (1 - a) times the last one, and new noise: nothing of f is in it.",
        mutants=(SCALED, Mutant("ordinary momentum", algorithm=lambda case: panel.HeavyBall())),
    ),
    averaged(
        equal(E(of.inner(e[t + 1], e[t])), keep * E(norm2(e[t]))),
        id="ST2",
        label="error",
        statement="The new noise has no product with the old error.",
        cases=panel.stepped(panel.MANY, 0.25),
        mutants=(wrong("ordinary momentum", run=lambda case: play(case, panel.HeavyBall())),),
    ),
    conditional(
        E(norm2(news(of.noise_k)))
        <= of.young((1 - a[t]) ** 2 * L**2 * norm2(new - old), a[t] ** 2 * sigma**2),
        given=t - 1,
        id="ST3",
        label="error",
        statement="One sample's new noise: a share a of it is fresh, the rest is the movement's.",
    ),
    conditional(
        E(norm2(e[t + 1]))
        <= keep**2 * E(norm2(e[t]))
        + of.young(keep**2 * L**2 * eta[t] ** 2 * norm2(d[t]), a[t + 1] ** 2 * sigma**2) / b,
        id="ST4",
        label="error",
        statement="The error recursion: the squared error contracts, up to movement and noise.",
    ),
    pathwise(
        f(x[t + 1])
        <= f(x[t])
        - eta[t] / 2 * slope2
        - (eta[t] / 2 - eta[t] ** 2 * L / 2) * norm2(d[t])
        + eta[t] / 2 * norm2(e[t]),
        id="ST5",
        label="descent",
        statement="The descent lemma, for any step.",
    ),
    pathwise(
        f(x[t + 1]) <= f(x[t]) - eta[t] / 4 * slope2 + 3 * eta[t] / 4 * norm2(e[t]),
        id="ST6",
        label="descent",
        statement="The descent lemma without d, for steps up to 5/(4 L), beyond which it fails.",
        cases=panel.stepped(panel.MANY, 0.1, 0.25, 1.0, 1.25),
        premises=panel.at_most(1.25, coupled=False),
        mutants=(SCALED, Mutant("eta = 1.3/L", change=lambda case: panel.constant(case, 1.3))),
    ),
    conditional(
        rise(HEAVY)
        <= -eta[t] / 2 * slope2
        - (eta[t] / 8 - eta[t] ** 2 * L / 2) * norm2(d[t])
        + Q("147/200") * L**2 / b**2 * eta[t] ** 3 * sigma**2,
        id="ST7",
        label="potential",
        statement="The potential descends, with constant steps up to 1/(4 L) and c = 7 L^2/(5 b).",
        cases=panel.stepped(panel.FEW, 0.05, 0.25),
        premises=panel.at_most(0.25),
        mutants=(SCALED, Mutant("c = 1.3", change=lambda case: panel.constant(case, 0.25, 1.3))),
    ),
    conditional(
        rise(LIGHT)
        <= -eta[t] / 2 * slope2
        - (eta[t] / 2 - eta[t] ** 2 * L / 2 - eta[t] / 64) * norm2(d[t])
        + c**2 / (64 * L**2) * eta[t] ** 3 * sigma**2,
        id="ST8",
        label="potential",
        statement="The potential descends, with the decreasing steps.",
        premises=panel.decreasing,
        mutants=(SCALED, Mutant("c = 16", change=lambda case: panel.constant(case, 1 / 16, 16))),
    ),
    theorem(
        AVERAGE
        <= 8 * L * of.gap / T ** Q("2/3")
        + 6 * b * sigma**2 / (B * T ** Q("1/3"))
        + Q("147/1600") * sigma**2 / (b**2 * T ** Q("2/3")),
        id="ST9",
        statement="The theorem with the constant step 1/(4 L T^{1/3}): T^{-2/3} if B = T^{1/3}.",
        cases=partial(panel.whole_runs, decreasing=False),
        premises=panel.at_most(0.25),
    ),
    theorem(
        AVERAGE
        <= 2 / (eta[T] * T) * of.gap
        + b * sigma**2 / (64 * L**2 * B * eta[0] * eta[T] * T)
        + c**2 * sigma**2 / (32 * L**2 * eta[T] * T) * of.sum_t(t, 1, T, eta[t] ** 3),
        id="ST10",
        statement="The theorem with the decreasing steps.",
        cases=partial(panel.whole_runs, decreasing=True),
        premises=panel.decreasing,
    ),
)
