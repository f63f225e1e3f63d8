"""Claims made from a line of the language: formula, sides and place follow from the expression.

    stated     a line about a recorded run, asked of every replicate at every t
    averaged   a line in expectation: means over the replicates of a run
    sized      a line between numbers, over a grid of sizes
    exact      a line between constants, proved for every I at once by intervals
    per_round  a line between second moments, asked of each step or round of a recorded run
    whole_run  a bound on E||grad f(xbar_a)||^2, asked of whole runs

``given`` says what the past is: F_t for ``t``, F_{t-1} for ``t - 1``; the round is that of F_u. The
sides are in excess form; of an identity the left side is the error and the right its float budget.
"""

from stemtheory.claims.stating.means import averaged as averaged
from stemtheory.claims.stating.numbers import exact as exact
from stemtheory.claims.stating.numbers import on_constants as on_constants
from stemtheory.claims.stating.numbers import sized as sized
from stemtheory.claims.stating.rounds import per_round as per_round
from stemtheory.claims.stating.runs import stated as stated
from stemtheory.claims.stating.wholes import AVERAGE as AVERAGE
from stemtheory.claims.stating.wholes import whole_run as whole_run
