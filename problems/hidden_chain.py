r"""Hidden chain: a zero chain whose next coordinate shows with probability p, 1/p times as large.

    g(x; z) = grad f(x) + (z/p - 1) u(x),    z = 1 with probability p, else 0, per sample and worker
    u_i = Theta_i(x) (what link i adds to grad_i f),    Theta_i = 1 - max_{k>=i} ramp(|x_k|/lambda)

with ramp from 0 at 1/4 to 1 at 1/2. Where nothing from i on is beyond lambda/4, grad_i f shows
only if z = 1: N samples of all workers find at most as many coordinates as coins showed, so with
fewer than n/(2p) the end is reached with probability P(Bin(n/(2p), p) >= n). The coin is not
Gaussian; b samples are one binomial number, from the stream of any other noise.

    sigma = h/lambda e^(3/2) sqrt((1 - p)/p): one u_i alone is not 0, and at most e^(3/2) h/lambda;
            reached, as a limit, where the z before it is far (the witness)
    L^2   = (152^2 + 21.5^2 (1 - p)/p) (h/lambda^2)^2, a bound: E||g(x) - g(y)||^2 is that of
            grad f and (1 - p)/p times that of u, |Psi' Phi'| <= 7.35 along z_{i-1}, and at most
            e^(3/2) (4 + 1/2) along z_i, since Theta has slope 4

All workers have all links: zeta = 0. Dials: ``links``, ``gap``, ``p`` (or sigma, from which p
follows) and ``leak``, the share of the hidden part that shows at every sample: a negative control.
"""

from __future__ import annotations

from stemtheory.oracles import ChainEntry

ENTRY = ChainEntry(
    name="hidden_chain",
    summary="a chain whose next link shows with probability p: a floor of samples",
    formula=(
        r"g_i(x; z) = \nabla_i f(x) + \left(\frac{z}{p} - 1\right) \Theta_i(x) \nabla_i f(x),"
        r" \quad z \sim \mathrm{Bernoulli}(p)"
    ),
    hides=True,
    visible=(
        "Noise that hides instead of shaking: N samples find at most as many links as there were "
        "lucky ones, p N on the average, whatever is done with them."
    ),
)
