"""Claims of one's own about the paper's algorithm, each from one line (docs/add_a_claim.md)."""

from stemtheory.claims import sized, stated
from stemtheory.claims.language.letters import (
    E,
    I,
    K,
    L,
    a,
    b,
    d,
    drift,
    ebar,
    eta,
    k,
    norm2,
    sum_k,
    t,
)

LENGTH = stated(
    drift(t) <= sum_k(norm2(d[t, k])),
    id="OWN1",
    label="my paper, eq. (7)",
    kind="pathwise",
    statement="Taking the mean off does not lengthen the directions.",
)
SMALLER = stated(
    E(norm2(ebar[t + 1])) <= (1 - a[t + 1]) ** 2 * norm2(ebar[t]),
    id="OWN2",
    label="my paper, eq. (8)",
    kind="conditional",
    statement="The error of the direction shrinks (it does not: new noise comes in).",
)
STEP = sized(
    "OWN3",
    "my paper, eq. (9)",
    "With at least as many samples as local steps, a step is at most 1/(16 L).",
    eta[t] <= 1 / (16 * L * I),
    provided=I <= b * K,
)
CLAIMS = (LENGTH, STEP)
