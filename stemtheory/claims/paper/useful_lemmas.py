"""The appendix of useful lemmas.

Paper: Lemma (Lem: Sum_Mean_Kron), Lemma (Lem: AD_Sum_1overT), Lemma (Lem: Norm_Ineq).
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from stemtheory.claims.evidence.path import Path
from stemtheory.claims.evidence.scenes import RunScene, scene_of
from stemtheory.claims.evidence.sequences import SequenceScene
from stemtheory.claims.language import Expr, Index, equal
from stemtheory.claims.language.letters import K, T, k, log, norm2, seq, sum_k, sum_t, t, x, xbar
from stemtheory.claims.stating import sized, stated
from stemtheory.runtime import Verdict

KRON, SUM, NORM = "Lem: Sum_Mean_Kron", "Lem: AD_Sum_1overT", "Lem: Norm_Ineq"


def directions(path: Path) -> RunScene:
    """Return a run whose directions stand for its points: vectors x^(k) of every length."""
    return scene_of(replace(path, p=path.d))


def sequences(level: str) -> tuple[SequenceScene, ...]:
    """Return sequences a_0, a_1, ..., a_T > 0: ones, growing, shrinking, spiky, long."""
    T = {"quick": 200, "default": 2000, "full": 20000}[level]
    t = np.arange(T + 1.0)
    spiky = np.where(t % 7 == 0, 50.0, 0.01)
    short, small, growing = np.ones(11), np.full(T + 1, 1e-3), 2.0 ** np.minimum(t, 900)
    every = (short, small, np.ones(T + 1), 1 + t, 1 / (1 + t), spiky, np.exp(-t), growing)
    return tuple(map(SequenceScene, every))


def summed(first: int | Index, last: Index) -> Expr:
    """The sum of a_i, i from ``first`` to ``last``."""
    i = Index("i")
    return sum_t(i, first, last, seq[i])


of_vectors = partial(stated, kind="pathwise", opened=directions)
of_a_sequence = partial(sized, label=SUM, cases=sequences)
removed = sum_k(norm2(x[t, k] - xbar[t]))
CLAIMS = (
    of_vectors(
        removed <= sum_k(norm2(x[t, k])),
        id="U1",
        label=KRON,
        statement="Removing the mean does not lengthen a stack of vectors.",
        reason="Misprint: the Kronecker factors stand in the wrong order for stacked nodes.",
    ),
    of_vectors(
        equal(sum_k(norm2(x[t, k])) - removed, K * norm2(xbar[t])),
        id="U1-exact",
        label=KRON,
        statement="What is removed is K times the squared mean.",
        mutants=(),
    ),
    of_a_sequence(
        "U2",
        statement="The summation lemma, as printed, with its inner sum over i = t..t.",
        line=sum_t(t, 1, T, seq[t] / (seq[0] + summed(t, t))) <= log(1 + summed(1, t) / seq[0]),
        expected={("literal", "all"): Verdict.VIOLATED},
        mutants=(),
        reason="With a_0 = a_t = 1 and T = 10 it reads 5 <= 2.398; it is used for M7c only.",
        repair="U2-corrected: the inner sum runs over i = 1..t, the right-hand one over 1..T.",
    ),
    of_a_sequence(
        "U2-corrected",
        statement="The summation lemma with its indices corrected.",
        line=sum_t(t, 1, T, seq[t] / (seq[0] + summed(1, t))) <= log(1 + summed(1, T) / seq[0]),
    ),
    of_vectors(
        norm2(sum_k(x[t, k])) <= K * sum_k(norm2(x[t, k])),
        id="U3",
        label=NORM,
        statement="The squared norm of a sum of n vectors.",
    ),
)
