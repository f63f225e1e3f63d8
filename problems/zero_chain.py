r"""Zero chain: f(x) = h F(x/lambda), F of links that are found one after the other.

    F(z) = -Psi(1) Phi(z_1) + sum_{i=2}^n (Psi(-z_{i-1}) Phi(-z_i) - Psi(z_{i-1}) Phi(z_i))
    Psi(x) = exp(1 - 1/(2x - 1)^2) above 1/2, else 0;  Phi(x) = sqrt(e) int_{-inf}^x exp(-t^2/2) dt

From 0 a coordinate has a slope only where the one before it is beyond lambda/2, and
||grad f|| > h/lambda until z_n is beyond 1: with epsilon = (h/lambda)^2 all links must be passed.
h follows from the gap, lambda from L:

    gap = f(0) - inf f = h sqrt(2 pi e) ((n - 1) e + 1/2), a limit where all z are far: 11.23 h for
          a link more (proved; the literature has 12, and n = 43 has 11.02 on the average)
    L   = 152 h/lambda^2 is a bound, by a row's sum of moduli; a search finds 134.02 (the witness)
    |grad_i f| <= 21.392 h/lambda (proved: the largest e Phi'(z) + sqrt(2 pi e) Psi'(z), at 0.9043;
          the literature has 23)

All workers have all links: zeta = 0; nothing is drawn: sigma = 0. Dials: ``links`` (n, dim unless
given) and ``gap``.
"""

from __future__ import annotations

from stemtheory.oracles import ChainEntry

ENTRY = ChainEntry(
    name="zero_chain",
    summary="links that are found one after the other, by any first-order method",
    formula=(
        r"f(x) = h F(x/\lambda), \quad F(z) = -\Psi(1)\Phi(z_1)"
        r" + \sum_{i \geq 2} (\Psi(-z_{i-1})\Phi(-z_i) - \Psi(z_{i-1})\Phi(z_i))"
    ),
    visible=(
        "A lower bound that runs: from x_1 = 0 no step finds more than one coordinate, so no "
        "method needs fewer gradients than there are links."
    ),
)
