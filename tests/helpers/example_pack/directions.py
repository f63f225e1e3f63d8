"""Two lines about the directions of a run."""

from stemtheory.claims import sized, stated
from stemtheory.claims.language.letters import I, K, L, b, d, drift, eta, k, norm2, sum_k, t

CLAIMS = (
    stated(
        drift(t) <= sum_k(norm2(d[t, k])),
        id="EX-1",
        label="lem:length",
        kind="pathwise",
        statement="Taking the mean off does not lengthen the directions.",
    ),
    sized(
        "EX-2",
        "eq:step",
        "With at least as many samples as local steps, a step is at most 1/(16 L).",
        eta[t] <= 1 / (16 * L * I),
        provided=I <= b * K,
    ),
)
