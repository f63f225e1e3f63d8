"""What a problem is: a loss, its gradient oracle, its dials, its constants with witnesses."""

from stemtheory.oracles.catalogue import (
    load_problem,
    make_problem,
    names,
    problem_entry,
    user_entry,
    usual_dim,
)
from stemtheory.oracles.chains.chain import Chain
from stemtheory.oracles.chains.chain_entry import ChainEntry
from stemtheory.oracles.dials import AskedDials, refuse_unknown, resolve_zeta
from stemtheory.oracles.finite_sum import Model
from stemtheory.oracles.heterogeneity import HETEROGENEITIES
from stemtheory.oracles.noise import NOISES
from stemtheory.oracles.own_data import RowLoss
from stemtheory.oracles.problem import (
    EXACTNESS,
    Constants,
    Exactness,
    Problem,
    ProblemEntry,
    ProblemMaker,
    Staged,
    Witness,
    refuse_no_problem,
    staged,
)
from stemtheory.oracles.regulariser import DIP, PENALTY_BEND, penalty, penalty_slope
from stemtheory.oracles.row_constants import Slopes
from stemtheory.oracles.separable import Family, Separable
from stemtheory.oracles.usual import USUAL
