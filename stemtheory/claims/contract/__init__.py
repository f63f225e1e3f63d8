"""The contract of a problem: every declared constant and property, checked by numbers.

    constant     exact: its witness attains it and no search exceeds it; a bound: never exceeded
    property     the gradient is that of the value, the oracle is unbiased with the variance and
                 smoothness it states, batches follow their law, dtypes stay, far points are finite

``check_problem`` returns one row per line of ``stemtheory check``. All seeds are fixed; the
statistical rows fail a sound problem with probability below 1e-5.

Paper: eq. (Eq: Problem), Assumption (Ass: Lip_Smoothness), Assumption (Ass: Unbiased_Var_Grad).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from stemtheory.claims.contract.constants import constant_rows
from stemtheory.claims.contract.derivatives import derivative_rows
from stemtheory.claims.contract.estimated import estimated_rows
from stemtheory.claims.contract.rows import FULL, QUICK, ContractRow, records, table, text
from stemtheory.claims.contract.statistics import oracle_rows
from stemtheory.claims.contract.use import use_rows
from stemtheory.oracles import Problem, load_problem, make_problem, usual_dim
from stemtheory.runtime import (
    UsageError,
    Verdict,
    generator,
    one_blas_thread,
    raised,
    truth,
    whole,
)


@one_blas_thread()
def check_problem(
    problem: str | Problem | Any,
    *,
    K: int = 4,
    dim: int | None = None,
    quick: bool = False,
    seed: int = 0,
    **dials: Any,
) -> list[ContractRow]:
    """Return the rows of the contract: constants first, then properties.

    Parameters
    ----------
    problem
        A catalogue name, ``package.module:NAME``, an entry, or a problem that is already made (K
        and dim are then its own, and it takes no dials).
    K, dim, dials
        As in ``load_problem``.
    quick, seed
        Fewer points, and the seed of the points that are looked at.

    Returns
    -------
    list of ContractRow
        One for each constant and property, with what was measured and whether it is ``ok``.

    Raises
    ------
    UsageError
        For unknown names and dials, and for an object that lacks a part of the protocol.

    Examples
    --------
    >>> from stemtheory import check_problem
    >>> all(row.ok for row in check_problem("quadratic", K=2, dim=2, quick=True))
    True
    """
    if isinstance(problem, str):
        made = load_problem(problem, K, dim, **dials)
    else:
        own_dim = usual_dim(problem) if dim is None else dim
        made = make_problem(problem, problem, K, own_dim, **dials)
    effort = QUICK if truth("quick", quick) else FULL
    rng = generator(whole("seed", seed, 0))
    if getattr(made, "estimated", False):  # real data: its constants are estimates
        return list(estimated_rows(made, rng))
    rows = [
        *_rows("constants", lambda: constant_rows(made, rng, effort)),
        *_rows("derivatives", lambda: derivative_rows(made, rng)),
        *_rows("oracle", lambda: oracle_rows(made, rng, effort)),
        *_rows("use", lambda: use_rows(made)),
    ]
    return sorted(rows, key=lambda row: row.group == "property")


def _rows(part: str, work: Callable[[], Iterable[ContractRow]]) -> list[ContractRow]:
    """Return the rows of a part; what the problem itself raises there is a violation of it."""
    try:
        return list(work())
    except UsageError:
        raise
    except (Exception, SystemExit) as error:
        note = f"it raised {raised(error)}"
        return [ContractRow(f"{part} can be checked", True, None, None, Verdict.VIOLATED, note)]


def passed(rows: list[ContractRow]) -> bool:
    """Return whether no row is violated and nothing exact went unattained."""
    return all(row.ok for row in rows)
