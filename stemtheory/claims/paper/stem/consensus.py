"""STEM's gradient consensus error: how far the workers' directions differ.

Given F_{t-1} the expectation of Dl_t has a closed form. "Some beta > 0" of the lemma means any
beta: of A (1 + beta) + B (1 + 1/beta) the smallest value, (sqrt A + sqrt B)^2, is tested.

Paper: Lemma (lem: GradientErrorContraction_BatchGradients_App), eq. (eq: DR_Descent_d1_Batch).
"""

from __future__ import annotations

from functools import partial

from stemtheory.claims.base import ALL_READINGS
from stemtheory.claims.evidence.counterexamples import DRIFTED, far, tilted
from stemtheory.claims.language.letters import (
    E,
    I,
    K,
    L,
    a,
    about_mean,
    apart,
    b,
    batch,
    dbar,
    drift,
    eta,
    fresh,
    l,
    norm2,
    sampled_k,
    sigma,
    stale,
    start,
    sum_k,
    sum_t,
    t,
    young,
    zeta,
)
from stemtheory.claims.language.letters import k as worker
from stemtheory.claims.paper.stem.contraction import cases
from stemtheory.claims.stating import stated
from stemtheory.runtime import Verdict

LEMMA = "lem: GradientErrorContraction_BatchGradients_App"

consensus = E(drift(t)) <= young(
    (1 - a[t]) ** 2 * E(drift(t - 1)),
    4 * L**2 * eta[t - 1] ** 2 * E(drift(t - 1))
    + 4 * K * L**2 * eta[t - 1] ** 2 * E(norm2(dbar[t - 1]))
    + 4 * K * sigma**2 / b * a[t] ** 2
    + 8 * K * zeta**2 * a[t] ** 2
    + 32 * L**2 * (I - 1) * a[t] ** 2 * sum_t(l, start, t - 1, eta[l] ** 2 * E(drift(l))),
)
moved = sum_k(norm2(fresh[t, worker] - stale[t, worker]))
differs = 2 * K * sigma**2 / batch[t - 1] + 4 * K * zeta**2
consensus_repaired = E(drift(t)) <= young(
    (1 - a[t]) ** 2 * E(drift(t - 1)),
    2 * L**2 * E(moved) + 2 * a[t] ** 2 * (differs + 16 * L**2 * apart(t - 1)),
)
new, old = about_mean(sampled_k, fresh, t), about_mean(sampled_k, stale, t)
fresh_part = E(sum_k(norm2(new - (1 - a[t]) * old))) <= (
    2 * L**2 * E(moved) + 2 * a[t] ** 2 * E(sum_k(norm2(old)))
)
gradient_spread = E(sum_k(norm2(old))) <= (
    2 * K * sigma**2 / b + 4 * K * zeta**2 + 16 * L**2 * E(apart(t - 1))
)

conditional = partial(
    stated,
    label=LEMMA,
    kind="conditional",
    cases=cases,
    given=t - 1,
    place=("either", t - 1),
    readings=ALL_READINGS,
    counterexamples=(far(256), tilted("literal", 8), tilted("average-first", 16), DRIFTED),
)
CLAIMS = (
    conditional(
        consensus,
        id="M5",
        statement="The workers' directions drift apart at a bounded rate.",
        expected={("literal", "sync"): Verdict.VIOLATED},
        reason="Literal: in the step after tbar_s the two points of one estimate are further apart"
        " than eta_{t-1} d_{t-1}. Seen at I = 256 for beta -> infinity (Dl_{t-1} = 0 there),"
        " and for beta = 1/I from about I = 65536.",
        repair="M5-R: the real distances J_{t-1} and X_{t-1}.",
    ),
    conditional(
        consensus_repaired,
        id="M5-R",
        statement="The same with the distances that the points really are apart.",
    ),
    conditional(
        fresh_part,
        id="M5a",
        label="eq: DR_Descent_d_Intermediate1_Batch",
        statement="The fresh part of the directions differs by movement and by the gradients.",
    ),
    conditional(
        gradient_spread,
        id="M5b",
        label="eq: DR_Descent_d_Intermediate2_Batch",
        statement="The workers' gradients differ by noise, heterogeneity and distance.",
    ),
)
