"""Every line of the paper that is a claim, transcribed a second time and from the paper alone.

The claims of the package state their sides once; here another hand states them again, so that a
test can hold one against the other at random points. A function bears its claim's id (a hyphen is
an underscore) and its docstring is the label in the paper. It returns the two sides of
``left <= right`` or ``left = right`` as they are printed: nothing is cancelled, nothing moved over.
A printed ``>=`` gives (small, large); a chain or several inequalities give a list of pairs, so that
the ends of a chain are ``[0][0]`` and ``[-1][1]``. An expectation is the quantity itself.

Letters of an assignment ``r``, indexed by the paper's t = 0 .. T+1, and by k = 0 .. K-1:

* sizes K, I, T, S, b, B, m; constants L, sigma, zeta, beta, c, kbar, gap = f(xbar_1) - f*, fstar;
* eta[t], a[t], w[t]; x[t][k], xbar[t], d[t][k], dbar[t], f[t] = f(xbar_t), G[t] = grad f(xbar_t);
* g[t][k] = grad f^(k)(x_t^(k)), gbar[t], ebar[t] = dbar - gbar, gm[t][k] = grad f^(k)(xbar_t);
* gs[t][k], gs_old[t][k]: the gradients of t's minibatch at x_t^(k) and at x_{t-1}^(k);
* X[t], Dl[t]: the squared distances of the x and of the d from their means, summed over workers;
* start(t): the first t of the round that holds t; step: FedAvg's constant step;
* for the repaired theorem (docs/repaired-theorem.md): theta, kappa, jump, h, alpha, cb = c bK/L^2,
  q[j], Y[i], Z[s], D[s], Q, phi, mu, A_s, A_z; lam and w_drift, where 240 and 15.5 are printed,
  are used by no line; for Lemma C.2: seq;
* for the assumptions: two points x1v, x2v and the gradients gp[k], gp2[k] there.

Letters added to those that were asked for:

* gx[t][k], gx_old[t][k]: as gs and gs_old, of one sample; b times it stands for a sum over a
  minibatch, whose samples are alike;
* gsp[k], gsp2[k]: one sample's gradients at x1v and x2v; calls: a worker's oracle calls;
* V: the variance of the workers' curvatures; M: the M of the sync batch m = ceil(I/M);
* for Theorem R* (docs/theorem-rstar.md): v[t], U[t], spread[t], p_0, tau, h_0, c_0, Lam.
"""

from tests.claims.second_hand.descent import *  # noqa: F403
from tests.claims.second_hand.draws import *  # noqa: F403
from tests.claims.second_hand.fedavg import *  # noqa: F403
from tests.claims.second_hand.letters import *  # noqa: F403
from tests.claims.second_hand.repaired import *  # noqa: F403
from tests.claims.second_hand.rstar import *  # noqa: F403
from tests.claims.second_hand.rstar_parts import *  # noqa: F403
from tests.claims.second_hand.schedule import *  # noqa: F403
from tests.claims.second_hand.theorem import *  # noqa: F403
