"""SCAFFOLD with every worker in every round: its control variates, its drift, and its rounds.

S. P. Karimireddy, S. Kale, M. Mohri, S. J. Reddi, S. U. Stich, A. T. Suresh. SCAFFOLD: stochastic
controlled averaging for federated learning. ICML 2020. The algorithm is theirs; the constants are
derived here, and nothing says that they are printed there. From the server's point x, I times

    y_k <- y_k - eta (g_k - c_k + c),   then x <- the mean of y_k, and new variates c_k, c;

option I: c_k <- grad f^(k)(x) at the point that the round began with; option II: c_k <- c_k - c +
(x - y_k)/(the sum of eta). All variates start at 0. i = t - start counts steps in a round, x^(k) is
y_k, h = eta I; every f^(k) is L-smooth.

SF1   c gets the mean of what every c_k gets (of nothing from those who do not take part).
SF2   So the variates cancel in the mean over workers: the mean goes along the mean gradient.
SF3   Option II: x - y_k is the sum of eta (g_k - c_k + c).
SF4   Option II: a round's noises are martingale differences of variance sigma^2/b.
SF5   Option II without noise: SF3, Jensen, and L-smoothness.
SF6   Without noise. With v_k = grad f^(k)(x) - c_k + c: y_k' - x = y_k - x - eta (grad f^(k)(y_k) -
      grad f^(k)(x)) - eta v_k, so ||y_k' - x|| <= (1 + eta L) ||y_k - x|| + eta ||v_k||. Nothing of
      zeta: with exact variates v_k is grad f(x), for every k.
SF7   Option I: v_k is grad f(x) plus grad f^(k)'s change since the last x, its mean taken off.
SF8   Option I, without noise, h <= 1/(2 L), over rounds r with points x_r, G_r = ||grad f(x_r)||,
      m_r = (x_r - x_{r+1})/h, Delta_r = ||x_r - x_{r-1}|| = h ||m_{r-1}||. With (1 + eta L)^i - 1
      <= 1.2975 eta L i in SF6, the mean of i^2 at most I^2/3, and SF7: ||m_r - grad f(x_r)||^2 <=
      rho^2 (G_r + L Delta_r)^2, rho^2 = 1.2975^2 L^2 h^2/3 <= 0.1403; in the first round rho^2
      (G_1^2 + H^2), H^2 the mean of ||grad f^(k)(x_1) - grad f(x_1)||^2. The descent lemma,

          f(x_{r+1}) <= f(x_r) - (h/2) G_r^2 - (h/2) (1 - L h) ||m_r||^2 + (h/2) ||m_r - grad f||^2,

      added up: ||m_r||^2 is left with 1 - 1/2 - 2 rho^2/4 > 0, G_r^2 with 1 - 2 rho^2 >= 0.7194, of
      which 2 over it is at most 14/5 and rho^2 over it at most 1/5.
SF9   With noise and h <= 1/(4 L). Its sum S over a round has E||S||^2 = I sigma^2/(bK), and E <grad
      f(x_r), S> = 0; E||h m + eta S||^2 <= 2 h^2 E||m||^2 + 2 eta^2 E||S||^2, for it meets later
      steps. In SF6 the root mean square is at most 1.1362 eta i (E||v_k||^2)^{1/2} + N_i, N_i^2 =
      eta^2 (sigma^2/b) (1 + ... + (1 + eta L)^{2(i-1)}) <= 1.2975 eta^2 i sigma^2/b, by induction:
      new noise is added to (1 + eta L)^2 N^2 alone. With rho^2 = 1.1362^2 L^2 h^2/3 <= 0.0269

          E||m - grad f||^2 <= 4 rho^2 (G^2 + L^2 Delta^2) + 1.2975 L^2 eta^2 (I - 1) sigma^2/b,

      first 2 rho^2 (G^2 + H^2). ||m||^2 is left with 1/2 - 8 rho^2/16 > 0, G^2 with 1 - 4 rho^2 >=
      0.8924: 2/0.8924 <= 9/4 for the gap, 2 rho^2/0.8924 <= 1/16 for H^2, and of the noise (2 + 8
      rho^2/4)/0.8924 <= 7/3 for L h/(bKI), and 1.2975/0.8924 <= 3/2 for L^2 h^2/(bI).
SF10  SF9 at h = (bKI/R)^{1/2}/L: exponents of powers. At b = I = 1 rounds are eps^{-2}; the longest
      I that leaves eps^{-2}/K samples is eps^{-1}/(b K^2), and rounds are K/eps then.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from stemtheory.algorithms import Scaffold
from stemtheory.bounds import Premise
from stemtheory.claims import (
    SCALED,
    Case,
    Claim,
    Comparison,
    Mutant,
    averaged,
    dials,
    square,
    stated,
    wrong,
)
from stemtheory.claims import exponents as of_power
from stemtheory.claims.evidence.states.run import lay_open
from stemtheory.claims.exponents import BY_HAND, comparison, eps, exact, in_terms, solve
from stemtheory.claims.language import equal
from stemtheory.claims.language import letters as of
from stemtheory.claims.language.letters import E, I, L, b, end, eta, k, l, sigma, start, step, t, x

c_k = of.local("scaffold_c_k", "c", of.GRADIENT, field="c_k")
g = of.local("scaffold_g", "g", of.GRADIENT, field="g")
c = of.vector("scaffold_c", "c", of.GRADIENT, field="c")
centre = of.vector("scaffold_x", "x", of.POINT, field="server")
SIZES = {"quick": (4, 400), "default": (8, 1000), "full": (16, 4000)}  # rounds, replicates


def of_scaffold(problem: str, I: int, rounds: int, option: str = "II", **own: Any) -> Case:
    """Return a run with the step 1/(2 L I), L = 1, or with ``u``/L; other fields may be told."""
    fields = {name: own.pop(name) for name in ("K", "b", "dim", "x1", "replicates") if name in own}
    u, part = own.pop("u", 0.5 / I), own.pop("participation", 1.0)
    made = dials(**{"L": 1.0, "sigma": 0.0, "zeta": 2.0, **own})
    more = {"K": 4, "dim": 2, "b": 2, "replicates": 1, **fields}
    case = Case(problem, I=I, rounds=rounds, dials=made, algorithm="scaffold", **more)
    chosen = (("option", option), ("participation", part))
    return replace(case, schedule="constant", options=(("eta", u),), algorithm_options=chosen)


def runs(level: str, option: str = "II", sigma: float = 0.5, part: float = 1.0) -> tuple[Case, ...]:
    """Return runs of several losses, workers far apart."""
    rounds = SIZES[level][0]
    own: dict[str, Any] = {"sigma": sigma, "replicates": 8 if sigma else 1, "participation": part}
    return tuple(
        of_scaffold(name, I, rounds, option, **own)
        for name in ("cosine", "geman_mcclure", "quadratic")
        for I in (2, 8)
    )


def still(level: str) -> tuple[Case, ...]:
    """Return runs whose noise has variance sigma^2 at every x, with many replicates."""
    rounds, R = SIZES[level]
    return tuple(of_scaffold("cosine", I, rounds, sigma=0.5, replicates=R) for I in (2, 8))


TURNED: dict[str, Any] = {"h": 0.15, "het_frequency": 0.85, "het_phase": np.pi / 4}
TURNED |= {"K": 2, "dim": 1, "x1": 0.0}  # local SGD holds such workers off the minimum


def long_runs(level: str) -> tuple[Case, ...]:
    """Return long runs without noise."""
    rounds = 25 * SIZES[level][0]
    made = [of_scaffold(name, 8, rounds, "I") for name in ("cosine", "quadratic", "welsch")]
    return (*made, of_scaffold("quadratic", 8, 8 * rounds, "I", **TURNED))


class Uncorrected(Scaffold):
    """SCAFFOLD whose variates stay 0, which is plain local SGD."""

    def renewed(self, problem: Any, state: Any) -> Any:
        """Return the old variates."""
        return state.own


class Doubled(Scaffold):
    """SCAFFOLD whose server renews c twice as far."""

    def synchronise(self, problem: Any, state: Any) -> Any:
        """Return the state with c renewed twice as far."""
        after = super().synchronise(problem, state)
        return after._replace(c=2 * after.c - state.c)


def by(kind: type[Scaffold], name: str) -> Mutant:
    """Return the mutant whose runs are of a wrong kind, with the options of the case."""
    return Mutant(name, algorithm=lambda case: kind(**dict(case.algorithm_options)))


def under(
    option: str = "", quiet: bool = False, longest: float = np.inf
) -> Callable[[Case], tuple[Premise, ...]]:
    """Return the premises: everybody takes part, the option, no noise, and h at L = 1."""

    def premises(case: Case) -> tuple[Premise, ...]:
        own = {"option": "II", "participation": 1.0, **dict(case.algorithm_options)}
        h = dict(case.options).get("eta", np.inf) * case.I
        return (
            Premise("everybody takes part", own["participation"] == 1),
            Premise(f"option {option}", own["option"] == (option or own["option"])),
            Premise("sigma = 0", not quiet or dict(case.dials).get("sigma") == 0),
            Premise(f"eta I <= {longest}/L", np.isinf(longest) or h <= longest),
        )

    return premises


def of_rounds(path: Any) -> tuple[Any, Any, Any]:
    """Return ||grad f||^2 at the starts of rounds [rounds, R], the first gap, and H^2."""
    f, points = path.problem, path["server"][1 : path.T + 1 : path.case.I, :, 0]
    apart = f.gradient(path["x"][1]) - f.full_gradient(points[0])[:, None]
    gap = f.value(points[0]) - f.constants().f_star
    return square(f.full_gradient(points)), gap, square(apart).mean(axis=-1)


def silent(path: Any) -> Comparison:
    """SF8: the mean of ||grad f||^2 over the rounds, and what it is at most."""
    slopes, gap, apart = of_rounds(path)
    h, R = path.case.I * dict(path.case.options)["eta"], path.case.rounds
    return Comparison(slopes.mean(axis=0), (14 * gap / (5 * h) + apart / 5) / R, t=R)


def noisy_runs(level: str) -> tuple[Case, ...]:
    """Return long runs with noise and h = 1/4."""
    rounds, own = 25 * SIZES[level][0], {"sigma": 0.5, "replicates": 64, "u": 1 / 16}
    made = [of_scaffold(name, 4, rounds, "I", **own) for name in ("cosine", "quadratic", "welsch")]
    quiet = {"sigma": 0.01, "replicates": 8, "u": 1 / 16, **TURNED}
    return (*made, of_scaffold("quadratic", 4, 16 * rounds, "I", **quiet))


def noisy(case: Case, kind: type[Scaffold] = Scaffold) -> Comparison:
    """SF9: the same in the mean over replicates; a mutant is of another kind."""
    path = lay_open(case, kind(**dict(case.algorithm_options)))
    slopes, gap, apart = of_rounds(path)
    s, h, R = path.setting, case.I * dict(case.options)["eta"], case.rounds
    right = 9 * gap / (4 * h * R) + apart / (16 * R)
    right += s.sigma**2 / (s.b * s.I) * (7 * s.L * h / (3 * s.K) + 3 * (s.L * h) ** 2 / 2)
    found, n = slopes.mean(axis=0), case.replicates
    spread = found.std(ddof=1) / np.sqrt(n)
    return Comparison(found.mean(), right[0], t=R, spread=spread, dof=n - 1)


def rates(power: Fraction) -> Comparison:
    """SF10: exponents of SF9's terms with L h = (bKI/R)^power."""
    R, per_step = of_power.T / of_power.I, of_power.b * of_power.K
    h, target = (per_step * of_power.I / R) ** power, (per_step * of_power.T) ** Fraction(-1, 2)
    steps, apart = solve(target), h**2 / (of_power.b * of_power.I)
    longest = eps * in_terms(of_power.T, T=steps) / of_power.K
    return comparison(
        *exact("descent", (h * R) ** -1, target),
        *exact("noise", h / (per_step * of_power.I), target),
        *exact("drift", apart, of_power.K * of_power.I / of_power.T),
        *exact("samples", of_power.b * steps, of_power.K**-1 * eps**-2),
        *exact("rounds", in_terms(R, T=steps, I=longest), of_power.K * eps**-1),
    )


