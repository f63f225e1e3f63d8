"""Claims of one's own about SCAFFOLD, from the fields of its state (docs/write_a_pack.md)."""

from dataclasses import replace
from functools import partial
from typing import Any

from stemtheory.algorithms import Scaffold
from stemtheory.claims import stated
from stemtheory.claims.base import Case, Mutant, quadratic
from stemtheory.claims.language import equal
from stemtheory.claims.language.letters import GRADIENT, eta, k, local, mean_k, t, vector, xbar

c_k = local("c_k", "c", GRADIENT)
c_s = vector("c_s", "c", GRADIENT, field="c")  # c is a constant's letter already
g = local("g", "g", GRADIENT)
pathwise = partial(stated, kind="pathwise", algorithm="scaffold")


class Doubled(Scaffold):
    """SCAFFOLD whose server renews c twice as far."""

    def synchronise(self, problem: Any, state: Any) -> Any:
        """Return the state with c renewed twice as far."""
        after = super().synchronise(problem, state)
        return after._replace(c=2 * after.c - state.c)


MEAN = pathwise(
    equal(c_s[t], mean_k(c_k[t, k])),
    id="SC1",
    label="control variates, eq. (3)",
    statement="The server's variate is the mean of the workers'.",
    mutants=(Mutant("c is renewed twice as far", algorithm=lambda case: Doubled()),),
)
STEP = pathwise(
    equal(xbar[t + 1], xbar[t] - eta[t] * mean_k(g[t, k])),
    id="SC2",
    label="control variates, eq. (4)",
    statement="The variates cancel in the mean, which goes along the mean gradient.",
    mutants=(Mutant("c is renewed twice as far", algorithm=lambda case: Doubled()),),
)
FEW = stated(
    equal(c_s[t], mean_k(c_k[t, k])),
    id="SC3",
    label="control variates, eq. (3)",
    kind="pathwise",
    statement="Also where only some workers take part.",
    cases=lambda level: (
        replace(
            quadratic(4, 1, 3, 6, sigma=0.5),
            algorithm="scaffold",
            algorithm_options=(("participation", 0.5),),
        ),
    ),
    mutants=(Mutant("c is renewed twice as far", algorithm=lambda case: few(case)),),
)


def few(case: Case) -> Doubled:
    """Return the mutant with the participation of a case."""
    return Doubled(participation=dict(case.algorithm_options)["participation"])


CLAIMS = (MEAN, STEP, FEW)