TWICE = by(Doubled, "c is renewed twice as far")
LOCAL_SGD = by(Uncorrected, "variates that stay 0")
v = of.grad_k(centre[end]) - c_k[end, k] + c[end]
corrected = of.grad_k(centre[start]) - c_k[start, k] + c[start]
moved = x[t, k] - centre[start]
faster = (1 + step * L) ** of.maximum(t - start, 0)
pathwise = partial(stated, kind="pathwise", algorithm="scaffold")


def in_round(body: Any) -> Any:
    """Return the sum over the steps of the round."""
    return of.sum_t(l, start, end - 1, body)


CLAIMS = (
    pathwise(
        equal(c[t], of.mean_k(c_k[t, k])),
        id="SF1",
        label="identities",
        statement="The server's variate is the mean of the workers', whoever takes part.",
        cases=lambda level: (*runs(level), *runs(level, "I"), *runs(level, part=0.5)),
        mutants=(TWICE,),
    ),
    pathwise(
        equal(of.xbar[t + 1], of.xbar[t] - eta[t] * of.mean_k(g[t, k])),
        id="SF2",
        label="identities",
        statement="The variates cancel in the mean, which goes along the mean gradient.",
        premises=under(),
        cases=lambda level: (*runs(level), *runs(level, "I")),
        mutants=(TWICE,),
    ),
    pathwise(
        equal(c_k[end, k], in_round(g[l, k]) / I),
        id="SF3",
        label="identities",
        statement="Option II: a worker's new variate is the mean of its gradients in the round.",
        premises=under("II"),
        cases=runs,
        mutants=(LOCAL_SGD,),
    ),
    averaged(
        equal(E(of.norm2(c_k[end, k] - in_round(of.grad_k(x[l, k])) / I)), sigma**2 / (b * I)),
        id="SF4",
        label="variance",
        algorithm="scaffold",
        statement="Option II: the variance of a new variate, given a round's points.",
        premises=under("II"),
        cases=still,
        at=lambda path: path.t[:: path.case.I],
    ),
    pathwise(
        of.norm2(c_k[end, k] - of.grad_k(centre[start]))
        <= L**2 / I * in_round(of.norm2(x[l, k] - centre[l])),
        id="SF5",
        label="variance",
        statement="Option II without noise: a new variate is off by what the drift makes it.",
        premises=under("II", quiet=True),
        cases=partial(runs, sigma=0.0),
    ),
    pathwise(
        of.norm2(moved) <= (faster - 1) ** 2 / L**2 * of.norm2(corrected),
        id="SF6",
        label="drift",
        statement="The drift lemma: only the corrected gradient drives a worker away.",
        premises=under(quiet=True),
        cases=lambda level: (*runs(level, sigma=0.0), *runs(level, "I", 0.0)),
    ),
    pathwise(
        of.sqrt(of.mean_k(of.norm2(v)))
        <= of.sqrt(of.norm2(of.grad(centre[end])))
        + L * of.sqrt(of.norm2(centre[end] - centre[start])),
        id="SF7",
        label="drift",
        statement="Option I: the corrected gradient is grad f, up to the server's last move.",
        premises=under("I"),
        cases=partial(runs, option="I"),
        mutants=(SCALED, LOCAL_SGD),
    ),
    Claim(
        id="SF8",
        label="theorem",
        kind="pathwise",
        algorithm="scaffold",
        statement="Option I without noise: the mean over R rounds falls as 1/R, without zeta.",
        formula=r"\frac1R \sum_r \|\nabla f(x_r)\|^2 \le \frac1R \left(\frac{14}{5 h}"
        r" (f(x_1) - f^*) + \frac15 H^2\right)",
        by_hand="Rounds are summed, which no line about steps does.",
        compare=silent,
        cases=long_runs,
        premises=under("I", quiet=True, longest=1 / 2),
        mutants=(SCALED, LOCAL_SGD),
    ),
    Claim(
        id="SF9",
        label="theorem",
        kind="expectation",
        algorithm="scaffold",
        statement="Option I: the mean over R rounds, with noise; zeta is in the first round alone.",
        formula=r"\frac1R \sum_r E\|\nabla f(x_r)\|^2 \le \frac{9}{4 h R} (f(x_1) - f^*)"
        r" + \frac{H^2}{16 R} + \frac{7 L h \sigma^2}{3 b K I} + \frac{3 L^2 h^2 \sigma^2}{2 b I}",
        by_hand="Rounds are summed, which no line about steps does.",
        compare=noisy,
        cases=noisy_runs,
        premises=under("I", longest=1 / 4),
        mutants=(SCALED, wrong(LOCAL_SGD.name, kind=Uncorrected)),
    ),
    Claim(
        id="SF10",
        label="theorem",
        kind="rate",
        by_hand=BY_HAND,
        statement="eps^{-2}/K samples, and K/eps rounds at the longest I that leaves them.",
        formula=r"h = (bKI/R)^{1/2}/L:\quad bT = O(\epsilon^{-2}/K),\quad T/I = O(K/\epsilon)",
        compare=rates,
        cases=lambda level: (Fraction(1, 2),),
        mutants=(Mutant("(bKI/R)^{1/3}", compare=lambda _: rates(Fraction(1, 3))),),
    ),
)
